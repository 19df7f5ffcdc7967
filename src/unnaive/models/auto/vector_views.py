"""The views of vectors that `auto` has: means of word vectors, squares of word vectors, and vector fields."""

from __future__ import annotations

from collections.abc import Sequence

from unnaive.base.types import Floats, Sparse
from unnaive.data.field_vectors import FieldVectors
from unnaive.data.word_vectors import TermVectors
from unnaive.models.auto.candidates import DENSE, SQUARED, Candidate
from unnaive.models.auto.squared_view import MOST_DOCUMENTS, SquaredVectors, SquaredView
from unnaive.models.auto.views import SQUARES, VECTORS, field_view_name
from unnaive.models.vectors.columns import AnyView, Vectors, make_view

AnyVectors = Vectors | SquaredVectors  # the input of a view of vectors
VectorsView = AnyView | SquaredView


def vector_view_name(vectors: AnyVectors) -> str:
    """The name of the view of these vectors."""
    if isinstance(vectors, FieldVectors):
        return field_view_name(vectors.name)
    return SQUARES if isinstance(vectors, SquaredVectors) else VECTORS


def make_vector_view(X: Sparse, vectors: AnyVectors, weight: Floats | None = None) -> VectorsView:
    """The view of vectors, fitted on the columns of these vectors in training documents (n_docs, n_columns)."""
    return SquaredView.of(vectors) if isinstance(vectors, SquaredVectors) else make_view(X, vectors, weight)


def vector_candidates(vectors: AnyVectors) -> Sequence[Candidate]:
    """The candidates to try on the view of these vectors."""
    return SQUARED if isinstance(vectors, SquaredVectors) else DENSE


def is_of_words(vectors: AnyVectors | None) -> bool:
    """Whether the vectors are of words, whose weights are rounded to 8 bits."""
    return isinstance(vectors, TermVectors | SquaredVectors)


def with_squares(vectors: Sequence[Vectors]) -> list[AnyVectors]:
    """The vectors, and the squares of word vectors."""
    return [*vectors, *(SquaredVectors(item) for item in vectors if isinstance(item, TermVectors))]


def vectors_to_search(vectors: Sequence[AnyVectors], n_docs: int) -> list[AnyVectors]:
    """The vectors whose views are tried with this number of documents."""
    return list(vectors) if n_docs <= MOST_DOCUMENTS else list(without_squares(vectors))


def without_squares(vectors: Sequence[AnyVectors]) -> list[Vectors]:
    """The vectors without the squares of word vectors."""
    return [item for item in vectors if not isinstance(item, SquaredVectors)]
