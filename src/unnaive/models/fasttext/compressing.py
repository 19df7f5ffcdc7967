"""Compress a fastText model: quantise rows to fewer bits, and drop the least important rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Floats, Ids
from unnaive.learning.fitted import FittedModel
from unnaive.models.fasttext.features import END
from unnaive.models.fasttext.scorer import FastTextScorer
from unnaive.text.vocabulary import Vocabulary


def shrink_fasttext(
    fitted: FittedModel, limit: int, size: Callable[[FittedModel], int], bits: Sequence[int]
) -> tuple[FittedModel, int]:
    """A model of at most `limit` bytes: fewer bits, then fewer rows, for words and hashed n-grams alike."""
    scorer: Any = fitted.scorer
    vocabulary = fitted.vocabulary or Vocabulary()
    for width in bits:
        small = replace(fitted, scorer=rounded(scorer, width))
        if size(small) <= limit:
            return small, width
    order = np.argsort(-row_importance(scorer, vocabulary), kind="stable")

    def with_rows(n: int) -> FittedModel:
        some, words = keep_rows(scorer, vocabulary, np.sort(order[:n]))
        return replace(fitted, scorer=rounded(some, bits[-1]), vocabulary=words)

    low, high = 0, len(order)  # low fits, high does not
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if size(with_rows(middle)) <= limit else (low, middle)
    if not low:
        raise UnnaiveError(
            f"{limit:,} bytes are too few for a model of {len(fitted.classes):,} classes, which needs "
            f"{size(with_rows(1)):,} with one row; allow more"
        )
    return with_rows(low), bits[-1]


def rounded(scorer: FastTextScorer, bits: int) -> FastTextScorer:
    """Rows as integer multiples, of at most 2^(bits−1) − 1 in magnitude, of a step for each column.

    step[j] = max_r |row[r, j]| / (2^(bits−1) − 1)
    """
    rows = scorer.dense_rows
    largest = np.abs(rows).max(axis=0, initial=0.0)
    step = (np.where(largest > 0, largest, 1.0) / (2 ** (bits - 1) - 1)).astype(np.float32)
    whole: Any = np.rint(rows / step).astype(np.int8 if bits == 8 else np.int16)
    return replace(scorer, rows=whole, step=step)


def row_importance(scorer: FastTextScorer, vocabulary: Vocabulary) -> Floats:
    """The importance of each row (n_rows,): its length, as in fastText's pruning; the end of a line is always kept."""
    rows = scorer.dense_rows
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if END in vocabulary:
        length[vocabulary.id(END)] = np.inf
    return np.asarray(length)


def keep_rows(scorer: FastTextScorer, vocabulary: Vocabulary, row_ids: Ids) -> tuple[FastTextScorer, Vocabulary]:
    """The model with only these rows (ascending); other words and n-grams become unknown."""
    words = row_ids[row_ids < scorer.n_words]
    grams = row_ids[row_ids >= scorer.n_words] - scorer.n_words
    pairs = None
    if scorer.maxn > 0 or scorer.word_ngrams > 1:
        new = np.full(len(scorer.dense_rows) - scorer.n_words, -1, np.int32)
        new[grams] = np.arange(len(grams), dtype=np.int32)
        if scorer.kept is None:
            pairs = np.column_stack([grams, new[grams]]).astype(np.int32)
        else:
            pairs = np.column_stack([scorer.kept[:, 0], new[scorer.kept[:, 1]]]).astype(np.int32)
            pairs = pairs[pairs[:, 1] >= 0]
    rows = np.ascontiguousarray(scorer.dense_rows[row_ids])
    small = replace(scorer, rows=rows, step=None, n_words=len(words), kept=pairs)
    return small, vocabulary.take(words)
