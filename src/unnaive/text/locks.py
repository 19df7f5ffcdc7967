"""Locks that a forked child can take: fork waits until nobody holds one, so that none is inherited locked."""

from __future__ import annotations

import os
from threading import Lock
from weakref import WeakSet

_LOCKS: WeakSet[Lock] = WeakSet()
_HELD: list[Lock] = []


def fork_safe_lock() -> Lock:
    """A lock that is free in a child, whatever other threads do while the process forks.

    >>> with fork_safe_lock() as held:
    ...     held
    True
    """
    lock = Lock()
    _LOCKS.add(lock)
    return lock


def _hold_all() -> None:
    for lock in list(_LOCKS):
        lock.acquire()
        _HELD.append(lock)


def _release_all() -> None:
    while _HELD:
        _HELD.pop().release()


os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_all)
