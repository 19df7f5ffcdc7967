"""Tensors of the Open Inference Protocol for a model with fields: one for each field, instead of one of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.bodies import Tensor
from unnaive.text.field import VECTOR, Field, field_kinds, vector_lengths

NUMBERS = ("number", VECTOR)  # kinds of fields whose tensors are described as FP64; others are BYTES


def describe_field_tensors(fields: Sequence[Field]) -> list[dict[str, Any]]:
    """The input tensor of each field.

    >>> describe_field_tensors([Field("body", "text"), Field("topic", "vector", 3)])[1]
    {'name': 'topic', 'datatype': 'FP64', 'shape': [-1, 3]}
    """
    return [
        {
            "name": field.name, "datatype": "FP64" if field.kind in NUMBERS else "BYTES",
            "shape": [-1, field.length] if field.kind == VECTOR else [-1],
        }
        for field in fields
    ]  # fmt: skip


def read_field_tensors(tensors: Sequence[Tensor], fields: Sequence[Field]) -> list[dict[str, Any]] | None:
    """The records in the tensors of fields; None if no tensor has the name of a field.

    >>> tensor = Tensor(name="age", shape=[2], datatype="FP64", data=[3, 4])
    >>> read_field_tensors([tensor], [Field("age", "number")])
    [{'age': 3}, {'age': 4}]
    """
    names = list(field_kinds(fields))
    if not any(tensor.name in names for tensor in tensors):
        return None
    unknown = next((tensor.name for tensor in tensors if tensor.name not in names), None)
    if unknown is not None:
        raise Refused(422, f"the input {unknown!r} is no field of the model; its fields are {', '.join(names)}")
    columns = {tensor.name: _read_rows(tensor, tensor.name in vector_lengths(fields)) for tensor in tensors}
    if len(set(map(len, columns.values()))) > 1:
        sizes = ", ".join(f"{name} {len(rows)}" for name, rows in columns.items())
        raise Refused(422, f"the inputs differ in length: {sizes}; give a value for each record")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _read_rows(tensor: Tensor, is_vector: bool) -> list[Any]:
    """The value of each record: a scalar, or a list of numbers; `data` is nested by row, or flat in row order."""
    if not isinstance(tensor.data, list):
        raise Refused(422, f"the input {tensor.name!r} has no list of values in data; give the fields as JSON")
    if not is_vector or all(isinstance(row, list) for row in tensor.data):
        return [row[0] if isinstance(row, list) and len(row) == 1 and not is_vector else row for row in tensor.data]
    width = tensor.shape[-1] if len(tensor.shape) == 2 else len(tensor.data)
    if width < 1 or len(tensor.data) % width:
        raise Refused(
            422,
            f"the input {tensor.name!r} has {len(tensor.data)} values, but the shape {tensor.shape}; give as "
            "many as the shape says",
        )
    return [tensor.data[at : at + width] for at in range(0, len(tensor.data), width)]
