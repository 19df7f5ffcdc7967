"""Options and settings, declared once: name, type, range, default and one sentence of help.

A model's class declares its settings as fields with `setting`, a dataclass declares its options with `option`.
Constructors, docstrings, command line options, shell completion and the reference pages are generated from the
declaration, and type checkers treat the declarations like fields of a dataclass.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar, dataclass_transform

from unnaive.base.errors import UnknownName, UnnaiveError, choose

Class = TypeVar("Class")

# The exports of interop/export. What a model may contain declares which of them carry it; they refuse everything else.
EXPORTS = ("js", "page", "c", "onnx", "sql")
EXPORTS_BUT_SQL = ("js", "page", "c", "onnx")


@dataclass(frozen=True)
class Setting:
    """One option or setting, created by `setting` or `option`; its name and annotation are filled in when its class is
    defined.

    doc      the help: one sentence
    more     further sentences, for docstrings
    choices  the permitted strings
    noun     how messages refer to a choice; default: the name
    flags    the command line flags, if they are not derived from the name
    metavar  the placeholder for the value in the command line help
    path     "read", "read-named" (NAME=PATH) or "written" if the value may be a file path
    stored   of a training option: "required" in every model file, "optional" if older files lack it, or "no"
    needs    what it has no effect without: the name of another option, or "name=value"; one of them is enough
    exports  of a token option: the exports that carry every value of it; the others refuse all but the default
    """

    default: Any
    doc: str
    choices: tuple[str, ...] | None = None
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    name: str = ""
    annotation: str = ""
    more: str = ""
    noun: str = ""
    flags: tuple[str, ...] = ()
    metavar: str = ""
    path: str = ""
    exports: tuple[str, ...] = ()
    stored: str = "optional"
    needs: tuple[str, ...] = ()

    def check(self, value: Any, owner: str) -> None:
        """Raise an error of one sentence unless the value has a declared type and is in the declared range."""
        types = _plain_types(self.annotation)
        if types is None:  # a type that is not in the table is checked by the model itself
            return
        if not any(kind.accepts(value) for kind in types):
            expected = " or ".join(kind.title for kind in types)
            example = "" if self.default is None else f", such as {self.default!r}"
            raise UnnaiveError(f"{self.name} of {owner} came as {shorten_value(value)}; give {expected}{example}")
        if isinstance(value, str) and self.choices is not None:
            choose(list(self.choices), value, self.noun or self.name)
        elif _is_number(value) and not self._in_range(value):  # the model checks the numbers of a list
            raise UnnaiveError(f"{self.name} of {owner} came as {shorten_value(value)}; give a number {self.range}")

    @property
    def is_plain(self) -> bool:
        """Whether `check` knows all types of the annotation."""
        return _plain_types(self.annotation) is not None

    @property
    def expected(self) -> str:
        """The permitted values in words, such as "a whole number from 1"."""
        titles = " or ".join(TYPES[name].title for name in self.annotation.split(" | "))
        return f"{titles} {self.range}".strip() if self.choices is None else f"one of {', '.join(self.choices)}"

    def accepts(self, value: Any) -> bool:
        """Whether `check` accepts a value."""
        try:
            self.check(value, "")
        except UnnaiveError:
            return False
        return True

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
        """The range in words, such as "above 0 and up to 1"; empty if the range is unlimited."""
        words = (("above", self.above), ("from", self.at_least), ("below", self.below), ("up to", self.at_most))
        return " and ".join(f"{word} {limit:g}" for word, limit in words if limit is not None and math.isfinite(limit))

    def describe(self) -> str:
        """The entry of a numpydoc "Parameters" section."""
        kind = " or ".join(self.annotation.split(" | ")) if self.choices is None else self._choices()
        limits = f" {self.range}" if self.range else ""
        lines = _wrap(f"{self.doc} {self.more}".strip())
        return "\n    ".join([f"{self.name} : {kind}{limits}, default={self.default!r}", *lines])

    def _choices(self) -> str:
        others = [name for name in self.annotation.split(" | ") if name != "str"]
        names = "{" + ", ".join(f'"{name}"' for name in self.choices or ()) + "}"
        return " or ".join([names, *others])


def _wrap(text: str, width: int = 116) -> list[str]:
    """Wrap the text to lines of at most `width` characters; unlike textwrap, this needs no import at startup."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


