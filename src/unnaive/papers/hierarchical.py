"""The tables of the hierarchical thesis, reproduced: a binary classifier for each of Reuters' ten largest classes.

Every class has its own features, the best by information gain on all training documents, and its own model, trained
on their presence (n_docs, n_features) and on membership (n_docs, 1). A classifier is a row in CLASSIFIERS. EM starts at
random, so figures of networks are means over three seeds (one in a quick run). The support vector machine is the
thesis's, with the plain hinge (hinge.py), not the model `svm` of this package.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import count_noun
from unnaive.base.types import Floats
from unnaive.data.counts import Counts
from unnaive.evaluation.ranking import breakeven, weighted_mean
from unnaive.evaluation.tally import class_sizes
from unnaive.evaluation.trials import train_scorer
from unnaive.linear.network import Network
from unnaive.linear.term_selection import information_gain, top_k
from unnaive.models.hierarchical.learner import TUNED, in_threads
from unnaive.papers.data import PreparedData, prepare
from unnaive.papers.hinge import fit_hinge
from unnaive.papers.paper_run import Measurement, PaperRun, Runner

SettingsKey = tuple[tuple[str, Any], ...]

CLASSES = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")
VALIDATION = 0.25  # the last quarter of the training documents, by date
FEATURES = (30, 60, 100, 200, 300, 400, 500)
SEEDS = 3
BRANCHINGS = (3, 5, 7, 9)
ALPHAS = {
    "avg": ("0", "0.03", "0.06", "0.09", "0.12"),
    "or": ("0", "0.05", "0.10", "0.15", "0.20"),
    "dep": ("0", "50", "100", "150", "200", "250", "300"),
}
FINER = {"avg": (-0.02, -0.01, 0.01, 0.02), "or": (-0.02, -0.01, 0.01, 0.02), "dep": (-20.0, -10.0, 10.0, 20.0)}


@dataclass(frozen=True)
class ThesisModel:
    """A column of table 4.10: its printed name, our model, features per class, and settings.

    With `hinge_c` it is a linear support vector machine with the plain hinge and this C.
    """

    label: str
    model: str
    features: int = 30
    settings: SettingsKey = ()
    hinge_c: float | None = None
    rule: str = "hierarchical"

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return self.model in NETWORKS.values()


NETWORKS = {"HBN": "hierarchical", "HNB": "hierarchical-naive-bayes"}
NAIVE_BAYES = (("alpha", 0.1), ("scheme", "one-vs-rest"))  # the thesis's N0 = 0.1
SVM_C = 10.0  # the thesis tunes it on validation data with 30 features, and does not print it
ONE_VS_REST = (("scheme", "one-vs-rest"),)


def network(family: str, kind: str, features: int = 30, **settings: Any) -> ThesisModel:
    """HBN or HNB with one kind of clusters, by default with the settings of the thesis."""
    defaults = {"average": 1, "n_jobs": 1} | settings
    named = (("clustering", kind), ("features", features), *defaults.items())
    return ThesisModel(f"{family}-{kind.upper()}", NETWORKS[family], features, named)


def averaged_network(label: str, kind: str, features: int = 30) -> ThesisModel:
    """Beyond the thesis: the mean of the best 8 of 64 starts."""
    return ThesisModel(label, "hierarchical", features, network("HBN", kind, features, average=8).settings)


CLASSIFIERS = (
    *(network("HBN", kind) for kind in ("avg", "or", "dep")),
    ThesisModel("NB (30 feat.)", "bernoulli", 30, NAIVE_BAYES),
    ThesisModel("NB (100 feat.)", "bernoulli", 100, NAIVE_BAYES),
    ThesisModel("SVM (30 feat.)", "svm", 30, hinge_c=SVM_C),
    ThesisModel("SVM (200 feat.)", "svm", 200, hinge_c=SVM_C),
    averaged_network("HBN-OR, 8 averaged", "or"),
    averaged_network("HBN-OR, 8 averaged (60 feat.)", "or", 60),
    ThesisModel("Selective NB (100 feat.)", "selective", 100, ONE_VS_REST),
)


# related models that the thesis reviews but did not measure
RELATED_WORK = (
    ThesisModel("TAN (30 feat.)", "tan", 30, ONE_VS_REST),
    ThesisModel("SuperParent TAN (30 feat.)", "superparent", 30, ONE_VS_REST),
    ThesisModel("Diagnostic mixture (30 feat.)", "diagnostic", 30, ONE_VS_REST),
    ThesisModel("NB on 30 word clusters (500 feat.)", "word-clusters", 500, (*ONE_VS_REST, ("clusters", 30))),
)


@lru_cache(maxsize=2)
def load_data(run: PaperRun, rule: str = "hierarchical") -> PreparedData:
    """Presence of words in more than one training document."""
    data = prepare(run, "reuters", rule, view="modapte-90").take_frequent(2)
    present = csr_array((np.ones(data.X.nnz, np.int64), data.X.indices, data.X.indptr), shape=data.X.shape)
    columns = [data.classes.index(name) for name in CLASSES]
    return PreparedData(present, csr_array(data.Y[:, columns]), CLASSES, data.vocabulary, data.split)


@lru_cache(maxsize=2)
def ranked_features(run: PaperRun, rule: str = "hierarchical") -> tuple[Any, ...]:
    """For each class its features, best first, from all training documents."""
    X, Y = load_data(run, rule).part("train")
    gains = information_gain(Counts.of(X, Y), per_class=True)
    return tuple(top_k(gain, max(FEATURES)) for gain in gains)


def split_rows(run: PaperRun, *, validation: bool) -> tuple[Any, Any]:
    """(train, test) rows of the split.

    For validation, the first three quarters of the training documents and the last.
    """
    train = load_data(run).rows("train")
    if not validation:
        return train, load_data(run).rows("test")
    cut = round(len(train) * (1 - VALIDATION))
    return train[:cut], train[cut:]


@dataclass(frozen=True, eq=False)
class Breakevens:
    """Breakeven in % by seed and class (seeds, 10), the weight of each class (10,), and seconds to train one class."""

    points: Floats
    sizes: NDArray[np.int64]
    seconds: float

    @property
    def micro(self) -> Floats:
        """The thesis's micro average for each seed: weighted by test documents."""
        return np.array([weighted_mean(points, self.sizes) for points in self.points])

    @property
    def macro(self) -> Floats:
        """The mean over classes for each seed."""
        return np.asarray(self.points.mean(axis=1))


