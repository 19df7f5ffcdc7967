"""All connections of the service: which ones wait, since when, and which to close when time or room runs out."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Protocol

from unnaive.apps.common.web.limits import Limits

SWEEPS = 20  # checks within the time that a header may take
CLOSED, SOON = 8, 0.005  # connections closed per sweep, so that requests are not delayed; seconds until the next sweep
EVICTED = 32  # at most one in this many connections is closed to make room


class Connection(Protocol):
    """The operations on a connection."""

    def expire(self) -> None:
        """Time is up: answer a partial request with 408, and close."""

    def abort(self) -> None:
        """Close immediately: the client does not read its answer."""


Deadlines = OrderedDict[Connection, float]  # connections by deadline, earliest first


@dataclass(eq=False)
class Address:
    """The connections of one address: their number, and those that wait for a first or a further request."""

    name: str
    connections: int = 0
    first: Deadlines = field(default_factory=OrderedDict)
    next: Deadlines = field(default_factory=OrderedDict)

    @property
    def longer(self) -> Deadlines:
        """The connections that wait for a first request, or those that wait for a further one, whichever are more."""
        return self.first if len(self.first) >= len(self.next) else self.next

    def stop_waiting(self, connection: Connection) -> None:
        """A request has arrived, or none will."""
        if self.next.pop(connection, None) is None:
            self.first.pop(connection, None)


class Edge:
    """Enforce the time and number limits of connections.

    A connection waits from when it opens, or its last answer was sent, until the header of a request has arrived. It
    needs no timer of its own: all have the same time limit, so they are kept in the order of their deadlines, and a
    single timer checks the earliest. If there is no room for a new connection, the address with the most waiting
    connections loses some: either those that sent nothing yet or those that did, whichever are more, longest waiting
    first. A client that sends its requests has no such connections.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.addresses: dict[str, Address] = {}
        self.connections = 0
        self._stalled: OrderedDict[Connection, float] = OrderedDict()  # clients that do not read their answers
        self._loop: asyncio.AbstractEventLoop | None = None  # runs the sweeps

    def open(self, connection: Connection, name: str, loop: asyncio.AbstractEventLoop) -> Address | None:
        """Register a new connection, which starts waiting; None if there is no room and none can be made."""
        if self.connections >= self.limits.connections and not self._make_room():
            return None
        address = self.addresses.get(name)
        if address is None:
            address = self.addresses[name] = Address(name)
        address.connections += 1
        self.connections += 1
        if loop is not self._loop:
            self._loop = loop
            loop.call_later(self.limits.header_seconds / SWEEPS, self._sweep, loop)
        self.wait(connection, address.first)
        return address

    def wait(self, connection: Connection, waiting: Deadlines) -> None:
        """Start waiting for a request of a connection."""
        waiting.pop(connection, None)
        waiting[connection] = time.monotonic() + self.limits.header_seconds

    def close(self, connection: Connection, address: Address) -> None:
        """Remove a closed connection."""
        address.stop_waiting(connection)
        self._stalled.pop(connection, None)
        address.connections -= 1
        self.connections -= 1
        if not address.connections:
            self.addresses.pop(address.name, None)

    def stall(self, connection: Connection) -> None:
        """Note that the client reads its answer more slowly than it is written."""
        self._stalled.setdefault(connection, time.monotonic() + self.limits.seconds)

    def flow(self, connection: Connection) -> None:
        """Note that the client reads again."""
        self._stalled.pop(connection, None)

    def _make_room(self) -> bool:
        """Close some of the longest waiting connections; return whether there were any."""
        waiting = max((address.longer for address in self.addresses.values()), key=len, default=None)
        if not waiting:
            return False
        for _ in range(min(len(waiting), 1 + self.limits.connections // EVICTED)):
            waiting.popitem(last=False)[0].expire()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that have waited too long, in small batches; repeat while there are connections."""
        now, left = time.monotonic(), CLOSED
        for address in list(self.addresses.values()):
            for waiting in (address.first, address.next):
                while left and waiting and next(iter(waiting.values())) <= now:
                    waiting.popitem(last=False)[0].expire()
                    left -= 1
        while left and self._stalled and next(iter(self._stalled.values())) <= now:
            self._stalled.popitem(last=False)[0].abort()
            left -= 1
        if self.connections:
            loop.call_later(self.limits.header_seconds / SWEEPS if left else SOON, self._sweep, loop)
        else:
            self._loop = None


def limit_handshakes(loop: Any, seconds: float) -> None:
    """Make an event loop drop clients that do not finish the TLS handshake in time; uvicorn has no option for it."""
    create = loop.create_server

    def create_server(*arguments: Any, ssl: Any = None, **named: Any) -> Any:
        return create(*arguments, ssl=ssl, **named, **({"ssl_handshake_timeout": seconds} if ssl else {}))

    loop.create_server = create_server
