"""Text from outside that is shown on a terminal: control characters become visible escapes."""

from __future__ import annotations

import json
import re
from typing import Any

# C0 but tab and newline, DEL, C1, line separators, bidirectional overrides, halves of surrogate pairs
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, *, lines: bool = True) -> str:
    r"""The text with characters that a terminal would obey, not show, as escapes.

    Colours, cursor movements and window titles hidden in a document, a label or a file name must not reach the
    terminal, nor overrides that turn the direction of writing around. `lines` leaves newlines as they are.

    >>> print(visible("\x1b[31mred\x1b[0m \u202eevil"), visible("one\ntwo", lines=False))
    \x1b[31mred\x1b[0m \u202eevil one\ntwo
    """
    shown = UNSEEN.sub(lambda found: ascii(found.group())[1:-1], text)
    return shown if lines else shown.replace("\n", "\\n")


def visible_json(value: Any, **options: Any) -> str:
    r"""JSON in which no character is left that a terminal would obey; any reader gives back the same value.

    >>> print(visible_json({"label": "café \x9b31m"}))
    {"label": "café \u009b31m"}
    """
    words = json.dumps(value, ensure_ascii=False, **options)
    return UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", words)
