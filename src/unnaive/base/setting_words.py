"""Settings in the words of the command line, for people: no syntax of Python."""

from __future__ import annotations

from typing import Any


def describe_setting(name: str, value: Any) -> str:
    """A setting in the words of the command line.

    >>> describe_setting("char_ngrams", [2, 5]), describe_setting("lowercase", True), describe_setting("alpha", 0.1)
    ('char-ngrams 2-5', 'lowercase', 'alpha 0.1')
    >>> describe_setting("select", ["chi2", 300]), describe_setting("digits", False), describe_setting("prior", None)
    ('select chi2:300', 'no digits', 'prior none')
    """
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name} {spell_value(value)}"


def spell_value(value: Any) -> str:
    """A value of a setting without the syntax of Python.

    >>> spell_value([1, 2]), spell_value(["a", "b"]), spell_value({"ham": 1.0, "spam": 2}), spell_value(None)
    ('1-2', 'a b', 'ham 1, spam 2', 'none')
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {spell_value(one)}" for key, one in value.items())
    if isinstance(value, (list, tuple)):
        is_range = len(value) == 2 and all(isinstance(one, int) for one in value)
        is_measured = len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int)
        return ("-" if is_range else ":" if is_measured else " ").join(map(spell_value, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)
