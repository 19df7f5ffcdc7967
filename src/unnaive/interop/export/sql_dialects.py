"""The syntax that differs between the databases of an SQL export: SQLite, DuckDB and PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """The syntax that differs between databases.

    positions  rows (id, i, text) of the positions of characters, from 1
    code, char the code point of a character, and the character of a code point
    infinity   −∞
    series     rows (code, folded, kind) of all characters of the ranges
    real       the type of numbers of eight bytes
    ascii      what makes lower() one of ASCII only, whatever the locale
    number     the number in a column; in SQLite NULL for another value
    before     a statement before the query
    rows, next_character   how a step of the recursion finds its character
    """

    positions: str
    code: str
    char: str
    infinity: str
    series: str
    real: str
    ascii: str
    number: str
    before: str = ""
    rows: str = ""
    next_character: str = "JOIN coded c ON c.id = s.id AND c.i = s.i + 1"


DIALECTS = {
    "sqlite": Dialect(
        "SELECT id, 1, text FROM texts WHERE length(text) > 0 UNION ALL "
        "SELECT id, i + 1, text FROM positions WHERE i < length(text)",
        "unicode", "char", "-9e999",
        "WITH RECURSIVE each(code, last, kind) AS (SELECT first, last, kind FROM unnaive_ranges UNION ALL "
        "SELECT code + 1, last, kind FROM each WHERE code < last) SELECT code, code, kind FROM each",
        "REAL", "", "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END",
    ),
    "duckdb": Dialect(
        "SELECT id, unnest(range(1, length(text) + 1)), text FROM texts",
        "unicode", "chr", "'-inf'::DOUBLE",
        "SELECT code, code, kind FROM (SELECT unnest(range(first, last + 1)) AS code, kind FROM unnaive_ranges)",
        "DOUBLE", "", "CAST({0} AS DOUBLE)",
    ),
    "postgresql": Dialect(
        "SELECT id, i, text FROM texts, generate_series(1, char_length(text)) AS i",
        "ascii", "chr", "'-Infinity'::float8",
        "SELECT code, code, kind FROM unnaive_ranges, generate_series(first, last) AS code",
        "DOUBLE PRECISION", ' COLLATE "C"', "CAST({0} AS DOUBLE PRECISION)",
        before="SET datestyle = 'ISO';\nSET jit = off; -- to compile the query takes longer than to run it\n",
        rows="""whole AS MATERIALIZED (SELECT id, count(*) AS n,
  array_agg(code ORDER BY i) AS codes, array_agg(kind ORDER BY i) AS kinds,
  array_agg(begins ORDER BY i) AS beginnings, array_agg(joins ORDER BY i) AS joined
  FROM coded GROUP BY id),
""",
        next_character="""JOIN whole r ON r.id = s.id AND s.i < r.n CROSS JOIN LATERAL (SELECT s.i + 1 AS i,
    r.codes[s.i + 1] AS code, r.kinds[s.i + 1] AS kind, r.beginnings[s.i + 1] AS begins,
    r.joined[s.i + 1] AS joins) c""",
    ),
}  # fmt: skip
