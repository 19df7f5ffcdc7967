"""Small requests that wait at the same time are scored in one call of the kernel, off the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from unnaive.apps.service.served import ServedModel, Version
from unnaive.types import Floats

MOST = 1_024  # texts scored in one call, unless one request has more

Scored = tuple[Version, Floats]


class Batcher:
    """Scores texts with the current version of a model; what comes while it works is scored together next.

    Each call takes the version once, so all texts of a request are scored by the same one.
    """

    def __init__(self, model: ServedModel, executor: ThreadPoolExecutor) -> None:
        self.model, self._executor = model, executor
        self._waiting: list[tuple[list[str], asyncio.Future[Scored]]] = []
        self._running: asyncio.Task[None] | None = None

    async def score(self, texts: list[str]) -> Scored:
        """The version that scored the texts, and their scores (n_texts, n_classes)."""
        loop = asyncio.get_running_loop()
        if len(texts) > MOST // 4:
            return await loop.run_in_executor(self._executor, score_texts, self.model, texts)
        answer: asyncio.Future[Scored] = loop.create_future()
        self._waiting.append((texts, answer))
        if self._running is None or self._running.done():
            self._running = loop.create_task(self._work(loop))
        return await answer

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            batch = self._take()
            texts = [text for part, _ in batch for text in part]
            try:
                version, scores = await loop.run_in_executor(self._executor, score_texts, self.model, texts)
            except Exception as problem:
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(problem)
                continue
            at = 0
            for part, answer in batch:
                if not answer.done():  # a client may have gone meanwhile
                    answer.set_result((version, scores[at : at + len(part)]))
                at += len(part)

    def _take(self) -> list[tuple[list[str], asyncio.Future[Scored]]]:
        """As many requests as fit into one call, the first ones first."""
        size = taken = 0
        while taken < len(self._waiting) and (not taken or size + len(self._waiting[taken][0]) <= MOST):
            size += len(self._waiting[taken][0])
            taken += 1
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return batch


def score_texts(model: ServedModel, texts: list[str]) -> Scored:
    """The current version of the model, and its scores of the texts."""
    version = model.version
    return version, version.fitted.scores(texts)
