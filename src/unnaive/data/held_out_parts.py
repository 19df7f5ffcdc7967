"""The parts of the training documents that are held out in turn, so that a held-out document is like a new one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids
from unnaive.data.folds import block_folds, fold_strata, shuffle_blocks
from unnaive.data.products import take_columns
from unnaive.data.shared_passages import find_copies, find_shared_passages
from unnaive.data.soft_labels import likeliest_rows
from unnaive.data.targets import single_labels
from unnaive.data.training_data import DocumentRows


def parts_like_new(rows: DocumentRows, n_parts: int, *, words: Ids | None = None) -> Ids:
    """The part of each document (n_docs,), from 0 to n_parts − 1.

    Documents that quote or copy each other are in the same part; rare classes are spread over the parts. A text with
    several weighted labels is one document with its likeliest label: all its rows are in the same part.

    words  the columns in which copies and passages are looked for; None for all
    """
    likeliest = find_likeliest_rows(rows)
    if likeliest is not None:
        texts, row = np.unique(likeliest, return_inverse=True)
        if len(texts) > 1:
            once = replace(rows.take(texts), sample_weight=None)
            return parts_like_new(once, min(n_parts, len(texts)), words=words)[row]
    strata, pooled = fold_strata(rows.targets.Y)
    X, vocabulary = rows.X, rows.vocabulary
    if words is not None and vocabulary is not None:
        X, vocabulary = take_columns(csr_array(X), words), vocabulary.take(words)
    passages = find_shared_passages(X, strata, vocabulary) + find_copies(X, strata, vocabulary)
    order = passages.order()
    if pooled >= 0:
        order = shuffle_blocks(order, passages.groups(), strata == pooled)
    return block_folds(strata, n_parts, order)


def find_likeliest_rows(rows: DocumentRows) -> Ids | None:
    """For texts with several weighted labels, the row of each text with its likeliest label; None if there are none."""
    labels = single_labels(rows.targets.Y)
    if rows.sample_weight is None or labels is None or rows.targets.multilabel:
        return None
    return likeliest_rows(rows.X, labels, rows.sample_weight)
