"""Test whether evaluation documents come from the source of the training documents, using what the model kept.

Held-out results of training (accuracy, calibrated probabilities, coverage of sets) apply to documents of that source.
A model that learns from documents has kept their counts; others have kept the document frequency of each term. That is
enough to test whether new documents are like these, although no text was kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.packed_documents import PackedDocuments
from unnaive.data.products import take_columns
from unnaive.data.weighting import document_frequency, tf_idf
from unnaive.evaluation.drift import ALPHA, FEWEST_TEXTS, fisher_p
from unnaive.evaluation.related_documents import find_related, first_of_copies
from unnaive.evaluation.significance import holm
from unnaive.evaluation.two_sample import permutation_p
from unnaive.learning.fitted import FittedModel
from unnaive.text.counting import TextCounter
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

MOST = 2000  # documents compared on each side: a drift that needs more to be seen costs little


@dataclass(frozen=True)
class TrainingDrift:
    """Evaluation documents against training documents: p of the test of words, and of the test of class shares.

    p_classes  the smallest over the classes, corrected for their number (Holm); 1 if it cannot be computed
    """

    p_words: float
    p_classes: float

    @property
    def p(self) -> float:
        """p of the test that both come from one source: twice the smaller of the two (Bonferroni)."""
        return min(1.0, 2 * min(self.p_words, self.p_classes))

    @property
    def differs(self) -> bool:
        """Whether the documents differ from the training documents.

        If they do not, at most one test in twenty says so.
        """
        return self.p <= ALPHA

    def sentence(self) -> str:
        """The verdict in a sentence; empty if no difference was found.

        >>> TrainingDrift(0.001, 0.4).sentence()[:81]
        'these documents and the training documents are not a random split of one source: '
        """
        if not self.differs:
            return ""
        each = (("words", self.p_words), ("shares of the classes", self.p_classes))
        aspects = " and ".join(name for name, p in each if 2 * p <= ALPHA)
        return (
            "these documents and the training documents are not a random split of one source: their "
            f"{aspects} differ by more than chance (p {self.p:.2g}), as after a split by time, author or topic. The "
            "measures here hold for documents like these; those of training (held-out accuracy, calibration, coverage "
            "of sets) may not. unnaive audit TRAINING --new-data THESE shows what differs"
        )


def find_training_drift(fitted: FittedModel, documents: Any, Y: Sparse, *, seed: int = 0) -> TrainingDrift | None:
    """Test documents (texts or rows of counts) with labels Y (n_docs, at least n_classes).

    None if there are fewer than FEWEST_TEXTS on a side, or the model has kept nothing to compare with. Copies on a side
    count once if they can be detected; among training documents they cannot if the model kept only sums.
    """
    statistic = fitted.statistic
    if fitted.documents is not None:  # a model tuned on its documents also has their sums
        statistic = fitted.documents
    if statistic is None or statistic.n_docs < FEWEST_TEXTS or Y.shape[0] < FEWEST_TEXTS:
        return None
    if isinstance(statistic, NamedCounts):
        return _against_sums(fitted, statistic, documents, Y, seed)
    return _against_documents(fitted, statistic, documents, Y, seed)


def _against_documents(
    fitted: FittedModel, training: KeptDocuments | PackedDocuments, documents: Any, Y: Sparse, seed: int
) -> TrainingDrift:
    """Use a permutation test of the distance of the means; copies and shared passages are kept together."""
    rng = np.random.default_rng(seed)
    rows, new_rows = (_sample(n, rng) for n in (training.n_docs, Y.shape[0]))
    vocabulary, table, old_Y = _take_words(training, rows)
    old, new = _count_words(fitted, vocabulary, table, documents, new_rows)
    X = csr_array(_stack(old, new))
    X = take_columns(X, np.flatnonzero(document_frequency(X)))
    is_new = np.repeat([0, 1], [old.shape[0], new.shape[0]])
    p = permutation_p(tf_idf(X).apply(X), is_new, find_related(X), seed=seed)
    once, new_once = first_of_copies(old), new_rows[first_of_copies(new)]
    return TrainingDrift(p, _class_p(old_Y[once], len(once), Y[new_once], training.classes))


def _take_words(training: KeptDocuments | PackedDocuments, rows: Ids) -> tuple[Vocabulary | None, Sparse, Sparse]:
    """Vocabulary, counts and labels of a sample of the kept documents; only the sample is unpacked."""
    if isinstance(training, PackedDocuments) and len(rows) < training.n_docs:
        training, rows = training.take_words(rows), np.arange(len(rows))
    elif isinstance(training, PackedDocuments):
        training = training.documents
    return training.words, csr_array(training.table[rows]), csr_array(training.Y[rows])


def _against_sums(
    fitted: FittedModel, training: NamedCounts, documents: Any, Y: Sparse, seed: int
) -> TrainingDrift | None:
    """Use Fisher's exact test for every word, corrected for their number (Holm)."""
    counts = training.counts
    if not np.issubdtype(np.asarray(counts.df).dtype, np.integer):
        return None  # documents have weights, so their number is unknown
    n_old, df = int(counts.n_docs), csr_array(np.asarray(counts.df)[None, :])
    rows = _sample(Y.shape[0], np.random.default_rng(seed))
    before, new = _count_words(fitted, training.vocabulary, df, documents, rows)
    first = first_of_copies(new)
    after, once = document_frequency(new[first]), rows[first]
    had = np.asarray(before.toarray(), np.int64).ravel()
    there = np.flatnonzero(had + after)
    p_words = min(holm(fisher_p(n_old, len(once), had[there], after[there]).tolist()), default=1.0)
    sizes = np.asarray(counts.class_docs, np.int64)
    return TrainingDrift(p_words, _share_p(sizes, n_old, _class_sizes(Y[once], len(sizes)), len(once)))


