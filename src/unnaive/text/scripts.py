"""Patterns for tokens.py other than words: emoji, symbols, runs of scripts without spaces, chunks between spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from unnaive.text import _unicode_table

# A symbol is eyes, an optional nose and a mouth, or a heart. SYMBOL counts anywhere, as in "good:)"; FREE_SYMBOL only
# if no word touches it, so that "http://", "a=(b)" and "x<3y" have none.
SYMBOL = r"[:;][-']?[()]"
FREE_SYMBOL = r"[:;=][-']?[()dDpPoO/\\|*]|</?3"

# Characters that character n-grams never cross: spaces, controls, surrogates and the replacement character.
SPACES = "0-20 7f-a0 1680 2000-200b 2028-2029 202f 205f 3000 d800-dfff feff fffd"


def character_class(*tables: str) -> str:
    """The inside of a regular expression's brackets for tables of hexadecimal ranges.

    >>> character_class("41-5a", "e9")
    '\\\\U00000041-\\\\U0000005a\\\\U000000e9'
    """
    runs = [run.split("-") for table in tables for run in table.split()]
    return "".join("-".join(f"\\U{int(code, 16):08x}" for code in run) for run in runs)


@lru_cache(maxsize=4)
def sign_pattern(emoji: bool, symbols: bool) -> re.Pattern[str] | None:
    """The pattern of emoji, symbols, or both; None for neither.

    An emoji is a flag, a digit's keycap, or pictures joined by U+200D, each with its selector, skin tone and tags.
    Characters such as © and ▶ are emoji only if U+FE0F follows.

    >>> sign_pattern(emoji=True, symbols=True).findall("I ❤️ it 👍🏽🇹🇷 :-) 2:0")
    ['❤️', '👍🏽', '🇹🇷', ':-)']
    """
    pictures = character_class(_unicode_table.PICTOGRAPHS)
    texts = character_class(_unicode_table.TEXT_PICTOGRAPHS)
    picture = f"(?:[{pictures}]|[{texts}](?=\ufe0f))[\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?[\U000e0020-\U000e007f]*"
    letter = character_class(_unicode_table.LETTERS, _unicode_table.NUMBERS)
    choices = []
    if emoji:
        choices.append(rf"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9]\ufe0f?\u20e3|{picture}(?:\u200d{picture})*")
    if symbols:
        choices.append(f"{SYMBOL}|(?<![{letter}])(?:{FREE_SYMBOL})(?![{letter}])")
    return re.compile("|".join(choices)) if choices else None


def sign_term(sign: str) -> str:
    """An emoji or symbol as a term, without selectors, because ❤ is written with or without one.

    >>> sign_term("❤\ufe0f") == "❤"
    True
    """
    return sign.replace("\ufe0e", "").replace("\ufe0f", "")


@lru_cache(maxsize=2)
def chunk_pattern(digits: bool) -> re.Pattern[str]:
    """Chunks between spaces, including punctuation; without `digits`, numbers separate chunks too.

    >>> chunk_pattern(digits=True).findall("Why not?\u3000(5 %)")
    ['Why', 'not?', '(5', '%)']
    """
    return re.compile(f"[^{character_class(SPACES, '' if digits else _unicode_table.NUMBERS)}]+")


@lru_cache(maxsize=1)
def run_pattern() -> re.Pattern[str]:
    """A run of characters, with their marks, of scripts without spaces.

    >>> run_pattern().findall("NBA球星2024 ราคา")
    ['球星', 'ราคา']
    """
    letters = character_class(_unicode_table.UNSPACED_LETTERS)
    return re.compile(f"[{letters}][{letters}{character_class(_unicode_table.MARKS)}]*")


@lru_cache(maxsize=1)
def _character_pattern() -> re.Pattern[str]:
    """A character of a run with its marks."""
    marks = character_class(_unicode_table.MARKS)
    return re.compile(f"[^{marks}][{marks}]*")


def character_spans(run: str) -> list[tuple[int, int]]:
    """The spans of the characters of a run, with their marks.

    >>> character_spans("กี่คน")
    [(0, 3), (3, 4), (4, 5)]
    """
    return [match.span() for match in _character_pattern().finditer(run)]


def run_grams(run: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the characters of a run, with their marks, and of pairs of neighbours.

    >>> [("กี่คน"[start:end]) for start, end in run_grams("กี่คน")]
    ['กี่', 'กี่ค', 'ค', 'คน', 'น']
    """
    places = character_spans(run)
    for (start, end), following in zip(places, [*places[1:], None], strict=True):
        yield start, end
        if following is not None:
            yield start, following[1]
