"""Rows of docs/statistics.md on what `audit` says of labels, `label` of the model so far, and `compare` of a mean.

As in statistics_rows.py, `simulate(collection, seed)` is one draw: 0 or 1, or a share; None where it cannot be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from statistics_model_rows import UNUSUAL, Simulate, draw
from statistics_rows import LONE, REPEATS, Collection, Row, mean_accuracies, record_of, split_results, two_sides

from unnaive.base.types import Ids, Sparse
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.label_errors import (
    ErrorEstimate,
    LabelEvidence,
    estimate_errors,
    leave_one_out_evidence,
    out_of_fold_evidence,
)
from unnaive.curation.audit.leaks import column_findings
from unnaive.curation.audit.leave_one_out import LeaveOneOut
from unnaive.curation.labelling.asking import Strategy
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.labelling_session import Labelling
from unnaive.curation.labelling.when_to_stop import Stability, outlook, running_accuracy
from unnaive.evaluation.summaries import summarise
from unnaive.text.counting import TextCounter

POOL, NEW_TEXTS = 600, 1500  # texts to label, and new texts for the truth at most
# numbers of labels at which `label` is measured, by people or by the kind of unusual texts, which one person labels
LABELS: dict[int | str, tuple[int, ...]] = {1: (100, 200, 300), 2: (200,), 3: (300,), REPEATS: (200,), LONE: (200,)}
MEMORY = Path("/dev/shm")  # noqa: S108 - the folder of a system whose files are in memory


@lru_cache(maxsize=8)
def evidence_of(data: Collection, seed: int, given: bytes, folding: int, unusual: str = "") -> LabelEvidence:
    """What `audit` says of the documents of a draw with these labels (int64 as bytes); `folding` is its seed.

    Rows that exchange labels where models do well or badly look at the same evidence first.
    """
    X, _, _, _ = draw(data, seed, unusual=unusual)
    codes = np.frombuffer(given, np.int64)
    return out_of_fold_evidence(X, codes, int(codes.max()) + 1, seed=folding)


def error_interval(share: float, *, fast: bool, unusual: str = "") -> Simulate:
    """Whether the labels that were exchanged at random are no more than `audit` says at the most."""

    def simulate(data: Collection, seed: int) -> float:
        X, codes, _, _ = draw(data, seed, unusual=unusual)
        classes, codes = np.unique(codes, return_inverse=True)
        rng = np.random.default_rng([seed, 13])
        wrong = rng.random(len(codes)) < share
        given = np.where(wrong, (codes + rng.integers(1, len(classes), len(codes))) % len(classes), codes)
        if fast:
            evidence = leave_one_out_evidence(LeaveOneOut.of(X, given, len(classes)), seed=seed)
        else:
            evidence = evidence_of(data, seed, given.tobytes(), seed, unusual)
        found = estimate_errors(evidence)
        return float(wrong.sum() <= found.high)

    return simulate


def replaced_pair(recognised: bool) -> Simulate:
    """Whether as many labels were replaced as `audit` says at the most, if labels of one class became one other label.

    5 % of all labels, or a third of the class if it has fewer. The class is drawn among those with a tenth of the
    documents, `recognised`: of which models find at least half before; if there is none, it is the largest.
    """

    def simulate(data: Collection, seed: int) -> float:
        _, codes, _, _ = draw(data, seed)
        classes, codes = np.unique(codes, return_inverse=True)
        rng, sizes = np.random.default_rng([seed, 17]), np.bincount(codes)
        large = sizes >= len(codes) / 10
        if recognised:
            wrong = evidence_of(data, seed, codes.tobytes(), seed + 1).disagrees
            large &= np.bincount(codes, wrong) <= sizes / 2
        source = int(rng.choice(np.flatnonzero(large))) if large.any() else int(sizes.argmax())
        replaced = rng.permutation(np.flatnonzero(codes == source))[: min(len(codes) // 20, sizes[source] // 3)]
        given = codes.copy()
        given[replaced] = rng.choice(np.setdiff1d(np.arange(len(classes)), [source]))
        found = estimate_errors(evidence_of(data, seed, given.tobytes(), seed))
        return float(len(replaced) <= found.high)

    return simulate


@lru_cache(maxsize=4)
def replaced_in_hard(data: Collection, seed: int) -> tuple[int, ErrorEstimate]:
    """(how many labels were replaced, the estimate) if all of them are among the hardest 30 % of the texts."""
    _, codes, _, _ = draw(data, seed)
    classes, codes = np.unique(codes, return_inverse=True)
    hardest = np.argsort(evidence_of(data, seed, codes.tobytes(), seed + 1).log_given)[: 3 * len(codes) // 10]
    rng, given = np.random.default_rng([seed, 18]), codes.copy()
    replaced = rng.permutation(hardest)[: len(codes) // 20]
    given[replaced] = (codes[replaced] + rng.integers(1, len(classes), len(replaced))) % len(classes)
    return len(replaced), estimate_errors(evidence_of(data, seed, given.tobytes(), seed))


def hard_below_doubted(data: Collection, seed: int) -> float:
    """Whether labels replaced in hard texts are no more than the upper end for all labels that `audit` doubts."""
    n_wrong, found = replaced_in_hard(data, seed)
    return float(n_wrong <= found.most)


def hard_below_estimate(data: Collection, seed: int) -> float:
    """Whether labels replaced in hard texts are at most the upper end of the estimate; it does not promise this."""
    n_wrong, found = replaced_in_hard(data, seed)
    return float(n_wrong <= found.high)


def leaking_column(data: Collection, seed: int) -> float:
    """Whether `audit` says that a column of random values tells the label."""
    rng = np.random.default_rng([seed, 14])
    codes = rng.permutation(data.codes)[:300]
    labels = [(data.classes[code],) for code in codes]
    columns = {"colour": rng.choice(["red", "green", "blue", "grey"], 300).tolist(), "number": rng.random(300).tolist()}
    found = AuditData([""] * 300, labels, range(1, 301), [str(n) for n in range(300)], data.name, None, columns)
    return float(bool(list(column_findings(found))))


def words_of(X: Sparse) -> list[str]:
    """Documents as texts that are counted as they are: a word for each term."""
    ends = X.indptr.tolist()
    words = [f"w{term}" for term in X.indices.tolist()]
    return [" ".join(words[start:end]) for start, end in pairwise(ends)]


class Measured(NamedTuple):
    """What `label` says at some number of labels, and what is true.

    low, high  the 95 % interval of the accuracy on new texts like the pool
    accuracy   the share of new texts that the model labels correctly
    """

    low: float
    high: float
    accuracy: float


class TextsToLabel(NamedTuple):
    """Texts to label with their right labels, and new texts with theirs."""

    texts: list[str]
    labels: list[tuple[str, ...]]
    new: list[str]
    truth: list[tuple[str, ...]]


@lru_cache(maxsize=4)
def texts_to_label(data: Collection, seed: int, unusual: str = "") -> TextsToLabel:
    """POOL random texts to label, two thirds of a small collection, and new ones; `unusual` as in `two_sides`."""

    def named(codes: Ids, names: Sequence[str]) -> list[tuple[str, ...]]:
        return [(names[code],) for code in codes]

    if unusual:
        sides = two_sides(data, seed, POOL, NEW_TEXTS, unusual=unusual)
        old, new = words_of(sides.old), words_of(sides.new)
        return TextsToLabel(old, named(sides.codes, sides.classes), new, named(sides.truth, sides.classes))
    order = np.random.default_rng([seed, 15]).permutation(len(data.codes))
    end = min(POOL, 2 * len(data.codes) // 3)
    pool, rest = order[:end], order[end:][:NEW_TEXTS]
    names = data.classes
    return TextsToLabel(
        words_of(data.X[pool]), named(data.codes[pool], names), words_of(data.X[rest]), named(data.codes[rest], names)
    )


@contextmanager
def labelling(drawn: TextsToLabel, seed: int, n_people: int) -> Iterator[tuple[Labelling, Iterator[int]]]:
    """A session of `label`, and an iterator that has the next text labelled correctly by its people.

    Questions, leases, texts that two people label and what the model learns are those of the command itself. The record
    is in memory where the system offers that, since a disk takes most of the time to make each answer durable.
    """
    classes = sorted({label for labels in drawn.labels for label in labels})
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        record = LabelRecord.create(Path(folder) / "labels.db", drawn.texts, classes=classes)
        session = Labelling(record, strategy=Strategy(seed=seed))

        def answers() -> Iterator[int]:
            for turn in count():
                who = f"person {turn % n_people}"
                shown = session.show(who)
                if shown is None:
                    return
                session.answer(who, shown.text, "label", drawn.labels[shown.text], shown.seen)
                yield session.pool.n_labelled

        try:
            yield session, answers()
        finally:
            record.close()


@lru_cache(maxsize=4)
def labelled_by(data: Collection, seed: int, n_people: int, unusual: str = "") -> dict[int, Measured]:
    """What `label` says at numbers of labels of its own choice, those that have a row, and the truth on new texts."""
    drawn = texts_to_label(data, seed, unusual)
    wanted, measured = LABELS[unusual or n_people], {}
    with labelling(drawn, seed, n_people) as (session, answers):
        for n_labels in answers:
            if n_labels in wanted and n_labels not in measured:
                _, low, high = running_accuracy(session.learner, session.sample()).interval
                found = label_new(session, drawn.new)
                right = np.mean([one == other for one, other in zip(found, drawn.truth, strict=True)])
                measured[n_labels] = Measured(low, high, float(right))
            if n_labels >= max(wanted):
                break
    return measured


def label_new(session: Labelling, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The labels that the model of a session gives to other texts."""
    pool, model = session.pool, session.learner.model
    if model is None:
        raise ValueError("there is no linear model yet; ask after 50 labels")
    X = TextCounter(pool.rule, pool.vocabulary).count(texts)
    X = csr_array((np.ones(X.nnz, np.float32), X.indices, X.indptr), shape=X.shape)
    return session.learner.decide(model.classes, model.scores(pool.weighted(X)))


