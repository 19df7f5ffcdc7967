"""The checks that every request must pass: host, token, size, time, and the number of concurrent requests."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from unnaive.apps.common.web.access import Access, WrongTokens, read_headers
from unnaive.apps.common.web.answered_by import begin_request, version_headers
from unnaive.apps.common.web.edge import Edge
from unnaive.apps.common.web.effects import Effect, RouteEffect, RouteEffects
from unnaive.apps.common.web.inflating import InflatedBody, Message, Receive, check_encoding
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.metrics import Metrics
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.sessions import Headers
from unnaive.apps.common.web.too_many_requests import Quotas, Use
from unnaive.base.visible_text import visible

Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

SLOW = 1.0  # seconds after which a body that is still arriving may be dropped in favour of another request
LONGEST_PATH = 500  # characters of the path in a log line

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"cache-control", b"no-store"),
]

log = logging.getLogger("unnaive.service")


@dataclass(eq=False, slots=True)
class Arriving:
    """A request whose body is still arriving: its client, start time and timer, and whether it was ended early."""

    use: Use | None
    since: float
    timer: asyncio.Timeout | None = None
    evicted: bool = False


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self, app: Application, access: Access, limits: Limits, metrics: Metrics, routes: RouteEffects
    ) -> None:  # fmt: skip
        self.app, self.access, self.limits, self.metrics, self.routes = app, access, limits, metrics, routes
        self.edge = Edge(limits)  # used by the protocol, which has access to the application
        self._quotas, self._wrong_tokens = Quotas(limits), WrongTokens()
        self._at_once = self._streams = 0
        self._arriving: dict[Arriving, None] = {}
        metrics.at_once.set_function(lambda: self._at_once)
        metrics.connections.set_function(lambda: self.edge.connections)
        sentence = f"{limits.requests} requests are already being answered; try again in a second"
        self._busy, headers = refusal(Refused(503, sentence))
        self._busy_headers = [*headers, *HEADERS]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500
        route = self.routes.find(scope["method"], scope["path"])
        if self._at_once >= self.limits.requests and self._is_turned_away(route.effect):
            await self._turn_away(send)
            return

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *version_headers(), *HEADERS]
            await send(message)

        begin_request()
        try:
            headers = self._check(scope, route.effect)
            if b"authorization" in headers:
                scope["unnaive.token"] = await self._has_token(scope, headers)
            elif b"cookie" in headers:
                scope["unnaive.token"] = self.access.has_session(headers, proof=route.effect.own_pages_only)
            self._check_token(scope, route.effect)
            if b"content-encoding" in headers and check_encoding(headers[b"content-encoding"]):
                receive = InflatedBody(receive, None if route.effect is Effect.STREAM else self.limits)
            await self._answer(scope, receive, send_with_headers, route.effect)
        except Refused as problem:
            await refuse(send_with_headers, problem)
        finally:
            seconds = time.perf_counter() - start
            self.metrics.request(route.path, status, seconds)
            if log.isEnabledFor(logging.INFO):
                write_log(scope, route, status, seconds)

    def _is_turned_away(self, effect: Effect) -> bool:
        """Whether a request exceeds the limit and must be refused; streams have a separate limit."""
        return effect not in (Effect.HEALTH, Effect.STREAM) and not self._end_slowest()

    async def _turn_away(self, send: Send) -> None:
        """Refuse because the service is overloaded, before anything else is read.

        A refusal must cost almost nothing.
        """
        self.metrics.request("other", 503, 0.0)
        await send({"type": "http.response.start", "status": 503, "headers": self._busy_headers})
        await send({"type": "http.response.body", "body": self._busy})

    def _check(self, scope: Scope, effect: Effect) -> Headers:
        """The headers by name; refused if the host is wrong, the page is foreign, or the body is too large."""
        headers = read_headers(scope["headers"])
        if effect is not Effect.HEALTH:  # probes use the address, and their answer reveals nothing
            self.access.check_host(headers)
        if effect.own_pages_only:
            self.access.check_origin(headers)
        length = headers.get(b"content-length", b"0")
        if effect is not Effect.STREAM and length.isdigit():
            self.limits.check_body(int(length[:19]))
        return headers

    async def _has_token(self, scope: Scope, headers: Headers) -> bool:
        """Whether the right token was sent.

        This is delayed after wrong ones, except on a connection that already sent it.
        """
        connection, address = scope.get("unnaive.connection"), _address(scope)
        if connection is None or not connection.trusted:
            await self._wrong_tokens.wait(address)
        right = self.access.has_token(headers)
        if not right:
            self._wrong_tokens.note(address)
        if connection is not None:
            connection.trusted = right
        return right

    def _check_token(self, scope: Scope, effect: Effect) -> None:
        """Refuse a request without the token: changes always need it, other requests unless they come by loopback."""
        needed = effect is Effect.CHANGE or (self.access.always and not effect.public)
        if needed and not scope.get("unnaive.token"):
            raise Refused(401, "this request needs the token of the service: Authorization: Bearer TOKEN")

    async def _answer(self, scope: Scope, receive: Receive, send: Send, effect: Effect) -> None:
        """Pass a request on to the application, counted for the client and for the service."""
        if effect is Effect.HEALTH:
            await self.app(scope, self._limited(receive, Arriving(None, time.monotonic()), None), send)
            return
        with_token = scope.get("unnaive.token", False)
        use = self._quotas.of(_address(scope), with_token)
        self._quotas.check_rate(use)
        if effect is Effect.STREAM:
            self._quotas.check_streams(use, with_token, self._streams)
            use.streams += 1
            self._streams += 1
            try:
                await self.app(scope, self._limited_by_line(receive), send)
            finally:
                use.streams -= 1
                self._streams -= 1
            return
        if self._quotas.is_full(use, with_token) and not self._end_slowest(use):
            raise Refused(429, f"{use.requests} requests of this client are already being answered; wait a second")
        use.requests += 1
        self._at_once += 1
        arriving = Arriving(use, time.monotonic())
        try:
            await self.app(scope, self._limited(receive, arriving, scope.get("unnaive.connection")), send)
        finally:
            if not arriving.evicted:
                self._leave(use)

    def _leave(self, use: Use) -> None:
        """Stop counting a request."""
        use.requests -= 1
        self._at_once -= 1

    def _end_slowest(self, use: Use | None = None) -> bool:
        """End the request, of a client or of all, whose body has been arriving longest.

        Return whether there was one.
        """
        before = time.monotonic() - SLOW
        slow = [body for body in self._arriving if body.since < before and (use is None or body.use is use)]
        slowest = min(slow, key=lambda body: body.since, default=None)
        if slowest is None or slowest.timer is None or slowest.use is None:
            return False
        del self._arriving[slowest]
        slowest.evicted = True
        slowest.timer.reschedule(asyncio.get_running_loop().time())
        self._leave(slowest.use)
        return True

    async def _wait(self, receive: Receive, arriving: Arriving) -> Message:
        """Receive a part of a body, until its time is up or its place is needed."""
        if arriving.use is not None:
            self._arriving[arriving] = None
        try:
            left = arriving.since + self.limits.seconds - time.monotonic()
            async with asyncio.timeout(max(0.0, left)) as arriving.timer:
                return await receive()
        except TimeoutError:
            why = "while others wait" if arriving.evicted else f"within {self.limits.seconds:g} seconds"
            raise Refused(408, f"the request did not arrive {why}") from None
        finally:
            self._arriving.pop(arriving, None)

    def _limited(self, receive: Receive, arriving: Arriving, connection: Any) -> Receive:
        """A `receive` that ends with 413 or 408 if the body is too large or too slow."""
        size, complete = 0, False

        async def limited() -> Message:
            nonlocal size, complete
            if complete:
                return await receive()  # waits for the client to disconnect
            here = connection is not None and connection.has_body()  # the usual case, which needs no timer
            message = await receive() if here else await self._wait(receive, arriving)
            size += len(message.get("body", b""))
            self.limits.check_body(size)
            complete = message["type"] == "http.request" and not message.get("more_body", False)
            return message

        return limited

    def _limited_by_line(self, receive: Receive) -> Receive:
        """A `receive` that ends with 408 if no complete line of a stream arrives in time."""
        left = self.limits.seconds  # only waiting counts, not the time to answer lines

        async def limited() -> Message:
            nonlocal left
            start = time.monotonic()
            try:
                async with asyncio.timeout(left):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, f"no line of the stream came within {self.limits.seconds:g} seconds") from None
            whole = b"\n" in message.get("body", b"")
            left = self.limits.seconds if whole else max(0.0, left - (time.monotonic() - start))
            return message

        return limited


def write_log(scope: Scope, route: RouteEffect, status: int, seconds: float) -> None:
    """Log a request; client data is escaped, so it can neither forge a line nor control the terminal."""
    if route.effect is not Effect.HEALTH:
        path = visible(scope["path"][:LONGEST_PATH], lines=False)
        log.info("%s %s %d %.1f ms %s", scope["method"], path, status, 1000 * seconds, route.effect.value)


async def refuse(send: Send, problem: Refused) -> None:
    """Send the answer to a refused request."""
    body, headers = refusal(problem)
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def refusal(problem: Refused) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The body and headers of a refusal."""
    body = json.dumps({"error": str(problem), **problem.more}, ensure_ascii=False).encode("utf-8", "backslashreplace")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if problem.status in (429, 503):
        headers.append((b"retry-after", b"1"))
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status in (408, 413, 415, 431):
        headers.append((b"connection", b"close"))  # since the rest of the body is not read
    return body, headers


def _address(scope: Scope) -> str:
    """The client's address as the system reports it."""
    client = scope.get("client")
    return str(client[0]) if client else ""
