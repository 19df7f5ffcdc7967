"""Check X and y of estimators on counts, once, and against the model.

The rules and messages are those of scikit-learn, whose `check_estimator` tests them; it need not be installed.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.settings import shorten_value
from unnaive.base.sparse import csr_array, issparse
from unnaive.base.types import Sparse
from unnaive.data.arrays import find_sparse_problem
from unnaive.data.products import has_repeats
from unnaive.data.targets import Targets, list_labels, read_targets
from unnaive.learning.fitted import FittedModel

if TYPE_CHECKING:
    from unnaive.models.predicting_estimator import PredictingEstimator

COLUMNS_FREELY = 1 << 24  # columns that a sparse X may have regardless of its content
COLUMNS_BY_CELL = 4  # further columns allowed for each nonzero cell


def check_documents(
    estimator: PredictingEstimator,
    X: Any,
    fitted: FittedModel | None,
    *,
    as_they_are: bool = False,
    in_order: bool = True,
) -> tuple[Sparse, tuple[str, ...] | None]:
    """X as a csr_array without duplicate entries, and its column names.

    The columns must be those of `fitted`; None (before `fit`) allows any. With `as_they_are`, entries may be in any
    order and repeated; without `in_order`, in any order.
    """
    problem = find_sparse_problem(X) if issparse(X) else None
    if problem:
        raise BadData(f"X {problem}; build the matrix again, for instance with scipy.sparse.csr_array")
    _check_width(X)
    names = _column_names(X)
    documents = csr_array(_as_numbers(X))
    _check_shape(type(estimator).__name__, X, documents, names, fitted)
    if not as_they_are and not documents.has_canonical_format and (in_order or has_repeats(documents)):
        documents = documents.copy()
        documents.sum_duplicates()
    return documents, names


def _as_numbers(X: Any) -> Any:
    """X as a CSR matrix or a dense array of finite numbers (n_documents, n_terms)."""
    array: Any = X.tocsr() if issparse(X) else np.asarray(X)
    values: Any = array.data if issparse(X) else array
    if values.dtype.kind == "c":
        raise BadData(f"Complex data not supported\n{array}\n")
    if array.ndim != 2:
        shown = "scalar" if array.ndim == 0 else f"{array.ndim}D"
        raise BadData(
            f"Expected 2D array, got {shown} array instead; X has a row for each document and a column for each term. "
            "Reshape your data with X.reshape(1, -1) if it is one document"
        )
    if values.dtype.kind not in "biuf":  # objects and strings that may be numbers
        values = values.astype(np.float64)
        array = values if not issparse(X) else csr_array((values, array.indices, array.indptr), shape=array.shape)
    if values.dtype.kind == "f" and not np.isfinite(values.sum()) and not np.isfinite(values).all():
        what = "NaN" if np.isnan(values).any() else "infinity"
        raise BadData(f"Input X contains {what}; counts are finite numbers, so replace or drop such values")
    return array


def _column_names(X: Any) -> tuple[str, ...] | None:
    """The names of the columns of a data frame, if all are strings."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    strings = sum(isinstance(name, str) for name in names)
    if 0 < strings < len(names):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has columns of "
            "several types; rename them with X.columns = X.columns.astype(str)"
        )
    return tuple(names) if strings else None


def _check_shape(
    owner: str, X: Any, documents: Sparse, names: tuple[str, ...] | None, fitted: FittedModel | None
) -> None:
    """Raise an error for X without documents or terms, or with other columns than the model."""
    n_documents, n_terms = documents.shape
    if not n_documents:
        raise BadData(f"Found array with 0 sample(s) (shape={documents.shape}) while a minimum of 1 is required.")
    if fitted is None:
        if not n_terms:
            raise BadData(f"Found array with 0 feature(s) (shape={documents.shape}) while a minimum of 1 is required.")
        return
    if fitted.feature_names is not None or names is not None:
        _check_names(owner, names, fitted.feature_names)
    if n_terms != fitted.scorer.n_terms:
        raise BadData(f"X has {n_terms} features, but {owner} is expecting {fitted.scorer.n_terms} features as input")


