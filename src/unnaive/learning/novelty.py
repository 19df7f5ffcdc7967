"""Novelty: how unlike all classes a document is, compared with held-out documents of the classes.

Probabilities normalised over the classes cannot say that no class fits. Scores of each class against the rest can: the
sum of their odds is large if any class fits. It is compared with the odds of a typical class, their geometric mean: the
more documents a model has learnt from, the lower all its scores are, and new documents, which are scored by the model
of all documents, would look more novel than held-out ones. (With three unbalanced groups of 20 Newsgroups and 500
training documents, 10 % of new documents were rejected in place of 5 %.) If scores only distinguish between classes,
as those of naive Bayes do, the largest probability is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from unnaive.base.elementary import exp, logaddexp, logsumexp
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.types import Floats
from unnaive.data.arrays import is_number

if TYPE_CHECKING:
    from unnaive.learning.score_methods import ScoreMethods

UNDECIDED = "undecided"  # the label of out-of-scope documents
FEWEST_CLASSES = 3  # with two classes, evidence against one is evidence for the other, and all these scores rank alike


def no_class_score(fitted: ScoreMethods, scores: Floats) -> Floats:
    """−log p (n_docs,), where p/(1−p) is the sum of the odds of all classes over the geometric mean of these odds.

    log(1 + 1/Σ_c e^(s_c − s̄)) decreases with the log-sum-exp of the scores s_c, the log-odds of each class against the
    rest, less their mean s̄. Classes that the model has not learnt have the score −∞ and do not count.
    """
    known = np.isfinite(scores)
    mean = np.where(known, scores, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return np.asarray(logaddexp(0.0, mean - logsumexp(scores, axis=1)))


def least_probable_score(fitted: ScoreMethods, scores: Floats) -> Floats:
    """−log of the largest probability (n_docs,)."""
    return np.asarray(np.maximum(-fitted.log_probabilities(scores).max(axis=1), 0.0))


def entropy_score(fitted: ScoreMethods, scores: Floats) -> Floats:
    """The entropy of the probabilities (n_docs,)."""
    log_p = fitted.log_probabilities(scores)
    return np.asarray(-(exp(log_p) * np.where(np.isfinite(log_p), log_p, 0.0)).sum(axis=1))


def largest_score(fitted: ScoreMethods, scores: Floats) -> Floats:
    """log(1 + e^−s) of the largest score s (n_docs,): −log p of the best class against the rest."""
    return np.asarray(logaddexp(0.0, -scores.max(axis=1)))


NOVELTY_SCORES: dict[str, Callable[[ScoreMethods, Floats], Floats]] = {
    "no class": no_class_score,
    "largest probability": least_probable_score,
    "entropy": entropy_score,
    "largest score": largest_score,
}


def novelty_scores(fitted: ScoreMethods, scores: Floats) -> Floats | None:
    """How unlike all classes documents with these scores (n_docs, n_classes) are, at least 0; None if unknown.

    It cannot be said for multilabel data, where a document may have no label, and for two classes.
    """
    if fitted.multilabel or len(fitted.classes) < FEWEST_CLASSES or not fitted.probabilistic:
        return None
    against_the_rest = fitted.scorer.link in ("one-of-all", "log-odds")
    return no_class_score(fitted, scores) if against_the_rest else least_probable_score(fitted, scores)


def check_out_of_scope_rate(rate: float) -> None:
    """Raise BadData unless the rate is between 0 and 1."""
    if not is_number(rate) or not 0 < rate < 1:
        raise BadData(
            f"the unknown rate is {rate}; give the share of texts of known classes that may be rejected, such as 0.05"
        )


def advise_holding_out(fitted: ScoreMethods) -> str:
    """How to train the model so that it has scores of held-out documents.

    A model that selects by held-out documents has none if no class had a second document; calibration could then hold
    out none either. `auto` with thousands of classes is a label tree, which does not hold any out by itself.
    """
    if not fitted.spec.model.traits.keeps_choice:
        return "train it with calibrate='temperature' (--calibrate temperature)"
    if fitted.scorer.kind == "label-tree":
        return (
            "train it with model='label-tree' and calibrate='temperature' (--model label-tree --calibrate temperature)"
        )
    return "train it with more documents, of which it can hold some out"


def explain_absence(fitted: ScoreMethods) -> UnnaiveError:
    """The error of a model that cannot detect out-of-scope texts, with the reason."""
    if fitted.multilabel:
        reason = "its documents may have no label; a text that gets no label belongs to no class"
    elif len(fitted.classes) < FEWEST_CLASSES:
        reason = (
            "with two classes, a text of neither looks like a text between the two; add a third class for "
            "such texts, or reject by probability (--min-probability)"
        )
    elif fitted.spec.model.traits.imported:
        reason = "its file has only weights, without scores of held-out documents; train a model with `unnaive train`"
    else:
        reason = f"it has no scores of held-out documents; {advise_holding_out(fitted)}"
    return UnnaiveError(f"this {fitted.spec.model.traits.title} cannot detect texts of no class: {reason}")
