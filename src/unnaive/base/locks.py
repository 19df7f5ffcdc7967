"""Locks that are free in a forked child: a fork waits until no other thread holds one of them."""

from __future__ import annotations

from itertools import count
from threading import Lock, RLock
from typing import Any
from weakref import ref

from unnaive.base.errors import UnnaiveError
from unnaive.base.system import at_fork

_FORKING = Lock()  # only one fork at a time
_REGISTRY = Lock()  # guards the list below
_LOCKS: dict[int, ref[Any]] = {}  # by number; a lock that is no longer used is removed
_NUMBERS = count()
_HELD: list[Any] = []


def fork_safe_lock() -> Any:
    """A lock that is free in a forked child, whatever other threads do during the fork.

    The thread that holds it may take it again: a signal handler, or a fork in one, never waits for the call that it
    interrupts. `Unnested` is for what such a handler must not do.

    >>> with fork_safe_lock() as held:
    ...     held
    True
    """
    lock = RLock()
    number = next(_NUMBERS)
    with _REGISTRY:
        _LOCKS[number] = ref(lock, lambda _: _LOCKS.pop(number, None))
    return lock


class Unnested:
    """Refuses a signal handler what the call that it interrupts is in the middle of; held together with a lock.

    >>> unnested = Unnested()
    >>> with unnested, unnested:
    ...     pass
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: a signal handler cannot use a model in the middle of a call that uses it; ...
    """

    def __init__(self) -> None:
        self._in_use = False

    def __enter__(self) -> None:  # no call between the test and the end, so that Ctrl-C cannot leave it in use
        if self._in_use:
            raise UnnaiveError(
                "a signal handler cannot use a model in the middle of a call that uses it; let the handler set a flag, "
                "and look at the flag after the call"
            )
        self._in_use = True

    def __exit__(self, *_: object) -> None:
        self._in_use = False


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
