"""What the commands promise in numbers, and how each promise is simulated: the rows of docs/statistics.md.

A row is simulated one draw at a time from a collection whose truth is known: `simulate(collection, seed)` gives 0 or 1,
or the share of intervals that held, or None where it cannot be made. statistics_suite.py runs them, seed by seed: what
several rows need of a draw (two samples, a trained model, the splits of a comparison) is made once and cached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from scipy.sparse import csr_array, vstack

from unnaive.base.types import Ids, Sparse
from unnaive.data.folds import split_folds
from unnaive.data.products import take_columns
from unnaive.data.weighting import document_frequency
from unnaive.evaluation.class_shares import ClassShare, class_shares
from unnaive.evaluation.drift import changed_terms
from unnaive.evaluation.results import Record
from unnaive.evaluation.significance import mcnemar
from unnaive.evaluation.summaries import pairwise_tests
from unnaive.evaluation.two_sample import TwoSampleTest, add_class_evidence, two_sample_test
from unnaive.io.tickets import load_tickets
from unnaive.papers.collections import load
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

COLLECTIONS = {
    "tickets": None,
    "20 Newsgroups": ("20newsgroups", "by-date"),
    "Reuters R8": ("reuters", "r8"),
    "Ohsumed": ("ohsumed", None),
    "WebKB-4": ("webkb4", None),
    "1150haber": ("1150haber", None),
    "Banking77": ("banking77", None),
}
KEPT = 24  # samples, models and the like that are cached, of each kind
COPIES, REPEATS, WEIGHTS, LONE = "copies", "repeats", "weights", "lone"  # kinds of unusual documents, see `two_sides`
COPIED = 0.1  # of the documents of each side, which are there once more
REPEATED, N_PHRASES, PHRASE_TERMS = 0.4, 60, 3  # share of short texts, different ones at most, and terms of each
HEAVY = 4.0  # the weight of documents of half of the classes; of the others it is 1


@dataclass(frozen=True, eq=False)
class Collection:
    """A labelled collection, counted once: X (n_docs, n_terms) and the class of each document (n_docs,)."""

    name: str
    X: Sparse
    codes: Ids
    classes: tuple[str, ...]


@cache
def collection(name: str) -> Collection:
    """A collection of COLLECTIONS by name; those other than tickets are looked for in UNNAIVE_DATA."""
    source = COLLECTIONS[name]
    corpus = load_tickets() if source is None else load(source[0], view=source[1])
    classes, codes = np.unique([labels[0] for labels in corpus.labels], return_inverse=True)
    return Collection(name, TextCounter(TokenRule()).count(corpus.texts, grow=True), codes, tuple(map(str, classes)))


@dataclass(frozen=True)
class Row:
    """One promise under one circumstance.

    kind   "at most" or "at least": how the measured share must lie to `bound`; "power": there is no bound
    most   draws that are made at most, of rows that take long
    spread standard deviation of a draw at least, where draws are shares; None for half of that of a single interval
    """

    key: str
    promise: str
    circumstance: str
    kind: str
    bound: float
    simulate: Callable[[Collection, int], float | None]
    most: int = 200
    spread: float | None = None


@dataclass(frozen=True, eq=False)
class TwoSides:
    """Old documents with their classes, and new ones, over the terms that occur; `truth` is the new ones' class.

    class_weight  the weight of the documents of each class (n_classes,); None if all are 1
    """

    old: Sparse
    codes: Ids
    new: Sparse
    truth: Ids
    classes: tuple[str, ...]
    class_weight: np.ndarray | None = None


@lru_cache(maxsize=KEPT)
def two_sides(
    data: Collection, seed: int, n_old: int, n_new: int, *, unusual: str = "", shares: str = "same", mix: float = 0.0
) -> TwoSides:
    """Two random samples without a common document, at most half of the collection each.

    shares "drawn": the new shares are drawn from a Dirichlet law around the old ones; `mix`: that share of the new
    documents comes from one class, drawn at random.

    unusual "copies": a tenth of each side is there once more; "repeats": on both sides, four in ten texts are one of a
    few short phrases; "weights": documents of half of the classes have a weight; "lone": one class has one old document
    and as small a share of the new ones.
    """
    rng = np.random.default_rng([seed, len(data.codes)])
    n_docs = len(data.codes)
    n_old, n_new = min(n_old, n_docs // 2), min(n_new, n_docs // (4 if mix else 2))  # one class must have enough left
    order = rng.permutation(n_docs)
    old, rest = order[:n_old], order[n_old:]
    present = np.unique(data.codes[old])
    rest = rest[np.isin(data.codes[rest], present)]
    new = rest[:n_new]
    if shares == "drawn" or mix:
        share = np.bincount(data.codes[old])[present] / n_old
        if mix:
            wanted = (1 - mix) * share
            wanted[rng.integers(len(present))] += mix
        else:
            wanted = rng.dirichlet(np.maximum(share * len(present), 0.05))
        number = rng.multinomial(n_new, wanted / wanted.sum())
        new = np.concatenate([rest[data.codes[rest] == c][:n] for c, n in zip(present, number, strict=True)])
    if unusual == COPIES:
        old, new = (np.append(rows, rng.choice(rows, int(COPIED * len(rows)), replace=False)) for rows in (old, new))
    if unusual == LONE:
        old, new = _leave_one(data.codes, old, new, int(rng.choice(present)))
    both = data.X[np.concatenate([old, new])], np.concatenate([data.codes[old], data.codes[new]])
    if unusual == REPEATS:
        both = _with_phrases(*both, len(old), rng)
    X = take_columns(both[0], np.flatnonzero(document_frequency(both[0])))
    codes, names = np.searchsorted(present, both[1]), tuple(data.classes[c] for c in present)
    heavy = rng.permutation(len(present)) % 2 == 0 if unusual == WEIGHTS else None
    class_weight = None if heavy is None else np.where(heavy, HEAVY, 1.0)
    n_old = len(old)
    return TwoSides(X[:n_old], codes[:n_old], X[n_old:], codes[n_old:], names, class_weight)


def _leave_one(codes: Ids, old: Ids, new: Ids, lone: int) -> tuple[Ids, Ids]:
    """Drop documents of the class `lone` until there is one old one, and as small a share of the new ones."""
    n_new = int(np.rint((codes[new] != lone).sum() / (codes[old] != lone).sum()))
    kept = [
        np.sort(np.append(np.flatnonzero(codes[rows] != lone), np.flatnonzero(codes[rows] == lone)[:n]))
        for rows, n in ((old, 1), (new, n_new))
    ]
    return old[kept[0]], new[kept[1]]


def _with_phrases(X: Sparse, codes: Ids, n_old: int, rng: np.random.Generator) -> tuple[Sparse, Ids]:
    """Replace REPEATED of the documents by short phrases with one class each; the n-th is n times rarer than the first.

    A phrase is some terms of one of the first new documents, which are left out. The old documents do not depend on the
    number of new ones.
    """
    source = slice(n_old, n_old + N_PHRASES)
    table, kept = X[source], np.delete(np.arange(X.shape[0]), np.arange(X.shape[0])[source])
    terms = [rng.permutation(table.indices[table.indptr[i] : table.indptr[i + 1]]) for i in range(N_PHRASES)]
    i, j = np.array([(i, term) for i, row in enumerate(terms) for term in row[:PHRASE_TERMS]]).T
    phrases = csr_array((np.ones(len(i), X.dtype), (i, j)), shape=table.shape)
    chance = np.cumsum(1 / np.arange(1, N_PHRASES + 1))
    drawn, luck = rng.random((len(kept), 2)).T
    phrase = np.searchsorted(chance / chance[-1], drawn)
    rows = np.where(luck < REPEATED, X.shape[0] + phrase, kept)
    return csr_array(vstack([X, phrases]).tocsr()[rows]), np.append(codes, codes[source])[rows]


@lru_cache(maxsize=KEPT)
def shares_of(sides: TwoSides, seed: int) -> tuple[ClassShare, ...]:
    """The shares of the classes among the new documents, as `audit --new-data` prints them."""
    return class_shares(sides.old, sides.codes, sides.classes, sides.new, seed=seed)


@lru_cache(maxsize=KEPT)
def test_of(sides: TwoSides, seed: int) -> TwoSampleTest:
    """The test of the words alone."""
    return two_sample_test(sides.old, sides.new, seed=seed)


def share_intervals(n: int, **how: object) -> Callable[[Collection, int], float | None]:
    """The share of the intervals of class shares that hold the true share among the new documents."""

    def simulate(data: Collection, seed: int) -> float | None:
        sides = two_sides(data, seed, n, n, **how)  # type: ignore[arg-type]
        found = shares_of(sides, seed)
        truth = dict(zip(sides.classes, np.bincount(sides.truth, minlength=len(sides.classes)), strict=True))
        named = sum(truth[one.name] for one in found if one.name in truth)
        n_new = len(sides.truth)
        shares = [truth.get(one.name, n_new - named) / n_new for one in found]
        held = [one.low - 1e-9 <= share <= one.high + 1e-9 for one, share in zip(found, shares, strict=True)]
        return float(np.mean(held)) if held else None

    return simulate


def any_changed(n: int, **how: object) -> Callable[[Collection, int], float | None]:
    """Whether any class is called changed."""

    def simulate(data: Collection, seed: int) -> float | None:
        found = shares_of(two_sides(data, seed, n, n, **how), seed)  # type: ignore[arg-type]
        return float(any(one.changed for one in found)) if found else None

    return simulate


def drift_alarm(n_old: int, n_new: int, **how: object) -> Callable[[Collection, int], float]:
    """Whether `audit --new-data` says that the texts differ."""

    def simulate(data: Collection, seed: int) -> float:
        sides = two_sides(data, seed, n_old, n_new, **how)  # type: ignore[arg-type]
        test = add_class_evidence(test_of(sides, seed), [one.p for one in shares_of(sides, seed)])
        return float(test.differs)

    return simulate


def area_interval(n_old: int, n_new: int, **how: object) -> Callable[[Collection, int], float]:
    """Whether the interval of the area holds .5, which it is where nothing differs."""

    def simulate(data: Collection, seed: int) -> float:
        found = test_of(two_sides(data, seed, n_old, n_new, **how), seed)  # type: ignore[arg-type]
        return float(found.low <= 0.5 <= found.high)

    return simulate


def any_term_changed(n: int, **how: object) -> Callable[[Collection, int], float]:
    """Whether any term is named as changed."""

    def simulate(data: Collection, seed: int) -> float:
        sides = two_sides(data, seed, n, n, **how)  # type: ignore[arg-type]
        names = Vocabulary([f"t{column}" for column in range(sides.old.shape[1])])
        return float(bool(changed_terms(sides.old, sides.new, names)[0]))

    return simulate


METHODS = ((0.1, 1.0), (1.0, 0.7))  # alpha and power of two kinds of naive Bayes
N_COMPARED = 500  # documents of a comparison
MOST_SPLITS = 30


def right_by_naive_bayes(X: Sparse, codes: Ids, training: Ids, test: Ids) -> tuple[np.ndarray, ...]:
    """Which test documents multinomial naive Bayes gets right (n_test,), by each of METHODS.

    Its counts are raised to a power before alpha is added.
    """
    n_classes = int(codes.max()) + 1
    of_class = csr_array((np.ones(len(training)), (codes[training], np.arange(len(training)))))
    of_class.resize((n_classes, len(training)))
    sums, rows = (of_class @ X[training]).toarray(), X[test]
    prior = np.log(np.bincount(codes[training], minlength=n_classes) + 1e-9)
    found = []
    for alpha, power in METHODS:
        smoothed = sums**power + alpha
        weights = np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))
        found.append(np.asarray((rows @ weights.T + prior).argmax(axis=1) == codes[test]))
    return tuple(found)


def _sample(data: Collection, rng: np.random.Generator) -> tuple[Sparse, Ids]:
    rows = rng.permutation(len(data.codes))[: min(N_COMPARED, len(data.codes) // 2)]
    X = data.X[rows]
    return take_columns(X, np.flatnonzero(document_frequency(X))), np.unique(data.codes[rows], return_inverse=True)[1]


def _split(n: int, rng: np.random.Generator) -> tuple[Ids, Ids]:
    order = rng.permutation(n)
    return np.sort(order[: int(0.8 * n)]), np.sort(order[int(0.8 * n) :])


@cache
def mean_accuracies(name: str) -> tuple[float, float]:
    """The accuracies of METHODS on the mean of 400 samples of a collection."""
    data, means = collection(name), np.zeros(2)
    for seed in range(400):
        rng = np.random.default_rng([seed, 99])
        X, codes = _sample(data, rng)
        means += [right.mean() for right in right_by_naive_bayes(X, codes, *_split(len(codes), rng))]
    return float(means[0] / 400), float(means[1] / 400)


Results = tuple[np.ndarray, tuple[tuple[int, Ids, tuple[np.ndarray, ...]], ...]]


@lru_cache(maxsize=KEPT)
def split_results(data: Collection, seed: int, n_folds: int = 0) -> Results:
    """(a random number for each document of a sample; of MOST_SPLITS splits of it the number of training documents, the
    test documents, and which of them METHODS get right); with n_folds the splits are those of cross-validation."""
    rng = np.random.default_rng([seed, 5])
    X, codes = _sample(data, rng)
    luck = rng.random(len(codes))
    if n_folds:
        splits = list(split_folds(rng.permutation(len(codes)) % n_folds, n_folds))
    else:
        splits = [_split(len(codes), rng) for _ in range(MOST_SPLITS)]
    return luck, tuple((len(one), test, right_by_naive_bayes(X, codes, one, test)) for one, test in splits)


def record_of(split: int, method: int, right: np.ndarray, n_train: int) -> Record:
    """A record of `compare`: one method on one split."""
    return Record(
        data="simulated#1",
        protocol="random",
        split=split,
        seed=0,
        model=f"method {method}",
        parameters={},
        measure="accuracy",
        value=float(right.mean()),
        seconds=0.0,
        n_train=n_train,
        n_test=len(right),
        right=np.packbits(right).tobytes().hex(),
    )


def called_different(records: list[Record]) -> float:
    """Whether `compare` calls two methods different; an error if it does not test them, so that no row is empty."""
    (test,) = pairwise_tests(records)
    if test.tested is None:
        raise RuntimeError(f"{test.splits} splits are not tested: the row measures nothing")
    return float(test.verdict in ("better", "worse"))


def equal_methods_differ(splits: int, n_folds: int = 0) -> Callable[[Collection, int], float]:
    """Whether `compare --splits` or `--folds` calls two methods different that are equal on the mean of all samples.

    Of the better of METHODS so many right documents are made wrong, at random, that both are equally good.
    """

    def simulate(data: Collection, seed: int) -> float:
        means = mean_accuracies(data.name)
        better = int(np.argmax(means))
        luck, made = split_results(data, seed, n_folds)
        spoilt, records = luck < 1 - means[1 - better] / means[better], []
        for split, (n_train, test, results) in enumerate(made[:splits]):
            for method, right in enumerate(results):
                seen = right & ~spoilt[test] if method == better else right
                records.append(record_of(split, method, seen, n_train))
        return called_different(records)

    return simulate


def chance_methods_differ(data: Collection, seed: int, splits: int = 10) -> float:
    """The same of one method twice, with another random half of the terms left out in each split."""
    rng = np.random.default_rng([seed, 5])
    X, codes = _sample(data, rng)
    rng.random(len(codes))  # the splits of split_results
    records = []
    for split in range(splits):
        training, test = _split(len(codes), rng)
        for method in range(2):
            kept = take_columns(X, np.flatnonzero(rng.random(X.shape[1]) < 0.5))
            right = right_by_naive_bayes(kept, codes, training, test)[0]
            records.append(record_of(split, method, right, len(training)))
    return called_different(records)


def equal_models_differ(data: Collection, seed: int) -> float | None:
    """Whether McNemar's test calls two trained models different that are equally good on all other documents."""
    if len(data.codes) < 2600:
        return None
    rng = np.random.default_rng([seed, 7])
    order = rng.permutation(len(data.codes))[:6000]
    X, codes = data.X[order], data.codes[order]
    X = take_columns(X, np.flatnonzero(document_frequency(X[:500])))
    training, test = np.arange(500), np.arange(500, len(order))
    right = list(right_by_naive_bayes(X, codes, training, test))
    better = int(right[1].mean() > right[0].mean())
    share = 1 - right[1 - better].mean() / right[better].mean()
    right[better] = right[better] & ~(rng.random(len(test)) < share)
    return float(mcnemar(right[0][:300], right[1][:300]).significant())


