"""The pool of texts to label, counted once, and the scores of all texts, updated with every label.

The model is multinomial naive Bayes on the presence of terms with Jelinek–Mercer smoothing, and the corpus for
smoothing is the whole pool, labelled or not. So the score of a class depends only on that class's documents:

    evidence[c, d] = Σ_{t in d} log p(t|c)/p(t|D),   p(t|c) = (1 − β) n_ct / n_c• + β p(t|D)

and a label changes one row of `evidence`, by one sparse product. Every number depends only on the current labels, so an
undone label leaves no trace, bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from unnaive.base.elementary import exp, log
from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.curation.labelling.dense_columns import DenseColumns, FieldColumns
from unnaive.curation.labelling.evidence import explain_terms
from unnaive.data.word_vectors import WordVectors
from unnaive.learning.explanation import Explanation
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

BETA = 0.7
HINT_DOCUMENTS = 3  # a keyword counts like this many documents of its class that contain it
TEMPERED = 2000  # maximum number of labelled texts for fitting the temperature
TEMPERATURES = np.geomspace(0.05, 20.0, 41)

Floats32 = NDArray[np.float32]


class TextRanking(NamedTuple):
    """The prediction for every text: the best class, its score, and its margin over the second.

    best    index of the class with the highest score (n_texts,); −1 if no class has a score
    top     its score, divided by √length (n_texts,)
    margin  its lead over the second; ∞ if there is no second (n_texts,)
    """

    best: NDArray[np.int32]
    top: Floats32
    margin: Floats32


class TextPool:
    """Texts, classes, and which texts have which labels.

    labels    text → its labels, which the model learns
    reserved  texts whose labels the model does not learn, since they measure it; `measured` has their labels

    >>> pool = TextPool(["good ball", "fair vote", "ball game", "vote count"], ["sport", "politics"])
    >>> pool.set_labels(0, ["sport"])
    >>> pool.set_labels(1, ["politics"])
    >>> [pool.classes[best] for best in pool.ranking().best]
    ['sport', 'politics', 'sport', 'politics']
    """

    def __init__(
        self, texts: Sequence[str], classes: Iterable[str] = (), *, rule: TokenRule | None = None, beta: float = BETA,
        multilabel: bool = False, hints: Mapping[str, Sequence[str]] | None = None, threads: int | None = None,
        vectors: WordVectors | None = None,
    ) -> None:  # fmt: skip
        self.texts, self.multilabel, self.beta = texts, multilabel, beta
        self.ends: tuple[int, ...] = (len(texts),)  # the number of texts, at first and after each time some were added
        self.rule = (rule or TokenRule()).without_vectors()
        self._counter = TextCounter(self.rule, threads=threads)
        self.X = _presence(self._counter.count(texts, grow=True))
        self.vocabulary = self._counter.vocabulary
        self.lengths = np.diff(self.X.indptr)
        self._scale = (1 / np.sqrt(np.maximum(self.lengths, 1))).astype(np.float32)
        df = np.bincount(self.X.indices, minlength=self.X.shape[1]).astype(np.float64)
        self.background = df / max(df.sum(), 1.0)
        self.classes: list[str] = []
        self.labels: dict[int, tuple[str, ...]] = {}
        self.reserved: frozenset[int] = frozenset()
        self.measured: dict[int, tuple[str, ...]] = {}
        self._hints: dict[str, Floats] = {}
        self.set_hints(hints or {})
        self._idf = 1 + log((len(self) + 1) / (df + 1))
        self._in_one_text = df == 1
        self.dense = None if vectors is None else DenseColumns.of(self.X, self.vocabulary, vectors, self.rule)
        self.field_vectors = FieldColumns.of(texts, rule or TokenRule(), threads)
        self.documents = self.weighted(self.X, self.vector_rows(texts))  # the features of the linear model
        self._rows: list[set[int]] = []
        self._evidence: list[Floats32] = []
        self._stale: set[int] = set()
        self.prior_scores: dict[str, Floats32] = {}  # log-probabilities by class, of the model to start from
        self.novelty: Floats = np.zeros(0)  # novelty of each text by that model; empty if it is unknown
        for label in (*classes, *self._hints):
            self.add_class(label)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    # Labels.

    def add_class(self, label: str) -> None:
        """Add a class, unless it exists."""
        if label not in self.classes:
            self.classes.append(label)
            self._rows.append(set())
            self._evidence.append(np.zeros(len(self), np.float32))
            self._stale.add(len(self.classes) - 1)

    def remove_class(self, label: str) -> None:
        """Remove a class without texts."""
        index = self.classes.index(label)
        n_texts = self.class_sizes()[label]
        if n_texts:
            raise BadData(f"the class {label!r} cannot be removed: {n_texts} texts have it; relabel them first")
        for values in (self.classes, self._rows, self._evidence):
            del values[index]
        self._stale = {other - (other > index) for other in self._stale if other != index}

    def set_classes(self, labels: Sequence[str]) -> None:
        """Set the classes and their order; a class that is left out must have no texts."""
        for label in [name for name in self.classes if name not in labels]:
            self.remove_class(label)
        for label in labels:
            self.add_class(label)
        order = [self.classes.index(label) for label in labels]
        new_index = {old: new for new, old in enumerate(order)}
        self.classes = [self.classes[old] for old in order]
        self._rows = [self._rows[old] for old in order]
        self._evidence = [self._evidence[old] for old in order]
        self._stale = {new_index[old] for old in self._stale}

    @property
    def n_labelled(self) -> int:
        """The number of texts with labels, learnt or not."""
        return len(self.labels) + len(self.measured)

    def labels_of(self, text: int) -> tuple[str, ...] | None:
        """The labels of a text; None if it has none."""
        return self.measured.get(text) if text in self.reserved else self.labels.get(text)

    def reserve(self, texts: Iterable[int]) -> None:
        """Learn the labels of all texts but these."""
        known = {text: (*labels,) for text, labels in (*self.labels.items(), *self.measured.items())}
        before, self.reserved = self.reserved, frozenset(texts)
        for text in (before ^ self.reserved) & known.keys():
            after, self.reserved = self.reserved, before
            self.set_labels(text, None)
            self.reserved = after
            self.set_labels(text, known[text])

    def set_labels(self, text: int, labels: Sequence[str] | None) -> None:
        """Set the labels of a text; None removes them."""
        if text in self.reserved:
            self.measured.pop(text, None)
            if labels is not None:
                self.measured[text] = tuple(labels)
                for label in labels:
                    self.add_class(label)
            return
        for label in self.labels.get(text, ()):
            self._change(label, text, add=False)
        if labels is None:
            self.labels.pop(text, None)
        else:
            self.labels[text] = tuple(labels)  # a text keeps its place in the order of labelling
            for label in labels:
                self.add_class(label)
                self._change(label, text, add=True)

    def _change(self, label: str, text: int, *, add: bool) -> None:
        index = self.classes.index(label)
        (self._rows[index].add if add else self._rows[index].discard)(text)
        self._stale.add(index)

    @property
    def hinted(self) -> Collection[str]:
        """The classes that have keywords."""
        return self._hints.keys()

    def class_sizes(self) -> dict[str, int]:
        """The number of labelled texts of each class, learnt or not."""
        sizes = {label: len(rows) for label, rows in zip(self.classes, self._rows, strict=True)}
        for label in (label for labels in self.measured.values() for label in labels):
            sizes[label] += 1
        return sizes

    # The model.

    def counts_of(self, class_index: int) -> Floats:
        """The number of documents of a class with each term, including keywords (n_terms,)."""
        counts = _count_rows(self.X, self._rows[class_index])
        hint = self._hints.get(self.classes[class_index])
        return counts if hint is None else counts + hint

    def weights(self, class_index: int) -> Floats32:
        """log p(t|c)/p(t|D) of each term for a class (n_terms,); all 0 for an unknown class."""
        counts = self.counts_of(class_index)
        total = counts.sum()
        weights = np.full(len(counts), log(self.beta) if total else 0.0, np.float32)
        seen = np.flatnonzero(counts)
        ratio = (1 - self.beta) * counts[seen] / (total * self.background[seen]) + self.beta
        weights[seen] = log(ratio)
        return weights

    def evidence(self, class_index: int) -> Floats32:
        """The evidence of each text for a class (n_texts,), up to date."""
        if class_index in self._stale:
            self._evidence[class_index] = self.X @ self.weights(class_index)
            self._stale.discard(class_index)
        return self._evidence[class_index]

    def known(self, class_index: int) -> bool:
        """Whether a class has a text, a keyword, or scores of a model to start from."""
        label = self.classes[class_index]
        return bool(self._rows[class_index]) or label in self._hints or label in self.prior_scores

    def log_prior(self) -> Floats32:
        """log p(c) with one pseudo-text per class (n_classes,); log-odds for multilabel data."""
        sizes = np.array([len(rows) for rows in self._rows], np.float64)
        return self._prior(sizes, len(self.labels)).astype(np.float32)

    def _prior(self, size: Any, labelled: Any) -> Floats:
        """The prior of classes with `size` of the `labelled` texts."""
        rest = labelled - size + 1 if self.multilabel else labelled + len(self.classes)
        return np.asarray(log((size + 1) / rest), np.float64)

    def scores(self, class_index: int) -> Floats32:
        """The scores of a class (n_texts,), divided by √length, since naive Bayes is overconfident on long texts."""
        scores: Floats32 = (self.evidence(class_index) + self.log_prior()[class_index]) * self._scale
        start = self.prior_scores.get(self.classes[class_index])
        return scores if start is None else scores + start

    def scores_of(self, text: int) -> dict[str, float]:
        """The score of every known class for one text."""
        return {label: float(self.scores(index)[text]) for index, label in enumerate(self.classes) if self.known(index)}

    def ranking(self) -> TextRanking:
        """The best class and margin of every text; only classes that changed since the last call are recomputed."""
        n = len(self)
        best, top = np.full(n, -1, np.int32), np.full(n, -np.inf, np.float32)
        second = np.full(n, -np.inf, np.float32)
        for index in range(len(self.classes)):
            if not self.known(index):
                continue
            scores = self.scores(index)
            if self.multilabel:  # the margin is the smallest distance of a class from even odds
                np.maximum(second, -np.abs(scores), out=second)
            else:
                np.maximum(second, np.minimum(top, scores), out=second)
            better = scores > top
            best[better] = index
            np.maximum(top, scores, out=top)
        with np.errstate(invalid="ignore"):  # −∞ − (−∞) if no class is known
            margin = -second if self.multilabel else np.where(np.isfinite(second), top - second, np.inf)
        return TextRanking(best, top, margin.astype(np.float32))

    # Probabilities are calibrated on leave-one-out scores of labelled texts.

    def left_out_scores(self, texts: Ids) -> Floats:
        """Exact leave-one-out scores of labelled texts (n_texts, n_classes); −∞ for unknown classes.

        The counts of a text are subtracted from those of its class, so no model is refitted.
        """
        X = self.X[texts]
        scores = np.full((len(texts), len(self.classes)), -np.inf)
        scale = self._scale[texts].astype(np.float64)
        labelled = np.array([int(text) in self.labels for text in texts], bool)
        owner = np.repeat(np.arange(len(texts)), np.diff(X.indptr))
        for index, label in enumerate(self.classes):
            if not self.known(index):
                continue
            in_class = np.array([int(text) in self._rows[index] for text in texts], bool)
            counts = self.counts_of(index)
            left = counts[X.indices] - in_class[owner]
            total = (counts.sum() - in_class * self.lengths[texts])[owner]
            background = self.background[X.indices]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(total > 0, (1 - self.beta) * left / (total * background) + self.beta, 1.0)
            column = np.bincount(owner, log(ratio), minlength=len(texts))
            alone = in_class & (len(self._rows[index]) == 1) & (label not in self._hints)
            prior = self._prior(len(self._rows[index]) - in_class, len(self.labels) - labelled)
            scores[:, index] = np.where(alone, -np.inf, (column + prior) * scale)
            if label in self.prior_scores:
                scores[:, index] = np.where(alone, 0.0, scores[:, index]) + self.prior_scores[label][texts]
        return scores

    def temperature(self) -> float:
        """The factor of scores with the lowest log-loss on leave-one-out scores.

        Single-label data only; 1 while fewer than ten texts, or a single class, are labelled.
        """
        texts = np.fromiter(self.labels, np.int64, len(self.labels))[-TEMPERED:]
        if self.multilabel or len(texts) < 10 or sum(bool(rows) for rows in self._rows) < 2:
            return 1.0
        scores = self.left_out_scores(texts)
        right = np.array([self.classes.index(self.labels[int(text)][0]) for text in texts])
        usable = np.isfinite(scores[np.arange(len(texts)), right])
        scores, right = scores[usable], right[usable]
        if not len(right):
            return 1.0
        scores = np.where(np.isfinite(scores), scores, -1e3)
        scores -= scores.max(axis=1, keepdims=True)
        right_scores = scores[np.arange(len(right)), right]
        losses = [log(exp(scores * t).sum(axis=1)).sum() - t * right_scores.sum() for t in TEMPERATURES]
        return float(TEMPERATURES[int(np.argmin(losses))])

    def probabilities(self, text: int, temperature: float = 1.0) -> dict[str, float]:
        """The probability of each known class for one text, the highest first."""
        scores = self.scores_of(text)
        values = np.array(list(scores.values())) * temperature
        if self.multilabel:
            shares = 1 / (1 + exp(-np.clip(values, -50, 50)))
        else:
            shares = exp(values - values.max(initial=-np.inf))
            shares = shares / shares.sum() if len(shares) else shares
        by_class = dict(zip(scores, shares.tolist(), strict=True))
        return dict(sorted(by_class.items(), key=lambda item: -item[1]))

    # Explanations and search.

    def explain(self, text: int, label: str, probability: float | None = None) -> Explanation:
        """The contribution of each term of a text to the score of a class, relative to the mean of known classes."""
        known_classes = [index for index in range(len(self.classes)) if self.known(index)]
        chosen = self.classes.index(label)
        columns = self.X.indices[self.X.indptr[text] : self.X.indptr[text + 1]]
        weights = self.weights(chosen)[columns].astype(np.float64)
        mean = (
            np.mean([self.weights(index)[columns] for index in known_classes], axis=0)
            if known_classes
            else np.zeros(len(columns))
        )
        values = (weights if self.multilabel or len(known_classes) < 2 else weights - mean) * self._scale[text]
        prior = self.log_prior()
        base = float(prior[chosen] - (0 if self.multilabel or not known_classes else prior[known_classes].mean()) * 1.0)
        base *= float(self._scale[text])
        return explain_terms(self, text, label, columns, values, base, probability)

    def similarity(self, text: int, others: Sequence[int]) -> float:
        """The highest Jaccard coefficient of a text's terms with those of other texts; 0 without any.

        >>> TextPool(["good ball", "good ball game"]).similarity(0, [1])
        0.6666666666666666
        """
        mine = set(self._terms_of(text))
        shares = []
        for other in others:
            theirs = set(self._terms_of(other))
            shares.append(len(mine & theirs) / max(len(mine | theirs), 1))
        return max(shares, default=0.0)

    def _terms_of(self, text: int) -> list[int]:
        terms: list[int] = self.X.indices[self.X.indptr[text] : self.X.indptr[text + 1]].tolist()
        return terms

    def search(self, words: str) -> Ids:
        """The indices of the texts that have all of these words, by the token rule of the pool (n_found,)."""
        ids = np.unique(self._counter.count([words]).indices)
        if not len(ids):
            return np.zeros(0, np.int64)
        wanted = np.zeros(self.X.shape[1], np.float32)
        wanted[ids] = 1
        return np.flatnonzero(self.X @ wanted == len(ids)).astype(np.int64)

    def set_hints(self, hints: Mapping[str, Sequence[str]]) -> None:
        """Set the keywords of each class."""
        self._hints = {label: self._hint_counts(words) for label, words in hints.items()}

    def _hint_counts(self, words: Sequence[str]) -> Floats:
        """Keywords as counts of pseudo-documents (n_terms,); keywords that no text has are ignored."""
        counts = np.zeros(self.X.shape[1])
        for word in words:
            counts[np.unique(self._counter.count([word]).indices)] += HINT_DOCUMENTS
        return counts

    def hint_documents(self) -> dict[str, Sparse]:
        """The keywords of each class as one tf-idf document (1, n_terms)."""
        rows = {label: csr_array((counts > 0).astype(np.float32)[None, :]) for label, counts in self._hints.items()}
        return {label: self.weighted(row) for label, row in rows.items()}

    def vector_rows(self, texts: Sequence[str]) -> Sparse | None:
        """The vector fields of documents (n_texts, n_dims); None if there are no vector fields."""
        return None if self.field_vectors is None else self.field_vectors.rows(texts)

    def documents_as_new(self, texts: Ids) -> Sparse:
        """The features of texts of the pool as if they were new: without the terms that no other text of it has.

        The pool would not know these terms of a new text. They have no weight in a model, but make the others smaller.
        """
        X = self.X[texts]
        known = ~self._in_one_text[X.indices]
        ends = np.concatenate([[0], np.cumsum(known)])[X.indptr]
        X = csr_array((X.data[known], X.indices[known], ends), shape=X.shape)
        return self.weighted(X, self.vector_rows([self.texts[text] for text in texts.tolist()]))

    def weighted(self, X: Sparse, vectors: Sparse | None = None) -> Sparse:
        """Convert presence of terms X to tf-idf, with idf 1 + log((N + 1)/(df + 1)) and rows of norm 1.

        Means of word vectors and `vectors`, the vector fields of the documents, are appended as further columns. A
        document without a vector, such as keywords, gets their mean, which is 0.
        """
        values = self._idf[X.indices]
        squares = np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), values**2, minlength=X.shape[0])
        values = values / np.sqrt(np.repeat(squares, np.diff(X.indptr)))
        weighted = csr_array((values, X.indices, X.indptr), shape=X.shape)
        weighted = weighted if self.dense is None else self.dense.beside(weighted, X)
        if self.field_vectors is None:
            return weighted
        none = csr_array((X.shape[0], self.field_vectors.n_dims)) if vectors is None else vectors
        return csr_array(hstack([weighted, none], format="csr"))


def _presence(counts: csr_array) -> Sparse:
    """The presence of terms as 0 or 1, in single precision, which is enough for ranking and halves the memory."""
    return csr_array((np.ones(counts.nnz, np.float32), counts.indices, counts.indptr), shape=counts.shape)


def _count_rows(X: Sparse, rows: Iterable[int]) -> Floats:
    """The sum of some rows of X, whose entries are 0 or 1 (n_terms,)."""
    parts = [X.indices[X.indptr[row] : X.indptr[row + 1]] for row in rows]
    if not parts:
        return np.zeros(X.shape[1])
    return np.bincount(np.concatenate(parts), minlength=X.shape[1]).astype(np.float64)
