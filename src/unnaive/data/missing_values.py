"""Markers of missing values in cells and labels, such as NaN and N/A."""

from __future__ import annotations

MISSING = frozenset(
    ("nan", "none", "null", "n/a", "#n/a", "na", "<na>", "nil", "nat", "undefined", "missing", "-", "?")
)
LONGEST = 16  # bytes of a text below which it is worth looking whether it is a marker


def is_missing_value(cell: str) -> bool:
    """Whether a cell contains only a marker of a missing value, and spaces; exports have the same rule.

    >>> is_missing_value("NaN"), is_missing_value(" N/A"), is_missing_value("none of these")
    (True, True, False)
    """
    marker = cell.strip()
    return len(marker) < LONGEST and marker.casefold() in MISSING
