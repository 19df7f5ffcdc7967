"""The numbers of vectors in fixed point: whole multiples of 2⁻²⁰, so that sums are exact in any order.

A number x becomes the cell 2³⁰ + round(2²⁰ · x), a positive 32-bit integer: a document with a vector has a cell in
every column of its field, and a document without one has none. So vectors are columns of counts like others, which add,
subtract and compare exactly. The step is 2⁻²⁰, about 10⁻⁶, for every field and model; numbers must be between −1000 and
1000. The first column of a field is its marker, whose number is 1 in every vector.

A record is one text wherever it is stored or hashed; there a vector is the base64 of its cells, after a space, so that
no token rule takes it for a term.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Sparse
from unnaive.text.field import VECTOR, Field
from unnaive.text.sections import FIXED, SECTION, UNIT
from unnaive.text.vocabulary import Vocabulary

STEPS = 1 << 20  # steps of fixed point between two whole numbers
ZERO = 1 << 30  # the cell of the number 0
ONE = ZERO + STEPS  # the cell of the number 1, and of the marker
LARGEST = 1000.0  # of a number, without its sign
Cells = NDArray[np.int32]
_ENCODED = re.compile(r" [A-Za-z0-9+/]*={0,2}")


def to_cells(numbers: Any) -> Cells:
    """The cells of numbers, which must be finite, and at most LARGEST.

    >>> to_cells([0.0, 1.0, -0.5]) - ZERO
    array([      0, 1048576, -524288], dtype=int32)
    """
    return (np.rint(np.asarray(numbers, np.float64) * STEPS) + ZERO).astype(np.int32)


def from_cells(cells: NDArray[Any]) -> Floats:
    """The numbers of cells; 0 for a cell of 0, which means that there is no vector.

    >>> from_cells(to_cells([0.75, -2.0])), from_cells(np.zeros(1, np.int32))
    (array([ 0.75, -2.  ]), array([0.]))
    """
    return np.where(cells == 0, 0.0, (np.asarray(cells, np.float64) - ZERO) / STEPS)


def write_vectors(rows: Cells) -> list[str]:
    """Each row of cells (n_rows, n_dims) as the last unit of its section in a record.

    >>> write_vectors(to_cells([[0.5, 0.0]]))
    [' AAAIQAAAAEA=']
    """
    wide = np.ascontiguousarray(rows, "<i4")
    return [f" {b2a_base64(row, newline=False).decode()}" for row in wide]


def decode_vector(unit: str, n_dims: int = 0) -> Cells | None:
    """The cells of a vector that `write_vectors` wrote; None if it is damaged, or has other than `n_dims` numbers.

    >>> from_cells(decode_vector(" AAAIQAAAAEA=")), decode_vector(" AAAIQAAAAEA=", 3), decode_vector(" AAAI")
    (array([0.5, 0. ]), None, None)
    """
    if not _ENCODED.fullmatch(unit):
        return None
    try:
        found = a2b_base64(unit[1:])
    except Error:
        return None
    if not found or len(found) % 4 or (n_dims and len(found) != 4 * n_dims):
        return None
    cells = np.frombuffer(found, "<i4").astype(np.int32)
    return cells if int(cells.min()) > 0 else None


def decode_vectors(records: Iterable[str], key: str, n_dims: int) -> Cells:
    """The vectors of a field in records, the marker first (n_records, 1 + n_dims); rows of 0 for those without one."""
    start = f"{SECTION}{key}{UNIT}{shown_vector(n_dims)}{UNIT}"
    nothing = bytes(4 * (1 + n_dims))
    one = np.array([ONE], "<i4").tobytes()
    rows = []
    for record in records:
        at = record.find(start)
        end = record.find(SECTION, at + 1)
        cells = None if at < 0 else decode_vector(record[at + len(start) : end if end >= 0 else None], n_dims)
        rows.append(nothing if cells is None else one + cells.astype("<i4", copy=False).tobytes())
    return np.frombuffer(b"".join(rows), "<i4").astype(np.int32, copy=False).reshape(-1, 1 + n_dims)


def shown_vector(n_dims: int) -> str:
    """A vector as people see it in a record.

    >>> shown_vector(384)
    '384 numbers'
    """
    return f"{n_dims} numbers"


@lru_cache(maxsize=16)
def vector_terms(key: str, n_dims: int) -> Vocabulary:
    """The names of the columns of a field of vectors, sorted: the marker, then one for each number.

    >>> vector_terms("v", 2).terms
    ['v=\\x1f', 'v=\\x1f0', 'v=\\x1f1']
    """
    width = len(str(n_dims - 1))
    start = f"{key}{FIXED}{UNIT}"
    return Vocabulary([start, *(f"{start}{dim:0{width}}" for dim in range(n_dims))])


def vector_keys(fields: Sequence[Field] | None) -> tuple[tuple[str, int], ...]:
    """The vector fields by their names in terms, with the number of dimensions.

    >>> vector_keys([Field("body", "text"), Field("my topic", "vector", 384)])
    (('my_topic', 384),)
    """
    return tuple((field.key, field.length) for field in fields or () if field.kind == VECTOR)


def which_are_vectors(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Whether each term is a column of a vector field: no other term contains UNIT.

    >>> which_are_vectors(Vocabulary(["ball", "v=\\x1f0"]))
    array([False,  True])
    """
    blob, offsets = vocabulary.to_arrays()
    found = np.zeros(len(offsets) - 1, np.bool_)
    found[np.searchsorted(offsets, np.flatnonzero(blob == ord(UNIT)), side="right") - 1] = True
    return found


def add_columns(X: Sparse, cells: Cells, columns: NDArray[np.int32]) -> Sparse:
    """X with dense `cells` (n_docs, n_columns) in these ascending columns, which are empty in X.

    >>> add_columns(csr_array([[3, 0, 1]]), np.array([[5]], np.int32), np.array([1], np.int32)).toarray()
    array([[3, 5, 1]])
    """
    row, column = np.nonzero(cells)
    ends = np.searchsorted(row, np.arange(len(cells) + 1))
    vectors = csr_array((cells[row, column], columns[column], ends), shape=X.shape)
    for table in (X, vectors):
        table.has_canonical_format = True  # known, so SciPy need not check it
    return X + vectors
