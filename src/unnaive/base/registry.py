"""Parts of the package by name: ours are a static table, those of other packages are entry points.

A package that adds a model, an export, a format or a command declares it in its pyproject.toml, with the version of
the interface that it was made for:

    [project.entry-points."unnaive.interface"]
    1 = "unnaive_lift"

    [project.entry-points."unnaive.models"]
    lift = "unnaive_lift:Lift"

Entry points are read only for a name that is not in our table, since reading them takes as long as importing numpy. A
part is found by the names of its package and of itself, never by a module path: a file cannot choose what is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadModel, PluginError, choose

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

OURS = "unnaive"  # the package of the parts in our tables
INTERFACE = "1"  # the major version of what plug-ins import from unnaive.plugins; raised if one of them must change
INTERFACE_GROUP = "unnaive.interface"
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")


@dataclass(frozen=True, eq=False)
class Registry:
    """The parts of one kind by name.

    group  the entry-point group of other packages' parts
    kind   what messages call a part
    ours   our parts, or "module:attribute" of those that are imported on demand
    unlisted  further parts of ours, which errors do not offer
    """

    group: str
    kind: str
    ours: Mapping[str, Any]
    unlisted: Mapping[str, Any] = field(default_factory=dict)

    def find(self, name: str, package: str | None = None) -> Any:
        """The part of this name; otherwise an error that lists the names, or says which package is missing.

        package  the package of the part, if it is known; None: ours if it has the name, otherwise any other

        >>> Registry("unnaive.numbers", "number", {"pi": "math:pi", "two": 2}).find("pi")
        3.141592653589793
        """
        part = (self.ours.get(name) or self.unlisted.get(name)) if package in (None, OURS) else None
        if part is not None:
            return import_part(part) if isinstance(part, str) else part
        if package == OURS:
            return choose(list(self.ours), name, self.kind)
        return _load_foreign(self, name, package)

    def has_foreign(self, name: str) -> bool:
        """Whether another package has a part of this name."""
        return bool(_entries(self.group, name))

    def package_of(self, name: str, part: Any) -> str:
        """The package whose part of this name is `part`: what a file names, so that another process finds it."""
        if (name in self.ours or name in self.unlisted) and self.find(name) is part:
            return OURS
        for entry in _entries(self.group, name):
            if entry.load() is part:
                return _package(entry).name
        raise PluginError(
            f"no installed package has {part.__module__}.{part.__qualname__} as its {self.kind} {name!r}, so no other "
            f"process could find it; add it to the entry points {self.group} of a package"
        )


def import_part(path: str) -> Any:
    """What a path "module:attribute" names: a part of ours that is imported on demand, also from a higher package."""
    module, name = path.split(":")
    return getattr(import_module(module), name)


def _entries(group: str, name: str) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # imported here: only names of other packages need it

    return list(entry_points(group=group, name=name))


def _package(entry: EntryPoint) -> Distribution:
    assert entry.dist is not None  # noqa: S101  # entry_points() sets it
    return entry.dist


@cache  # a classifier asks for its model on every call
def _load_foreign(registry: Registry, name: str, package: str | None) -> Any:
    """The part of another package, imported; otherwise an error of one sentence."""
    entries, kind = _entries(registry.group, name), registry.kind
    if package is not None:
        entries = [entry for entry in entries if _same_package(_package(entry).name, package)]
        if not entries:
            raise _missing(kind, name, package)
    if not entries:
        from importlib.metadata import entry_points

        return choose([*registry.ours, *entry_points(group=registry.group).names], name, kind)
    if len(entries) > 1:
        packages = " and ".join(sorted(_package(entry).name for entry in entries))
        raise PluginError(f"the {kind} {name!r} is in two packages, {packages}; uninstall all but one")
    _check_interface(_package(entries[0]))
    try:
        return entries[0].load()
    except Exception as problem:
        owner = _package(entries[0]).name
        raise PluginError(
            f"the {kind} {name!r} of the package {owner} cannot be imported ({type(problem).__name__}: {problem}); "
            f"update it with pip install --upgrade {owner}"
        ) from problem


def _same_package(name: str, other: str) -> bool:
    """Whether two names mean the same package: case, -, _ and . make no difference, as in pip."""
    first, second = (re.sub(r"[-_.]+", "-", word).lower() for word in (name, other))
    return first == second


def _missing(kind: str, name: str, package: str) -> Exception:
    """The error that a package is not installed, or no longer has a part."""
    from importlib.metadata import PackageNotFoundError, version

    if _PACKAGE_NAME.fullmatch(package) is None:  # it would stand in the command that the message recommends
        return BadModel("the name of its package is not the name of a package; train it again")
    try:
        installed = version(package)
    except PackageNotFoundError:
        return PluginError(f"the {kind} {name!r} needs the package {package}; install it with pip install {package}")
    return PluginError(
        f"the package {package} {installed} has no {kind} {name!r}; install a version of {package} that has it"
    )


def _check_interface(package: Distribution) -> None:
    """Raise an error unless a package was made for this version of the interface."""
    versions = [entry.name for entry in package.entry_points if entry.group == INTERFACE_GROUP]
    if INTERFACE not in versions:
        made_for = f"version {versions[0]}" if versions else "no version"
        raise PluginError(
            f"the package {package.name} {package.version} was made for {made_for} of the interface of unnaive, which "
            f"is now version {INTERFACE}; update both with pip install --upgrade unnaive {package.name}"
        )
