"""Parameters of a classifier that names its model: its own parameters and the settings of that model.

`TextClassifier("multinomial", alpha=0.1)` has `alpha` as scikit-learn expects of a parameter: get_params, set_params,
clone and searches know it, and it is an attribute.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from unnaive.base.errors import UnknownName
from unnaive.base.settings import same_value, unknown_setting
from unnaive.base.sklearn_protocol import Protocol
from unnaive.models.catalogue import find_model

if TYPE_CHECKING:
    from unnaive.models.estimator import Model


def constructor_signature(named: Mapping[str, Any]) -> inspect.Signature:
    """The signature of a constructor that takes `model`, keywords with these defaults, and **settings.

    >>> constructor_signature({"model": "auto", "min_df": 1})
    <Signature (self, model='auto', *, min_df=1, **settings)>
    """
    kinds = inspect.Parameter
    parameters = [
        kinds(name, kinds.POSITIONAL_OR_KEYWORD if name == "model" else kinds.KEYWORD_ONLY, default=default)
        for name, default in named.items()
    ]
    return inspect.Signature(
        [kinds("self", kinds.POSITIONAL_OR_KEYWORD), *parameters, kinds("settings", kinds.VAR_KEYWORD)]
    )


class ModelParameters(Protocol):
    """get_params, set_params and attributes, for the parameters of a classifier and the settings of its model.

    model      the name of the model in the catalogue, an instance or a class
    _named     the constructor's own parameters with their defaults

    Every parameter is an attribute, and every other public attribute is a setting of the model.
    """

    model: str | Model | type[Model]
    _named: ClassVar[dict[str, Any]]

    @property
    def _settings(self) -> dict[str, Any]:
        """The settings of the model that were given; state of the classifier begins or ends with _."""
        return {
            name: value
            for name, value in self.__dict__.copy().items()
            if name not in self._named and not name.startswith("_") and not name.endswith("_")
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, those of the model among them."""
        return {name: self.__dict__.get(name, default) for name, default in self._named.items()} | self._settings

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; a setting that the model does not have is an error."""
        for name in self._named:
            if name in parameters:
                setattr(self, name, parameters.pop(name))
        settings = self._known_settings()
        for name, value in parameters.items():
            if name not in settings:
                raise UnknownName(f"Invalid parameter: {unknown_setting(name, [*self._named, *settings])}")
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Self:
        from unnaive.models.estimator import Model

        copy = super().__sklearn_clone__()
        if isinstance(copy.model, Model):
            copy.model = copy.model.__sklearn_clone__()
        return copy

    def _model_settings(self) -> dict[str, Any]:
        """The settings of the model that differ from their defaults, or were given here."""
        from unnaive.models.estimator import Model

        return (self.model.changed_settings() if isinstance(self.model, Model) else {}) | self._settings

    def _known_settings(self) -> list[str]:
        """The settings of the model that are not parameters of the classifier."""
        return [name for name in find_model(self.model).declared() if name not in self._named]

    def _changed(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.get_params().items()
            if not same_value(value, self._named.get(name, ...))
        }