def label_interval(n_labels: int, n_people: int, unusual: str = "") -> Simulate:
    """Whether the interval of `label` contains the accuracy of its model on new texts."""

    def simulate(data: Collection, seed: int) -> float | None:
        found = labelled_by(data, seed, n_people, unusual).get(n_labels)
        return None if found is None else float(found.low <= found.accuracy <= found.high)

    return simulate


def stop_holds(data: Collection, seed: int) -> float | None:
    """Whether 50 labels after `label` says that more change little, accuracy on the pool moved by at most 4 points.

    None if it does not say so within 350 labels.
    """
    drawn = texts_to_label(data, seed)

    def accuracy(session: Labelling) -> float:
        found = session.learner.predicted_labels()
        return float(np.mean([one == other for one, other in zip(found, drawn.labels, strict=True)]))

    with labelling(drawn, seed, 1) as (session, answers):
        stability, before = Stability(), None
        for n_labels in answers:
            if n_labels % 10 == 0:
                stability.look(session.learner)
            if before is None and stability.stable:
                before, stop = accuracy(session), n_labels + 50
            elif before is not None and n_labels == stop:
                return float(abs(accuracy(session) - before) <= 0.04)
            if before is None and n_labels >= 350:
                return None
    return None


def outlook_interval(data: Collection, seed: int) -> float | None:
    """Whether the 80 % interval of the labels for one more point holds the true number; answers follow a curve."""
    rng = np.random.default_rng([seed, 16, len(data.codes)])
    a, b, c = rng.uniform(0.7, 1.0), rng.uniform(0.3, 1.5), rng.uniform(0.3, 0.8)
    n = np.arange(1, 201)
    curve = np.clip(a - b * n**-c, 0.001, 0.999)
    found = outlook(n.tolist(), (rng.random(200) < curve).tolist(), 200)
    target = np.clip(a - b * 200.0**-c, 0, 1) + 0.01
    needed = (b / (a - target)) ** (1 / c) - 200 if a > target else np.inf
    return None if found is None else float(found.low <= needed <= found.high)