INTERVALS = "audit --new-data: the 95 % interval contains the class share among the new texts"
CHANGED = "audit --new-data: if nothing changed, at most 5 % of audits report a changed class"
DIFFER = "audit --new-data: for texts of one source, at most 5 % of audits report a difference"
POWER = "audit --new-data: how often a difference is found"
AREA = "audit --new-data: the 95 % interval of the AUC contains .5 if nothing differs"
TERMS = "audit --new-data: if nothing changed, at most 5 % of audits list a term"
COMPARE = "compare: equally good methods are reported as different in at most 5 % of comparisons"
MCNEMAR = "compare, column McNemar: equally good trained models have p < .05 in at most 5 % of comparisons"

DRIFT_ROWS = (
    Row("shares", INTERVALS, "900 old and 900 new texts (or two halves), same shares", "at least", 0.95,
        share_intervals(900)),
    Row("shares-few", INTERVALS, "300 old and 300 new texts, same shares", "at least", 0.95, share_intervals(300)),
    Row("shares-copies", INTERVALS, "900 each, same shares, 10 % copies", "at least", 0.95,
        share_intervals(900, unusual=COPIES)),
    Row("shares-drawn", INTERVALS, "900 each, other shares", "at least", 0.95, share_intervals(900, shares="drawn")),
    Row("changed", CHANGED, "900 old and new texts", "at most", 0.05, any_changed(900)),
    Row("changed-few", CHANGED, "300 old and new texts", "at most", 0.05, any_changed(300)),
    Row("changed-copies", CHANGED, "900, 10 % copies", "at most", 0.05, any_changed(900, unusual=COPIES)),
    Row("differ", DIFFER, "300 old and new texts", "at most", 0.05, drift_alarm(300, 300)),
    Row("differ-copies", DIFFER, "300, 10 % copies", "at most", 0.05, drift_alarm(300, 300, unusual=COPIES)),
    Row("power-quarter", POWER, "1,500 old, 500 new texts; a quarter of the new ones have one class", "power", 0,
        drift_alarm(1500, 500, mix=0.25), most=50),
    Row("power-tenth", POWER, "1,500 old, 500 new texts; a tenth of the new ones have one class", "power", 0,
        drift_alarm(1500, 500, mix=0.1), most=50),
    Row("area", AREA, "300 old and new texts", "at least", 0.95, area_interval(300, 300)),
    Row("area-copies", AREA, "300, 10 % copies", "at least", 0.95, area_interval(300, 300, unusual=COPIES)),
    Row("terms", TERMS, "300 old and new texts", "at most", 0.05, any_term_changed(300)),
    Row("terms-copies", TERMS, "300, 10 % copies", "at most", 0.05, any_term_changed(300, unusual=COPIES)),
    Row("compare-5", COMPARE, "5 splits", "at most", 0.05, equal_methods_differ(5)),
    Row("compare-10", COMPARE, "10 splits", "at most", 0.05, equal_methods_differ(10)),
    Row("compare-30", COMPARE, "30 splits", "at most", 0.05, equal_methods_differ(30)),
    Row("compare-folds", COMPARE, "10 folds", "at most", 0.05, equal_methods_differ(10, 10)),
    Row("compare-terms-10", COMPARE, "10 splits, randomised methods", "at most", 0.05,
        chance_methods_differ),
    Row("mcnemar", MCNEMAR, "300 test documents", "at most", 0.05, equal_models_differ),
)  # fmt: skip
