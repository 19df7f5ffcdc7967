"""The part of an SQL export that reads records with fields: tables, and the steps of the query that find their terms.

records.sql.in has the steps. Every step is materialised, because a database that inlines them repeats each expression
as often as later steps use it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import product
from typing import Any

from unnaive.data.fields.fields import interval_units
from unnaive.data.missing_values import MISSING
from unnaive.interop.export.hard_records import MONTHS
from unnaive.interop.export.sql_dialects import Dialect
from unnaive.text.sections import BOTH, FIXED, OWN_ONLY, SHARED, TEXT_KINDS, field_key, field_kinds, section_modes

DEEP = 8  # nested function calls of one step; the parser of SQLite has a stack of 100
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTH_NAMES = (
    "january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december",
    "sept",
)  # fmt: skip
MARK = "~"  # marks the number of a month that was written as a name

TABLES = {
    "fields": "field INTEGER PRIMARY KEY, name TEXT, key TEXT, kind TEXT, shared INTEGER, own INTEGER",
    "missing": "word TEXT PRIMARY KEY",
    "constants": "spaces TEXT, digits TEXT",
    "intervals": "field INTEGER, term TEXT, sign INTEGER, low {real}, high {real}",
    "number_forms": "form TEXT PRIMARY KEY",
    "date_forms": "form TEXT PRIMARY KEY, named INTEGER, year_at INTEGER, year_size INTEGER, month_at INTEGER, "
    "month_size INTEGER, day_at INTEGER, day_size INTEGER",
}


def record_rows(fields: tuple[str, ...], terms: Sequence[str]) -> dict[str, list[list[Any]]]:
    """The rows of the tables that only records need, by table."""
    modes, kinds = section_modes(fields), field_kinds(fields)
    described, intervals = [], []
    for number, (name, kind) in enumerate(kinds.items()):
        key = field_key(name)
        mode = modes[key]
        kind = "text" if kind in TEXT_KINDS else kind
        described.append([number, name, key, kind, int(mode in (SHARED, BOTH)), int(mode in (OWN_ONLY, BOTH))])
        if kind == "number":
            intervals += [[number, *row] for row in interval_rows(key, terms)]
    return {
        "fields": described,
        "missing": [[word] for word in sorted(MISSING)],
        "constants": [[characters(str.isspace), characters(str.isdecimal)]],
        "intervals": intervals,
        "number_forms": [[form] for form in number_forms()],
        "date_forms": list(date_forms()),
    }


def characters(belongs: Callable[[str], bool]) -> str:
    """All characters of a kind.

    >>> characters(str.isdecimal)[:10]
    '0123456789'
    """
    return "".join(character for character in map(chr, range(sys.maxunicode + 1)) if belongs(character))


def interval_rows(key: str, terms: Iterable[str]) -> Iterator[list[Any]]:
    """(term, sign, least and largest size) of the intervals of a number field; None for an interval without an end.

    >>> list(interval_rows("age", ["age=[3,3.5)", "age=(-4,-2]", "age=0"]))
    [['age=[3,3.5)', 1, 3.0, 3.5], ['age=(-4,-2]', -1, 2.0, 4.0]]
    """
    start = key + FIXED
    for term in terms:
        unit = term[len(start) :]
        if not term.startswith(start) or "," not in unit:
            continue
        sign = 1 if unit[0] == "[" else -1
        low, high = sorted(abs(_exact_border(float(border))) for border in unit.strip("[]()").split(","))
        if unit in interval_units(sign * low) and low < high:  # numbers below 1e-307 share borders, and are left out
            yield [term, sign, low, None if math.isinf(high) else high]


def _exact_border(shown: float) -> float:
    """The border of an interval, a quarter of an octave, that has these nine digits."""
    if math.isinf(shown):
        return shown
    fraction, exponent = math.frexp(shown)
    return math.ldexp(round(fraction * 8), exponent - 3)


def number_forms() -> list[str]:
    """The forms of numbers: every run of digits is 0."""
    exponents = ("", *(f"e{sign}0" for sign in ("", "+", "-")))
    return ["".join(parts) for parts in product(("", "+", "-"), ("0", "0.", ".0", "0.0"), exponents)]


def date_forms() -> Iterator[list[Any]]:
    """Rows of date_forms: every digit is 0, and the month in words is MARK and two digits.

    >>> next(date_forms())
    ['0000-0-0', 0, 1, 4, 6, 1, 8, 1]
    """
    short = ("0", "00")
    for first, second, month, day in product("-/.", "-/.", short, short):
        yield _date_form([("year", "0000"), ("", first), ("month", month), ("", second), ("day", day)])
    for month, day in product(short, short):
        yield _date_form([("day", day), ("", "."), ("month", month), ("", "."), ("year", "0000")])
    for first, second, month, day, year in product("-/", "-/", short, short, ("00", "0000")):
        yield _date_form([("month", month), ("", first), ("day", day), ("", second), ("year", year)])
    for day, first, second in product(short, " -", (" ", "-", ", ", ". ", ",", ".")):
        yield _date_form([("day", day), ("", first + MARK), ("month", "00"), ("", second), ("year", "0000")])
    for day, first, second in product(short, (" ", ". "), (" ", ", ")):
        yield _date_form([("", MARK), ("month", "00"), ("", first), ("day", day), ("", second), ("year", "0000")])


def _date_form(parts: Sequence[tuple[str, str]]) -> list[Any]:
    form, places = "", {}
    for name, shown in parts:
        places[name] = [len(form) + 1, len(shown)]
        form += shown
    return [form, int(MARK in form), *places["year"], *places["month"], *places["day"]]


def record_source(fields: tuple[str, ...], dialect: Dialect) -> str:
    """The steps before texts are read: a row for each cell, then a section for each text."""
    cells = []
    for number, name in enumerate(field_kinds(fields)):
        column = 'r."' + name.replace('"', '""') + '"'  # with its table, or SQLite takes an unknown column for a text
        cells.append(
            f"SELECT r.id AS id, {number} AS field, CAST({column} AS TEXT) AS text, "
            f"{dialect.stored_real.format(column)} AS number FROM records r"
        )
    return SOURCE.format(cells="\n  UNION ALL ".join(cells))


SOURCE = """cells AS MATERIALIZED ({cells}),
sections AS MATERIALIZED (SELECT row_number() OVER (ORDER BY c.id, c.field) AS id, c.id AS record, f.key, f.shared,
  f.own, c.text FROM cells c JOIN unnaive_fields f ON f.field = c.field WHERE f.kind = 'text'),
