"""Texts → scores of a linear model, without a matrix in between; the weights come from core, as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from unnaive.errors import BadData
from unnaive.text.backend import engine_kind, thread_count
from unnaive.text.buffer import Texts, as_texts
from unnaive.text.reference import ReferenceEngine
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

Scores = NDArray[np.float64]
_CHUNK = 1024  # texts whose scores the reference holds at a time


class TextScorer:
    """Scores of each class for raw texts.

    score(c) = bias[c] + Σ_t n_t · (arcs[c, t] + term_background[t] + class_background[c])

    n_t is the count of term t, or with `binary` whether it is there. `arcs` is (n_classes, n_terms), dense or
    sparse; the rest may be left out, which means zero. The best class is by the float64 scores, the lowest of equals.

    >>> scorer = TextScorer(TokenRule(), Vocabulary(["ball", "vote"]), [[2.0, 0.0], [0.0, 3.0]], bias=[0.5, 0.0])
    >>> scorer.scores(["ball vote ball", ""]), scorer.best(["vote", ""])
    (array([[4.5, 3. ],
           [0.5, 0. ]]), array([1, 0]))
    """

    def __init__(
        self,
        rule: TokenRule,
        vocabulary: Vocabulary,
        arcs: Any,
        class_background: ArrayLike | None = None,
        term_background: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        binary: bool = False,
        threads: int | None = None,
        backend: str | None = None,
    ) -> None:
        self.threads = thread_count(threads)
        self.binary = binary
        self.arcs = arcs if hasattr(arcs, "tocsc") else np.asarray(arcs, dtype=np.float64)
        if self.arcs.ndim != 2 or self.arcs.shape[1] != len(vocabulary):
            raise BadData(
                f"arcs have shape {self.arcs.shape}; expected a row for each class of {len(vocabulary)} terms"
            )
        n_classes, n_terms = self.arcs.shape
        self.class_background = _vector(class_background, n_classes, "class_background")
        self.term_background = _vector(term_background, n_terms, "term_background")
        self.bias = _vector(bias, n_classes, "bias")
        self.backend = engine_kind(backend)
        self._engine = ReferenceEngine(rule, vocabulary)

    def scores(self, texts: Any) -> Scores:
        """(n_texts, n_classes) scores."""
        return self._reference_scores(as_texts(texts))

    def best(self, texts: Any) -> NDArray[np.int64]:
        """(n_texts,) the class with the highest score, the lowest of equals."""
        texts = as_texts(texts)
        chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
        found = [self._reference_scores(chunk).argmax(axis=1) for chunk in chunks]
        return np.concatenate([np.zeros(0, dtype=np.int64), *found])

    def _reference_scores(self, texts: Texts) -> Scores:
        data, indices, indptr = self._engine.count(texts, grow=False)
        counts = np.ones_like(data) if self.binary else data
        x = csr_array((counts.astype(np.float64), indices, indptr), shape=(len(texts), len(self._engine)))
        seen = x @ self.arcs.T
        seen = seen.toarray() if hasattr(seen, "toarray") else seen
        shared = np.outer(x.sum(axis=1), self.class_background) + (x @ self.term_background)[:, None]
        return np.asarray(seen + (shared + self.bias))


def _vector(values: ArrayLike | None, length: int, name: str) -> Scores:
    vector = np.zeros(length) if values is None else np.asarray(values, dtype=np.float64)
    if vector.shape != (length,):
        raise BadData(f"{name} has shape {vector.shape}; expected ({length},)")
    return vector
