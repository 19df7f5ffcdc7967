"""The tables and the figure of the maxent-bridge paper, run again on the two of its five collections that can be had.

Naive Bayes is trained and asked on documents of unit length with epsilon 1e-5, as the paper reads; the error without
that normalisation stands in the note of its cell. The paper takes the best iteration of GIS by the test set; that is
the column of that name, of a grid of iterations. Beside it stands what a held-out part of the training data chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from unnaive.core.weighting import Weighting
from unnaive.evaluation.papers.preparation import Prepared, prepared
from unnaive.evaluation.papers.sweep import centre, swept, values_by_split
from unnaive.evaluation.papers.tables import Measurement, Run, Runner, read_paper
from unnaive.evaluation.summaries import Curve
from unnaive.evaluation.trials import Contender, Material, Plan

TRAIN_SIZE = 80.0
VOCABULARIES: tuple[int | None, ...] = (100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, None)
QUICK_VOCABULARIES: tuple[int | None, ...] = (1000, None)
ITERATIONS = (2, 4, 6, 8, 11, 14, 18, 24, 32, 45, 60)


def _gis(**settings: Any) -> Contender:
    return Contender("maxent", tuple(sorted({"solver": "gis", **settings}.items())))


RELATIVE_FREQUENCIES = Contender("multinomial", (("alpha", 1e-5),))
HELD_OUT = _gis()
CONVERGED = _gis(early_stopping=False)
STOPPED = {_gis(early_stopping=False, max_iter=n, tol=0.0): n for n in ITERATIONS}
# as printed, but for the third → what it takes
COLUMNS: dict[str, tuple[Contender, ...]] = {
    "Smoothed relative frequencies": (RELATIVE_FREQUENCIES,),
    "GIS after best iteration": (*STOPPED, CONVERGED),
    "GIS, iteration by held-out part": (HELD_OUT,),
    "GIS after convergence": (CONVERGED,),
}
OF_TEXT = "Smoothed relative frequencies", "GIS after best iteration", "GIS after convergence"  # curves of figure 1
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


@lru_cache(maxsize=64)
def errors(run: Run, name: str, terms: int | None, unit_length: bool = True) -> dict[Contender, list[float]]:
    """The error rate in % of each split, with so many terms; terms are chosen on the training documents."""
    wanted = [one for label, needed in COLUMNS.items() if run.wants(label, needed[0].model) for one in needed]
    if not unit_length:
        wanted = [one for one in wanted if one.model != "maxent"]  # which normalises by itself
    if not wanted:
        return {}
    contenders = tuple(dict.fromkeys(wanted))
    plan = Plan(
        contenders, ("accuracy",), splits=3 if run.quick else 10, train_sizes=(TRAIN_SIZE,), vocabularies=(terms,),
        seed=run.seed,
    )  # fmt: skip
    records = swept(run, material(run, name, unit_length=unit_length), plan)
    return {
        one: [100 - 100 * v for v in values_by_split(records, one, "accuracy", size=TRAIN_SIZE, terms=terms)]
        for one in contenders
    }


def column(label: str, found: dict[Contender, list[float]]) -> list[float]:
    """The error of each split under a heading of table 2: the lowest of what it takes."""
    return np.min([found[one] for one in COLUMNS[label]], axis=0).tolist()  # type: ignore[no-any-return]


def error_rates(run: Run) -> Iterator[Measurement]:
    """Table 2: error at full vocabulary."""
    for name in COLLECTIONS:
        found = errors(run, name, None)
        for label in COLUMNS:
            if run.wants(label, COLUMNS[label][0].model):
                remarks = [_remark(run, name, label, found), *filter(None, [ALREADY_STEMMED.get(name)])]
                mean, spread = centre(column(label, found))
                yield Measurement(name, label, mean, spread, ", ".join(filter(None, remarks)))


def _remark(run: Run, name: str, label: str, found: dict[Contender, list[float]]) -> str:
    if COLUMNS[label] == (RELATIVE_FREQUENCIES,):
        raw = errors(run, name, None, unit_length=False)
        return f"{centre(raw[RELATIVE_FREQUENCIES])[0]:.1f} without unit length"
    if label == "GIS after best iteration":
        return f"best iteration of each split: {', '.join(map(str, best_iterations(found)))}"
    return ""


def best_iterations(found: dict[Contender, list[float]]) -> list[int | str]:
    """The iteration that errs least in each split, the first of equals; "end" for convergence."""
    candidates = COLUMNS["GIS after best iteration"]
    places = np.argmin([found[one] for one in candidates], axis=0)
    return [STOPPED.get(candidates[place], "end") for place in places]


def vocabulary_curves(run: Run) -> Iterator[Measurement]:
    """Figure 1 in figures: the offset of the two curves of GIS, and whether no smaller vocabulary errs less."""
    for name in COLLECTIONS:
        found = {curve.name: curve for curve in curves(run, name)}
        note = "; ".join(_points(name, curve) for curve in found.values())
        best, converged = found.get("GIS after best iteration"), found.get("GIS after convergence")
        if best is not None and converged is not None:
            yield Measurement(name, "converged − best, points of error", converged.mean[-1] - best.mean[-1])
        if RELATIVE_FREQUENCIES in errors(run, name, None):
            means = found["Smoothed relative frequencies"].mean
            yield Measurement(name, "full vocabulary is best (1 = yes)", float(means[-1] <= min(means)), note=note)


def _points(name: str, curve: Curve) -> str:
    points = ", ".join(f"{x:,.0f}: {mean:.1f}" for x, mean in zip(curve.x, curve.mean, strict=True))
    return f"{name}, {curve.name}, error in % by vocabulary size: {points}"


def curves(run: Run, name: str) -> list[Curve]:
    """A panel of figure 1: error in % against the number of terms, the last being all of them."""
    n_terms = material(run, name).X.shape[1]
    offered = QUICK_VOCABULARIES if run.quick else VOCABULARIES
    sizes = [size for size in offered if size is None or size < n_terms]
    drawn = []
    for label in OF_TEXT:
        if run.wants(label, COLUMNS[label][0].model):
            points = [centre(column(label, errors(run, name, size))) for size in sizes]
            x = tuple(float(n_terms if size is None else size) for size in sizes)
            drawn.append(Curve(label, x, tuple(mean for mean, _ in points), tuple(spread for _, spread in points)))
    return drawn


def figure(run: Run, *, ink: str = "black") -> Any:
    """Figure 1, a panel for each collection; the crosses are the paper's best error rates, which table 2 prints."""
    from unnaive.evaluation.plots import panels_figure

    (table,) = read_paper("maxent-bridge").chosen("2")
    panels, marks = {}, {}
    for name in COLLECTIONS:
        panels[name] = curves(run, name)
        printed = [(curve.x[-1], table.theirs(name, curve.name)) for curve in panels[name]]
        marks[name] = [(x, value) for x, value in printed if value is not None]
    return panels_figure(
        panels, marks, x="terms, best by information gain (log scale)", y="error in %", marked="paper, table 2", ink=ink
    )


TABLES: dict[str, Runner] = {"1": datasets, "2": error_rates, "figure-1": vocabulary_curves}
FIGURES = {"figure-1": figure}
