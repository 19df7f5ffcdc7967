"""Vectors of words of a classifier that was trained here: its weights in few dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Floats, Singles
from unnaive.learning.fitted import FittedModel
from unnaive.linear.linear import Linear
from unnaive.models.fasttext.fasttext_vectors import NearestWords
from unnaive.text.tokens import GRAM

CELLS = 1 << 22  # weights that are read at a time


class TrainedVectors(NearestWords):
    """Rows for terms and for classes whose products are the weights, as in fastText's models.

    weight[c, t] = output[c] · rows[t]. With V the eigenvectors of weights · weightsᵀ, strongest first, `output` is V
    and `rows` is weightsᵀ · V, both cut to `dim` columns, or filled with zeros; the products are exact if there are no
    more classes than columns. The vector of a word is the mean of its own row and those of its character n-grams, and
    that of a line the mean over its terms.
    """

    def __init__(self, fitted: FittedModel, dim: int) -> None:
        if not isinstance(fitted.scorer, Linear):
            raise UnnaiveError(
                f"a {fitted.spec.model.traits.title} has no single weight for each word and class, so its words have "
                "no vectors; train with multilabel=False or fewer labels, or load a file of fastText"
            )
        self.fitted, self.scorer, self.dim = fitted, fitted.scorer, dim
        self.terms = () if fitted.vocabulary is None else fitted.vocabulary.terms
        self.words = [term for term in self.terms if is_word(term)]

    @lazy_property
    def output(self) -> Singles:
        """A row for each class (n_classes, dim)."""
        n_classes = self.scorer.n_classes
        gram = np.zeros((n_classes, n_classes))
        for columns in self._blocks():
            weights = self.scorer.weights(columns).astype(np.float64)
            gram += weights @ weights.T
        vectors = np.linalg.eigh(gram)[1][:, ::-1][:, : self.dim]
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
        return self._filled(vectors * signs)

    @lazy_property
    def rows(self) -> Singles:
        """A row for each term (n_terms, dim)."""
        rows = np.empty((self.scorer.n_terms, self.dim), np.float32)
        for columns in self._blocks():
            rows[columns] = self.scorer.weights(columns).T @ self.output
        return rows

    @lazy_property
    def ids(self) -> dict[str, int]:
        """The row of each word."""
        return {term: row for row, term in enumerate(self.terms) if is_word(term)}

    @lazy_property
    def word_vectors(self) -> Singles:
        """The vectors of all words (n_words, dim)."""
        if len(self.words) == len(self.terms):
            return self.rows
        return np.array([self.word(word) for word in self.words], np.float32).reshape(-1, self.dim)

    def word(self, word: str) -> Singles:
        """The mean of the rows of a word and of its character n-grams (dim,); zero if none is known."""
        return self._mean(self._counts(word))

    def sentence(self, text: str) -> Singles:
        """The mean of the rows of the terms of a text (dim,)."""
        return self._mean(self._counts(text))

    def subwords(self, word: str) -> tuple[list[str], list[int]]:
        """The known terms in a word, itself and its character n-grams, and their rows."""
        rows = self._counts(word).indices.tolist()
        return [self.terms[row].removeprefix(GRAM) for row in rows], rows

    def subword_id(self, subword: str) -> int:
        """The row of a character n-gram; −1 if it is unknown."""
        return int(self.fitted.vocabulary.ids([f"{GRAM}{subword}"])[0]) if self.fitted.vocabulary is not None else -1

    def _counts(self, text: str) -> Any:
        return self.fitted.reader.read_one(text).row

    def _mean(self, counts: Any) -> Singles:
        total = float(counts.sum())
        mean: Floats = (counts @ self.rows)[0] / max(total, 1.0)
        return np.asarray(mean, np.float32)

    def _blocks(self) -> list[NDArray[np.int64]]:
        step = max(1, CELLS // self.scorer.n_classes)
        columns = np.arange(self.scorer.n_terms)
        return [columns[start : start + step] for start in range(0, len(columns), step)]

    def _filled(self, values: Floats) -> Singles:
        missing = self.dim - values.shape[1]
        return np.pad(values, ((0, 0), (0, missing))).astype(np.float32)


def is_word(term: str) -> bool:
    """Whether a term is one word: not several, and no character n-gram.

    >>> [term for term in ("good", "good ball", "#oo") if is_word(term)]
    ['good']
    """
    return " " not in term and not term.startswith(GRAM)
