"""Markers of missing values in cells and labels, such as NaN and N/A."""

from __future__ import annotations

MISSING = frozenset(
    ("nan", "none", "null", "n/a", "#n/a", "na", "<na>", "nil", "nat", "undefined", "missing", "-", "?")
)


def is_missing_value(cell: str) -> bool:
    """Whether a cell contains only a marker of a missing value.

    >>> is_missing_value("NaN"), is_missing_value("none of these")
    (True, False)
    """
    return cell.casefold() in MISSING
