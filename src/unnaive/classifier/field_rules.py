"""Rules for JSON from outside, such as model files and receipts: the allowed fields, and the values of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FieldRule:
    """The rule for the value of a field, in words and as a function; an `optional` field may be missing."""

    words: str
    accepts: Callable[[Any], bool]
    optional: bool = False


def find_field_problem(
    values: Mapping[str, Any], rules: Mapping[str, FieldRule], *, missing: str, unknown: str, refused: str
) -> str | None:
    """A sentence about the first field that is missing, unknown or invalid; None if all are valid.

    missing, unknown, refused  sentences with {name} for the field; `refused` also with {words} of its rule

    >>> rules = {"size": FieldRule("a whole number", lambda value: type(value) is int)}
    >>> sentences = dict(missing="no {name}", unknown="odd: {name!r}", refused="{name} is not {words}")
    >>> [find_field_problem(one, rules, **sentences) for one in ({}, {"size": "2"}, {"size": 2, "x": 1}, {"size": 2})]
    ['no size', 'size is not a whole number', "odd: 'x'", None]
    """
    for name, rule in rules.items():
        if name not in values and not rule.optional:
            return missing.format(name=name)
    for name, value in values.items():
        if name not in rules:
            return unknown.format(name=name[:40])
        if not rules[name].accepts(value):
            return refused.format(name=name, words=rules[name].words)
    return None
