"""Plain values of options, read without the validation library that typer imports for any value.

That import takes a quarter of the time of a short command. Other values are read by typer, so that results and error
messages are the same.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

NUMBERS = (int, float, bool)
MOST_DIGITS = 15  # maximum number of digits of a plain whole number


class PlainValues:
    """Replaces typer's reader of parameter values, in versions that have one."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value with the type of its parameter."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        wanted = param.type_descriptor
        if wanted.parameter_info.parser is None:
            if wanted.annotation is str and _is_text(value):
                return value
            if wanted.annotation is Path and _is_text(value) and _may_be_read(value):
                return Path(value)
            if wanted.annotation == list[str] and isinstance(value, (list, tuple)) and all(map(_is_text, value)):
                return list(value)
            if wanted.annotation in NUMBERS and type(value) is wanted.annotation:  # a default, not from the user
                return value
            if wanted.annotation is int and _is_plain_number(value, wanted.parameter_info):
                return int(value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(wanted).coerce(value, param=param, ctx=ctx)


def read_plainly(parameter: Any) -> None:
    """Let a parameter read plain values itself; does nothing in other versions of typer."""
    if getattr(parameter, "_runtime_param", parameter) is None and hasattr(parameter, "type_descriptor"):
        parameter._runtime_param = PlainValues()


def _is_text(value: Any) -> bool:
    """Whether it is a str that UTF-8 can encode."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain_number(value: Any, bounds: Any) -> bool:
    """Whether it is a str of few ASCII digits, and the number is within the bounds of the parameter."""
    if not (_is_text(value) and value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS):
        return False
    least, most = (-math.inf if bounds.min is None else bounds.min), (math.inf if bounds.max is None else bounds.max)
    return bool(least <= int(value) <= most)


def _may_be_read(path: str) -> bool:
    """Whether the file is readable or does not exist; typer refuses others."""
    try:
        return not os.path.lexists(path) or os.access(path, os.R_OK)
    except ValueError:  # a NUL
        return False
