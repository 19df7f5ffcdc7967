"""Locks that are free in a forked child: a fork waits until no thread holds one of them."""

from __future__ import annotations

from itertools import count
from threading import Lock
from weakref import ref

from unnaive.base.system import at_fork

_FORKING = Lock()  # only one fork at a time
_REGISTRY = Lock()  # guards the list below
_LOCKS: dict[int, ref[Lock]] = {}  # by number; a lock that is no longer used is removed
_NUMBERS = count()
_HELD: list[Lock] = []


def fork_safe_lock() -> Lock:
    """A lock that is free in a forked child, whatever other threads do during the fork.

    >>> with fork_safe_lock() as held:
    ...     held
    True
    """
    lock = Lock()
    number = next(_NUMBERS)
    with _REGISTRY:
        _LOCKS[number] = ref(lock, lambda _: _LOCKS.pop(number, None))
    return lock


def _hold_all() -> None:
    """Acquire every lock, then the registry: a thread that holds a lock may need the registry to create another."""
    _FORKING.acquire()
    while True:
        _REGISTRY.acquire()
        held = set(map(id, _HELD))
        more = [
            lock for reference in list(_LOCKS.values()) if (lock := reference()) is not None and id(lock) not in held
        ]
        if not more:
            return
        _REGISTRY.release()
        for lock in more:
            lock.acquire()
            _HELD.append(lock)


def _release_all() -> None:
    while _HELD:
        _HELD.pop().release()
    _REGISTRY.release()
    _FORKING.release()


at_fork(before=_hold_all, after=_release_all)
