"""Record which version of which model answers the current request, and send it as response headers."""

from __future__ import annotations

from contextvars import ContextVar
from functools import lru_cache
from urllib.parse import quote

_answering: ContextVar[tuple[str, int, str] | None] = ContextVar("answering", default=None)


def begin_request() -> None:
    """Start a request: no model has answered yet."""
    _answering.set(None)


def note_version(name: str, number: int, identifier: str) -> None:
    """Record the model and version that answer; the last call counts."""
    _answering.set((name, number, identifier))


def version_headers() -> list[tuple[bytes, bytes]]:
    """The headers that name the model and its version; empty if no model was involved.

    >>> note_version("Anträge", 3, "5fa9a7a53b9b94d1")
    >>> version_headers()[1:]
    [(b'unnaive-version', b'3'), (b'unnaive-version-id', b'5fa9a7a53b9b94d1')]
    """
    answer = _answering.get()
    return [] if answer is None else _headers_of(answer)


@lru_cache(maxsize=64)
def _headers_of(answer: tuple[str, int, str]) -> list[tuple[bytes, bytes]]:
    name, number, identifier = answer
    return [
        (b"unnaive-model", quote(name, safe=" ").encode()), (b"unnaive-version", b"%d" % number),
        (b"unnaive-version-id", identifier.encode()),
    ]  # fmt: skip
