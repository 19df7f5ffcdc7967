"""From a model and documents, or counts, to a FittedModel: the one way in which anything is trained."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.calibration import fit_temperature
from unnaive.core.counts import Counts
from unnaive.core.learner import TrainingSpec
from unnaive.core.named_counts import NamedCounts
from unnaive.core.sample_weights import class_sample_weight
from unnaive.core.scorer import Scorer
from unnaive.core.selection import check_select, select_terms
from unnaive.core.targets import Targets
from unnaive.decisions import TUNINGS, Decision, default_decision, out_of_fold
from unnaive.errors import UnnaiveError, UnnaiveWarning, choose
from unnaive.fitted import FittedModel
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Floats, Ids, Progress, Sparse

TUNED_FROM = 50  # documents: with fewer, held-out scores say too little to tune thresholds by
N_FOLDS = 5
DECISIONS = ("argmax", "untuned", *TUNINGS)


def check_spec(spec: TrainingSpec) -> None:
    """An error of one sentence if anything about the model or its training cannot be."""
    spec.model.check_settings()
    check_select(spec.select)
    if isinstance(spec.decision, str):
        choose(list(DECISIONS), spec.decision, "decision")
    elif spec.decision is not None and not hasattr(spec.decision, "decide"):
        raise UnnaiveError(f"decision is {spec.decision!r}; give argmax, untuned, scut, rcut, pcut or a Decision")


def train(
    spec: TrainingSpec,
    X: Sparse,
    targets: Targets,
    *,
    vocabulary: Vocabulary | None = None,
    sample_weight: Floats | None = None,
    progress: Progress | None = None,
    tune: bool = False,
    **reading: Any,
) -> FittedModel:
    """Learn from documents X (n_docs, n_terms) and their labels.

    With `tune`, a multilabel decision that is not named is scut from 50 documents up; without, it is the untuned one.
    `vocabulary` names the columns of X where they come from texts; `reading` are the fields of FittedModel that say
    how documents are read: token_rule, feature_names, columns, n_jobs.

    >>> from scipy.sparse import csr_array
    >>> from unnaive.core.targets import read_targets
    >>> from unnaive.models.naive_bayes import MultinomialNB
    >>> fitted = train(TrainingSpec(MultinomialNB()), csr_array([[2, 0], [0, 1]]), read_targets(["ham", "spam"], 2))
    >>> fitted.predict(csr_array([[1, 0]]))
    array(['ham'], dtype='<U4')
    """
    check_spec(spec)
    weight = class_sample_weight(spec.class_weight, targets, sample_weight)
    named = NamedCounts.of(X, targets, vocabulary, weight)
    scorer, active = make_scorer(spec, named, X, targets, weight, progress)
    fitted = _fitted(spec, named, targets.target_type, scorer, active, **reading)
    tuning = _find_tuning(spec, targets, tune)
    if spec.calibrate or tuning is not None:
        if scorer.held_out is not None:  # the learner held documents out itself
            rows, scores = scorer.held_out
            return _tuned(fitted, scores, Targets(targets.classes, targets.Y[rows], targets.target_type), tuning)
        scores = out_of_fold_scores(spec, X, targets, weight, terms=vocabulary, progress=progress)
        return _tuned(fitted, scores, targets, tuning)
    return fitted


def _find_tuning(spec: TrainingSpec, targets: Targets, tune: bool) -> str | None:
    """The name of the tuning that the decision asks for; None for none."""
    if isinstance(spec.decision, str):
        return spec.decision if spec.decision in TUNINGS else None
    by_default = spec.decision is None and tune and targets.multilabel and targets.Y.shape[0] >= TUNED_FROM
    return "scut" if by_default else None


def train_from_counts(
    spec: TrainingSpec,
    named: NamedCounts,
    target_type: str,
    *,
    before: FittedModel | None = None,
    **reading: Any,
) -> FittedModel:
    """Learn from sums over documents; a decision and a calibration that `before` had tuned are kept where they fit.

    Terms are put in order first. So whatever was learnt, forgotten and merged in whatever order, of the same documents
    comes the same model, bit for bit; `train` leaves them in the order of first occurrence, which costs nothing.
    """
    check_spec(spec)
    named = named.in_order()
    scorer, active = make_scorer(spec, named, None, None, None, None, exclusive=target_type == "single")
    made = _fitted(spec, named, target_type, scorer, active, **reading)
    if before is None:
        return made
    decision = _kept_decision(spec, before, made) or made.decision
    calibration = before.calibration if spec.calibrate else None
    return replace(made, decision=decision, calibration=calibration)


def make_scorer(
    spec: TrainingSpec,
    named: NamedCounts,
    X: Sparse | None,
    targets: Targets | None,
    sample_weight: Floats | None,
    progress: Progress | None,
    *,
    exclusive: bool | None = None,
) -> tuple[Scorer, Ids | None]:
    """The scorer, and the columns of the terms that it uses: None for all of them."""
    single = exclusive if targets is None else not targets.multilabel
    model, counts = spec.model, named.counts
    if named.vocabulary is None and spec.select is None and spec.min_df == 1:
        active = None  # columns that were handed in are all used
    else:
        chosen = select_terms(counts, named.vocabulary, min_df=spec.min_df, select=spec.select)
        active = None if len(chosen) == counts.n_terms else chosen
    if model.statistic == "counts":
        return model.rule(counts if active is None else counts.take_terms(active), exclusive=bool(single)), active
    if X is None or targets is None:
        raise UnnaiveError(f"{model.title} learns from all documents at once; train it with all of them instead")
    if sample_weight is not None and not model.takes_sample_weight:
        raise UnnaiveError(f"{model.title} takes no sample_weight; fit without it")
    documents = X if active is None else X[:, active]
    more: dict[str, Any] = {}
    if model.takes_terms and named.vocabulary is not None:
        more["terms"] = (named.vocabulary if active is None else named.vocabulary.take(active)).terms
    scorer = model.learn(
        documents, targets.Y, exclusive=bool(single), sample_weight=sample_weight, progress=progress, **more
    )  # fmt: skip
    used = scorer.used_terms() if named.vocabulary is not None else None
    if used is None:
        return scorer, active
    return scorer.take_terms(used), used if active is None else active[used]


def _fitted(
    spec: TrainingSpec,
    named: NamedCounts,
    target_type: str,
    scorer: Scorer,
    active: Ids | None,
    **reading: Any,
) -> FittedModel:
    vocabulary = named.vocabulary
    if vocabulary is not None and active is not None:
        vocabulary = vocabulary.take(active)
    return FittedModel(
        spec=spec,
        classes=named.classes,
        target_type=target_type,
        scorer=scorer,
        decision=_untuned_decision(spec, target_type, scorer),
        vocabulary=vocabulary,
        counts=named if spec.model.statistic == "counts" else None,
        **reading,
    )


def _untuned_decision(spec: TrainingSpec, target_type: str, scorer: Scorer) -> Decision:
    """The decision that needs no held-out scores."""
    if spec.decision is not None and not isinstance(spec.decision, str):
        given: Decision = spec.decision
        return given
    return default_decision("single" if spec.decision == "argmax" else target_type, scorer.link, scorer.n_classes)


def _tuned(fitted: FittedModel, scores: Floats, targets: Targets, tuning: str | None) -> FittedModel:
    """With the decision and the calibration that held-out scores ask for."""
    spec, link = fitted.spec, fitted.scorer.link
    if spec.calibrate:
        temperature = fit_temperature(link, scores, targets.Y, exclusive=not targets.multilabel)
        fitted = replace(fitted, calibration=temperature)
    if tuning is not None:
        fitted = replace(fitted, decision=TUNINGS[tuning](scores, targets.Y, link))
    return fitted


def out_of_fold_scores(
    spec: TrainingSpec,
    X: Sparse,
    targets: Targets,
    weight: Floats | None = None,
    *,
    terms: Vocabulary | None = None,
    n_folds: int = N_FOLDS,
    progress: Progress | None = None,
) -> Floats:
    """Scores (n_docs, n_classes) of every document by a model that has not seen it.

    Models that learn from counts take the fold off the total: no document is counted twice.
    """
    total = Counts.of(X, targets.Y, weight)
    fold = itertools.count()

    def score(train: NDArray[np.int64], held_out: NDArray[np.int64]) -> Floats:
        if progress is not None:
            progress("tuning", {"fold": next(fold), "folds": n_folds})
        aside = Counts.of(X[held_out], targets.Y[held_out], None if weight is None else weight[held_out])
        part = Targets(targets.classes, targets.Y[train], targets.target_type)
        inside = None if weight is None else weight[train]
        rest = NamedCounts(targets.classes, terms, total - aside)
        scorer, active = make_scorer(spec, rest, X[train], part, inside, None)
        return scorer.scores(X[held_out] if active is None else X[held_out][:, active])

    return out_of_fold(score, targets.Y, n_folds=n_folds, seed=spec.random_state)


def _kept_decision(spec: TrainingSpec, before: FittedModel, made: FittedModel) -> Decision | None:
    """A tuned decision outlives an update, as long as the classes are the same."""
    if not was_tuned(spec, before):
        return None
    if before.classes == made.classes:
        return before.decision
    warnings.warn(
        f"the classes have changed, so the decision tuned by {spec.decision or 'scut'} is gone; fit anew to tune it "
        "again",
        UnnaiveWarning,
        stacklevel=4,
    )
    return None


def was_tuned(spec: TrainingSpec, before: FittedModel) -> bool:
    """Whether held-out scores made the decision: by name, or by default for multilabel targets."""
    if spec.decision is not None:
        return spec.decision in tuple(TUNINGS)
    return before.decision != default_decision(before.target_type, before.scorer.link, before.scorer.n_classes)
