"""The tables and the figure of the maxent-bridge paper, reproduced on those of its five collections that are here.

The paper normalises documents to unit length for training, and says that this is "no longer needed" afterwards. That
can be understood in two ways, and both are measured: "unit length" in training and at test time, or "counts at test".
For naive Bayes they differ, because log ϑ(c) is then combined with the evidence of one word, or with that of all words
of the document. GIS has no prior: Σ x_d λ_cd gives the same order of classes for any length, so its figures are the
same.

Table 2 prints the best error over vocabulary sizes D; we add the error at full D. The paper selects the best
iteration of GIS on the test set; we do so in the column of that name, over a grid of iterations. Selection on a
held-out part of the training data has its own column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp

from unnaive.base.errors import count_noun
from unnaive.base.types import Floats, Sparse
from unnaive.data.counts import Counts
from unnaive.data.weighting import Weighting
from unnaive.evaluation.experiment_documents import Material
from unnaive.evaluation.splits import stratified_split
from unnaive.evaluation.summaries import MeasureCurve
from unnaive.evaluation.trials import train_scorer
from unnaive.linear.scorer import Scorer
from unnaive.linear.term_selection import information_gain, top_k
from unnaive.models.maxent.bridge import to_naive_bayes
from unnaive.models.maxent.learner import MaxEnt
from unnaive.papers.data import PreparedData, prepare
from unnaive.papers.paper_run import Measurement, PaperRun, Runner, mean_and_spread
from unnaive.papers.published_tables import read_paper
from unnaive.papers.split_records import SplitRecords, SplitValues

TRAIN_SHARE = 0.8
SPLITS, QUICK_SPLITS = 10, 3
Sizes = tuple[int | None, ...]  # numbers of terms; None is all of them
VOCABULARIES: Sizes = (100, 200, 500, 1000, 2000, 5000, None)
LARGE_VOCABULARIES: Sizes = (1000, 10000, 20000, 50000, None)  # here each split takes a quarter of a minute per size
QUICK_VOCABULARIES: Sizes = (1000, None)
ITERATIONS = (2, 4, 6, 8, 11, 14, 18, 24, 32, 45, 60, 90, 140, 220, 350, 600)
MOST_ITERATIONS = 1000
UNIT, COUNTS = "unit", "counts"  # the two interpretations of the paper
UNIT_LENGTH = Weighting(norm="l1")


@dataclass(frozen=True)
class Dataset:
    """A collection counted by one token rule, under one interpretation of the paper; `row` is its row of table 2."""

    row: str
    printed: str
    collection: str
    rule: str
    reading: str = UNIT
    vocabularies: Sizes = VOCABULARIES
    view: str | None = None


PAGES, TAGGED_PAGES = "maxent-bridge-pages", "maxent-bridge-tagged-pages"  # "a special digit tagger for 4 Universities"
NEWSGROUPS = Dataset("20 Newsgroups", "20 Newsgroups", "20newsgroups", "maxent-bridge", vocabularies=(None,))
UNIVERSITIES = Dataset("4 Universities", "4 Universities", "webkb4", "maxent-bridge-prepared")
PRINTED = (
    Dataset("Job category", "Job Category", "job-category", PAGES, vocabularies=LARGE_VOCABULARIES),
    NEWSGROUPS,
    Dataset("Industry-Sector", "Industry Sector", "industry-sector", PAGES, vocabularies=LARGE_VOCABULARIES),
    UNIVERSITIES,
    Dataset("7 Sectors", "7 Sectors", "7-sectors", PAGES, vocabularies=LARGE_VOCABULARIES),
)
UNSTOPPED = replace(
    NEWSGROUPS, row="20 Newsgroups, no stop list", rule="maxent-bridge-unstopped", vocabularies=LARGE_VOCABULARIES
)
OTHER_READINGS = (
    UNSTOPPED,
    replace(NEWSGROUPS, row="20 Newsgroups, letters only", rule="maxent-bridge-letters"),
    replace(NEWSGROUPS, row="20 Newsgroups, counts at test", reading=COUNTS),
    replace(UNIVERSITIES, row="4 Universities, counts at test", reading=COUNTS),
)
NB, BEST, HELD_OUT, CONVERGED = (
    "Smoothed relative frequencies",
    "GIS after best iteration",
    "GIS, iteration by held-out part",
    "GIS after convergence",
)
CURVES = (NB, BEST, CONVERGED)
MODELS = {NB: "multinomial", BEST: "maxent", HELD_OUT: "maxent", CONVERGED: "maxent"}


def printed_datasets(run: PaperRun) -> list[Dataset]:
    """The datasets of the paper's tables that are here; the pages of 4 Universities as published, if they are."""
    raw = replace(UNIVERSITIES, collection="webkb", view="four", rule=TAGGED_PAGES)
    universities = raw if run.has("webkb") else UNIVERSITIES
    datasets = [universities if dataset is UNIVERSITIES else dataset for dataset in PRINTED]
    return [dataset for dataset in datasets if run.has(dataset.collection)]


