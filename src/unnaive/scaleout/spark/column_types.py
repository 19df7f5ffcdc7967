"""The types of columns that pass through Spark: values keep theirs where Spark has it, and are texts elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from unnaive.base.errors import UnnaiveError
from unnaive.base.visible_text import visible_json
from unnaive.io.tables.kept_columns import KeptColumn
from unnaive.io.writing.parquet_writer import as_array, unify_types

SAME = ("int8", "int16", "int32", "int64", "float", "double", "bool", "string", "binary", "date32[day]")
WIDER = {
    "uint8": pa.int16(), "uint16": pa.int32(), "uint32": pa.int64(), "halffloat": pa.float32(),
    "large_string": pa.string(), "string_view": pa.string(), "large_binary": pa.binary(), "null": pa.null(),
}  # fmt: skip
IN_JSON = ("int8", "int16", "int32", "int64", "float", "double", "bool", "string", "null")


def spark_type(kind: Any, *, as_json: bool) -> Any:
    """The type in which Spark holds values of an Arrow type without changing one; None if it has none.

    >>> spark_type(pa.uint8(), as_json=False), spark_type(pa.time32("s"), as_json=False)
    (DataType(int16), None)
    >>> spark_type(pa.list_(pa.timestamp("ns")), as_json=False), spark_type(pa.timestamp("ns"), as_json=True)
    (ListType(list<element: timestamp[us]>), None)
    """
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type, as_json=as_json)
    if str(kind) in (*SAME, *WIDER):
        kind = WIDER.get(str(kind), kind)
        return kind if not as_json or str(kind) in IN_JSON else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        item = spark_type(kind.value_type, as_json=as_json)
        return None if item is None else pa.list_(pa.field("element", item))
    if pa.types.is_struct(kind):
        fields = [(field.name, spark_type(field.type, as_json=as_json)) for field in kind]
        return pa.struct(fields) if fields and all(type is not None for _, type in fields) else None
    if as_json:
        return None
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    return kind if pa.types.is_decimal128(kind) and kind.precision <= 38 else None


def storable_type(name: str, column: Sequence[Any], known: Any, *, as_json: bool) -> Any:
    """The type of Spark that holds all values of a column of one batch; None for text.

    Values of several types are text in JSON; for Parquet and ORC they are an error, as in local writing.

    known  the Arrow type in the file, if it has one
    """
    array = column.array if isinstance(column, KeptColumn) else None
    if array is None and not as_json:
        array = as_array(name, list(column), known)
    try:
        if array is None:
            array = pa.array(list(column), known)
        kind = spark_type(array.type, as_json=as_json)
        if kind is not None and kind != array.type:
            array.cast(kind)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return None
    return kind


def hold_values(name: str, types: Sequence[Any], *, as_json: bool) -> Any:
    """The narrowest type that holds the values of several types; None if one of them is text.

    If no type holds them, they are text in JSON, and an error otherwise.

    >>> hold_values("n", [pa.int64(), pa.null(), pa.float64()], as_json=False)
    DataType(double)
    >>> hold_values("n", [pa.int64(), pa.string()], as_json=True)
    """
    if not types or any(kind is None for kind in types):
        return None
    try:
        schemas = [pa.schema([(name, kind)]) for kind in types]
        return reduce(unify_types, schemas).field(0).type
    except UnnaiveError:
        if as_json:
            return None
        raise


def json_texts(column: Sequence[Any], *, known: Any, quoted: bool) -> Any:
    """The values as an Arrow array of strings: texts as they are, others as in JSON; null for missing ones."""
    values = column.values if isinstance(column, KeptColumn) else list(column)
    if known is not None and quoted:
        values = [None if value is None else str(value) for value in values]
    return pa.array([None if value is None else _spell(value) for value in values], pa.string())


def _spell(value: Any) -> str:
    text = value if isinstance(value, str) else visible_json(value, default=str)
    return text.encode("utf-8", "backslashreplace").decode()
