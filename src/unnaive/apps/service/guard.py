"""What every request must pass before it is answered: host, token, size, time, and how many there are at once."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from unnaive.apps.service.metrics import Metrics
from unnaive.apps.service.served import Refused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
CHANGING = ("/teach", "/forget", "/rollback", "/webhook")  # ends of paths that change a model
OPEN = ("/healthz", "/readyz")  # for load balancers, which have no token
UNLIMITED = "/v1/classify/stream"  # has limits by line
READING = ("GET", "HEAD", "OPTIONS")  # methods that change nothing
PAGE = "/page/"  # what the page is made of

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


@dataclass(frozen=True)
class Limits:
    """How much a client may ask for."""

    body: int = 10 << 20  # bytes
    batch: int = 10_000  # texts
    text: int = 2_000_000  # characters
    seconds: float = 30.0  # for a body to arrive
    requests: int = 256  # at once


@dataclass(frozen=True)
class Access:
    """Who may ask: the token, whether it is needed for everything, and the names by which the service may be called."""

    token: str = field(repr=False)
    always: bool = False
    hosts: frozenset[str] = frozenset(LOOPBACK)
    origins: tuple[str, ...] = ()

    def has_token(self, headers: dict[bytes, bytes]) -> bool:
        """Whether the request carries the token, or has it as the password of any user; compared in constant time.

        Label Studio knows no tokens, but users and passwords.
        """
        kind, _, given = headers.get(b"authorization", b"").partition(b" ")
        if kind.lower() == b"basic":
            try:
                given = b64decode(given, validate=True).partition(b":")[2]
            except ValueError:
                return False
        elif kind.lower() != b"bearer":
            return False
        return hmac.compare_digest(given, self.token.encode())


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: Application, access: Access, limits: Limits, metrics: Metrics) -> None:
        self.app, self.access, self.limits, self.metrics = app, access, limits, metrics
        self._at_once = 0
        metrics.at_once.set_function(lambda: self._at_once)
        sentence = f"{limits.requests} requests are being answered already; try again in a second"
        self._busy, headers = refusal(Refused(503, sentence))
        self._busy_headers = [*headers, *HEADERS]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500
        path = scope["path"]
        counted = path not in OPEN
        if counted and self._at_once >= self.limits.requests:
            await self._turn_away(send)
            return

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        self._at_once += counted
        try:
            self._check(scope, path)
            limited = receive if path == UNLIMITED else self._limited(scope, receive)
            await self.app(scope, limited, send_with_headers)
        except Refused as problem:
            await refuse(send_with_headers, problem)
        finally:
            self._at_once -= counted
            seconds = time.perf_counter() - start
            self.metrics.request(_route(scope), status, seconds)
            log.info("%s %s %d %.1f ms", scope["method"], path, status, 1000 * seconds)

    async def _turn_away(self, send: Send) -> None:
        """Say that there is too much to do, before anything is looked at: what is refused must cost next to nothing."""
        self.metrics.request("other", 503, 0.0)
        await send({"type": "http.response.start", "status": 503, "headers": self._busy_headers})
        await send({"type": "http.response.body", "body": self._busy})

    def _check(self, scope: Scope, path: str) -> None:
        headers = dict(scope["headers"])
        host = _host_name(headers.get(b"host", b"").decode("latin-1"))
        if self.access.hosts and host not in self.access.hosts:
            raise Refused(421, f"this service is not called {host!r}; name it with --allow-host if it should be")
        if scope["method"] not in READING and self._is_foreign(headers):
            raise Refused(403, "a page of another site may not ask; name the site with --allow-origin if it should")
        length = headers.get(b"content-length", b"0")
        if path != UNLIMITED and length.isdigit() and int(length) > self.limits.body:
            raise self._too_large()
        scope["unnaive.token"] = self.access.has_token(headers)
        if not scope["unnaive.token"] and self._needs_token(path, scope["method"]):
            raise Refused(401, "this request needs the token of the service: Authorization: Bearer TOKEN")

    def _is_foreign(self, headers: dict[bytes, bytes]) -> bool:
        """Whether a browser says that a page of another site asks; programs say nothing of the kind."""
        origin = headers.get(b"origin")
        if origin is None or origin.decode("latin-1") in self.access.origins:
            return False
        if b"sec-fetch-site" in headers:  # what the browser knows, also behind a proxy that changes the host
            return headers[b"sec-fetch-site"] != b"same-origin"
        return origin.partition(b"://")[2].lower() != headers.get(b"host", b"").lower()

    def _needs_token(self, path: str, method: str) -> bool:
        """Whether a request does: what changes a model always, the rest where the service says so.

        The page itself, its preflights and what load balancers ask are open: none of them says anything of a model.
        """
        if path.endswith(CHANGING):
            return method != "OPTIONS"
        page = path.startswith(PAGE) or (path == "/" and method in ("GET", "HEAD"))
        return self.access.always and path not in OPEN and not page and method != "OPTIONS"

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """A `receive` that ends with 413 or 408 when a body is too large or too slow."""
        size, end = 0, time.monotonic() + self.limits.seconds
        complete = False

        async def limited() -> Message:
            nonlocal size, complete
            if complete:
                return await receive()  # waits for the client to leave
            try:
                async with asyncio.timeout(max(0.0, end - time.monotonic())):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, f"the request did not arrive within {self.limits.seconds:g} seconds") from None
            size += len(message.get("body", b""))
            if size > self.limits.body:
                raise self._too_large()
            complete = message["type"] == "http.request" and not message.get("more_body", False)
            return message

        return limited

    def _too_large(self) -> Refused:
        return Refused(413, f"the request is larger than {self.limits.body:,} bytes; send less, or use {UNLIMITED}")


async def refuse(send: Send, problem: Refused) -> None:
    """The answer of a refused request."""
    body, headers = refusal(problem)
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def refusal(problem: Refused) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The body and the headers that say why a request is refused."""
    body = json.dumps({"error": str(problem)}, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if problem.status == 503:
        headers.append((b"retry-after", b"1"))
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if problem.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    return body, headers


def _host_name(host: str) -> str:
    """The name in a Host header, without the port.

    >>> _host_name("localhost:8000"), _host_name("[::1]:8000"), _host_name("Example.org")
    ('localhost', '::1', 'example.org')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _route(scope: Scope) -> str:
    """The pattern of the path, so that metrics do not grow with what clients make up."""
    return str(scope.get("unnaive.route") or getattr(scope.get("route"), "path", "other"))
