"""Vectors in training: which models use them, and the columns to add to the documents for them."""

from __future__ import annotations

import warnings
from dataclasses import replace

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids
from unnaive.data.field_vectors import FieldVectors, columns_of_words
from unnaive.data.training_data import DocumentRows
from unnaive.learning.learner import TrainingSpec
from unnaive.text.fixed_point import vector_keys
from unnaive.text.token_rule import TokenRule
from unnaive.text.vocabulary import Vocabulary

TAKERS = "auto, maxent, nbsvm and svm"  # the models that use vectors


def check_vectors(rule: TokenRule | None, spec: TrainingSpec) -> None:
    """Raise an error if documents have vectors that the model cannot use."""
    keys = vector_keys(None if rule is None else rule.fields)
    if keys and not spec.model.traits.takes_vectors:
        raise UnnaiveError(f"{spec.model.traits.title} cannot use the vectors of {keys[0][0]!r}; {TAKERS} can")


def with_vector_words(
    spec: TrainingSpec, rows: DocumentRows, rule: TokenRule | None
) -> tuple[TrainingSpec, DocumentRows]:
    """Add a column for every word with a vector, even if it is empty; returns the documents and the new `spec`.

    So the model can use words of new texts that no training document has. The new `spec` names the vector fields.
    """
    if rows.vocabulary is None or rule is None:
        return replace(spec, word_vectors=None), rows
    vectors, vocabulary = spec.word_vectors, rows.vocabulary
    if vectors is not None:
        vectors = vectors.as_terms(rule)
        if not bool((vocabulary.ids(vectors.words) >= 0).any()):
            warnings.warn(
                "no word of the training texts has a word vector, so the vectors are of no use; are they of another "
                "language?", UnnaiveWarning, stacklevel=2,
            )  # fmt: skip
        vocabulary, _ = vocabulary.union(vectors.words)
    parts = rows.X.data, rows.X.indices, rows.X.indptr
    X = csr_array(parts, shape=(rows.X.shape[0], len(vocabulary)))
    spec = replace(spec, word_vectors=vectors, vector_keys=vector_keys(rule.fields))
    return spec, replace(rows, X=X, vocabulary=vocabulary)


def has_vectors(spec: TrainingSpec, rule: TokenRule | None) -> bool:
    """Whether words have vectors, or the token rule has vector fields."""
    return spec.word_vectors is not None or bool(rule is not None and vector_keys(rule.fields))


def find_field_vectors(spec: TrainingSpec, vocabulary: Vocabulary | None) -> list[FieldVectors]:
    """The columns of each vector field that `spec` names."""
    if vocabulary is None:
        return []
    candidates = (FieldVectors.over(vocabulary, key, n_dims) for key, n_dims in spec.vector_keys)
    return [vectors for vectors in candidates if vectors is not None]


def word_columns(spec: TrainingSpec, rows: DocumentRows) -> Ids | None:
    """The columns of words, without those of the vector fields that `spec` names; None for all."""
    return columns_of_words(rows.X.shape[1], find_field_vectors(spec, rows.vocabulary))
