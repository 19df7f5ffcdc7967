"""Kinds of characters, as hexadecimal ranges, and lower-case forms; unicode_table.txt has them.

tools/unicode_table.py writes that file and the kernel's table from one version of Unicode.
"""

from __future__ import annotations

from pathlib import Path


def _read_tables() -> dict[str, str]:
    paragraphs = Path(__file__).with_name("unicode_table.txt").read_text(encoding="ascii").split("\n\n")[1:]
    return {name: " ".join(ranges.split()) for name, _, ranges in (each.partition("\n") for each in paragraphs)}


_TABLES = _read_tables()
LETTERS, NUMBERS, MARKS = _TABLES["LETTERS"], _TABLES["NUMBERS"], _TABLES["MARKS"]
UNSPACED_LETTERS = _TABLES["UNSPACED_LETTERS"]
PICTOGRAPHS, TEXT_PICTOGRAPHS = _TABLES["PICTOGRAPHS"], _TABLES["TEXT_PICTOGRAPHS"]
FOLDS = _TABLES["FOLDS"]  # pairs code:lower
