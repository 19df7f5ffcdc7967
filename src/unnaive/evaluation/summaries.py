"""Summarise records of experiments: means with their spread, curves, and paired tests; grids.py makes tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.results import Record
from unnaive.evaluation.significance import (
    Test,
    WinTieLoss,
    corrected_t,
    mcnemar,
    paired_t,
    split_freedom,
    variance_floor,
    win_tie_loss,
)

FEWEST_SPLITS = 5  # with fewer splits, no difference is called significant
GridPoint = tuple[float | None, int | None]  # training size, terms


@dataclass(frozen=True)
class Summary:
    """One contender at one training size and vocabulary: a measure over the splits.

    `spread` is the standard deviation with divisor n − 1, 0 for a single split; `seconds` the mean time of fitting and
    scoring, `n_terms` the mean number of terms used, `train_seconds` and `n_bytes` the means of those of the records,
    0 if they have none. `half_width` is half of the 95 % interval of the mean, with the variance of the corrected
    resampled t-test; None with fewer than two splits, or if all have the same value, which says nothing of the spread.
    """

    contender: str
    train_size: float | None
    terms: int | None
    measure: str
    mean: float | None
    spread: float
    splits: int
    seconds: float
    n_terms: float = 0.0
    half_width: float | None = None
    train_seconds: float = 0.0
    n_bytes: float = 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean, within the range of the measure; None without one."""
        if self.mean is None or self.half_width is None:
            return None
        most = 1.0 if find_measure(self.measure).larger_is_better else float("inf")
        return max(0.0, self.mean - self.half_width), min(most, self.mean + self.half_width)

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        return f"{self.mean:.4f} ± {self.spread:.4f}" if self.splits > 1 else f"{self.mean:.4f}"


def group_comparisons(records: Iterable[Record]) -> dict[tuple[object, ...], list[Record]]:
    """The records of each comparison in a file, oldest first; of repeated measurements, the latest."""
    groups: dict[tuple[object, ...], dict[tuple[object, ...], Record]] = {}
    for record in records:
        of_one = groups.setdefault((record.data, record.protocol, record.seed, record.min_df), {})
        of_one[record.trial, record.measure] = record
    return {key: list(of_one.values()) for key, of_one in groups.items()}


def summarise(records: Iterable[Record]) -> list[Summary]:
    """Mean and spread for every contender, size, vocabulary and measure, in the order of the records."""
    groups: dict[tuple[str, float | None, int | None, str], list[Record]] = {}
    for record in records:
        key = (record.contender, record.train_size, record.terms, record.measure)
        groups.setdefault(key, []).append(record)
    return [_summary(key, group) for key, group in groups.items()]


def _summary(key: tuple[str, float | None, int | None, str], group: Sequence[Record]) -> Summary:
    values = [record.value for record in group if record.value is not None]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    mean = float(np.mean(values)) if values else None
    columns = ((record.seconds, record.n_terms, record.train_seconds, record.n_bytes) for record in group)
    seconds, terms, train_seconds, n_bytes = np.mean(list(columns), axis=0).tolist()
    half_width = _half_width(group, spread, len(values))
    return Summary(*key, mean, spread, len(values), seconds, terms, half_width, train_seconds, n_bytes)


def _half_width(group: Sequence[Record], spread: float, splits: int) -> float | None:
    """t(.975)·√((1/J + n_test/n_train)·s²), Nadeau and Bengio (2003), with the degrees of `split_freedom`."""
    if splits < 2 or spread == 0:
        return None
    n_train, n_test = group[0].n_train, group[0].n_test
    if not (n_train and n_test):
        return float(stdtrit(splits - 1, 0.975) * spread / np.sqrt(splits))
    freedom = split_freedom(splits, n_train, n_test)
    return float(stdtrit(freedom, 0.975) * spread * np.sqrt(1 / splits + n_test / n_train))


@dataclass(frozen=True)
class PairwiseTest:
    """Two contenders on the same splits: first against second, by a measure, at a training size and vocabulary.

    `outcome` counts splits; `paired` and `corrected` are None with fewer than two splits, `corrected` also with a fixed
    split. If smaller is better the sign is reversed, so that a positive difference always favours the first.
    `documents` is McNemar's exact test on the documents, each used once: all of them if the splits are
    folds or fixed, those of the first split if splits are random; None if records do not have them. It tests
    whether the trained classifiers differ, so it decides nothing about the contenders.
    """

    first: str
    second: str
    measure: str
    place: GridPoint
    outcome: WinTieLoss
    paired: Test | None
    corrected: Test | None
    documents: Test | None = None

    @property
    def splits(self) -> int:
        """The number of splits that both were measured on."""
        return self.outcome.wins + self.outcome.ties + self.outcome.losses

    @property
    def tested(self) -> Test | None:
        """The deciding test over the splits; None with fewer than five."""
        return (self.corrected or self.paired) if self.splits >= FEWEST_SPLITS else None

    @property
    def verdict(self) -> str:
        """ "better", "worse" or "no difference" at the level .05; "untested" where there are too few splits."""
        test = self.tested
        if test is None:
            return "untested"
        if not test.significant():
            return "no difference"
        return "better" if test.difference > 0 else "worse"


def pairwise_tests(
    records: Sequence[Record], *, against: str | None = None, measure: str | None = None
) -> list[PairwiseTest]:
    """Every contender against one of them (the first by default), by one measure (the first by default).

    There is one test for each combination of training size and vocabulary.
    """
    names = list(dict.fromkeys(record.contender for record in records))
    rival = against if against is not None else names[0]
    return _tests_of(records, [(name, rival) for name in names if name != rival], measure)


