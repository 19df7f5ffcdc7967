"""An iterator that works in a thread of its own, so that reading and counting overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

AHEAD = 2  # items that wait at most
PATIENCE = 1.0  # seconds for the thread to end: one that waits for stdin is left to itself
_END = object()


@contextmanager
def read_ahead(items: Iterator[T], ahead: int = AHEAD) -> Iterator[Iterator[T]]:
    """The same items, made in another thread, at most `ahead` of them in advance.

    An error of the iterator comes out where its item would. When the block ends, so does the thread, and the iterator
    is closed.

    >>> with read_ahead(iter([1, 2, 3])) as items:
    ...     list(items)
    [1, 2, 3]
    """
    waiting: queue.Queue[object] = queue.Queue(ahead)
    stopped = threading.Event()
    problems: list[BaseException] = []

    def put(item: object) -> None:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    break
        except BaseException as problem:  # raised again where the item would have come
            problems.append(problem)
        finally:
            put(_END)

    def take() -> Iterator[T]:
        while (item := waiting.get()) is not _END:
            yield item  # type: ignore[misc]
        if problems:
            raise problems[0]

    thread = threading.Thread(target=work, name="read ahead", daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        stopped.set()
        thread.join(PATIENCE)
        close = getattr(items, "close", None)
        if close is not None and not thread.is_alive():
            close()
