"""Limits for clients, reduced if the operating system allows few open files; what is too large gets the answer 413."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from unnaive.apps.common.web.refused import Refused
from unnaive.base.byte_sizes import parse_size
from unnaive.base.errors import BadData, choose, count_noun

HEADER_SECONDS = 10.0  # maximum wait for the header of a request, or on an idle connection
FILES = 64  # descriptors reserved for models, records, the event loop and the interpreter
STREAM = "/v1/classify/stream"  # for data that exceeds the body limit
FEWEST = 16  # minimum number of connections, however few descriptors there are


@dataclass(frozen=True)
class Limits:
    """Limits for one client and for all."""

    body: int = 10 << 20  # bytes
    batch: int = 10_000  # texts
    text: int = 2_000_000  # characters
    seconds: float = 30.0  # for a body to arrive, for the next line of a stream, for an answer to be read
    requests: int = 256  # concurrent
    header: int = 32 << 10  # bytes of a header: request line and all fields
    connections: int = 4096  # open at a time
    streams: int = 64  # open at a time
    client_requests: int | None = None  # concurrent requests of one address; three quarters of all by default
    # requests per second of one client (the token or an address), as a burst of the same size; 0 for no limit
    rate: float = 0.0

    @classmethod
    def of(cls, words: Iterable[str]) -> Limits:
        """Limits from settings NAME=VALUE; the others keep their defaults.

        >>> limits = Limits.of(["max_body=1MB", "timeout=2.5"])
        >>> limits.body, limits.seconds
        (1000000, 2.5)
        """
        values: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals:
                raise BadData(f"--set {word} has no =; give NAME=VALUE, such as --set max_body=20MB")
            field, read, least = SETTINGS[choose(list(SETTINGS), name.strip().replace("-", "_"), "limit")]
            try:
                number = read(value)
            except ValueError as problem:
                raise BadData(f"--set {word}: {value!r} is not a number; give one of at least {least:g}") from problem
            if not least <= number < float("inf"):
                raise BadData(f"--set {word}: {value} is out of range; give a number of at least {least:g}")
            values[field] = number
        return cls(**values)

    @property
    def header_seconds(self) -> float:
        """Time limit for a header to arrive, and for an idle connection to send one."""
        return min(self.seconds, HEADER_SECONDS)

    def check_body(self, size: int) -> None:
        """Refuse a body of more bytes than allowed."""
        if size > self.body:
            raise _too_large(f"the request is larger than {self.body:,} bytes; send less, or use {STREAM}")

    def check_compressed(self, size: int) -> None:
        """Refuse a compressed body of more bytes than allowed."""
        if size > self.body:
            raise _too_large(f"the compressed body is larger than {self.body:,} bytes; send less")

    def check_line(self, size: int) -> None:
        """Refuse a line of a stream of more bytes than allowed."""
        if size > self.body:
            raise _too_large(f"a line is longer than {self.body:,} bytes; the rest is ignored")

    def check_texts(self, texts: list[str]) -> list[str]:
        """Return the texts; refused if there are too many or one is too long."""
        if len(texts) > self.batch:
            raise _too_large(f"{count_noun(len(texts), 'text')} in one request; send at most {self.batch:,}")
        for text in texts:
            if len(text) > self.text:
                raise _too_large(f"a text has {len(text):,} characters; send at most {self.text:,}")
        return texts

    def requests_of(self, with_token: bool) -> int:
        """Concurrent requests of one client; a client with the token may use all."""
        if with_token:
            return self.requests
        wanted = self.client_requests or max(1, self.requests * 3 // 4)
        return min(self.requests, wanted)

    def streams_of(self, with_token: bool) -> int:
        """Concurrent streams of one client."""
        return self.streams if with_token else max(1, self.streams * 3 // 4)

    def fit_to(self, descriptors: int, listening: int) -> Limits:
        """The limits for a process that may open `descriptors` files, `listening` of them to accept connections.

        In one iteration of the event loop each listening descriptor accepts a connection, and those closed in the
        previous iteration are still open: three for each. Requests and streams leave a quarter of the connections to
        others.

        >>> fitted = Limits().fit_to(300, 16)
        >>> fitted.connections, fitted.requests, fitted.streams
        (188, 94, 47)
        """
        connections = min(self.connections, max(FEWEST, descriptors - FILES - 3 * listening))
        return replace(
            self, connections=connections, requests=max(1, min(self.requests, connections // 2)),
            streams=max(1, min(self.streams, connections // 4)),
        )  # fmt: skip


# settings of `serve`: the field, the function that reads a value, and the least value
SETTINGS: dict[str, tuple[str, Callable[[str], float], float]] = {
    "max_body": ("body", parse_size, 1), "max_batch": ("batch", int, 1), "max_text": ("text", int, 1),
    "max_requests": ("requests", int, 1), "max_client_requests": ("client_requests", int, 1),
    "max_rate": ("rate", float, 0), "max_streams": ("streams", int, 1), "max_connections": ("connections", int, FEWEST),
    "timeout": ("seconds", float, 0.1),
}  # fmt: skip


def _too_large(sentence: str) -> Refused:
    return Refused(413, sentence)
