"""Convert labels to classes and the sparse matrix Y, and back; TextClassifier and the estimators both use this."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.base.sparse import csr_array, issparse
from unnaive.base.types import Floats, Label, Sparse
from unnaive.data.arrays import find_sparse_problem

TARGET_TYPES = ("single", "sets", "indicator", "sparse")


@dataclass(frozen=True, eq=False)
class Targets:
    """The sorted classes, Y (n_docs, n_classes) 0/1, and the format of the labels, which predictions will have too.

    target_type: "single" one label each; "sets" a collection of labels each; "indicator" a 0/1 array; "sparse" a
    sparse 0/1 matrix.
    """

    classes: tuple[Label, ...]
    Y: Sparse
    target_type: str

    @property
    def multilabel(self) -> bool:
        """Whether a document may have any number of labels."""
        return self.target_type != "single"


def read_targets(labels: Any, n_docs: int, *, multilabel: bool | None = None) -> Targets:
    """Read the labels of n_docs documents: values, collections of values, or an indicator matrix.

    As in scikit-learn, an array, a sparse matrix or nested lists of zeros and ones with at least two columns are an
    indicator matrix, whose classes are 0, 1, …; a single column is one value for each document. `multilabel` True reads
    single values as sets of one; False reads sets of exactly one as values; None keeps the format of the input.

    >>> read_targets(["spam", "ham", "spam"], 3).classes
    ('ham', 'spam')
    >>> read_targets([{"a", "b"}, []], 2).Y.toarray()
    array([[1, 1],
           [0, 0]])
    >>> read_targets([[0, 1], [1, 0]], 2).target_type
    'indicator'
    """
    if issparse(labels):
        problem = find_sparse_problem(labels)
        if problem:
            raise BadData(f"the matrix of labels {problem}; build it again, for instance with scipy.sparse.csr_array")
        return _indicator(csr_array(labels), n_docs, "sparse")
    labels = _to_array(labels) if hasattr(labels, "columns") else labels  # a pandas or polars table
    if isinstance(labels, np.ndarray) and labels.ndim == 2:
        if labels.shape[1] != 1:
            return _indicator(csr_array(_numbers(labels)), n_docs, "indicator")
        labels = labels.ravel()
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biufU" and not multilabel:
        return _single_array(labels, n_docs)
    values = list_labels(labels)
    if len(values) != n_docs:
        raise BadData(
            f"{count_noun(n_docs, 'document')} came with {count_noun(len(values), 'label')}; give one for each document"
        )
    if _is_indicator(values):
        return _indicator(csr_array(np.asarray(values, np.int64)), n_docs, "indicator")
    # test each type of the distinct labels rather than each label, which would take longer than counting texts
    try:
        distinct: Collection[Any] = set(values)
    except TypeError:  # lists or sets of labels
        distinct = values
    sets = any(issubclass(kind, Collection) and not issubclass(kind, (str, bytes)) for kind in set(map(type, distinct)))
    if sets and multilabel is False:
        values, sets = [_only(row, value) for row, value in enumerate(values)], False
        distinct = values
    if sets or multilabel:
        return _sets([value if _is_collection(value) else (value,) for value in values])
    return _single(values, distinct)


def _to_array(table: Any) -> NDArray[Any]:
    return np.asarray(table.to_numpy())


def _numbers(table: NDArray[Any]) -> NDArray[Any]:
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError):
        raise BadData(
            f"labels came as an array of shape {table.shape} whose values are not numbers; give a label or a "
            "collection of labels for each document, or a 0/1 matrix"
        ) from None


def list_labels(labels: Any) -> Sequence[Any]:
    """The labels of any array, series or iterable as a sequence of plain values; a string is an error."""
    if isinstance(labels, (str, bytes)):
        raise BadData(f"labels came as one {type(labels).__name__}; give a list with one label for each document")
    if isinstance(labels, (list, tuple)):
        return labels
    for method in ("to_pylist", "tolist", "to_list"):  # Arrow; numpy and pandas; polars
        if hasattr(labels, method):
            values = getattr(labels, method)()
            return values if isinstance(values, list) else [values]
    if hasattr(labels, "__array__"):
        return list_labels(np.asarray(labels))
    if not isinstance(labels, Iterable):
        raise BadData(f"labels came as {type(labels).__name__}; give a list with one label for each document")
    return list(labels)


def _is_collection(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes))


def _is_indicator(values: Sequence[Any]) -> bool:
    """Whether nested lists are rows of zeros and ones, of equal length, with at least two columns."""
    width = len(values[0]) if values and isinstance(values[0], (list, tuple, np.ndarray)) else 0
    return width > 1 and all(
        isinstance(row, (list, tuple, np.ndarray)) and len(row) == width and all(_is_bit(value) for value in row)
        for row in values
    )


def _is_bit(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, np.bool_)) and value in (0, 1)


def _only(row: int, value: Any) -> Any:
    if not _is_collection(value):
        return value
    names = list(value)
    if len(names) != 1:
        raise BadData(f"document {row} has {len(names)} labels; with multilabel=False every document has one")
    return names[0]


def _single_array(labels: NDArray[Any], n_docs: int) -> Targets:
    """An array of one type, sorted by numpy."""
    if len(labels) != n_docs:
        raise BadData(
            f"{count_noun(n_docs, 'document')} came with {count_noun(len(labels), 'label')}; give one for each document"
        )
    if labels.dtype.kind == "f":
        _check_float_labels(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return Targets(tuple(classes.tolist()), one_label_matrix(codes, len(classes)), "single")


def _check_float_labels(labels: Floats) -> None:
    """Accept whole numbers stored as floats (a column with gaps has them); other floats are quantities, not labels."""
    if not bool(np.all(np.isfinite(labels))):
        raise BadData("a label is missing (NaN) or infinite; remove its row")
    if not bool(np.all(labels == np.rint(labels))):
        raise BadData(
            f"Unknown label type: continuous. A label is {labels[labels != np.rint(labels)][0]}, a quantity, not a "
            "class; give names, whole numbers or booleans"
        )


def _single(values: Sequence[Any], distinct: Iterable[Any]) -> Targets:
    """Labels, and the distinct ones, which may be repeated."""
    classes = sorted_classes(set(distinct))
    return Targets(classes, one_label_matrix(class_codes(values, classes), len(classes)), "single")


def one_label_matrix(codes: NDArray[Any], n_classes: int) -> Sparse:
    """Y (n_docs, n_classes), where document d has the class `codes[d]`."""
    n_docs = len(codes)
    columns = np.asarray(codes, np.int32).ravel()
    return csr_array((np.ones(n_docs, np.int64), columns, np.arange(n_docs + 1)), shape=(n_docs, n_classes))


def _sets(values: Sequence[Collection[Any]]) -> Targets:
    distinct = [list(dict.fromkeys(value)) for value in values]
    classes = sorted_classes({name for names in distinct for name in names})
    return Targets(classes, label_matrix([tuple(names) for names in distinct], classes), "sets")


def _indicator(Y: Sparse, n_docs: int, target_type: str) -> Targets:
    if Y.shape[0] != n_docs:
        raise BadData(
            f"{count_noun(n_docs, 'document')} came with an indicator matrix of {count_noun(Y.shape[0], 'row')}; "
            "give one row for each document"
        )
    if not np.isin(Y.data, (0, 1)).all():
        raise BadData(
            "Unknown label type: an indicator matrix has values other than 0 and 1; give 1 where a document has "
            "the class"
        )
    Y = Y.astype(np.int64)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    Y.data[:] = 1  # a cell that is given twice is one label
    return Targets(tuple(range(Y.shape[1])), Y, target_type)


def sorted_classes(values: Iterable[Any]) -> tuple[Label, ...]:
    """The distinct labels as plain str, int, float or bool, sorted; all must have one type.

    >>> sorted_classes({np.int64(3), 1}), sorted_classes({"b", "a"})
    ((1, 3), ('a', 'b'))
    """
    plain = {plain_label(value) for value in values}
    kinds = {type(value).__name__ for value in plain}
    if kinds == {"int", "float"}:
        plain, kinds = {float(value) for value in plain}, {"float"}
    if len(kinds) > 1:
        raise BadData(f"labels mix {' and '.join(sorted(kinds))}; convert them to one type, for instance with str")
    return tuple(sorted(plain))


def plain_label(value: Any) -> Label:
    """The label as a plain str, int, float or bool; an error for any other type and for a missing label."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, int)):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        raise BadData(f"a label is missing ({value!r}); remove its row")
    if isinstance(value, float):
        _check_float_labels(np.array([value]))
        return value
    raise BadData(f"a label is {value!r} of type {type(value).__name__}; give str, int, bool or whole floats")


