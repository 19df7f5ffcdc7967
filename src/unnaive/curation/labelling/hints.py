"""Keywords of each class to start with, before any label: `--hints hints.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from unnaive.base.errors import BadData
from unnaive.io.sources import check_exists

EXAMPLE = 'sport = ["ball", "goal"]'


def read_hints(path: Path) -> dict[str, list[str]]:
    """Keywords by class, from a TOML file with a line such as sport = ["ball", "goal"] for each.

    A keyword counts as if three texts of its class had it; labels soon outweigh it.
    """
    try:
        found = tomllib.loads(check_exists(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadData(f"{path} is not TOML ({problem}); expected lines such as {EXAMPLE}") from problem
    for label, words in found.items():
        if not isinstance(words, list) or not words or not all(isinstance(one, str) and one.strip() for one in words):
            raise BadData(f"{path}: {label} is {words!r}; expected a list of keywords, such as {EXAMPLE}")
    if not found:
        raise BadData(f"{path} has no class in it; expected lines such as {EXAMPLE}")
    return found
