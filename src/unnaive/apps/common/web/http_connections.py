"""HTTP connections with limits; uvicorn's own protocol has no limits on the time or the size of headers."""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from unnaive.apps.common.web.edge import Address, Edge
from unnaive.apps.common.web.guard import HEADERS, refusal
from unnaive.apps.common.web.refused import Refused

NOT_HTTP = "this is not HTTP/1.1, or its target or a header is invalid"


class TooLong(Exception):
    """A header that arrived at once exceeds the size limit."""


class TooEarly(Exception):
    """A request begins before the previous one has been answered (pipelining)."""


class EdgeProtocol(HttpToolsProtocol):
    """One connection; `edge` knows all connections and decides when time or room runs out.

    The size limit applies to bytes that do not complete a step of a request: those of an unfinished header, and of
    the trailers after a chunked body.

    A request that arrives before the previous one has been answered is not read: the connection is closed after that
    answer, and the client sends the request again, as RFC 9112, section 9.3.2 asks of clients. The parser cannot stop
    in the middle, and otherwise it would make objects for thousands of requests in a single packet.
    """

    def __init__(
        self, config: Any, server_state: Any, app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config, server_state, app_state, _loop)
        self.edge: Edge = self.app.edge  # of the guard
        self._address: Address | None = None
        self._answered = False  # whether a request of this connection was answered
        self._pending = 0  # bytes since the last completed step of a request
        self._size = 0  # bytes being parsed
        self._further = False  # whether they completed a step
        self._ended = False  # whether further bytes are ignored, since the connection closes after its answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a client, or tell it that there is no room."""
        super().connection_made(transport)
        self._address = self.edge.open(self, self.client[0] if self.client else "", self.loop)
        if self._address is None:
            self._refuse(503, f"{self.edge.limits.connections} connections are already open; try again in a second")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        if self._address is not None:
            self.edge.close(self, self._address)
            self._address = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, and count bytes that complete no step of a request."""
        if self._ended:
            return
        self._unset_keepalive_if_required()
        self._further, self._size = False, len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # to an unsupported protocol; the request itself is answered
            return
        except httptools.HttpParserCallbackError as problem:
            self._end(problem.__context__)
            return
        except httptools.HttpParserError:
            self._refuse(400, NOT_HTTP)
            return
        if self._further:
            self._pending = 0
            return
        if not self._pending and self._answered and self._address is not None and self._is_idle():
            self.edge.wait(self, self._address.next)  # a new header has its own time limit
        self._pending += len(data)
        if self._pending > self.edge.limits.header:
            self._refuse_header()

    def _end(self, problem: BaseException | None) -> None:
        """Close because of a request that a callback of the parser refused."""
        if isinstance(problem, TooEarly):
            self._ended, self.cycle.keep_alive = True, False
        elif isinstance(problem, TooLong):
            self._refuse_header()
        else:  # a target without a path (CONNECT, GET http://[), or with other characters than ASCII
            self._refuse(400, NOT_HTTP)

    def on_message_begin(self) -> None:
        """A request begins."""
        if not self._is_idle():
            raise TooEarly
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The header of a request is complete; the application waits for its body."""
        self._further = True
        limit = self.edge.limits.header
        if self._pending + self._size > limit:  # the data may include a body
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > limit:
                raise TooLong
        if self._address is not None:
            self._address.stop_waiting(self)
        self.scope["unnaive.connection"] = self  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body has arrived."""
        self._further = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete."""
        self._further = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request unless it has arrived.

        A closing connection has the same time to read the answer.
        """
        self.server_state.total_requests += 1
        self._answered = True
        if self._address is not None:  # uvicorn would set a timer for each answer
            self.flow.resume_reading()
            self.edge.wait(self, self._address.next)

    def shutdown(self) -> None:
        """The server stops: close the connection, or end it after the answer."""
        self.app.stop()
        super().shutdown()

    def has_body(self) -> bool:
        """Whether part of the current request's body has arrived and can be read without waiting."""
        return bool(self.cycle.message_event.is_set())

    def pause_writing(self) -> None:
        """The client does not read its answer."""
        super().pause_writing()
        self.edge.stall(self)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self.edge.flow(self)

    def expire(self) -> None:
        """Close the connection; a partial header is answered with 408.

        An idle connection gets no answer, since the client would take it for the answer to its next request.
        """
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        if self._pending:
            seconds = self.edge.limits.header_seconds
            self._refuse(
                408, f"the header of the request did not arrive within {seconds:g} seconds, or its place was needed"
            )
        else:
            self.transport.close()
        if self._address is not None:
            self.edge.wait(self, self._address.first)  # until the connection is closed

    def abort(self) -> None:
        """Close without sending the rest."""
        self.transport.abort()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _refuse_header(self) -> None:
        limit = self.edge.limits.header
        self._refuse(431, f"the header of the request is larger than {limit:,} bytes; send a shorter one")

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer before a request is complete, and close."""
        under_way = not self._is_idle()
        if under_way:
            self.cycle.disconnected = True  # tells the application
            self.cycle.message_event.set()
        if not under_way or not self.cycle.response_started:
            body, fields = refusal(Refused(status, sentence))
            lines = [name + b": " + value for name, value in (*self.server_state.default_headers, *fields, *HEADERS)]
            if not any(name == b"connection" for name, _ in fields):
                lines.append(b"connection: close")
            self.transport.write(STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n\r\n" + body)
        self.transport.close()
