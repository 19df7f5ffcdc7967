"""How much of the service one client may take: requests and streams at once, and requests per second."""

from __future__ import annotations

import time
from dataclasses import dataclass

from unnaive.apps.service.limits import Limits
from unnaive.apps.service.refused import Refused

SWEEP = 1_000  # clients known before those are forgotten that have not asked for a while


@dataclass(slots=True)
class Use:
    """What one client takes now, and the requests that its rate still allows, as of a time."""

    requests: int = 0
    streams: int = 0
    allowed: float = 0.0
    at: float = 0.0

    @property
    def idle(self) -> bool:
        """Whether nothing of the client is being answered."""
        return not self.requests and not self.streams


class Quotas:
    """The use of every client; a client is the token where it came, and else the address."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._uses: dict[str | None, Use] = {}  # by address; None for the token
        self._most = SWEEP

    def of(self, address: str, with_token: bool) -> Use:
        """The use of a client."""
        name = None if with_token else address
        found = self._uses.get(name)
        if found is None:
            if len(self._uses) >= self._most:
                self._forget()
            found = self._uses[name] = Use(allowed=max(1.0, self._limits.rate), at=time.monotonic())
        return found

    def check_rate(self, use: Use) -> None:
        """Count a request, refused if the client asks more often than it may (a token bucket)."""
        rate = self._limits.rate
        if not rate:
            return
        now = time.monotonic()
        use.allowed = min(max(1.0, rate), use.allowed + rate * (now - use.at))
        use.at = now
        if use.allowed < 1.0:
            raise Refused(429, f"at most {rate:g} requests a second are taken of one client; wait a second")
        use.allowed -= 1.0

    def is_full(self, use: Use, with_token: bool) -> bool:
        """Whether the client has as many requests under way as it may."""
        return use.requests >= self._limits.requests_of(with_token)

    def check_streams(self, use: Use, with_token: bool, all_streams: int) -> None:
        """Refuse a stream of a client that has enough of them, or where there are enough of all clients."""
        most = self._limits.streams_of(with_token)
        if use.streams >= most:
            raise Refused(429, f"{most} streams of this client are open already; end one first")
        if all_streams >= self._limits.streams:
            raise Refused(503, f"{self._limits.streams} streams are open already; try again in a second")

    def _forget(self) -> None:
        """Leave out clients without requests whose rate is whole again; a new one would stand no different."""
        now = time.monotonic()
        self._uses = {name: use for name, use in self._uses.items() if not use.idle or now - use.at < 1.0}
        self._most = SWEEP + 2 * len(self._uses)
