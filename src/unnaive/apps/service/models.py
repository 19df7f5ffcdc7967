"""The models of a service by name, and how work is done for them off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from unnaive.apps.service.answered_by import note_version
from unnaive.apps.service.batching import Batcher, Scored, TopScored
from unnaive.apps.service.drift import measure_drift
from unnaive.apps.service.limits import Limits
from unnaive.apps.service.metrics import Metrics
from unnaive.apps.service.refused import Refused
from unnaive.apps.service.served import ServedModel
from unnaive.base.errors import count_noun

Found = TypeVar("Found")


class Models:
    """The served models; the first is the default. Scoring, changing and explaining have a thread each."""

    def __init__(
        self, paths: dict[str, Path], limits: Limits, metrics: Metrics, *, teachable: bool, grow: bool = False
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
        """A model by name, or the first; the answer will name its version."""
        if name is not None and name not in self._models:
            raise Refused(404, f"there is no model called {name!r}; there are {', '.join(sorted(self._models))}")
        model = next(iter(self)) if name is None else self._models[name]
        note_version(model.name, model.version.number)
        return model

    @property
    def problem(self) -> str | None:
        """Why the service cannot do all of its work; None where it can."""
        return next((one.problem for one in self if one.problem), None)

    def check_texts(self, texts: list[str]) -> list[str]:
        """The texts, refused if there are too many, or one is too long."""
        if len(texts) > self.limits.batch:
            raise Refused(
                413, f"{count_noun(len(texts), 'text')} came, at most {self.limits.batch:,} are taken at once"
            )
        for text in texts:
            if len(text) > self.limits.text:
                raise Refused(413, f"a text has {len(text):,} characters, at most {self.limits.text:,} are taken")
        return texts

    async def score(self, model: ServedModel, texts: list[str], limit: int | None = None) -> Scored:
        """The texts, scored in one call with those of other requests; `limit` is for `Scored.json`."""
        self.metrics.texts.labels(model.name).inc(len(texts))
        scored = await self._batchers[model.name].score(texts, limit)
        note_version(model.name, scored.version.number)
        return scored

    async def find_top(self, model: ServedModel, texts: list[str], limit: int) -> Scored | TopScored:
        """The texts with their `limit` best classes, for answers that need no scores of others."""
        self.metrics.texts.labels(model.name).inc(len(texts))
        scored = await self._batchers[model.name].find_top(texts, limit)
        note_version(model.name, scored.version.number)
        return scored

    async def work(self, function: Callable[..., Found], *given: Any, **named: Any) -> Found:
        """What a function returns, run in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._working, lambda: function(*given, **named))

    async def change(self, function: Callable[..., Found], *given: Any, **named: Any) -> Found:
        """The same for functions that change a model, one after the other; finished even if the client leaves."""
        run = asyncio.get_running_loop().run_in_executor(self._changing, lambda: function(*given, **named))
        return await asyncio.shield(run)

    def count_change(self, model: ServedModel, found: dict[str, Any]) -> None:
        """Count documents that were taught and forgotten; the answer names the version that the model has now."""
        note_version(model.name, found["version"])
        if not found["repeated"]:
            self.metrics.changes.labels(model.name, "taught").inc(found["taught"])
            self.metrics.changes.labels(model.name, "forgotten").inc(found["forgotten"])

    async def update_gauges(self) -> None:
        """Set what is measured only when somebody asks: versions, and the drift of recent texts."""
        for one in self:
            version = one.version
            self.metrics.version.labels(one.name).set(version.number)
            drift = await self.work(measure_drift, version.fitted, self._batchers[one.name].recent.scores())
            self.metrics.set_drift(one.name, version.fitted.classes, drift)

    async def reload_changed(self, seen: dict[str, Any] | None = None) -> None:
        """Take over model files that were replaced; with `seen`, those that look as they did at the last look.

        Whoever writes a file in place has finished by then.
        """
        for model in self:
            found = model.file_changed()
            if found is not None and (seen is None or seen.get(model.name) == found):
                await self.change(model.reload)
            if seen is not None:
                seen[model.name] = found

    async def measure_all(self) -> None:
        """Measure the versions that are served now, of models for which there are documents to measure on."""
        for model in self:
            await self.work(model.measure)

    async def fold_all(self) -> None:
        """Rewrite the model files that are behind their records."""
        for model in self:
            await self.change(model.fold)

    def close(self) -> None:
        """Finish what was begun, fold, and leave the records."""
        self._changing.shutdown()
        self._scoring.shutdown()
        self._working.shutdown()
        for model in self:
            model.close()
