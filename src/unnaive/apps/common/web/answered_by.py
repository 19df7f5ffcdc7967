"""Record which version of which model answers the current request, and send it as response headers."""

from __future__ import annotations

from contextvars import ContextVar
from urllib.parse import quote

_answering: ContextVar[tuple[str, int] | None] = ContextVar("answering", default=None)


def begin_request() -> None:
    """Start a request: no model has answered yet."""
    _answering.set(None)


def note_version(name: str, number: int) -> None:
    """Record the model and version that answer; the last call counts."""
    _answering.set((name, number))


def version_headers() -> list[tuple[bytes, bytes]]:
    """The headers that name the model and its version; empty if no model was involved.

    >>> note_version("Anträge", 3)
    >>> version_headers()
    [(b'unnaive-model', b'Antr%C3%A4ge'), (b'unnaive-version', b'3')]
    """
    answer = _answering.get()
    if answer is None:
        return []
    return [(b"unnaive-model", quote(answer[0], safe=" ").encode()), (b"unnaive-version", b"%d" % answer[1])]
