"""Label sets to the sparse matrix Y (documents × classes) and back; Counts and the measures take Y."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.errors import BadData

Labels = tuple[str, ...]


def label_matrix(
    labels: Sequence[Labels], classes: Sequence[str], *, ignore_unknown: bool = False, dtype: Any = np.int64
) -> csr_array:
    """Y[d, c] = 1 where document d has class c, else 0; (n_docs, n_classes), columns in the order of `classes`.

    A label repeated within a document counts once. A label that is not in `classes` is an error, or skipped if
    `ignore_unknown` (test documents may carry classes that training never saw).

    >>> label_matrix([("sport",), (), ("politics", "sport")], ["politics", "sport"]).toarray()
    array([[0, 1],
           [0, 0],
           [1, 1]])
    """
    column = {name: index for index, name in enumerate(classes)}
    if len(column) != len(classes):
        raise BadData(f"{len(classes)} classes came with only {len(column)} distinct names; name each class once")
    rows = [sorted({column[name] for name in names_of(one) if name in column}) for one in labels]
    if not ignore_unknown:
        refuse_unknown(labels, column)
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    indices = np.fromiter((c for row in rows for c in row), dtype=np.int32, count=int(indptr[-1]))
    return csr_array((np.ones(len(indices), dtype=dtype), indices, indptr), shape=(len(labels), len(classes)))


def names_of(labels: Labels) -> Labels:
    """The label set itself; a bare string, which would be read letter by letter, is an error.

    >>> names_of("sport")
    Traceback (most recent call last):
    ...
    unnaive.errors.BadData: a document's labels came as the string 'sport'; give a tuple such as ('sport',)
    """
    if isinstance(labels, str):
        raise BadData(f"a document's labels came as the string {labels!r}; give a tuple such as ({labels!r},)")
    return labels


def refuse_unknown(labels: Sequence[Labels], column: dict[str, int]) -> None:
    """An error that names the first labels without a column, if there are any."""
    unknown = sorted({str(name) for one in labels for name in one if name not in column})
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        shown = ", ".join(repr(name) for name in unknown[:3])
        raise BadData(
            f"label {shown}{more} is none of the {len(column)} classes; add it to them or pass ignore_unknown=True"
        )


def label_sets(Y: Any, classes: Sequence[str]) -> list[Labels]:
    """The label set of each row of Y, classes in column order; undoes `label_matrix`.

    Y: (n_docs, n_classes), sparse or dense; any non-zero counts as membership.

    >>> label_sets([[0, 1], [0, 0], [1, 1]], ["politics", "sport"])
    [('sport',), (), ('politics', 'sport')]
    """
    matrix = csr_array(Y, copy=True)
    if matrix.shape[1] != len(classes):
        raise BadData(f"Y has {matrix.shape[1]} columns for {len(classes)} classes; there must be one for each")
    matrix.eliminate_zeros()
    matrix.sort_indices()
    names = np.asarray(classes, dtype=object)[matrix.indices]
    return [tuple(names[start:stop]) for start, stop in pairwise(matrix.indptr)]


def single_labels(Y: Any) -> NDArray[np.int64] | None:
    """The class index of each document when every document has exactly one, else None.

    >>> single_labels(np.array([[0, 1], [1, 0]]))
    array([1, 0])
    """
    matrix = csr_array(Y, copy=True)
    matrix.eliminate_zeros()
    if (np.diff(matrix.indptr) != 1).any():
        return None
    return np.asarray(matrix.indices, dtype=np.int64)
