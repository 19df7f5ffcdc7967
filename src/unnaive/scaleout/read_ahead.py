"""Reading and counting overlap: other threads read documents in small blocks.

Documents that are read and not yet counted take memory, so blocks are small and few of them wait.
"""

from __future__ import annotations

import queue
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from unnaive.base.errors import UnnaiveWarning
from unnaive.base.thread_count import thread_count
from unnaive.io.datafiles import DataFile

T = TypeVar("T")

AHEAD = 1  # maximum number of waiting items
BLOCK = 1 << 19  # bytes of a block per thread: more threads share a larger block
MOST_READERS = 8  # threads that read: each holds a block
PATIENCE = 1.0  # seconds to wait for the thread to end; one that waits for stdin is abandoned
_END = object()


def counting_threads(n_jobs: int | None) -> int:
    """The number of threads that count while others read: half of them.

    A counting thread needs a copy of all terms so far; a reading thread needs only its block.
    """
    return max(1, thread_count(n_jobs) // 2)


def in_small_blocks(source: DataFile, n_jobs: int | None) -> DataFile:
    """The same documents, in blocks small enough for several of them to be in memory."""
    readers = min(thread_count(n_jobs), MOST_READERS)
    return replace(source, options=replace(source.options, threads=readers, block=BLOCK * readers))


@contextmanager
def reading_again(source: DataFile) -> Iterator[DataFile]:
    """Read the same documents again, without progress and without the warnings of the first reading."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        yield replace(source, options=replace(source.options, on_read=None))


@contextmanager
def read_ahead(items: Iterator[T], ahead: int = AHEAD) -> Iterator[Iterator[T]]:
    """The same items, computed in another thread, at most `ahead` of them in advance.

    An error of the iterator is raised in place of its item. When the block ends, the thread ends too, and the iterator
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
