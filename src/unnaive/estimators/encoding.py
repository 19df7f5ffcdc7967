"""y as scikit-learn users have it ↔ a class list and the sparse matrix Y; base.py learns and predicts through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.multiclass import check_classification_targets, is_multilabel
from sklearn.utils.validation import check_array, column_or_1d

from unnaive.errors import BadData
from unnaive.types import Sparse


@dataclass(frozen=True, eq=False)
class Encoded:
    """Labels of n documents: `classes` sorted (n_classes,), `Y` 0/1 (n, n_classes), and in which `form` they came.

    form "single": a label each; "sets": a collection of labels each; "indicator", "sparse": a 0/1 matrix.
    Predictions leave in the same form.
    """

    classes: NDArray[Any]
    Y: Sparse
    form: str

    def over(self, classes: NDArray[Any]) -> Sparse:
        """Y with a column for each of `classes`, which has all of these classes in it."""
        columns = np.searchsorted(classes, self.classes)[self.Y.indices]
        return csr_array((self.Y.data, columns, self.Y.indptr), shape=(self.Y.shape[0], len(classes)))


def encoded(y: Any) -> Encoded:
    """y with its own classes.

    >>> encoded(["b", "a", "b"]).Y.toarray()
    array([[0, 1],
           [1, 0],
           [0, 1]])
    >>> encoded([{"sport"}, {"politics", "sport"}, set()]).form
    'sets'
    """
    if are_label_sets(y):
        return _from_sets([sorted(set(labels)) for labels in y])
    if is_multilabel(y):
        return _from_indicator(y)
    labels = column_or_1d(y, warn=True)
    check_array(labels, ensure_2d=False, dtype=None, input_name="y", ensure_min_samples=0)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return Encoded(classes, _one_per_row(codes, len(classes)), "single")


def are_label_sets(y: Any) -> bool:
    """Whether y has a collection of labels for each document, rather than a label, or a row of zeros and ones."""
    if issparse(y) or getattr(y, "ndim", 1) != 1 or not hasattr(y, "__iter__"):
        return False
    first = next(iter(y), None)
    if isinstance(first, (set, frozenset)):
        return True
    return isinstance(first, (list, tuple)) and not _is_table_of_numbers(y)


def refuse_mixed_labels(classes: NDArray[Any], others: NDArray[Any]) -> None:
    """An error if one list of classes has text where the other has numbers."""
    text = [any(isinstance(label, str) for label in labels) for labels in (classes, others)]
    if len(classes) and len(others) and text[0] != text[1]:
        raise BadData(
            f"labels such as {others.tolist()[0]!r} came where there are classes such as {classes.tolist()[0]!r}; "
            "give all as text or all as numbers"
        )


def _is_table_of_numbers(y: Any) -> bool:
    try:
        table = np.asarray(y)
    except ValueError:  # rows of different lengths
        return False
    return table.ndim == 2 and table.dtype.kind in "biuf"


def _from_sets(rows: list[list[Any]]) -> Encoded:
    ends = np.cumsum([0, *map(len, rows)])
    classes, codes = np.unique([label for row in rows for label in row], return_inverse=True)
    Y = csr_array((np.ones(len(codes), np.int64), codes, ends), shape=(len(rows), len(classes)))
    return Encoded(classes, Y, "sets")


def _from_indicator(y: Any) -> Encoded:
    form = "sparse" if issparse(y) else "indicator"
    Y = csr_array(check_array(y, accept_sparse="csr", input_name="y", ensure_min_samples=0) != 0).astype(np.int64)
    Y.eliminate_zeros()
    return Encoded(np.arange(Y.shape[1]), Y, form)


def _one_per_row(codes: NDArray[Any], n_classes: int) -> Sparse:
    n = len(codes)
    return csr_array((np.ones(n, np.int64), codes.astype(np.int32), np.arange(n + 1)), shape=(n, n_classes))