@lru_cache(maxsize=256)
def measure_breakevens(run: PaperRun, classifier: ThesisModel, *, validation: bool = False) -> Breakevens:
    """Train and evaluate a classifier, with every seed if it is random."""
    data, (train, test) = load_data(run), split_rows(run, validation=validation)
    run.tell(f"{classifier.label}, {count_noun(classifier.features, 'feature')}: {len(CLASSES)} classes")
    truth, points, seconds = data.Y[test], [], []
    for seed in range(run.seed, run.seed + (SEEDS if classifier.random and not run.quick else 1)):
        columns = in_threads(
            partial(_score_class, run, classifier, train, test, seed), list(range(len(CLASSES))), run.jobs
        )
        scores = np.stack([scores for scores, _ in columns], axis=1)
        points.append(100 * breakeven(truth, scores.round(9)))  # rounding errors must not break ties
        seconds += [spent for _, spent in columns]
    return Breakevens(np.stack(points), class_sizes(truth), float(np.mean(seconds)))


def _score_class(
    run: PaperRun, classifier: ThesisModel, train: Any, test: Any, seed: int, c: int
) -> tuple[Floats, float]:
    """Scores of the test documents for one class, and the training time in seconds."""
    data = load_data(run, classifier.rule)
    X = data.X[:, np.sort(ranked_features(run, classifier.rule)[c][: classifier.features])]
    started = time.perf_counter()
    member = csr_array(data.Y[:, [c]])[train]
    if classifier.hinge_c is not None:
        weights, bias = fit_hinge(X[train], member.toarray().ravel() > 0, classifier.hinge_c)
        return np.asarray(X[test] @ weights + bias), time.perf_counter() - started
    model = train_scorer(classifier.model, X[train], member, seed=seed, **dict(classifier.settings))
    return model.scores(X[test])[:, 0], time.perf_counter() - started


