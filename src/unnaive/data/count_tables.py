"""Canonical tables of counts: equal cells give equal arrays and equal hashes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.data.arrays import StoredMatrix

BLOCK_ROWS = 1 << 13  # rows that are hashed at once
SMALL_COUNT = 1 << 15  # smaller integers are kept in 32 bits: no sum of their products exceeds 64 bits


def move_columns(table: Sparse, columns: Ids | None, n_columns: int) -> Sparse:
    """Move column i to `columns[i]` of `n_columns`, with the cells of each row ascending; None moves none."""
    if columns is None:
        return csr_array((table.data, table.indices, table.indptr), shape=(table.shape[0], n_columns))
    indices = np.asarray(columns, np.int32)[table.indices]
    return sorted_cells(csr_array((table.data, indices, table.indptr), shape=(table.shape[0], n_columns)))


def take_rows(table: Sparse | StoredMatrix, rows: Ids) -> StoredMatrix:
    """Take rows of a table, in the order of `rows`.

    >>> take_rows(csr_array([[1, 2], [0, 3]]), np.array([1, 0])).tocsr().toarray()
    array([[0, 3],
           [1, 2]])
    """
    sizes = np.diff(table.indptr)[rows]
    ends = np.concatenate([np.zeros(1, sizes.dtype), np.cumsum(sizes, dtype=sizes.dtype)])
    cells = np.repeat(table.indptr[:-1][rows] - ends[:-1], sizes) + np.arange(ends[-1], dtype=sizes.dtype)
    return StoredMatrix(table.data[cells], table.indices[cells], ends, (len(rows), table.shape[1]))


def sorted_cells(table: Sparse) -> Sparse:
    """Sort the columns of every row; two transpositions sort all rows in linear time."""
    return table if table.has_sorted_indices else csr_array(table.tocsc().tocsr())


def plain_index(table: Sparse) -> Sparse:
    """Use 32-bit indices where they suffice: learners keep some, and equal documents must give equal bytes."""
    kind = np.int32 if max(table.nnz, *table.shape) < 2**31 else np.int64
    parts = table.data, table.indices.astype(kind, copy=False), table.indptr.astype(kind, copy=False)
    plain = csr_array(parts, shape=table.shape)
    plain.has_canonical_format = True  # known, so SciPy need not check
    return plain


def plain_cells(X: Sparse) -> Sparse:
    """Remove zeros, sort the columns, and store whole numbers as integers, whatever the input type."""
    data = X.data
    if data.size and not bool(np.all(data != 0)):
        X = X.copy()
        X.eliminate_zeros()
        data = X.data
    whole = data.dtype.kind in "iub" or bool(np.all(data == np.rint(data)) and np.all(data < 2**31))
    kind = np.float64 if not whole else np.int32 if data.max(initial=0) < SMALL_COUNT else np.int64
    indices = X.indices.astype(np.int32, copy=False)
    return sorted_cells(csr_array((data.astype(kind, copy=False), indices, X.indptr), shape=X.shape))


def stack_rows(parts: list[Sparse], width: int) -> Sparse:
    """Stack matrices vertically into one of `width` columns; the list is emptied.

    Each matrix is freed once it is copied, so there are never two copies of all entries.
    """
    if len(parts) == 1 and parts[0].shape[1] == width:
        return parts.pop()
    n_entries, n_rows = sum(part.nnz for part in parts), sum(part.shape[0] for part in parts)
    index = np.int32 if n_entries < 1 << 31 else np.int64
    canonical = all(part.has_canonical_format for part in parts)
    data, indices = np.empty(n_entries, np.result_type(*(part.data for part in parts))), np.empty(n_entries, index)
    ends, entry, row = np.zeros(n_rows + 1, index), 0, 0
    for part in _pop_in_order(parts):
        inside = slice(entry, entry + part.nnz)
        data[inside], indices[inside] = part.data, part.indices
        ends[row + 1 : row + part.shape[0] + 1] = part.indptr[1:] + index(entry)
        entry, row = inside.stop, row + part.shape[0]
    stacked = csr_array((data, indices, ends), shape=(n_rows, width))
    stacked.has_canonical_format = canonical
    return stacked


def _pop_in_order(parts: list[Sparse]) -> Iterator[Sparse]:
    """Yield each matrix after removing it from the list."""
    parts.reverse()
    while parts:
        yield parts.pop()


def row_hashes(table: Sparse, rows: slice, *, values: bool = True) -> NDArray[np.uint64]:
    """A hash of the columns and values of each row, or only of the columns (n_rows, 2)."""
    ends = table.indptr[rows.start : rows.stop + 1]
    first, last = int(ends[0]), int(ends[-1])
    indices = table.indices[first:last]
    if values:
        return _hashes(indices, table.data[first:last], (ends - first).tolist())
    if bool(np.all(np.diff(ends) == 1)):  # one label for each document: few rows are distinct
        distinct, row = np.unique(indices, return_inverse=True)
        return _hashes(distinct, None, list(range(len(distinct) + 1)))[row]
    return _hashes(indices, None, (ends - first).tolist())


def number_equal_rows(table: Sparse) -> Ids:
    """A number from 0 on for each row (n_rows,), the same for rows with the same columns and values.

    >>> number_equal_rows(csr_array([[0, 2], [1, 0], [0, 2]])).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    if not table.has_sorted_indices:
        table = table.sorted_indices()
    blocks = [slice(start, min(start + BLOCK_ROWS, table.shape[0])) for start in range(0, table.shape[0], BLOCK_ROWS)]
    hashes = np.concatenate([np.zeros((0, 2), np.uint64), *(row_hashes(table, rows) for rows in blocks)])
    order = np.lexsort(hashes.T)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(np.any(np.diff(hashes[order], axis=0, prepend=hashes[order[:1]]), axis=1))
    return number


def _hashes(indices: Ids, data: NDArray[Any] | None, cuts: list[int]) -> NDArray[np.uint64]:
    """The hash of the cells between each two cuts (len(cuts) − 1, 2)."""
    import hashlib

    columns = memoryview(indices.astype("<i4").tobytes())
    cells = memoryview(b"" if data is None else data.astype("<f8").tobytes())
    width = 0 if data is None else 8
    hashes = bytearray()
    for start, end in pairwise(cuts):
        digest = hashlib.blake2b(columns[4 * start : 4 * end], digest_size=16)
        digest.update(cells[width * start : width * end])
        hashes += digest.digest()
    return np.frombuffer(bytes(hashes), "<u8").reshape(-1, 2)
