"""Access checks: host names, the token, requests from pages of other sites, and delays after wrong tokens."""

from __future__ import annotations

import asyncio
import re
import time
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv6Address

from unnaive.apps.common.web.cors import AllowedOrigins
from unnaive.apps.common.web.proxies import Proxies
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.sessions import Headers, Sessions
from unnaive.apps.common.web.tokens import Token, Tokens, TokenScope

LOOPBACK = ("127.0.0.1", "::1", "localhost")
ONCE = (
    b"host",
    b"authorization",
    b"origin",
    b"sec-fetch-site",
    b"content-length",
    b"content-encoding",
)  # headers that may occur only once
HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:/@\s]+))(?::[0-9]{1,5})?", re.IGNORECASE)

FREE_MISTAKES = 10  # wrong tokens from an address that are answered without a delay
FIRST_WAIT, LONGEST_WAIT = 0.25, 4.0  # seconds; the wait doubles with each wrong token
FORGIVEN = 300.0  # seconds after the last wrong token until its address is forgiven
WAITING = 16  # maximum number of delayed answers to one address
MOST_ADDRESSES = 10_000  # maximum number of addresses remembered


@dataclass(frozen=True)
class Access:
    """Access rules: the tokens, whether every request needs one, and the host names of the service."""

    tokens: Tokens = field(repr=False)
    always: bool = False
    hosts: frozenset[str] = frozenset(LOOPBACK)
    origins: AllowedOrigins = field(default_factory=AllowedOrigins)
    proxies: Proxies = field(default_factory=Proxies)
    sessions: Sessions | None = None

    def check_host(self, headers: Headers) -> None:
        """Refuse a request for another host name, since a foreign site may resolve its name to this machine."""
        if not self.hosts:
            return
        host = headers.get(b"host", b"").decode("latin-1")
        if host_name(host) not in self.hosts:
            raise Refused(421, f"this service has no host name {host!r}; allow it with --allow-host")

    def check_origin(self, headers: Headers) -> None:
        """Refuse a request that the browser attributes to a page of another site; programs send no such header."""
        origin = headers.get(b"origin")
        if origin is None or self.origins.allows(origin):
            return
        if not is_same_origin(headers):
            raise Refused(403, "pages of other sites may not send requests; allow the site with --allow-origin")

    def find_token(self, headers: Headers) -> Token | None:
        """The token of a request, which is a bearer token or the password of any user; None if it is not accepted.

        Label Studio supports only users and passwords.
        """
        kind, _, credentials = headers.get(b"authorization", b"").partition(b" ")
        if kind.lower() == b"basic":
            try:
                credentials = b64decode(credentials, validate=True).partition(b":")[2]
            except ValueError:
                return None
        elif kind.lower() != b"bearer":
            return None
        return self.tokens.find(credentials)

    def find_session(self, headers: Headers, *, proof: bool) -> Token | None:
        """The token that began the session of a request; None unless the request comes from a page of this service.

        A browser adds cookies to requests from any page, and to those for other ports of this host even with
        SameSite=Strict. So the cookie is accepted only if the browser does not report another origin; with `proof`,
        only if it confirms that the origin is ours.
        """
        token = None if self.sessions is None else self.sessions.find(self.sessions.read(headers), self.tokens)
        if token is None:
            return None
        if proof and not is_same_origin(headers):
            raise Refused(403, "a session is valid only on the service's own page; programs must send the token")
        own = proof or headers.get(b"sec-fetch-site", b"none") in (b"same-origin", b"none")
        return token if own else None


def check_scope(token: Token | None, scope: TokenScope) -> None:
    """Refuse a request that needs a token with a scope, and came without one, or with one that allows less."""
    if token is None:
        raise Refused(401, "this request needs the token of the service: Authorization: Bearer TOKEN")
    if token.scope < scope:
        raise Refused(
            403,
            f"the token of {token.name} has the scope {token.scope.word}, and this request needs one with the scope "
            f"{scope.word}",
        )


def is_same_origin(headers: Headers) -> bool:
    """Whether the browser reports that the request comes from a page of this service.

    >>> is_same_origin({b"origin": b"http://localhost:8000", b"host": b"localhost:8000"})
    True
    >>> is_same_origin({b"origin": b"http://localhost:9000", b"host": b"localhost:8000"}), is_same_origin({})
    (False, False)
    """
    if b"sec-fetch-site" in headers:  # set by the browser, so it holds behind a proxy that rewrites the host
        return headers[b"sec-fetch-site"] == b"same-origin"
    origin = headers.get(b"origin", b"")
    return origin != b"" and origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()


def read_headers(fields: list[tuple[bytes, bytes]]) -> Headers:
    """The headers by name; refused if a header that decides about access occurs twice."""
    headers = dict(fields)
    if len(headers) != len(fields):
        counts = Counter(name for name, _ in fields)
        for name in ONCE:
            if counts[name] > 1:
                raise Refused(400, f"the header {name.decode()} was sent {counts[name]} times; send it once")
    return headers


def host_name(host: str) -> str | None:
    """The name in a Host header, without the port; None if it is not a valid host.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("Example.org")
    ('localhost', '::1', 'example.org')
    >>> host_name("[127.0.0.1].evil.example"), host_name("[127.0.0.1]"), host_name("localhost:80:80")
    (None, None, None)
    """
    match = HOST.fullmatch(host)
    if match is None:
        return None
    if match[1] is None:
        return match[2].lower()
    try:
        return IPv6Address(match[1]).compressed
    except ValueError:
        return None


@dataclass
class Mistakes:
    """The wrong tokens from one address."""

    number: int = 0
    last: float = 0.0
    waiting: int = 0


class WrongTokens:
    """Slow down guessing: after ten wrong tokens from an address, each further one is answered after a delay.

    A token is compared first, so the right one never waits, whatever others at its address do. At most 16 answers to an
    address wait at a time, and further wrong tokens get 429: a flood takes no memory. Guessing is hopeless anyway,
    since a token has at least 16 characters.
    """

    def __init__(self) -> None:
        self._mistakes: dict[str, Mistakes] = {}

    async def delay(self, address: str) -> None:
        """Count a wrong token and wait before it is answered; refused if too many answers to this address wait."""
        mistakes = self._count(address)
        if mistakes.number <= FREE_MISTAKES:
            return
        if mistakes.waiting >= WAITING:
            raise Refused(429, "too many wrong tokens came from this address; wait some seconds")
        mistakes.waiting += 1
        try:
            await asyncio.sleep(waiting_time(mistakes.number))
        finally:
            mistakes.waiting -= 1

    def _count(self, address: str) -> Mistakes:
        if address not in self._mistakes and len(self._mistakes) >= MOST_ADDRESSES:
            del self._mistakes[next(iter(self._mistakes))]
        mistakes = self._mistakes.setdefault(address, Mistakes())
        now = time.monotonic()
        mistakes.number = 1 if now - mistakes.last > FORGIVEN else mistakes.number + 1
        mistakes.last = now
        return mistakes


def waiting_time(mistakes: int) -> float:
    """Seconds until the answer to a wrong token, which is the one of this number from its address.

    >>> [waiting_time(number) for number in (11, 12, 13, 15, 1000)]
    [0.25, 0.5, 1.0, 4.0, 4.0]
    """
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(mistakes - FREE_MISTAKES - 1, 30))
