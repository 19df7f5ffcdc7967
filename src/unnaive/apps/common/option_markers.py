"""Markers beside the type of an option: that --set gives it, what it needs to have an effect, what it contradicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BySet:
    """The marker of a parameter that --set gives, by its name."""


BY_SET = BySet()


@dataclass(frozen=True)
class Needs:
    """The option has an effect only if one of these holds: the name of another, "name=value", or "name=" for none."""

    conditions: tuple[str, ...]


@dataclass(frozen=True)
class Excludes:
    """The option cannot be given together with any of these."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class SettingNames:
    """The marker of a parameter `settings` that takes further names: `names` of the other arguments gives them."""

    names: Callable[[Mapping[str, Any]], Iterable[str]]


def needs(*conditions: str) -> Needs:
    """The marker beside the type of an option that has no effect without another."""
    return Needs(conditions)


def excludes(*names: str) -> Excludes:
    """The marker beside the type of an option that contradicts others."""
    return Excludes(names)
