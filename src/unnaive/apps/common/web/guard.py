"""The checks that every request must pass: host, token, size, time, and the number of concurrent requests."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from unnaive.apps.common.web.access import Access, WrongTokens, check_scope, read_headers
from unnaive.apps.common.web.answered_by import begin_request, version_headers
from unnaive.apps.common.web.edge import Edge, limit_handshakes
from unnaive.apps.common.web.effects import Effect, RouteEffect, RouteEffects
from unnaive.apps.common.web.inflating import InflatedBody, Message, Receive, check_encoding
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.metrics import Metrics
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.sessions import Headers
from unnaive.apps.common.web.tokens import Token
from unnaive.apps.common.web.too_many_requests import Quotas, Use
from unnaive.base.errors import UnnaiveError
from unnaive.base.system import at_hangup
from unnaive.base.visible_text import visible

Scope = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

SLOW = 1.0  # seconds after which a body that is still arriving may be dropped in favour of another request
STOPPED = "the service stops; send the request again with the same Idempotency-Key, since it may have been done"
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
        self, app: Application, access: Access, limits: Limits, metrics: Metrics, routes: RouteEffects,
        root_path: str = "",
    ) -> None:  # fmt: skip
        self.app, self.access, self.limits, self.metrics, self.routes = app, access, limits, metrics, routes
        self.root_path = root_path  # the beginning of all paths as clients see them, behind a proxy
        # called on SIGHUP; an error leaves things as they are
        self.reloads: list[Callable[[], object]] = [access.tokens.reload]
        self.stops: list[Callable[[], object]] = []  # called once when the service begins to stop
        self._stopping = False
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
            self._begin()
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500
        asked = scope["method"]
        if asked == "HEAD":
            scope = {**scope, "method": "GET"}  # the same answer without its body; the server keeps its own scope
        if self.root_path:
            self._remove_root_path(scope)
        route = self.routes.find(scope["method"], scope["path"])
        origins = self.access.origins
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None) if origins else None
        if self._at_once >= self.limits.requests and self._is_turned_away(route.effect):
            await self._turn_away(send, origins.headers(origin))
            return

        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                message["headers"] = [
                    *message.get("headers", ()), *version_headers(), *origins.headers(origin), *HEADERS,
                ]  # fmt: skip
            elif asked == "HEAD":
                message["body"] = b""
            await send(message)

        begin_request()
        try:
            headers = self._check(scope, route.effect)
            if self.root_path and scope["path"] == self.root_path:  # links on the page are relative to a path with /
                raise Refused(308, f"the page is at {self.root_path}/", location=f"{self.root_path}/")
            permission = origins.preflight(asked, headers)
            if permission is not None:
                await send_with_headers({"type": "http.response.start", "status": 200, "headers": permission})
                await send_with_headers({"type": "http.response.body", "body": b""})
                return
            if b"authorization" in headers and route.effect is not Effect.HEALTH:
                scope["unnaive.token"] = await self._find_token(scope, headers, route.effect)
            elif b"cookie" in headers:
                scope["unnaive.token"] = self.access.find_session(headers, proof=route.effect.own_pages_only)
            self._check_token(scope, route.effect)
            if b"content-encoding" in headers and check_encoding(headers[b"content-encoding"]):
                receive = InflatedBody(receive, None if route.effect is Effect.STREAM else self.limits)
            await self._answer(scope, receive, send_with_headers, route.effect)
        except Refused as problem:
            await refuse(send_with_headers, problem)
        except asyncio.CancelledError:
            if not self._stopping or started:
                raise
            await refuse(send_with_headers, Refused(503, STOPPED))
        finally:
            seconds = time.perf_counter() - start
            self.metrics.request(route.path, status, seconds)
            if log.isEnabledFor(logging.INFO):
                write_log(scope, asked, route, status, seconds)

    def _begin(self) -> None:
        """Prepare the event loop that is starting: limit TLS handshakes, and reload files on SIGHUP."""
        loop = asyncio.get_running_loop()
        limit_handshakes(loop, self.limits.header_seconds)
        at_hangup(loop, self._reload)

    def stop(self) -> None:
        """The service begins to stop: it accepts no connections any more, and answers what it has begun."""
        if not self._stopping:
            self._stopping = True
            for stop in self.stops:
                stop()

    def _reload(self) -> None:
        for reload in self.reloads:
            try:
                reload()
            except (UnnaiveError, OSError, ValueError) as problem:
                log.error("SIGHUP: %s; what was loaded before stays in use", problem)

    def _remove_root_path(self, scope: Scope) -> None:
        """Shorten the path of a request from a proxy that passes on the whole of it."""
        path = scope["path"]
        if path.startswith(f"{self.root_path}/"):
            scope["path"] = path[len(self.root_path) :]
            scope["raw_path"] = scope["path"].encode()

    def _is_turned_away(self, effect: Effect) -> bool:
        """Whether a request exceeds the limit and must be refused; streams have a separate limit."""
        return effect not in (Effect.HEALTH, Effect.STREAM) and not self._end_slowest()

    async def _turn_away(self, send: Send, more: list[tuple[bytes, bytes]]) -> None:
        """Refuse because the service is overloaded, before anything else is read.

        A refusal must cost almost nothing.
        """
        self.metrics.request("other", 503, 0.0)
        await send({"type": "http.response.start", "status": 503, "headers": [*self._busy_headers, *more]})
        await send({"type": "http.response.body", "body": self._busy})

    def _check(self, scope: Scope, effect: Effect) -> Headers:
        """The headers by name; refused if the host is wrong, the page is foreign, or the body is too large."""
        headers = read_headers(scope["headers"])
        if self.access.proxies:
            peer, fields = _address(scope), scope["headers"]
            scope["client"] = (self.access.proxies.client(peer, fields), 0)
            scope["scheme"] = self.access.proxies.scheme(peer, fields) or scope.get("scheme")
        if effect is not Effect.HEALTH:  # probes use the address, and their answer reveals nothing
            self.access.check_host(headers)
        if effect.own_pages_only:
            self.access.check_origin(headers)
        length = headers.get(b"content-length", b"0")
        if effect is not Effect.STREAM and length.isdigit():
            self.limits.check_body(int(length[:19]))
        return headers

    async def _find_token(self, scope: Scope, headers: Headers, effect: Effect) -> Token | None:
        """The token that was sent; a wrong one is refused.

        A wrong password is ignored where none is needed: a proxy with passwords of its own passes them on.
        """
        token = self.access.find_token(headers)
        if token is not None:
            return token
        if self._needs_token(effect) or headers[b"authorization"][:7].lower() == b"bearer ":
            await self._wrong_tokens.delay(_address(scope))
            raise Refused(401, "the token is wrong; send that of the service: Authorization: Bearer TOKEN")
        return None

    def _needs_token(self, effect: Effect) -> bool:
        """Whether requests need the token: changes always do, others unless they come by loopback."""
        return effect.always_needs_token or (self.access.always and not effect.public)

    def _check_token(self, scope: Scope, effect: Effect) -> None:
        """Refuse a request that needs a token and has none, or one that does not allow it."""
        token = scope.get("unnaive.token")
        if token is not None or self._needs_token(effect):
            check_scope(token, effect.scope)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, effect: Effect) -> None:
        """Pass a request on to the application, counted for the client and for the service."""
        if effect is Effect.HEALTH:
            await self.app(scope, self._limited(receive, Arriving(None, time.monotonic()), None), send)
            return
        token = scope.get("unnaive.token")
        with_token = token is not None
        use = self._quotas.of(_address(scope) if token is None else token)
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


def write_log(scope: Scope, method: str, route: RouteEffect, status: int, seconds: float) -> None:
    """Log a request with the client's address; what the client sent is escaped, so it can neither forge a line nor
    control the terminal.
    """
    if route.effect is not Effect.HEALTH:
        path = visible(scope["path"][:LONGEST_PATH], lines=False)
        client = _address(scope) or "-"
        log.info("%s %s %s %d %.1f ms %s", client, method, path, status, 1000 * seconds, route.effect.value)


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
    if problem.status == 308:
        headers.append((b"location", str(problem.more["location"]).encode()))
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status in (408, 413, 415, 431):
        headers.append((b"connection", b"close"))  # since the rest of the body is not read
    return body, headers


def _address(scope: Scope) -> str:
    """The client's address as the system, or a trusted proxy, reports it; empty for a Unix socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""
