"""Labels as people have them → classes and the sparse matrix Y; the classifier reads them here, at the border."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.errors import BadData
from unnaive.types import Label, Sparse


@dataclass(frozen=True, eq=False)
class Targets:
    """The classes, sorted; Y (n_docs, n_classes) 0/1; and in which form labels came, so that predictions leave alike.

    form: "single" one label each; "sets" a collection of labels each; "indicator" a 0/1 array; "sparse" a sparse one
    """

    classes: tuple[Label, ...]
    Y: Sparse
    form: str

    @property
    def multilabel(self) -> bool:
        """Whether a document may have any number of labels."""
        return self.form != "single"


def read_targets(labels: Any, n_docs: int, *, multilabel: bool | None = None) -> Targets:
    """Labels of n_docs documents: values, collections of values, or an indicator matrix.

    `multilabel` True takes single values as sets of one; False takes sets of exactly one as values; None goes by
    how they came.

    >>> read_targets(["spam", "ham", "spam"], 3).classes
    ('ham', 'spam')
    >>> read_targets([{"a", "b"}, []], 2).Y.toarray()
    array([[1, 1],
           [0, 0]])
    """
    if issparse(labels) or (isinstance(labels, np.ndarray) and labels.ndim == 2):
        return _indicator(csr_array(labels), n_docs, "sparse" if issparse(labels) else "indicator")
    values = _listed(labels)
    if len(values) != n_docs:
        raise BadData(f"{n_docs} texts came with {len(values)} labels; give one for each text")
    sets = any(_is_collection(value) for value in values)
    if sets and multilabel is False:
        values, sets = [_only(row, value) for row, value in enumerate(values)], False
    if sets or multilabel:
        return _sets([value if _is_collection(value) else (value,) for value in values])
    return _single(values)


def _listed(labels: Any) -> Sequence[Any]:
    if isinstance(labels, (str, bytes)):
        raise BadData(f"labels came as one {type(labels).__name__}; give a list with one for each text")
    if isinstance(labels, (list, tuple)):
        return labels
    for method in ("to_pylist", "tolist", "to_list"):  # Arrow; numpy and pandas; polars
        if hasattr(labels, method):
            values = getattr(labels, method)()
            return values if isinstance(values, list) else [values]
    if not isinstance(labels, Iterable):
        raise BadData(f"labels came as {type(labels).__name__}; give a list with one for each text")
    return list(labels)


def _is_collection(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes))


def _only(row: int, value: Any) -> Any:
    if not _is_collection(value):
        return value
    names = list(value)
    if len(names) != 1:
        raise BadData(f"document {row} has {len(names)} labels; with multilabel=False every document has one")
    return names[0]


def _single(values: Sequence[Any]) -> Targets:
    classes = sorted_classes(set(values))
    codes = class_codes(values, classes)
    n_docs = len(codes)
    Y = csr_array((np.ones(n_docs, np.int64), codes, np.arange(n_docs + 1)), shape=(n_docs, len(classes)))
    return Targets(classes, Y, "single")


def _sets(values: Sequence[Collection[Any]]) -> Targets:
    distinct = [list(dict.fromkeys(value)) for value in values]
    classes = sorted_classes({name for names in distinct for name in names})
    ends = np.concatenate(([0], np.cumsum([len(names) for names in distinct], dtype=np.int64)))
    codes = class_codes([name for names in distinct for name in names], classes)
    Y = csr_array((np.ones(len(codes), np.int64), codes, ends), shape=(len(values), len(classes)))
    Y.sort_indices()
    return Targets(classes, Y, "sets")


def _indicator(Y: Sparse, n_docs: int, form: str) -> Targets:
    if Y.shape[0] != n_docs:
        raise BadData(f"{n_docs} texts came with an indicator matrix of {Y.shape[0]} rows; give a row for each text")
    if not np.isin(Y.data, (0, 1)).all():
        raise BadData("an indicator matrix holds something else than 0 and 1; give 1 where a document has the class")
    Y = Y.astype(np.int64)
    Y.eliminate_zeros()
    return Targets(tuple(range(Y.shape[1])), Y, form)


def sorted_classes(values: Iterable[Any]) -> tuple[Label, ...]:
    """The distinct labels as plain str, int or bool, sorted; one kind only.

    >>> sorted_classes({np.int64(3), 1}), sorted_classes({"b", "a"})
    ((1, 3), ('a', 'b'))
    """
    plain = {_plain(value) for value in values}
    kinds = {type(value).__name__ for value in plain}
    if len(kinds) > 1:
        raise BadData(f"labels mix {' and '.join(sorted(kinds))}; make them all one kind, for instance with str")
    return tuple(sorted(plain))


def _plain(value: Any) -> Label:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)  # whole numbers that went through a column with gaps
    if isinstance(value, (str, int)):
        return value
    if value is None or value != value:
        raise BadData(f"a label is missing ({value!r}); leave its row out")
    raise BadData(f"a label is {value!r}, a {type(value).__name__}; labels are str, int or bool")


def class_codes(values: Sequence[Any], classes: Sequence[Label]) -> NDArray[np.int32]:
    """The position of each label among the classes; an error that names the first that is none of them."""
    place = {label: position for position, label in enumerate(classes)}
    try:
        return np.fromiter(map(place.__getitem__, values), np.int32, len(values))
    except KeyError as unknown:
        raise BadData(
            f"label {unknown.args[0]!r} is none of the {len(place)} classes {shown_classes(classes)}"
        ) from None


def shown_classes(classes: Sequence[Label], limit: int = 6) -> str:
    """The first classes, with commas, for messages."""
    names = ", ".join(map(str, classes[:limit]))
    return names if len(classes) <= limit else f"{names}, …"


def refuse_one_class(targets: Targets) -> None:
    """An error if there is nothing to tell apart."""
    if not targets.classes:
        raise BadData("no text has a label; a classifier needs labels to learn from")
    if not targets.multilabel and len(targets.classes) < 2:
        raise BadData(f"every text has the label {targets.classes[0]!r}; a classifier needs at least two classes")


def refuse_new_classes(classes: Sequence[Label], known: Sequence[Label]) -> None:
    """An error that names the first class that is not known.

    >>> refuse_new_classes(["eggs"], ["ham", "spam"])
    Traceback (most recent call last):
    unnaive.errors.BadData: class 'eggs' is none of the 2 that the model has (ham, spam); say grow=True, or --grow, ...
    """
    new = [label for label in classes if label not in known]
    if new:
        raise BadData(
            f"class {new[0]!r} is none of the {len(known)} that the model has ({shown_classes(known)}); "
            "say grow=True, or --grow, to add it"
        )


def checked_weight(weight: Any, n_docs: int) -> NDArray[np.float64] | None:
    """A weight from 0 on for each document, not all of them 0; or None.

    >>> checked_weight([1, -2], 2)
    Traceback (most recent call last):
    unnaive.errors.BadData: sample_weight of text 1 is -2.0; give numbers from 0 on
    """
    if weight is None:
        return None
    try:
        weights = np.asarray(weight, np.float64)
    except (TypeError, ValueError) as problem:
        raise BadData(f"sample_weight is no list of numbers ({problem}); give one number for each text") from problem
    if weights.shape != (n_docs,):
        raise BadData(f"sample_weight has shape {weights.shape}; give {n_docs} numbers from 0 on, one for each text")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise BadData(f"sample_weight of text {bad[0]} is {weights[bad[0]]}; give numbers from 0 on")
    if not weights.any():
        raise BadData("all sample weights are 0; give at least one text a weight above 0")
    return weights
