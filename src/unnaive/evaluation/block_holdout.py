"""Whether a block of documents is harder than random ones: the last of a file, the latest, or other groups.

For documents held out at random, the training set has neighbours of the same time, author or thread; for new documents
it does not. A fast classifier tests whether this matters: the documents of a block are scored by models trained on
random other documents, and by a model trained without the block. If the second makes far more errors, the
model itself is trained without the block, and both figures are reported if it is less accurate on the block than on
random held-out documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.data.folds import split_folds
from unnaive.data.products import take_columns
from unnaive.data.targets import one_label_matrix, single_labels
from unnaive.data.training_data import DocumentRows
from unnaive.data.weighted_rows import weight_rows
from unnaive.data.weighting import document_frequency, tf_idf
from unnaive.evaluation.related_documents import find_related, group_folds
from unnaive.learning.fitted import FittedModel
from unnaive.learning.vectors_in_training import has_vectors
from unnaive.models.auto.members import Training, fit_family, member_scores
from unnaive.models.auto.sampling import sample_rows
from unnaive.text.gram_units import find_kinds

N_FOLDS = 5  # a block is one of this many parts
MOST = 10_000  # number of documents examined, spread evenly
FEWEST = 200  # with fewer documents a fifth says nothing
ALPHA = 0.01  # level of the test; one block is one comparison of two trained models, which may be lucky or not
LEAST_GAP = 0.01  # smaller differences of the accuracy are not reported


@dataclass(frozen=True)
class BlockEffect:
    """The accuracy of a fast classifier on the documents of a block.

    n_docs     documents of the block
    at_random  the accuracy of models trained on random other documents
    without    the accuracy of a model trained without the block
    p          of McNemar's exact test, one-sided, that both have the same accuracy
    """

    n_docs: int
    at_random: float
    without: float
    p: float

    @property
    def parts(self) -> bool:
        """Whether the two accuracies differ."""
        return self.p <= ALPHA and self.at_random - self.without >= LEAST_GAP


def last_block(codes: Ids, order: NDArray[Any] | None = None) -> NDArray[np.bool_]:
    """The last fifth of each class, in file order or ordered by values (n_docs,).

    The split is by class, because files are often sorted by class.

    >>> last_block(np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])).astype(int).tolist()
    [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    """
    position = np.arange(len(codes)) if order is None else np.unique(order, return_inverse=True)[1]
    by_class = np.lexsort((position, codes))
    sizes = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    last = np.zeros(len(codes), np.bool_)
    last[by_class] = rank * N_FOLDS >= (N_FOLDS - 1) * np.repeat(sizes, sizes)
    return last


def group_block(groups: Sequence[Any], seed: int = 0) -> NDArray[np.bool_]:
    """The documents of held-out groups: whole groups with about a fifth of all documents (n_docs,).

    >>> group_block(["ann", "ann", "bob", "cy", "cy", "di"]).sum() in (1, 2)
    True
    """
    number = np.unique(np.asarray(groups), return_inverse=True)[1]
    sizes = np.bincount(number)
    order = np.random.default_rng(seed).permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.isin(number, order[before < len(number) / N_FOLDS])


def find_block_effect(X: Sparse, codes: Ids, block: NDArray[np.bool_], *, seed: int = 0) -> BlockEffect | None:
    """The loss of accuracy if a block of documents X (n_docs, n_terms) is held out as a whole; None if there are too
    few.

    Uses complement naive Bayes on tf-idf, trained without documents that share passages with a held-out one, for both
    kinds of holding out, so that copies have the same effect on both.
    """
    if len(codes) > MOST:
        rows = np.unique(np.linspace(0, len(codes) - 1, MOST).astype(np.int64))
        X, codes, block = X[rows], codes[rows], block[rows]
    codes = np.unique(codes, return_inverse=True)[1]
    aside = np.flatnonzero(block)
    if len(codes) < FEWEST or not 0 < len(aside) < len(codes) or int(codes.max()) < 1:
        return None
    related = find_related(X).related
    rest = np.flatnonzero(~block & ~np.isin(related, related[aside]))
    if len(np.unique(codes[rest])) < 2:
        return None
    without = _right(X, codes, rest, aside)
    at_random = np.zeros(len(codes), np.bool_)
    for training, held_out in split_folds(group_folds(codes, related, N_FOLDS, seed=seed), N_FOLDS):
        judged = held_out[block[held_out]]
        if len(judged):
            at_random[judged] = _right(X, codes, training, judged)
    once = at_random[aside]
    worse, better = int((once & ~without).sum()), int((~once & without).sum())
    return BlockEffect(len(aside), float(once.mean()), float(without.mean()), _binomial_tail(worse, worse + better))


def _right(X: Sparse, codes: Ids, training: Ids, held_out: Ids) -> NDArray[np.bool_]:
    """Which held-out documents complement naive Bayes trained on `training` classifies correctly (n_held_out,)."""
    columns = np.flatnonzero(document_frequency(X[training]))
    inside = take_columns(X[training], columns)
    weighting = tf_idf(inside)
    Y = one_label_matrix(codes[training], int(codes.max()) + 1)
    data = Training.of(inside, weighting, Y, None, tol=1e-2, random_state=0, n_jobs=1)
    Z = weight_rows(weighting, take_columns(X[held_out], columns))
    best = member_scores(fit_family("complement", (0.3,), data), Z).argmax(axis=1)
    return np.asarray(best == codes[held_out])


def _binomial_tail(hits: int, n: int) -> float:
    """P(at least that many heads in n coin tosses)."""
    from scipy.special import bdtrc

    return 1.0 if hits <= 0 else float(bdtrc(hits - 1, n, 0.5))


@dataclass(frozen=True)
class BlockHoldout:
    """The accuracy of the model on documents that were held out as a block, beside that on random ones.

    by        a description of the block
    accuracy  the accuracy on the block of the selected model, trained on as many other documents as for `at_random`
    at_random the held-out accuracy of the model
    """

    by: str
    n_docs: int
    accuracy: float
    at_random: float

    def sentence(self) -> str:
        """Both figures in a sentence."""
        return (
            f"accuracy is {100 * self.at_random:.1f} % on documents held out at random, and "
            f"{100 * self.accuracy:.1f} % on {self.by}, held out as a whole; expect the second if new "
            "documents differ from the training documents as much as that part does"
        )


def hold_out_block(fitted: FittedModel, rows: DocumentRows, block: NDArray[np.bool_], by: str) -> BlockHoldout | None:
    """Both figures for a model that selected on held-out documents; None if the block is not harder.

    Both are of models that learnt from the same number of documents, none of which shares passages with a held-out
    one. Otherwise more documents, or copies, could make the accuracy on a harder block the higher of the two.

    rows   the documents that it learnt from, in the order of `block`, which marks those held out (n_docs,)
    """
    codes = single_labels(csr_array(rows.targets.Y))
    report = fitted.provenance.report
    if codes is None or "accuracy" not in report or rows.vocabulary is None:
        return None
    if has_vectors(fitted.spec, fitted.token_rule):
        return None
    is_gram, is_pair = find_kinds(rows.vocabulary)
    words = take_columns(csr_array(rows.X), np.flatnonzero(~is_gram & ~is_pair))
    effect = find_block_effect(words, codes, block)
    if effect is None or not effect.parts:
        return None
    aside, related = np.flatnonzero(block), find_related(words).related
    rest = np.flatnonzero(~block & ~np.isin(related, related[aside]))
    rest = sample_rows(rest, codes, round(report["learnt-from"] * len(codes)), np.random.default_rng(0))
    if len(np.unique(codes[rest])) < 2:
        return None
    order = rows.vocabulary.order()
    X, names = rows.X, rows.vocabulary
    if order is not None:
        X, names = csr_array(rows.X[:, order]), names.in_order(order)
    places = np.arange(len(fitted.classes))
    weight = None if rows.weight is None else rows.weight[rest]
    learnt = fitted.spec.model.relearn(
        fitted.learnt, places, X[rest], rows.targets.Y[rest], terms=names, sample_weight=weight
    )
    accuracy = float((learnt.scorer.scores(X[aside]).argmax(axis=1) == codes[aside]).mean())
    if report["accuracy"] - accuracy < LEAST_GAP:
        return None
    return BlockHoldout(by, len(aside), accuracy, float(report["accuracy"]))
