"""Tuning on held-out scores: calibration, decision and conformal sets.

`tune_model` computes them from the scores of documents that the model was not trained on, at first and after updates.
A model that keeps only sums has no documents to hold out: any change drops what was tuned, and `warn_about_loss` says
so.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from unnaive.base.elementary import exp
from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import out_of_fold
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import Targets
from unnaive.learning.conformal import ConformalScores, unseen_share
from unnaive.learning.decisions import default_decision
from unnaive.learning.fit_calibration import FITS
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.learnt import HeldOutScores
from unnaive.learning.novelty import novelty_scores
from unnaive.learning.optimise import least_cost, tune_macro_f1
from unnaive.learning.tuning import TUNINGS

TUNED_FROM = 50  # documents; fewer held-out scores are not enough to tune thresholds
N_FOLDS = 5


def find_tuning(spec: TrainingSpec, targets: Targets, tune: bool) -> str | None:
    """The name of the tuning for the decision, None for none; with `tune`, also if no decision was set."""
    if spec.optimise == "macro-f1" and targets.multilabel:
        return "scut"  # the threshold with the best F1 of each class
    if isinstance(spec.decision, str):
        return spec.decision if spec.decision in TUNINGS else None
    by_default = spec.decision is None and tune and targets.multilabel and targets.Y.shape[0] >= TUNED_FROM
    return "best" if by_default else None


def keeps_documents(spec: TrainingSpec, *, multilabel: bool, texts: bool) -> bool:
    """Whether a model keeps its documents: it learns from them, or is tuned on held-out ones.

    texts  whether it reads texts: only then are multilabel thresholds tuned by default
    """
    if spec.model.traits.statistic == "documents" or not spec.documents_limit:
        return spec.model.traits.statistic == "documents"
    return is_tuned(spec, multilabel=multilabel, texts=texts)


def is_tuned(spec: TrainingSpec, *, multilabel: bool, texts: bool) -> bool:
    """Whether something is tuned on held-out documents: calibration, a decision, or thresholds by default."""
    by_default = spec.decision is None and multilabel and texts
    by_name = isinstance(spec.decision, str) and spec.decision in TUNINGS
    return by_default or by_name or spec.calibration is not None or spec.optimise == "macro-f1"


def sums_suffice(spec: TrainingSpec) -> bool:
    """Whether nothing is learnt from documents with one label each but their sums."""
    alone = spec.optimise in (None, "accuracy") and spec.word_vectors is None
    return alone and spec.model.traits.statistic == "counts" and not is_tuned(spec, multilabel=False, texts=True)


def tune_model(
    fitted: FittedModel, held_out: HeldOutScores | None, targets: Targets, tuning: str | None
) -> FittedModel:
    """The model with calibration, decision and conformal scores from held-out scores.

    held_out  rows of `targets` and their scores by models that did not see them; None if no documents were held out
    tuning    how the decision is tuned, a name of TUNINGS; None for none
    """
    spec, link = fitted.spec, fitted.scorer.link
    if held_out is not None and len(held_out.rows):
        scores, Y = held_out.scores, targets.Y[held_out.rows]
        if spec.calibration is not None:
            calibration = FITS[spec.calibration](
                link, scores, Y, exclusive=not targets.multilabel, weight=held_out.weight
            )
            fitted = replace(fitted, calibration=calibration)
        if fitted.probabilistic:
            log_p = _cross_fitted(fitted, scores, Y, held_out.weight)
            fitted = replace(fitted, conformal=_conformal_scores(fitted, held_out, log_p, targets))
        if tuning is not None:
            fitted = replace(fitted, decision=TUNINGS[tuning](scores, Y, link, held_out.weight))
    if spec.optimise in (None, "accuracy") or targets.multilabel:
        return fitted
    if not fitted.probabilistic:
        raise UnnaiveError(
            f"{spec.model.traits.title} gives no probabilities, which optimise needs; calibrate it with "
            "temperature, platt or isotonic"
        )
    if isinstance(spec.optimise, dict):
        return replace(fitted, decision=least_cost(spec.optimise, fitted.classes))
    if held_out is None or not len(held_out.rows):
        return fitted
    return replace(fitted, decision=tune_macro_f1(exp(log_p), Y, held_out.weight))


def _conformal_scores(
    fitted: FittedModel, held_out: HeldOutScores, log_p: Floats, targets: Targets
) -> ConformalScores | None:
    """From the held-out documents of known classes: one that is alone in its class was of an unknown class.

    None if all are alone.
    """
    scores, Y, weight = held_out.scores, targets.Y[held_out.rows], held_out.weight
    unseen = 0.0 if targets.multilabel else unseen_share(targets.Y, weight, held_out.rows)
    if unseen:
        alone = np.diff(csc_array(targets.Y).indptr) == 1
        known = np.asarray(csr_array(Y) @ ~alone) > 0
        if not known.any():
            return None
        scores, log_p, Y = scores[known], log_p[known], Y[known]
        weight = None if weight is None else weight[known]
    return ConformalScores.of(
        log_p, Y, multilabel=targets.multilabel, novelty=novelty_scores(fitted, scores), weight=weight, unseen=unseen,
        predicted=scores.argmax(axis=1),
    )  # fmt: skip


def tune_choice(
    fitted: FittedModel, held_out: HeldOutScores | None, targets: Targets, tuning: str | None
) -> FittedModel:
    """`tune_model` for a model whose selection was made on other documents or weights.

    Members were scaled to probabilities during the selection, which no longer fits: a temperature is fitted unless a
    calibration was requested or refused.
    """
    spec = fitted.spec
    if held_out is None or spec.calibrate is not None or spec.calibration is not None or not fitted.probabilistic:
        return tune_model(fitted, held_out, targets, tuning)
    with_temperature = replace(fitted, spec=replace(spec, calibrate="temperature"))
    return replace(tune_model(with_temperature, held_out, targets, tuning), spec=spec)


def _cross_fitted(fitted: FittedModel, scores: Floats, Y: Sparse, weight: Floats | None) -> Floats:
    """log p of held-out documents (n_docs, n_classes), each by a calibration fitted without it.

    A calibration overfits the documents it was fitted on, isotonic regression most of all: sets from such probabilities
    would cover less than they guarantee.
    """
    kind, link = fitted.spec.calibration, fitted.scorer.link
    if kind is None or len(scores) < 2 * N_FOLDS:
        return fitted.log_probabilities(scores)

    def score(train: Ids, aside: Ids) -> Floats:
        weights = None if weight is None else weight[train]
        calibration = FITS[kind](link, scores[train], Y[train], exclusive=not fitted.multilabel, weight=weights)
        return calibration.log_probabilities(link, scores[aside])

    return out_of_fold(score, Y, n_folds=N_FOLDS, seed=fitted.spec.random_state)


def with_tuning_of(before: FittedModel, after: FittedModel) -> FittedModel:
    """The new model with the decision, calibration and conformal scores of `before`.

    Only valid for models of the same documents and settings.
    """
    decision = before.decision if was_tuned(after.spec, before) else after.decision
    return replace(after, decision=decision, calibration=before.calibration, conformal=before.conformal)


def lost_tuning(before: FittedModel, after: FittedModel) -> bool:
    """Whether a change dropped what was tuned, or tuned it differently, so that undoing it does not restore it.

    Models that keep documents are tuned again and lose nothing; only a multilabel model that kept its selection has
    thresholds from other held-out scores than those of the search.
    """
    if isinstance(before.statistic, NamedCounts):
        return bool(_lost_parts(before, after))
    return after.choice_kept and not before.choice_kept and after.multilabel


def warn_about_loss(before: FittedModel, after: FittedModel, reason: str = "the documents have changed") -> None:
    """Warn that something tuned on held-out documents is no longer valid, and was dropped."""
    lost = _lost_parts(before, after)
    if lost:
        parts = f"{', '.join(lost[:-1])} and the {lost[-1]}" if len(lost) > 1 else lost[0]
        warnings.warn(
            f"the {parts} {'are' if len(lost) > 1 else 'is'} lost, because {reason} and the model keeps no "
            "documents to tune on; train the model again to tune it",
            UnnaiveWarning,
            stacklevel=5,
        )


def _lost_parts(before: FittedModel, after: FittedModel) -> list[str]:
    """The tuned parts that `before` has and `after` has not, in words."""
    lost = ["calibration"] if before.calibration is not None and after.calibration is None else []
    if was_tuned(before.spec, before) and after.decision != before.decision:
        lost.append("tuned decision")
    return lost + (["held-out scores"] if before.conformal is not None and after.conformal is None else [])


def was_tuned(spec: TrainingSpec, before: FittedModel) -> bool:
    """Whether the decision was tuned on held-out scores: by name, or by default for multilabel targets."""
    if spec.decision is not None and spec.optimise in (None, "accuracy"):
        return spec.decision in tuple(TUNINGS)
    return before.decision != default_decision(before.target_type, before.scorer.link, before.scorer.n_classes)
