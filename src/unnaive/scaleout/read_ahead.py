"""Reading and counting overlap: documents in small blocks, read by threads of their own.

What is read and not yet counted takes memory however large the data is, so blocks are small and few of them wait.
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
from unnaive.io.datafiles import DataFile
from unnaive.text.backend import thread_count

T = TypeVar("T")

AHEAD = 1  # items that wait at most
BLOCK = 1 << 19  # bytes of a block for each thread: with more threads a block is shared by more
MOST_READERS = 8  # threads that read: each holds a block
PATIENCE = 1.0  # seconds for the thread to end: one that waits for stdin is left to itself
_END = object()


def counting_threads(n_jobs: int | None) -> int:
    """How many threads count while others read: half of them.

    A thread that counts a part of a block needs a copy of all terms so far. One that reads needs a block alone.
    """
    return max(1, thread_count(n_jobs) // 2)


def in_small_blocks(source: DataFile, n_jobs: int | None) -> DataFile:
    """The same documents, read in blocks that are small enough to have several of them in memory."""
    readers = min(thread_count(n_jobs), MOST_READERS)
    return replace(source, options=replace(source.options, threads=readers, block=BLOCK * readers))


@contextmanager
def reading_again(source: DataFile) -> Iterator[DataFile]:
    """The same documents another time: without progress, and without the warnings that the other reading gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        yield replace(source, options=replace(source.options, on_read=None))


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