def every_pair(records: Sequence[Record], *, measure: str | None = None) -> list[PairwiseTest]:
    """Each pair of contenders once, the better one first, by one measure (the first by default)."""
    by = measure if measure is not None else records[0].measure
    sign = 1 if find_measure(by).larger_is_better else -1
    means: dict[str, list[float]] = {}
    for summary in summarise(records):
        if summary.measure == by and summary.mean is not None:
            means.setdefault(summary.contender, []).append(sign * summary.mean)
    ranked = sorted(means, key=lambda name: -float(np.mean(means[name])))
    pairs = [(first, second) for rank, first in enumerate(ranked) for second in ranked[rank + 1 :]]
    return _tests_of(records, pairs, measure)


def _tests_of(records: Sequence[Record], pairs: list[tuple[str, str]], measure: str | None) -> list[PairwiseTest]:
    by = measure if measure is not None else records[0].measure
    chosen = [record for record in records if record.measure == by]
    places = dict.fromkeys((record.train_size, record.terms) for record in chosen)
    tests = [_pairwise_test(chosen, first, second, by, point) for point in places for first, second in pairs]
    return [test for test in tests if test is not None]


def _pairwise_test(
    records: Sequence[Record], first: str, second: str, measure: str, point: GridPoint
) -> PairwiseTest | None:
    here = [record for record in records if (record.train_size, record.terms) == point and record.value is not None]
    mine = {record.split: record for record in here if record.contender == first}
    theirs = {record.split: record for record in here if record.contender == second}
    both = sorted(mine.keys() & theirs.keys())
    sign = 1 if find_measure(measure).larger_is_better else -1
    a = [sign * float(mine[split].value or 0.0) for split in both]
    b = [sign * float(theirs[split].value or 0.0) for split in both]
    if not both:
        return None
    documents = _test_documents([mine[split] for split in both], [theirs[split] for split in both])
    if len(both) < 2:
        outcome = WinTieLoss(int(a > b), int(a == b), int(a < b))
        return PairwiseTest(first, second, measure, point, outcome, None, None, documents)
    sizes = {"n_train": mine[both[0]].n_train, "n_test": mine[both[0]].n_test}
    floor = variance_floor(float(np.mean(a) - np.mean(b)), sizes["n_test"])
    corrected = None
    if min(sizes.values()) > 0:
        corrected = corrected_t(a, b, **sizes, floor=floor, most_freedom=split_freedom(len(both), **sizes))
    return PairwiseTest(first, second, measure, point, win_tie_loss(a, b), paired_t(a, b), corrected, documents)


def _test_documents(mine: Sequence[Record], theirs: Sequence[Record]) -> Test | None:
    """McNemar's test on the documents that each classified correctly.

    For random splits, which overlap, only the first.
    """
    if mine[0].protocol == "random":
        mine, theirs = mine[:1], theirs[:1]
    if not all(
        first.right and second.right and first.n_test == second.n_test
        for first, second in zip(mine, theirs, strict=True)
    ):
        return None
    flags = [np.concatenate([record.right_documents() for record in side]) for side in (mine, theirs)]
    return mcnemar(*flags)


@dataclass(frozen=True)
class MeasureCurve:
    """A measure along an axis: x, mean and spread at each point."""

    name: str
    x: tuple[float, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]


def learning_curves(records: Sequence[Record], measure: str) -> list[MeasureCurve]:
    """Curves by training size in %, one for each contender, with the largest vocabulary."""
    return _curves(records, measure, lambda summary: summary.train_size, lambda summary: summary.terms)


def vocabulary_curves(records: Sequence[Record], measure: str) -> list[MeasureCurve]:
    """Curves by number of terms, one for each contender, at the largest training size; all terms are the last point."""
    return _curves(
        records, measure, lambda summary: summary.terms or summary.n_terms or None, lambda summary: summary.train_size
    )


def _curves(
    records: Sequence[Record], measure: str, along: Callable[[Summary], float | None], other: Callable[[Summary], Any]
) -> list[MeasureCurve]:
    summaries = [summary for summary in summarise(records) if summary.measure == measure and summary.mean is not None]
    fixed = {other(summary) for summary in summaries}
    keep = None if None in fixed else max(fixed, default=None)
    points: dict[str, list[tuple[float, float, float]]] = {}
    for summary in summaries:
        x = along(summary)
        if x is not None and other(summary) == keep and summary.mean is not None:
            points.setdefault(summary.contender, []).append((float(x), summary.mean, summary.spread))
    curves = []
    for name, values in points.items():
        values.sort()
        curves.append(MeasureCurve(name, *(tuple(point[part] for point in values) for part in range(3))))
    return [curve for curve in curves if len(curve.x) > 1]


def records_as_json(records: Sequence[Record], *, against: str | None = None) -> str:
    """Summaries and paired tests as JSON."""
    content = {
        "summaries": [vars(item) for item in summarise(records)],
        "differences": [_pairwise_json(item) for item in pairwise_tests(records, against=against)],
        "pairs": [_pairwise_json(item) for item in every_pair(records)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False)


def _pairwise_json(test: PairwiseTest) -> dict[str, Any]:
    return {
        "first": test.first,
        "second": test.second,
        "measure": test.measure,
        "train_size": test.place[0],
        "terms": test.place[1],
        "win_tie_loss": str(test.outcome),
        "paired_t_p": test.paired.p if test.paired else None,
        "corrected_t_p": test.corrected.p if test.corrected else None,
        "mcnemar_p": test.documents.p if test.documents else None,
        "verdict": test.verdict,
    }
