"""Vectors in training: which models weigh them, and the columns that they need of documents, though none has them."""

from __future__ import annotations

from dataclasses import replace

from unnaive.base.errors import UnnaiveError
from unnaive.base.sparse import csr_array
from unnaive.data.field_vectors import FieldVectors, missing_power_terms, vector_keys
from unnaive.data.training_data import DocumentRows
from unnaive.learning.learner import TrainingSpec
from unnaive.text.token_rule import TokenRule
from unnaive.text.vocabulary import Vocabulary

TAKERS = "auto, maxent, nbsvm and svm"  # the models that weigh vectors


def check_vectors(rule: TokenRule | None, spec: TrainingSpec) -> None:
    """An error where documents have vectors that the model cannot weigh."""
    keys = vector_keys(None if rule is None else rule.fields)
    if keys and not spec.model.takes_vectors:
        raise UnnaiveError(f"{spec.model.title} cannot weigh the vectors of {keys[0][0]!r}; {TAKERS} can")


def with_vector_words(
    spec: TrainingSpec, rows: DocumentRows, rule: TokenRule | None
) -> tuple[TrainingSpec, DocumentRows]:
    """The documents with a column, empty or not, for every word with a vector; `spec` with vectors of these terms.

    So words of new texts count, though no training document has them, and numbers of vector fields larger than those of
    training do.
    """
    if rows.vocabulary is None or rule is None:
        return replace(spec, vectors=None), rows
    vectors, vocabulary = spec.vectors, rows.vocabulary
    if vectors is not None:
        vectors = vectors.as_terms(rule)
        vocabulary, _ = vocabulary.union(vectors.words)
    keys = vector_keys(rule.fields)
    vocabulary, _ = vocabulary.union(missing_power_terms(rows.vocabulary, keys))
    parts = rows.X.data, rows.X.indices, rows.X.indptr
    X = csr_array(parts, shape=(rows.X.shape[0], len(vocabulary)))
    return replace(spec, vectors=vectors, vector_keys=keys), replace(rows, X=X, vocabulary=vocabulary)


def has_vectors(spec: TrainingSpec, rule: TokenRule | None) -> bool:
    """Whether words have vectors, or documents that the rule reads."""
    return spec.vectors is not None or bool(rule is not None and vector_keys(rule.fields))


def find_field_vectors(spec: TrainingSpec, vocabulary: Vocabulary | None) -> list[FieldVectors]:
    """The columns of the numbers of each vector field, of which `spec` names them."""
    if vocabulary is None:
        return []
    candidates = (FieldVectors.over(vocabulary, key, n_dims) for key, n_dims in spec.vector_keys)
    return [vectors for vectors in candidates if vectors is not None]
