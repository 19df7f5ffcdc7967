"""Check arrays from a model file or a caller before anything else reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.base.read_only import read_only
from unnaive.base.sparse import csr_array
from unnaive.base.types import Arrays, Sparse

T = TypeVar("T")
PARTS = ("data", "indices", "indptr")
FLOATS = (np.float32, np.float64)


def csr_arrays(name: str, table: Sparse, *, index: Any = None) -> Arrays:
    """The three arrays of a sparse matrix, named as `read_csr` expects.

    `index` is a narrower integer type for the indices.
    """
    table = table if isinstance(table, StoredMatrix) else csr_array(table)
    parts = {part: getattr(table, part) for part in PARTS}
    if index is not None:
        parts |= {part: parts[part].astype(index) for part in ("indices", "indptr")}
    return {f"{name}.{part}": values for part, values in parts.items()}


@dataclass(frozen=True, eq=False)
class StoredMatrix:
    """The three arrays of a valid sparse matrix, for `lazy_matrices`: from a file, or created here without SciPy.

    `canonical` is True if the columns of every row are known to ascend.
    """

    format: ClassVar[str] = "csr"

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]
    canonical: bool = False

    @property
    def nnz(self) -> int:
        """The number of cells."""
        return len(self.data)

    def tocsr(self) -> Sparse:
        """The arrays as a csr_array."""
        matrix = csr_array((self.data, self.indices, self.indptr), shape=self.shape)
        if self.canonical:
            matrix.has_canonical_format = True  # known, so SciPy need not check
        return matrix

    def row_sums(self) -> NDArray[Any]:
        """Σ_t of each row (n_rows,). Fractions are summed by SciPy, so that rounding is the same."""
        if self.data.dtype.kind == "f":
            return self.tocsr().sum(axis=1)  # type: ignore[no-any-return]
        sums = np.zeros(self.shape[0], self.data.dtype)
        filled = np.flatnonzero(np.diff(self.indptr))
        if len(filled):
            sums[filled] = np.add.reduceat(self.data, self.indptr[filled])
        return sums

    @property
    def in_order(self) -> bool:
        """Whether the columns of every row ascend without repetition."""
        ascends = self.indices[1:] > self.indices[:-1]
        starts = self.indptr[1:-1].astype(np.int64)
        ascends[starts[(starts > 0) & (starts < len(self.indices))] - 1] = True  # a descent between two rows is allowed
        return bool(ascends.all())


def lazy_matrices(*names: str) -> Callable[[type[T]], type[T]]:
    """Let fields of a dataclass hold a StoredMatrix until the matrix is first accessed; predicting texts never needs
    it.

    `stored(value, name)` returns the field without conversion.
    """

    def decorate(of: type[T]) -> type[T]:
        for name in names:
            setattr(of, name, _LazyMatrix(name))
        return of

    return decorate


class _LazyMatrix:
    """A field that converts its StoredMatrix on first access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(self._name)  # the field has no default
        value = instance.__dict__[self._name]
        if isinstance(value, StoredMatrix):
            value = instance.__dict__[self._name] = read_only(value.tocsr())
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value


def stored(instance: Any, name: str) -> Any:
    """The value of a `lazy_matrices` field without conversion: a StoredMatrix or the matrix."""
    return instance.__dict__[name]


def read_csr(arrays: Arrays, name: str, shape: tuple[int, int]) -> Sparse:
    """Read the sparse matrix that `csr_arrays` wrote, checking every index."""
    return read_stored(arrays, name, shape).tocsr()


def read_stored(arrays: Arrays, name: str, shape: tuple[int, int]) -> StoredMatrix:
    """Read the arrays that `csr_arrays` wrote, checking every index.

    SciPy reads out of bounds if it gets a malicious matrix, so everything is checked: types, sizes, ascending row ends
    (compared, not subtracted, since a difference may overflow), columns within the shape, finite values.
    """
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in PARTS)
    problem = find_csr_problem(data, indices, indptr, shape)
    if problem:
        raise ValueError(f"its {name} {problem}")
    return StoredMatrix(data, indices, indptr, shape)


def find_csr_problem(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> str | None:
    """Describe what is wrong with the three arrays of a sparse matrix of this shape; None if they are valid.

    >>> wrapping = np.array([0, 2_000_000_000, -2_000_000_000, 1], np.int32)
    >>> find_csr_problem(np.ones(1), np.zeros(1, np.int32), wrapping, (3, 1))
    'has row ends that descend'
    """
    if min(shape) < 0 or any(part.ndim != 1 for part in (data, indices, indptr)):
        return "has arrays of the wrong number of dimensions"
    if (
        data.dtype.kind not in "iuf"
        or data.dtype == np.float16
        or any(x.dtype.kind not in "iu" for x in (indices, indptr))
    ):
        return "has arrays of the wrong type"
    if indptr.shape != (shape[0] + 1,) or data.shape != indices.shape:
        return f"has arrays whose sizes do not match {shape[0]} rows"
    if int(indptr[0]) != 0 or int(indptr[-1]) != len(data):
        return f"has row ends that do not cover its {len(data)} cells"
    if not bool(np.all(indptr[1:] >= indptr[:-1])):
        return "has row ends that descend"
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= shape[1]):
        return f"points outside of its {shape[1]} columns"
    if data.dtype.kind == "f" and not bool(np.all(np.isfinite(data))):
        return "holds values that are not finite"
    return None


def find_sparse_problem(X: Any) -> str | None:
    """Describe what is wrong with the indices of a sparse matrix from a caller; its values are not checked.

    SciPy's conversions trust the indices: a broken matrix that is not rejected here would be read out of bounds there.

    >>> broken = csr_array([[1, 0], [0, 2]])
    >>> broken.indices[1] = 5
    >>> find_sparse_problem(broken), find_sparse_problem(csr_array([[1, 0], [0, 2]]).tocoo())
    ('points outside of its 2 columns', None)
    """
    if X.format == "coo":
        return _find_coordinate_problem(X)
    if X.format not in ("csr", "csc", "bsr"):
        return None
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    rows, columns = X.shape[0] // height, X.shape[1] // width
    cells = np.broadcast_to(np.ones(1), X.data.shape[:1])
    shape = (columns, rows) if X.format == "csc" else (rows, columns)
    return find_csr_problem(cells, X.indices, X.indptr, shape)


def _find_coordinate_problem(X: Any) -> str | None:
    for places, size in zip((X.row, X.col), X.shape, strict=True):
        if places.shape != X.data.shape or places.dtype.kind not in "iu":
            return "has coordinates that do not match its values"
        if places.size and (int(places.min()) < 0 or int(places.max()) >= size):
            return f"has coordinates outside of its shape {X.shape}"
    return None


def is_number(value: Any) -> bool:
    """Whether a value from JSON is a finite number; strings and booleans are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(float(value)))
