"""Score requests that wait at the same time in one call of the kernel, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from unnaive.apps.service.answers import Answers, TopAnswers
from unnaive.apps.service.drift import RecentScores
from unnaive.apps.service.rendering import Rendered, render_plain, render_rows
from unnaive.apps.service.served import ServedModel
from unnaive.apps.service.version import Version
from unnaive.base.types import Floats
from unnaive.learning.top_labels import TopLabels, tells_by_best

MOST = 256  # texts scored in one call, unless a single request has more
NEXT = 64  # texts waiting at which the next call is prepared while one is running


class TopScored:
    """The results of one request with at most `limit` best classes of each text, and the version used."""

    def __init__(self, version: Version, top: TopLabels, limit: int) -> None:
        self.version, self.limit = version, limit
        self.answers = TopAnswers(version.fitted, top)

    def json(self) -> bytes:
        """The results for each text as JSON, separated by commas."""
        return self.render(b",").joined(0, len(self.answers.top))

    def render(self, separator: bytes, more: dict[str, Any] | None = None) -> Rendered:
        """The results as JSON in parts; `more` is added to each result."""
        return render_plain(self.answers, self.limit, separator, more)


class Scored:
    """The scored texts of one request: the version used, and scores (n_texts, n_classes)."""

    def __init__(self, version: Version, scores: Floats, limit: int | None, together: Sequence[Scored] = ()) -> None:
        self.version, self.scores, self.limit = version, scores, limit
        self._together = together  # the requests scored in the same call
        self._json: bytes | None = None

    @property
    def answers(self) -> Answers:
        """The results as values."""
        return Answers.of(self.version.fitted, self.scores)

    def render(self, separator: bytes, more: dict[str, Any] | None = None) -> Rendered:
        """The results as JSON in parts; `more` is added to each result."""
        return render_rows(self.version, self.scores, self.limit, separator, more)

    def json(self) -> bytes:
        """The results for each text as JSON, with at most `limit` classes, separated by commas.

        Requests that were scored together and have the same limit are serialised together, by the first that asks.
        """
        if self._json is None:
            alone = self.version.fitted.decision.per_batch  # such a decision would mix the documents of several clients
            same = [self] if alone else [request for request in self._together if request.limit == self.limit] or [self]
            rendered = render_rows(self.version, np.concatenate([request.scores for request in same]), self.limit, b",")
            at = 0
            for request in same:
                request._json = rendered.joined(at, at + len(request.scores))
                request._together = ()  # release the reference to the other requests
                at += len(request.scores)
        return self._json or b""


# texts, number of classes to list, and the future of the answer
WaitingRequest = tuple[list[str], int | None, asyncio.Future[Scored]]


class Batcher:
    """Score texts with the current version of a model; requests that arrive during a call are scored together in the
    next.

    Each call reads the version once, so all texts of a request are scored by the same version. The scoring thread runs
    little but the kernel, which releases the GIL: meanwhile the event loop reads and writes other requests. Calls are
    limited in size and the next one may be prepared early, so that neither waits for the other.
    """

    def __init__(self, model: ServedModel, executor: ThreadPoolExecutor) -> None:
        self.model, self._executor = model, executor
        self.recent = RecentScores()
        self._waiting: list[WaitingRequest] = []
        self._waiting_texts = 0
        self._calls = 0  # running or about to start
        self._tasks: set[asyncio.Task[None]] = set()

    async def find_top(self, texts: list[str], limit: int) -> Scored | TopScored:
        """Find the `limit` best classes of each text, without scoring all classes if the model supports that."""
        if not tells_by_best(self.model.version.fitted):
            return await self.score(texts, limit)
        loop = asyncio.get_running_loop()
        version, top = await loop.run_in_executor(self._executor, find_top_texts, self.model, texts, limit)
        return await self.score(texts, limit) if top is None else TopScored(version, top, limit)

    async def score(self, texts: list[str], limit: int | None = None) -> Scored:
        """Score the texts; `limit` is for `Scored.json`."""
        loop = asyncio.get_running_loop()
        if len(texts) > MOST // 2:
            version, scores = await loop.run_in_executor(self._executor, score_texts, self.model, texts)
            self.recent.note(version.fitted.classes, scores)
            return Scored(version, scores, limit)
        answer: asyncio.Future[Scored] = loop.create_future()
        self._waiting.append((texts, limit, answer))
        self._waiting_texts += len(texts)
        if not self._calls or (self._calls == 1 and self._waiting_texts >= NEXT):
            self._calls += 1
            task = loop.create_task(self._work(loop))  # the event loop keeps no reference to its tasks
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Score waiting requests until there are none."""
        try:
            while self._waiting:
                await self._score_batch(loop, self._take())
        finally:
            self._calls -= 1

    async def _score_batch(self, loop: asyncio.AbstractEventLoop, batch: list[WaitingRequest]) -> None:
        texts = [text for part, _, _ in batch for text in part]
        try:
            version, scores = await loop.run_in_executor(self._executor, score_texts, self.model, texts)
        except Exception as problem:
            for _, _, answer in batch:
                if not answer.done():
                    answer.set_exception(problem)
            return
        self.recent.note(version.fitted.classes, scores)
        at = 0
        together: list[Scored] = []
        for part, limit, answer in batch:
            if not answer.done():  # the client may have disconnected
                together.append(Scored(version, scores[at : at + len(part)], limit, together))
                answer.set_result(together[-1])
            at += len(part)

    def _take(self) -> list[WaitingRequest]:
        """Take the oldest requests, as many as fit into one call."""
        size = taken = 0
        while taken < len(self._waiting) and (not taken or size + len(self._waiting[taken][0]) <= MOST):
            size += len(self._waiting[taken][0])
            taken += 1
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        self._waiting_texts -= size
        return batch


def find_top_texts(model: ServedModel, texts: list[str], limit: int) -> tuple[Version, TopLabels | None]:
    """The current version of the model, and the best classes of the texts; None if it must score all classes."""
    version = model.version
    return version, version.fitted.top_labels(texts, limit)


def score_texts(model: ServedModel, texts: list[str]) -> tuple[Version, Floats]:
    """The current version of the model, and its scores for the texts."""
    version = model.version
    return version, version.fitted.scores(texts)
