"""Sums or documents → the scorer of a model: which terms are used, what the model is given, and what it returns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.field_vectors import FieldVectors, columns_of_words
from unnaive.data.named_counts import NamedCounts
from unnaive.data.products import take_columns
from unnaive.data.training_data import DocumentRows
from unnaive.learning.class_limits import DataSize, check_class_limit
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.learnt import Learnt
from unnaive.learning.vectors_in_training import find_field_vectors
from unnaive.linear.min_df import min_df_for_full_table
from unnaive.linear.term_selection import select_terms


def make_scorer(
    spec: TrainingSpec,
    named: NamedCounts,
    rows: DocumentRows | None = None,
    *,
    exclusive: bool,
    progress: ProgressCallback | None = None,
    before: FittedModel | None = None,
) -> tuple[Learnt, Ids | None]:
    """What the model learns, and the columns of its terms; None for all columns.

    named      the sums over the documents
    rows       the documents, for models that learn from them; columns as in `named`
    exclusive  whether every document has exactly one label
    before     a model whose selection is kept
    """
    model, dense = spec.model, find_field_vectors(spec, named.vocabulary)
    active = active_terms(spec, named, dense)
    if model.traits.statistic == "counts":
        counts = named.counts if active is None else named.counts.take_terms(active)
        return Learnt(model.rule(counts, exclusive=exclusive)), active
    if rows is None:
        raise UnnaiveError(f"{model.traits.title} learns from all documents at once; train it with all of them instead")
    if rows.weight is not None and not model.traits.takes_sample_weight:
        raise UnnaiveError(f"{model.traits.title} takes no sample_weight; fit without it")
    documents, targets = rows.X, rows.targets
    more: dict[str, Any] = {"exclusive": exclusive, "sample_weight": rows.weight, "progress": progress}
    if model.traits.keeps_choice:
        more["held_out_weight"] = rows.sample_weight
    if model.traits.takes_terms and named.vocabulary is not None:
        more["terms"] = named.vocabulary if active is None else named.vocabulary.take(active)
    selecting = before is None and model.traits.takes_terms and (spec.select is not None or spec.min_df > 1)
    if selecting:  # a model that holds out documents by itself selects terms within each fold, as for the final fit
        more |= {"terms": named.vocabulary, "active": active, "select": _selection(spec, named, dense)}
    if (spec.word_vectors is not None or dense) and named.vocabulary is not None:
        of_words = [] if spec.word_vectors is None else [spec.word_vectors.over(named.vocabulary)]
        more |= {"active": active, "vectors": [*of_words, *dense]}
        more |= {"terms": named.vocabulary} if model.traits.takes_terms else {}
        if dense and model.traits.takes_terms and not selecting and before is None:
            more["select"] = _selection(spec, named, dense)
        active = None  # the columns of its vectors are all used, even if no document has them
    elif active is not None and not selecting:
        documents = documents[:, active]
    n_terms = documents.shape[1] if active is None else len(active)
    size = DataSize(documents.shape[0], n_terms, documents.nnz, targets.Y.shape[1])
    check_class_limit(model, size, exclusive=exclusive)
    if before is not None:
        position_of = {label: position for position, label in enumerate(targets.classes)}
        places = np.array([position_of.get(label, -1) for label in before.classes], np.int64)
        chosen_on = None if before.statistic is None else int(before.statistic.n_docs)
        learnt = model.relearn(before.learnt, places, documents, targets.Y, chosen_on=chosen_on, **more)
    else:
        learnt = model.learn(documents, targets.Y, **more)
    used = learnt.scorer.used_terms() if named.vocabulary is not None else None
    if used is None:
        return learnt, active
    return replace(learnt, scorer=learnt.scorer.take_terms(used)), used if active is None else active[used]


def _selection(
    spec: TrainingSpec, named: NamedCounts, dense: Sequence[FieldVectors]
) -> Callable[[Sparse, Sparse, Floats | None], Ids]:
    """A function that returns the columns that `min_df` and `select` keep for documents X with labels Y and weights."""
    words, vocabulary = columns_of_words(named.counts.n_terms, dense), named.vocabulary
    if words is not None and vocabulary is not None:
        vocabulary = vocabulary.take(words)

    def select(X: Sparse, Y: Sparse, weight: Floats | None) -> Ids:
        X = X if words is None else take_columns(csr_array(X), words)
        try:
            selected = select_terms(Counts.of(X, Y, weight), vocabulary, min_df=spec.min_df, select=spec.select)
        except BadData:  # too few documents for any term
            return np.zeros(0, np.int64)
        return selected if words is None else words[selected]

    return select


def active_terms(spec: TrainingSpec, named: NamedCounts, dense: Sequence[FieldVectors] = ()) -> Ids | None:
    """The columns that `min_df` and `select` keep; None for all. Columns without names are all used.

    The columns of vector fields are not among them.
    """
    words = columns_of_words(named.counts.n_terms, dense)
    if words is not None and named.vocabulary is not None:
        if not bool((named.counts.df[words] > 0).any()):
            return words[:0]  # vectors alone
        part = replace(named, vocabulary=named.vocabulary.take(words), counts=named.counts.take_terms(words))
        chosen = active_terms(spec, part)
        return words if chosen is None else words[chosen]
    if named.vocabulary is None and spec.select is None and spec.min_df == 1:
        return None
    min_df = spec.min_df
    if spec.model.traits.in_passes and spec.select is None:  # meant for vocabularies that grow
        min_df = min_df_for_full_table(named.counts, min_df)
        if min_df > spec.min_df:
            warnings.warn(f"terms of fewer than {min_df:,} documents are left out, so that a weight for each class and "
                          "term fits in memory", UnnaiveWarning, stacklevel=2)  # fmt: skip
    chosen = select_terms(named.counts, named.vocabulary, min_df=min_df, select=spec.select)
    return None if len(chosen) == named.counts.n_terms else chosen
