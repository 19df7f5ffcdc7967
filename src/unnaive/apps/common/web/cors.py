"""Cross-origin resource sharing: which pages of other sites may send requests and read answers."""

from __future__ import annotations

import re

from unnaive.apps.common.web.proxies import HeaderFields
from unnaive.apps.common.web.sessions import Headers
from unnaive.base.errors import UnnaiveError

ANY = "*"
METHODS, SENT = b"GET, POST", b"Authorization, Content-Type, Idempotency-Key"
READ = b"Unnaive-Model, Unnaive-Version, Unnaive-Version-Id, Retry-After"  # headers of answers that pages may read
REMEMBERED = b"600"  # seconds that a browser need not ask again
DEFAULT_PORTS = {"http": "80", "https": "443"}
ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([^\s/?#@:\[\]]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")


class AllowedOrigins:
    """The origins whose pages may send requests; `*` stands for all."""

    def __init__(self, origins: tuple[str, ...] = ()) -> None:
        self._origins = frozenset(origins)

    def __bool__(self) -> bool:
        return bool(self._origins)

    def allows(self, origin: bytes | None) -> bool:
        """Whether a page of this origin may send requests."""
        return origin is not None and (ANY in self._origins or origin.decode("latin-1") in self._origins)

    def headers(self, origin: bytes | None) -> HeaderFields:
        """The headers of any answer, errors included: the browser lets the page read it, or not.

        >>> AllowedOrigins(("https://a.example",)).headers(b"https://b.example")
        [(b'vary', b'Origin')]
        """
        if not self:
            return []
        vary = (b"vary", b"Origin")
        if not self.allows(origin):
            return [vary]
        return [vary, (b"access-control-allow-origin", origin or b""), (b"access-control-expose-headers", READ)]

    def preflight(self, method: str, headers: Headers) -> HeaderFields | None:
        """The headers of the answer to a browser that asks before it sends a request; None for other requests."""
        if method != "OPTIONS" or b"access-control-request-method" not in headers:
            return None
        if not self.allows(headers.get(b"origin")):
            return None
        return [
            (b"access-control-allow-methods", METHODS), (b"access-control-allow-headers", SENT),
            (b"access-control-max-age", REMEMBERED),
        ]  # fmt: skip


def check_allowed_origin(words: str) -> str:
    """Return an origin as browsers write it; refused if no browser would ever send it.

    >>> check_allowed_origin("https://Site.example")
    'https://site.example'
    >>> check_allowed_origin("https://site.example:443/app")
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: --allow-origin 'https://site.example:443/app' is never the origin of a page; give
    the scheme, the host and a port that is not the usual one, such as https://site.example or http://localhost:3000
    """
    match = ORIGIN.fullmatch(words.lower())
    if words == ANY:
        return words
    if match is None or DEFAULT_PORTS.get(match[1]) == match[3] or not words.isascii():
        raise UnnaiveError(
            f"--allow-origin {words!r} is never the origin of a page; give the scheme, the host and a port that is not "
            "the usual one, such as https://site.example or http://localhost:3000"
        )
    return match[0]
