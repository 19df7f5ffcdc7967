"""Conformal prediction sets: sets of labels that contain the right label with a given coverage.

A set contains every class whose nonconformity −log p is below the quantile of held-out documents for their true class.
For one model and documents that it has not learnt from (split conformal prediction), the coverage of documents from the
same source is exact. Ours is nearly so: held-out documents are scored by models trained on other folds (cross-fitting),
new ones by one trained on all documents. It does not hold if new documents differ. `by_class` guarantees the coverage
of every class separately; classes with too few held-out documents are covered together. Sadinle, Lei and Wasserman
(2019) call such sets least ambiguous: they are the smallest on average among all sets with that coverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.base.elementary import exp
from unnaive.base.errors import BadData, count_noun
from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Arrays, Floats, Ids, Label
from unnaive.data.arrays import is_number

# ranks above the threshold that a class needs for its own guarantee: with one, a single document would decide
RANKS_ABOVE = 2
ROUNDING = 1e-12  # relative error of a sum of weights
MOST, MOST_BY_CLASS = 1000, 200  # scores kept, overall and per class; coverage is exact to 1 in this number


def kept_ranks(n: int, most: int) -> Ids:
    """The ranks, from 1 to n, whose scores are kept: all, or `most` evenly spaced ones that end with n.

    >>> kept_ranks(3, 5), kept_ranks(10, 4)
    (array([1, 2, 3]), array([ 3,  5,  8, 10]))
    """
    if n <= most:
        return np.arange(1, n + 1)
    return -(-np.arange(1, most + 1) * n // most)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Some of the order statistics of n nonconformity scores: those of `kept_ranks(n, …)`, rounded up to float32."""

    n: int
    values: Floats

    @classmethod
    def of(cls, scores: Floats, most: int, weight: Floats | None = None) -> Ladder:
        """From all scores, in any order; one of weight 2 counts as two, and n is the rounded sum of the weights.

        >>> Ladder.of(np.array([3.0, 1.0]), 1000, np.array([1.0, 2.0])).values
        array([1., 1., 3.])
        """
        order = np.argsort(scores, kind="stable")
        if weight is None:
            n, at = len(scores), kept_ranks(len(scores), most) - 1
        else:
            reached = np.cumsum(weight[order])
            n = int(np.rint(reached[-1])) if len(reached) else 0
            ranks = kept_ranks(n, most) * (reached[-1] / n if n else 1.0)
            at = np.minimum(np.searchsorted(reached, ranks * (1 - ROUNDING)), len(reached) - 1)
        ordered = scores[order[at]]
        small = ordered.astype(np.float32)
        up = np.nextafter(small, np.float32(np.inf), dtype=np.float32)
        return cls(n, np.where(small < ordered, up, small).astype(np.float64))

    def share_below(self, scores: Floats, most: int) -> Floats:
        """The approximate share of the n scores that are smaller than each of these, from 0 to below 1.

        This is rank/(n + 1), interpolated linearly between kept ranks; beyond the largest it approaches 1.

        >>> Ladder.of(np.arange(1.0, 10.0), 1000).share_below(np.array([0.0, 5.0, 5.5, 9.0, 18.0]), 1000)
        array([0.  , 0.5 , 0.55, 0.9 , 0.95])
        """
        values, last = np.unique(self.values[::-1], return_index=True)
        ranks = kept_ranks(self.n, most)[::-1][last]  # the highest of equal values
        points, at = np.concatenate([[0.0], values]), np.concatenate([[0], ranks])
        beyond = np.maximum(1.0, scores / max(points[-1], np.finfo(np.float64).tiny))
        return np.asarray((np.interp(scores, points, at) + (1 - 1 / beyond)) / (self.n + 1))

    def threshold(self, coverage: float, most: int) -> float:
        """The ⌈(n+1)·coverage⌉-th smallest score, or the next one kept; infinite if n is too small.

        >>> scores = Ladder.of(np.arange(1.0, 10.0), 1000)             # 1, …, 9: rank ⌈10 · .9⌉ = 9; ⌈10 · .95⌉ = 10
        >>> scores.threshold(0.9, 1000), scores.threshold(0.95, 1000)
        (9.0, inf)
        """
        rank = int(np.ceil((self.n + 1) * coverage - 1e-9))  # .9 · 10 must be 9
        if rank > self.n:
            return float("inf")
        return float(self.values[np.searchsorted(kept_ranks(self.n, most), rank)])


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """Nonconformity of held-out documents, overall and by class, as a model file keeps them.

    overall   −log p of the label, for documents with one label
    by_class  −log p of the class, for every document with the class
    several   the largest −log p of the labels, for documents with more than one label, so that a set contains all of
              them; None for single-label data, and in files in which `overall` covers all documents
    novelty   how unlike all classes each document is (novelty.py); None if the model cannot say
    mean_p    the mean of p of each class over all documents (n_classes,), expected for new documents too;
              None for multilabel data, and in older files
    unseen    the share of new documents expected to have a class that no training document has (Good–Turing); 0 for
              multilabel data
    right     1 − p of the predicted class of the documents for which it is right, from which the accuracy on documents
              without labels is estimated; None for multilabel data, and in older files
    wrong     the same of the documents for which it is wrong

    The scores are those of documents of known classes: a set can never contain a class that nobody has seen. So that
    sets contain the label of 90 % of all new documents, they must contain that of 90 / (1 − unseen) % of the documents
    of known classes. If `unseen` is 10 % or more, they contain that of 90 % of them, and `describe_sets` says so.

    In multilabel data, documents with more than one label have larger scores and are rarer. Sets from the scores of all
    documents would contain all labels of 9 in 10 documents, but only of 6 or 7 in 10 of those with more than one label.
    So there are two guarantees, one for documents with one label and one for the others, and a set satisfies both. If
    one kind has too few held-out documents, it has no separate guarantee, and a set satisfies that of all documents.
    """

    overall: Ladder
    by_class: tuple[Ladder, ...]
    several: Ladder | None = None
    novelty: Ladder | None = None
    mean_p: Floats | None = None
    unseen: float = 0.0
    right: Ladder | None = None
    wrong: Ladder | None = None

    @property
    def n_documents(self) -> int:
        """The number of held-out documents with a label."""
        return self.overall.n + (0 if self.several is None else self.several.n)

    @classmethod
    def of(
        cls, log_p: Floats, Y: Any, *, multilabel: bool = False, novelty: Floats | None = None,
        weight: Floats | None = None, unseen: float = 0.0, predicted: Ids | None = None,
    ) -> ConformalScores:  # fmt: skip
        """From log-probabilities (n_docs, n_classes) by models that had not seen the documents, and their labels Y.

        weight     that of each document (n_docs,), None if all are 1; a document of weight 2 counts as two
        unseen     the share of new documents of classes without a training document
        predicted  the class with the highest score of each document (n_docs,); None for the most probable one

        >>> held_out = ConformalScores.of(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([[1, 0], [0, 1]]))
        >>> np.exp(-held_out.overall.values).round(3), held_out.mean_p
        (array([0.9, 0.4]), array([0.75, 0.25]))
        """
        truth, columns = csr_array(Y), csc_array(Y)
        rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
        worst = np.zeros(truth.shape[0])
        np.maximum.at(worst, rows, -log_p[rows, truth.indices])

        def ladder(scores: Floats, documents: Any, most: int = MOST) -> Ladder:
            return Ladder.of(scores[documents], most, None if weight is None else weight[documents])

        each = [
            ladder(-log_p[:, c], columns.indices[columns.indptr[c] : columns.indptr[c + 1]], MOST_BY_CLASS)
            for c in range(columns.shape[1])
        ]
        n_labels = np.diff(truth.indptr)
        several = ladder(worst, n_labels > 1) if multilabel else None
        unlike = None if novelty is None else ladder(novelty, slice(None))
        mean = None if multilabel else np.average(exp(log_p), axis=0, weights=weight)
        overall = ladder(worst, n_labels == 1 if multilabel else slice(None))
        right = wrong = None
        if not multilabel:
            best = log_p.argmax(axis=1) if predicted is None else predicted
            is_right = np.zeros(len(log_p), np.bool_)
            is_right[rows[truth.indices == best[rows]]] = True
            doubt = uncertainty(log_p, best)
            right, wrong = ladder(doubt, is_right), ladder(doubt, ~is_right)
        return cls(
            overall, tuple(each), several, unlike, None if mean is None else _float32(mean), unseen, right, wrong
        )

    def accepted(self, log_p: Floats, coverage: float, *, by_class: bool = False) -> Any:
        """The classes in the set of each document, bool (n_docs, n_classes); a set may be empty.

        by_class  guarantee the coverage for every class separately, and for `pooled_classes` together; sets
                  are larger
        """
        return -log_p <= self.limits(coverage, log_p.shape[1], by_class=by_class)

    def limits(self, coverage: float, n_classes: int, *, by_class: bool = False) -> Floats:
        """The maximum nonconformity −log p of each class in a set (n_classes,)."""
        check_coverage(coverage)
        return self._limits_by_class(coverage) if by_class else np.full(n_classes, self._limit(coverage))

    def _limit(self, coverage: float) -> float:
        """The maximum nonconformity in a set."""
        if self.several is None:
            among_known = coverage if self.is_limited(coverage) else coverage / (1 - self.unseen)
            return self.overall.threshold(among_known, MOST)
        limits = [ladder.threshold(coverage, MOST) for ladder in (self.overall, self.several)]
        finite = [limit for limit in limits if np.isfinite(limit)]
        if len(finite) < len(limits):
            finite.append(_threshold_together([self.overall, self.several], coverage))
        return max(finite)

    def is_limited(self, coverage: float) -> bool:
        """Whether so many new documents have an unseen class that no sets could contain the label of this share."""
        return 1 - self.unseen <= coverage

    def covers_single(self, coverage: float) -> bool:
        """Whether enough documents with one label were held out for a separate guarantee."""
        return bool(np.isfinite(self.overall.threshold(coverage, MOST)))

    def covers_several(self, coverage: float) -> bool:
        """Whether enough documents with more than one label were held out for a separate guarantee."""
        return self.several is not None and bool(np.isfinite(self.several.threshold(coverage, MOST)))

    def _limits_by_class(self, coverage: float) -> Floats:
        limits = np.array([ladder.threshold(coverage, MOST_BY_CLASS) for ladder in self.by_class])
        pooled = self.pooled_classes(coverage)
        if len(pooled):
            limits[pooled] = _threshold_together([self.by_class[c] for c in pooled.tolist()], coverage)
        return limits

    def pooled_classes(self, coverage: float) -> Ids:
        """Indices of the classes with too few held-out documents for a separate guarantee.

        A guarantee needs at least RANKS_ABOVE documents above the threshold: with 19 documents, 90 % are 18 of the 20
        ranks. If the rare classes together have too few as well, the next larger classes join them. The guarantee then
        holds for the documents of all pooled classes together, and not for a single one of them.

        >>> one, few = Ladder.of(np.arange(1.0, 31.0), MOST_BY_CLASS), Ladder.of(np.arange(1.0, 16.0), MOST_BY_CLASS)
        >>> ConformalScores(one, (one, few, few)).pooled_classes(0.9)
        array([1, 2])
        """
        sizes = np.array([ladder.n for ladder in self.by_class], np.int64)
        fewest = int(np.ceil(RANKS_ABOVE / (1 - coverage) - 1e-9)) - 1
        order = np.argsort(sizes, kind="stable")
        n_rare = int((sizes < fewest).sum())
        while 0 < n_rare < len(order) and sizes[order[:n_rare]].sum() < fewest:
            n_rare += 1
        return np.sort(order[:n_rare])

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal value."""
        each = np.concatenate([np.zeros(0), *(ladder.values for ladder in self.by_class)])
        arrays = {"overall": self.overall.values.astype(np.float32), "by_class": each.astype(np.float32)}
        about: dict[str, Any] = {"documents": self.overall.n, "class_documents": [ladder.n for ladder in self.by_class]}
        if self.several is not None:
            arrays["several"] = self.several.values.astype(np.float32)
            about["several"] = self.several.n
        if self.novelty is not None:
            arrays["novelty"] = self.novelty.values.astype(np.float32)
            about["novelty"] = self.novelty.n
        if self.mean_p is not None:
            arrays["mean_p"] = self.mean_p.astype(np.float32)
        if self.unseen:
            about["unseen"] = self.unseen
        for name, ladder in (("right", self.right), ("wrong", self.wrong)):
            if ladder is not None:
                arrays[name], about[name] = ladder.values.astype(np.float32), ladder.n
        return arrays, about

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any], n_classes: int) -> ConformalScores:
        """The inverse of `to_arrays`; every value is checked, since models come from files."""
        sizes = settings["class_documents"]
        optional = ("several", "novelty", "right", "wrong")
        if len(sizes) != n_classes or any((name in settings) != (name in arrays) for name in optional):
            raise ValueError("the sizes of its held-out scores do not match its classes")
        ladders, each, at = [], arrays["by_class"], 0
        for n in sizes:
            ladders.append(_read_ladder(n, each[at : at + MOST_BY_CLASS], MOST_BY_CLASS))
            at += len(ladders[-1].values)
        if each.shape != (at,):
            raise ValueError("the sizes of its held-out scores do not match its classes")
        overall = _read_ladder(settings["documents"], arrays["overall"], MOST, whole=True)
        several, novelty, right, wrong = (
            _read_ladder(settings[name], arrays[name], MOST, whole=True) if name in arrays else None
            for name in optional
        )
        mean = _read_means(arrays.get("mean_p"), n_classes)
        return cls(overall, tuple(ladders), several, novelty, mean, settings.get("unseen", 0.0), right, wrong)


def uncertainty(log_p: Floats, predicted: Ids) -> Floats:
    """1 − p of the predicted class of each document (n_docs,).

    >>> uncertainty(np.log([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1]))
    array([0.25, 0.5 ])
    """
    return np.asarray(np.maximum(1 - exp(log_p[np.arange(len(log_p)), predicted]), 0.0))


def _threshold_together(ladders: Sequence[Ladder], coverage: float) -> float:
    """The threshold of the documents of all ladders; each score of a thinned ladder stands for several documents.

    >>> halves = [Ladder.of(np.arange(1.0, 10.0, 2), 1000), Ladder.of(np.arange(2.0, 10.0, 2), 1000)]    # 1, …, 9
    >>> _threshold_together(halves, 0.9), _threshold_together(halves, 0.95)
    (9.0, inf)
    """
    n = sum(ladder.n for ladder in ladders)
    values = np.concatenate([np.zeros(0), *(ladder.values for ladder in ladders)])
    stands_for = np.concatenate(
        [np.zeros(0), *(np.full(len(ladder.values), ladder.n / max(1, len(ladder.values))) for ladder in ladders)]
    )
    order = np.argsort(values, kind="stable")
    reached = np.flatnonzero(np.cumsum(stands_for[order]) >= (n + 1) * coverage - 1e-9)
    return float(values[order][reached[0]]) if len(reached) else float("inf")


def _float32(shares: Floats) -> Floats:
    """Numbers from 0 to 1, rounded as in a file."""
    return np.minimum(shares, 1.0).astype(np.float32).astype(np.float64)


def _read_ladder(n: Any, values: Any, most: int, *, whole: bool = False) -> Ladder:
    """Read and check the ladder of n documents at the beginning of an array, or in all of it with `whole`."""
    if not is_number(n) or not isinstance(n, int) or not 0 <= n < 2**53:
        raise ValueError("the sizes of its held-out scores do not match its classes")
    size = min(n, most)
    scores = values if whole else values[:size]
    sound = scores.dtype == np.float32 and scores.shape == (size,)
    if not sound or not bool(np.all(scores >= 0)) or not bool(np.all(scores[1:] >= scores[:-1])):
        raise ValueError("its held-out scores are not increasing numbers from 0 on")
    return Ladder(n, scores.astype(np.float64))


def _read_means(values: Any, n_classes: int) -> Floats | None:
    """Mean probabilities from a file, None if it has none; an error unless they are from 0 to 1."""
    if values is None:
        return None
    if values.dtype != np.float32 or values.shape != (n_classes,) or not bool(np.all((values >= 0) & (values <= 1))):
        raise ValueError("its mean held-out probabilities are not one number from 0 to 1 for each class")
    return np.asarray(values, np.float64)


def describe_sets(
    scores: ConformalScores, classes: Sequence[Label], coverage: float, *, multilabel: bool, by_class: bool = False
) -> list[str]:
    """Sentences that say what sets with this coverage guarantee, and what they do not."""
    share = f"{100 * coverage:g} %"
    if not by_class and not multilabel and scores.is_limited(coverage):
        of_all = coverage * (1 - scores.unseen)
        return [
            f"sets contain the label of {share} of documents of known classes, and so of about {100 * of_all:.0f} % of "
            f"documents like the training documents: about {100 * scores.unseen:.0f} % have a class that no training "
            "document has"
        ]
    if not by_class and not multilabel:
        return [f"sets contain the label of {share} of documents like the training documents"]
    if not by_class:
        whole = f"sets contain all labels of about {share} of documents like the training documents"
        single, several = scores.covers_single(coverage), scores.covers_several(coverage)
        if single and several:
            return [f"{whole}; this holds for documents with one label and for documents with several"]
        too_few = "more than one label" if single else "one label" if several else "one label, or more than one,"
        return [f"{whole}; too few held-out documents have {too_few} for a separate guarantee"]
    sentences = [f"for each class, sets contain it in {share} of the documents that have it"]
    pooled = [str(classes[c]) for c in scores.pooled_classes(coverage)]
    if pooled:
        names = ", ".join(pooled[:5]) + (", …" if len(pooled) > 5 else "")
        sentences.append(
            f"too few held-out documents for that in {count_noun(len(pooled), 'class', 'classes')} "
            f"({names}); the guarantee holds for their documents together, not for each class"
        )
    return sentences


def unseen_share(Y: Any, weight: Floats | None = None, rows: Ids | None = None) -> float:
    """The share of new documents expected to have a class that no document of Y (n_docs, n_classes) has.

    N_1 / n, where N_1 classes have a single one of the n documents: held out, it is of a class that no other document
    has. Good (1953), The population frequencies of species and the estimation of population parameters (Turing). With
    `weight` (n_rows,), of all documents or of some `rows` of Y, it is a share of weight.

    >>> Y = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> unseen_share(Y), unseen_share(Y, np.array([3.0, 3.0, 1.0, 1.0]))
    (0.5, 0.25)
    """
    alone = np.diff(csc_array(Y).indptr) == 1
    if weight is None:
        return float(alone.sum() / max(1, Y.shape[0]))
    among = csr_array(Y) if rows is None else csr_array(Y)[rows]
    return float(weight[among @ alone.astype(np.float64) > 0].sum() / weight.sum())


def check_coverage(coverage: float) -> None:
    """Raise an error unless the coverage is between 0 and 1."""
    if not is_number(coverage) or not 0 < coverage < 1:
        raise BadData(f"the coverage is {coverage}; give a share between 0 and 1, such as 0.9")
