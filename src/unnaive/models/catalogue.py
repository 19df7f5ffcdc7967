"""The models by name. Adding a classifier is a function in this room and a line here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np

from unnaive.errors import UnknownName, UnnaiveError, choose

OFFERED = ("seed", "sample_weight", "progress")  # settings that are no choice of a model, but of who calls it


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
        return {name: parameter.default for name, parameter in self._parameters().items()}

    def own_settings(self) -> dict[str, Any]:
        """The settings that a user may give; the others come from the caller."""
        return {name: value for name, value in self.settings().items() if name not in OFFERED}

    def checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        """`settings`, if the function knows them all and each is of the kind that its annotation names."""
        known = self._parameters()
        for name in settings:
            if not known:
                raise UnknownName(f"{self.name} takes no settings, so {name!r} cannot be set")
            choose(list(known), name, f"setting of {self.name}")
        for name, value in settings.items():
            self._refuse_other_kind(value, known[name])
        return settings

    def _parameters(self) -> dict[str, inspect.Parameter]:
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}

    def _refuse_other_kind(self, value: Any, parameter: inspect.Parameter) -> None:
        kinds = [KINDS.get(name) for name in str(parameter.annotation).split(" | ")]
        if any(kind is None or kind.holds(value) for kind in kinds):  # a kind that is not listed takes anything
            return
        example = "" if parameter.default is None else f", such as {parameter.default!r}"
        wanted = " or ".join(kind.title for kind in kinds if kind)
        raise UnnaiveError(f"{parameter.name} of {self.name} came as {_short(value)}; give {wanted}{example}")


@dataclass(frozen=True)
class Kind:
    """A kind of setting, as annotations name it: what to call it, and whether a value is of it."""

    title: str
    holds: Callable[[Any], bool]


FLOATS = (float, np.floating)

KINDS = {
    "bool": Kind("true or false", lambda value: isinstance(value, (bool, np.bool_))),
    "int": Kind("a whole number", lambda value: _is_machine_number(value) and not isinstance(value, FLOATS)),
    "float": Kind("a number", lambda value: _is_machine_number(value)),
    "str": Kind("a word", lambda value: isinstance(value, str)),
    "None": Kind("None", lambda value: value is None),
}


def _is_machine_number(value: Any) -> bool:
    """Whether it is a number, which True is not, that 64 bits hold."""
    if isinstance(value, FLOATS):
        return True
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) < 1 << 63


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


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