@dataclass(frozen=True)
class SettingType:
    """A type that annotations may name: its name in messages, and a test whether a value belongs to it."""

    title: str
    accepts: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    """Whether the value is a number; True and False are not."""
    return _is_float(value) or _is_integer(value)


def _is_bool(value: Any) -> bool:
    import numpy as np  # imported here, since the command line reads the declarations without numpy

    return isinstance(value, (bool, np.bool_))


def _is_float(value: Any) -> bool:
    import numpy as np

    return isinstance(value, (float, np.floating))


def _is_integer(value: Any) -> bool:
    """Whether the value is an integer that fits in 64 bits; True and False are not."""
    import numpy as np

    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) < 1 << 63


def _is_numbers(value: Any) -> bool:
    """Whether the value is a list, a tuple or a flat array of numbers."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iuf"
    return isinstance(value, (list, tuple)) and all(map(_is_number, value))


TYPES = {
    "bool": SettingType("true or false", _is_bool),
    "int": SettingType("a whole number", _is_integer),
    "float": SettingType("a number", _is_number),
    "str": SettingType("a word", lambda value: isinstance(value, str)),
    "list[float]": SettingType("a list of numbers", _is_numbers),
    "None": SettingType("None", lambda value: value is None),
}


@cache
def _plain_types(annotation: str) -> tuple[SettingType, ...] | None:
    """The types that an annotation names; None if one of them is not in TYPES."""
    names = annotation.split(" | ")
    return tuple(TYPES[name] for name in names) if all(name in TYPES for name in names) else None


def setting(
    doc: str,
    *,
    default: Any,
    choices: tuple[str, ...] | None = None,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    more: str = "",
    noun: str = "",
    flags: tuple[str, ...] = (),
    metavar: str = "",
    path: str = "",
    exports: tuple[str, ...] = (),
    stored: str = "optional",
    needs: tuple[str, ...] = (),
) -> Any:
    """Declare a setting: one sentence of help, its default, and its permitted strings or numbers; see Setting."""
    return Setting(
        default,
        doc,
        choices,
        above,
        at_least,
        below,
        at_most,
        more=more,
        noun=noun,
        flags=flags,
        metavar=metavar,
        path=path,
        exports=exports,
        stored=stored,
        needs=needs,
    )


def option(doc: str, *, default: Any = None, factory: Callable[[], Any] | None = None, **declared: Any) -> Any:
    """Declare an option of a dataclass, instead of `dataclasses.field`; the arguments are those of `setting`."""
    metadata = {"setting": setting(doc, default=default, **declared)}
    return (
        field(default=default, metadata=metadata)
        if factory is None
        else field(default_factory=factory, metadata=metadata)
    )


def declared_options(cls: Any) -> dict[str, Setting]:
    """The options that a dataclass declares with `option`, by name and in order.

    >>> @dataclass
    ... class Rule:
    ...     digits: bool = option("Digits are part of words.", default=True)
    >>> declared_options(Rule)["digits"].doc, Rule().digits
    ('Digits are part of words.', True)
    """
    return {
        field_.name: replace(field_.metadata["setting"], name=field_.name, annotation=str(field_.type))
        for field_ in fields(cls)
        if "setting" in field_.metadata
    }


def documented(cls: type[Class]) -> type[Class]:
    """Add a "Parameters" section, generated from the declared options, to the docstring of a dataclass."""
    cls.__doc__ = document_settings(inspect.cleandoc(cls.__doc__ or ""), declared_options(cls))
    return cls


@dataclass_transform(kw_only_default=True, field_specifiers=(setting,))
class Settings:
    """A class whose fields are declared with `setting`; its constructor takes them as keywords and checks nothing.

    >>> class Smoother(Settings):
    ...     alpha: float = setting("Added to every count.", default=1.0, above=0)
    >>> Smoother(alpha=0.5).alpha, list(Smoother.declared())
    (0.5, ['alpha'])
    """

    _declared: dict[str, Setting] = {}  # noqa: RUF012  # subclasses replace it; it is never modified

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}
        for name, value in declared.items():
            declared[name] = replace(value, name=name, annotation=str(cls.__annotations__[name]))
            delattr(cls, name)
        if declared:
            cls._declared = {**cls._declared, **declared}
            cls.__init__ = _constructor(cls._declared)  # type: ignore[method-assign]
        if cls._declared:
            cls.__doc__ = document_settings(inspect.cleandoc(cls.__doc__ or ""), cls._declared)

    @classmethod
    def declared(cls) -> dict[str, Setting]:
        """The settings by name, in the order of their declaration."""
        return dict(cls._declared)

    def changed_settings(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        # an object whose constructor was never called has no settings, but can be shown
        values = {name: getattr(self, name, setting.default) for name, setting in self._declared.items()}
        return {
            name: values[name]
            for name, setting in self._declared.items()
            if not same_value(values[name], setting.default)
        }

    def check_settings(self) -> None:
        """Raise an error of one sentence if a value does not have its declared type or is out of range."""
        check_options(self, self._declared, self.settings_owner())

    @classmethod
    def settings_owner(cls) -> str:
        """The name of the class in error messages about its settings."""
        return cls.__name__


def check_options(value: Any, declared: Mapping[str, Setting], owner: str) -> None:
    """Raise an error of one sentence if a field of `value` does not have its declared type or is out of range.

    owner  the name of the object in messages
    """
    for name, setting in declared.items():
        setting.check(getattr(value, name), owner)


def _constructor(declared: dict[str, Setting]) -> Callable[..., None]:
    """Build an `__init__` that takes the declared settings as keywords."""

    def __init__(self: Any, **values: Any) -> None:
        for name, setting in declared.items():  # first, so that the object of a failed call can be shown
            setattr(self, name, values.get(name, setting.default))
        for name in values:
            if name not in declared:
                raise TypeError(f"{type(self).__name__}: {unknown_setting(name, list(declared))}")

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(setting.name, keyword, default=setting.default) for setting in declared.values()]
    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([self_, *parameters])  # type: ignore[attr-defined]
    return __init__


def document_settings(doc: str, declared: dict[str, Setting]) -> str:
    """Insert a "Parameters" section before the docstring's example."""
    listed = "\n".join(setting.describe() for setting in declared.values())
    # the docstring has sections already, with an entry for settings passed on to another class
    if "\n**settings\n" in doc:
        return doc.replace("\n**settings\n", f"\n{listed}\n**settings\n", 1)
    text, mark, example = doc.partition(">>> ")
    return f"{text.rstrip()}\n\nParameters\n----------\n{listed}\n\n{_examples(mark + example)}".rstrip() + "\n"


def _examples(code: str) -> str:
    return f"Examples\n--------\n{code}\n" if code else ""


def unknown_setting(name: str, names: list[str]) -> str:
    """The error message for a setting that does not exist, with the nearest valid name.

    >>> unknown_setting("alhpa", ["alpha", "beta"])
    "no setting called 'alhpa'; there are alpha, beta; did you mean 'alpha'?"
    """
    try:
        choose(names, name, "setting")
    except UnknownName as problem:
        return str(problem) if names else f"it takes no settings, so {name!r} cannot be set"
    return ""


def own_arrays(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with copies of the arrays, since a model makes its arrays read-only."""
    import numpy as np

    return {name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in settings.items()}


def same_value(value: Any, other: Any) -> bool:
    """Whether two values of a setting are equal; arrays are equal only if they are the same object."""
    try:
        return bool(value is other or (type(value) is type(other) and value == other))
    except ValueError:  # comparing arrays gives no single truth value
        return False


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Parse settings written as "name=value"; a value is JSON, True, False or None if possible, else a string.

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


def shorten_value(value: Any) -> str:
    """The repr of a value, cut to 60 characters for messages."""
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
