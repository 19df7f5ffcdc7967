"""Check X and y of estimators on counts, once, as scikit-learn checks them, and against the model.

scikit-learn is imported on the first check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.settings import shorten_value
from unnaive.base.sparse import csr_array, issparse
from unnaive.base.types import Sparse
from unnaive.data.arrays import find_sparse_problem
from unnaive.data.targets import Targets, read_targets
from unnaive.learning.fitted import FittedModel

if TYPE_CHECKING:
    from unnaive.models.predicting_estimator import PredictingEstimator

COLUMNS_FREELY = 1 << 24  # columns that a sparse X may have regardless of its content
COLUMNS_BY_CELL = 4  # further columns allowed for each nonzero cell


def check_documents(
    estimator: PredictingEstimator, X: Any, fitted: FittedModel | None
) -> tuple[Sparse, tuple[str, ...] | None]:
    """X as a csr_array without duplicate entries, and its column names.

    The columns must be those of `fitted`; None (before `fit`) allows any.
    """
    from sklearn.utils.validation import validate_data

    problem = find_sparse_problem(X) if issparse(X) else None
    if problem:
        raise BadData(f"X {problem}; build the matrix again, for instance with scipy.sparse.csr_array")
    _check_width(X)
    probe = _stand_in(estimator, fitted)
    documents = csr_array(validate_data(probe, X, accept_sparse="csr", reset=fitted is None))
    if not documents.has_canonical_format:
        documents = documents.copy()
        documents.sum_duplicates()
    names = getattr(probe, "feature_names_in_", None)
    return documents, None if names is None else tuple(names.tolist())


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
    from sklearn.utils.validation import column_or_1d, validate_data

    if y is None:
        validate_data(_stand_in(estimator, None), X, y)  # raises scikit-learn's error that y is required
    documents, names = check_documents(estimator, X, fitted)
    if documents.nnz and documents.data.min() < 0:
        raise BadData(
            f"Negative values in data passed to {type(estimator).__name__} (input X), which learns from counts; shift "
            "or drop the features that fall below 0"
        )
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1 and not issparse(y):
        y = column_or_1d(y, warn=True)
    return documents, read_targets(y, documents.shape[0], multilabel=multilabel), names


def _stand_in(estimator: PredictingEstimator, fitted: FittedModel | None) -> Any:
    """A stand-in for the estimator: scikit-learn's validation sets attributes on it and compares X with them."""
    tags = estimator.__sklearn_tags__()
    probe = type(type(estimator).__name__, (), {"__sklearn_tags__": lambda self: tags})()
    if fitted is not None:
        probe.n_features_in_ = fitted.scorer.n_terms
        if fitted.feature_names is not None:
            probe.feature_names_in_ = np.array(fitted.feature_names, dtype=object)
    return probe


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
    """The argument `classes` of partial_fit as plain values without duplicates; empty for None."""
    if classes is None:
        return []
    labels = [label.item() if isinstance(label, np.generic) else label for label in np.asarray(classes).tolist()]
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
            f"not among the {len(before.classes)} classes of the model; pass grow=True to add it"
        )
