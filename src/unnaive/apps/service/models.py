"""The models of a service by name, and the threads that work for them off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from unnaive.apps.common.web.answered_by import note_version
from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.batching import Batcher, Scored, TopScored
from unnaive.apps.service.drift import measure_drift
from unnaive.apps.service.model_metrics import ModelMetrics
from unnaive.apps.service.served import ServedModel

Found = TypeVar("Found")


class Models:
    """The served models; the first is the default. Scoring, changing and explaining have one thread each."""

    def __init__(
        self, paths: dict[str, Path], limits: Limits, metrics: ModelMetrics, *, teachable: bool, grow: bool = False
    ) -> None:
        self.limits, self.metrics = limits, metrics
        self.grow = grow  # whether other tools may add classes
        self._scoring = ThreadPoolExecutor(1, "scoring")
        self._changing = ThreadPoolExecutor(1, "changing")
        self._working = ThreadPoolExecutor(2, "working")
        self._models = {name: ServedModel(name, path, teachable=teachable, grow=grow) for name, path in paths.items()}
        self._batchers = {name: Batcher(model, self._scoring) for name, model in self._models.items()}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    def find(self, name: str | None) -> ServedModel:
        """A model by name, or the first; also records its version for the response headers."""
        if name is not None and name not in self._models:
            raise Refused(404, f"there is no model called {name!r}; there are {', '.join(sorted(self._models))}")
        model = next(iter(self)) if name is None else self._models[name]
        note_version(model.name, model.version.number)
        return model

    @property
    def problem(self) -> str | None:
        """Why the service is not fully working; None if it is."""
        return next((model.problem for model in self if model.problem), None)

    async def score(self, model: ServedModel, texts: list[str], limit: int | None = None) -> Scored:
        """Score the texts together with those of other requests; `limit` is for `Scored.json`."""
        self.metrics.texts.labels(model.name).inc(len(texts))
        scored = await self._batchers[model.name].score(texts, limit)
        note_version(model.name, scored.version.number)
        return scored

    async def find_top(self, model: ServedModel, texts: list[str], limit: int) -> Scored | TopScored:
        """Find the `limit` best classes of each text, for answers that need no other scores."""
        self.metrics.texts.labels(model.name).inc(len(texts))
        scored = await self._batchers[model.name].find_top(texts, limit)
        note_version(model.name, scored.version.number)
        return scored

    async def work(self, function: Callable[..., Found], *arguments: Any, **named: Any) -> Found:
        """Run a function in a thread and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._working, lambda: function(*arguments, **named))

    async def change(self, function: Callable[..., Found], *arguments: Any, **named: Any) -> Found:
        """Run a function that changes a model, one at a time; it completes even if the client disconnects."""
        run = asyncio.get_running_loop().run_in_executor(self._changing, lambda: function(*arguments, **named))
        return await asyncio.shield(run)

    def count_change(self, model: ServedModel, answer: dict[str, Any]) -> None:
        """Count the documents taught and forgotten; also records the new version for the response headers."""
        note_version(model.name, answer["version"])
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

    async def reload_changed(self, seen: dict[str, Any] | None = None) -> None:
        """Reload model files that were replaced; with `seen`, only those unchanged since the last check.

        A file that is written in place is then complete.
        """
        for model in self:
            changed = model.file_changed()
            if changed is not None and (seen is None or seen.get(model.name) == changed):
                await self.change(model.reload)
            if seen is not None:
                seen[model.name] = changed

    async def measure_all(self) -> None:
        """Evaluate the current versions of models that have documents for evaluation."""
        for model in self:
            await self.work(model.measure)

    async def write_all(self) -> None:
        """Rewrite the model files that are behind their records."""
        for model in self:
            await self.change(model.write_file)

    def close(self) -> None:
        """Finish pending work, write the model files, and close the records."""
        self._changing.shutdown()
        self._scoring.shutdown()
        self._working.shutdown()
        for model in self:
            model.close()
