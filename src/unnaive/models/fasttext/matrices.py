"""The matrices of a fastText model: dense matrices, which stay in their file, and product-quantised ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel
from unnaive.base.mapped_file import MappedFile
from unnaive.base.system import read_at

Numbers = TypeVar("Numbers", bound=NDArray[Any])
LARGEST = 1e15  # largest weight: sums of products of two weights stay finite in float32
LARGEST_SUM = 1e35  # largest value of folded rows, which are such sums: their means stay finite in float32
LARGEST_WORD = 1e36  # largest sum of a folded word and its n-grams: the kernel adds 32 of them in float32
BLOCK = 1 << 22  # numbers that are read at a time: 16 MB


@dataclass(frozen=True, eq=False)
class DenseMatrix:
    """A matrix of float32 at an offset of a file; its rows are read on demand.

    `file` stays open: a file that is renamed over it is another file. Without one (copies in other processes, Windows),
    the path is opened.
    """

    path: Path
    offset: int
    shape: tuple[int, int]
    file: MappedFile | None = None

    def block(self, start: int, end: int) -> NDArray[np.float32]:
        """The rows start:end; raises an error if a value is not finite or the file has become shorter."""
        at, count = self.offset + 4 * start * self.shape[1], (end - start) * self.shape[1]
        handle = None if self.file is None else self.file.handle
        if self.file is None or handle is None:
            with self.path.open("rb") as file:
                file.seek(at)
                values = np.fromfile(file, "<f4", count)
        else:
            self.file.check()
            content = read_at(handle, at, 4 * count)
            values = np.frombuffer(content, "<f4", len(content) // 4)
        if len(values) != count:
            raise BadModel(f"{self.path}: it became shorter while it was read; copy it again")
        return check_finite(values.reshape(-1, self.shape[1]).astype(np.float32, copy=False))

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield blocks of rows, each with the number of its first row."""
        step = max(1, BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            yield start, self.block(start, min(start + step, self.shape[0]))

    def dense(self) -> NDArray[np.float32]:
        """All rows."""
        return self.block(0, self.shape[0])

    @property
    def row_scale(self) -> NDArray[np.float32] | None:
        """None: rows have no separate scale."""
        return None

    @property
    def unscaled(self) -> NDArray[np.float32]:
        """All rows."""
        return self.dense()


@dataclass(frozen=True, eq=False)
class QuantisedMatrix:
    """A product-quantised matrix: each part of a row is a byte, the number of one of 256 centroids of that part.

    codes       (n_rows, n_parts)
    centroids   of part q, centroid k begins at (q·256 + k)·width; of the last part, of `last` columns, at
                q·256·width + k·last
    width       columns of a part
    n_columns   columns of the matrix
    norm_codes  if lengths are quantised separately, the number of the length of each row (n_rows,)
    norms       the 256 lengths (256,)

    >>> centroids = np.zeros(3 * 256, np.float32)
    >>> centroids[[4, 5, 513]] = 1, 2, 3            # part 0, centroid 2: (1, 2); part 1, centroid 1: (3,)
    >>> QuantisedMatrix(np.array([[2, 1]], np.uint8), centroids, 2, 3).dense()
    array([[1., 2., 3.]], dtype=float32)
    """

    codes: NDArray[np.uint8]
    centroids: NDArray[np.float32]
    width: int
    n_columns: int
    norm_codes: NDArray[np.uint8] | None = None
    norms: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        """Raise an error if any possible value of a row is not finite, or too large."""
        largest = largest_product(self.centroids, self.norms)
        check_finite(np.array([largest], np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return len(self.codes), self.n_columns

    @property
    def row_scale(self) -> NDArray[np.float32] | None:
        """The factor of each row (n_rows,); None if lengths are not quantised separately."""
        if self.norms is None or self.norm_codes is None:
            return None
        return self.norms[self.norm_codes]

    @property
    def unscaled(self) -> NDArray[np.float32]:
        """The rows before multiplication by their lengths."""
        rows = np.empty(self.shape, np.float32)
        for part in range(self.codes.shape[1]):
            start = part * self.width
            end = min(start + self.width, self.n_columns)
            table = self.centroids[256 * start : 256 * end].reshape(256, end - start)
            rows[:, start:end] = table[self.codes[:, part]]
        return rows

    def dense(self) -> NDArray[np.float32]:
        """All rows as fastText adds them: each number times the length of its row, in float32."""
        scale = self.row_scale
        return self.unscaled if scale is None else self.unscaled * scale[:, None]

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """All rows at once: quantised matrices are small."""
        yield 0, self.dense()


Matrix = DenseMatrix | QuantisedMatrix


def largest_product(values: NDArray[Any], scale: NDArray[Any] | None) -> float:
    """The largest magnitude of any of the values times any of `scale`; NaN if one of them is NaN."""
    factors = [np.abs(part).max(initial=0) for part in (values, scale) if part is not None]
    return float(np.prod(np.array(factors, np.float64)))


def check_finite(values: Numbers, most: float = LARGEST) -> Numbers:
    """Return the values; raise an error if one is NaN, or so large that products would overflow."""
    if not np.abs(values).max(initial=0) <= most:  # also true for NaN, since every comparison with NaN is false
        raise BadModel("it has weights that are NaN or too large; its training failed, train it again")
    return values
