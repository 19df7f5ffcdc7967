"""Build an ONNX graph and write its bytes; the few messages of the format are written here, without the onnx package.

Numbers of fields are those of onnx.proto.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 8
OPSETS = {"": 18, "ai.onnx.ml": 3, "com.microsoft": 1}
FLOAT, INT8, INT16, INT64, STRING, BOOL, DOUBLE = 1, 3, 5, 7, 8, 9, 11
ELEMENTS = {"f4": FLOAT, "i1": INT8, "i2": INT16, "i8": INT64, "b1": BOOL, "f8": DOUBLE}
END = np.iinfo(np.int64).max  # end of a slice without an end
Dimensions = Sequence[int | str]


def varints(numbers: NDArray[np.int64]) -> bytes:
    """Nonnegative numbers as varints: seven bits in a byte, the lowest first.

    >>> varints(np.array([1, 300])).hex()
    '01ac02'
    """
    rest = numbers.astype(np.uint64)
    digits = [rest >> np.uint64(7 * digit_index) for digit_index in range(10)]
    used = np.stack([digit > 0 for digit in digits], axis=1)
    used[:, 0] = True
    low = np.stack([digit & np.uint64(127) for digit in digits], axis=1).astype(np.uint8)
    low[:, :-1] |= np.where(used[:, 1:], np.uint8(128), np.uint8(0))
    return low[used].tobytes()


def _varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _tensor(array: NDArray[Any], name: str) -> bytes:
    dims = b"".join(_number(1, size) for size in array.shape)
    if array.dtype == object:
        strings = b"".join(_bytes(6, text) for text in array.ravel())
        return dims + _number(2, STRING) + strings + _bytes(8, name)
    kind = ELEMENTS[array.dtype.str[1:]]
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return dims + _number(2, kind) + _bytes(8, name) + _bytes(9, data)


def _attribute(name: str, value: Any) -> bytes:
    """One attribute: a graph, an array of whole numbers, words, a word or a number."""
    start = _bytes(1, name)
    if isinstance(value, Graph):
        return start + _bytes(6, value.to_bytes()) + _number(20, 5)
    if isinstance(value, np.ndarray):
        return start + _bytes(8, varints(value)) + _number(20, 7)
    if isinstance(value, list):
        return start + b"".join(_bytes(9, word) for word in value) + _number(20, 8)
    if isinstance(value, str):
        return start + _bytes(4, value) + _number(20, 3)
    return start + _number(3, int(value)) + _number(20, 2)


def _value_info(name: str, kind: int, dims: Dimensions | None) -> bytes:
    shape = b""
    if dims is not None:
        each = (_bytes(2, dim) if isinstance(dim, str) else _number(1, dim) for dim in dims)
        shape = _bytes(2, b"".join(_bytes(1, dim) for dim in each))
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + shape))


class Graph:
    """Nodes in the order in which they are added; each call adds a node and returns the names of its results."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._constants: dict[tuple[Any, ...], str] = {}
        self._made = 0

    def _name(self) -> str:
        self._made += 1
        return f"{self.prefix}v{self._made}"

    def input(self, name: str, kind: int, dims: Dimensions | None) -> str:
        """Declare an input."""
        self._inputs.append(_value_info(name, kind, dims))
        return name

    def rename(self, value: str, name: str) -> None:
        """Give a value a second name."""
        self._node("Identity", [value], [name], "", {})

    def output(self, value: str, name: str, kind: int, dims: Dimensions | None) -> None:
        """Declare that a value is the output of this name."""
        self.rename(value, name)
        self._outputs.append(_value_info(name, kind, dims))

    def constant(self, value: Any) -> str:
        """Add an array to the graph; equal small arrays are stored once."""
        array = np.asarray(value)
        array = array.astype(np.int64) if array.dtype.kind == "i" and array.dtype.itemsize > 2 else array
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size < 16 and array.dtype != object else None
        if key is not None and key in self._constants:
            return self._constants[key]
        name = self._name()
        self._tensors.append(_tensor(array, name))
        if key is not None:
            self._constants[key] = name
        return name

    def __call__(self, op: str, *values: Any, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name or names of its results. Arguments that are not names become constants."""
        names = [value if isinstance(value, str) else self.constant(value) for value in values]
        results = [self._name() for _ in range(outputs)]
        self._node(op, names, results, domain, attributes)
        return results[0] if outputs == 1 else results

    def _node(
        self, op: str, inputs: Sequence[str], outputs: Sequence[str], domain: str, attributes: Mapping[str, Any]
    ) -> None:
        fields = [*(_bytes(1, tensor) for tensor in inputs), *(_bytes(2, tensor) for tensor in outputs), _bytes(4, op)]
        fields += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join(fields) + (_bytes(7, domain) if domain else b""))

    def subgraph(self) -> Graph:
        """The body of a loop; its names are unique."""
        return Graph(f"{self._name()}_")

    def any_of(self, *flags: str) -> str:
        """Or of several."""
        result = flags[0]
        for flag in flags[1:]:
            result = self("Or", result, flag)
        return result

    def all_of(self, *flags: str) -> str:
        """And of several."""
        result = flags[0]
        for flag in flags[1:]:
            result = self("And", result, flag)
        return result

    def cast(self, value: str, kind: int) -> str:
        """Convert the value to another type of number."""
        return str(self("Cast", value, to=kind))

    def shifted(self, value: str, by: int) -> str:
        """Each row shifted to the left by `by`, to the right if negative; filled with 0 or false."""
        if by > 0:
            return str(self("Pad", self("Slice", value, [by], [END], [1]), [0, 0, 0, by]))
        return str(self("Pad", self("Slice", value, [0], [by], [1]), [0, -by, 0, 0]))

    def to_bytes(self) -> bytes:
        """The message GraphProto."""
        parts = [(1, self._nodes), (5, self._tensors), (11, self._inputs), (12, self._outputs)]
        content = [_bytes(field, message) for field, several in parts for message in several]
        return b"".join([*content, _bytes(2, self.prefix or "unnaive")])


def onnx_bytes(graph: Graph, version: str, metadata: Mapping[str, str]) -> bytes:
    """The message ModelProto, the content of an .onnx file."""
    opsets = b"".join(_bytes(8, _bytes(1, domain) + _number(2, number)) for domain, number in OPSETS.items())
    about = b"".join(_bytes(14, _bytes(1, name) + _bytes(2, value)) for name, value in metadata.items())
    head = _number(1, IR_VERSION) + _bytes(2, "unnaive") + _bytes(3, version)
    return head + _bytes(7, graph.to_bytes()) + opsets + about
