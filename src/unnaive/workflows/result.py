"""What the results of workflows share: they become plain values, and print as one short line."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

SHOWN = 3  # entries of a nested mapping


class Result:
    """A result with plain values; its repr shortens the nested ones, since a model or an evaluation fills screens.

    >>> class Count(Result):
    ...     def to_dict(self):
    ...         return {"documents": 3, "rows": [1, 2, 3], "file": None, "measures": {"accuracy": 0.91234567}}
    >>> Count()
    Count(documents=3, rows=[3 items], measures={accuracy: 0.9123})
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the command prints them with --json."""

    def __repr__(self) -> str:
        shown = {name: _shorten(value) for name, value in self.to_dict().items()}
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in shown.items() if text)})"


def _shorten(value: Any) -> str:
    """A value in few characters; "" for one that says nothing."""
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, dict):
        entries = [f"{name}: {text}" for name, each in value.items() if (text := _shorten(each))]
        return "{" + ", ".join([*entries[:SHOWN], *(["…"] if len(entries) > SHOWN else [])]) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{len(value)} items]"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