texts AS (SELECT id, text FROM sections),
"""
SELECT = """SELECT r.id, label, class, CASE WHEN u.id IS NULL THEN score END AS score,
  CASE WHEN u.id IS NULL THEN probability END AS probability, CASE WHEN u.id IS NULL THEN ({decided}) END AS decided,
  known, f.name AS unreadable
FROM ranked r LEFT JOIN unreadable u ON u.id = r.id LEFT JOIN unnaive_fields f ON f.field = u.field
ORDER BY r.id, class;
"""


def record_terms(dialect: Dialect) -> str:
    """The steps after words were found: the terms of records from words and values, and the unreadable values."""
    first_mark, second_mark, no_break = (f"{dialect.char}({code})" for code in (1, 2, 0xA0))
    bad = [(f"{dialect.char}({code})", first_mark) for code in (*range(2, 33), 127, 0xFFFD)]
    spaces = [(f"{dialect.char}({ord(space)})", "' '") for space in characters(str.isspace) if space != " "]
    names = [(f"'{name}'", f"'{name[:3]}'") for name in (*MONTH_NAMES, *WEEKDAYS)]
    months = [(f"'{name.lower()}'", f"'{MARK}{number:02}'") for number, name in enumerate(MONTHS, 1)]
    return (files("unnaive.interop.export") / "records.sql.in").read_text(encoding="utf-8").format(
        ascii=dialect.ascii, find=dialect.find, cast=dialect.cast, real=dialect.real,
        clean_categories=replacing_steps("category", "id, key", bad),
        single_marks=single("value", first_mark, second_mark, no_break),
        value_zeros=zeros("value"), words_zeros=zeros("words"), day_zeros=zeros("day"),
        single_zeros=replaced(single("form", "'0'", first_mark, "'0'"), 4 * [("'0_0'", "'0'")]),
        clean_dates=replacing_steps("date_texts", "id, field", [(first_mark, "'?'"), (f"'{MARK}'", "'?'"), *spaces]),
        single_spaces=single("value", "' '", first_mark, "' '"),
        short_names=replacing_steps("date_words", "id, field", names),
        weekdays=", ".join(f"'{name[:3]}'" for name in WEEKDAYS),
        month_numbers=replacing_steps("date_months", "id, field, skipped", months),
        months="".join(MONTHS), days="".join(name[:3].capitalize() for name in WEEKDAYS),
    )  # fmt: skip


def replacing_steps(step: str, columns: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Steps that replace texts, given as expressions, in the values of a step; the last is called {step}_clean."""
    lines, source = [], step
    for start in range(0, len(pairs), DEEP):
        target = f"{step}_clean" if start + DEEP >= len(pairs) else f"{step}_{start // DEEP + 1}"
        value = replaced("value", pairs[start : start + DEEP])
        lines.append(f"{target} AS MATERIALIZED (SELECT {columns}, {value} AS value FROM {source}),\n")
        source = target
    return "".join(lines)


def replaced(expression: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Nested calls that replace expressions of texts, the first pair first.

    >>> replaced("x", [("'a'", "'b'")])
    "replace(x, 'a', 'b')"
    """
    for old, new in pairs:
        expression = f"replace({expression}, {old}, {new})"
    return expression


def single(expression: str, text: str, other: str, result: str) -> str:
    """An expression that makes each run of `text` one `result`; `other` is a text that does not occur."""
    return replaced(
        expression, [(text, f"{text} || {other}"), (f"{other} || {text}", "''"), (f"{text} || {other}", result)]
    )


def zeros(column: str) -> str:
    """An expression for a text with all its digits 0."""
    return replaced(column, [(f"'{digit}'", "'0'") for digit in range(1, 10)])
