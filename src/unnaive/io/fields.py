"""Records with fields → texts with a section for each field, which token rules read as terms.

The terms of a record depend only on the record and the kinds of its fields, so counts add and subtract exactly.

category    one term: the value
number      a term for the interval that contains it, at three resolutions: 1, 2 and 4 intervals between two powers of
            2, so that the borders do not depend on data; zero has its own term, and signs are separate
date        one term each for year, month, weekday and, if it has a time, hour
characters  one term for each character n-gram, independent of the token rule of the other texts
vector      one term for each signed power of two in the sum that makes up a number (text/vector_units.py)

An empty cell is the term "(missing)" of its field. A value that was not in the training data is an unknown term, which
has no weight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from unnaive.base.errors import BadData
from unnaive.io.label_checks import is_missing_value
from unnaive.io.profiles import is_text_name, profile_column
from unnaive.io.vector_values import holds_vectors, read_vector, vector_units
from unnaive.text.buffer import TABLES, TextBuffer, as_texts
from unnaive.text.sections import (
    KINDS,
    SECTION,
    TEXT_KINDS,
    UNIT,
    VECTOR,
    base_kind,
    field_key,
    field_kinds,
    read_fields,
    vector_lengths,
)

RESOLUTIONS = (1, 2, 4)  # intervals between two powers of 2
MOST_KNOWN = 1 << 16  # maximum number of distinct values of a column whose encoding is cached
SAMPLE = 1000  # values from which the kind of a field is guessed
SEVERAL_WORDS = 1.5  # words of a value, on average, from which a column with a usual name of texts is text
MANY_WORDS = 2.5  # the same of a column with any name whose values mostly differ
FEW_NUMBERS = 10  # a column with at most this many distinct whole numbers is a category
MISSING_UNIT = "(missing)"
NO_BREAK = "\N{NO-BREAK SPACE}"  # between the words of a category, which is one term
_CONTROLS = str.maketrans({SECTION: " ", UNIT: " "})
_BAD = re.compile("[\x00-\x20\x7f\ud800-\udfff\ufffd]+")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:[, _']\d{3})+(?:\.\d+)?")
_WHOLE = re.compile(r"-?\d+\.0+")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_CLOCK = r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2}).*)?"
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


def encode_records(
    columns: Mapping[str, Sequence[Any]], fields: Sequence[str], source: str = "the records"
) -> list[str]:
    """The records of a table, given as columns by name, as texts; an error names a missing column.

    >>> encode_records({"subject": ["hi"], "age": ["3.5"]}, ("subject:text", "age:number"))
    ['\\x1esubject\\x1fhi\\x1eage\\x1f3.5\\x1f[2,4)\\x1f[3,4)\\x1f[3.5,4)']
    """
    parts = []
    for name, kind in field_kinds(fields).items():
        if name not in columns:
            field_names = ", ".join(columns) or "no fields"
            raise BadData(f"there is no field {name!r} ({kind}) in {source}; there are {field_names}")
        parts.append(_encode_column(name, kind, columns[name]))
    return list(map("".join, zip(*parts, strict=True)))


def _encode_column(name: str, kind: str, values: Iterable[Any]) -> list[str]:
    """The section of each value of a column; repeated values are encoded once."""
    start = f"{SECTION}{field_key(name)}{UNIT}"
    if kind in TEXT_KINDS:
        return [start + _encode_text(value, name) for value in values]
    if base_kind(kind) == VECTOR:
        length = vector_lengths([f"{name}:{kind}"])[name]
        units = vector_units(list(values), name, length, is_missing)
        return [
            start + (UNIT + MISSING_UNIT if unit is None else f"{unit[0]} numbers{UNIT}{unit[1]}") for unit in units
        ]
    cache: dict[Any, str] = {}
    sections = []
    for value in values:
        same = (type(value), value) if value.__hash__ else None  # the type too, since 1, 1.0 and True are equal
        section = cache.get(same)
        if section is None:
            section = start + _encode_value(value, name, kind)
            if same is not None and len(cache) < MOST_KNOWN:
                cache[same] = section
        sections.append(section)
    return sections


def _encode_text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value.translate(_CONTROLS) if SECTION in value or UNIT in value else value
    if is_missing(value):
        return ""
    if isinstance(value, (int, float)):
        return str(value)
    raise BadData(f"field {name!r} is of kind text, but a value has the type {type(value).__name__}; give a str")


def _encode_value(value: Any, name: str, kind: str) -> str:
    """The value as people see it, then its terms."""
    if is_missing(value) and not (kind == "category" and isinstance(value, str) and value.strip()):
        return UNIT + MISSING_UNIT
    shown = _BAD.sub(" ", str(value)).strip()
    return UNIT.join([shown, *FIXED_KINDS[kind](value, name)])


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NaT, an empty string, or a marker such as N/A.

    >>> [is_missing(value) for value in (None, float("nan"), " ", "N/A", 0, "0")]
    [True, True, True, True, False, False]
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
    return str(value).strip() if number is None else _number_units(number, "")[-1]


def _category_units(value: Any, name: str) -> list[str]:
    """The value, or each value of a list; 3.0 becomes 3, because pandas stores integers with empty cells as floats."""
    if isinstance(value, (list, tuple)):
        return [unit for item in value for unit in _category_units(item, name)]
    text = str(value).strip()
    if _WHOLE.fullmatch(text):
        text = text.partition(".")[0]
    return [_BAD.sub(NO_BREAK, text)]


def _number_units(value: Any, name: str) -> list[str]:
    """The intervals that contain a number, the widest first.

    >>> _number_units(3.5, "age"), _number_units("-1,000", "x")[0], _number_units(-0.0, "x")
    (['[2,4)', '[3,4)', '[3.5,4)'], '(-1024,-512]', ['0'])
    """
    number = read_number(value)
    if number is None or math.isnan(number):
        raise BadData(
            f"field {name!r} is of kind number, but a value is {str(value)[:40]!r}; correct it or leave it empty"
        )
    if number == 0 or math.isinf(number):
        return [f"{abs(number) if number == 0 else number:g}"]
    return interval_units(number)


def interval_units(number: float) -> list[str]:
    """The intervals that contain a finite number other than 0, the widest first."""
    return [_interval(number, parts) for parts in RESOLUTIONS]


def _interval(number: float, parts: int) -> str:
    """The interval of a number if each octave (from 2^k to 2^(k+1)) has `parts` equal ones; borders are exact."""
    fraction, exponent = math.frexp(abs(number))  # from ½ to 1, and the power of 2
    step = int((fraction * 2 - 1) * parts)
    low, high = (math.ldexp(1 + at / parts, exponent - 1) if exponent < 1024 or at < parts else math.inf
                 for at in (step, step + 1))  # fmt: skip
    return f"[{low:.9g},{high:.9g})" if number > 0 else f"(-{high:.9g},-{low:.9g}]"


def read_number(value: Any) -> float | None:
    """The number in a cell; None if there is none.

    >>> [read_number(value) for value in (True, "1,234.5", "3,5", "12 %", "$5", "many")]
    [1.0, 1234.5, 3.5, 12.0, 5.0, None]
    """
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return None
    text = value.strip().strip("$€£%").strip()
    if _THOUSANDS.fullmatch(text):
        text = re.sub("[, _']", "", text)
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 else text)
    except ValueError:
        return None


def _date_units(value: Any, name: str) -> list[str]:
    """The year, month, weekday and, if there is a time, hour of a date.

    >>> _date_units("2024-03-05 14:30", "opened")
    ['2024', 'Mar', 'Tue', '14h']
    """
    parsed = parse_date(value)
    if parsed is None:
        raise BadData(
            f"field {name!r} is of kind date, but a value is {str(value)[:40]!r}; write it as 2024-03-05 14:30"
        )
    moment, timed = parsed
    units = [str(moment.year), _MONTHS[moment.month - 1], _DAYS[moment.weekday()]]
    return [*units, f"{moment.hour}h"] if timed else units


def parse_date(value: Any) -> tuple[datetime, bool] | None:
    """(the date in a cell, whether it has a time); None if there is no date. In 3/5/2024 the month comes first.

    >>> parse_date("5 March 2024"), parse_date("26-FEB-1987 15:01:01.79")[0].hour, parse_date("soon")
    ((datetime.datetime(2024, 3, 5, 0, 0), False), 15, None)
    """
    if hasattr(value, "astype") and hasattr(value, "item"):  # datetime64 of NumPy
        value = value.astype("datetime64[us]").item() if value.dtype.kind == "M" else value.item()
    if isinstance(value, datetime):
        return value, bool(value.hour or value.minute)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day), False
    if not isinstance(value, str):
        return None
    text = " ".join(value.split())
    matches = (pattern.fullmatch(text) for pattern in _DATES)
    return next((moment for match in matches if match and (moment := _moment(match.groupdict()))), None)


def _moment(parts: dict[str, str | None]) -> tuple[datetime, bool] | None:
    """The date of the matched parts; None if there is no such day."""
    year, day = int(parts["year"] or 0), int(parts["day"] or 0)
    if year < 100:
        year += 1900 if year > 68 else 2000  # as strptime does
    month_name = (parts.get("name") or "").capitalize()
    month = _MONTHS.index(month_name) + 1 if month_name in _MONTHS else int(parts.get("month") or 0)
    if month > 12 >= day:
        month, day = day, month
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    try:
        return datetime(year, month, day, hour, minute), bool(hour or minute)  # midnight means a date without a time
    except ValueError:
        return None


def _character_units(value: Any, name: str) -> list[str]:
    """The character n-grams of a text, as from a token rule with analyzer "char"; "_" marks a border.

    >>> _character_units("A-1", "code")
    ['_a', 'a-', '-1', '1_', '_a-', 'a-1', '-1_', '_a-1', 'a-1_', '_a-1_']
    """
    from unnaive.text.tokens import TokenRule, spans

    grams = spans(_encode_text(value, name), TokenRule(analyzer="char"))
    return [term[1:].replace(" ", "_") for _, _, term in grams]


FIXED_KINDS: dict[str, Callable[[Any, str], list[str]]] = {
    "category": _category_units, "number": _number_units, "date": _date_units, "characters": _character_units,
}  # fmt: skip


def as_documents(values: Any, fields: Sequence[str] | None) -> list[str] | tuple[str, ...] | TextBuffer:
    """Documents for a token rule with these fields: records are encoded, texts stay; without fields `as_texts`.

    Records come as a DataFrame (pandas, polars), an Arrow table, a list of dicts, or a dict of columns.

    >>> as_documents([{"age": 1}, {"age": None}], ("age:number",))
    ['\\x1eage\\x1f1\\x1f[1,2)\\x1f[1,1.5)\\x1f[1,1.25)', '\\x1eage\\x1f\\x1f(missing)']
    """
    if fields is None:
        return as_texts(values)
    columns = record_columns(values)
    return as_texts(values) if columns is None else encode_records(columns, fields)


def record_columns(values: Any) -> dict[str, Any] | None:
    """The columns of a table or of a list of dicts by name; None if `values` are not records."""
    if type(values).__name__ == "LazyFrame":
        raise BadData("records came as a LazyFrame; collect() it first")
    if type(values).__name__ in TABLES:
        return _table_columns(values)
    if isinstance(values, Mapping):
        sizes = {name: _length(name, column) for name, column in values.items()}
        if len(set(sizes.values())) > 1:
            lengths = ", ".join(f"{name} {n}" for name, n in sizes.items())
            raise BadData(f"the fields differ in length: {lengths}; give as many values of each")
        return {name: _column_values(column) for name, column in values.items()}
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], Mapping):
        return _dict_columns(values)
    return None


def _length(name: str, column: Any) -> int:
    if isinstance(column, (str, bytes)) or not hasattr(column, "__len__"):
        raise BadData(f"field {name!r} came as {type(column).__name__}; give a list of values, or a list of records")
    return len(column)


def _column_values(column: Any) -> list[Any]:
    """The values of a column; the rows of an array with several dimensions."""
    return column.tolist() if getattr(column, "ndim", 2) == 1 and hasattr(column, "tolist") else list(column)


def _table_columns(table: Any) -> dict[str, Any]:
    """The columns of a DataFrame or an Arrow table as lists."""
    module = type(table).__module__.partition(".")[0]
    if module == "pyarrow":
        return {name: table.column(name).to_pylist() for name in table.schema.names}
    if module == "polars":
        return {name: table[name].to_list() for name in table.columns}
    return {str(name): table[name].tolist() for name in table.columns}


def _dict_columns(records: Sequence[Any]) -> dict[str, Any]:
    """Dicts as columns; if a record lacks a field, its cell is empty."""
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise BadData(f"record {row} is a {type(record).__name__}, but others are dicts; give a dict for each")
    seen = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in seen}


def with_lengths(fields: Any, records: Any) -> dict[str, str]:
    """The fields with their kinds; the kind of a vector gets the number of dimensions in the records.

    >>> with_lengths({"body": "text", "topic": "vector"}, [{"body": "a", "topic": [0.5, 1]}])
    {'body': 'text', 'topic': 'vector(2)'}
    """
    kinds = field_kinds(read_fields(fields) or ())
    columns = record_columns(records) or {}
    for name, length in vector_lengths(read_fields(fields)).items():
        filled = next((value for value in columns.get(name, ()) if not is_missing(value)), None)
        if not length and filled is None:
            raise BadData(f"field {name!r} is of kind vector, but no record has a value of it; leave the field out")
        if not length:
            kinds[name] = f"{VECTOR}({len(read_vector(filled, name))})"
    return kinds


def has_kinds(fields: Any) -> bool:
    """Whether the kinds of fields are given, as a dict or as "name:kind"; otherwise they must be guessed.

    >>> has_kinds({"age": "number"}), has_kinds(["age:number"]), has_kinds(["age"]), has_kinds("auto")
    (True, True, False, False)
    """
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        return not isinstance(fields, str)
    return all(
        isinstance(field, str) and base_kind(field.rpartition(":")[2]) in KINDS and ":" in field for field in fields
    )


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


def one_document(document: Any, fields: Sequence[str] | None) -> Any:
    """Encode one record (a dict); return anything else unchanged."""
    if fields is None or not isinstance(document, Mapping):
        return document
    return encode_records(record_columns([document]) or {}, fields, "the record")[0]
