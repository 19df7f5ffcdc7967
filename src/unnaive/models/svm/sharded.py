"""NB-SVM in three passes: sum all documents, then twice fit support vector machines on shards and average them.

The sums fix terms, idf and naive Bayes ratios for all shards. A shard is an independent problem, so it can be solved on
any machine, in any order, in the memory that its documents take; scaleout/ reads shards from files and from Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, hstack

from unnaive.base.elementary import log
from unnaive.base.progress import shard_events
from unnaive.base.settings import setting
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.count_tables import row_hashes
from unnaive.data.counts import Counts
from unnaive.data.products import product
from unnaive.data.weighting import Weighting, are_counts, counted_weighting
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.models.svm.learner import HingeModel
from unnaive.models.svm.solver import squared_hinge

ROWS_AT_ONCE = 4096
CLASSES_AT_ONCE = 16  # classes whose scores by the mean are features of one problem
UNIT_DOCS, MOST_SCALE = 8192, 3.0  # documents in a shard for which the scale of these scores is 1; largest scale
MOST_COST = 4.0  # largest factor of C, that of 16 shards: passes of the solver grow with C
MOST_SHARE = 1 - 1e-9  # largest share of a class's documents in one shard; above it, the other shards have no mean


class ShardedNBSVM(HingeModel):
    """NB-SVM learnt shard by shard in bounded memory: the mean of the hyperplanes of all shards.

    Documents are assigned to shards by a hash of their terms, so their order, files and partitions do not matter. idf
    and naive Bayes ratios r_c are computed from all documents. Each shard minimises the squared hinge on r_c ∘ z as
    NBSVM does; the weights of a class are the mean over shards, weighted by their documents of the class. In a second
    round, each shard gets the score by the mean of the other shards as one more feature and fits a correction to it;
    the model is the mean of the corrected hyperplanes. With one shard this is NBSVM.

    Mann, McDonald, Mohri, Silberman and Walker (2009), Efficient large-scale distributed training of conditional
    maximum entropy models, for the mean; Wang and Manning (2012), Baselines and bigrams, for the features.

    >>> ShardedNBSVM().fit([[3, 0], [2, 1], [0, 2]], ["sport", "sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    traits = Traits(
        "sharded-nbsvm",
        "NB-SVM averaged over shards",
        "documents",
        probabilistic=False,
        generative=False,
        poor_score=True,
        in_passes=True,
    )

    alpha: float = setting("Additive smoothing of the counts in the ratio.", default=1.0, above=0)
    shard_size: int = setting("Average number of documents in a shard.", default=8192, at_least=1)
    tol: float = setting("Largest violation of the optimality conditions.", default=0.1, above=0)

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Fit the mean of the hyperplanes of all shards."""
        X, Y = csr_array(X), csr_array(Y)
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
        task = ShardTask.of(self, Counts.of(X, Y, sample_weight))
        shards = {number: documents.in_order() for number, documents in task.split(X, Y, weight)}
        n_jobs, report = thread_count(self.n_jobs), shard_events(progress, self.traits.name, len(shards), task.n_rounds)
        return Learnt(learn_in_rounds(task, sorted(shards), shards.__getitem__, {}, n_jobs, report))


def learn_in_rounds(
    task: ShardTask, shards: Sequence[int], read: Callable[[int], ShardDocuments],
    solutions: MutableMapping[int, ShardSolution], n_jobs: int, report: Callable[[int], None],
) -> Linear:  # fmt: skip
    """The scorer of all shards; `read` returns a shard by its number, `report` gets the number of solved shards.

    shards     numbers of the shards with documents, ascending; some shards may be empty
    solutions  filled with those of the first round that are not larger than their documents; others are computed again
    """
    mean = HyperplaneMean(task)
    for number in range(task.n_rounds):
        mean = mean.next() if number else mean
        for n_solved, shard in enumerate(shards, start=1):
            documents = [read(shard)]  # a list, so that `solve` gets the only reference
            n_cells = documents[0].X.nnz
            solution = task.solve(documents.pop(), mean.before, solutions.get(shard), n_jobs)
            if number + 1 < task.n_rounds and solution.weights.size <= n_cells:
                solutions[shard] = solution
            mean.add(solution)
            report(number * len(shards) + n_solved)
    return mean.linear()


@dataclass(frozen=True, eq=False)
class ShardDocuments:
    """Documents of a shard: X (n_docs, n_terms) of counts, Y (n_docs, n_classes), weight (n_docs,)."""

    X: Sparse
    Y: Sparse
    weight: Floats

    def in_order(self) -> ShardDocuments:
        """Merge copies of a document, adding their weights, and sort documents by their content."""
        keys = np.zeros((self.X.shape[0], 4), np.uint64)
        for start in range(0, len(keys), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(keys)))
            keys[rows, :2] = row_hashes(self.X, rows)
            keys[rows, 2:] = row_hashes(self.Y, rows, values=False)
        order = np.lexsort((self.weight, *keys.T[::-1]))
        if not len(order):
            return self
        sorted_keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True], (sorted_keys[1:] != sorted_keys[:-1]).any(axis=1)]))
        weight = np.add.reduceat(self.weight[order], first)
        return ShardDocuments(csr_array(self.X[order[first]]), csr_array(self.Y[order[first]]), weight)


@dataclass(frozen=True, eq=False)
class ShardSolution:
    """A shard's part of the mean: columns (n_columns,), weights (n_classes, n_columns), bias and gain (n_classes,).

    `gain` multiplies the mean of the previous round.
    """

    columns: Ids
    weights: Floats
    bias: Floats
    gain: Floats


@dataclass(frozen=True, eq=False)
class ShardTask:
    """The sums and settings that the fit of a shard needs; it can be sent to other machines.

    class_df     documents of each class with each term (n_classes, n_terms), CSC
    df           documents with each term (n_terms,)
    class_docs   documents of each class (n_classes,)
    n_docs       total weight of all documents
    """

    n_shards: int
    weighting: Weighting
    class_df: Sparse
    df: Floats
    class_docs: Floats
    n_docs: float
    alpha: float
    C: float
    tol: float
    max_iter: int
    random_state: int

    @classmethod
    def of(cls, model: ShardedNBSVM, counts: Counts) -> Self:
        """The task of a model with these settings, from the sums over all documents."""
        refuse_full_table(counts.n_classes, counts.n_terms, "the SVM")
        n_shards = max(1, int(np.ceil(float(counts.n_docs) / model.shard_size)))
        weights = "counts" if model.weights == "auto" and not are_counts(counts.class_terms) else model.weights
        return cls(
            n_shards=n_shards,
            weighting=counted_weighting(weights, counts.df, float(counts.n_docs)),
            class_df=csc_array(counts.class_df),
            df=np.asarray(counts.df, np.float64), class_docs=np.asarray(counts.class_docs, np.float64),
            n_docs=float(counts.n_docs), alpha=model.alpha, C=model.C * min(np.sqrt(n_shards), MOST_COST),
            tol=model.tol, max_iter=model.max_iter, random_state=model.random_state,
        )  # fmt: skip

    @property
    def n_rounds(self) -> int:
        """Passes over the shards: one for the mean, and one for the correction if there are several shards."""
        return 1 if self.n_shards == 1 else 2

    @property
    def score_scale(self) -> float:
        """The scale of a score by the mean as a feature: 1 with 8,192 documents a shard, at most 3 with fewer.

        The penalty of the score is 1/scale² of that of others, so it is the same share of the loss in a small shard and
        in a large one. The solver takes more passes with a larger scale: four times as many with 3 as with 1.
        """
        return float(min(np.sqrt(UNIT_DOCS * self.n_shards / max(self.n_docs, 1.0)), MOST_SCALE))

    def deal(self, X: Sparse) -> NDArray[np.int64]:
        """The shard of each document (n_docs,), from a hash of its terms and their counts."""
        shard = np.zeros(X.shape[0], np.int64)
        if self.n_shards == 1:
            return shard
        for start in range(0, len(shard), ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, len(shard)))
            high = row_hashes(X, rows)[:, 0] >> np.uint64(32)
            shard[rows] = (high * np.uint64(self.n_shards)) >> np.uint64(32)
        return shard

    def split(self, X: Sparse, Y: Sparse, weight: Floats | None = None) -> Iterator[tuple[int, ShardDocuments]]:
        """Yield (number, documents) of the non-empty shards, in order."""
        weight = np.ones(X.shape[0]) if weight is None else weight
        shard = self.deal(X)
        order = np.argsort(shard, kind="stable")
        numbers, starts = np.unique(shard[order], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            yield number, ShardDocuments(csr_array(X[rows]), csr_array(Y[rows]), weight[rows])

    def ratio(self, columns: Ids) -> Floats:
        """log p(t|c) − log p(t|c̄) of the terms `columns`, from presence in all documents (n_classes, n_columns)."""
        n_terms = len(self.df)
        inside = self.class_df[:, columns].toarray() + self.alpha
        outside = self.df[columns] - inside + 2 * self.alpha
        total = np.asarray(self.class_df.sum(axis=1), np.float64) + self.alpha * n_terms
        others = float(self.df.sum()) - total + 2 * self.alpha * n_terms
        ratio: Floats = log(inside) - log(outside) + (log(others) - log(total))[:, None]
        return ratio

    def solve(
        self, documents: ShardDocuments, mean: Hyperplanes | None, first: ShardSolution | None = None, n_jobs: int = 1
    ) -> ShardSolution:
        """The hyperplanes of a shard, each times the shard's share of the documents of its class.

        documents  as `in_order` returns them
        mean       the mean of the first round, from which this shard's part is subtracted
        first      the solution of the shard in the first round; without it, it is computed again
        """
        shard = self._weigh(documents, n_jobs)
        del documents  # frees them: the caller has no reference, and memory has room for two copies only
        n_classes = len(self.class_docs)
        if not len(shard.weight):
            return ShardSolution(shard.columns, np.zeros((n_classes, 0)), *np.zeros((2, n_classes)))
        share = shard.class_docs() / np.maximum(self.class_docs, 1e-300)
        if first is None:
            weights, bias = self._minimise(shard, slice(0, n_classes))
            first = ShardSolution(shard.columns, weights * share[:, None], bias * share, np.zeros(n_classes))
        return first if mean is None else self._correct(shard, mean, first, share)

    def _weigh(self, documents: ShardDocuments, n_jobs: int) -> _Shard:
        """The weighted documents, over the columns that occur in them."""
        Z = self.weighting.apply(documents.X)
        seen = np.zeros(Z.shape[1], np.bool_)
        seen[Z.indices] = True
        columns = np.flatnonzero(seen)
        places = np.cumsum(seen, dtype=np.int32) - np.int32(1)
        compact = csr_array((Z.data, places[Z.indices], Z.indptr), shape=(Z.shape[0], len(columns)))
        return _Shard(compact, csr_array(documents.Y), documents.weight, columns, self.ratio(columns), n_jobs)

    def _correct(self, shard: _Shard, mean: Hyperplanes, first: ShardSolution, share: Floats) -> ShardSolution:
        """The second round: correct the mean of the other shards, which is `mean` without `first`."""
        weights, bias, gain = np.zeros(first.weights.shape), np.zeros(len(share)), np.zeros(len(share))
        rest = np.where(share < MOST_SHARE, 1 / np.maximum(1 - share, 1 - MOST_SHARE), 0.0)
        for start in range(0, len(share), CLASSES_AT_ONCE):
            classes = slice(start, min(start + CLASSES_AT_ONCE, len(share)))
            others = Hyperplanes(
                (mean.weights[classes][:, shard.columns] - first.weights[classes]) * rest[classes, None],
                (mean.bias[classes] - first.bias[classes]) * rest[classes],
            )
            corrected, bias[classes] = self._minimise(shard.with_scores(others, classes, self.score_scale), classes)
            n_columns = len(shard.columns)
            weights[classes], gain[classes] = corrected[:, :n_columns], np.diagonal(corrected[:, n_columns:])
        gain *= share * rest
        weights = weights * share[:, None] - first.weights * gain[:, None]
        return ShardSolution(shard.columns, weights, bias * share - first.bias * gain, gain)

    def _minimise(self, shard: _Shard, classes: slice) -> tuple[Floats, Floats]:
        """Weights (n_classes, n_columns) and bias (n_classes,) of `classes` that minimise the squared hinge."""
        solution = squared_hinge(
            shard.Z, shard.Y[:, classes], C=self.C, scale=shard.ratio[classes], weight=shard.weight, tol=self.tol,
            max_iter=self.max_iter, random_state=self.random_state, n_jobs=shard.n_jobs, single=True,
        )  # fmt: skip
        return solution.weights, solution.bias


@dataclass(frozen=True, eq=False)
class _Shard:
    """Weighted documents over the columns that occur in them, and the scale of these columns for each class."""

    Z: Sparse
    Y: Sparse
    weight: Floats
    columns: Ids
    ratio: Floats
    n_jobs: int

    def class_docs(self) -> Floats:
        """The weight of the documents of each class (n_classes,)."""
        return np.asarray(self.weight @ csr_array(self.Y, dtype=np.float64))

    def with_scores(self, mean: Hyperplanes, classes: slice, factor: float) -> _Shard:
        """The shard with one more feature for each of `classes`: its score by the mean, used only by that class.

        factor  scale of the feature; its penalty is 1/factor² of that of others
        """
        n_classes = len(mean.bias)
        scores = product(self.Z, np.ascontiguousarray(mean.weights.T)) + mean.bias
        Z = csr_array(hstack([self.Z, csr_array(scores)], format="csr"))
        scale = np.zeros((self.ratio.shape[0], n_classes))
        scale[classes] = factor * np.eye(n_classes)
        return replace(self, Z=Z, ratio=np.hstack([self.ratio, scale]))


class Hyperplanes(NamedTuple):
    """weights (n_classes, n_terms) and bias (n_classes,)."""

    weights: Floats
    bias: Floats


class HyperplaneMean:
    """The sum of the solutions of all shards, which are added in the order of the shards.

    before  the mean of the previous round
    """

    def __init__(self, task: ShardTask, before: Hyperplanes | None = None) -> None:
        self.task, self.before = task, before
        n_classes = len(task.class_docs)
        self.weights = np.zeros((n_classes, len(task.df)))
        self.bias, self.gain = np.zeros(n_classes), np.zeros(n_classes)

    def add(self, solution: ShardSolution) -> None:
        """Add the solution of a shard."""
        self.weights[:, solution.columns] += solution.weights
        self.bias += solution.bias
        self.gain += solution.gain

    def next(self) -> HyperplaneMean:
        """The empty mean of the next round."""
        return HyperplaneMean(self.task, self.hyperplanes())

    def hyperplanes(self) -> Hyperplanes:
        """The mean; weights are 0 for a class of all documents or of none. Nothing can be added afterwards."""
        weights, bias = self.weights, self.bias
        if self.before is not None:
            for row, factor in enumerate(self.gain.tolist()):
                weights[row] += factor * self.before.weights[row]
            bias = bias + self.gain * self.before.bias
        none, every = self.task.class_docs == 0, self.task.class_docs == self.task.n_docs
        weights[none | every] = 0.0
        return Hyperplanes(weights, np.where(none, -1.0, np.where(every, 1.0, bias)))

    def linear(self) -> Linear:
        """The scorer."""
        return Linear(*self.hyperplanes(), weighting=self.task.weighting, link="margin")
