"""Binary tensors of the Open Inference Protocol, which follow the JSON part of a request in the order of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.bodies import Tensor

SIZE = "binary_data_size"  # the parameter of a tensor with the number of its bytes
NUMBERS = {
    "FP64": "<f8", "FP32": "<f4", "FP16": "<f2", "INT64": "<i8", "INT32": "<i4", "INT16": "<i2", "INT8": "i1",
    "UINT64": "<u8", "UINT32": "<u4", "UINT16": "<u2", "UINT8": "u1", "BOOL": "?",
}  # fmt: skip


def read_binary_tensors(tensors: Sequence[Tensor], data: bytes) -> None:
    """Put the values of tensors without `data` there: texts as strings, numbers in row order.

    >>> age = Tensor(name="age", shape=[2], datatype="INT32", parameters={"binary_data_size": 8})
    >>> read_binary_tensors([age], b"\\x03\\0\\0\\0\\x04\\0\\0\\0")
    >>> age.data
    [3, 4]
    """
    binary = [tensor for tensor in tensors if tensor.data is None]
    at = 0
    for tensor in binary:
        size = (tensor.parameters or {}).get(SIZE, len(data) - at if len(binary) == 1 else None)
        if type(size) is not int or not 0 <= size <= len(data) - at:
            raise Refused(
                422,
                f"the input {tensor.name!r} has no data, and its {SIZE} is {size!r}; {len(data) - at} bytes are left",
            )
        tensor.data = _read_values(tensor, data[at : at + size])
        at += size


def _read_values(tensor: Tensor, data: bytes) -> list[Any]:
    if tensor.datatype == "BYTES":
        return _read_texts(data)
    if tensor.datatype not in NUMBERS:
        there = ", ".join(["BYTES", *NUMBERS])
        raise Refused(422, f"the input {tensor.name!r} has datatype {tensor.datatype!r}; there are {there}")
    kind = np.dtype(NUMBERS[tensor.datatype])
    if len(data) % kind.itemsize:
        raise Refused(
            422, f"the input {tensor.name!r} has {len(data)} bytes, which is not a multiple of a value's size"
        )
    values: list[Any] = np.frombuffer(data, kind).tolist()
    return values


def _read_texts(data: bytes) -> list[str]:
    """Texts, each after its length in four bytes."""
    texts, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        if at + 4 + size > len(data):
            raise Refused(422, "the binary tensor ends in the middle of a text; send all of it")
        texts.append(data[at + 4 : at + 4 + size].decode("utf-8", "replace"))
        at += 4 + size
    return texts
