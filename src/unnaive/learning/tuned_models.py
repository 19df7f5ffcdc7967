"""What held-out scores give a trained model: its calibration, its decision and its sets with a confidence.

`tune_model` makes them of the scores of documents that the model did not see; `keep_tuning` says which of them outlive
an update, whose documents are not held out anew.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import out_of_fold
from unnaive.data.targets import Targets
from unnaive.learning.calibration import Calibration
from unnaive.learning.conformal import ConformalScores
from unnaive.learning.decisions import Decision, default_decision
from unnaive.learning.fit_calibration import FITS
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import HeldOutScores, TrainingSpec
from unnaive.learning.optimise import least_cost, tune_macro_f1
from unnaive.learning.tuning import TUNINGS

TUNED_FROM = 50  # documents: with fewer, held-out scores say too little to tune thresholds by
N_FOLDS = 5


def find_tuning(spec: TrainingSpec, targets: Targets, tune: bool) -> str | None:
    """The name of the tuning that the decision asks for, None for none; with `tune`, also if it asks for nothing."""
    if spec.optimise == "macro-f1" and targets.multilabel:
        return "scut"  # a threshold for the best F1 of each class
    if isinstance(spec.decision, str):
        return spec.decision if spec.decision in TUNINGS else None
    by_default = spec.decision is None and tune and targets.multilabel and targets.Y.shape[0] >= TUNED_FROM
    return "best" if by_default else None


def tune_model(
    fitted: FittedModel, held_out: HeldOutScores | None, targets: Targets, tuning: str | None
) -> FittedModel:
    """The model with the calibration, the decision and the conformal scores that held-out scores give.

    held_out  rows of `targets` and their scores by models that did not see them; None where none were held out
    tuning    how the decision is tuned, a name of TUNINGS; None for not at all
    """
    spec, link = fitted.spec, fitted.scorer.link
    if held_out is not None and len(held_out.rows):
        scores, Y = held_out.scores, targets.Y[held_out.rows]
        if spec.calibration is not None:
            calibration = FITS[spec.calibration](link, scores, Y, exclusive=not targets.multilabel)
            fitted = replace(fitted, calibration=calibration)
        if fitted.probabilistic:
            log_p = _cross_fitted(fitted, scores, Y)
            conformal = ConformalScores.of(log_p, Y, multilabel=targets.multilabel)
            fitted = replace(fitted, conformal=conformal)
        if tuning is not None:
            fitted = replace(fitted, decision=TUNINGS[tuning](scores, Y, link))
    if spec.optimise in (None, "accuracy") or targets.multilabel:
        return fitted
    if not fitted.probabilistic:
        raise UnnaiveError(
            f"{spec.model.title} gives no probabilities to optimise by; calibrate it with temperature, platt or "
            "isotonic"
        )
    if isinstance(spec.optimise, dict):
        return replace(fitted, decision=least_cost(spec.optimise, fitted.classes))
    if held_out is None or not len(held_out.rows):
        return fitted
    return replace(fitted, decision=tune_macro_f1(np.exp(log_p), Y))


def _cross_fitted(fitted: FittedModel, scores: Floats, Y: Sparse) -> Floats:
    """log p of held-out documents (n_docs, n_classes), each by a calibration that was fitted without it.

    A calibration fits the documents that it was made of a little too well, the isotonic one more than a little: sets
    made of such probabilities would cover less than they promise.
    """
    kind, link = fitted.spec.calibration, fitted.scorer.link
    if kind is None or len(scores) < 2 * N_FOLDS:
        return fitted.log_probabilities(scores)

    def score(train: Ids, aside: Ids) -> Floats:
        calibration = FITS[kind](link, scores[train], Y[train], exclusive=not fitted.multilabel)
        return calibration.log_probabilities(link, scores[aside])

    return out_of_fold(score, Y, n_folds=N_FOLDS, seed=fitted.spec.random_state)


def keep_tuning(before: FittedModel, made: FittedModel) -> FittedModel:
    """The `made` model with the decision, the calibration and the conformal scores of `before` that fit."""
    decision = _kept_decision(made.spec, before, made) or made.decision
    calibration = _kept_calibration(made.spec, before, made)
    conformal = before.conformal if calibration == before.calibration else None
    if conformal is not None:
        conformal = conformal.for_classes(before.classes, made.classes)
    return replace(made, decision=decision, calibration=calibration, conformal=conformal)


def lost_tuning(before: FittedModel, made: FittedModel) -> bool:
    """Whether an update ended what was tuned, because the classes changed: taking it back does not bring that back.

    Models that learn from documents tune on those that they have, and lose nothing.
    """
    if before.spec.model.statistic != "counts" or before.classes == made.classes:
        return False
    ended = (before.calibration is not None and made.calibration is None) or was_tuned(before.spec, before)
    return ended or (before.conformal is not None and made.conformal is None)


def _kept_calibration(spec: TrainingSpec, before: FittedModel, made: FittedModel) -> Calibration | None:
    """A calibration outlives an update, as long as it is of no single classes or the classes are the same."""
    if spec.calibration is None or before.calibration is None:
        return None
    if before.calibration.n_classes is None or before.classes == made.classes:
        return before.calibration
    warnings.warn(
        f"the classes have changed, so the {spec.calibration} calibration of each class is gone; fit anew to calibrate "
        "again",
        UnnaiveWarning,
        stacklevel=4,
    )
    return None


def _kept_decision(spec: TrainingSpec, before: FittedModel, made: FittedModel) -> Decision | None:
    """A tuned decision outlives an update, as long as the classes are the same."""
    if not was_tuned(spec, before):
        return None
    if before.classes == made.classes:
        return before.decision
    warnings.warn(
        f"the classes have changed, so the decision tuned by {_tuning_name(spec)} is gone; fit anew to tune it again",
        UnnaiveWarning,
        stacklevel=4,
    )
    return None


def _tuning_name(spec: TrainingSpec) -> str:
    if spec.optimise in (None, "accuracy"):
        return str(spec.decision or "best")
    return "costs" if isinstance(spec.optimise, dict) else str(spec.optimise)


def was_tuned(spec: TrainingSpec, before: FittedModel) -> bool:
    """Whether held-out scores made the decision: by name, or by default for multilabel targets."""
    if spec.decision is not None and spec.optimise in (None, "accuracy"):
        return spec.decision in tuple(TUNINGS)
    return before.decision != default_decision(before.target_type, before.scorer.link, before.scorer.n_classes)
