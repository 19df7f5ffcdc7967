"""The scikit-learn protocol without importing scikit-learn: parameters, representation and tags of an estimator."""

from __future__ import annotations

import inspect
import sys
from html import escape
from typing import Any, Self

from unnaive.errors import UnknownName, UnnaiveError, choose


class Parameters:
    """get_params, set_params, clone and repr for a class whose `**settings` are parameters like the others.

    The constructor stores each named argument under its name and the rest in `_settings`, and checks nothing: that
    is left to fit, as scikit-learn wants it.
    """

    _settings: dict[str, Any]

    @classmethod
    def _named(cls) -> dict[str, Any]:
        """The constructor's named parameters with their defaults."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in parameters if p.kind is not p.VAR_KEYWORD}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters, those of the model among them."""
        return {name: self.__dict__[name] for name in self._named()} | self._settings

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; a setting that the model does not have is an error."""
        for name in self._named():
            if name in parameters:
                setattr(self, name, parameters.pop(name))
        known = self._known_settings()
        for name, value in parameters.items():
            choose([*self._named(), *known], name, f"parameter of {type(self).__name__}")
            self._settings = {**self._settings, name: value}
        return self

    def _known_settings(self) -> dict[str, Any]:
        """The settings that may be given besides the named parameters."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        settings = self.__dict__.get("_settings", {})
        if name in settings:
            return settings[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if "_settings" in self.__dict__ and self._is_setting(name):
            self._settings = {**self._settings, name: value}
        else:
            super().__setattr__(name, value)

    def _is_setting(self, name: str) -> bool:
        ours = name.startswith("_") or name.endswith("_") or name in self._named()
        return not ours and name in self._known_settings()

    def _changed(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        defaults = self._named()
        return {name: value for name, value in self.get_params().items() if not same(value, defaults.get(name, ...))}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._changed().items())})"

    def _repr_html_(self) -> str:
        pairs = ((escape(name), escape(repr(value))) for name, value in self._changed().items())
        rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in pairs)
        return f"<b>{type(self).__name__}</b><table>{rows}</table>"

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params())

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True),
            classifier_tags=ClassifierTags(multi_label=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )


def same(value: Any, default: Any) -> bool:
    """Whether two settings are alike; arrays are alike only if they are one."""
    try:
        return bool(value is default or (type(value) is type(default) and value == default))
    except ValueError:  # arrays have no one truth
        return False


def refuse_unknown_settings(settings: dict[str, Any], named: dict[str, Any], known: dict[str, Any], model: str) -> None:
    """An error that names the first setting that neither the classifier nor the model has, and what there is."""
    for name in settings:
        if name not in known:
            choices = ", ".join(sorted(known)) or "no settings of its own"
            near = _near(name, [*known, *named])
            raise UnknownName(f"no setting of {model} called {name!r}; there are {choices}{near}")


def _near(name: str, names: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def not_fitted(estimator: object) -> Exception:
    """scikit-learn's own error where it is in use, so that its tools know it; else one that reads alike."""
    message = f"this {type(estimator).__name__} has not learnt anything yet; call fit first"
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        return NotFittedError(message)  # type: ignore[no-any-return]
    return UnnaiveError(message)
