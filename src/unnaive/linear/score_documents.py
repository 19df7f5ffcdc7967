"""Documents → scores by any Scorer, in batches: raw texts, or rows of counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Sparse
from unnaive.data.fields.fields import as_documents
from unnaive.data.products import take_columns
from unnaive.linear.linear import Linear
from unnaive.linear.scorer import Scorer
from unnaive.linear.top_scores import TopScores
from unnaive.text.counting import BACKEND, TextCounter, TextScorer
from unnaive.text.fixed_point import shown_vector, vector_keys, vector_terms, which_are_vectors
from unnaive.text.gram_units import find_kinds
from unnaive.text.scoring import TfIdfTextScorer
from unnaive.text.sections import sections
from unnaive.text.tokens import Span, TokenRule, spans
from unnaive.text.vocabulary import Vocabulary

CHUNK_CELLS = 1 << 22  # scores in memory at a time: 32 MB of float64
CHUNK_TEXTS = 1 << 14
SHOWN_CHARS = 50_000  # characters of a text in which terms are located


def chunk_size(n_classes: int) -> int:
    """The number of documents scored at a time, so that memory stays bounded with many classes."""
    return max(1, min(CHUNK_TEXTS, CHUNK_CELLS // max(1, n_classes)))


class ReadDocument(NamedTuple):
    """One document, as explanations need it.

    row    counts of its terms (1, n_terms)
    spans  the positions of its terms, if it is a text
    names  the names of the columns of the row
    """

    row: Sparse
    spans: list[Span]
    names: Sequence[str] | Mapping[int, str]


def shown_part(text: str) -> str:
    """The text, or the beginning of a long one, which explanations show; cut at the end of a word if possible.

    >>> len(shown_part("word " * SHOWN_CHARS)), shown_part("short")
    (49999, 'short')
    """
    if len(text) <= SHOWN_CHARS:
        return text
    end = text.rfind(" ", SHOWN_CHARS // 2, SHOWN_CHARS)
    return text[: end if end > 0 else SHOWN_CHARS]


class DocumentReader(Protocol):
    """How a model reads documents: texts, or rows of counts."""

    def score_chunks(self, documents: Any) -> Iterator[Floats]:
        """Scores of the documents, in batches."""

    def best_classes(self, documents: Any) -> NDArray[np.int64] | None:
        """The class with the highest score of each document, if there is a faster way than computing all scores."""

    def top_and_known(
        self, documents: Any, k: int, *, above: Floats | None = None, scale: float | None = None
    ) -> tuple[TopScores, NDArray[np.int64]] | None:
        """The results of `Scorer.top_scores` and of `known_terms` for the documents."""

    def known_terms(self, documents: Any) -> NDArray[np.int64]:
        """The number of known terms in each document (n_docs,), with repetitions and without character n-grams."""

    def scores_and_known(self, documents: Any, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """Scores and `known_terms` of documents that fit in memory.

        If the best class leads every other by more than `clear`, its score may be 0 and the others −∞.
        """

    def read_one(self, document: Any) -> ReadDocument:
        """One document as a row of counts, with the positions of its terms if it is a text."""

    @property
    def fused(self) -> bool:
        """Whether the kernel scores documents while reading them, without the GIL."""

    @property
    def term_names(self) -> Sequence[str]:
        """The names of the columns."""


@dataclass(frozen=True, eq=False)
class CountRows:
    """Documents as rows of counts (n_docs, n_terms); `names` of the columns, if any."""

    scorer: Scorer
    names: tuple[str, ...] | None = None

    def score_chunks(self, documents: Any) -> Iterator[Floats]:
        """Scores of the rows, in batches."""
        step = chunk_size(self.scorer.n_classes)
        for start in range(0, documents.shape[0], step):
            yield self.scorer.scores(documents[start : start + step])

    def best_classes(self, documents: Any) -> NDArray[np.int64] | None:
        """By the scorer, if it need not score all classes."""
        top = self.scorer.top_scores(csr_array(documents), 1)
        return None if top is None else top.best(1)[:, 0]

    def top_and_known(
        self, documents: Any, k: int, *, above: Floats | None = None, scale: float | None = None
    ) -> tuple[TopScores, NDArray[np.int64]] | None:
        """By the scorer, if it need not score all classes, and the sum of each row."""
        top = self.scorer.top_scores(csr_array(documents), k, above=above, scale=scale)
        return None if top is None else (top, self.known_terms(documents))

    def scores_and_known(self, documents: Any, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """Scores of a few rows, and the sum of each."""
        return self.scorer.scores(documents), self.known_terms(documents)

    def known_terms(self, documents: Any) -> NDArray[np.int64]:
        """The sum of each row."""
        return np.asarray(csr_array(documents).sum(axis=1), np.int64)

    def read_one(self, document: Any) -> ReadDocument:
        """The row itself."""
        row = csr_array(np.atleast_2d(document) if not hasattr(document, "tocsr") else document)
        if row.shape != (1, self.scorer.n_terms):
            raise BadData(
                f"the document to explain has shape {row.shape}; give one row of {self.scorer.n_terms} counts"
            )
        if not row.has_canonical_format:
            row = row.copy()  # the caller's arrays stay unchanged
            row.sum_duplicates()
        return ReadDocument(row, [], self.term_names)

    @property
    def fused(self) -> bool:
        """False: rows of counts are multiplied."""
        return False

    @property
    def term_names(self) -> Sequence[str]:
        """The columns' names, or x0, x1, … as scikit-learn calls them."""
        return self.names if self.names is not None else [f"x{column}" for column in range(self.scorer.n_terms)]