def all_datasets(run: PaperRun) -> list[Dataset]:
    """The same, and those that are read in another way."""
    others = [dataset for dataset in OTHER_READINGS if run.has(dataset.collection)]
    return [*printed_datasets(run), *others]


def load_dataset(run: PaperRun, dataset: Dataset) -> PreparedData:
    """All documents of a collection, regardless of their part: splits are random."""
    return prepare(run, dataset.collection, dataset.rule, view=dataset.view, split=False)


def describe_datasets(run: PaperRun) -> Iterator[Measurement]:
    """Table 1: the content of the collections."""
    for dataset in printed_datasets(run):
        data = load_dataset(run, dataset)
        times = np.asarray(data.X.sum(axis=0)).ravel()
        classes = np.asarray(((data.Y.T @ data.X) > 0).sum(axis=0)).ravel()
        vocabulary = len(times)
        figures = {
            "Number of documents": data.X.shape[0],
            "Running words (thousands)": times.sum() / 1000,
            "Average document length": times.sum() / data.X.shape[0],
            "Vocabulary size": vocabulary,
            "Singletons (Vocab.%)": 100 * np.count_nonzero(times == 1) / vocabulary,
            "Classes": len(data.classes),
            "Class 1-tons (Vocab.%)": 100 * np.count_nonzero(classes == 1) / vocabulary,
            "Class 2-tons (Vocab.%)": 100 * np.count_nonzero(classes == 2) / vocabulary,
        }
        for row, value in figures.items():
            yield Measurement(row, dataset.printed, float(value))


def split_errors(
    X: Sparse, Y: Sparse, rows: tuple[NDArray[Any], NDArray[Any]], n_terms: int | None, *, models: set[str], seed: int
) -> SplitValues:
    """Every error of one split with the `n_terms` best terms of its training documents (None: all).

    Documents are normalised after term selection. GIS continues from one iteration of the grid to the next.
    """
    train, test = rows
    counts = Counts.of(X[train], Y[train])
    terms = np.flatnonzero(counts.df > 0)
    if n_terms is not None:
        terms = np.sort(terms[top_k(information_gain(counts.take_terms(terms)), n_terms)])
    X_train, X_test, Y_train = X[train][:, terms], X[test][:, terms], Y[train]
    Z_train, Z_test = UNIT_LENGTH.apply(X_train), UNIT_LENGTH.apply(X_test)
    truth = Y[test].indices

    errors: SplitValues = {}
    if "multinomial" in models:
        bayes = train_scorer("multinomial", Z_train, Y_train, alpha=1e-5)
        errors |= {"nb/unit": _error(bayes, Z_test, truth), "nb/counts": _error(bayes, X_test, truth)}
        errors["nb/never"] = _error(train_scorer("multinomial", X_train, Y_train, alpha=1e-5), X_test, truth)
    if "maxent" in models:
        for iteration, scorer in _gis_models(Z_train, Y_train):
            errors[f"gis/{iteration}"] = _error(scorer, Z_test, truth)
        errors["mapped/counts"] = _error(replace(scorer, weighting=Weighting()), X_test, truth)
        if n_terms is None:
            errors["held-out"] = _error(
                train_scorer("maxent", Z_train, Y_train, solver="gis", seed=seed), Z_test, truth
            )
    return errors


def _gis_models(Z: Sparse, Y: Sparse) -> Iterator[tuple[int | str, Any]]:
    """(iteration, model) along the grid, then ("end", model) at convergence: a rise below 1e-5, or iteration 1000."""
    model: Any = "zero"
    before = 0
    for iteration in (*ITERATIONS, MOST_ITERATIONS):
        model, steps = _continue_gis(Z, Y, model, iteration - before)
        if steps < iteration - before or iteration == MOST_ITERATIONS:
            break
        before = iteration
        yield iteration, model
    yield "end", model


def _continue_gis(Z: Sparse, Y: Sparse, start: Any, most: int) -> tuple[Any, int]:
    """The model after at most `most` further iterations, and their number."""
    steps = []

    def count_step(_: str, state: dict[str, Any]) -> None:
        steps.append(int(state["iteration"]))

    model = MaxEnt(solver="gis", early_stopping=False, tol=1e-5, start=start, max_iter=most)
    return model.learn(Z, Y, progress=count_step).scorer, steps[-1]


