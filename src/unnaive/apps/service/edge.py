"""All connections of the service: which wait, since when, and which must go where time or room is up."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from unnaive.apps.service.limits import Limits

SWEEPS = 20  # in the time that a header may take
CLOSED, SOON = 8, 0.005  # most connections closed in one sweep, so that requests need not wait; seconds until the next
EVICTED = 32  # at most one of so many connections goes when room is needed


class Connection(Protocol):
    """What the edge does to a connection."""

    def expire(self) -> None:
        """Time is up: answer with 408 what was begun, and close."""

    def abort(self) -> None:
        """Close at once: the client does not take what it asked for."""


Deadlines = OrderedDict[Connection, float]  # connections by deadline, the earliest first


@dataclass(eq=False)
class Address:
    """The connections of one address: how many, and those whose first or next request is waited for."""

    name: str
    connections: int = 0
    first: Deadlines = field(default_factory=OrderedDict)
    next: Deadlines = field(default_factory=OrderedDict)

    @property
    def longer(self) -> Deadlines:
        """The connections that wait for their first request, or those for their next, whichever are more."""
        return self.first if len(self.first) >= len(self.next) else self.next

    def stop_waiting(self, connection: Connection) -> None:
        """A request has come, or never will."""
        if self.next.pop(connection, None) is None:
            self.first.pop(connection, None)


class Edge:
    """Keeps connections within their limits of time and number.

    A connection waits from when it opens, or its last answer was sent, until the header of a request has arrived. No
    timer is set for it: all have the same time, so they stand in the order of their deadlines, and one timer for all
    looks at the earliest. Where there is no room for a new connection, the address with the most waiting ones gives
    some up, of those that sent nothing yet or of those that did, whichever are more, and first those that have waited
    longest: they are not the ones of a client that sends its requests.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.addresses: dict[str, Address] = {}
        self.connections = 0
        self._stalled: OrderedDict[Connection, float] = OrderedDict()  # which do not read their answers
        self._loop: asyncio.AbstractEventLoop | None = None  # that looks from time to time

    def open(self, connection: Connection, name: str, loop: asyncio.AbstractEventLoop) -> Address | None:
        """A new connection, which waits; None where there is no room and nobody that could give any."""
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
        """A request of a connection is waited for from now on."""
        waiting.pop(connection, None)
        waiting[connection] = time.monotonic() + self.limits.header_seconds

    def close(self, connection: Connection, address: Address) -> None:
        """A connection is gone."""
        address.stop_waiting(connection)
        self._stalled.pop(connection, None)
        address.connections -= 1
        self.connections -= 1
        if not address.connections:
            self.addresses.pop(address.name, None)

    def stall(self, connection: Connection) -> None:
        """The client reads its answer more slowly than it is written."""
        self._stalled.setdefault(connection, time.monotonic() + self.limits.seconds)

    def flow(self, connection: Connection) -> None:
        """The client reads again."""
        self._stalled.pop(connection, None)

    def _make_room(self) -> bool:
        """Close some connections that have waited longest; whether there were any."""
        waiting = max((one.longer for one in self.addresses.values()), key=len, default=None)
        if not waiting:
            return False
        for _ in range(min(len(waiting), 1 + self.limits.connections // EVICTED)):
            waiting.popitem(last=False)[0].expire()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close some of what has waited too long, the rest very soon; look again as long as there is anybody."""
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
