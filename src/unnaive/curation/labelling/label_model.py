"""A linear model of the labels so far, used for asking and suggesting from fifty labels on.

Naive Bayes learns a label immediately, but it assumes a random sample of each class, and texts selected by uncertainty
are not such a sample. A support vector machine only needs the decision boundary, where these texts are. So from fifty
labels on (thirty with word vectors), questions are selected by the margin between the two most probable classes of

    score[c, d] = w_c·z_d + b_c,   z tf-idf of the pool, rows of length 1

where (w_c, b_c) minimise the squared hinge loss of class c against the rest. p(c|d) is a softmax of scores over a
temperature (multilabel: a logistic function), fitted by cross-validation. The model is refitted every ten labels, on
the first 10·k labelled texts. It depends only on the current labels, so an undone label leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.curation.labelling.evidence import explain_terms
from unnaive.curation.labelling.texts_to_label import HINT_DOCUMENTS, TextPool
from unnaive.data.products import product
from unnaive.learning.calibration import Temperature
from unnaive.learning.explanation import Explanation
from unnaive.learning.fit_calibration import fit_temperature
from unnaive.models.svm.solver import squared_hinge

FEWEST = 50  # labelled texts before there is a linear model; with fewer, naive Bayes is more accurate
FEWEST_WITH_VECTORS = 30  # the same with word vectors, which cover words that no labelled text has
EVERY = 10  # labels between two fits
# growth factor of labels between two fits of the temperature, which needs cross-validation and changes slowly
GROWTH = 1.5
MANY = 500  # labelled texts from which 5 folds are enough; with fewer texts 10 folds are used
MOST_AT_ONCE = 20_000  # margins of a pool of up to this many texts are cached; of a larger one, a sample is computed
TOL = 0.1  # LIBLINEAR's default; a smaller tolerance hardly changes the margins


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear model with weights for the terms of labelled texts only.

    classes  the classes that have a labelled text or a keyword
    place    the row of `weights` for each term of the pool (n_terms,); the last row, of zeros, for other terms
    weights  (n_known_terms + 1, n_classes)        bias  (n_classes,)
    """

    classes: tuple[str, ...]
    place: NDArray[np.int32]
    weights: Floats
    bias: Floats

    def scores(self, documents: Sparse) -> Floats:
        """Scores (n_docs, n_classes) of tf-idf documents of the pool's terms."""
        rows = csr_array(
            (documents.data, self.place[documents.indices], documents.indptr),
            shape=(documents.shape[0], len(self.weights)),
        )
        return product(rows, self.weights) + self.bias


class HeldOutTexts(NamedTuple):
    """Scores of labelled texts by models that were fitted without them (n_texts, n_classes)."""

    texts: Ids
    classes: tuple[str, ...]
    scores: Floats


