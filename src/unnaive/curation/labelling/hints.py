"""Read keywords of the classes, from which labelling starts before there are labels: `--hints hints.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from unnaive.base.errors import BadData
from unnaive.base.open_files import check_exists

EXAMPLE = 'sport = ["ball", "goal"]'


def read_hints(path: Path) -> dict[str, list[str]]:
    """Read the keywords of each class from a TOML file with lines such as sport = ["ball", "goal"].

    A keyword counts like three labelled texts that contain it; labels soon outweigh it.
    """
    try:
        hints = tomllib.loads(check_exists(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadData(f"{path} is not TOML ({problem}); expected lines such as {EXAMPLE}") from problem
    for label, words in hints.items():
        if (
            not isinstance(words, list)
            or not words
            or not all(isinstance(word, str) and word.strip() for word in words)
        ):
            raise BadData(f"{path}: {label} is {words!r}; expected a list of keywords, such as {EXAMPLE}")
    if not hints:
        raise BadData(f"{path} has no class in it; expected lines such as {EXAMPLE}")
    return hints