def measure_test_table(run: PaperRun, *, classifiers: tuple[ThesisModel, ...] = CLASSIFIERS) -> Iterator[Measurement]:
    """Table 4.10: each class, and both averages."""
    for classifier in classifiers:
        if run.wants(classifier.label, classifier.model):
            breakevens = measure_breakevens(run, classifier)
            for name, points in zip(CLASSES, breakevens.points.T, strict=True):
                yield Measurement.of_values(name, classifier.label, points.tolist())
            yield Measurement.of_values("Micro-averaged", classifier.label, breakevens.micro.tolist())
            yield Measurement.of_values("Macro-averaged", classifier.label, breakevens.macro.tolist())


def measure_hierarchical_naive_bayes(run: PaperRun) -> Iterator[Measurement]:
    """HNB on the test documents, which the thesis measured on validation data only."""
    for kind in ("avg", "or", "dep"):
        classifier = network("HNB", kind)
        if run.wants(classifier.label, classifier.model):
            breakevens = measure_breakevens(run, classifier)
            yield Measurement.of_values("Micro-averaged", classifier.label, breakevens.micro.tolist())
            yield Measurement.of_values("Macro-averaged", classifier.label, breakevens.macro.tolist())


def measure_running_time(run: PaperRun) -> Iterator[Measurement]:
    """The claims of section 4.2.2 about running time."""
    for classifier in CLASSIFIERS:
        if run.wants(classifier.label, classifier.model):
            yield Measurement(classifier.label, "seconds per class", measure_breakevens(run, classifier).seconds)


def vary_features(run: PaperRun, *, classifiers: tuple[ThesisModel, ...]) -> Iterator[Measurement]:
    """Tables 4.8 and 4.9: the number of features, on validation data."""
    for classifier in classifiers:
        if run.wants(classifier.label, classifier.model):
            for features in FEATURES[:2] if run.quick else FEATURES:
                breakevens = measure_breakevens(run, replace(classifier, features=features), validation=True)
                yield Measurement.of_values(str(features), classifier.label, breakevens.micro.tolist())


def vary_alpha(run: PaperRun, *, kind: str, columns: dict[str, tuple[str, int]]) -> Iterator[Measurement]:
    """Tables 4.2 to 4.7: alpha by the number of features, or by the direction of arcs; B = 7, on validation data."""
    for column, (family, features) in columns.items():
        if run.wants(column, NETWORKS[family]):
            for alpha in ALPHAS[kind][:2] if run.quick else ALPHAS[kind]:
                classifier = network(family, kind, features, branching=7, alpha=float(alpha))
                micro = measure_breakevens(run, classifier, validation=True).micro
                yield Measurement.of_values(alpha, column, micro.tolist())


def tune_settings(run: PaperRun) -> Iterator[Measurement]:
    """Table 4.1, tuned as in the thesis: alpha with B = 7, then B, then alpha in smaller steps."""
    for kind, label in (("avg", "HBN-AVG"), ("or", "HBN-OR"), ("dep", "HBN-DEP")):
        if run.quick or not run.wants(label, NETWORKS["HBN"]):
            continue
        breakeven = partial(_validation_breakeven, run, kind)
        alpha = max((float(alpha) for alpha in ALPHAS[kind]), key=lambda alpha: breakeven(7, alpha))
        branching = max(BRANCHINGS, key=lambda branching: breakeven(branching, alpha))
        steps = (alpha, *(round(alpha + step, 6) for step in FINER[kind] if alpha + step >= 0))
        finer = max(steps, key=lambda alpha: breakeven(branching, alpha))
        best, printed = breakeven(branching, finer), breakeven(*TUNED[kind])
        note = f"{best:.1f} % on validation data, {printed:.1f} % with the thesis's settings"
        yield Measurement(label, "B", branching, note=note)
        yield Measurement(label, "alpha", finer)


