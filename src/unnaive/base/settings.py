"""The settings of a model, declared once: name, default, range and one line of documentation.

A model's class declares them as fields. Its constructor, its docstring, `--set` on the command line and the reference
pages follow from the declaration, and type checkers see them as they see the fields of a dataclass.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, dataclass_transform

import numpy as np

from unnaive.base.errors import UnknownName, UnnaiveError, choose


@dataclass(frozen=True)
class Setting:
    """One setting; made by `setting`, completed with its name and annotation when its class is made."""

    default: Any
    doc: str
    choices: tuple[str, ...] | None = None
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    name: str = ""
    annotation: str = ""

    def check(self, value: Any, owner: str) -> None:
        """An error of one sentence unless the value is of a declared type and in the declared range."""
        types = [TYPES.get(name) for name in self.annotation.split(" | ")]
        if any(one is None for one in types):  # a type that is not in the table is checked by the model itself
            return
        if not any(one.accepts(value) for one in types if one):
            wanted = " or ".join(one.title for one in types if one)
            example = "" if self.default is None else f", such as {self.default!r}"
            raise UnnaiveError(f"{self.name} of {owner} came as {shorten(value)}; give {wanted}{example}")
        if isinstance(value, str) and self.choices is not None:
            choose(list(self.choices), value, self.name)
        elif not isinstance(value, (str, bool, type(None))) and not self._in_range(value):
            raise UnnaiveError(f"{self.name} of {owner} came as {shorten(value)}; give a number {self.range}")

    def _in_range(self, value: Any) -> bool:
        return (
            not math.isnan(value)
            and (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.below is None or value < self.below)
            and (self.at_most is None or value <= self.at_most)
        )

    @property
    def range(self) -> str:
        """The range in words, such as "above 0 and up to 1"; empty where any number goes."""
        words = (("above", self.above), ("from", self.at_least), ("below", self.below), ("up to", self.at_most))
        return " and ".join(f"{word} {limit:g}" for word, limit in words if limit is not None and math.isfinite(limit))

    def describe(self) -> str:
        """The entry of a numpydoc "Parameters" section."""
        kind = " or ".join(self.annotation.split(" | ")) if self.choices is None else self._choices()
        limits = f" {self.range}" if self.range else ""
        return f"{self.name} : {kind}{limits}, default={self.default!r}\n    {self.doc}"

    def _choices(self) -> str:
        others = [one for one in self.annotation.split(" | ") if one != "str"]
        names = "{" + ", ".join(f'"{name}"' for name in self.choices or ()) + "}"
        return " or ".join([names, *others])


@dataclass(frozen=True)
class SettingType:
    """A type as annotations name it: what messages call it, and whether a value is of it."""

    title: str
    accepts: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    """Whether it is a number, which True is not, that 64 bits hold."""
    if isinstance(value, (float, np.floating)):
        return True
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) < 1 << 63


TYPES = {
    "bool": SettingType("true or false", lambda value: isinstance(value, (bool, np.bool_))),
    "int": SettingType(
        "a whole number", lambda value: _is_number(value) and not isinstance(value, (float, np.floating))
    ),
    "float": SettingType("a number", _is_number),
    "str": SettingType("a word", lambda value: isinstance(value, str)),
    "None": SettingType("None", lambda value: value is None),
}


def setting(
    doc: str,
    *,
    default: Any,
    choices: tuple[str, ...] | None = None,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> Any:
    """Declare a setting: one line of documentation, its default, and which words or numbers it may be."""
    return Setting(default, doc, choices, above, at_least, below, at_most)


@dataclass_transform(kw_only_default=True, field_specifiers=(setting,))
class Settings:
    """A class whose fields are declared with `setting`; its constructor takes them as keywords and checks nothing.

    >>> class Smoother(Settings):
    ...     alpha: float = setting("Added to every count.", default=1.0, above=0)
    >>> Smoother(alpha=0.5).alpha, list(Smoother.declared())
    (0.5, ['alpha'])
    """

    _declared: dict[str, Setting] = {}  # noqa: RUF012  # replaced by every subclass, never changed

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        for name, value in own.items():
            own[name] = replace(value, name=name, annotation=str(cls.__annotations__[name]))
            delattr(cls, name)
        if own:
            cls._declared = {**cls._declared, **own}
            cls.__init__ = _constructor(cls._declared)  # type: ignore[method-assign]
        if cls._declared:
            cls.__doc__ = document_settings(inspect.cleandoc(cls.__doc__ or ""), cls._declared)

    @classmethod
    def declared(cls) -> dict[str, Setting]:
        """The settings by name, in the order of their declaration."""
        return dict(cls._declared)

    def changed_settings(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        values = {name: getattr(self, name) for name in self._declared}
        return {name: values[name] for name, one in self._declared.items() if not same_value(values[name], one.default)}

    def check_settings(self) -> None:
        """An error of one sentence if a value is not of its declared type or outside of its range."""
        for name, one in self._declared.items():
            one.check(getattr(self, name), getattr(self, "name", type(self).__name__))


def _constructor(declared: dict[str, Setting]) -> Callable[..., None]:
    """An `__init__` with the declared settings as keywords."""

    def __init__(self: Any, **given: Any) -> None:
        for name in given:
            if name not in declared:
                raise TypeError(f"{type(self).__name__}: {unknown_setting(name, list(declared))}")
        for name, one in declared.items():
            setattr(self, name, given.get(name, one.default))

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(one.name, keyword, default=one.default) for one in declared.values()]
    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([self_, *parameters])  # type: ignore[attr-defined]
    return __init__


def document_settings(doc: str, declared: dict[str, Setting]) -> str:
    """The docstring with a "Parameters" section before its example."""
    listed = "\n".join(one.describe() for one in declared.values())
    text, mark, example = doc.partition(">>> ")
    return f"{text.rstrip()}\n\nParameters\n----------\n{listed}\n\n{_examples(mark + example)}".rstrip() + "\n"


def _examples(code: str) -> str:
    return f"Examples\n--------\n{code}\n" if code else ""


def unknown_setting(name: str, known: list[str]) -> str:
    """The sentence about a setting that does not exist, with the nearest one that does.

    >>> unknown_setting("alhpa", ["alpha", "beta"])
    "no setting called 'alhpa'; there are alpha, beta; did you mean 'alpha'?"
    """
    try:
        choose(known, name, "setting")
    except UnknownName as problem:
        return str(problem) if known else f"it takes no settings, so {name!r} cannot be set"
    return ""


def same_value(value: Any, other: Any) -> bool:
    """Whether two settings are alike; arrays are alike only if they are one."""
    try:
        return bool(value is other or (type(value) is type(other) and value == other))
    except ValueError:  # arrays have no one truth
        return False


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Settings from words "name=value"; a value is JSON where it can be, or True, False or None, else a word.

    >>> parse_settings(["alpha=0.1", "smoothing=jelinek-mercer", "norm=true", "terms-per-class=None"])
    {'alpha': 0.1, 'smoothing': 'jelinek-mercer', 'norm': True, 'terms_per_class': None}
    """
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UnnaiveError(f"a setting came as {pair!r}; write NAME=VALUE, for instance alpha=0.1")
        settings[name.strip().replace("-", "_")] = _parse_value(value.strip())
    return settings


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def shorten(value: Any) -> str:
    """repr, cut to 60 characters for messages."""
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
