"""The scikit-learn protocol without importing scikit-learn, so that the command line starts quickly.

Once scikit-learn is imported, its ClassifierMixin and BaseEstimator become base classes of Protocol. Our estimators are
then instances of both, and the method resolution order is the same whichever package was imported first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from numpy.typing import NDArray

from unnaive.base.after_import import after_import
from unnaive.base.errors import UnnaiveError, count_noun

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


Method = TypeVar("Method", bound=Callable[..., Any])

NO_PROBABILITIES = "its scores are margins, not probabilities; use TextClassifier(..., calibrate='temperature')"


class available_if:
    """A method that an instance has only if `check(instance)` is true, like scikit-learn's decorator of the same name.

    advice  what the user can do if the method is missing, for the error message; "" for nothing
    """

    def __init__(self, check: Callable[[Any], bool], advice: str = "") -> None:
        self._check, self._advice = check, advice

    def __call__(self, function: Method) -> Method:
        """Decorate a method."""
        self._function: Callable[..., Any] = function
        self.__doc__ = function.__doc__
        return cast("Method", self)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self._function
        if not self._check(instance):
            advice = f": {self._advice}" if self._advice else ""
            raise AttributeError(f"this {type(instance).__name__} has no attribute {self._name!r}{advice}")
        return MethodType(self._function, instance)


class NotYetBaseEstimator:
    """The base of Protocol until scikit-learn is imported.

    Python cannot change the bases of a class derived from object.
    """


class Protocol(NotYetBaseEstimator):
    """Fitted state, cloning, metadata routing and repr of an estimator; subclasses declare the parameters."""

    fitted_: FittedModel  # the complete fitted state; always replaced as a whole

    def __init_subclass__(cls, **more: Any) -> None:
        """Do not call super: BaseEstimator would add methods to classes that are defined after it was imported."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        raise NotImplementedError

    def _changed(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        raise NotImplementedError

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted (n_classes,)."""
        return self._attribute("classes_").class_array

    @property
    def target_type_(self) -> str:
        """The format of the labels passed to fit: "single", "sets", "indicator" or "sparse"."""
        return self._attribute("target_type_").target_type

    @property
    def scorer_(self) -> Any:
        """The scorer: term counts to scores."""
        return self._attribute("scorer_").scorer

    def _attribute(self, name: str) -> FittedModel:
        """Return the fitted state, or raise AttributeError for an attribute that exists only after fit."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} has no attribute {name!r} before it is fitted")
        return self.fitted_

    def _fitted(self) -> FittedModel:
        """Return the fitted state, or raise NotFittedError."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)
        return self.fitted_

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in self.__dict__

    def _learnt(self) -> str:
        """A short description of the fitted state; empty before fit."""
        if not self.__sklearn_is_fitted__():
            return ""
        fitted = self.fitted_
        return f"{count_noun(len(fitted.classes), 'class', 'classes')}, {count_noun(fitted.scorer.n_terms, 'term')}"

    def __sklearn_clone__(self) -> Self:
        copy = type(self)(**self.get_params())
        if "_metadata_request" in self.__dict__:
            copy.__dict__["_metadata_request"] = dict(self.__dict__["_metadata_request"])
        return copy

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={_show(value)}" for name, value in self._changed().items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        pairs = ((escape(name), escape(_show(value))) for name, value in self._changed().items())
        rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in pairs)
        return f"<b>{type(self).__name__}</b> {escape(self._learnt()) or 'not fitted'}<table>{rows}</table>"

    def _repr_mimebundle_(self, **which: Any) -> dict[str, str]:
        """The notebook display; it takes precedence over BaseEstimator's."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # Metadata routing: scikit-learn's pipelines and searches ask whether `fit` and `score` accept sample_weight.

    def set_fit_request(self, *, sample_weight: bool | str | None = "$UNCHANGED$") -> Self:
        """Whether a meta-estimator should pass `sample_weight` to fit: True, False, None, or the name of an alias."""
        return self._request("fit", sample_weight)

    def set_partial_fit_request(self, *, sample_weight: bool | str | None = "$UNCHANGED$") -> Self:
        """Whether a meta-estimator should pass `sample_weight` to partial_fit."""
        return self._request("partial_fit", sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None = "$UNCHANGED$") -> Self:
        """Whether a meta-estimator should pass `sample_weight` to score."""
        return self._request("score", sample_weight)

    def _request(self, method: str, value: bool | str | None) -> Self:
        if value != "$UNCHANGED$":
            self.__dict__["_metadata_request"] = {**self.__dict__.get("_metadata_request", {}), method: value}
        return self

    def get_metadata_routing(self) -> Any:
        """The request object that scikit-learn's metadata routing asks an estimator for."""
        from sklearn.utils.metadata_routing import MetadataRequest

        requests = MetadataRequest(owner=self)
        aliases = self.__dict__.get("_metadata_request", {})
        for method in ("fit", "partial_fit", "score"):
            if hasattr(self, method) and self._takes_sample_weight(method):
                getattr(requests, method).add_request(param="sample_weight", alias=aliases.get(method))
        return requests

    def _takes_sample_weight(self, method: str) -> bool:
        return True


def _show(value: Any) -> str:
    """A parameter in a repr; a class by its name."""
    return value.__name__ if isinstance(value, type) else repr(value)


def _join_scikit_learn(module: ModuleType) -> None:
    Protocol.__bases__ = (module.ClassifierMixin, module.BaseEstimator)


after_import("sklearn.base", _join_scikit_learn)


def not_fitted(estimator: object) -> Exception:
    """Return scikit-learn's NotFittedError if scikit-learn is imported, so that its tools recognise it.

    Otherwise a similar error.
    """
    message = f"this {type(estimator).__name__} is not fitted yet; call fit first"
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        return NotFittedError(message)  # type: ignore[no-any-return]
    return UnnaiveError(message)
