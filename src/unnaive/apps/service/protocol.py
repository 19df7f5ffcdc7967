"""HTTP connections with limits: uvicorn's protocol, which waits for headers for ever and takes them of any size."""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from unnaive.apps.service.edge import Address, Edge
from unnaive.apps.service.guard import HEADERS, refusal
from unnaive.apps.service.refused import Refused

NOT_HTTP = "this is not HTTP/1.1, or a header has a character that is not allowed there"


class TooLong(Exception):
    """A header that came at once is larger than headers may be."""


class EdgeProtocol(HttpToolsProtocol):
    """One connection. `edge` knows all of them, and says when time or room is up.

    Limits of size hold for bytes that bring a request no further: of a header that does not end, and equally of the
    fields behind a body in chunks.
    """

    def __init__(
        self, config: Any, server_state: Any, app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config, server_state, app_state, _loop)
        self.edge: Edge = self.app.edge  # the guard has it
        self.trusted = False  # whether the token came by this connection
        self._address: Address | None = None
        self._answered = False  # a request of this connection
        self._pending = 0  # bytes since a request got further
        self._size = 0  # of what is being parsed
        self._further = False  # whether that brought a request further

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let a client in, or tell it that there is no room."""
        super().connection_made(transport)
        self._address = self.edge.open(self, self.client[0] if self.client else "", self.loop)
        if self._address is None:
            self._refuse(503, f"{self.edge.limits.connections} connections are open already; try again in a second")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        if self._address is not None:
            self.edge.close(self, self._address)
            self._address = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, and count what brings no request further."""
        self._unset_keepalive_if_required()
        self._further, self._size = False, len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # to a protocol that is not spoken here; the request itself is answered
            return
        except httptools.HttpParserCallbackError as problem:
            if not isinstance(problem.__context__, TooLong):
                raise
            self._refuse_header()
            return
        except httptools.HttpParserError:
            self._refuse(400, NOT_HTTP)
            return
        if self._further:
            self._pending = 0
            return
        if not self._pending and self._answered and self._address is not None and self._is_idle():
            self.edge.wait(self, self._address.next)  # a new header has its own time
        self._pending += len(data)
        if self._pending > self.edge.limits.header:
            self._refuse_header()

    def on_headers_complete(self) -> None:
        """A request: its body is for the application to wait for."""
        self._further = True
        limit = self.edge.limits.header
        if self._pending + self._size > limit:  # with a body, perhaps
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > limit:
                raise TooLong
        if self._address is not None:
            self._address.stop_waiting(self)
        self.scope["unnaive.connection"] = self  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self._further = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request."""
        self._further = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is here; a connection that is closing has as long to take the answer."""
        self.server_state.total_requests += 1
        self._answered = True
        if self.pipeline and not self.transport.is_closing():
            super().on_response_complete()
            self.server_state.total_requests -= 1  # which counted it again
        elif self._address is not None:  # uvicorn would set a timer here, for each answer
            self.flow.resume_reading()
            self.edge.wait(self, self._address.next)

    def has_body(self) -> bool:
        """Whether a part of the body of the request that is being answered is here, and need not be waited for."""
        return not self.pipeline and self.cycle.message_event.is_set()

    def pause_writing(self) -> None:
        """The client does not take its answer."""
        super().pause_writing()
        self.edge.stall(self)

    def resume_writing(self) -> None:
        """The client takes it again."""
        super().resume_writing()
        self.edge.flow(self)

    def expire(self) -> None:
        """Close; half a header is answered, silence is not: the client would take that for its next answer."""
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        if self._pending:
            seconds = self.edge.limits.header_seconds
            self._refuse(
                408, f"the header of the request did not arrive within {seconds:g} seconds, or others needed room"
            )
        else:
            self.transport.close()
        if self._address is not None:
            self.edge.wait(self, self._address.first)  # until it is really gone

    def abort(self) -> None:
        """Close without sending what is left."""
        self.transport.abort()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _refuse_header(self) -> None:
        limit = self.edge.limits.header
        self._refuse(431, f"the header of the request is larger than {limit:,} bytes; send a shorter one")

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer what is not a request yet, and close."""
        under_way = not self._is_idle()
        if under_way:
            self.cycle.disconnected = True  # for the application
            self.cycle.message_event.set()
        if not under_way or not self.cycle.response_started:
            body, fields = refusal(Refused(status, sentence))
            lines = [name + b": " + value for name, value in (*self.server_state.default_headers, *fields, *HEADERS)]
            if not any(name == b"connection" for name, _ in fields):
                lines.append(b"connection: close")
            self.transport.write(STATUS_LINE[status] + b"\r\n".join(lines) + b"\r\n\r\n" + body)
        self.transport.close()
