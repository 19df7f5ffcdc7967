"""What held-out scores give a trained model: its calibration, its decision and its sets with a confidence.

`tune_model` makes them of the scores of documents that the model did not see, after an update as at first. A model that
keeps sums alone has no documents to hold out: whatever changes it ends what was tuned, and `warn_about_loss` says so.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import out_of_fold
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import Targets
from unnaive.learning.conformal import ConformalScores
from unnaive.learning.decisions import default_decision
from unnaive.learning.fit_calibration import FITS
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import HeldOutScores, TrainingSpec
from unnaive.learning.novelty import novelty_scores
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


def keeps_documents(spec: TrainingSpec, *, multilabel: bool, texts: bool) -> bool:
    """Whether a model keeps its documents: it learns from them, or something is tuned on held-out ones.

    texts  whether it reads texts: only then are thresholds of multilabel targets tuned by default
    """
    if spec.model.statistic == "documents" or not spec.documents_limit:
        return spec.model.statistic == "documents"
    by_default = spec.decision is None and multilabel and texts
    by_name = isinstance(spec.decision, str) and spec.decision in TUNINGS
    return by_default or by_name or spec.calibration is not None or spec.optimise == "macro-f1"


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
            novelty = novelty_scores(fitted, scores)
            conformal = ConformalScores.of(log_p, Y, multilabel=targets.multilabel, novelty=novelty)
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


def tune_choice(
    fitted: FittedModel, held_out: HeldOutScores | None, targets: Targets, tuning: str | None
) -> FittedModel:
    """What `tune_model` gives of a model whose choice was made for other documents or other weights.

    Members were scaled to probabilities while they were chosen, which is no longer true of them: unless a calibration
    was asked for, or refused, a temperature is fitted.
    """
    spec = fitted.spec
    if held_out is None or spec.calibrate is not None or spec.calibration is not None or not fitted.probabilistic:
        return tune_model(fitted, held_out, targets, tuning)
    asked = replace(fitted, spec=replace(spec, calibrate="temperature"))
    return replace(tune_model(asked, held_out, targets, tuning), spec=spec)


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


def with_tuning_of(before: FittedModel, made: FittedModel) -> FittedModel:
    """The `made` model with the decision, the calibration and the conformal scores of `before`.

    Only for models of the same documents and settings, of which these are still true.
    """
    decision = before.decision if was_tuned(made.spec, before) else made.decision
    return replace(made, decision=decision, calibration=before.calibration, conformal=before.conformal)


def lost_tuning(before: FittedModel, made: FittedModel) -> bool:
    """Whether a change ended what was tuned, or tuned it in another way: taking it back does not bring that back.

    Models that keep documents tune on those that they have, and lose nothing; only a multilabel model that kept its
    choice has thresholds from other held-out scores than those of the search.
    """
    if isinstance(before.statistic, NamedCounts):
        return bool(_lost_parts(before, made))
    return made.choice_kept and not before.choice_kept and made.multilabel


def warn_about_loss(before: FittedModel, made: FittedModel, reason: str = "the documents have changed") -> None:
    """A warning that names what was tuned on held-out documents, is no longer true for this reason, and is gone."""
    lost = _lost_parts(before, made)
    if lost:
        parts = f"{', '.join(lost[:-1])} and the {lost[-1]}" if len(lost) > 1 else lost[0]
        warnings.warn(
            f"the {parts} {'are' if len(lost) > 1 else 'is'} gone, since {reason} and the model "
            "keeps no documents that could be held out; train it anew to tune again",
            UnnaiveWarning,
            stacklevel=5,
        )


def _lost_parts(before: FittedModel, made: FittedModel) -> list[str]:
    """What `before` has of held-out documents and `made` has not, in words."""
    lost = ["calibration"] if before.calibration is not None and made.calibration is None else []
    if was_tuned(before.spec, before) and made.decision != before.decision:
        lost.append("tuned decision")
    return lost + (["held-out scores"] if before.conformal is not None and made.conformal is None else [])


def was_tuned(spec: TrainingSpec, before: FittedModel) -> bool:
    """Whether held-out scores made the decision: by name, or by default for multilabel targets."""
    if spec.decision is not None and spec.optimise in (None, "accuracy"):
        return spec.decision in tuple(TUNINGS)
    return before.decision != default_decision(before.target_type, before.scorer.link, before.scorer.n_classes)
