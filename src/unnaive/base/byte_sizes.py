"""Parse sizes such as 5MB; every option that takes a size uses this."""

from __future__ import annotations

import re

from unnaive.base.errors import UnnaiveError

POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str | int) -> int:
    """Return a size in bytes: 5MB is 5 · 10⁶ (decimal, as for files), 5MiB and 5M are 5 · 2²⁰ (binary, as for memory).

    >>> parse_size("5MB"), parse_size("1.5 kB"), parse_size("2MiB"), parse_size("2G"), parse_size(800)
    (5000000, 1500, 2097152, 2147483648, 800)
    >>> parse_size("lots")
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: size is 'lots'; give a number with a unit, such as 5MB or 800kB
    """
    match = re.fullmatch(r"\s*+(\d++(?:\.\d*+)?|\.\d++)\s*+([kmgt]?)(i?b)?\s*+", str(text).lower())
    unit = 1000 if match and match[3] == "b" else 1024
    size = int(float(match[1]) * unit ** POWERS[match[2]]) if match else 0
    if size < 1:
        raise UnnaiveError(f"size is {text!r}; give a number with a unit, such as 5MB or 800kB")
    return size
