"""The models of a service by name, and the threads that work for them off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from unnaive.apps.common.web.answered_by import note_version
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.common.web.short_turns import short_turns
from unnaive.apps.service.batching import Batcher, Scored, TopScored
from unnaive.apps.service.change_queue import ChangeQueue
from unnaive.apps.service.drift import measure_drift
from unnaive.apps.service.model_metrics import ModelMetrics
from unnaive.apps.service.problems import LOAD, MEASURE, WRITE
from unnaive.apps.service.requested_changes import RequestedChange
from unnaive.apps.service.served import ServedModel
from unnaive.curation.teaching.teaching_log import NotRecordedError

Found = TypeVar("Found")


class Models:
    """The served models; the first is the default.

    Scoring has one thread, explaining two, tables one, and the changes of each model one. A table takes seconds of
    Python code: several at once would leave little of the interpreter to other requests.
    """

    def __init__(
        self,
        paths: dict[str, Path],
        limits: Limits,
        metrics: ModelMetrics,
        *,
        teachable: bool,
        new_classes: bool = False,
    ) -> None:
        self.limits, self.metrics = limits, metrics
        self.new_classes = new_classes  # whether other tools may add classes
        self._scoring = ThreadPoolExecutor(1, "scoring")
        self._working = ThreadPoolExecutor(2, "working")
        self._reading = ThreadPoolExecutor(1, "reading")
        self._models = {
            name: ServedModel(name, path, teachable=teachable, new_classes=new_classes) for name, path in paths.items()
        }
        self._queues = {name: ChangeQueue(model) for name, model in self._models.items()}
        self._batchers = {name: Batcher(model, self._scoring) for name, model in self._models.items()}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def find(self, name: str | None) -> ServedModel:
        """A model by name, or the first; also records its version for the response headers."""
        if name is not None and name not in self._models:
            raise Refused(404, f"there is no model called {name!r}; there are {', '.join(sorted(self._models))}")
        model = next(iter(self)) if name is None else self._models[name]
        note_version(model.name, model.version.number, model.version.id)
        return model

    @property
    def problem(self) -> str | None:
        """Why the service is not ready; None if it is."""
        return next((model.problems.preventing for model in self if model.problems.preventing), None)

    @property
    def problems(self) -> list[str]:
        """All problems, also those with which the service is ready."""
        return [sentence for model in self for sentence in model.problems.sentences]

    async def score(self, model: ServedModel, texts: list[str], limit: int | None = None) -> Scored:
        """Score the texts together with those of other requests; `limit` is for `Scored.json`."""
        self.metrics.texts.labels(model.name).inc(len(texts))
        scored = await self._batchers[model.name].score(texts, limit)
        note_version(model.name, scored.version.number, scored.version.id)
        return scored

    async def find_top(self, model: ServedModel, texts: list[str], limit: int) -> Scored | TopScored:
        """Find the `limit` best classes of each text, for answers that need no other scores."""
        self.metrics.texts.labels(model.name).inc(len(texts))
        scored = await self._batchers[model.name].find_top(texts, limit)
        note_version(model.name, scored.version.number, scored.version.id)
        return scored

    async def work(self, function: Callable[..., Found], *arguments: Any, **named: Any) -> Found:
        """Run a function in a thread and return its result."""

        def work() -> Found:
            with short_turns():
                return function(*arguments, **named)

        return await asyncio.get_running_loop().run_in_executor(self._working, work)

    async def read(self, function: Callable[[], Found]) -> Found:
        """Run a function that reads a table, one at a time, and return its result."""

        def work() -> Found:
            with short_turns():
                return function()

        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def change(self, model: ServedModel, function: Callable[..., Found], *arguments: Any, **named: Any) -> Found:
        """Run a function that changes a model, one at a time; it completes even if the client disconnects."""
        with refusing_unrecorded():
            return await self._queues[model.name].run(function, *arguments, **named)

    async def teach(self, model: ServedModel, request: RequestedChange) -> dict[str, Any]:
        """Make a change, together with others that wait for the same model; it too completes."""
        with refusing_unrecorded():
            return await self._queues[model.name].change(request)

    def count_change(self, model: ServedModel, answer: dict[str, Any]) -> None:
        """Count the documents taught and forgotten; also records the new version for the response headers."""
        note_version(model.name, answer["version"], answer["version_id"])
        if not answer["repeated"]:
            self.metrics.changes.labels(model.name, "taught").inc(answer["taught"])
            self.metrics.changes.labels(model.name, "forgotten").inc(answer["forgotten"])

    async def update_gauges(self) -> None:
        """Update the gauges that are computed on demand: versions, and the drift of recent texts."""
        for model in self:
            version = model.version
            self.metrics.version.labels(model.name).set(version.number)
            drift = await self.work(measure_drift, version.fitted, self._batchers[model.name].recent.scores())
            self.metrics.set_drift(model.name, version.fitted.classes, drift)
            self.metrics.set_problems(model.name, model.problems)

    async def reload_changed(self, seen: dict[str, Any] | None = None) -> None:
        """Reload model files that were replaced; with `seen`, only those unchanged since the last check.

        A file that is written in place is then complete.
        """
        for model in self:
            with surviving(model, LOAD, "its file could not be checked"):
                changed = model.file_changed()
                if changed is not None and (seen is None or seen.get(model.name) == changed):
                    await self.change(model, model.reload)
                if seen is not None:
                    seen[model.name] = changed

    async def measure_all(self) -> None:
        """Evaluate the current versions of models that have documents for evaluation."""
        for model in self:
            with surviving(model, MEASURE, "a version could not be evaluated"):
                measured = await self.work(model.evaluations.measure, model.version)
                if measured is not None:
                    await self.change(model, model.evaluations.keep, *measured)
                    model.problems.clear(MEASURE)

    async def write_all(self) -> None:
        """Rewrite the model files that are behind their records."""
        for model in self:
            with surviving(model, WRITE, "its file could not be written"):
                await self.change(model, model.write_file)

    def stop(self) -> None:
        """Refuse changes that wait, since the service stops."""
        for queue in self._queues.values():
            queue.stop()

    def close(self) -> None:
        """Finish pending work, write the model files, and close the records."""
        for queue in self._queues.values():
            queue.close()
        self._scoring.shutdown()
        self._working.shutdown()
        self._reading.shutdown()
        for model in self:
            with surviving(model, WRITE, "its file could not be written"):
                model.close()


@contextmanager
def surviving(model: ServedModel, kind: str, what: str) -> Iterator[None]:
    """Note whatever goes wrong with a model in the background as its problem; the next round tries again."""
    try:
        yield
    except Exception as problem:
        model.problems.note(kind, f"{model.name}: {what} ({problem})")


@contextmanager
def refusing_unrecorded() -> Iterator[None]:
    """Answer 503 if a change could not be written to the record."""
    try:
        yield
    except NotRecordedError as problem:
        raise Refused(503, str(problem)) from problem
