"""The part of an SQL export that reads records with fields: tables, and the steps of the query that find their terms.

records.sql.in has the steps. Every step is materialised, because a database that inlines them repeats each expression
as often as later steps use it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

from unnaive.data.fields.fields import interval_units
from unnaive.data.fields.numbers_and_dates import DAYS, MONTHS
from unnaive.data.missing_values import MISSING
from unnaive.interop.export.sql_dialects import Dialect
from unnaive.text.field import TEXT_KINDS, Fields, field_key, field_kinds
from unnaive.text.sections import BOTH, FIXED, OWN_ONLY, SHARED, section_modes

DEEP = 8  # nested function calls of one step; the parser of SQLite has a stack of 100

TABLES = {
    "fields": "field INTEGER PRIMARY KEY, name TEXT, key TEXT, kind TEXT, shared INTEGER, own INTEGER",
    "missing": "word TEXT PRIMARY KEY",
    "constants": "spaces TEXT, digits TEXT",
    "intervals": "field INTEGER, term TEXT, sign INTEGER, low {real}, high {real}",
}


def record_rows(fields: Fields, terms: Sequence[str]) -> dict[str, list[list[Any]]]:
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


def record_source(fields: Fields, dialect: Dialect) -> str:
    """The steps before texts are read: a row for each cell, then a section for each text."""
    cells = []
    for number, (name, kind) in enumerate(field_kinds(fields).items()):
        column = 'r."' + name.replace('"', '""') + '"'  # with its table, or SQLite takes an unknown column for a text
        value = dialect.number.format(column) if kind == "number" else f"CAST(NULL AS {dialect.real})"
        cells.append(
            f"SELECT r.id AS id, {number} AS field, CAST({column} AS TEXT) AS text, {value} AS number FROM records r"
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
    return (files("unnaive.interop.export") / "records.sql.in").read_text(encoding="utf-8").format(
        ascii=dialect.ascii, clean_categories=replacing_steps("category", "id, key", bad),
        single_marks=single("value", first_mark, second_mark, no_break),
        value_zeros=replaced("value", [(f"'{digit}'", "'0'") for digit in range(1, 10)]),
        months="".join(MONTHS), days="".join(DAYS),
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
