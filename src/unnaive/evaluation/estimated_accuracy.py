"""Estimate the accuracy of a model on new documents without labels, from its probabilities on these and held-out ones.

Two estimates are averaged. With u = 1 − p of the predicted class,

    by confidence  held-out accuracy + mean u of held-out documents − mean u of new documents
    by threshold   the share of new documents with u ≤ t, where t is such that the share of held-out documents with
                   u > t is their error rate

Guillory et al. (2021), Predicting with confidence on unseen distributions (difference of confidences); Garg et al.
(2022), Leveraging unlabeled data to predict out-of-distribution performance (average thresholded confidence).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unnaive.base.errors import BadData, UnnaiveError, count_noun
from unnaive.base.types import Floats
from unnaive.learning.confidence_interval import Z95
from unnaive.learning.conformal import ConformalScores, Ladder, uncertainty
from unnaive.learning.decisions import Argmax
from unnaive.learning.fitted import FittedModel

CELLS = 1 << 22  # scores computed at a time, documents × classes
FEWEST_HELD_OUT = 50  # with fewer held-out documents, a note says so
UNLIKE = 0.05  # share of held-out documents that count as unlike the classes
UNLIKE_Z = 2.33  # one-sided test at the 1 % level that the share of new documents is larger
LEAST_EXCESS = 0.02  # smaller differences of these shares are not reported
MOST_GUESSED = 0.05  # share of documents without a known term from which a note says so


@dataclass(frozen=True)
class EstimatedAccuracy:
    """The estimated share of new documents whose predicted label is right.

    low, high           95 % interval
    documents           new documents
    held_out            share of held-out training documents that were classified correctly
    held_out_documents  their number
    by_confidence       the estimate by the difference of mean confidences
    by_threshold        the estimate by the share of documents above a threshold of confidence
    unlike              share of new documents that are less like the classes than 95 % of the held-out documents; None
                        if the model cannot tell
    doubts              reasons not to believe the estimate, one sentence each
    """

    accuracy: float
    low: float
    high: float
    documents: int
    held_out: float
    held_out_documents: int
    by_confidence: float
    by_threshold: float
    unlike: float | None
    doubts: tuple[str, ...]


def estimate_accuracy(model: Any, texts: Any) -> EstimatedAccuracy:
    """Estimate the accuracy of a model on new documents that have no labels.

    The estimate compares the probabilities of the new documents with those of held-out training documents. Nothing can
    be promised: where new documents belong to classes that the model does not know, or words have come to mean other
    labels, it is too high.

    Parameters
    ----------
    model : TextClassifier, estimator or FittedModel
        A trained model with exclusive classes and calibrated probabilities, such as auto.
    texts : list of str, or a column of pandas, polars, numpy or Arrow; rows of counts for an estimator
        The new documents.

    Examples
    --------
    >>> from unnaive import TextClassifier
    >>> from unnaive.io.tickets import load_tickets
    >>> train, test = load_tickets().part("train"), load_tickets().part("test")
    >>> model = TextClassifier("nbsvm", calibrate="temperature").fit(train.texts, [label for label, in train.labels])
    >>> found = estimate_accuracy(model, test.texts)
    >>> found.low < 0.92 < found.high
    True
    """
    from scipy.sparse import csr_array

    from unnaive.classifier.model_file import as_fitted
    from unnaive.text.counting import as_texts

    fitted = as_fitted(model)
    estimator = AccuracyEstimator(fitted)
    estimator.add(csr_array(texts) if fitted.token_rule is None else as_texts(texts))
    return estimator.result()


class AccuracyEstimator:
    """Collects the uncertainty of new documents in batches; a number for each document is kept."""

    def __init__(self, fitted: FittedModel) -> None:
        self.fitted, self.held_out = fitted, _held_out_scores(fitted)
        self._uncertainty: list[Floats] = []
        self._unlike = self._guessed = 0

    def add(self, documents: Any) -> None:
        """Score documents: texts, or rows of counts."""
        n_docs = documents.shape[0] if self.fitted.token_rule is None else len(documents)
        step = max(1, CELLS // len(self.fitted.classes))
        for start in range(0, n_docs, step):
            part = documents[start : start + step]
            scores, known = self.fitted.scores_and_known(part)
            log_p = self.fitted.log_probabilities(scores)
            self._uncertainty.append(uncertainty(log_p, scores.argmax(axis=1)))
            self._guessed += int(np.count_nonzero(known == 0))
            if self.fitted.tells_out_of_scope:
                self._unlike += int(self.fitted.out_of_scope_rows(scores, UNLIKE).sum())

    def result(self) -> EstimatedAccuracy:
        """The estimate from all documents so far."""
        new = np.concatenate([np.zeros(0), *self._uncertainty])
        if not len(new):
            raise BadData("there are no documents; give at least one")
        unlike = self._unlike / len(new) if self.fitted.tells_out_of_scope else None
        estimate = estimate_from_uncertainty(self.held_out, new, unlike)
        return replace(estimate, doubts=tuple(self._doubts(estimate)))

    def _doubts(self, estimate: EstimatedAccuracy) -> list[str]:
        sentences, n_new, n_held = [], estimate.documents, estimate.held_out_documents
        if estimate.unlike is not None:
            error = np.sqrt(UNLIKE * (1 - UNLIKE) * (1 / n_new + 1 / n_held))
            if estimate.unlike - UNLIKE > max(LEAST_EXCESS, UNLIKE_Z * error):
                sentences.append(
                    f"{100 * estimate.unlike:.0f} % of the documents are less like the classes than 95 % of the "
                    "held-out documents; if they belong to other classes, all of their labels are wrong, and the "
                    "accuracy may be far below this interval"
                )
        if self._guessed > MOST_GUESSED * n_new:
            sentences.append(
                f"{100 * self._guessed / n_new:.0f} % of the documents have no term that the model knows, so their "
                "labels are guesses"
            )
        if n_held < FEWEST_HELD_OUT:
            sentences.append(f"only {count_noun(n_held, 'training document')} were held out to compare with")
        return sentences


def estimate_from_uncertainty(held_out: ConformalScores, new: Floats, unlike: float | None = None) -> EstimatedAccuracy:
    """The estimate from the uncertainty of held-out documents and of new ones (n_new,).

    The half width of the interval is the root of the sum of three squares: 1.96 standard errors of the shares of both;
    the larger of the two estimated changes of the accuracy, since the true change was up to twice the estimated one in
    simulations; and by how much `unlike` exceeds that of held-out documents.

    >>> right, wrong = Ladder.of(np.array([0.1, 0.2, 0.3]), 1000), Ladder.of(np.array([0.5]), 1000)
    >>> held_out = ConformalScores(right, (), right=right, wrong=wrong)
    >>> found = estimate_from_uncertainty(held_out, np.array([0.1, 0.1, 0.6, 0.6]))
    >>> round(found.by_confidence, 3), found.by_threshold, round(found.accuracy, 4)  # .75 + .275 − .35; 2 of 4
    (0.675, 0.5, 0.5875)
    """
    if held_out.right is None or held_out.wrong is None:
        raise RuntimeError("the held-out scores have no uncertainty")
    ladders = held_out.right, held_out.wrong
    n_new, n_held = len(new), sum(ladder.n for ladder in ladders)
    # a document of a class without training documents, none of which can be held out, is certainly wrong
    accuracy_held_out = (1 - held_out.unseen) * held_out.right.n / n_held
    usual = sum(map(_sum, ladders)) / n_held
    by_confidence = float(np.clip(accuracy_held_out + usual - new.mean(), 0.0, 1.0))
    by_threshold = float((new <= _quantile(ladders, accuracy_held_out)).mean())
    accuracy = (by_confidence + by_threshold) / 2
    change = max(abs(accuracy_held_out - by_confidence), abs(accuracy_held_out - by_threshold))
    excess = 0.0 if unlike is None else max(0.0, unlike - UNLIKE)
    chance = Z95**2 * (_variance(accuracy, n_new) + _variance(accuracy_held_out, n_held))
    half = float(np.sqrt(chance + change**2 + excess**2))
    return EstimatedAccuracy(
        accuracy, max(0.0, accuracy - half), min(1.0, accuracy + half), n_new, accuracy_held_out, n_held,
        by_confidence, by_threshold, unlike, (),
    )  # fmt: skip


def _held_out_scores(fitted: FittedModel) -> ConformalScores:
    """The scores of held-out documents, or an error that says what is missing."""
    what = "the accuracy on documents without labels is estimated"
    if fitted.multilabel:
        raise UnnaiveError(f"{what} for exclusive classes only; this model gives several labels to a document")
    if not isinstance(fitted.decision, Argmax):
        raise UnnaiveError(
            f"{what} for the class with the highest score only; this model was trained with optimise, which decides "
            "otherwise"
        )
    if fitted.conformal is None or not fitted.probabilistic:
        raise UnnaiveError(
            f"{what} from calibrated probabilities of held-out documents, which this model does not have; train auto, "
            "or train with --calibrate temperature"
        )
    scores = fitted.conformal
    if scores.right is None or scores.wrong is None or not scores.right.n + scores.wrong.n:
        raise UnnaiveError("this model file has no held-out probabilities to compare with; train the model again")
    return scores


def _sum(ladder: Ladder) -> float:
    """The approximate sum over the documents of a ladder, of which some ranks are kept."""
    return ladder.n * float(ladder.values.mean()) if len(ladder.values) else 0.0


def _quantile(ladders: Sequence[Ladder], share: float) -> float:
    """The value that this share of the documents of all ladders does not exceed.

    >>> _quantile([Ladder.of(np.array([0.1, 0.2, 0.3]), 1000), Ladder.of(np.array([0.4]), 1000)], 0.75)
    0.3...
    """
    values = np.concatenate([ladder.values for ladder in ladders])
    counts = np.concatenate([np.full(len(ladder.values), ladder.n / max(1, len(ladder.values))) for ladder in ladders])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    at = int(np.searchsorted(reached, share * reached[-1] * (1 - 1e-9)))
    return float(values[order][min(at, len(order) - 1)]) if share > 0 else -1.0


def _variance(share: float, n: int) -> float:
    """The variance of a share of n documents, with two right and two wrong ones added (Agresti and Coull 1998)."""
    share = (share * n + 2) / (n + 4)
    return share * (1 - share) / (n + 4)
