"""Compress a model file to a maximum size: weights of 16 or 8 bits, and without the least useful terms.

The steps, each only if the ones before are not enough: leave out counts and documents; weights of 16 bits; weights of 8
bits; fewer terms. The result is an ordinary model, which cannot be updated. Only linear models, sums of them, imported
models and label trees (which lose the weights nearest to 0) can be compressed; others are refused. Calibration and
thresholds are tuned again for the smaller model, on the documents that the model keeps, or are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unnaive.base.elementary import exp
from unnaive.base.errors import UnnaiveError
from unnaive.base.sparse import csr_array, issparse
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Ids
from unnaive.classifier.model_file import count_bytes
from unnaive.classifier.packing import pack
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.training_data import DocumentRows
from unnaive.data.weighting import document_frequency, presence
from unnaive.learning.fitted import FittedModel
from unnaive.learning.top_tuning import needs_top_scores
from unnaive.learning.train import hold_out_parts, kept_rows, tune_by_part, untuned_decision
from unnaive.learning.tuned_models import find_tuning, tune_choice, tune_model, warn_about_loss, was_tuned
from unnaive.learning.update import kept_statistic
from unnaive.learning.vectors_in_training import has_vectors, with_vector_words
from unnaive.linear.linear import Linear
from unnaive.linear.scorer import Scorer
from unnaive.text.counting import TextCounter

BITS = (16, 8)
VECTOR_BITS = 16  # bits of the weights of vector fields, and of their marker, which has a sum of them


@dataclass(frozen=True, eq=False)
class Compressed:
    """A compressed model, and what was done to it.

    frozen  whether counts and documents were left out
    bits    of a weight; None if weights are unchanged
    terms   number of terms, of `terms_before`
    bytes   size of the file, of `bytes_before`
    """

    fitted: FittedModel
    frozen: bool
    bits: int | None
    terms: int
    terms_before: int
    bytes: int
    bytes_before: int

    @property
    def lossy(self) -> bool:
        """Whether scores may differ from those of the original."""
        return self.bits is not None


def file_size(fitted: FittedModel, *, frozen: bool = False) -> int:
    """The size of the model file in bytes, without writing it."""
    return count_bytes(*pack(fitted, frozen=frozen))


def compress_model(fitted: FittedModel, limit: int, *, texts: Any = None) -> Compressed:
    """Compress a model to a file of at most `limit` bytes, with the least change; an error if that is impossible.

    `texts` are documents like those to be classified, such as the training documents: the frequency of a term in them
    decides its importance. Without them, counts or idf decide.
    """
    margin = 0
    while True:
        small = _squeeze(fitted, limit - margin, texts)
        if not small.lossy or not _is_tuned(fitted):
            return small
        tuned = _tune_again(fitted, small, texts)
        size = file_size(tuned, frozen=True)
        if size <= limit:
            return replace(small, fitted=tuned, bytes=size)
        margin += size - limit + 16  # tuning again may take a few more bytes


def _is_tuned(fitted: FittedModel) -> bool:
    return fitted.calibration is not None or fitted.conformal is not None or was_tuned(fitted.spec, fitted)


def _tune_again(fitted: FittedModel, small: Compressed, texts: Any) -> FittedModel:
    """The smaller model with calibration, decision and held-out scores from models of the same size.

    Quantised weights and missing terms change the scores, so the earlier tuning does not fit. Without documents to hold
    out there is none, with a warning.
    """
    spec, shared = fitted.spec, _document_share(fitted, texts) is not None
    decision = untuned_decision(spec, fitted.target_type, small.fitted.scorer)
    bare = replace(small.fitted, calibration=None, conformal=None, decision=decision)
    if fitted.documents is None:
        warn_about_loss(fitted, bare, "the model was made smaller")
        return bare

    def shrink(scorer: Scorer, rows: DocumentRows) -> tuple[Scorer, Ids]:
        alike = spec.model.shrink_alike(scorer, small.fitted.scorer, drop_terms=small.terms < small.terms_before)
        if alike is not None:
            return alike
        share = document_frequency(rows.X) / max(rows.X.shape[0], 1) if shared else None
        order = np.argsort(-_importance(scorer, share), kind="stable")
        columns = np.sort(order[: small.terms]) if small.terms < small.terms_before else np.arange(scorer.n_terms)
        return quantised(take_terms(scorer, columns), small.bits or BITS[0]), columns

    documents = kept_statistic(fitted, "be compressed")
    if not isinstance(documents, KeptDocuments):
        raise RuntimeError("a model with documents that keeps none")
    rows = kept_rows(documents, fitted.target_type, thread_count(fitted.n_jobs)).weighted(spec.class_weight)
    if has_vectors(spec, fitted.token_rule):
        spec, rows = with_vector_words(spec, rows, fitted.token_rule)
    tuning = find_tuning(spec, rows.targets, tune=True)
    if needs_top_scores(fitted.scorer, rows.X.shape[0]):
        return tune_by_part(bare, rows, tuning, change=lambda scorer: shrink(scorer, rows))
    choice = fitted if spec.model.traits.keeps_choice else None
    held_out = hold_out_parts(spec, rows, before=choice, change=shrink)
    tune = tune_choice if spec.model.traits.keeps_choice else tune_model
    return tune(bare, held_out, rows.targets, tuning)


def _squeeze(fitted: FittedModel, limit: int, texts: Any) -> Compressed:
    """The model in a file of at most `limit` bytes, with its earlier tuning."""
    before, n_terms = file_size(fitted), fitted.scorer.n_terms

    def result(model: FittedModel, frozen: bool, bits: int | None) -> Compressed:
        size = file_size(model, frozen=frozen)
        return Compressed(model, frozen, bits, model.scorer.n_terms, n_terms, size, before)

    if before <= limit:
        return result(fitted, False, None)
    bare = replace(fitted, scorer=fitted.scorer.frozen(), counts=None, documents=None, register=None)
    if file_size(bare, frozen=True) <= limit:
        return result(bare, True, None)
    shrunk = bare.spec.model.shrink(bare, limit, lambda model: file_size(model, frozen=True), BITS)
    if shrunk is not None:
        return result(shrunk[0], True, shrunk[1])
    if not _is_linear(bare.scorer):
        raise UnnaiveError(
            f"this model needs {file_size(bare, frozen=True):,} bytes, and {fitted.spec.model.traits.title} has "
            f"no weights that could be dropped; allow more than {limit:,}, or select fewer terms"
        )
    for bits in BITS:
        small = replace(bare, scorer=quantised(bare.scorer, bits))
        if file_size(small, frozen=True) <= limit:
            return result(small, True, bits)
    importance = term_importance(fitted, texts)
    order = np.argsort(-importance, kind="stable")
    fewest = max(1, int(np.isinf(importance).sum()))
    n_kept = _most_that_fit(bare, order, limit)
    if n_kept < fewest:
        least = file_size(_with_terms(bare, order[:fewest], BITS[-1]), frozen=True)
        terms = "one term" if fewest == 1 else "its vectors alone"
        raise UnnaiveError(
            f"{limit:,} bytes are too few for a model of {len(fitted.classes):,} classes, which needs "
            f"{least:,} with {terms}; allow more"
        )
    return result(_with_terms(bare, order[:n_kept], BITS[-1]), True, BITS[-1])


def _most_that_fit(bare: FittedModel, order: Ids, limit: int) -> int:
    """The number of terms, the most important first, that fit with weights of 8 bits; 0 if none does."""
    low, high = 0, len(order)  # low fits, high does not
    while high - low > max(1, low // 500):  # to a fifth of a per cent
        middle = (low + high) // 2
        fits = file_size(_with_terms(bare, order[:middle], BITS[-1]), frozen=True) <= limit
        low, high = (middle, high) if fits else (low, middle)
    return low


def _with_terms(fitted: FittedModel, terms: Ids, bits: int) -> FittedModel:
    columns = np.sort(terms)
    vocabulary = None if fitted.vocabulary is None else fitted.vocabulary.take(columns)
    return replace(fitted, scorer=quantised(take_terms(fitted.scorer, columns), bits), vocabulary=vocabulary)


def _is_linear(scorer: Scorer) -> bool:
    return isinstance(scorer, Linear) or all(isinstance(part, Linear) for _, part in _parts(scorer))


def _parts(scorer: Any) -> Iterator[tuple[Ids, Any]]:
    """The columns and the scorer of each part of a sum of scorers; one part without columns for any other."""
    if hasattr(scorer, "parts"):
        yield from scorer.parts
    else:
        yield np.arange(scorer.n_terms), scorer


def take_terms(scorer: Any, columns: Ids) -> Any:
    """The scorer over some of its terms, in ascending order.

    >>> take_terms(Linear(np.array([[1.0, 2.0, 3.0]]), np.zeros(1)), np.array([0, 2])).weights()
    array([[1., 3.]])
    """
    if isinstance(scorer, Linear):
        idf, offset = scorer.weighting.idf, scorer.term_offset
        return replace(
            scorer,
            sparse_weights=scorer.sparse_weights[:, columns],
            term_offset=None if offset is None else offset[columns],
            weighting=replace(scorer.weighting, idf=None if idf is None else idf[columns]),
        )
    new_ids = np.full(scorer.n_terms, -1)
    new_ids[columns] = np.arange(len(columns))
    parts = []
    for part_columns, part in scorer.parts:
        inside = np.flatnonzero(new_ids[part_columns] >= 0)
        parts.append((new_ids[part_columns[inside]], take_terms(part, inside)))
    return replace(scorer, parts=tuple(parts), n_terms=len(columns))


def quantised(scorer: Any, bits: int) -> Any:
    """The scorer with weights that are multiples of a step of each class, up to 2^(bits−1) − 1 steps.

    step[c] = max_t |weight[c, t]| / (2^(bits−1) − 1). Weights that round to 0 are dropped. Offsets and idf keep 32
    bits.

    >>> small = quantised(Linear(np.array([[12.7, 0.04, -3.0]]), np.zeros(1)), 8)
    >>> small.weights().round(2)                                    # in steps of .1
    array([[12.7,  0. , -3. ]])
    """
    if not isinstance(scorer, Linear):
        parts = (
            (columns, quantised(part, VECTOR_BITS if is_vector_part(scorer, part) else bits))
            for columns, part in scorer.parts
        )
        return replace(scorer, parts=tuple(parts))
    table = csr_array(scorer.sparse_weights)
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    largest = np.zeros(table.shape[0])
    np.maximum.at(largest, rows, np.abs(table.data))
    step = np.where(largest > 0, largest, 1.0) / (2 ** (bits - 1) - 1)
    table = table.copy()  # eliminate_zeros rewrites all three arrays, and the scorer's are its own
    table.data = np.rint(table.data / step[rows]) * step[rows]
    table.eliminate_zeros()
    dense = table.nnz * (bits // 8 + 4) >= table.shape[0] * table.shape[1] * (bits // 8)
    return replace(
        scorer,
        sparse_weights=table.toarray() if dense else table,
        step=step,
        term_offset=_short(scorer.term_offset),
        weighting=replace(scorer.weighting, idf=_short(scorer.weighting.idf)),
    )


def is_vector_part(scorer: Any, part: Any) -> bool:
    """Whether a part of a pool reads a vector field."""
    return bool(scorer.kind == "pool" and part.weighting.tf == "fixed-point")


def _short(values: Floats | None) -> Any:
    return None if values is None else values.astype(np.float32)


def term_importance(fitted: FittedModel, texts: Any = None) -> Floats:
    """The change of scores without each term (n_terms,): E[z_t²] · Σ_c (weight[c, t] − mean over classes)².

    This is the mean square of what the term adds to the lead of a class. E[z_t²] is the share of documents with the
    term, times its idf squared; document lengths are ignored.
    """
    return _importance(fitted.scorer, _document_share(fitted, texts))


def _importance(scorer: Scorer, share: Floats | None) -> Floats:
    """The same for a scorer, with the share of documents of each of its terms (n_terms,); None: from idf."""
    total = np.zeros(scorer.n_terms)
    for columns, part in _parts(scorer):
        if is_vector_part(scorer, part):  # a vector is used as a whole
            total[columns] = np.inf
            continue
        idf = part.weighting.idf
        document_share = (
            exp(1 - idf) if share is None and idf is not None else (1.0 if share is None else share[columns])
        )
        total[columns] += document_share * (1.0 if idf is None else idf**2) * _spread(part)
    return total


def _document_share(fitted: FittedModel, texts: Any) -> Floats | None:
    """The share of documents with each term in use; None if unknown."""
    if texts is not None and fitted.token_rule is not None and fitted.vocabulary is not None:
        X = presence(TextCounter(fitted.token_rule, fitted.vocabulary, threads=fitted.n_jobs).count(texts))
        return np.asarray(np.bincount(X.indices, minlength=X.shape[1]) / max(X.shape[0], 1))
    named = fitted.counts
    if named is None:
        return None
    df = np.asarray(named.counts.df, np.float64)
    if named.vocabulary is not None and named.vocabulary is not fitted.vocabulary:
        df = df[named.vocabulary.ids(fitted.vocabulary or ())]
    return df / max(float(named.counts.n_docs), 1.0)


def _spread(part: Linear) -> Floats:
    """Σ_c (weight − mean)² of each term, without making sparse weights dense; a single class is compared with 0."""
    table, n = part.sparse_weights, part.n_classes
    offset = np.zeros(n) if part.class_offset is None else part.class_offset - part.class_offset.mean()
    if not issparse(table):
        table = np.asarray(table) + offset[:, None]
        centre = table.mean(axis=0) if n > 1 else 0.0
        spread: Floats = ((table - centre) ** 2).sum(axis=0)
        return spread
    # Σ_c (s_c + o_c − s̄)² with Σ o_c = 0: Σ s² + 2 Σ s·o + Σ o² − n·s̄²
    table = csr_array(table)
    sums, squares = np.asarray(table.sum(axis=0)).ravel(), np.asarray((table * table).sum(axis=0)).ravel()
    cross = np.asarray(table.T @ offset).ravel()
    mean = sums / n if n > 1 else 0.0 * sums
    summed: Floats = np.maximum(squares + 2 * cross + (offset**2).sum() - n * mean**2, 0.0)
    return summed
