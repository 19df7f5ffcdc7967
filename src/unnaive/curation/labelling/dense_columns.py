"""Vectors in the labelling loop: the mean of those of a text's words, and its own, as columns beside its tf-idf.

The linear model weighs both; what it says of the further columns folds into the words of a text, so that explanations
name words alone and are exact (models/auto/vector_view.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, hstack

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.field_vectors import FieldVectors, missing_power_terms, vector_keys
from unnaive.data.products import take_columns
from unnaive.data.word_vectors import WordVectors
from unnaive.models.auto.vector_view import VectorView
from unnaive.text.counting import TextCounter
from unnaive.text.sections import vector_lengths
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """Means of word vectors over a pool of texts, standardised, rows about as long as those of tf-idf.

    columns  of the pool's terms that have a vector (n_words,)
    """

    columns: Ids
    view: VectorView

    @classmethod
    def of(cls, X: Sparse, vocabulary: Vocabulary, vectors: WordVectors, rule: TokenRule) -> DenseColumns | None:
        """From the texts of a pool (n_texts, n_terms); None where no word of them has a vector."""
        found = vectors.as_terms(rule).over(vocabulary)
        if not len(found.columns):
            return None
        return cls(found.columns, VectorView.of(take_columns(csr_array(X), found.columns), found))

    @property
    def factor(self) -> float:
        """What standardised numbers are multiplied by: a row of n_dims of them is then of length 1 on the mean."""
        return float(1 / np.sqrt(self.view.units.shape[1]))

    def beside(self, weighted: Sparse, X: Sparse) -> Sparse:
        """tf-idf documents (n_texts, n_terms) with the means of documents X as further columns."""
        rows = self.view.rows(take_columns(csr_array(X), self.columns))
        return csr_array(hstack([weighted, self.factor * rows], format="csr"))

    def word_values(self, X: Sparse, weights: Floats) -> tuple[Ids, Floats, float]:
        """What weights (n_dims,) of the further columns add: terms of a text X (1, n_terms), their values, and a base.

        The base and the values sum to the weighted sum of the columns.
        """
        folded, offset = self.view.fold((self.factor * weights[None, :], np.zeros(1)))
        row = self.view.weighting.apply(take_columns(csr_array(X), self.columns))
        return self.columns[row.indices], row.data * folded[0, row.indices], float(offset[0])


@dataclass(frozen=True, eq=False)
class FieldColumns:
    """The vector fields of a pool's records: further columns, standardised, as long as those of tf-idf.

    rule        reads the vector fields alone
    vocabulary  their terms
    views       how each becomes numbers, by the name of the field
    """

    rule: TokenRule
    vocabulary: Vocabulary
    views: tuple[tuple[FieldVectors, VectorView], ...]
    threads: int | None = None

    @classmethod
    def of(cls, texts: Sequence[str], rule: TokenRule, threads: int | None = None) -> FieldColumns | None:
        """From the records of a pool; None where none has a vector."""
        keys = vector_keys(rule.fields)
        if not keys:
            return None
        names = vector_lengths(rule.fields)
        own = tuple(one for one in rule.fields or () if one.rpartition(":")[0] in names)
        rule = replace(rule, analyzer="word", ngrams=(1, 1), fields=own)
        counter = TextCounter(rule, threads=threads)
        counts = counter.count(texts, grow=True)
        vocabulary, _ = counter.vocabulary.union(missing_power_terms(counter.vocabulary, keys))
        X = csr_array((counts.data, counts.indices, counts.indptr), shape=(len(texts), len(vocabulary)))
        fields = [one for one in (FieldVectors.over(vocabulary, *key) for key in keys) if one is not None]
        views = tuple((one, VectorView.of(take_columns(X, one.columns), one)) for one in fields)
        return cls(rule, vocabulary, views, threads) if views else None

    @property
    def n_dims(self) -> int:
        """How many columns there are."""
        return sum(one.n_dims for one, _ in self.views)

    def rows(self, texts: Sequence[str]) -> Sparse:
        """The columns of records (n_texts, n_dims)."""
        X = csr_array(TextCounter(self.rule, self.vocabulary, threads=self.threads).count(texts))
        parts = [view.rows(take_columns(X, one.columns)) / np.sqrt(one.n_dims) for one, view in self.views]
        return csr_array(hstack(parts, format="csr"))

    def sum_by_field(self, places: Ids, values: Floats) -> dict[str, float]:
        """What values of some of the columns sum to, by the name of the field and how many numbers it has."""
        found, start = {}, 0
        for one, _ in self.views:
            inside = (places >= start) & (places < start + one.n_dims)
            found[f"{one.name} = {one.n_dims} numbers"] = float(values[inside].sum())
            start += one.n_dims
        return found
