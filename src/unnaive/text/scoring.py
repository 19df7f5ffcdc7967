"""Texts → scores of a linear model, without a matrix in between; the weights come from core, as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unnaive.errors import BadData
from unnaive.text.backend import engine_kind, thread_count
from unnaive.text.buffer import as_texts
from unnaive.text.engines import scorer_for
from unnaive.text.reference import LinearArrays
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

Scores = NDArray[np.float64]


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
        arcs = arcs if hasattr(arcs, "tocsr") else np.asarray(arcs, dtype=np.float64)
        if len(arcs.shape) != 2 or arcs.shape[1] != len(vocabulary):
            raise BadData(f"arcs have shape {arcs.shape}; expected a row for each class of {len(vocabulary)} terms")
        linear = LinearArrays(
            arcs,
            _vector(class_background, arcs.shape[0], "class_background"),
            _vector(term_background, arcs.shape[1], "term_background"),
            _vector(bias, arcs.shape[0], "bias"),
            bool(binary),
        )
        self._made_of = (rule, vocabulary, arcs, linear.class_background, linear.term_background, linear.bias)
        self._options = (linear.binary, thread_count(threads), engine_kind(backend))
        self._scorer = scorer_for(rule, vocabulary, linear, *self._options[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and other processes make their own tables."""
        return TextScorer, (*self._made_of, *self._options)

    def scores(self, texts: Any) -> Scores:
        """(n_texts, n_classes) scores."""
        return self._scorer.scores(as_texts(texts))

    def best(self, texts: Any) -> NDArray[np.int64]:
        """(n_texts,) the class with the highest score, the lowest of equals."""
        return self._scorer.best(as_texts(texts))

    def known_terms(self, texts: Any) -> NDArray[np.int64]:
        """(n_texts,) how many mentions of terms of the vocabulary each text has."""
        counts, _, ends = self._scorer.engine.count(as_texts(texts), grow=False)
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        return np.diff(sums[ends])


def _vector(values: ArrayLike | None, length: int, name: str) -> Scores:
    vector = np.zeros(length) if values is None else np.ascontiguousarray(values, dtype=np.float64)
    if vector.shape != (length,):
        raise BadData(f"{name} has shape {vector.shape}; expected ({length},)")
    return vector
