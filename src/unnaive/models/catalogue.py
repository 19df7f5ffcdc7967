"""The models by name. Adding a classifier is a function in this room and a line here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from unnaive.errors import UnknownName, UnnaiveError, choose


@dataclass(frozen=True)
class Model:
    """One entry: where its function is and what it learns from.

    statistic "counts": a rule, `function(counts, **settings) -> Linear`; it can be updated, forgotten and merged.
    statistic "documents": a learner, `function(X, Y, **settings) -> Scorer`; it needs all documents at once.
    """

    name: str
    title: str
    source: str
    statistic: Literal["counts", "documents"]

    @property
    def function(self) -> Callable[..., Any]:
        """The rule or learner; its module is imported when first asked for."""
        module, name = self.source.split(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function

    def settings(self) -> dict[str, Any]:
        """The keyword settings that the function takes, with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        """`settings`, if the function knows them all and has no word where it wants a number."""
        known = self.settings()
        for name, value in settings.items():
            if not known:
                raise UnknownName(f"{self.name} takes no settings, so {name!r} cannot be set")
            default = known[choose(list(known), name, f"setting of {self.name}")]
            if isinstance(value, str) and isinstance(default, (bool, int, float)):
                kind = "true or false" if isinstance(default, bool) else f"a number, such as {default}"
                raise UnnaiveError(f"{name} of {self.name} came as {value!r}; give {kind}")
        return settings


_ROOM = "unnaive.models"

MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("multinomial", "multinomial naive Bayes", f"{_ROOM}.naive_bayes:multinomial", "counts"),
        Model("bernoulli", "Bernoulli naive Bayes", f"{_ROOM}.naive_bayes:bernoulli", "counts"),
        Model("hos", "higher-order smoothing", f"{_ROOM}.higher_order:higher_order_smoothing", "documents"),
        Model("honb", "higher-order naive Bayes", f"{_ROOM}.higher_order:higher_order_naive_bayes", "documents"),
        Model("complement", "complement naive Bayes", f"{_ROOM}.naive_bayes:complement", "counts"),
        Model("or-gate", "OR gate Bayesian network", f"{_ROOM}.or_gate:or_gate", "counts"),
        Model("rocchio", "Rocchio, documents of length 1", f"{_ROOM}.rocchio:rocchio", "documents"),
        Model("rocchio-counts", "Rocchio from counts, exact online", f"{_ROOM}.rocchio:rocchio_counts", "counts"),
        Model("or-blend", "OR gate blended with Rocchio", f"{_ROOM}.blend:blend", "documents"),
        Model("maxent", "maximum entropy", f"{_ROOM}.maxent:maxent", "documents"),
        Model(
            "hierarchical", "hierarchical Bayesian networks", f"{_ROOM}.hierarchical.learner:hierarchical", "documents"
        ),
        Model(
            "hierarchical-naive-bayes",
            "hierarchical naive Bayes networks",
            f"{_ROOM}.hierarchical.learner:hierarchical_naive_bayes",
            "documents",
        ),
        Model("tan", "tree-augmented naive Bayes", f"{_ROOM}.tan:tan", "documents"),
        Model("selective", "selective naive Bayes", f"{_ROOM}.selective:selective_naive_bayes", "documents"),
        Model("svm", "linear support vector machine", f"{_ROOM}.baselines:svm", "documents"),
        Model("knn", "k nearest neighbours", f"{_ROOM}.baselines:knn", "documents"),
        Model("tree", "decision tree", f"{_ROOM}.baselines:tree", "documents"),
    )
}


def find_model(name: str) -> Model:
    """The model called `name`, or an error that lists those there are.

    >>> find_model("multinomial").title
    'multinomial naive Bayes'
    """
    return MODELS[choose(list(MODELS), name, "model")]
