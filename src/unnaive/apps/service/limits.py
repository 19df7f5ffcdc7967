"""How much clients may ask for, and how little of the operating system's file limit is left for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

HEADER_SECONDS = 10.0  # most that the header of a request, or an idle connection, is waited for
FILES = 64  # descriptors for models, records, the event loop and what the interpreter opens
FEWEST = 16  # connections, however few descriptors there are


@dataclass(frozen=True)
class Limits:
    """How much a client may ask for."""

    body: int = 10 << 20  # bytes
    batch: int = 10_000  # texts
    text: int = 2_000_000  # characters
    seconds: float = 30.0  # for a body to arrive, for the next line of a stream, for an answer to be taken
    requests: int = 256  # answered at once
    header: int = 32 << 10  # bytes of a header: request line and all fields
    connections: int = 4096  # open at once
    streams: int = 64  # open at once
    client_requests: int | None = None  # of one address at once; three quarters of all by default
    rate: float = 0.0  # requests per second of one client (token, else address), in bursts of as many; 0 for any

    @property
    def header_seconds(self) -> float:
        """Time for a header to arrive, and for an idle connection to send one."""
        return min(self.seconds, HEADER_SECONDS)

    def requests_of(self, with_token: bool) -> int:
        """Requests at once of one client: whoever has the token may use all there are."""
        if with_token:
            return self.requests
        wanted = self.client_requests or max(1, self.requests * 3 // 4)
        return min(self.requests, wanted)

    def streams_of(self, with_token: bool) -> int:
        """Streams at once of one client."""
        return self.streams if with_token else max(1, self.streams * 3 // 4)

    def fit_to(self, descriptors: int, listening: int) -> Limits:
        """The limits where a process may have so many files open, `listening` of them for new connections.

        In one turn of the event loop each listening descriptor brings a connection, and what was closed in the turn
        before is still there: three for each. Requests and streams leave a quarter of the connections to others.

        >>> fitted = Limits().fit_to(300, 16)
        >>> fitted.connections, fitted.requests, fitted.streams
        (188, 94, 47)
        """
        connections = min(self.connections, max(FEWEST, descriptors - FILES - 3 * listening))
        return replace(
            self, connections=connections, requests=max(1, min(self.requests, connections // 2)),
            streams=max(1, min(self.streams, connections // 4)),
        )  # fmt: skip