def class_codes(values: Sequence[Any], classes: Sequence[Label]) -> NDArray[np.int32]:
    """The position of each label among the classes; an error names the first label that is not a class."""
    codes = {label: position for position, label in enumerate(classes)}
    try:
        return np.fromiter(map(codes.__getitem__, values), np.int32, len(values))
    except KeyError as unknown:
        raise BadData(
            f"label {unknown.args[0]!r} is not among the {len(codes)} classes {shorten_classes(classes)}; "
            "give one of them"
        ) from None


def label_matrix(
    labels: Sequence[tuple[Any, ...]], classes: Sequence[Label], *, ignore_unknown: bool = False
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
        raise BadData(
            f"{len(classes)} classes came with only {count_noun(len(column), 'distinct name')}; name each class once"
        )
    rows = [sorted({column[name] for name in _refuse_string(names) if name in column}) for names in labels]
    if not ignore_unknown:
        _refuse_unknown_labels(labels, column)
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    indices = np.fromiter((c for row in rows for c in row), dtype=np.int32, count=int(indptr[-1]))
    return csr_array((np.ones(len(indices), dtype=np.int64), indices, indptr), shape=(len(labels), len(classes)))


def _refuse_string(labels: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the label set unchanged; raise an error for a bare string, which would be read letter by letter."""
    if isinstance(labels, str):
        raise BadData(f"a document's labels came as the string {labels!r}; give a tuple such as ({labels!r},)")
    return labels


def _refuse_unknown_labels(labels: Sequence[tuple[Any, ...]], column: dict[Label, int]) -> None:
    unknown = sorted({str(name) for names in labels for name in names if name not in column})
    if unknown:
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        shown = ", ".join(repr(name) for name in unknown[:3])
        labels_are = "label {} is" if len(unknown) == 1 else "labels {} are"
        raise BadData(
            f"{labels_are.format(shown + more)} not among the {len(column)} classes; extend the classes, or pass "
            "ignore_unknown=True"
        )


def label_sets(Y: Any, classes: Sequence[Label], scores: Floats | None = None) -> list[tuple[Any, ...]]:
    """The label set of each row of Y, classes in column order; the inverse of `label_matrix`.

    Y: (n_docs, n_classes), sparse or dense; any non-zero entry is membership. With `scores` (n_docs, n_classes), the
    labels of each row are sorted by score, highest first; ties keep the column order.

    >>> label_sets([[0, 1], [0, 0], [1, 1]], ["politics", "sport"])
    [('sport',), (), ('politics', 'sport')]
    >>> label_sets([[1, 1]], ["politics", "sport"], np.array([[0.6, 0.8]]))
    [('sport', 'politics')]
    """
    matrix = csr_array(Y, copy=True)
    if matrix.shape[1] != len(classes):
        raise BadData(
            f"Y has {count_noun(matrix.shape[1], 'column')} for {count_noun(len(classes), 'class', 'classes')}; "
            "give one column for each class"
        )
    matrix.eliminate_zeros()
    matrix.sort_indices()
    columns = matrix.indices
    if scores is not None:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        columns = columns[np.lexsort((columns, -scores[rows, columns], rows))]
    names = np.empty(len(classes), dtype=object)
    names[:] = classes
    names = names[columns]
    return [tuple(names[start:stop]) for start, stop in pairwise(matrix.indptr)]


def single_labels(Y: Any) -> NDArray[np.int64] | None:
    """The class index of each document if every document has exactly one label, else None.

    >>> single_labels(np.array([[0, 1], [1, 0]]))
    array([1, 0])
    """
    matrix = csr_array(Y, copy=True)
    matrix.eliminate_zeros()
    if (np.diff(matrix.indptr) != 1).any():
        return None
    return np.asarray(matrix.indices, dtype=np.int64)


def class_columns(Y: Sparse) -> list[NDArray[np.bool_]]:
    """For each class, a mask of its documents."""
    columns, labels = csr_array(Y).tocsc(), []
    for c in range(columns.shape[1]):
        present = np.zeros(columns.shape[0], np.bool_)
        inside = slice(columns.indptr[c], columns.indptr[c + 1])
        present[columns.indices[inside]] = columns.data[inside] != 0
        labels.append(present)
    return labels


def place_columns(Y: Sparse, positions: NDArray[Any], n_classes: int) -> Sparse:
    """Move column i of Y to `positions[i]` of n_classes."""
    return csr_array((Y.data, np.asarray(positions, np.int32)[Y.indices], Y.indptr), shape=(Y.shape[0], n_classes))


def shorten_classes(classes: Sequence[Label], limit: int = 6) -> str:
    """The first classes, separated by commas, for messages."""
    names = ", ".join(map(str, classes[:limit]))
    return names if len(classes) <= limit else f"{names}, …"


def check_known_classes(classes: Sequence[Label], model_classes: Sequence[Label]) -> None:
    """Raise an error that names the first class the model does not have.

    >>> check_known_classes(["eggs"], ["ham", "spam"])
    Traceback (most recent call last):
    unnaive.base.errors.BadData: class 'eggs' is not among the 2 classes of the model (ham, spam); pass...
    """
    among = set(model_classes)
    new = [label for label in classes if label not in among]
    if new:
        raise BadData(
            f"class {new[0]!r} is not among the {len(model_classes)} classes of the model "
            f"({shorten_classes(model_classes)}); pass new_classes=True, or --new-classes, to add it"
        )
