"""TrainingData → FittedModel: the one function that trains, from a list of texts to a cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.corpus import check_some_labels
from unnaive.data.counts import Counts
from unnaive.data.folds import folds, out_of_fold, split_folds
from unnaive.data.held_out_parts import parts_like_new
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.sample_weights import class_sample_weight, several_labels_refused
from unnaive.data.targets import Targets
from unnaive.data.training_data import DocumentRows, TrainingData, check_classes
from unnaive.learning.class_limits import DataSize, check_class_limit
from unnaive.learning.decisions import Decision, default_decision
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.learnt import HeldOutScores, Learnt
from unnaive.learning.make_scorer import active_terms, make_scorer
from unnaive.learning.optimise import least_cost
from unnaive.learning.spec_checks import check_spec
from unnaive.learning.top_tuning import TOP, needs_top_scores, refuse_calibration, tune_top
from unnaive.learning.tuned_models import N_FOLDS, find_tuning, keeps_documents, tune_choice, tune_model
from unnaive.learning.vectors_in_training import (
    check_vectors,
    has_vectors,
    with_vector_words,
    word_columns,
)
from unnaive.linear.scorer import Scorer

# minimum number of documents to hold out any, then for fewer folds, then for a single part
FEWEST_HELD_OUT, FEW, SOME = 10, 1_500, 4_500


def train(
    data: TrainingData,
    spec: TrainingSpec,
    *,
    before: FittedModel | None = None,
    progress: ProgressCallback | None = None,
) -> FittedModel:
    """Train a model on these documents, wherever they are stored: the same documents give the same model, bit for bit.

    Terms are sorted, and documents too if the model learns from them. So the result does not depend on the order of
    documents, on batches, files, runs or partitions, or on what was learnt and forgotten in between.

    Calibration, decisions and conformal sets are tuned on these documents by cross-fitting; with sums alone, no
    documents can be held out, and nothing is tuned. With `before`, a model that selects among candidates
    (`keeps_choice`) is trained with the selection of `before`, without a search; tuning still uses these documents.

    >>> from scipy.sparse import csr_array
    >>> from unnaive.data.targets import read_targets
    >>> from unnaive.models.naive_bayes import MultinomialNB
    >>> data = TrainingData.of_rows(csr_array([[2, 0], [0, 1]]), read_targets(["ham", "spam"], 2))
    >>> train(data, TrainingSpec(MultinomialNB())).predict(csr_array([[1, 0]]))
    array(['ham'], dtype='<U4')
    """
    check_spec(spec)
    if isinstance(spec.optimise, dict):
        _check_costs(spec.optimise, data)
    check_vectors(data.token_rule, spec)
    if spec.model.traits.statistic == "counts":
        return _learn_from_counts(data, spec, progress)
    if data.passes is not None:
        return _learn_in_passes(data, spec, progress)
    documents = data.documents()
    if data.token_rule is not None:
        check_classes(documents.classes, data.multilabel)
    used = weighted_documents(documents, spec.class_weight, data.target_type)
    rows = kept_rows(used, data.target_type, data.threads).weighted(spec.class_weight)
    kept_fields = {"documents": documents if spec.documents_limit else None}
    held = before if spec.model.traits.keeps_choice else None
    return _learn(data, spec, _sums(spec, rows, data.threads), rows, held, progress, kept_fields)


def _sums(spec: TrainingSpec, rows: DocumentRows, threads: int) -> NamedCounts:
    """The sums over the documents, by which terms are selected; columns without names that are all used need none."""
    if rows.vocabulary is None and spec.select is None and spec.min_df == 1:
        return NamedCounts.empty(rows.targets.classes, rows.X.shape[1])
    return rows.counts(threads)


def _learn_from_counts(data: TrainingData, spec: TrainingSpec, progress: ProgressCallback | None) -> FittedModel:
    """Train from sums over documents and keep the sums unweighted: class weights depend on all documents.

    Class weights are applied to the current sums, also after an update. If something is tuned on held-out documents,
    the documents are kept too, so that it is tuned again after an update.
    """
    if spec.class_weight is not None and data.multilabel:
        raise several_labels_refused()
    kept_fields: dict[str, Any] = {}
    rows = data.rows  # with their own columns, which only cross-fitting needs
    if data.sums is None and keeps_documents(spec, multilabel=data.multilabel, texts=data.token_rule is not None):
        kept_fields["documents"] = documents = data.documents()
        used = weighted_documents(documents, spec.class_weight, data.target_type)
        rows = kept_rows(used, data.target_type, data.threads)
        kept_fields["counts"] = named = documents.counts(data.target_type, threads=data.threads)
    else:
        if rows is None and data.kept is not None:
            rows = kept_rows(data.kept, data.target_type, data.threads)
        kept_fields["counts"] = named = data.counts()
    weighted_rows = None if rows is None else rows.weighted(spec.class_weight)
    return _learn(data, spec, named.weighted(spec.class_weight), weighted_rows, None, progress, kept_fields)


def weighted_documents(documents: KeptDocuments, class_weight: Any, target_type: str) -> KeptDocuments:
    """The documents of classes with a weight above 0, sorted as if there were no others."""
    if class_weight is None or isinstance(class_weight, str):  # "balanced" has no weights of 0
        return documents
    weight = class_sample_weight(class_weight, documents.targets(target_type), documents.weight)
    if weight is None or bool(np.all(weight > 0)):
        return documents
    old_weight = np.ones(documents.n_docs) if documents.weight is None else documents.weight
    return replace(documents, weight=np.where(weight > 0, old_weight, 0.0)).in_order()


def kept_rows(documents: KeptDocuments, target_type: str, threads: int = 1) -> DocumentRows:
    """The documents of a model as rows with sorted terms."""
    vocabulary, X = documents.joined(threads)
    return DocumentRows(X, documents.targets(target_type), vocabulary, documents.weight)


def _check_costs(costs: dict[Any, Any], data: TrainingData) -> None:
    """Raise an error before training if the costs do not fit the labels."""
    if data.multilabel:
        raise UnnaiveError("costs are for single-label documents, and these are multilabel; optimise macro-f1 instead")
    least_cost(costs, data.classes)


def _learn(
    data: TrainingData,
    spec: TrainingSpec,
    named: NamedCounts,
    rows: DocumentRows | None,
    before: FittedModel | None,
    progress: ProgressCallback | None,
    kept_fields: dict[str, Any],
) -> FittedModel:
    """Train on the sums `named` and, if available, the documents `rows`; `kept_fields` are fields of FittedModel.

    With `before`, its selection is kept.
    """
    check_some_labels(len(named.classes))
    inner = spec
    if rows is not None and has_vectors(spec, data.token_rule):
        inner, rows = with_vector_words(spec, rows, data.token_rule)
        wider = named.counts.grown(len(named.classes), rows.X.shape[1])
        named = replace(named, vocabulary=rows.vocabulary, counts=wider)
    learnt, active = make_scorer(inner, named, rows, progress=progress, exclusive=not data.multilabel, before=before)
    held_out = None if learnt.held_out is None else _with_weights(learnt.held_out, rows)
    fitted = _make_fitted(data, spec, named, learnt, active, kept_fields)
    if rows is None:
        return fitted
    tuning = find_tuning(spec, rows.targets, data.token_rule is not None)
    if fitted.choice_kept:
        held_out = hold_out_parts(inner, rows, before=before, progress=progress)
        if held_out is not None or spec.calibration is None:
            return tune_choice(fitted, held_out, rows.targets, tuning)
    if held_out is None and (spec.calibration or tuning or spec.optimise == "macro-f1"):
        _check_some_can_be_held_out(rows.targets)
        if needs_top_scores(learnt.scorer, rows.X.shape[0]):
            return tune_by_part(fitted, rows, tuning, progress=progress)
        held_out = _hold_out(inner, rows, progress)
    return tune_model(fitted, held_out, rows.targets, tuning)


def _learn_in_passes(data: TrainingData, spec: TrainingSpec, progress: ProgressCallback | None) -> FittedModel:
    """Train a model that passes over documents on a cluster; it keeps none of them."""
    if data.passes is None:
        raise RuntimeError("the training data does not support passes over its documents")
    named = data.counts()
    active = active_terms(spec, named)
    vocabulary = named.vocabulary if active is None or named.vocabulary is None else named.vocabulary.take(active)
    counts = named.counts if active is None else named.counts.take_terms(active)
    size = DataSize(int(counts.n_docs), counts.n_terms, int(counts.df.sum()), counts.n_classes)
    check_class_limit(spec.model, size, exclusive=not data.multilabel)
    model, scorer = data.passes(spec.model, counts, vocabulary, exclusive=not data.multilabel, progress=progress)
    return _make_fitted(data, replace(spec, model=model), named, Learnt(scorer), active, {})


def _hold_out(spec: TrainingSpec, rows: DocumentRows, progress: ProgressCallback | None) -> HeldOutScores:
    """Scores of all labelled documents by models that have not seen them.

    Unlabelled documents, which some models use, are not scored.
    """
    n_docs, rows = rows.X.shape[0], _with_terms_in_order(rows)
    scores = out_of_fold_scores(spec, rows, progress=progress, n_folds=min(N_FOLDS, n_docs))
    labelled = np.arange(n_docs) if rows.targets.multilabel else np.flatnonzero(np.diff(rows.targets.Y.indptr))
    return _with_weights(HeldOutScores(labelled, scores[labelled]), rows)


def _with_weights(held_out: HeldOutScores, rows: DocumentRows | None) -> HeldOutScores:
    """The held-out scores with the weights of their documents."""
    if rows is None or rows.sample_weight is None:
        return held_out
    return held_out._replace(weight=rows.sample_weight[held_out.rows])


def _with_terms_in_order(rows: DocumentRows) -> DocumentRows:
    """The documents with their columns in the order of a classifier trained on the texts of a fold."""
    order = None if rows.vocabulary is None else rows.vocabulary.order()
    if order is None or rows.vocabulary is None:  # the columns have no names, or are in order
        return rows
    return replace(rows, X=csr_array(rows.X[:, order]), vocabulary=rows.vocabulary.in_order(order))


def tune_by_part(
    fitted: FittedModel,
    rows: DocumentRows,
    tuning: str | None,
    *,
    change: Callable[[Scorer], tuple[Scorer, Ids]] | None = None,
    progress: ProgressCallback | None = None,
) -> FittedModel:
    """Tune the decision on the best classes of one of N_FOLDS held-out parts of the documents.

    Used if the scores of all classes would not fit in memory. `change` applies to the scorer of the rest what was done
    to the scorer of the model: it returns another scorer and the columns that it reads.
    """
    spec, (n_docs, _) = fitted.spec, rows.X.shape
    if spec.calibration is not None:
        raise refuse_calibration(n_docs, len(fitted.classes))
    if tuning is None:
        return fitted
    if progress is not None:
        progress("tuning", {"fold": 0, "folds": 1})
    rows = _with_terms_in_order(rows)
    fold = folds(rows.targets.Y, N_FOLDS, seed=spec.random_state)
    inside, aside = next(split_folds(fold, N_FOLDS))
    total = Counts.of(rows.X, rows.targets.Y, rows.weight)
    scorer, held = _learn_without(spec, rows, total, inside, aside)
    if change is not None:
        scorer, columns = change(scorer)
        held = held[:, columns]
    top = scorer.top_scores(held, TOP)
    if top is None:
        raise RuntimeError("the scorer cannot find the best classes without scoring all")
    weight = None if rows.sample_weight is None else rows.sample_weight[aside]
    return replace(fitted, decision=tune_top(tuning, top, rows.targets.Y[aside], weight))


def hold_out_parts(
    spec: TrainingSpec,
    rows: DocumentRows,
    *,
    before: FittedModel | None = None,
    change: Callable[[Scorer, DocumentRows], tuple[Scorer, Ids]] | None = None,
    progress: ProgressCallback | None = None,
) -> HeldOutScores | None:
    """Scores of held-out documents by models trained on the others; None if no class has two documents.

    There are five folds, three for many documents, and one held-out part of four from SOME documents.

    before  a model whose selection is kept
    change  applied to each scorer with the documents of its columns; returns another scorer, and which of these columns
            it reads
    """
    targets, n_docs = rows.targets, rows.X.shape[0]
    if n_docs < FEWEST_HELD_OUT or not bool((targets.Y.sum(axis=0) > 1).any()):
        return None
    n_folds = 5 if n_docs < FEW else 3 if n_docs < SOME else 4
    fold = parts_like_new(rows, n_folds, words=word_columns(spec, rows))
    held_out, scores = [], []
    for number, (inside, aside) in enumerate(split_folds(fold, n_folds)):
        if number and n_docs >= SOME:
            break
        if progress is not None:
            progress("tuning", {"fold": number, "folds": 1 if n_docs >= SOME else n_folds})
        part = rows.take(inside)
        is_learnt = np.asarray(part.targets.Y.sum(axis=0)).ravel() > 0
        if not targets.multilabel:  # nothing can be said about a class that training lacks
            aside = aside[is_learnt[targets.Y.indices[targets.Y.indptr[aside]]]]
        if not len(aside) or (not targets.multilabel and is_learnt.sum() < 2):
            continue
        learnt, active = make_scorer(spec, part.counts(), part, exclusive=not targets.multilabel, before=before)
        scorer = learnt.scorer
        if change is not None:
            reduced = part if active is None else replace(part, X=part.X[:, active])
            scorer, columns = change(scorer, reduced)
            active = columns if active is None else active[columns]
        held_out.append(aside)
        scores.append(scorer.scores(rows.X[aside] if active is None else rows.X[aside][:, active]))
    return _with_weights(HeldOutScores(np.concatenate(held_out), np.concatenate(scores)), rows) if held_out else None


def _check_some_can_be_held_out(targets: Targets) -> None:
    """Raise an error if every held-out document would belong to a class that was not learnt."""
    if not targets.multilabel and not bool((targets.Y.sum(axis=0) > 1).any()):
        raise UnnaiveError(
            "no class has two documents, so no document can be held out for calibration or tuning; give "
            "more documents, or train without calibration and tuning"
        )


def _make_fitted(
    data: TrainingData,
    spec: TrainingSpec,
    named: NamedCounts,
    learnt: Learnt,
    active: Ids | None,
    kept_fields: dict[str, Any],
) -> FittedModel:
    """The model with this scorer of the `active` terms, and the decision that needs no held-out scores."""
    vocabulary = named.vocabulary
    if vocabulary is not None and active is not None:
        vocabulary = vocabulary.take(active)
    return FittedModel(
        spec=spec,
        classes=named.classes,
        target_type=data.target_type,
        scorer=learnt.scorer,
        decision=untuned_decision(spec, data.target_type, learnt.scorer),
        provenance=learnt.provenance,
        vocabulary=vocabulary,
        **kept_fields,
        **data.reading,
    )


def untuned_decision(spec: TrainingSpec, target_type: str, scorer: Scorer) -> Decision:
    """The decision that needs no held-out scores."""
    if spec.decision is not None and not isinstance(spec.decision, str):
        decision: Decision = spec.decision
        return decision
    return default_decision("single" if spec.decision == "argmax" else target_type, scorer.link, scorer.n_classes)


def out_of_fold_scores(
    spec: TrainingSpec, rows: DocumentRows, *, n_folds: int = N_FOLDS, progress: ProgressCallback | None = None
) -> Floats:
    """Scores (n_docs, n_classes) of every document by a model that was not trained on it.

    Models that learn from counts subtract the fold from the total, so that no document is counted twice. Terms that no
    training document of a fold has are unknown, as in a new document: the scores equal those of a classifier trained
    only on the texts outside the fold. If probabilities are calibrated on the scores, documents that share passages are
    in one fold; otherwise, with messages that quote each other, sets of 90 % would cover far fewer documents of new
    threads.
    """
    targets, fold = rows.targets, itertools.count()
    total = Counts.of(rows.X, targets.Y, rows.weight)

    def score(train: NDArray[np.int64], held_out: NDArray[np.int64]) -> Floats:
        if progress is not None:
            progress("tuning", {"fold": next(fold), "folds": n_folds})
        scorer, held = _learn_without(spec, rows, total, train, held_out)
        return scorer.scores(held)

    dealt = None if spec.calibration is None else parts_like_new(rows, n_folds, words=word_columns(spec, rows))
    return out_of_fold(score, targets.Y, n_folds=n_folds, seed=spec.random_state, fold=dealt)


def _learn_without(
    spec: TrainingSpec, rows: DocumentRows, total: Counts, train: Ids, held_out: Ids
) -> tuple[Scorer, Sparse]:
    """The scorer trained on the documents `train`, and the rows `held_out` in its columns.

    `total` is the sum of both.
    """
    targets, rest, aside = rows.targets, rows.take(train), rows.take(held_out)
    rest_sums = total - Counts.of(aside.X, aside.targets.Y, aside.weight)
    named, held = NamedCounts(targets.classes, rows.vocabulary, rest_sums), aside.X
    if rows.vocabulary is None:  # columns without names would all be used, also those without a training row
        learnt = np.flatnonzero(named.counts.df > 0)
        named = replace(named, counts=named.counts.take_terms(learnt))
        rest, held = replace(rest, X=rest.X[:, learnt]), held[:, learnt]
    result, active = make_scorer(spec, named, rest, exclusive=not targets.multilabel)
    return result.scorer, held if active is None else held[:, active]
