"""Methods of FittedModel that turn its scores into probabilities, labels, prediction sets and novelty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csr_array, vstack
from unnaive.base.types import Floats, Ids, Label, Sparse
from unnaive.data.targets import class_codes, label_sets
from unnaive.learning.calibration import Calibration
from unnaive.learning.conformal import MOST, ConformalScores, Ladder
from unnaive.learning.decisions import Argmax, Decision
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.novelty import advise_holding_out, check_out_of_scope_rate, explain_absence, novelty_scores
from unnaive.linear.links import clear_lead, log_probabilities, probabilities
from unnaive.linear.scorer import Scorer


class ScoreMethods:
    """The methods of FittedModel that take its scores (n_docs, n_classes)."""

    spec: TrainingSpec
    classes: tuple[Label, ...]
    target_type: str
    scorer: Scorer
    decision: Decision
    calibration: Calibration | None
    conformal: ConformalScores | None

    @property
    def multilabel(self) -> bool:
        """Whether a document may have any number of labels."""
        return self.target_type != "single"

    @property
    def probabilistic(self) -> bool:
        """Whether the model has probabilities: from the scorer itself, or from a calibration."""
        return self.calibration is not None or self.scorer.probabilistic

    @property
    def calibrated(self) -> bool:
        """Whether probabilities were fitted to held-out documents, by a calibration or by a model that selects."""
        return self.calibration is not None or (self.spec.model.traits.keeps_choice and self.conformal is not None)

    @property
    def value_name(self) -> str:
        """The name of the value of a class: "probability" if the model has probabilities, else "score"."""
        return "probability" if self.probabilistic else "score"

    @property
    def tells_out_of_scope(self) -> bool:
        """Whether the model supports `novelty` and `out_of_scope_rate`."""
        return self.conformal is not None and self.conformal.novelty is not None

    @lazy_property
    def class_array(self) -> NDArray[Any]:
        """The classes as an array (n_classes,)."""
        return np.array(self.classes)

    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities from the result of `scores`."""
        if self.calibration is not None:
            return self.calibration.probabilities(self.scorer.link, scores)
        return probabilities(self.scorer.link, scores, exclusive=not self.multilabel)

    def log_probabilities(self, scores: Floats) -> Floats:
        """Log-probabilities from the result of `scores`."""
        if self.calibration is not None:
            return self.calibration.log_probabilities(self.scorer.link, scores)
        return log_probabilities(self.scorer.link, scores, exclusive=not self.multilabel)

    def clear_lead(self, p: float) -> float:
        """The lead of the best score over every other that guarantees a probability of at least p.

        ∞ if no lead does.
        """
        if self.multilabel:
            return np.inf
        if self.calibration is not None:
            return self.calibration.clear_lead(self.scorer.link, len(self.classes), p)
        return clear_lead(self.scorer.link, len(self.classes), p)

    def decide(self, scores: Floats) -> Sparse:
        """Predicted labels as a 0/1 matrix (n_docs, n_classes), from the result of `scores`."""
        return self.decision.decide(self.probabilities(scores) if self.decision.on_probabilities else scores)

    def labels_of(self, scores: Floats) -> Any:
        """The labels that `predict` returns, from the result of `scores`."""
        return self._labels(iter([scores]))

    def label_sets_of(self, scores: Floats) -> list[tuple[Label, ...]]:
        """The labels of each document in the order of the classes, from the result of `scores`."""
        if isinstance(self.decision, Argmax):
            return [(self.classes[best],) for best in scores.argmax(axis=1).tolist()]
        return label_sets(self.decide(scores), self.classes)

    def first_labels(self, scores: Floats) -> Ids:
        """The index of the first label that `predict` returns for each document (n_docs,).

        This is the predicted label with the highest score or, if no label is predicted, the class with the highest
        score.
        """
        if isinstance(self.decision, Argmax):
            return np.asarray(scores.argmax(axis=1))
        order = np.argsort(-scores, axis=1, kind="stable")
        decided = np.take_along_axis(self.decide(scores).toarray() > 0, order, axis=1)
        return np.asarray(order[np.arange(len(order)), decided.argmax(axis=1)])

    def best_classes(self, scores: Floats, values: Floats, limit: int) -> Ids:
        """Indices of at most `limit` classes of each document: the first of `first_labels`, then by value.

        Classes of equal values are in the order of the classes.

        scores  the result of `scores` (n_docs, n_classes)
        values  the values to rank by: scores or probabilities
        """
        first = self.first_labels(scores)[:, None]
        if limit == 1:
            return first
        ranked = np.minimum(values, np.finfo(np.float64).max)  # so that no other value is as high as that of the first
        np.put_along_axis(ranked, first, np.inf, axis=1)
        if limit < ranked.shape[1] // 4:
            part = largest_columns(ranked, limit)
            return np.take_along_axis(part, np.argsort(-np.take_along_axis(ranked, part, 1), 1, "stable"), 1)
        return np.argsort(-ranked, axis=1, kind="stable")[:, :limit]

    def sets_of(
        self, scores: Floats, coverage: float, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Label, ...]]:
        """The sets of `predict_label_set` from the result of `scores`."""
        log_p = self.log_probabilities(scores)
        inside = self.conformal_scores().accepted(log_p, coverage, by_class=by_class)
        if at_least_one:
            inside[np.arange(len(inside)), self.first_labels(scores)] = True
        order = np.argsort(-log_p, axis=1, kind="stable")
        return [tuple(self.classes[c] for c in row if chosen[c]) for row, chosen in zip(order, inside, strict=True)]

    def conformal_scores(self) -> ConformalScores:
        """The scores of held-out documents, or an error that says how to get them."""
        if self.conformal is None:
            raise UnnaiveError(
                f"this {self.spec.model.traits.title} has no scores of held-out documents, which sets of labels need; "
                f"{advise_holding_out(self)}"
            )
        return self.conformal

    def out_of_scope_scores(self, scores: Floats) -> Floats:
        """`novelty` from the result of `scores`."""
        return self._novelty_ladder().share_below(self.novelty_of(scores), MOST)

    def novelty_of(self, scores: Floats) -> Floats:
        """The nonnegative score that novelty is ranked by, from the result of `scores`.

        An error if the model has none.
        """
        novelty = novelty_scores(self, scores)
        if novelty is None:
            raise explain_absence(self)
        return novelty

    def out_of_scope_rows(self, scores: Floats, rate: float) -> NDArray[np.bool_]:
        """Which documents are out of scope (n_docs,), at this rate of false alarms on held-out documents."""
        check_out_of_scope_rate(rate)
        return np.asarray(self.novelty_of(scores) > self._novelty_ladder().threshold(1 - rate, MOST))

    def check_tells_out_of_scope(self, rate: float) -> None:
        """Raise an error, before any document is read, if `out_of_scope_rows` is not possible with this rate."""
        check_out_of_scope_rate(rate)
        self._novelty_ladder()

    def _novelty_ladder(self) -> Ladder:
        """Novelty of held-out documents, or an error that says why there is none."""
        if self.conformal is None or self.conformal.novelty is None:
            raise explain_absence(self)
        return self.conformal.novelty

    def _labels(self, chunks: Iterator[Floats]) -> Any:
        """The decision on scores (n_docs, n_classes), in the type of the training labels."""
        if self._gives_sets:
            parts = (label_sets(self.decide(scores), self.classes, scores) for scores in chunks)
            return [names for part in parts for names in part]
        rows = [self.decide(scores) for scores in chunks]
        return self._shaped(csr_array(vstack(rows)) if rows else csr_array((0, len(self.classes)), dtype=np.int64))

    @property
    def _gives_sets(self) -> bool:
        """Whether predictions are a tuple of labels for each document."""
        return self.target_type == "sets" or not (self.multilabel or self.decision.exclusive)

    def _shaped(self, Y: Sparse, sets: Callable[[], list[tuple[Label, ...]]] | None = None) -> Any:
        """Labels Y (n_docs, n_classes) in the type of the training labels; `sets` builds label sets."""
        if sets is not None and self._gives_sets:
            return sets()
        if not self.multilabel:
            return self.class_array[Y.indices]
        return Y.toarray() if self.target_type == "indicator" else Y

    def class_index(self, label: Label) -> int:
        """The index of a class, or an error that lists the classes."""
        return int(class_codes([label], self.classes)[0])


def largest_columns(values: NDArray[np.floating], k: int) -> Ids:
    """The columns of the k largest values of each row (n_rows, k), ascending; ties go to the first columns.

    np.argpartition would take any of the tied columns, and others on a processor with wider registers.

    >>> largest_columns(np.array([[0.1, 0.5, 0.2, 0.2], [0.3, 0.3, 0.3, 0.3]]), 2)
    array([[1, 2],
           [0, 1]])
    """
    cut = -np.partition(-values, k - 1, axis=1)[:, k - 1 : k]
    above, tied = values > cut, values == cut
    room = k - above.sum(axis=1, keepdims=True)
    return np.nonzero(above | (tied & (tied.cumsum(axis=1) <= room)))[1].reshape(-1, k)
