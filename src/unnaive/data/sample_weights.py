"""Weights of documents, given per document or per class; TextClassifier and the estimators both check them here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Label
from unnaive.data.targets import Targets, class_codes, plain_label, single_labels

# Limits of weights: models square weights, multiply them by costs and add small constants to their sums, which would
# overflow or vanish for extreme numbers; within these limits weights have the same meaning for every model.
SMALLEST, LARGEST = 1e-9, 1e9


def check_sample_weight(weight: Any, n_docs: int) -> Floats | None:
    """Check a weight for each document: 0 or from SMALLEST to LARGEST, and not all 0; None stays None.

    >>> check_sample_weight([1, -2], 2)
    Traceback (most recent call last):
    unnaive.base.errors.BadData: Negative values in data passed to `sample_weight`: document 1 has -2.0; give ...
    """
    if weight is None:
        return None
    try:
        weights = np.asarray(weight, np.float64)
    except (TypeError, ValueError) as problem:
        raise BadData(
            f"sample_weight is not a list of numbers ({problem}); give one number for each document"
        ) from problem
    if weights.ndim == 0:
        weights = np.full(n_docs, float(weights))
    if weights.shape != (n_docs,):
        raise BadData(
            f"sample_weight.shape == {weights.shape}, expected ({n_docs},)! Give {n_docs} numbers from 0, one for "
            "each document"
        )
    if not bool(np.all(np.isfinite(weights))):
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise BadData(
            f"Input sample_weight contains NaN or infinity: document {row} has {weights[row]}; give finite numbers"
        )
    if weights.size and weights.min() < 0:
        row = int(np.argmin(weights))
        position = f"document {row} has {weights[row]}"
        raise BadData(f"Negative values in data passed to `sample_weight`: {position}; give numbers from 0")
    if not weights.any():
        raise BadData("Sample weights must contain at least one non-zero number; all of them are 0")
    outside = np.flatnonzero((weights > LARGEST) | ((weights < SMALLEST) & (weights > 0)))
    if len(outside):
        raise BadData(
            f"the weight of document {outside[0]} is {weights[outside[0]]:g}; give 0, or a number from {SMALLEST:g} to "
            f"{LARGEST:g}"
        )
    return weights


def class_sample_weight(class_weight: Any, targets: Targets, sample_weight: Floats | None) -> Floats | None:
    """Sample weights times the weight of each document's class.

    class_weight is None, "balanced" (n_docs / (n_classes · documents of the class)) or a dict from class to weight.

    >>> from unnaive.data.targets import read_targets
    >>> class_sample_weight("balanced", read_targets(["a", "a", "b", "a"], 4), None).round(2)
    array([0.67, 0.67, 2.  , 0.67])
    """
    if class_weight is None:
        return sample_weight
    codes = single_labels(targets.Y)
    if targets.multilabel or codes is None:
        raise several_labels_refused()
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    factors = class_weight_factors(class_weight, targets.classes, np.bincount(codes, weight, len(targets.classes)))
    if not (weight * factors[codes]).any():
        raise BadData("class_weight gives every document a weight of 0; give a class with documents a weight above 0")
    return np.asarray(weight * factors[codes])


def several_labels_refused() -> BadData:
    """The error for class weights with multilabel documents."""
    return BadData("class_weight needs one label for each document; for multilabel data use sample_weight")


def class_weight_factors(class_weight: Any, classes: Sequence[Label], class_docs: Any) -> Floats:
    """The weight of a document of each class (n_classes,); `class_docs` (n_classes,) counts the documents of each.

    >>> class_weight_factors("balanced", ["a", "b"], np.array([3, 1])).round(2)
    array([0.67, 2.  ])
    """
    if not isinstance(class_weight, str):
        return _given_class_weights(class_weight, classes)
    if class_weight != "balanced":
        raise BadData(f"class_weight is {class_weight!r}; give 'balanced' or a dict from class to weight")
    mass = np.asarray(class_docs, np.float64)
    return np.asarray(mass.sum() / (len(classes) * np.where(mass > 0, mass, 1.0)))


def _given_class_weights(class_weight: Any, classes: Sequence[Label]) -> Floats:
    try:
        weights = {plain_label(label): float(value) for label, value in class_weight.items()}
    except (AttributeError, TypeError, ValueError):
        raise BadData(f"class_weight is {class_weight!r}; give 'balanced' or a dict from class to weight") from None
    class_codes(list(weights), classes)  # raises an error for the first that is not a class
    for label, value in weights.items():
        if value != 0 and not SMALLEST <= value <= LARGEST:
            raise BadData(
                f"class_weight of {label!r} is {value:g}; give 0, or a number from {SMALLEST:g} to {LARGEST:g}"
            )
    factors = np.array([weights.get(label, 1.0) for label in classes])
    if not factors.any():
        raise BadData("class_weight is 0 for every class; give at least one class a weight above 0")
    return factors
