"""Browser sessions: a signed cookie replaces the token, so that a reload does not ask for it again.

The cookie holds its expiry time, a random number and a mark of its token, signed with a key derived from a secret of
the service. Nothing is stored, so sessions survive a restart; those of a token that was removed end.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from pathlib import Path

from unnaive.apps.common.web.tokens import Token
from unnaive.base.atomic_files import replacing
from unnaive.base.lazy import lazy_property
from unnaive.base.system import keep_mode

LASTS = 7 * 24 * 3600  # seconds
MOST_ENDED = 10_000  # maximum number of ended sessions remembered
# about 50 ms, so that a stolen cookie does not allow fast guessing of the token
SCRYPT = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32}
Headers = dict[bytes, bytes]


class Sessions:
    """Start, recognise and end sessions. An ended session is refused until this process stops."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret, self._clock = secret, clock
        self._ended: dict[str, float] = {}  # expiry time by cookie value

    @lazy_property
    def _key(self) -> bytes:
        return hashlib.scrypt(self._secret.encode(), salt=b"unnaive session 1", **SCRYPT)

    @lazy_property
    def cookie(self) -> str:
        """The name of the cookie. Ports of a host share cookies, so each service has its own name."""
        return "unnaive_" + hmac.new(self._key, b"name", hashlib.sha256).hexdigest()[:12]

    def start(self, token: Token) -> str:
        """The cookie value of a new session, begun with a token."""
        body = f"{int(self._clock()) + LASTS}.{secrets.token_hex(12)}.{self._mark(token)}"
        return f"{body}.{self._sign(body)}"

    def find(self, value: str, tokens: Iterable[Token]) -> Token | None:
        """The token that began a session; None unless the cookie value is valid and the token is still accepted.

        >>> sessions, token = Sessions("a secret of some length"), Token.of("a token of some length")
        >>> value = sessions.start(token)
        >>> sessions.find(value, [token]) is token, sessions.find(value, []), sessions.find(value[:-1], [token])
        (True, None, None)
        """
        if not self.knows(value):
            return None
        mark = value.split(".")[2]
        return next((token for token in tokens if self._mark(token) == mark), None)

    def knows(self, value: str) -> bool:
        """Whether a cookie value was issued here, has not expired and was not ended."""
        body, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(body).encode()):
            return False
        return self._clock() < int(body.partition(".")[0]) and value not in self._ended

    def end(self, value: str) -> None:
        """Refuse a session from now on."""
        now = self._clock()
        self._ended = {session: expiry for session, expiry in self._ended.items() if expiry > now}
        if self.knows(value) and len(self._ended) < MOST_ENDED:
            self._ended[value] = float(value.partition(".")[0])

    def read(self, headers: Headers) -> str:
        """The session cookie of a request; empty if there is none."""
        if b"cookie" not in headers:
            return ""
        for part in headers[b"cookie"].decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie:
                return value
        return ""

    def _mark(self, token: Token) -> str:
        """What a cookie tells of its token: nothing to anybody who does not have the key."""
        about = f"token {token.name} {token.sha256 if token.rotates else ''}"
        return hmac.new(self._key, about.encode(), hashlib.sha256).hexdigest()[:16]

    def _sign(self, body: str) -> str:
        digest = hmac.new(self._key, body.encode("utf-8", "replace"), hashlib.sha256).digest()
        return urlsafe_b64encode(digest).decode().rstrip("=")


def read_local_secret(*purpose: str) -> str:
    """A secret of this user for a purpose, kept across restarts; valid for this run only if no file can be written."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    try:
        path = Path(base).expanduser() / "unnaive" / "session-secret"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing(path) as file:
                keep_mode(file.fileno(), 0o600)
                file.write(secrets.token_hex(32).encode())
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, RuntimeError, ValueError):
        secret = ""
    if len(secret) < 64:
        secret = secrets.token_hex(32)
    return hashlib.sha256("\0".join([secret, *purpose]).encode("utf-8", "surrogateescape")).hexdigest()