def _validation_breakeven(run: PaperRun, kind: str, branching: int, alpha: float) -> float:
    classifier = network("HBN", kind, branching=branching, alpha=alpha)
    return float(measure_breakevens(run, classifier, validation=True).micro.mean())


def compare_independence_tests(run: PaperRun) -> Iterator[Measurement]:
    """Section 3.7: HBN-DEP by a test of independence given the class, and without it; on validation data."""
    for column, kind in (("given the class", "dep"), ("unconditional", "dep-unconditional")):
        if run.wants(column, NETWORKS["HBN"]):
            for alpha in ALPHAS["dep"][:2] if run.quick else ALPHAS["dep"]:
                classifier = network("HBN", kind, branching=7, alpha=float(alpha))
                micro = measure_breakevens(run, classifier, validation=True).micro
                yield Measurement.of_values(alpha, column, micro.tolist())


def by_size(kind: str) -> Runner:
    """Tables 4.2 to 4.4."""
    return partial(vary_alpha, kind=kind, columns={"30 features": ("HBN", 30), "60 features": ("HBN", 60)})


def by_direction(kind: str) -> Runner:
    """Tables 4.5 to 4.7."""
    columns = {f"{family}-{kind.upper()}": (family, 30) for family in ("HNB", "HBN")}
    return partial(vary_alpha, kind=kind, columns=columns)


def learn_network(run: PaperRun, kind: str, alpha: float | None = None, *, validation: bool = False) -> Network:
    """The network of the class trade as in the thesis: figures 4.1 to 4.3, and with alpha = 0 figure 4.4.

    The structure does not depend on the start of EM, and so not on the seed; the tables of the nodes do.
    """
    data, index = load_data(run), CLASSES.index("trade")
    features = np.sort(ranked_features(run)[index][:30])
    train, _ = split_rows(run, validation=validation)
    model = network("HBN", kind) if alpha is None else network("HBN", kind, alpha=alpha)
    member = csr_array(data.Y[:, [index]])[train]
    scorer: Any = train_scorer(model.model, data.X[:, features][train], member, seed=run.seed, **dict(model.settings))
    learnt: Network = scorer.network(0, [data.vocabulary[column] for column in features], ["trade"])
    return learnt


# by figure number: a description, and the function (run) that learns the network
NETWORK_FIGURES: dict[str, tuple[str, Callable[[PaperRun], Network]]] = {
    "4.1": ("HBN-AVG for the class trade", partial(learn_network, kind="avg")),
    "4.2": ("HBN-OR for the class trade", partial(learn_network, kind="or")),
    "4.3": ("HBN-DEP for the class trade", partial(learn_network, kind="dep")),
    "4.4": (
        "HBN-DEP with alpha = 0 for the class trade, learnt on validation data's training part",
        partial(learn_network, kind="dep", alpha=0.0, validation=True),
    ),
}

BAYES = ThesisModel("NB", "bernoulli", settings=NAIVE_BAYES)
STEMMED = "hierarchical-stemmed"  # which the thesis tried, "and this gave a slightly worse performance"

TABLES: dict[str, Runner] = {
    "4.1": tune_settings,
    "4.2": by_size("avg"),
    "4.3": by_size("or"),
    "4.4": by_size("dep"),
    "3.7": compare_independence_tests,
    "4.5": by_direction("avg"),
    "4.6": by_direction("or"),
    "4.7": by_direction("dep"),
    "4.8": partial(vary_features, classifiers=(BAYES, replace(BAYES, label="NB, Porter stems", rule=STEMMED))),
    "4.9": partial(vary_features, classifiers=(ThesisModel("SVM", "svm", hinge_c=SVM_C),)),
    "4.10": measure_test_table,
    "related": partial(measure_test_table, classifiers=RELATED_WORK),
    "hnb": measure_hierarchical_naive_bayes,
    "4.2.2": measure_running_time,
}
