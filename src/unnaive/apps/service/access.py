"""Who may ask: host names, the token, pages of other sites, and what wrong tokens cost."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv6Address

from unnaive.apps.service.refused import Refused
from unnaive.apps.service.sessions import Headers, Sessions

LOOPBACK = ("127.0.0.1", "::1", "localhost")
ONCE = (
    b"host",
    b"authorization",
    b"origin",
    b"sec-fetch-site",
    b"content-length",
    b"content-encoding",
)  # fields that may not come twice
HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:/@\s]+))(?::[0-9]{1,5})?", re.IGNORECASE)

FREE_MISTAKES = 10  # wrong tokens of an address before it has to wait
FIRST_WAIT, LONGEST_WAIT = 0.25, 4.0  # seconds; the wait doubles with each wrong token
FORGIVEN = 300.0  # seconds after the last wrong token
WAITING = 16  # guesses of one address that wait at once
MOST_ADDRESSES = 10_000  # that are remembered


@dataclass(frozen=True)
class Access:
    """Who may ask: the token, whether it is needed for everything, and the names by which the service may be called."""

    token: str = field(repr=False)
    always: bool = False
    hosts: frozenset[str] = frozenset(LOOPBACK)
    origins: tuple[str, ...] = ()
    sessions: Sessions | None = None

    def check_host(self, headers: Headers) -> None:
        """Refuse a request for another host: a site may let its own name point to this machine."""
        if not self.hosts:
            return
        given = headers.get(b"host", b"").decode("latin-1")
        if host_name(given) not in self.hosts:
            raise Refused(421, f"this service is not called {given!r}; name it with --allow-host if it should be")

    def check_origin(self, headers: Headers) -> None:
        """Refuse what a browser says that a page of another site asks; programs say nothing of the kind."""
        origin = headers.get(b"origin")
        if origin is None or origin.decode("latin-1") in self.origins:
            return
        if not is_same_origin(headers):
            raise Refused(403, "a page of another site may not ask; name the site with --allow-origin if it should")

    def has_token(self, headers: Headers) -> bool:
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

    def has_session(self, headers: Headers, *, proof: bool) -> bool:
        """Whether the request carries the cookie of a session and comes from the service's own page.

        A browser adds cookies to the requests of any page, and to those of other ports of this host even with
        SameSite=Strict. So the cookie counts only where the browser does not say that another page asks; with `proof`
        the browser must say that it is ours.
        """
        if self.sessions is None or not self.sessions.knows(self.sessions.read(headers)):
            return False
        if proof and not is_same_origin(headers):
            raise Refused(403, "a session counts only for requests of the service's own page; programs send the token")
        return proof or headers.get(b"sec-fetch-site", b"none") in (b"same-origin", b"none")


def is_same_origin(headers: Headers) -> bool:
    """Whether the browser says that a page of this very service asks.

    >>> is_same_origin({b"origin": b"http://localhost:8000", b"host": b"localhost:8000"})
    True
    >>> is_same_origin({b"origin": b"http://localhost:9000", b"host": b"localhost:8000"}), is_same_origin({})
    (False, False)
    """
    if b"sec-fetch-site" in headers:  # what the browser knows, also behind a proxy that changes the host
        return headers[b"sec-fetch-site"] == b"same-origin"
    origin = headers.get(b"origin", b"")
    return origin != b"" and origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()


def read_headers(fields: list[tuple[bytes, bytes]]) -> Headers:
    """The header of a request by name, refused where what decides who may ask comes twice."""
    headers = dict(fields)
    if len(headers) != len(fields):
        counts = Counter(name for name, _ in fields)
        for name in ONCE:
            if counts[name] > 1:
                raise Refused(400, f"the header {name.decode()} came {counts[name]} times; send it once")
    return headers


def host_name(host: str) -> str | None:
    """The name in a Host header, without the port; None for what is no host.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("Example.org")
    ('localhost', '::1', 'example.org')
    >>> host_name("[127.0.0.1].evil.example"), host_name("[127.0.0.1]"), host_name("localhost:80:80")
    (None, None, None)
    """
    found = HOST.fullmatch(host)
    if found is None:
        return None
    if found[1] is None:
        return found[2].lower()
    try:
        return IPv6Address(found[1]).compressed
    except ValueError:
        return None


@dataclass
class Mistakes:
    """The wrong tokens of one address."""

    number: int = 0
    last: float = 0.0
    waiting: int = 0


class WrongTokens:
    """Slows guessing down: after ten wrong tokens of an address, each further one of it waits before it is looked at.

    What waits is not compared yet, so many connections do not help: at most 16 guesses of an address wait, and the
    others get 429 unseen. A right token of the same address waits too, once for a connection.
    """

    def __init__(self) -> None:
        self._mistakes: dict[str, Mistakes] = {}

    async def wait(self, address: str) -> None:
        """Wait as long as the wrong tokens of this address make it."""
        mistakes = self._mistakes.get(address)
        if mistakes is None or mistakes.number < FREE_MISTAKES:
            return
        if time.monotonic() - mistakes.last > FORGIVEN:
            if not mistakes.waiting:
                del self._mistakes[address]
            return
        if mistakes.waiting >= WAITING:
            raise Refused(429, "too many wrong tokens came from this address; wait some seconds")
        mistakes.waiting += 1
        try:
            await asyncio.sleep(waiting_time(mistakes.number))
        finally:
            mistakes.waiting -= 1

    def note(self, address: str) -> None:
        """Count a wrong token."""
        if address not in self._mistakes and len(self._mistakes) >= MOST_ADDRESSES:
            del self._mistakes[next(iter(self._mistakes))]
        mistakes = self._mistakes.setdefault(address, Mistakes())
        now = time.monotonic()
        mistakes.number = 1 if now - mistakes.last > FORGIVEN else mistakes.number + 1
        mistakes.last = now


def waiting_time(mistakes: int) -> float:
    """Seconds that the next token of an address waits after so many wrong ones.

    >>> [waiting_time(number) for number in (10, 11, 12, 14, 1000)]
    [0.25, 0.5, 1.0, 4.0, 4.0]
    """
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(mistakes - FREE_MISTAKES, 30))
