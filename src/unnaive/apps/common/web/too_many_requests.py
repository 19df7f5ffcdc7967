"""Limits per client: concurrent requests and streams, and requests per second."""

from __future__ import annotations

import time
from dataclasses import dataclass

from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.tokens import Token

SWEEP = 1_000  # number of clients at which idle ones are forgotten


@dataclass(slots=True)
class Use:
    """The current use of one client, and the requests that its rate still allows as of a given time."""

    requests: int = 0
    streams: int = 0
    allowed: float = 0.0
    at: float = 0.0

    @property
    def idle(self) -> bool:
        """Whether no request of the client is being answered."""
        return not self.requests and not self.streams


class Quotas:
    """The use of every client; all clients with the same token count as one, others by address."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._uses: dict[str | Token, Use] = {}
        self._most = SWEEP

    def of(self, client: str | Token) -> Use:
        """The use of a client: its token, or its address if it has none."""
        use = self._uses.get(client)
        if use is None:
            if len(self._uses) >= self._most:
                self._forget()
            use = self._uses[client] = Use(allowed=max(1.0, self._limits.rate), at=time.monotonic())
        return use

    def check_rate(self, use: Use) -> None:
        """Count a request; refused if the client exceeds its rate (a token bucket)."""
        rate = self._limits.rate
        if not rate:
            return
        now = time.monotonic()
        use.allowed = min(max(1.0, rate), use.allowed + rate * (now - use.at))
        use.at = now
        if use.allowed < 1.0:
            raise Refused(429, f"one client may send at most {rate:g} requests a second; wait a second")
        use.allowed -= 1.0

    def is_full(self, use: Use, with_token: bool) -> bool:
        """Whether the client has reached its limit of concurrent requests."""
        return use.requests >= self._limits.requests_of(with_token)

    def check_streams(self, use: Use, with_token: bool, all_streams: int) -> None:
        """Refuse a stream if the client, or all clients together, have reached their limit."""
        most = self._limits.streams_of(with_token)
        if use.streams >= most:
            raise Refused(429, f"{most} streams of this client are already open; close one first")
        if all_streams >= self._limits.streams:
            raise Refused(503, f"{self._limits.streams} streams are already open; try again in a second")

    def _forget(self) -> None:
        """Forget idle clients whose rate has recovered; they would start again in the same state."""
        now = time.monotonic()
        self._uses = {name: use for name, use in self._uses.items() if not use.idle or now - use.at < 1.0}
        self._most = SWEEP + 2 * len(self._uses)
