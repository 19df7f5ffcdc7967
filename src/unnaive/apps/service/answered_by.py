"""Which model, and which version of it, answers the request at hand: noted where it is known, sent as headers."""

from __future__ import annotations

from contextvars import ContextVar
from urllib.parse import quote

_answering: ContextVar[tuple[str, int] | None] = ContextVar("answering", default=None)


def begin_request() -> None:
    """Nothing is known of the answer yet."""
    _answering.set(None)


def note_version(name: str, number: int) -> None:
    """A model answers, in this version; what is noted last is sent."""
    _answering.set((name, number))


def version_headers() -> list[tuple[bytes, bytes]]:
    """The headers that name the model and its version; none where no model has to do with the answer.

    >>> note_version("Anträge", 3)
    >>> version_headers()
    [(b'unnaive-model', b'Antr%C3%A4ge'), (b'unnaive-version', b'3')]
    """
    found = _answering.get()
    if found is None:
        return []
    return [(b"unnaive-model", quote(found[0], safe=" ").encode()), (b"unnaive-version", b"%d" % found[1])]
