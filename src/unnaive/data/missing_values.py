"""Markers of missing values in cells and labels, such as NaN and N/A."""

from __future__ import annotations

MISSING = frozenset(
    ("nan", "none", "null", "n/a", "#n/a", "na", "<na>", "nil", "nat", "undefined", "missing", "-", "?")
)
LONGEST = 16  # characters of a cell below which it may be a marker with spaces


def is_missing_value(cell: str) -> bool:
    """Whether a cell contains only a marker of a missing value, and spaces.

    >>> is_missing_value("NaN"), is_missing_value(" N/A"), is_missing_value("none of these")
    (True, True, False)
    """
    return len(cell) < LONGEST and cell.strip().casefold() in MISSING
