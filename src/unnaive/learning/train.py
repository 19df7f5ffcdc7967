"""From a model and documents, or counts, to a FittedModel: the one way in which anything is trained."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError, UnnaiveWarning, choose, count_noun
from unnaive.base.types import Floats, Ids, Progress, Sparse
from unnaive.data.counts import Counts
from unnaive.data.folds import block_folds, out_of_fold, rarest_classes
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.sample_weights import class_sample_weight
from unnaive.data.shared_passages import find_shared_passages
from unnaive.data.targets import Targets, refuse_no_class
from unnaive.learning.decisions import Decision, default_decision
from unnaive.learning.fit_calibration import FITS
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import HeldOut, TrainingSpec
from unnaive.learning.optimise import least_cost, read_optimise
from unnaive.learning.tuned_models import N_FOLDS, find_tuning, keep_tuning, tune_model
from unnaive.learning.tuning import TUNINGS
from unnaive.linear.scorer import Scorer
from unnaive.linear.selection import check_select, select_terms
from unnaive.text.backend import thread_count
from unnaive.text.gram_units import GramUnits
from unnaive.text.tokens import GRAM
from unnaive.text.vocabulary import Vocabulary

FEWEST_TEXTS = 20  # with fewer, nothing is said of terms that no two of them share
DECISIONS = ("argmax", "untuned", *TUNINGS)


def check_spec(spec: TrainingSpec) -> None:
    """An error of one sentence if anything about the model or its training cannot be."""
    spec.model.check_settings()
    limit = spec.documents_limit
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise UnnaiveError(f"documents_limit is {limit!r}; give a number of bytes from 0 on, 0 for no documents")
    check_select(spec.select)
    if isinstance(spec.decision, str):
        choose(list(DECISIONS), spec.decision, "decision")
    elif spec.decision is not None and not hasattr(spec.decision, "decide"):
        raise UnnaiveError(f"decision is {spec.decision!r}; give {', '.join(DECISIONS)} or a Decision")
    if spec.calibration is not None:
        choose([*FITS, "none"], spec.calibration, "calibration")
    if read_optimise(spec.optimise) not in (None, "accuracy") and spec.decision not in (None, "argmax"):
        raise UnnaiveError("both a decision and what to optimise by it were given; leave one of the two out")


def _check_costs(spec: TrainingSpec, targets: Targets) -> None:
    """An error before anything is learnt if the costs do not fit the labels."""
    if not isinstance(spec.optimise, dict):
        return
    if targets.multilabel:
        raise UnnaiveError("costs are for documents with one label each; these are multilabel, so optimise macro-f1")
    least_cost(spec.optimise, targets.classes)


def train(
    spec: TrainingSpec,
    X: Sparse,
    targets: Targets,
    *,
    vocabulary: Vocabulary | None = None,
    sample_weight: Floats | None = None,
    progress: Progress | None = None,
    tune: bool = False,
    units: GramUnits | None = None,
    **reading: Any,
) -> FittedModel:
    """Learn from documents X (n_docs, n_terms) and their labels.

    Models that learn from documents keep them, and read them in an order of their own; see `train_from_documents`.
    With `tune`, a multilabel decision that is not named is "best" from 50 documents up; without, it is the untuned one.
    `vocabulary` names the columns of X where they come from texts, `units` are what character n-grams among them were
    cut from, where that is known; `reading` are the fields of FittedModel that say
    how documents are read: token_rule, feature_names, columns, n_jobs.

    >>> from scipy.sparse import csr_array
    >>> from unnaive.data.targets import read_targets
    >>> from unnaive.models.naive_bayes import MultinomialNB
    >>> fitted = train(TrainingSpec(MultinomialNB()), csr_array([[2, 0], [0, 1]]), read_targets(["ham", "spam"], 2))
    >>> fitted.predict(csr_array([[1, 0]]))
    array(['ham'], dtype='<U4')
    """
    check_spec(spec)
    _check_costs(spec, targets)
    if spec.model.statistic == "documents":
        documents = KeptDocuments.of(X, targets, vocabulary, sample_weight, units)
        return train_from_documents(spec, documents, targets.target_type, progress=progress, tune=tune, **reading)
    weight = class_sample_weight(spec.class_weight, targets, sample_weight)
    named = NamedCounts.of(X, targets, vocabulary, weight, threads=thread_count(reading.get("n_jobs")))
    named = named.in_order()  # X keeps its columns, which only the folds of tuning still need
    return _learn(spec, named, X, targets, weight, progress, tune, None, {"counts": named, **reading})


def train_from_documents(
    spec: TrainingSpec,
    documents: KeptDocuments,
    target_type: str,
    *,
    before: FittedModel | None = None,
    progress: Progress | None = None,
    tune: bool = False,
    **reading: Any,
) -> FittedModel:
    """Learn from kept documents, whose order depends on nothing but what is in them: so does all that is learnt.

    A decision and a calibration are tuned on these documents, as at first. Only a model that chose (`keeps_choice`)
    holds to the choice of `before`: what it chose is trained on these documents without choosing again, and a decision
    and a calibration that were tuned with it are kept where they fit.
    """
    check_spec(spec)
    targets = documents.targets(target_type)
    _check_costs(spec, targets)
    weight = class_sample_weight(spec.class_weight, targets, documents.weight)
    documents.joined(thread_count(reading.get("n_jobs")))
    named = documents.counts(target_type, weight, threads=thread_count(reading.get("n_jobs")))
    kept = {"documents": documents if spec.documents_limit else None, **reading}
    held = before if spec.model.keeps_choice else None
    return _learn(spec, named, documents.X, targets, weight, progress, tune, held, kept)


def _learn(
    spec: TrainingSpec,
    named: NamedCounts,
    X: Sparse,
    targets: Targets,
    weight: Floats | None,
    progress: Progress | None,
    tune: bool,
    before: FittedModel | None,
    kept: dict[str, Any],
) -> FittedModel:
    """The model of these documents; `kept` are the fields of FittedModel that are not learnt.

    With `before`, the choice, the decision and the calibration that it has are held to.
    """
    warn_about_lone_terms(named)
    scorer, active = make_scorer(spec, named, X, targets, weight, progress, before=before)
    held_out: HeldOut | None = getattr(scorer, "held_out", None)
    if held_out is not None:
        held_out = HeldOut(*held_out)
        scorer = replace(scorer, held_out=None)  # type: ignore[type-var]  # only dataclasses have the field
    fitted = make_fitted(spec, named, targets.target_type, scorer, active, **kept)
    if before is not None:
        return keep_tuning(before, fitted)
    tuning = find_tuning(spec, targets, tune)
    if held_out is None and (spec.calibration or tuning or spec.optimise == "macro-f1"):
        _check_some_can_be_held_out(targets)
        n_folds = min(N_FOLDS, X.shape[0])
        scores = out_of_fold_scores(
            spec, X, targets, weight, terms=named.vocabulary, progress=progress, n_folds=n_folds
        )  # fmt: skip
        rows = np.arange(X.shape[0]) if targets.multilabel else np.flatnonzero(np.diff(targets.Y.indptr))
        held_out = HeldOut(rows, scores[rows])  # documents without a label, where a model takes such, tell nothing
    return tune_model(fitted, held_out, targets, tuning)


def _check_some_can_be_held_out(targets: Targets) -> None:
    """An error where a held-out document would always be one of a class that was not learnt."""
    if not targets.multilabel and not bool((targets.Y.sum(axis=0) > 1).any()):
        raise UnnaiveError(
            "no class has two documents, so none can be held out to calibrate or to tune decisions by; give more "
            "documents, or train without"
        )


def warn_about_lone_terms(named: NamedCounts) -> None:
    """Warn if texts have, on average, not even one term that another text has: ids, or words that were not split."""
    counts = named.counts
    if named.vocabulary is None or counts.n_docs < FEWEST_TEXTS:
        return
    letters, places = named.vocabulary.to_arrays()
    is_word = letters[places[:-1]] != ord(GRAM)  # any text shares some character grams with others
    df = counts.df[is_word] if is_word.any() else counts.df
    if df[df > 1].sum() < counts.n_docs:
        warnings.warn(
            f"{count_noun(len(df), 'term')} in {count_noun(counts.n_docs, 'document')}, and hardly a term is in "
            "two of them, so there is little to learn; is that the column of texts, and are its words split rightly?",
            UnnaiveWarning,
            stacklevel=5,
        )


def train_from_counts(
    spec: TrainingSpec,
    named: NamedCounts,
    target_type: str,
    *,
    before: FittedModel | None = None,
    **reading: Any,
) -> FittedModel:
    """Learn from sums over documents; a decision and a calibration that `before` had tuned are kept where they fit.

    Terms are put in order first, here and in `train`. So whatever was learnt at once, in parts, on several machines,
    forgotten and merged in whatever order, of the same documents comes the same model, bit for bit.
    """
    check_spec(spec)
    named = named.in_order()
    scorer, active = make_scorer(spec, named, None, None, None, None, exclusive=target_type == "single")
    made = make_fitted(spec, named, target_type, scorer, active, counts=named, **reading)
    return made if before is None else keep_tuning(before, made)


def make_scorer(
    spec: TrainingSpec,
    named: NamedCounts,
    X: Sparse | None,
    targets: Targets | None,
    sample_weight: Floats | None,
    progress: Progress | None,
    *,
    exclusive: bool | None = None,
    before: FittedModel | None = None,
) -> tuple[Scorer, Ids | None]:
    """The scorer, and the columns of the terms that it uses: None for all of them.

    With `before`, what was chosen for it is trained without choosing again.
    """
    refuse_no_class(named.classes)
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
        more["terms"] = named.vocabulary if active is None else named.vocabulary.take(active)
    more |= {"exclusive": bool(single), "sample_weight": sample_weight, "progress": progress}
    if before is not None:
        place = {label: position for position, label in enumerate(targets.classes)}
        places = np.array([place.get(label, -1) for label in before.classes], np.int64)
        scorer = model.relearn(before.scorer, places, documents, targets.Y, **more)
    else:
        scorer = model.learn(documents, targets.Y, **more)
    used = scorer.used_terms() if named.vocabulary is not None else None
    if used is None:
        return scorer, active
    return scorer.take_terms(used), used if active is None else active[used]


def make_fitted(
    spec: TrainingSpec,
    named: NamedCounts,
    target_type: str,
    scorer: Scorer,
    active: Ids | None,
    **kept: Any,
) -> FittedModel:
    """The model around a scorer of the `active` terms, with the decision that needs no held-out scores."""
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
        **kept,
    )


def _untuned_decision(spec: TrainingSpec, target_type: str, scorer: Scorer) -> Decision:
    """The decision that needs no held-out scores."""
    if spec.decision is not None and not isinstance(spec.decision, str):
        given: Decision = spec.decision
        return given
    return default_decision("single" if spec.decision == "argmax" else target_type, scorer.link, scorer.n_classes)


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

    Models that learn from counts take the fold off the total: no document is counted twice. Where probabilities are to
    be believed, documents that share passages are in one fold: where messages quote each other, sets of 90 % would else
    cover far fewer of those in new threads.
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

    dealt: Ids | None = None
    if spec.calibration is not None:
        groups = rarest_classes(targets.Y)
        dealt = block_folds(groups, n_folds, find_shared_passages(X, groups, terms).order())
    return out_of_fold(score, targets.Y, n_folds=n_folds, seed=spec.random_state, fold=dealt)
