"""Word vectors in the labelling loop: the mean of a text's vectors as further columns beside its tf-idf.

The linear model weighs both; what it says of the further columns folds into the words of a text, so that explanations
name words alone and are exact (models/auto/vector_view.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.word_vectors import WordVectors
from unnaive.models.auto.vector_view import VectorView
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
