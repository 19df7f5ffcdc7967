"""Records with fields → texts with a section for each field, which token rules read as terms.

The terms of a record depend only on the record and the kinds of its fields, so counts add and subtract exactly.

category    one term: the value
number      a term for the interval that contains it, at three resolutions: 1, 2 and 4 intervals between two powers of
            2, so that the borders do not depend on data; zero has its own term, and signs are separate
date        one term each for year, month, weekday and, if it has a time, hour
characters  one term for each character n-gram, independent of the token rule of the other texts
vector      no term: its numbers are columns of their own (text/fixed_point.py)

An empty cell is the term "(missing)" of its field. A value that was not in the training data is an unknown term, which
has no weight. A value is written in one way (3.0 as 3, any date as 2024-03-05), because the hash of a record says
whether a model has learnt it: CSV, Excel, Parquet and DataFrames differ in how they store the same value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from unnaive.base.errors import BadData
from unnaive.data.fields.bad_values import BadRecord, BadValue, describe_value
from unnaive.data.fields.cell_styles import find_style
from unnaive.data.fields.column_kinds import is_text_name, profile_column
from unnaive.data.fields.numbers_and_dates import DAYS, MONTHS, find_interval, parse_date, read_number, write_moment
from unnaive.data.fields.record_columns import NEED_RECORDS, find_column, record_columns
from unnaive.data.fields.vector_values import encode_vectors, holds_vectors, read_vector
from unnaive.data.missing_values import is_missing_value
from unnaive.text.buffer import TextBuffer, as_texts
from unnaive.text.field import (
    COMMA,
    STYLED,
    VECTOR,
    Field,
    field_kinds,
    read_fields,
    vector_lengths,
)
from unnaive.text.sections import SECTION, UNIT

RESOLUTIONS = (1, 2, 4)  # intervals between two powers of 2
MOST_KNOWN = 1 << 16  # maximum number of distinct values of a column whose encoding is cached
SAMPLE = 1000  # values from which the kind of a field is guessed
SEVERAL_WORDS = 1.5  # words of a value, on average, from which a column with a usual name of texts is text
MANY_WORDS = 2.5  # the same of a column with any name whose values mostly differ
FEW_NUMBERS = 10  # a column with at most this many distinct whole numbers is a category
LARGEST_WHOLE = 1e15  # larger whole numbers are shown as 1e+15
MISSING_UNIT = "(missing)"
NO_BREAK = "\N{NO-BREAK SPACE}"  # between the words of a category, which is one term
_CACHED = (str, int, float, date, type(None))
_CONTROLS = str.maketrans({SECTION: " ", UNIT: " "})
_BAD = re.compile("[\x00-\x20\x7f\ud800-\udfff\ufffd]+")
_WHOLE = re.compile(r"-?\d+\.0+")


def encode_records(
    columns: Mapping[str, Sequence[Any]], fields: Sequence[Field], source: str = "the records"
) -> list[str]:
    """The records of a table, given as columns by name, as texts; an error names a missing column or a bad value.

    >>> fields = [Field("subject", "text"), Field("age", "number")]
    >>> encode_records({"subject": ["hi"], "age": ["3.5"]}, fields)
    ['\\x1esubject\\x1fhi\\x1eage\\x1f3.5\\x1f[2,4)\\x1f[3,4)\\x1f[3.5,4)']
    """
    parts = []
    for field in fields:
        column = find_column(columns, field.name)
        if column is None:
            field_names = ", ".join(columns) or "no fields"
            raise BadData(
                f"there is no field {field.name!r} ({field.shown_kind}) in {source}; there are {field_names}; add it, "
                "empty where it is not known"
            )
        parts.append(_encode_column(field, column))
    return list(map("".join, zip(*parts, strict=True)))


def _encode_column(field: Field, column: Iterable[Any]) -> list[str]:
    """The section of each value of a column."""
    values = list(column)
    start = f"{SECTION}{field.key}{UNIT}"
    if field.kind == VECTOR:
        vectors = encode_vectors(values, field.name, field.length, is_missing)
        return [start + (UNIT + MISSING_UNIT if vector is None else vector) for vector in vectors]
    encode = _encode_text if field.is_text else _cached_encoder(field.kind, field.style)
    sections: list[str] = []
    try:
        for value in values:
            sections.append(start + encode(value))
    except BadValue as problem:
        row = len(sections)
        raise BadRecord(
            f"field {field.name!r} is of kind {field.kind}, but a value is {problem.found}", problem.advice, row,
            f"record {row}" if len(values) > 1 else "",
        ) from None  # fmt: skip
    return sections


def _cached_encoder(kind: str, style: str) -> Callable[[Any], str]:
    """Encode values of a fixed kind; repeated scalars are encoded once."""
    cache: dict[Any, str] = {}

    def encode(value: Any) -> str:
        if not isinstance(value, _CACHED):
            return _encode_value(value, kind, style)
        same = type(value), value  # the type too, since 1, 1.0 and True are equal
        section = cache.get(same)
        if section is None:
            section = _encode_value(value, kind, style)
            if len(cache) < MOST_KNOWN:
                cache[same] = section
        return section

    return encode


def _encode_text(value: Any) -> str:
    if isinstance(value, str):
        return value.translate(_CONTROLS) if SECTION in value or UNIT in value else value
    if is_missing(value):
        return ""
    if isinstance(value, (int, float)):
        return str(value)
    raise BadValue(f"of the type {type(value).__name__}", "give a str")


def _encode_value(value: Any, kind: str, style: str) -> str:
    """The value as people see it, then its terms."""
    if is_missing(value) and not (kind == "category" and isinstance(value, str) and value.strip()):
        return UNIT + MISSING_UNIT
    shown, *units = FIXED_KINDS[kind](_in_one_style(value, style))
    return UNIT.join([_BAD.sub(" ", shown).strip(), *units])


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NaT, an empty string, or a marker such as N/A.

    >>> [is_missing(value) for value in (None, float("nan"), " ", "N/A", " N/A", 0, "0")]
    [True, True, True, True, True, False, False]
    """
    if isinstance(value, str):
        return not value.strip() or is_missing_value(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType") or _differs_from_itself(value)


def _differs_from_itself(value: Any) -> bool:
    if getattr(value, "ndim", 0):
        return False
    return bool(value != value) if isinstance(value, float) or hasattr(value, "dtype") else False


def finest_unit(value: Any, kind: str) -> str:
    """The most specific term of a value: the narrowest interval of a number, otherwise the value itself.

    >>> finest_unit(3.6, "number"), finest_unit("2024-03-05", "date"), finest_unit("old", "number")
    ('[3.5,4)', '2024-03-05', 'old')
    """
    number = read_number(value) if kind == "number" and not is_missing(value) else None
    return str(value).strip() if number is None else _number_parts(number)[-1]


def _in_one_style(value: Any, style: str) -> Any:
    """A cell of a field with a style as a value that can be read in one way only."""
    if not style or not isinstance(value, str):
        return value
    if style == COMMA:
        number = read_number(value, comma=True)
        return value if number is None else number
    parsed = parse_date(value, day_first=True)
    return value if parsed is None else write_moment(parsed[0], timed=parsed[1])


def _category_parts(value: Any) -> list[str]:
    """The value, or the values of a list with commas; then each of them as a term.

    >>> _category_parts(3.0), _category_parts(["new york", None])
    (['3', '3'], ['new york', 'new\\xa0york'])
    """
    names = [name for name in _category_names(value) if name]
    return [", ".join(names), *(_BAD.sub(NO_BREAK, name) for name in names or [MISSING_UNIT])]


def _category_names(value: Any) -> list[str]:
    """The values of a cell; 3.0 becomes 3, because pandas stores integers with empty cells as floats."""
    if isinstance(value, Mapping):
        raise BadValue("a dict", "give a string, or a list of strings")
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0:
        return [name for item in value if item is not None for name in _category_names(item)]
    if is_missing(value) and not isinstance(value, str):
        return []
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    if isinstance(value, datetime):
        return [write_moment(value, timed=bool(value.hour or value.minute))]
    text = str(value).strip()
    return [text.partition(".")[0] if _WHOLE.fullmatch(text) else text]


def _number_parts(value: Any) -> list[str]:
    """The number, then the intervals that contain it, the widest first.

    >>> _number_parts("3.50"), _number_parts("-1,000")[:2], _number_parts(-0.0)
    (['3.5', '[2,4)', '[3,4)', '[3.5,4)'], ['-1000', '(-1024,-512]'], ['0', '0'])
    """
    number = read_number(value)
    if number is None or math.isnan(number):
        raise BadValue(describe_value(value), "correct it or leave it empty")
    if number == 0 or math.isinf(number):
        return [f"{abs(number) if number == 0 else number:g}"] * 2
    shown = str(int(number)) if number.is_integer() and abs(number) < LARGEST_WHOLE else repr(number)
    return [shown, *interval_units(number)]


def interval_units(number: float) -> list[str]:
    """The intervals that contain a finite number other than 0, the widest first."""
    return [find_interval(number, parts) for parts in RESOLUTIONS]


def _date_parts(value: Any) -> list[str]:
    """The date, then its year, month, weekday and, if there is a time, hour.

    >>> _date_parts("5 March 2024, 14:30")
    ['2024-03-05 14:30', '2024', 'Mar', 'Tue', '14h']
    """
    parsed = parse_date(value)
    if parsed is None:
        raise BadValue(describe_value(value), "write it as 2024-03-05 14:30")
    moment, timed = parsed
    units = [str(moment.year), MONTHS[moment.month - 1], DAYS[moment.weekday()]]
    return [write_moment(moment, timed=timed), *units, *([f"{moment.hour}h"] if timed else [])]


def _character_parts(value: Any) -> list[str]:
    """The text, then its character n-grams, as from a token rule with analyzer "char"; "_" marks a border.

    >>> _character_parts("A-1")
    ['A-1', '_a', 'a-', '-1', '1_', '_a-', 'a-1', '-1_', '_a-1', 'a-1_', '_a-1_']
    """
    from unnaive.text.tokens import TokenRule, spans

    text = _encode_text(value)
    return [text, *(term[1:].replace(" ", "_") for _, _, term in spans(text, TokenRule(analyzer="char")))]


FIXED_KINDS: dict[str, Callable[[Any], list[str]]] = {
    "category": _category_parts, "number": _number_parts, "date": _date_parts, "characters": _character_parts,
}  # fmt: skip


def as_documents(values: Any, fields: Sequence[Field] | None) -> list[str] | tuple[str, ...] | TextBuffer:
    """Documents for a token rule with these fields: records are encoded, texts stay; without fields `as_texts`.

    Records come as a DataFrame (pandas, polars), an Arrow table, a list of dicts, or a dict of columns.

    >>> as_documents([{"age": 1}, {"age": None}], [Field("age", "number")])
    ['\\x1eage\\x1f1\\x1f[1,2)\\x1f[1,1.5)\\x1f[1,1.25)', '\\x1eage\\x1f\\x1f(missing)']
    """
    if fields is None:
        return as_texts(values)
    values = list(values) if isinstance(values, Iterator) else values
    columns = record_columns(values)
    return as_texts(values) if columns is None else encode_records(columns, fields)


def with_lengths(fields: Any, records: Any) -> dict[str, str]:
    """The fields with their kinds: vectors get their number of dimensions, dates and numbers how they are written.

    >>> with_lengths({"body": "text", "topic": "vector"}, [{"body": "a", "topic": [0.5, 1]}])
    {'body': 'text', 'topic': 'vector(2)'}
    """
    known = read_fields(fields) or ()
    kinds, lengths = field_kinds(known), vector_lengths(known)
    styled = [field for field in known if field.kind in STYLED and not field.style]
    if all(lengths.values()) and not styled:
        return kinds
    columns = record_columns(records)
    if columns is not None:
        for field in styled:
            style, _ = find_style(field.name, field.kind, list(find_column(columns, field.name) or ()))
            kinds[field.name] = replace(field, style=style).shown_kind
    if all(lengths.values()):
        return kinds
    if columns is None:
        raise BadData(f"fields need records, but {type(records).__name__} came; {NEED_RECORDS}")
    return kinds | {
        name: f"{VECTOR}({length or _find_length(name, find_column(columns, name) or ())})"
        for name, length in lengths.items()
    }


def _find_length(name: str, values: Sequence[Any]) -> int:
    """The number of dimensions of the first vector of a column."""
    row = next((row for row, value in enumerate(values) if not is_missing(value)), None)
    if row is None:
        raise BadData(f"field {name!r} is of kind vector, but no record has a value of it; leave the field out")
    try:
        return len(read_vector(values[row]))
    except BadValue as problem:
        raise BadRecord(
            f"field {name!r} is of kind vector, but a value is {problem.found}", problem.advice, row, f"record {row}"
        ) from None


def guess_kind(name: str, values: Sequence[Any]) -> str:
    """Guess the kind of a field from some of its values: text, category, number, date or vector.

    >>> guess_kind("opened", ["2024-01-03", None]), guess_kind("vip", ["0", "1"]), guess_kind("Subject", ["no ink"] * 9)
    ('date', 'category', 'text')
    """
    filled = [value for value in values if not is_missing(value)]
    if filled and all(isinstance(value, (date, datetime)) or hasattr(value, "timestamp") for value in filled):
        return "date"
    if holds_vectors(filled):
        return VECTOR
    column = profile_column(name, filled)
    profile = column.kind
    numbers = bool(filled) and all(read_number(value) is not None for value in filled)
    if numbers and profile != "flags":
        few = len(set(map(str, filled))) <= FEW_NUMBERS and all(map(_is_whole, filled))
        return "category" if profile == "labels" and few and len(filled) > 4 * FEW_NUMBERS else "number"
    if profile == "dates":  # such as 2024-31-31, which is no day
        return "date" if all(parse_date(value) for value in filled) else "category"
    if profile in ("free text", "ids"):
        return "text"
    # the words of a subject say more of new subjects than the whole of it, even if some recur
    if is_text_name(name):
        return "text" if column.n_words >= SEVERAL_WORDS else "category"
    differ = len(set(map(str, filled))) > len(filled) / 2
    return "text" if differ and column.n_words >= MANY_WORDS else "category"


def _is_whole(value: Any) -> bool:
    number = read_number(value)
    return number is not None and number.is_integer()


def one_document(document: Any, fields: Sequence[Field] | None) -> Any:
    """Encode one record (a dict); return anything else unchanged."""
    if fields is None or not isinstance(document, Mapping):
        return document
    return encode_records(record_columns([document]) or {}, fields, "the record")[0]
