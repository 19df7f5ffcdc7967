"""Word segmenters for Chinese: optional packages, chosen by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from unnaive.base.errors import choose
from unnaive.base.extras import missing_extra

REMEMBERED = 1 << 16  # runs whose words are cached


@cache
def _han() -> re.Pattern[str]:
    return re.compile("[\u3400-\u9fff\U00020000-\U0003ffff]")


def _jieba(module: Any, run: str) -> list[str]:
    import logging

    logging.getLogger("jieba").setLevel(logging.WARNING)  # it would report on stderr that it loads its dictionary
    return list(module.lcut(run))


# name of an importable package → function from a run to its words
SEGMENTERS: dict[str, Callable[[Any, str], list[str]]] = {"jieba": _jieba}


def check_segmenter(name: str) -> str:
    """Return the name of an installed segmenter; otherwise raise an error that says how to install it."""
    choose(list(SEGMENTERS), name, "segmenter")
    if find_spec(name) is None:
        raise missing_extra(name, f"segmenter={name!r}")
    return name


@lru_cache(maxsize=REMEMBERED)
def segments(name: str, run: str) -> tuple[tuple[int, int], ...]:
    """The spans of the words of a run; none if the run has no Chinese characters."""
    if not _han().search(run):
        return ()
    places, start = [], 0
    for word in SEGMENTERS[name](import_module(name), run):
        places.append((start, start + len(word)))
        start += len(word)
    return tuple(places)
