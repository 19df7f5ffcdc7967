"""Text classification with the Bayesian family: naive Bayes and what was built to make it less naive."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported on first use: the command line starts fast because scikit-learn stays out until an estimator is asked for.
_HOMES = {
    "TextClassifier": "unnaive.classifier",
    "MultinomialNB": "unnaive.estimators.naive_bayes",
    "BernoulliNB": "unnaive.estimators.naive_bayes",
    "ComplementNB": "unnaive.estimators.naive_bayes",
    "OrGate": "unnaive.estimators.or_gate",
    "OrBlend": "unnaive.estimators.or_gate",
    "Rocchio": "unnaive.estimators.rocchio",
    "RocchioCounts": "unnaive.estimators.rocchio",
    "MaxEnt": "unnaive.estimators.maxent",
    "LinearSVM": "unnaive.estimators.baselines",
    "NearestNeighbours": "unnaive.estimators.baselines",
    "DecisionTree": "unnaive.estimators.baselines",
    "HigherOrderSmoothing": "unnaive.estimators.higher_order",
    "HigherOrderNB": "unnaive.estimators.higher_order",
    "HierarchicalBN": "unnaive.estimators.hierarchical",
    "SelectiveNB": "unnaive.estimators.hierarchical",
    "TreeAugmentedNB": "unnaive.estimators.hierarchical",
}

__all__ = ["__version__", "backend", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "backend":
        return import_module("unnaive.text.counting").BACKEND
    if name not in _HOMES:
        raise AttributeError(f"module 'unnaive' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
