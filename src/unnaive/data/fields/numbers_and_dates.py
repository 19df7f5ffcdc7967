"""Numbers and dates in the cells of tables, in the formats that people write; fields.py makes terms of them."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import date, datetime
from typing import Any

_GROUPED = tuple(  # (numbers with separators between thousands, their decimal sign)
    (re.compile(pattern), point)
    for pattern, point in (
        ("[-+]?\\d{1,3}(?:[, _'\u2019\u00a0\u202f]\\d{3})+(?:\\.\\d+)?", "."),
        ("[-+]?\\d{1,2}(?:,\\d{2})+,\\d{3}(?:\\.\\d+)?", "."),  # of India: 12,34,567
        ("[-+]?\\d{1,3}(?:[. _'\u2019\u00a0\u202f]\\d{3})+,\\d+", ","),
        ("[-+]?\\d{1,3}(?:\\.\\d{3}){2,}", ","),
    )
)
_SWAPPED = str.maketrans(",.", ".,")
_NO_DIGIT = re.compile(r"[^\d+-]")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_CLOCK = r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?:[:.\d]* ?(?P<half>[ap])\.?m(?![a-z]))?.*)?"  # 2:30:00 PM
_DATES = tuple(
    re.compile(pattern + _CLOCK, re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})[.](?P<month>\d{1,2})[.](?P<year>\d{4})",
        r"(?P<month>\d{1,2})[-/](?P<day>\d{1,2})[-/](?P<year>\d{2}|\d{4})",
        r"(?:[a-z]{3,9},? )?(?P<day>\d{1,2})[ -](?P<name>[a-z]{3})[a-z]*[., -]+(?P<year>\d{4})",
        r"(?:[a-z]{3,9},? )?(?P<name>[a-z]{3})[a-z]*\.? (?P<day>\d{1,2}),? (?P<year>\d{4})",
    )
)
_NUMERIC = _DATES[2]


def read_number(value: Any, *, comma: bool = False) -> float | None:
    """The number in a cell; None if there is none. With `comma`, the comma is the decimal sign where it is not evident.

    >>> [read_number(value) for value in (True, "1,234.5", "3,5", "12 %", "$5", "many")]
    [1.0, 1234.5, 3.5, 12.0, 5.0, None]
    >>> [read_number(value) for value in ("1.234,56", "1.234.567", "12,34,567.8", "1 234,5", "1.234")]
    [1234.56, 1234567.0, 1234567.8, 1234.5, 1.234]
    >>> [read_number(value, comma=True) for value in ("1.234,56", "1.234", "1,234", "12.5", 1.234)]
    [1234.56, 1234.0, 1.234, 12.5, 1.234]
    """
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return None
    text = value.strip().strip("$€£%").strip()
    if comma:
        text = text.translate(_SWAPPED)
    with suppress(ValueError):
        return float(text)
    point = next((point for pattern, point in _GROUPED if pattern.fullmatch(text)), None)
    if point is not None:
        whole, _, fraction = text.partition(point)
        return float(f"{_NO_DIGIT.sub('', whole)}.{fraction}")
    try:
        return float(text.replace(",", ".")) if text.count(",") == 1 else None
    except ValueError:
        return None


def find_interval(number: float, parts: int) -> str:
    """The interval of a number if each octave (from 2^k to 2^(k+1)) has `parts` equal ones; borders are exact."""
    fraction, exponent = math.frexp(abs(number))  # the fraction is from ½ to below 1; the exponent is a power of 2
    step = int((fraction * 2 - 1) * parts)
    low, high = (math.ldexp(1 + at / parts, exponent - 1) if exponent < 1024 or at < parts else math.inf
                 for at in (step, step + 1))  # fmt: skip
    return f"[{low:.9g},{high:.9g})" if number > 0 else f"(-{high:.9g},-{low:.9g}]"


def parse_date(value: Any, *, day_first: bool = False) -> tuple[datetime, bool] | None:
    """(the date in a cell, whether it has a time); None if there is no date. 3/5/2024 is in March unless `day_first`.

    >>> parse_date("5 March 2024"), parse_date("26-FEB-1987 15:01:01.79")[0].hour, parse_date("soon")
    ((datetime.datetime(2024, 3, 5, 0, 0), False), 15, None)
    >>> [parse_date(f"3/5/2024 {clock}")[0].hour for clock in ("2:30 PM", "12:30:00 am", "12:05 p.m.", "14:30")]
    [14, 0, 12, 14]
    """
    if hasattr(value, "astype") and hasattr(value, "item"):  # datetime64 of NumPy
        value = value.astype("datetime64[us]").item() if value.dtype.kind == "M" else value.item()
    if isinstance(value, datetime):
        return value, bool(value.hour or value.minute)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day), False
    if isinstance(value, (int, float)):
        return None
    text = " ".join(str(value).split())  # also a Period of pandas
    matches = (pattern.fullmatch(text) for pattern in _DATES)
    parts = (_swap(match.groupdict()) if day_first and match.re is _NUMERIC else match.groupdict()
             for match in matches if match)  # fmt: skip
    return next((moment for part in parts if (moment := _moment(part))), None)


def _swap(parts: dict[str, str | None]) -> dict[str, str | None]:
    return parts | {"month": parts["day"], "day": parts["month"]}


def _moment(parts: dict[str, str | None]) -> tuple[datetime, bool] | None:
    """The date of the matched parts; None if there is no such day."""
    year, day = int(parts["year"] or 0), int(parts["day"] or 0)
    if year < 100:
        year += 1900 if year > 68 else 2000  # as strptime does
    month_name = (parts.get("name") or "").capitalize()
    month = MONTHS.index(month_name) + 1 if month_name in MONTHS else int(parts.get("month") or 0)
    if month > 12 >= day:
        month, day = day, month
    hour, minute, half = int(parts["hour"] or 0), int(parts["minute"] or 0), parts["half"]
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half in "pP" else 0)
    try:
        return datetime(year, month, day, hour, minute), bool(hour or minute)  # midnight means a date without a time
    except ValueError:
        return None


def write_moment(moment: datetime, *, timed: bool) -> str:
    """A date as ISO 8601 has it, with hour and minute if it has a time.

    >>> write_moment(datetime(2024, 3, 5, 14, 30), timed=True)
    '2024-03-05 14:30'
    """
    return moment.date().isoformat() + (f" {moment:%H:%M}" if timed else "")