def _error(scorer: Scorer, documents: Sparse, truth: NDArray[Any]) -> float:
    return 100 * float(np.mean(scorer.scores(documents).argmax(axis=1) != truth))


@lru_cache(maxsize=64)
def all_errors(
    run: PaperRun, collection: str, rule: str, n_terms: int | None, view: str | None = None
) -> tuple[SplitValues, ...]:
    """The errors of every split; those in the folder of records are not computed again."""
    data = prepare(run, collection, rule, view=view, split=False)
    models = {model for label, model in MODELS.items() if run.wants(label, model)}
    common = {"data": Material(collection, data.X, data.Y).fingerprint, "models": sorted(models)}
    records, by_split = SplitRecords(run.records, "maxent-bridge", common), []
    terms = "all terms" if n_terms is None else count_noun(n_terms, "term")
    for split in range(QUICK_SPLITS if run.quick else SPLITS):
        run.tell(f"{collection}, {terms}, split {split + 1}")
        rows = stratified_split(data.Y, TRAIN_SHARE, seed=run.seed, split=split)
        measure = partial(split_errors, data.X, data.Y, rows, n_terms, models=models, seed=run.seed)
        by_split.append(records.measure({"split": split, "terms": n_terms, "seed": run.seed}, measure))
    return tuple(by_split)


def column_errors(label: str, reading: str, measured: Sequence[SplitValues]) -> list[float]:
    """The error of each split for a column of table 2; GIS has no prior, so both interpretations are the same."""
    if label == BEST:
        return [min(gis_errors(errors).values()) for errors in measured]
    name = {NB: f"nb/{reading}", HELD_OUT: "held-out", CONVERGED: "gis/end"}[label]
    return [errors[name] for errors in measured]


def gis_errors(errors: SplitValues) -> dict[str, float]:
    """The error after each iteration of the grid; the last is "end"."""
    return {name.removeprefix("gis/"): value for name, value in errors.items() if name.startswith("gis/")}


def best_iterations(measured: Sequence[SplitValues]) -> list[str]:
    """The iteration with the lowest error in each split, the first in a tie; "end" for convergence."""
    by_split = [gis_errors(errors) for errors in measured]
    return [min(errors, key=lambda iteration: errors[iteration]) for errors in by_split]


def vocabulary_sizes(run: PaperRun, dataset: Dataset) -> list[int | None]:
    """The D that are smaller than the vocabulary, and the full size."""
    n_terms = load_dataset(run, dataset).X.shape[1]
    offered = [size for size in dataset.vocabularies if not run.quick or size in QUICK_VOCABULARIES]
    return [size for size in offered if size is None or size < n_terms]


def bridge_vocabulary_curves(run: PaperRun, dataset: Dataset) -> list[MeasureCurve]:
    """A panel of figure 1: error in % against the number of terms, ending with all terms."""
    sizes = vocabulary_sizes(run, dataset)
    n_terms = load_dataset(run, dataset).X.shape[1]
    x = tuple(float(n_terms if size is None else size) for size in sizes)
    curves = []
    for label in CURVES:
        if run.wants(label, MODELS[label]):
            by_size = [all_errors(run, dataset.collection, dataset.rule, size, dataset.view) for size in sizes]
            points = [mean_and_spread(column_errors(label, dataset.reading, errors)) for errors in by_size]
            curves.append(
                MeasureCurve(label, x, tuple(mean for mean, _ in points), tuple(spread for _, spread in points))
            )
    return curves


def error_rates(run: PaperRun) -> Iterator[Measurement]:
    """Table 2: the best error over vocabulary sizes, and the error with all terms."""
    for dataset in all_datasets(run):
        full = all_errors(run, dataset.collection, dataset.rule, None, dataset.view)
        for curve in bridge_vocabulary_curves(run, dataset):
            index = int(np.argmin(curve.mean))
            best_size = "all" if index == len(curve.x) - 1 else f"{curve.x[index]:,.0f}"
            note = f"best with {best_size} terms"
            yield Measurement(dataset.row, curve.name, curve.mean[index], curve.spread[index], note)
            mean, spread = curve.mean[-1], curve.spread[-1]
            yield Measurement(dataset.row, f"{curve.name}, full D", mean, spread, _remark(curve.name, dataset, full))
        if run.wants(HELD_OUT, MODELS[HELD_OUT]):
            yield Measurement(dataset.row, HELD_OUT, *mean_and_spread(column_errors(HELD_OUT, dataset.reading, full)))