@dataclass(frozen=True, eq=False)
class TextDocuments:
    """Documents as raw texts: how they are read, and the terms that are the columns of the scorer."""

    scorer: Scorer
    rule: TokenRule
    vocabulary: Vocabulary
    n_jobs: int | None = None

    def score_chunks(self, documents: Any) -> Iterator[Floats]:
        """Scores of the texts in batches; without a matrix if the model is linear in counts or in tf-idf."""
        texts = as_documents(documents, self.rule.fields)
        step = chunk_size(self.scorer.n_classes)
        fused = self._fused or self._fused_tf_idf
        for start in range(0, len(texts), step):
            chunk = texts[start : start + step]
            yield fused.scores(chunk) if fused else self.scorer.scores(self._counter.count(chunk))

    def scores_and_known(self, documents: Any, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """Scores and numbers of known terms of a few texts, in one pass if possible."""
        documents = as_documents(documents, self.rule.fields)
        if self._fused and not self._vector_keys:
            return self._fused.scores_and_known(documents, clear)
        if self._fused:
            return self._fused.scores(documents), self._count_known(documents)
        if self._fused_tf_idf:
            scores, n_known = self._fused_tf_idf.scores_and_known(documents)
            return scores, self._count_known(documents) if n_known is None else n_known
        X = self._counter.count(documents)
        return self.scorer.scores(X), self._sum_known(X)

    def best_classes(self, documents: Any) -> NDArray[np.int64] | None:
        """By the fused scorer if there is one, else by the scorer if it need not score all classes."""
        if self._fused:
            return self._fused.best(as_documents(documents, self.rule.fields))
        result = self.top_and_known(documents, 1)
        return None if result is None else result[0].best(1)[:, 0]

    def top_and_known(
        self, documents: Any, k: int, *, above: Floats | None = None, scale: float | None = None
    ) -> tuple[TopScores, NDArray[np.int64]] | None:
        """By the scorer, if it need not score all classes, in batches."""
        if type(self.scorer).top_scores is Scorer.top_scores:
            return None
        texts, parts, n_known = as_documents(documents, self.rule.fields), [], [np.zeros(0, np.int64)]
        for start in range(0, len(texts), CHUNK_TEXTS):
            X = self._counter.count(texts[start : start + CHUNK_TEXTS])
            top = self.scorer.top_scores(X, k, above=above, scale=scale)
            if top is None:
                return None
            parts.append(top)
            n_known.append(self._sum_known(X))
        return TopScores.joined(parts), np.concatenate(n_known)

    def known_terms(self, documents: Any) -> NDArray[np.int64]:
        """Counts by the vocabulary, which ignores unknown words."""
        texts = as_documents(documents, self.rule.fields)
        fused = self._fused if not self._vector_keys else None
        return fused.known_terms(texts) if fused else self._count_known(texts)

    def _count_known(self, texts: Any) -> NDArray[np.int64]:
        return self._sum_known(self._counter.count(texts))

    def _sum_known(self, X: Sparse) -> NDArray[np.int64]:
        """The number of words and vectors in each row that training had; if it had none, the number of all terms.

        Character n-grams are not counted: every document shares some of them with the training documents. A vector
        counts as one term.
        """
        shows = self._shows_known
        known = X.sum(axis=1) if shows is None else X @ shows.astype(np.int64)
        markers = self.vocabulary.ids(vector_terms(*key)[0] for key in self._vector_keys)
        for column in markers[markers >= 0].tolist():
            known = known + (take_columns(X, np.array([column])).toarray().ravel() > 0)
        return np.asarray(known, np.int64)

    @lazy_property
    def _shows_known(self) -> NDArray[np.bool_] | None:
        """Whether each term is neither a character n-gram nor a number of a vector; None if no term is either."""
        is_vector = which_are_vectors(self.vocabulary)
        is_term = ~find_kinds(self.vocabulary)[0] & ~is_vector
        return is_term if is_vector.any() or (is_term.any() and not is_term.all()) else None

    @lazy_property
    def _vector_keys(self) -> tuple[tuple[str, int], ...]:
        """(key in terms, number of dimensions) of each field of vectors."""
        return vector_keys(self.rule.fields)

    def read_one(self, document: Any) -> ReadDocument:
        """Counts of the known terms, and the position of every term in the text, or in its `shown_part`."""
        if not isinstance(document, str):
            expected = "one str" if self.rule.fields is None else "one str, or a dict with the fields"
            raise BadData(f"the text to explain is {type(document).__name__}; give {expected}")
        if len(document) > SHOWN_CHARS:  # positions of all terms would take fifty times the memory of the text
            row = csr_array(self._counter.count([document]))
            row.sort_indices()
            return ReadDocument(row, spans(shown_part(document), self.rule), self.term_names)
        term_spans = spans(document, self.rule)
        if self._vector_keys:
            row = csr_array(self._counter.count([document]))
            return ReadDocument(row, [*term_spans, *self._vector_spans(document)], self.term_names)
        ids = self.vocabulary.ids(term for _, _, term in term_spans)
        columns, counts = np.unique(ids[ids >= 0], return_counts=True)
        row = csr_array((counts, columns, [0, len(columns)]), shape=(1, len(self.vocabulary)))
        return ReadDocument(row, term_spans, self.term_names)

    def _vector_spans(self, document: str) -> list[Span]:
        """The columns of the vectors of a record, at the position where people see the vector."""
        lengths = dict(self._vector_keys)
        return [
            (section.start, section.start + len(shown_vector(lengths[section.key])), term)
            for section in sections(document, self.rule.fields or ()) if section.key in lengths
            for term in vector_terms(section.key, lengths[section.key])
        ]  # fmt: skip

    @property
    def fused(self) -> bool:
        """Whether there is a fused scorer and it is native."""
        return BACKEND == "native" and self.rule.segmenter is None and self._fused is not None

    @property
    def term_names(self) -> Sequence[str]:
        """The terms."""
        return self.vocabulary.terms

    @lazy_property
    def _counter(self) -> TextCounter:
        return TextCounter(self.rule, self.vocabulary, threads=self.n_jobs)

    @lazy_property
    def _fused(self) -> TextScorer | None:
        """The scorer that needs no matrix; None if scores are not sums over words."""
        scorer = self.scorer
        if not isinstance(scorer, Linear) or not scorer.counts_alone or self.rule.analyzer != "word":
            return None
        return TextScorer(
            self.rule, self.vocabulary, scorer.stored_weights, scorer.class_offset, scorer.term_offset, scorer.bias,
            binary=scorer.weighting.tf == "binary", threads=self.n_jobs,
        )  # fmt: skip

    @lazy_property
    def _fused_tf_idf(self) -> TfIdfTextScorer | None:
        """The same for sums of models over tf-idf; None if there are none, or no kernel."""
        parts = self.scorer.tf_idf_parts() if BACKEND == "native" else None
        return None if parts is None else TfIdfTextScorer(self.rule, self.vocabulary, *parts, threads=self.n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        """The fields to pickle, without the derived tables of the kernel."""
        return {part.name: getattr(self, part.name) for part in fields(self)}
