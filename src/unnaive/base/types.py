"""The types that annotations everywhere use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ids = NDArray[np.int64]  # row or column numbers
Sparse = Any  # scipy.sparse.csr_array, which ships no types
Arrays = dict[str, NDArray[Any]]  # by name, as a model file holds them
Label = str | int | float | bool  # a class, as users name it
# what `predict` gives, in the form in which labels came: an array of classes or of 0 and 1, a tuple of labels for each
# document, or a csr_array of 0 and 1
Predictions = NDArray[Any] | list[tuple[Label, ...]] | Sparse
ProgressCallback = Callable[[str, dict[str, Any]], None]  # told what is going on, and how far it is
Bytes = NDArray[np.uint8]
RowValues = dict[str, Any]  # one row of a table, by column
Item = TypeVar("Item")
