"""The tables of the maxent-bridge paper, run again on the two of its five collections that can be had.

Naive Bayes is trained and asked on documents of unit length with epsilon 1e-5, as the paper reads; the error without
that normalisation stands in the note of its cell. The columns of GIS belong to maximum entropy: a row in CLASSIFIERS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unnaive.core.weighting import Weighting
from unnaive.evaluation.papers.preparation import Prepared, prepared
from unnaive.evaluation.papers.sweep import mean_and_spread, swept
from unnaive.evaluation.papers.tables import Measurement, Run, Runner
from unnaive.evaluation.trials import Contender, Material, Plan

TRAIN_SIZE = 80.0
EPSILON = 1e-5
VOCABULARIES: tuple[int | None, ...] = (100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, None)
QUICK_VOCABULARIES: tuple[int | None, ...] = (1000, None)


@dataclass(frozen=True)
class Classifier:
    """A column of table 2: as printed, the model of ours, its settings."""

    label: str
    model: str
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def contender(self) -> Contender:
        """The model as an experiment knows it."""
        return Contender(self.model, self.settings)


RELATIVE_FREQUENCIES = Classifier("Smoothed relative frequencies", "multinomial", (("alpha", EPSILON),))
CLASSIFIERS = (RELATIVE_FREQUENCIES,)
# as printed in tables 1 and 2 → collection, rule, view
COLLECTIONS = {
    "20 Newsgroups": ("20newsgroups", "maxent-bridge", None),
    "4 Universities": ("webkb4", "maxent-bridge-pages", None),
}
ALREADY_STEMMED = {"4 Universities": "on pages that are already stemmed and stopped"}


def data(run: Run, name: str) -> Prepared:
    """All documents of a collection, whatever their part: splits are random."""
    collection, rule, view = COLLECTIONS[name]
    return prepared(run, collection, rule, view=view, split=False)


def material(run: Run, name: str, *, unit_length: bool = True) -> Material:
    """Documents with Σx = 1, or their counts."""
    found = data(run, name)
    X = Weighting(norm="l1").apply(found.X) if unit_length else found.X
    return Material(COLLECTIONS[name][0], X, found.Y)


def datasets(run: Run) -> Iterator[Measurement]:
    """Table 1: what is in the collections."""
    for column in COLLECTIONS:
        found = data(run, column)
        times = np.asarray(found.X.sum(axis=0)).ravel()
        classes = np.asarray(((found.Y.T @ found.X) > 0).sum(axis=0)).ravel()
        vocabulary = len(times)
        figures = {
            "Number of documents": found.X.shape[0],
            "Running words (thousands)": times.sum() / 1000,
            "Average document length": times.sum() / found.X.shape[0],
            "Vocabulary size": vocabulary,
            "Singletons (Vocab.%)": 100 * np.count_nonzero(times == 1) / vocabulary,
            "Classes": len(found.classes),
            "Class 1-tons (Vocab.%)": 100 * np.count_nonzero(classes == 1) / vocabulary,
            "Class 2-tons (Vocab.%)": 100 * np.count_nonzero(classes == 2) / vocabulary,
        }
        for row, value in figures.items():
            yield Measurement(row, column, float(value), note=ALREADY_STEMMED.get(column, ""))


@lru_cache(maxsize=16)
def errors(
    run: Run, name: str, classifier: Classifier, vocabularies: tuple[int | None, ...], unit_length: bool = True
) -> dict[int | None, tuple[float, float]]:
    """(mean, standard deviation) of the error rate in %, by vocabulary size; terms chosen on training documents."""
    found = material(run, name, unit_length=unit_length)
    sizes = tuple(size for size in vocabularies if size is None or size < found.X.shape[1])
    plan = Plan(
        (classifier.contender,),
        ("accuracy",),
        splits=3 if run.quick else 10,
        train_sizes=(TRAIN_SIZE,),
        vocabularies=sizes,
        seed=run.seed,
    )
    records = swept(run, found, plan)
    means = {
        size: mean_and_spread(records, classifier.contender, "accuracy", size=TRAIN_SIZE, terms=size) for size in sizes
    }
    return {size: (100 - 100 * mean, 100 * spread) for size, (mean, spread) in means.items()}


def error_rates(run: Run) -> Iterator[Measurement]:
    """Table 2: error at full vocabulary."""
    for name in COLLECTIONS:
        for classifier in CLASSIFIERS:
            if run.wants(classifier.label, classifier.model):
                error, spread = errors(run, name, classifier, (None,))[None]
                raw, _ = errors(run, name, classifier, (None,), unit_length=False)[None]
                remarks = [f"{raw:.1f} without unit length", *filter(None, [ALREADY_STEMMED.get(name)])]
                yield Measurement(name, classifier.label, error, spread, ", ".join(remarks))


def vocabulary_curves(run: Run) -> Iterator[Measurement]:
    """Figure 1: whether no smaller vocabulary errs less; the errors at each size stand in the note."""
    if not run.wants(RELATIVE_FREQUENCIES.label, RELATIVE_FREQUENCIES.model):
        return
    for name in COLLECTIONS:
        curve = errors(run, name, RELATIVE_FREQUENCIES, QUICK_VOCABULARIES if run.quick else VOCABULARIES)
        best = curve[None][0] <= min(error for error, _ in curve.values())
        points = ", ".join(f"{'all' if size is None else size}: {error:.1f}" for size, (error, _) in curve.items())
        note = f"{name}, error of relative frequencies in % by vocabulary size: {points}"
        yield Measurement(name, "full vocabulary is best (1 = yes)", float(best), note=note)


TABLES: dict[str, Runner] = {"1": datasets, "2": error_rates, "figure-1": vocabulary_curves}