class LinearLearner:
    """The linear model of a pool, refitted when needed; `model` is None while naive Bayes is used.

    Naive Bayes is used with fewer than fifty labels, with fewer than two classes, and if labelling starts from a model.

    >>> pool = TextPool(["good ball", "fair vote"] * 30)
    >>> for text in range(50):
    ...     pool.set_labels(text, ["sport" if text % 2 == 0 else "politics"])
    >>> learner = LinearLearner(pool)
    >>> list(learner.probabilities(58))[0], list(learner.probabilities(59))[0]
    ('sport', 'politics')
    """

    def __init__(self, pool: TextPool) -> None:
        self.pool = pool
        self.fewest = FEWEST if pool.dense is None and pool.field_vectors is None else FEWEST_WITH_VECTORS
        self._fitted: tuple[object, LinearModel] | None = None
        self._held_out: tuple[object, HeldOutTexts] | None = None
        self._temperature: tuple[object, Temperature] | None = None
        self._margins: tuple[LinearModel, Temperature, Floats] | None = None
        self._sampled: tuple[LinearModel | None, Temperature, Ids, Floats] | None = None

    @property
    def model(self) -> LinearModel | None:
        """The model of the labels so far; None if there are too few."""
        key = self._labels(len(self.pool.labels) // EVERY * EVERY)
        if key is None:
            return None
        if self._fitted is None or self._fitted[0] != key:
            self._fitted = (key, fit_linear(self.pool, [text for text, _ in key[1]]))
        return self._fitted[1]

    def _labels(self, number: int) -> tuple[tuple[str, ...], list[tuple[int, tuple[str, ...]]]] | None:
        """The classes and the first `number` labels, on which a model is fitted; None if they are too few."""
        pool = self.pool
        if pool.prior_scores or number < self.fewest:
            return None
        chosen = list(pool.labels.items())[:number]
        seen = {label for _, labels in chosen for label in labels}
        known_classes = tuple(label for label in pool.classes if label in seen or label in pool.hinted)
        return (known_classes, chosen) if len(known_classes) > 1 or (pool.multilabel and known_classes) else None

    def held_out(self) -> HeldOutTexts | None:
        """The out-of-fold scores of the texts that the model is fitted on; None while there is no model."""
        key = self._labels(len(self.pool.labels) // EVERY * EVERY)
        if key is None:
            return None
        if self._held_out is None or self._held_out[0] != key:
            self._held_out = (key, held_out_scores(self.pool, [text for text, _ in key[1]], key[0]))
        return self._held_out[1]

    def decide(self, classes: Sequence[str], scores: Floats) -> list[tuple[str, ...]]:
        """The predicted labels for each row of scores (n_docs, n_classes); none where all are −∞.

        Multilabel: the classes with p > 1/2, which a temperature with an offset puts at another score than 0.
        """
        line = None
        if self.pool.multilabel:
            line = self.temperature() if self.model is not None else Temperature(1.0)
        return decide_labels(classes, scores, line)

    def predicted_labels(self, as_new: Ids | None = None) -> list[tuple[str, ...]]:
        """The predicted labels of every text of the pool; multilabel: those with p > 1/2.

        as_new  only of these texts, as if they were not in the pool
        """
        pool, model = self.pool, self.model
        texts = np.arange(len(pool)) if as_new is None else as_new
        if model is not None:
            documents = pool.documents if as_new is None else pool.documents_as_new(as_new)
            return self.decide(model.classes, model.scores(documents))
        known = [index for index in range(len(pool.classes)) if pool.known(index)]
        if not known:
            return [()] * len(texts)
        scores = np.stack([pool.scores(index)[texts] for index in known], axis=1).astype(np.float64)
        return self.decide([pool.classes[index] for index in known], scores)

    def predict_later(self) -> Callable[[], list[tuple[str, ...]]]:
        """A function that gives `predicted_labels` of now, whatever is learnt before it is called, without a lock."""
        model, documents = self.model, self.pool.documents
        if model is None:
            predicted = self.predicted_labels()
            return lambda: predicted
        line = self.temperature() if self.pool.multilabel else None
        return lambda: decide_labels(model.classes, model.scores(documents), line)

    def temperature(self) -> Temperature:
        """The temperature that turns scores into calibrated probabilities."""
        number = self.fewest
        while number * GROWTH <= len(self.pool.labels):
            number = int(number * GROWTH)
        key = self._labels(min(number, len(self.pool.labels)))
        if self._temperature is None or self._temperature[0] != key:
            held_out = None if key is None else held_out_scores(self.pool, [text for text, _ in key[1]], key[0])
            self._temperature = (key, Temperature(1.0) if held_out is None else _calibrate(self.pool, held_out))
        return self._temperature[1]

    def margins(self, texts: Ids) -> Floats:
        """The probability of the best class of each text minus that of the second (n_texts,).

        Multilabel: the smallest distance of a class probability from 1/2.
        """
        model, temperature = self.model, self.temperature()
        if model is None:
            return np.asarray(self.pool.ranking().margin[texts], np.float64)
        if len(self.pool) > MOST_AT_ONCE:
            return self._margins_of(model, self.pool.documents[texts])
        if self._margins is None or self._margins[0] is not model or self._margins[1] is not temperature:
            self._margins = (model, temperature, self._margins_of(model, self.pool.documents))
        return np.asarray(self._margins[2][texts])

    def sampled_margins(self, number: int, seed: int) -> tuple[Ids, Floats]:
        """Texts drawn at random, the same for everybody until the next fit, and their `margins` (number,)."""
        model, temperature = self.model, self.temperature()
        if self._sampled is None or self._sampled[0] is not model or self._sampled[1] is not temperature:
            draw = np.random.default_rng([seed, len(self.pool.labels) // EVERY, 22])
            texts = np.sort(draw.choice(len(self.pool), min(number, len(self.pool)), replace=False))
            self._sampled = (model, temperature, texts, self.margins(texts))
        return self._sampled[2:]

    def _margins_of(self, model: LinearModel, documents: Sparse) -> Floats:
        shares = self.temperature().probabilities("margin", model.scores(documents))
        if self.pool.multilabel:
            return np.asarray(np.abs(shares - 0.5).min(axis=1))
        two = np.partition(shares, -2, axis=1)[:, -2:]
        return np.asarray(two[:, 1] - two[:, 0])

    def probabilities(self, text: int) -> dict[str, float]:
        """The probability of each known class for one text, highest first; out of fold if the text is labelled."""
        model = self.model
        if model is None:
            return self.pool.probabilities(text)
        classes, scores = model.classes, model.scores(self.pool.documents[[text]])
        if text in self.pool.labels and (held_out := self.held_out()) is not None:
            row = np.flatnonzero(held_out.texts == text)
            if len(row):
                classes, scores = held_out.classes, held_out.scores[row]
        shares = self.temperature().probabilities("margin", scores)[0]
        order = np.argsort(-shares, kind="stable")
        return {classes[index]: float(shares[index]) for index in order}

    def explain(self, text: int, label: str, probability: float | None = None) -> Explanation:
        """The contribution of each term of a text to the score of a class, relative to the mean of the classes."""
        model = self.model
        if model is None or label not in model.classes:
            return self.pool.explain(text, label, probability)
        documents, chosen = self.pool.documents[[text]], model.classes.index(label)
        weights, bias = model.weights[model.place[documents.indices]], model.bias
        mean = 0.0 if self.pool.multilabel else weights.mean(axis=1)
        base = float(bias[chosen] - (0.0 if self.pool.multilabel else bias.mean()))
        leads, columns = weights[:, chosen] - mean, documents.indices
        values = documents.data * leads
        fields: dict[str, float] = {}
        if self.pool.field_vectors is not None:
            start = self.pool.documents.shape[1] - self.pool.field_vectors.n_dims
            is_field = columns >= start
            fields = self.pool.field_vectors.sum_by_field(columns[is_field] - start, values[is_field])
            leads, columns, values = leads[~is_field], columns[~is_field], values[~is_field]
        if self.pool.dense is not None:
            is_term = columns < self.pool.X.shape[1]
            words, shares, more = self.pool.dense.word_values(self.pool.X[[text]], leads[~is_term])
            total = np.zeros(self.pool.X.shape[1])
            total[columns[is_term]] = values[is_term]
            total[words] += shares
            columns = columns[is_term]
            values, base = total[columns], base + more
        return explain_terms(self.pool, text, label, columns, values, base, probability, fields)


def decide_labels(classes: Sequence[str], scores: Floats, line: Temperature | None) -> list[tuple[str, ...]]:
    """The best class of each row of scores (n_docs, n_classes), or with `line` all classes whose p > 1/2."""
    if line is not None:
        above = scores > -line.offset * line.value
        return [tuple(sorted(classes[c] for c in np.flatnonzero(row).tolist())) for row in above]
    best = scores.argmax(axis=1)
    best[~np.isfinite(scores[np.arange(len(scores)), best])] = len(classes)
    answers: list[tuple[str, ...]] = [*((label,) for label in classes), ()]
    return [answers[c] for c in best.tolist()]


def fit_linear(pool: TextPool, texts: Sequence[int], classes: Sequence[str] | None = None) -> LinearModel:
    """Fit a squared hinge model of every class against the rest, on these labelled texts and the keywords."""
    hints = pool.hint_documents()
    labels = [pool.labels[text] for text in texts] + [(label,) for label in hints]
    seen = {label for names in labels for label in names}
    known_classes = tuple(label for label in (classes or pool.classes) if label in seen)
    Z = pool.documents[np.asarray(texts, np.int64)]
    if hints:
        from scipy.sparse import vstack

        Z = csr_array(vstack([Z, *hints.values()], format="csr"))
    terms = np.unique(Z.indices)
    row_of = np.full(Z.shape[1], len(terms), np.int32)
    row_of[terms] = np.arange(len(terms), dtype=np.int32)
    Z = csr_array((Z.data, row_of[Z.indices], Z.indptr), shape=(Z.shape[0], len(terms)))
    weight = np.ones(Z.shape[0])
    weight[len(texts) :] = HINT_DOCUMENTS
    solution = squared_hinge(Z, _label_matrix(labels, known_classes), weight=weight, tol=TOL)
    return LinearModel(
        known_classes, row_of, np.vstack([solution.weights.T, np.zeros(len(known_classes))]), solution.bias
    )


def n_folds(n_labelled: int) -> int:
    """The number of folds for cross-validation with `n_labelled` texts."""
    return 10 if n_labelled < MANY else 5


def held_out_scores(pool: TextPool, texts: Sequence[int], classes: tuple[str, ...]) -> HeldOutTexts:
    """The out-of-fold scores of labelled texts."""
    rows = np.sort(np.asarray(texts, np.int64))
    scores = np.full((len(rows), len(classes)), -np.inf)  # −∞ stays if the class is missing in the training folds
    folds = np.arange(len(rows)) % n_folds(len(rows))
    for fold in range(n_folds(len(rows))):
        inside = folds == fold
        model = fit_linear(pool, rows[~inside].tolist(), classes)
        columns = [classes.index(label) for label in model.classes]
        scores[np.ix_(inside, columns)] = model.scores(pool.documents[rows[inside]])
    return HeldOutTexts(rows, classes, scores)


def _calibrate(pool: TextPool, held_out: HeldOutTexts) -> Temperature:
    labels = [pool.labels[int(text)] for text in held_out.texts]
    truth = _label_matrix(labels, held_out.classes)
    return fit_temperature("margin", held_out.scores, truth, exclusive=not pool.multilabel)


def _label_matrix(labels: Sequence[Sequence[str]], classes: Sequence[str]) -> Sparse:
    """The label matrix Y (n_texts, n_classes)."""
    column_of = {label: number for number, label in enumerate(classes)}
    rows = [row for row, names in enumerate(labels) for label in names if label in column_of]
    columns = [column_of[label] for names in labels for label in names if label in column_of]
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(labels), len(classes)))