def _count_words(
    fitted: FittedModel, vocabulary: Vocabulary | None, table: Sparse, documents: Any, rows: Ids
) -> tuple[Sparse, Sparse]:
    """(the kept counts, the new documents `rows`) over the same words, including words that only the new ones have.

    Pairs and character n-grams follow from the words and are omitted.
    """
    rule = fitted.token_rule
    if rule is None or vocabulary is None:
        return csr_array(table), csr_array(documents)[rows]
    if rule.analyzer != "char":
        is_gram, is_pair = find_kinds(vocabulary)
        words = np.flatnonzero(~is_gram & ~is_pair)
        vocabulary, table = vocabulary.take(words), take_columns(csr_array(table), words)
        rule = replace(rule, analyzer="word", ngrams=(1, 1))
    counter = TextCounter(rule, vocabulary)
    new = counter.count([documents[row] for row in rows.tolist()], grow=True)
    old = csr_array(table).copy()
    old.resize((old.shape[0], new.shape[1]))
    return old, new


def _class_p(old_Y: Sparse, n_old: int, new_Y: Sparse, classes: tuple[Any, ...]) -> float:
    return _share_p(_class_sizes(old_Y, len(classes)), n_old, _class_sizes(new_Y, len(classes)), new_Y.shape[0])


def _class_sizes(Y: Sparse, n_classes: int) -> NDArray[np.int64]:
    """Documents of each class that the model knows (n_classes,), followed by those of all others."""
    sizes = np.bincount(csr_array(Y).indices, minlength=n_classes)
    return np.append(sizes[:n_classes], sizes[n_classes:].sum())


def _share_p(old: NDArray[np.int64], n_old: int, new: NDArray[np.int64], n_new: int) -> float:
    """The smallest p of Fisher's exact test of a class share, corrected for the number of classes (Holm).

    >>> round(_share_p(np.array([1, 3]), 4, np.array([4, 0, 0]), 4), 4)     # 2 · 1/14, twice for two classes
    0.2857
    """
    before = np.append(old, np.zeros(len(new) - len(old), np.int64))
    there = np.flatnonzero(before + new)
    return min(holm(fisher_p(n_old, n_new, before[there], new[there]).tolist()), default=1.0)


def _sample(n: int, rng: np.random.Generator) -> Ids:
    return np.arange(n) if n <= MOST else np.sort(rng.permutation(n)[:MOST])


def _stack(old: Sparse, new: Sparse) -> Any:
    from scipy.sparse import vstack

    return vstack([old, new])
