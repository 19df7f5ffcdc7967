"""Records for conformance files: values that readers of numbers, dates and categories disagree about.

Every target reads these values as Python does; tests of a target may have harder ones. Numbers are from 1e-300 to
1e300, because SQL reads no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from unnaive.text.field import TEXT_KINDS, Fields, field_key, field_kinds
from unnaive.text.sections import FIXED, SECTION, UNIT

MISSING_CELLS = (None, "", "  ")
WORDS_FOR_MISSING = ("nan", "N/A", "-", "?", "None")
VALUES: dict[str, tuple[str | None, ...]] = {
    "category": (
        *MISSING_CELLS, "n/a", "3.0", "-12.00", "3.5", "3.0.0", ".0", "-.0", "3.01", " two  words ", "tab\tword", "É",
        "日本", "a\x1fb", "\ufffdx", "x\u00a0y", "=", "a:b=c", "'quoted'", "#1", "\x7f", "👍🏽",
    ),
    "number": (
        *MISSING_CELLS, *WORDS_FOR_MISSING, "0", "-0", "0.0", "7", "  7 ", "+7", "-7.25", "1e3", "1E+3", "-1e-3", ".5",
        "5.", "1,234.5", "-1,234,567", "1 000", "1'000", "1_000", "1_0", "12,345678", "3,5", "1,23", "12 %", "$5",
        "€ 5", "£-3", "$ 1,000 ", "inf", "-Infinity", "0.1", "999999999.5", "123456789012", "1e300", "-1e-300", "4",
        "3.9999", "0.0001220703125", "1.75", "1.5", "1e22", "000", "1e05",
    ),
    "date": (
        *MISSING_CELLS, *WORDS_FOR_MISSING, "2024-03-05", "2024/3/5", "2024.12.31", "2024-03-05 14:30",
        "2024-03-05T00:00:00Z", "2024-03-05T00:01", "2024-03-05 , 7:05 pm", "2024-02-29", "1900-03-01", "0999-01-01",
        "5.3.2024", "31.12.2024 23:59", "3/5/24", "3-5-69", "13/5/2024", "12/13/2024", "  2024-03-05  9:00 ",
        "0050-01-02", "3/5/2024 2:30:00 PM", "3/5/2024 12:00:00 AM", "2024-03-05 12:30 p.m. (local)",
        "2024-03-05 7:05amen", "2024-03-05 14:30 PM",
    ),
}  # fmt: skip
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def hard_records(
    texts: Sequence[str], fields: Fields, terms: Sequence[str], seed: int = 0
) -> Iterator[dict[str, str | None]]:
    """A record for each text: text fields have this and other texts, other fields hard values and known ones.

    >>> from unnaive.text.field import Field
    >>> next(hard_records(["good ball"], (Field("body", "text"), Field("age", "number")), ["age=[2,4)"]))
    {'body': 'good ball', 'age': None}
    """
    random, kinds = Random(seed), field_kinds(fields)  # noqa: S311
    known_values = {name: _known_values(name, kind, terms) for name, kind in kinds.items() if kind not in TEXT_KINDS}
    for row, text in enumerate(texts):
        record: dict[str, str | None] = {}
        for index, (name, kind) in enumerate(kinds.items()):
            if kind in TEXT_KINDS:
                record[name] = texts[row - index].replace(SECTION, " ").replace(UNIT, " ") if index else text
            elif row < len(VALUES[kind]):
                record[name] = VALUES[kind][row]
            else:
                record[name] = random.choice(known_values[name] or VALUES[kind])
        yield record


def _known_values(name: str, kind: str, terms: Sequence[str]) -> list[str | None]:
    """Values that give known terms of a field."""
    start = field_key(name) + FIXED
    units = [term[len(start) :] for term in terms if term.startswith(start) and "(missing)" not in term]
    if kind == "category":
        return list(units)
    if kind == "number":
        borders = [unit.strip("[]()").split(",") for unit in units if "," in unit]
        return [border for pair in borders for border in pair if 1e-300 < abs(float(border)) < 1e300]
    years = [unit for unit in units if unit.isdigit()] or ["2024"]
    months = [MONTHS.index(unit) + 1 for unit in units if unit in MONTHS] or [1]
    hours = [unit[:-1] for unit in units if unit.endswith("h")] or ["0"]
    return [
        f"{year:0>4}-{month:02}-{day:02} {hours[(month + day) % len(hours)]}:30"
        for year in years
        for month in months
        for day in (1, 17, 28)
    ]
