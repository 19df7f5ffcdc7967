"""Show untrusted text on a terminal: control characters become visible escapes."""

from __future__ import annotations

import json
import re
from typing import Any

# C0 except tab and newline, DEL, C1, line separators, bidirectional overrides, lone surrogates
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, *, lines: bool = True) -> str:
    r"""Escape the characters that a terminal would interpret instead of displaying.

    Colours, cursor movements and window titles hidden in a document, a label or a file name must not reach the
    terminal, nor may characters that reverse the direction of writing. `lines` keeps newlines.

    >>> print(visible("\x1b[31mred\x1b[0m \u202eevil"), visible("one\ntwo", lines=False))
    \x1b[31mred\x1b[0m \u202eevil one\ntwo
    """
    shown = UNSEEN.sub(lambda match: ascii(match.group())[1:-1], text)
    return shown if lines else shown.replace("\n", "\\n")


def visible_json(value: Any, **options: Any) -> str:
    r"""Serialise as JSON without characters that a terminal would interpret; parsing it gives back the same value.

    >>> print(visible_json({"label": "café \x9b31m"}))
    {"label": "café \u009b31m"}
    """
    words = json.dumps(value, ensure_ascii=False, **options)
    return UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", words)
