"""Dense features for labelling: means of word vectors, and vector fields, as further columns beside tf-idf.

The weights of the word vector columns are converted into weights of the words of a text, so that explanations name
words and are exact (models/auto/vector_view.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, hstack

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.field_vectors import FieldVectors
from unnaive.data.products import take_columns
from unnaive.data.word_vectors import WordVectors
from unnaive.models.vectors.field_view import FieldView
from unnaive.models.vectors.word_view import VectorView
from unnaive.text.counting import TextCounter
from unnaive.text.field import VECTOR
from unnaive.text.fixed_point import vector_keys
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """Means of word vectors for a pool of texts, standardised; rows have a norm of about 1, as tf-idf rows have.

    columns  the columns of the terms that have a vector (n_words,)
    """

    columns: Ids
    view: VectorView

    @classmethod
    def of(cls, X: Sparse, vocabulary: Vocabulary, vectors: WordVectors, rule: TokenRule) -> DenseColumns | None:
        """Fit the columns on the texts of a pool (n_texts, n_terms); None if no word has a vector."""
        term_vectors = vectors.as_terms(rule).over(vocabulary)
        if not len(term_vectors.columns):
            return None
        return cls(term_vectors.columns, VectorView.of(take_columns(csr_array(X), term_vectors.columns), term_vectors))

    @property
    def factor(self) -> float:
        """The factor 1/√n_dims, which gives standardised rows a mean squared norm of 1."""
        return float(1 / np.sqrt(self.view.units.shape[1]))

    def beside(self, weighted: Sparse, X: Sparse) -> Sparse:
        """Append the vector means of documents X to their tf-idf rows (n_texts, n_terms + n_dims)."""
        rows = self.view.rows(take_columns(csr_array(X), self.columns))
        return csr_array(hstack([weighted, self.factor * rows], format="csr"))

    def word_values(self, X: Sparse, weights: Floats) -> tuple[Ids, Floats, float]:
        """Split the contribution of the vector columns, with weights (n_dims,), among the terms of a text (1, n_terms).

        Returns the terms, their contributions, and a base; base and contributions sum to that of the columns.
        """
        folded, offset = self.view.fold((self.factor * weights[None, :], np.zeros(1)))
        row = self.view.weighting.apply(take_columns(csr_array(X), self.columns))
        return self.columns[row.indices], row.data * folded[0, row.indices], float(offset[0])


@dataclass(frozen=True, eq=False)
class FieldColumns:
    """The vector fields of the documents, standardised; rows have a norm of about 1, as tf-idf rows have.

    rule        the token rule that reads only the vector fields
    vocabulary  the terms of the vector fields
    views       for each field, how its terms become numbers
    """

    rule: TokenRule
    vocabulary: Vocabulary
    views: tuple[tuple[FieldVectors, FieldView], ...]
    threads: int | None = None

    @classmethod
    def of(cls, texts: Sequence[str], rule: TokenRule, threads: int | None = None) -> FieldColumns | None:
        """Fit the columns on the documents of a pool; None if no document has a vector."""
        keys = vector_keys(rule.fields)
        if not keys:
            return None
        vector_fields = tuple(field for field in rule.fields or () if field.kind == VECTOR)
        rule = replace(rule, analyzer="word", ngrams=(1, 1), fields=vector_fields)
        counter = TextCounter(rule, threads=threads)
        X = counter.count(texts, grow=True)
        fields = [FieldVectors.over(counter.vocabulary, *key) for key in keys]
        tables = [(field, take_columns(X, field.columns)) for field in fields if field is not None]
        views = tuple((field, FieldView.of(table)) for field, table in tables if table.nnz)
        return cls(rule, counter.vocabulary, views, threads) if views else None

    @property
    def n_dims(self) -> int:
        """The number of columns."""
        return sum(field.n_dims for field, _ in self.views)

    def rows(self, texts: Sequence[str]) -> Sparse:
        """The columns of documents (n_texts, n_dims)."""
        X = csr_array(TextCounter(self.rule, self.vocabulary, threads=self.threads).count(texts))
        parts = [view.rows(take_columns(X, field.columns)) / np.sqrt(field.n_dims) for field, view in self.views]
        return csr_array(hstack(parts, format="csr"))

    def sum_by_field(self, places: Ids, values: Floats) -> dict[str, float]:
        """Sum the values of columns by field; keys have the field's name and number of dimensions."""
        sums, start = {}, 0
        for field, _ in self.views:
            inside = (places >= start) & (places < start + field.n_dims)
            sums[f"{field.name} = {field.n_dims} numbers"] = float(values[inside].sum())
            start += field.n_dims
        return sums
