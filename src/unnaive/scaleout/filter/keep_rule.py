"""KeepRule: texts → scores, and whether a score is high enough to keep the text."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import expm1, log, log1p, logsumexp
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.types import Floats, Label
from unnaive.evaluation.recall_threshold import RecallThreshold, choose_recall_threshold
from unnaive.learning.fitted import FittedModel
from unnaive.text.buffer import as_texts


@dataclass(frozen=True, eq=False)
class KeepRule:
    """Which texts to keep: those whose score for the classes `keep` is at least `threshold`.

    The score is log p(keep) / p(all others), which does not saturate at 1 as p does. For a model without probabilities
    it is the lead of the best score of `keep` over the best of all others. For a multilabel model, whose classes are
    not exclusive, it is the highest log-odds, or score, of `keep`.

    fitted     the model
    keep       classes to keep
    threshold  the minimum score
    """

    fitted: FittedModel
    keep: tuple[Label, ...]
    threshold: float = np.nan

    def __post_init__(self) -> None:
        if not self.keep:
            raise UnnaiveError("no class to keep was named; name one or more")
        if len(self._columns) == len(self.fitted.classes) and not self.fitted.multilabel:
            raise UnnaiveError(
                "all classes of the model are to be kept, so nothing would be dropped; name some of them"
            )

    @classmethod
    def above(cls, fitted: FittedModel, keep: Sequence[Label], p: float) -> KeepRule:
        """Keep texts with at least the probability p of the classes."""
        if not fitted.probabilistic:
            raise UnnaiveError(
                f"{fitted.spec.model.traits.title} gives no probabilities to compare with {p:g}; train it with "
                "--calibrate temperature, or choose the threshold with --recall"
            )
        if not 0 <= p <= 1:
            raise BadData(f"the probability is {p:g}; give a number from 0 to 1, such as 0.5")
        return cls(fitted, tuple(keep), log_odds(p))

    def with_threshold(self, threshold: float) -> KeepRule:
        """The same rule with another threshold."""
        return replace(self, threshold=threshold)

    def on_one_thread(self) -> KeepRule:
        """The same rule on one thread, for callers that score several blocks in parallel."""
        return replace(self, fitted=replace(self.fitted, n_jobs=1))

    @property
    def _columns(self) -> NDArray[np.int64]:
        return np.array(sorted({self.fitted.class_index(label) for label in self.keep}), np.int64)

    def scores(self, texts: Any) -> Floats:
        """The score of each text (n_docs,)."""
        chunks = [self._score_rows(scores) for scores in self.fitted.reader.score_chunks(texts)]
        return np.concatenate([np.zeros(0), *chunks])

    def keeps(self, scores: Floats) -> NDArray[np.bool_]:
        """Which of the texts with these scores are kept (n_docs,)."""
        return np.asarray(scores >= self.threshold)

    def _score_rows(self, scores: Floats) -> Floats:
        """Scores of every class (n_docs, n_classes) → the score for keeping each text (n_docs,)."""
        columns = self._columns
        if self.fitted.probabilistic:
            log_p = self.fitted.log_probabilities(scores)
            if self.fitted.multilabel:
                return np.asarray(_log_odds_of(log_p[:, columns].max(axis=1)))
            return _lead(log_p, columns, logsumexp)
        if self.fitted.multilabel:
            return np.asarray(scores[:, columns].max(axis=1))
        return _lead(scores, columns, np.maximum.reduce)


def _lead(values: Floats, columns: NDArray[np.int64], join: Any) -> Floats:
    """`join` of the given columns minus `join` of all others (n_docs,); 0 where both are −∞."""
    others = np.setdiff1d(np.arange(values.shape[1]), columns)
    mine, theirs = (
        values[:, part[0]] if len(part) == 1 else join(values[:, part], axis=1) for part in (columns, others)
    )
    with np.errstate(invalid="ignore"):
        lead = mine - theirs
    return np.where(np.isnan(lead), 0.0, lead)


def log_odds(p: float) -> float:
    """log p / (1 − p).

    >>> log_odds(0.5), log_odds(1.0)
    (0.0, inf)
    """
    return float(log(p) - log1p(-p))


def _log_odds_of(log_p: Floats) -> Floats:
    """log p / (1 − p) of log p."""
    return np.asarray(log_p - log(-expm1(np.minimum(log_p, 0.0))))


def choose_keep_rule(
    fitted: FittedModel,
    keep: Label | Sequence[Label],
    *,
    above: float | None = None,
    recall: float | None = None,
    held_out: tuple[Any, Any] | None = None,
    confidence: float = 0.9,
) -> tuple[KeepRule, RecallThreshold | None]:
    """The rule, and how its threshold was chosen; None if `above` is given.

    above       the lowest probability that is kept; instead of it, the following three
    recall      the minimum share of the texts of these classes to keep
    held_out    texts, and their labels or label sets, that the model was not trained on; they set the threshold
    confidence  the probability that new texts reach the recall
    """
    classes = (keep,) if isinstance(keep, (str, int, float, bool, np.generic)) else tuple(dict.fromkeys(keep))
    if (above is None) == (recall is None):
        problem = "no threshold was given" if above is None else "above and recall were both given"
        raise UnnaiveError(f"{problem}; give either above=0.5, or recall=0.9 with held_out=(texts, labels)")
    if above is not None:
        return KeepRule.above(fitted, classes, above), None
    if recall is None or held_out is None:
        raise UnnaiveError("recall needs labelled texts that the model has not learnt; give held_out=(texts, labels)")
    texts, labels = as_texts(held_out[0]), held_out[1]
    wanted = set(classes)
    good = np.array(
        [not wanted.isdisjoint(names if isinstance(names, (list, tuple, set)) else [names]) for names in labels],
        np.bool_,
    )
    rule = KeepRule(fitted, classes)
    choice = choose_recall_threshold(rule.scores(texts), good, recall, confidence=confidence)
    return rule.with_threshold(choice.threshold), replace(choice, learnt=count_learnt(fitted, texts))


def count_learnt(fitted: FittedModel, texts: Any) -> int:
    """The number of held-out texts that the model was trained on, if it records them; a warning if there are any."""
    n = 0 if fitted.text_hashes is None else fitted.text_hashes.count_learnt(texts)
    if n:
        warnings.warn(
            f"{n:,} of {count_noun(len(texts), 'held-out text')} {'is' if n == 1 else 'are'} in the training data of "
            "the model, so the recall of new texts is lower, and none is guaranteed; give texts that the model has "
            "not learnt",
            UnnaiveWarning,
            stacklevel=3,
        )
    return n
