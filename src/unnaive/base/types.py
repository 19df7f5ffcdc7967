"""Types for annotations in every package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ids = NDArray[np.int64]  # row or column indices
Weights = tuple[Floats, Floats]  # weights (n_classes, n_terms) and bias (n_classes,)
Sparse = Any  # scipy.sparse.csr_array, which has no type stubs
Arrays = dict[str, NDArray[Any]]  # arrays by name, as in a model file
Label = str | int | float | bool  # the name of a class, as users give it
# What `predict` returns, in the format of the training labels: an array of classes or of 0 and 1, a tuple of labels for
# each document, or a csr_array of 0 and 1.
Predictions = NDArray[Any] | list[tuple[Label, ...]] | Sparse
ProgressCallback = Callable[[str, dict[str, Any]], None]  # called with the name of the stage and its details
Bytes = NDArray[np.uint8]
RowValues = dict[str, Any]  # one row of a table, by column
Item = TypeVar("Item")