def _check_names(owner: str, names: tuple[str, ...] | None, before: tuple[str, ...] | None) -> None:
    """Compare the column names with those of the model; one of them without names is a warning."""
    if before is None:
        warnings.warn(f"X has feature names, but {owner} was fitted without feature names", stacklevel=2)
    elif names is None:
        warnings.warn(f"X does not have valid feature names, but {owner} was fitted with feature names", stacklevel=2)
    elif names != before:
        unseen, absent = sorted(set(names) - set(before)), sorted(set(before) - set(names))
        lines = ["The feature names should match those that were passed during fit."]
        lines += ["Feature names unseen at fit time:", *(f"- {name}" for name in unseen[:5])] if unseen else []
        lines += (
            ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in absent[:5])]
            if absent
            else []
        )
        lines += [] if unseen or absent else ["Feature names must be in the same order as they were in fit."]
        raise BadData("\n".join([*lines, ""]))


def _check_width(X: Any) -> None:
    """Raise an error if a sparse X has far more columns than cells: memory is proportional to the columns."""
    if issparse(X) and X.ndim == 2 and X.shape[1] > max(COLUMNS_FREELY, COLUMNS_BY_CELL * X.nnz):
        raise BadData(
            f"X has {X.shape[1]:,} columns and {X.nnz:,} nonzero cells, but every column needs memory; remove "
            f"columns that are 0 everywhere, or hash terms into at most {COLUMNS_FREELY:,}"
        )


def check_labelled(
    estimator: PredictingEstimator, X: Any, y: Any, fitted: FittedModel | None, *, multilabel: bool | None
) -> tuple[Sparse, Targets, tuple[str, ...] | None]:
    """Check X and y for training; also return the column names of X. Negative values are not counts, and an error."""
    if y is None:
        raise BadData(f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None.")
    in_order = estimator.traits.statistic != "counts"  # sums are the same in any order
    documents, names = check_documents(estimator, X, fitted, in_order=in_order)
    if documents.nnz and documents.data.min() < 0:
        raise BadData(
            f"Negative values in data passed to {type(estimator).__name__} (input X), which learns from counts; shift "
            "or drop the features that fall below 0"
        )
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1 and not issparse(y):
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; use y.ravel()",
            _conversion_warning(),
            stacklevel=2,
        )
        y = np.asarray(y).ravel()
    return documents, read_targets(y, documents.shape[0], multilabel=multilabel), names


def _conversion_warning() -> type[Warning]:
    """scikit-learn's DataConversionWarning if scikit-learn is imported, so that its tools recognise it."""
    if "sklearn" in sys.modules:
        from sklearn.exceptions import DataConversionWarning

        return DataConversionWarning  # type: ignore[no-any-return]
    return UserWarning


def has_more_columns(X: Any, before: FittedModel) -> bool:
    """Whether X has more columns than the model; the model's columns must come first, in their order."""
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    model_columns, columns = list(before.feature_names or ()), list(getattr(X, "columns", []))
    if model_columns and columns and columns[: len(model_columns)] != model_columns:
        raise BadData("X does not begin with the columns of the model; put new columns after them")
    return len(shape) == 2 and shape[1] > before.scorer.n_terms


def check_target_type(targets: Targets, before: FittedModel) -> None:
    """Raise an error if single-label documents follow multilabel ones, or the reverse."""
    if targets.multilabel != before.multilabel:
        raise BadData(
            f"labels came as {targets.target_type!r} but were {before.target_type!r} before; use one label, or "
            "label sets, throughout"
        )


def read_classes(classes: Any) -> list[Any]:
    """The argument `classes` of partial_fit as plain values without duplicates."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in list_labels(classes)]
    if len(set(labels)) != len(labels):
        raise BadData(
            f"classes={shorten_value(labels)} is not the same as on last call to partial_fit: it names a class twice"
        )
    return labels


def check_model_classes(classes: list[Any], before: FittedModel) -> None:
    """Raise an error if the model has no such class."""
    unknown = [label for label in classes if label not in set(before.classes)]
    if unknown:
        raise BadData(
            f"classes={shorten_value(classes)} is not the same as on last call to partial_fit: class {unknown[0]!r} is "
            f"not among the {len(before.classes)} classes of the model; pass new_classes=True to add it"
        )
