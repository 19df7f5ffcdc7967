"""Simulate labelling with labelled data: compare query strategies by accuracy against the number of labels.

Each label is revealed when the strategy asks for it. The evaluated model is the one that makes the suggestions: the
linear model, or naive Bayes while there are too few labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Sparse
from unnaive.curation.labelling.asking import QuestionState, Strategy, next_question
from unnaive.curation.labelling.label_model import LinearLearner
from unnaive.curation.labelling.texts_to_label import TextPool
from unnaive.data.corpus import Corpus
from unnaive.data.word_vectors import WordVectors
from unnaive.evaluation.significance import binomial_half
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

TestRows = tuple[Sparse, Sparse | None]  # presence of terms, and the rows of vector fields if there are any
WAYS = ("mixed", "uncertain", "random")
STEP = 20  # labels between two measurements


@dataclass(frozen=True)
class LabellingCurve:
    """Accuracy on test texts against the number of labels, for every seed (n_seeds, n_points)."""

    way: str
    labels: tuple[int, ...]
    accuracy: Floats

    @property
    def mean(self) -> Floats:
        """The mean accuracy over the seeds (n_points,)."""
        return np.asarray(self.accuracy.mean(axis=0))

    def labels_for(self, accuracy: float) -> float | None:
        """The number of labels at which the mean reaches an accuracy, interpolated; None if it never does.

        >>> LabellingCurve("random", (10, 20), np.array([[0.5, 0.7]])).labels_for(0.6)
        15.0
        """
        mean = np.maximum.accumulate(self.mean)
        reached = np.flatnonzero(mean >= accuracy - 1e-12)
        if not len(reached):
            return None
        at = int(reached[0])
        if at == 0 or mean[at] == mean[at - 1]:
            return float(self.labels[at])
        share = (accuracy - mean[at - 1]) / (mean[at] - mean[at - 1])
        return float(self.labels[at - 1] + share * (self.labels[at] - self.labels[at - 1]))


def simulate(
    pool_corpus: Corpus, test_corpus: Corpus, *, labels: int = 500, seeds: int = 10, ways: Sequence[str] = WAYS,
    seed: int = 0, progress: Callable[[str, int], None] | None = None, vectors: WordVectors | None = None,
    rule: TokenRule | None = None,
) -> list[LabellingCurve]:  # fmt: skip
    """The learning curve of each query strategy; every seed draws other random questions."""
    if any(len(names) != 1 for names in (*pool_corpus.labels, *test_corpus.labels)):
        raise BadData("some texts have no label, or several; give data with exactly one label for each text")
    labels = min(labels, len(pool_corpus))
    if labels < STEP:
        raise BadData(f"{len(pool_corpus)} texts are too few for a simulation; give at least {STEP}")
    truth = [names[0] for names in pool_corpus.labels]
    pool = TextPool(list(pool_corpus.texts), sorted(set(truth)), vectors=vectors, rule=rule)
    test = _counted(pool, test_corpus), pool.vector_rows(list(test_corpus.texts))
    right = np.array([names[0] for names in test_corpus.labels], object)
    points = tuple(range(STEP, labels + 1, STEP))
    curves = []
    for way in ways:
        rows = []
        for number in range(seeds):
            if progress is not None:
                progress(way, number)
            rows.append(
                _replay(pool, truth, test, right, Strategy(way, seed=seed + number, sample=seed + number), points)
            )
        curves.append(LabellingCurve(way, points, np.array(rows)))
    return curves


def _replay(
    pool: TextPool, truth: Sequence[str], test: TestRows, right: np.ndarray, strategy: Strategy, points: Sequence[int]
) -> list[float]:
    """The accuracies of one run; the pool has no labels before and after it."""
    asked_texts: list[int] = []
    measured: list[float] = []
    classes, learner = list(pool.classes), LinearLearner(pool)
    reserved = strategy.random_texts(len(pool)).reserved.tolist()
    pool.reserve(reserved)
    pool.set_classes([])  # a class becomes known with its first label
    while len(asked_texts) < points[-1]:
        question = next_question(
            pool, QuestionState(asked_texts, asked_texts[-10:], len(asked_texts)), strategy, learner
        )
        if question is None:
            raise BadData(f"{len(pool)} texts are fewer than {points[-1]} labels; ask for at most as many")
        pool.set_labels(question.text, [truth[question.text]])
        asked_texts.append(question.text)
        if len(asked_texts) == points[len(measured)]:
            pool.reserve(())  # in the end, a model is trained on all labels
            measured.append(float(np.mean(_predict(pool, LinearLearner(pool), test) == right)))
            pool.reserve(reserved)
    pool.reserve(())
    for text in asked_texts:
        pool.set_labels(text, None)
    pool.set_classes(classes)
    return measured


def _counted(pool: TextPool, corpus: Corpus) -> Sparse:
    counts = TextCounter(pool.rule, pool.vocabulary).count(list(corpus.texts))
    return csr_array((np.ones(counts.nnz, np.float32), counts.indices, counts.indptr), shape=counts.shape)


def _predict(pool: TextPool, learner: LinearLearner, test: TestRows) -> np.ndarray:
    """The predicted class of every test text; naive Bayes scores need no division by √length, which keeps the order."""
    model = learner.model
    if model is not None:
        return np.asarray(np.array(model.classes, object)[model.scores(pool.weighted(*test)).argmax(axis=1)])
    prior = pool.log_prior()
    scores = np.stack([test[0] @ pool.weights(index) + prior[index] for index in range(len(pool.classes))], axis=1)
    return np.asarray(np.array(pool.classes, object)[scores.argmax(axis=1)])


def seed_sign_test(differences: Floats) -> float:
    """The two-sided p-value of the sign test that differences are positive as often as negative, without ties.

    p = 2 Σ_{k ≤ fewer} C(n, k) / 2^n, at most 1

    >>> round(seed_sign_test(np.array([0.1] * 9 + [-0.1])), 4)    # 2 (1 + 10) / 1024
    0.0215
    """
    return binomial_half(int((differences > 0).sum()), int((differences < 0).sum()))
