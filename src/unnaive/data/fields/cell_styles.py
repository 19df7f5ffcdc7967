"""How a column writes dates and numbers, decided once for all of its cells: is 3/5/2024 in March, is 1.234 above 1000?

The decision is part of the kind of the field, such as date(day-first), which the model keeps: so predictions, updates
and the service read the same cell in the same way. Cells that can be read in one way only need no decision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from unnaive.base.errors import BadData
from unnaive.text.field import COMMA, DAY_FIRST

_DATE = re.compile(r"\s*(\d{1,2})[-/](\d{1,2})[-/](?:\d{4}|\d{2})(?!\d).*", re.DOTALL)
_SIGNS = "$€£% \t\n"
# 1.234,56 and 3,5; \A, since a search would begin again at every sign
_WITH_COMMA = re.compile(r"\A[-+]?(?:\d{1,3}(?:\.\d{3})+,\d+|0,\d+|\d+,(?:\d{1,2}|\d{4,})|\d{4,},\d+)")
_WITH_POINT = re.compile(r"\A[-+]?(?:\d{1,3}(?:,\d{3})+\.\d+|0\.\d+|\d+\.(?:\d{1,2}|\d{4,})|\d{4,}\.\d+)")
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")  # 1.234


def find_style(name: str, kind: str, values: Sequence[Any]) -> tuple[str, str]:
    """(the style of the field called `name`, a sentence about it), by its values; both may be empty.

    >>> find_style("opened", "date", ["12/05/2024", "13/05/2024"])
    ('day-first', 'in the dates of opened the day comes first, as in 13/05/2024')
    >>> find_style("price", "number", ["1.234", "1.234,56"])
    ('comma', 'in the numbers of price the comma is the decimal sign, as in 1.234,56, so 1.234 is 1234')
    >>> find_style("opened", "date", ["2024-05-13"])
    ('', '')
    """
    texts = [value.strip(_SIGNS) for value in values if isinstance(value, str)]
    if kind == "date":
        return _find_date_style(name, texts)
    return _find_number_style(name, texts) if kind == "number" else ("", "")


def _find_date_style(name: str, texts: Sequence[str]) -> tuple[str, str]:
    parts = [(int(match[1]), int(match[2]), text) for text in texts if (match := _DATE.fullmatch(text))]
    days = next((text for first, second, text in parts if first > 12 >= second), None)
    months = next((text for first, second, text in parts if second > 12 >= first), None)
    if days is not None and months is not None:
        raise BadData(
            f"the dates of {name!r} have {days} beside {months}, so neither the day nor the month comes first in all "
            "of them; write them as 2024-05-13"
        )
    if days is not None:
        return DAY_FIRST, f"in the dates of {name} the day comes first, as in {days}"
    if months is not None:
        return "", f"in the dates of {name} the month comes first, as in {months}"
    if not parts:
        return "", ""
    return "", (
        f"no date of {name} shows whether the day or the month comes first; {parts[0][2]} is read with the month first"
    )


def _find_number_style(name: str, texts: Sequence[str]) -> tuple[str, str]:
    comma, point, either = (
        next((text for text in texts if pattern.fullmatch(text)), None)
        for pattern in (_WITH_COMMA, _WITH_POINT, _EITHER)
    )
    if comma is not None and point is not None and either is not None:
        raise BadData(
            f"the numbers of {name!r} have {comma} beside {point}, so {either} may be above or below 1000; write all "
            "of them with the same decimal sign"
        )
    if comma is not None and point is None:
        so = f", so {either} is {either.replace('.', '')}" if either is not None and "." in either else ""
        return COMMA, f"in the numbers of {name} the comma is the decimal sign, as in {comma}{so}"
    if either is not None and point is None:
        read = either.replace(",", "")
        return "", f"no number of {name} shows its decimal sign; {either} is read as {read}"
    return "", ""
