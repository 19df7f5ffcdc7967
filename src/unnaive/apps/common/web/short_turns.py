"""Short turns of the interpreter while a thread computes in Python, so that answers to others hardly wait for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 0.0005  # an answer waits this long for each of its turns; by default 5 ms

_lock = threading.Lock()
_usual: list[float] = []  # the interval before each of the blocks; all but the first found the short one


@contextmanager
def short_turns() -> Iterator[None]:
    """Let other threads have the interpreter often until the block ends; always, it would cost every request time.

    >>> usual = sys.getswitchinterval()
    >>> with short_turns():
    ...     sys.getswitchinterval()
    0.0005
    >>> sys.getswitchinterval() == usual
    True
    """
    with _lock:
        _usual.append(sys.getswitchinterval())
        sys.setswitchinterval(SECONDS)
    try:
        yield
    finally:
        with _lock:
            if len(_usual) == 1:
                sys.setswitchinterval(_usual[0])
            _usual.pop()