def mean_interval(splits: int, n_folds: int = 0) -> Simulate:
    """Whether the interval of a contender's mean in `compare` holds the mean over all samples of the collection."""

    def simulate(data: Collection, seed: int) -> float:
        results = split_results(data, seed, n_folds)[1][:splits]
        (found,) = summarise([record_of(split, 0, right[0], n) for split, (n, _, right) in enumerate(results)])
        return float(abs(found.mean - mean_accuracies(data.name)[0]) <= found.half_width)

    return simulate


ERRORS = "audit: the number of wrong labels is at most the upper end of its interval"
HARD = "audit: labels that are wrong in hard texts only are at most the upper end for all doubted labels"
UNPROMISED = "audit, without a promise: how often wrong labels that models cannot see are at most the upper end"
COLUMN = "audit: a column that is independent of the label is reported in at most 5 % of audits"
LABEL = "label: the 95 % interval contains the accuracy on new texts like those to label"
STOP = "label: 50 labels after it says that more change little, accuracy is within 4 points in 95 % of cases"
OUTLOOK = "label: the 80 % interval contains the number of labels for one more point of accuracy"
MEAN = "compare: the 95 % interval contains the mean accuracy over samples of the collection"

LABEL_ROWS = (
    Row("errors-5", ERRORS, "5 % of the labels replaced at random", "at least", 0.95, error_interval(0.05, fast=False)),
    Row("errors-5-fast", ERRORS, "the same, --fast", "at least", 0.95, error_interval(0.05, fast=True)),
    Row("errors-5-repeats", ERRORS, f"5 %, {UNUSUAL[REPEATS]}", "at least", 0.95,
        error_interval(0.05, fast=False, unusual=REPEATS)),
    Row("errors-5-lone", ERRORS, f"5 %, {UNUSUAL[LONE]}", "at least", 0.95,
        error_interval(0.05, fast=False, unusual=LONE)),
    Row("errors-pair", ERRORS, "5 % replaced, all of one class that models find, by one other", "at least", 0.95,
        replaced_pair(True)),
    Row("errors-hard", HARD, "5 % replaced, all in the hardest 30 % of texts", "at least", 0.95, hard_below_doubted),
    Row("errors-hard-estimate", UNPROMISED, "5 % replaced, all in the hardest 30 % of texts", "power", 0,
        hard_below_estimate),
    Row("errors-pair-any", UNPROMISED, "5 % replaced, all of one class and by one other", "power", 0,
        replaced_pair(False)),
    Row("column", COLUMN, "two columns: one of four words, one of numbers", "at most", 0.05, leaking_column),
    Row("label-one-100", LABEL, "100 labels of one person", "at least", 0.95, label_interval(100, 1)),
    Row("label-one-200", LABEL, "200 labels of one person", "at least", 0.95, label_interval(200, 1)),
    Row("label-one-300", LABEL, "300 labels of one person", "at least", 0.95, label_interval(300, 1)),
    Row("label-two-200", LABEL, "200 labels of two people", "at least", 0.95, label_interval(200, 2)),
    Row("label-three-300", LABEL, "300 labels of three people", "at least", 0.95, label_interval(300, 3)),
    Row("label-repeats", LABEL, f"200 labels of one person, {UNUSUAL[REPEATS]}", "at least", 0.95,
        label_interval(200, 1, REPEATS)),
    Row("label-lone", LABEL, f"200 labels of one person, {UNUSUAL[LONE]}", "at least", 0.95,
        label_interval(200, 1, LONE)),
    Row("label-stop-asked", STOP, "one person", "at least", 0.95, stop_holds),
    Row("outlook", OUTLOOK, "200 answers that follow a curve", "at least", 0.8, outlook_interval),
    Row("mean-5", MEAN, "5 splits", "at least", 0.95, mean_interval(5)),
    Row("mean-10", MEAN, "10 splits", "at least", 0.95, mean_interval(10)),
    Row("mean-folds", MEAN, "10 folds", "at least", 0.95, mean_interval(10, 10)),
)  # fmt: skip
