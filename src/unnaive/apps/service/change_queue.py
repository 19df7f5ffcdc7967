"""The changes that wait for a model: one thread makes them, those that teach together.

`auto` refits its members at each change, which takes seconds. Documents that arrive meanwhile are written to the record
and learnt together, in the next refit: so a client waits for at most two of them, however many teach.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.short_turns import short_turns
from unnaive.apps.service.requested_changes import RequestedChange
from unnaive.apps.service.served import ServedModel

MOST = 64  # requests answered by one refit
STOPPING = "the service is stopping, and nothing of this request was done; send it again when it has started"

Done = TypeVar("Done")


class ChangeQueue:
    """The changes of one model, in the order in which they came."""

    def __init__(self, model: ServedModel) -> None:
        self._model = model
        self._executor = ThreadPoolExecutor(1, f"changing {model.name}")
        self._waiting: deque[tuple[RequestedChange, Future[dict[str, Any]]]] = deque()
        self._lock = threading.Lock()
        self._stopping = False

    async def change(self, request: RequestedChange) -> dict[str, Any]:
        """Make a change, perhaps together with others; it completes even if the client disconnects."""
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._stopping:
                raise Refused(503, STOPPING)
            self._waiting.append((request, future))
            self._executor.submit(self._change_waiting)
        return await asyncio.shield(asyncio.wrap_future(future))

    async def run(self, function: Callable[..., Done], *arguments: Any, **named: Any) -> Done:
        """Run another function that changes the model, when those before it are done; it too completes."""

        def work() -> Done:
            if self._stopping:
                raise Refused(503, STOPPING)
            with short_turns():
                return function(*arguments, **named)

        with self._lock:
            if self._stopping:
                raise Refused(503, STOPPING)
            future = self._executor.submit(work)
        return await asyncio.shield(asyncio.wrap_future(future))

    def stop(self) -> None:
        """Refuse what waits and what comes; a change that is being made is completed."""
        with self._lock:
            self._stopping = True
            waiting = self._take(len(self._waiting))
        for _, future in waiting:
            future.set_exception(Refused(503, STOPPING))

    def close(self) -> None:
        """Wait until the change that is being made is done."""
        self.stop()
        self._executor.shutdown()

    def _take(self, most: int) -> list[tuple[RequestedChange, Future[dict[str, Any]]]]:
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def _change_waiting(self) -> None:
        """Make the changes that wait; nothing if an earlier call has made them."""
        with self._lock:
            batch = self._take(MOST)
        while batch:
            try:
                with short_turns():
                    outcomes = self._model.change_together([request for request, _ in batch])
            except BaseException as problem:
                for _, future in batch:
                    future.set_exception(problem)
                return
            left = []
            for (request, future), outcome in zip(batch, outcomes, strict=True):
                if outcome is None:
                    left.append((request, future))
                elif isinstance(outcome, Exception):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
            batch = left