def _remark(label: str, dataset: Dataset, full: Sequence[SplitValues]) -> str:
    if label == NB and dataset.reading == UNIT:
        never = np.mean([errors["nb/never"] for errors in full])
        return f"{never:.1f} if documents are never normalised, not even for training"
    if label == BEST:
        return f"best iteration of each split: {', '.join(best_iterations(full))}"
    return ""


def panel_curves(run: PaperRun, dataset: Dataset) -> list[MeasureCurve]:
    """A panel of figure 1; of 20 Newsgroups without stop list, as its text says and all sizes were measured."""
    return bridge_vocabulary_curves(run, UNSTOPPED if dataset == NEWSGROUPS else dataset)


def figure_in_numbers(run: PaperRun) -> Iterator[Measurement]:
    """Figure 1: the offset of the two curves of GIS at full D, and whether full D is best for each curve."""
    for dataset in printed_datasets(run):
        curves = {curve.name: curve for curve in panel_curves(run, dataset)}
        if BEST in curves and CONVERGED in curves:
            offset = curves[CONVERGED].mean[-1] - curves[BEST].mean[-1]
            yield Measurement(dataset.row, "converged − best, points of error", offset)
        for name, curve in curves.items():
            full_is_best = float(curve.mean[-1] <= min(curve.mean))
            yield Measurement(dataset.row, f"full D is best: {name}", full_is_best, note=_points(dataset, curve))


def _points(dataset: Dataset, curve: MeasureCurve) -> str:
    points = ", ".join(f"{x:,.0f}: {mean:.1f}" for x, mean in zip(curve.x, curve.mean, strict=True))
    return f"{dataset.row}, {curve.name}, error in % by vocabulary size: {points}"


def training_criteria(run: PaperRun) -> Iterator[Measurement]:
    """Both criteria of section 3 for both ways of training, per training document, on the first split."""
    for dataset in printed_datasets(run):
        if dataset.printed != UNIVERSITIES.printed:
            continue
        data = load_dataset(run, dataset)
        train, _ = stratified_split(data.Y, TRAIN_SHARE, seed=run.seed, split=0)
        Z, Y = UNIT_LENGTH.apply(csr_array(data.X[train])), csr_array(data.Y[train])
        models = {}
        if run.wants(NB, MODELS[NB]):
            models[NB] = train_scorer("multinomial", Z, Y, alpha=1e-5)
        if run.wants(CONVERGED, MODELS[CONVERGED]):
            *_, (_, last) = _gis_models(Z, Y)
            models[CONVERGED] = to_naive_bayes(replace(last, weighting=UNIT_LENGTH))
        for label, model in models.items():
            joint, conditional = log_likelihoods(model.scores(Z), Y.indices)
            yield Measurement(JOINT, label, joint)
            yield Measurement(CONDITIONAL, label, conditional)


JOINT, CONDITIONAL = "joint log-likelihood (eq. 10)", "conditional log-likelihood (eq. 14)"


def log_likelihoods(scores: Floats, classes: NDArray[Any]) -> tuple[float, float]:
    """Means of log p(x, c) and of log p(c|x) over documents; `scores` are log p(x, c) (n_docs, n_classes).

    >>> joint, conditional = log_likelihoods(np.log([[0.3, 0.1], [0.2, 0.2]]), np.array([0, 1]))
    >>> np.exp([2 * joint, 2 * conditional]).round(3)   # 0.3 · 0.2, 0.75 · 0.5
    array([0.06 , 0.375])
    """
    own = scores[np.arange(len(scores)), classes]
    return float(own.mean()), float((own - logsumexp(scores, axis=1)).mean())


def draw_figure(run: PaperRun, *, ink: str = "black") -> Any:
    """Figure 1, a panel for each collection; crosses are the paper's best error rates from table 2."""
    from unnaive.evaluation.reports.plots import panels_figure

    (table,) = read_paper("maxent-bridge").select_tables("2")
    panels, marks = {}, {}
    for dataset in printed_datasets(run):
        panels[dataset.row] = panel_curves(run, dataset)
        printed = [(curve.x[-1], table.theirs(dataset.row, curve.name)) for curve in panels[dataset.row]]
        marks[dataset.row] = [(x, value) for x, value in printed if value is not None]
    return panels_figure(
        panels, marks, x="terms, best by information gain (log scale)", y="error in %", marked="paper, table 2", ink=ink
    )


TABLES: dict[str, Runner] = {
    "1": describe_datasets,
    "2": error_rates,
    "figure-1": figure_in_numbers,
    "criteria": training_criteria,
}
FIGURES = {"figure-1": draw_figure}
