"""Options and results of reproducing a paper: PaperRun holds the user's options, a Measurement is one of our figures.

The module of each paper has a function `(Run) -> Iterable[Measurement]` for each of its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.data.corpus import Corpus
from unnaive.models.catalogue import MODELS


@dataclass(frozen=True)
class Measurement:
    """One of our figures: its cell in the table, its standard deviation if it is a mean, and a remark.

    `reason` says why this run differs from the published one if only the run can know (other data, for instance).
    """

    row: str
    column: str
    value: float
    spread: float | None = None
    note: str = ""
    reason: str = ""

    @classmethod
    def of_values(cls, row: str, column: str, values: Sequence[float], note: str = "") -> Measurement:
        """The mean over splits or seeds, with its standard deviation if there are several."""
        mean, spread = mean_and_spread(values)
        return cls(row, column, mean, spread if len(values) > 1 else None, note)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (divisor n − 1; 0 for a single value).

    >>> mean_and_spread([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


@dataclass(frozen=True)
class PaperModel:
    """A row or column of a table: its printed name, our model, and its settings."""

    label: str
    model: str
    settings: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class PaperRun:
    """The options for reproducing a paper; hashable, so that tables can share what they computed.

    `models` selects classifiers: labels of the table, names of models, or families ("naive-bayes", "baselines").
    `records` is a folder for the records of random splits; with it an interrupted run can be continued.
    """

    data: Path | None = None
    quick: bool = False
    seed: int = 0
    models: tuple[str, ...] | None = None
    jobs: int = 1
    progress: Callable[[str], None] | None = None
    records: Path | None = None

    def wants(self, label: str, model: str) -> bool:
        """Whether the classifier printed as `label` exists and is selected.

        >>> PaperRun(models=("naive-bayes",)).wants("NBayes", "multinomial")
        True
        >>> PaperRun().wants("Oracle", "does-not-exist")
        False
        """
        return model in MODELS and self.keeps(label, model)

    def keeps(self, label: str, model: str) -> bool:
        """Whether this classifier is selected, whether or not it exists."""
        names = {label.lower(), model, family(model)}
        return self.models is None or any(wanted.lower() in names for wanted in self.models)

    def tell(self, message: str) -> None:
        """Report progress to the caller."""
        if self.progress is not None:
            self.progress(message)

    def has(self, name: str) -> bool:
        """Whether a benchmark collection is in the data folder of this run."""
        from unnaive.papers.collections import collection_path

        try:
            collection_path(name, self.data)
        except BadData:
            return False
        return True

    def corpus(self, name: str, view: str | None = None) -> Corpus:
        """A benchmark collection from the data folder of this run."""
        from unnaive.papers.collections import load

        self.tell(f"reading {name}")
        return load(name, view=view, data=self.data)


def family(model: str) -> str:
    """The module or folder of unnaive.models that contains a model, as a name.

    >>> family("bernoulli")
    'naive-bayes'
    """
    if model not in MODELS:
        return model
    return MODELS[model].split(":")[0].split(".")[2].replace("_", "-")


Runner = Callable[[PaperRun], Iterable[Measurement]]
