"""Labels with missing values: a document without a label is learnt from, or left out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from unnaive.base.errors import UnnaiveWarning, count_noun
from unnaive.base.sparse import csr_array
from unnaive.data.corpus import check_some_labels
from unnaive.data.targets import Targets, list_labels, read_targets
from unnaive.text.buffer import TextBuffer

UNLABELLED = -1  # among integers, as in scikit-learn's semi-supervised estimators


def read_partly_labelled(labels: Any, n_docs: int, *, multilabel: bool | None = None) -> Targets:
    """Like `read_targets`, but a label may be missing: None, NaN, or −1 among integers. Its row of Y is empty.

    −1 is an ordinary class if fewer than two others are left, or if other labels are None or NaN; otherwise a warning
    says how many documents it leaves without a label. Collections of labels and indicator matrices are read as they
    are: there an empty row is a document without a class.

    >>> read_partly_labelled(["ham", None, "spam"], 3).Y.toarray()
    array([[1, 0],
           [0, 0],
           [0, 1]])
    >>> read_partly_labelled([0, 1, -1], 3).classes, read_partly_labelled([1, -1], 2).classes
    ((0, 1), (-1, 1))
    """
    if not hasattr(labels, "__len__"):  # a generator can be read once
        labels = list_labels(labels)
    if multilabel or getattr(labels, "ndim", 1) != 1 or hasattr(labels, "columns") or isinstance(labels, (str, bytes)):
        return read_targets(labels, n_docs, multilabel=multilabel)
    values = list_labels(labels)
    if any(isinstance(value, (list, tuple, set, frozenset, np.ndarray)) for value in values):
        return read_targets(labels, n_docs, multilabel=multilabel)
    missing = np.array([_is_missing(value) for value in values], bool)
    numbers = all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in np.array(values, object)[~missing]
    )
    if numbers and not missing.any() and len(set(values) - {UNLABELLED}) >= 2:
        missing = np.array([value == UNLABELLED for value in values], bool)
        _warn_about_mark(int(missing.sum()), len(values))
    if not missing.any() or len(values) != n_docs:
        return read_targets(labels, n_docs, multilabel=multilabel)
    rows = np.flatnonzero(~missing)
    check_some_labels(len(rows))
    targets = read_targets([values[row] for row in rows.tolist()], len(rows), multilabel=multilabel)
    indptr = np.concatenate(([0], np.cumsum(~missing)))
    Y = csr_array((targets.Y.data, targets.Y.indices, indptr), shape=(n_docs, len(targets.classes)))
    return Targets(targets.classes, Y, targets.target_type)


def _warn_about_mark(n_marked: int, n_docs: int) -> None:
    if n_marked:
        warnings.warn(
            f"{n_marked:,} of {count_noun(n_docs, 'document')} have the label −1, which is read as no label; give None "
            "for a missing label, or, if −1 is a class, the labels as strings",
            UnnaiveWarning,
            stacklevel=2,
        )


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def take_labelled(texts: Any, labels: Sequence[tuple[Any, ...]]) -> tuple[Any, list[tuple[Any, ...]]]:
    """The documents that have a label, of some texts with their label sets.

    >>> take_labelled(["good ball", "fair vote"], [(), ("politics",)])
    (['fair vote'], [('politics',)])
    """
    rows = np.array([row for row, names in enumerate(labels) if names], np.int64)
    labelled_texts = texts.take(rows) if isinstance(texts, TextBuffer) else [texts[row] for row in rows]
    return labelled_texts, [labels[row] for row in rows]
