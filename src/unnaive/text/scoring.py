"""Texts → scores of linear models, without a matrix in between; weights are plain arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unnaive.base.errors import BadData
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats
from unnaive.text.backend import engine_kind, kernel
from unnaive.text.buffer import Texts, as_texts
from unnaive.text.choose_engine import engine_for, scorer_for
from unnaive.text.reference import LinearArrays
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unnaive.text.characters import MixedRows


class TextScorer:
    """Class scores of raw texts.

    score(c) = bias[c] + Σ_t n_t · (arcs[c, t] + term_background[t] + class_background[c])

    n_t is the count of term t; with `binary`, 1 if it occurs and 0 otherwise. `arcs` are the weights (n_classes,
    n_terms), dense or sparse; the other arrays are zero by default. The best class is found by the float64 scores;
    of equal ones it is the first.

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
            raise BadData(
                f"arcs have shape {arcs.shape}; expected (n_classes, {len(vocabulary)}), a column for each term"
            )
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
        """Copies, also in other processes, build their own tables."""
        return TextScorer, (*self._made_of, *self._options)

    def scores(self, texts: Any) -> Floats:
        """(n_texts, n_classes) scores."""
        return self.scores_and_known(texts)[0]

    def scores_and_known(self, texts: Any, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """The scores, and (n_texts,) the number of known term occurrences of each text, in one pass.

        A text whose best class leads every other by more than `clear` may get 0 for it and −∞ for the others, which is
        several times faster.
        """
        return self._scorer.scores_and_known(as_texts(texts), clear)

    def best(self, texts: Any) -> NDArray[np.int64]:
        """(n_texts,) the class with the highest score; the first of equal ones."""
        return self._scorer.best(as_texts(texts))

    def known_terms(self, texts: Any) -> NDArray[np.int64]:
        """(n_texts,) the number of known term occurrences of each text."""
        counts, _, ends = self._scorer.engine.count(as_texts(texts), grow=False)
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
        return np.diff(sums[ends])


class TfIdfPart(NamedTuple):
    """A linear model over normalised (1 + log n) · idf.

    row_of_term  the row of `weights` of each term (n_terms,), −1 for none; None if row t belongs to term t
    idf          the idf of each row (n_rows,)
    weights      (n_rows, n_classes), float32 or float64
    bias         (n_classes,)
    norm         "l2" for documents of length 1, "l1" for documents that sum to 1
    """

    row_of_term: NDArray[np.int32] | None
    idf: Floats
    weights: NDArray[Any]
    bias: Floats
    norm: str = "l2"


class TfIdfTextScorer:
    """Class scores of raw texts by a sum of linear models over tf-idf; needs the native kernel.

    score(c) = bias[c] + Σ_parts bias_part[c] + Σ_t z_t · weights[row_t, c] / length,  z_t = (1 + log n_t) · idf_t

    >>> part = TfIdfPart(None, np.ones(2), np.array([[2.0, 0.0], [0.0, 3.0]]), np.zeros(2))
    >>> scorer = TfIdfTextScorer(TokenRule(), Vocabulary(["ball", "vote"]), np.array([0.5, 0.0]), [part])
    >>> scorer.scores(["ball", "a vote", ""])
    array([[2.5, 0. ],
           [0.5, 3. ],
           [0.5, 0. ]])
    """

    def __init__(
        self,
        rule: TokenRule,
        vocabulary: Vocabulary,
        bias: Floats,
        parts: list[TfIdfPart],
        threads: int | None = None,
    ) -> None:
        self.threads = thread_count(threads)
        self._engine: Any = engine_for(rule, vocabulary, self.threads, "native")
        self._reads_words = rule.analyzer == "word" and rule.segmenter is None
        every = np.arange(len(vocabulary), dtype=np.int32)
        self._columns = every  # columns of the terms, for an engine that counts only words
        places = [every if part.row_of_term is None else part.row_of_term for part in parts]
        tables = [
            (rows, part.idf, part.weights, part.bias, part.norm == "l1")
            for rows, part in zip(places, parts, strict=True)
        ]
        self._scorer = kernel.TfIdfScorer(tables, np.ascontiguousarray(bias, np.float64), len(vocabulary))

    def scores(self, texts: Any) -> Floats:
        """(n_texts, n_classes) scores."""
        return self.scores_and_known(texts)[0]

    def scores_and_known(self, texts: Any) -> tuple[Floats, NDArray[np.int64] | None]:
        """The scores, and (n_texts,) the number of known term occurrences of each text.

        None instead of the latter unless terms are words that the kernel reads, which takes one pass.
        """
        documents = as_texts(texts)
        if self._reads_words:
            result: tuple[Floats, NDArray[np.int64]] = self._engine.read(
                self._scorer.text_scores, documents, False, engine=self._engine.kernel
            )
            return result
        return self._row_scores(documents), None

    def _row_scores(self, documents: Texts) -> Floats:
        """The scores by way of rows of counts, for character n-grams and for segmenters in Python."""
        if hasattr(self._engine, "use"):
            scores: Floats = self._engine.use(documents, False, self._score)
            return scores
        counts, ids, ends = self._engine.count(documents, False)
        none = np.zeros(0, np.int32)
        words = counts, ids.astype(np.int32, copy=False), ends.astype(np.int64), self._columns
        no_units = none, none, np.zeros(len(ends), np.int64)
        return self._scorer.scores(None, no_units, words, self.threads)  # type: ignore[no-any-return]

    def _score(self, rows: MixedRows) -> Any:
        return self._scorer.scores(rows.grams, rows.units, rows.words, self.threads)


def _vector(values: ArrayLike | None, length: int, name: str) -> Floats:
    vector = np.zeros(length) if values is None else np.ascontiguousarray(values, dtype=np.float64)
    if vector.shape != (length,):
        raise BadData(f"{name} has shape {vector.shape}; expected ({length},)")
    return vector
