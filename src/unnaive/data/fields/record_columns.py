"""Records of any type (tables, lists of dicts, dicts of columns, arrays) → columns by name; fields.py encodes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from unnaive.base.errors import BadData
from unnaive.text.buffer import TABLES

NEED_RECORDS = "give a DataFrame, a list of dicts, or a dict of columns"


def record_columns(values: Any) -> dict[str, Any] | None:
    """The columns of a table or of dicts by name; None if `values` are not records.

    >>> record_columns([{"age": 1}, {"vip": "no"}])
    {'age': [1, None], 'vip': [None, 'no']}
    """
    if type(values).__name__ == "LazyFrame":
        raise BadData("records came as a LazyFrame; collect() it first")
    if type(values).__name__ in TABLES:
        return _table_columns(values)
    if isinstance(values, Mapping):
        return _named_columns(values)
    if getattr(getattr(values, "dtype", None), "names", None):  # a structured array of NumPy
        return {name: values[name].tolist() for name in values.dtype.names}
    return _dict_columns(values) if _has_dicts(values) else None


def find_column(columns: Mapping[str, Any], name: str) -> Any | None:
    """A column by name, or by a name with dots inside dicts; None if there is none.

    >>> find_column({"mail": [{"to": {"name": "Ann"}}, {}]}, "mail.to.name")
    ['Ann', None]
    """
    if name in columns:
        return columns[name]
    first, dot, rest = name.partition(".")
    outer = columns.get(first, ()) if dot else ()
    inner = [value if isinstance(value, Mapping) else {} for value in outer]
    keys = dict.fromkeys(key for value in inner for key in value)
    return find_column({key: [value.get(key) for value in inner] for key in keys}, rest) if keys else None


def _named_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {name: _length(name, column) for name, column in values.items()}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{name} {n}" for name, n in sizes.items())
        raise BadData(f"the fields differ in length: {lengths}; give as many values of each")
    return {name: _column_values(column) for name, column in values.items()}


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
    names = [str(name) for name in (table.schema.names if module == "pyarrow" else table.columns)]
    name, times = max(Counter(names).items(), key=lambda pair: pair[1], default=("", 1))
    if times > 1:
        raise BadData(f"the records have {times} columns called {name!r}; rename or drop all but one")
    if module == "pyarrow":
        return {name: table.column(name).to_pylist() for name in names}
    if module == "polars":
        return {name: table[name].to_list() for name in names}
    return {name: table[column].tolist() for name, column in zip(names, table.columns, strict=True)}


def _has_dicts(values: Any) -> bool:
    """Whether values are a sequence, an array or a column of dicts; the first one decides."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        return False
    return isinstance(next(iter(values), None), Mapping)


def _dict_columns(values: Any) -> dict[str, Any]:
    """Dicts as columns; if a record lacks a field, its cell is empty."""
    records: Sequence[Any] = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise BadData(f"record {row} is a {type(record).__name__}, but others are dicts; give a dict for each")
    seen = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in seen}
