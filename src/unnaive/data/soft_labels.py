"""Soft labels: probabilities instead of labels, for instance of a teacher model; a text is learnt once for each label.

The probability becomes the sample weight, so every model that supports weights can learn from soft labels. Its sums,
ratios and losses are the expected values over the labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveWarning, count_noun
from unnaive.base.settings import shorten_value
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.count_tables import number_equal_rows
from unnaive.data.counts import UNITS
from unnaive.data.sample_weights import SMALLEST
from unnaive.text.buffer import TextBuffer, as_texts

TOLERANCE = 0.011  # allowed error of the sum over the labels: probabilities may have been rounded to two digits
LEAST_MEAN = 0.2  # with a mean weight of half of it, models of the tickets lost 4 to 38 points of accuracy
MANY = 20  # documents from which such weights are a mistake
REST = "not {}"  # the opposite of a single label, with the remaining probability


def soft_labels(texts: Any, probabilities: Mapping[str, Any]) -> tuple[Any, list[str], Floats]:
    """Texts, labels and sample weights to fit a model on: each text once for each label with a probability above 0.

    probabilities  for each label, a number from 0 to 1 for each text. With a single label such as "good", the remaining
                   probability goes to its opposite, "not good"

    >>> texts, labels, weight = soft_labels(["fine prose", "buy now"], {"good": [1.0, 0.25]})
    >>> texts, labels, weight.tolist()
    (['fine prose', 'buy now', 'buy now'], ['good', 'good', 'not good'], [1.0, 0.25, 0.75])
    """
    documents = as_texts(texts)
    rows, labels, weight = expand_probabilities(probabilities, len(documents))
    warn_about_sums(sum_probabilities(rows, weight, len(documents)))
    if isinstance(documents, TextBuffer):
        return documents.take(rows), labels, weight
    return [documents[row] for row in rows.tolist()], labels, weight


def expand_probabilities(
    probabilities: Mapping[str, Any], n_docs: int, first: int = 0
) -> tuple[Ids, list[str], Floats]:  # fmt: skip
    """Row, label and weight of every pair of text and label with a probability above 0, text by text.

    Probabilities are rounded to 24 binary digits. Then sums of weights are exact in float64 up to 2²⁹ documents or
    occurrences, so that models do not depend on the order of texts, on files or on partitions.

    `first` is the number of rows before these; it is added to the row numbers in errors.
    """
    if not probabilities:
        raise BadData("there are no probabilities; give those of at least one label")
    table = {label: _check_probabilities(values, label, n_docs, first) for label, values in probabilities.items()}
    if len(table) == 1:
        ((label, values),) = table.items()
        table[REST.format(label)] = 1 - values
    names = list(table)
    weights = np.stack([table[name] for name in names], axis=1)
    rows, columns = np.nonzero(weights >= SMALLEST)
    return rows.astype(np.int64), [names[column] for column in columns.tolist()], weights[rows, columns]


def sum_probabilities(rows: Ids, weight: Floats, n_docs: int) -> Floats:
    """The sum of the probabilities of each text (n_docs,), from rows and weights of pairs of text and label."""
    return np.asarray(np.bincount(rows, weight, n_docs), np.float64)


def warn_about_sums(sums: Floats) -> None:
    """Warn if the probabilities of a text do not sum to 1; `sums` are those of all texts (n_docs,)."""
    n_other, n_empty = int(np.count_nonzero(np.abs(sums - 1) > TOLERANCE)), int(np.count_nonzero(sums == 0))
    if not n_other:
        return
    empty = f"; {count_noun(n_empty, 'text')} of probability 0 {'is' if n_empty == 1 else 'are'} not learnt"
    warnings.warn(
        f"the probabilities of {n_other:,} of {count_noun(len(sums), 'text')} do not sum to 1; such a text is learnt "
        f"with the sum as its weight{empty if n_empty else ''}",
        UnnaiveWarning,
        stacklevel=3,
    )


def likeliest_rows(X: Sparse, labels: Ids, weight: Floats) -> Ids | None:
    """For each row of X the row of the same text with its likeliest label (n_rows,); None without soft labels.

    Rows with the same terms are a text with soft labels if they have several labels, and weights of at most 1 that sum
    to the number of times that it occurs; any other row is a document by itself. The likeliest label has the largest
    sum of weights. If a text occurs k times with every label, the i-th row of each label belongs to the i-th row of the
    likeliest.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 0], [1, 0], [0, 1], [1, 0], [1, 0]])
    >>> likeliest_rows(X, np.array([0, 1, 0, 0, 1]), np.array([0.2, 0.8, 1.0, 0.4, 0.6])).tolist()
    [1, 1, 2, 4, 4]
    >>> likeliest_rows(X, np.array([0, 1, 0, 0, 1]), np.array([3.0, 1.0, 1.0, 1.0, 3.0])) is None    # no shares
    True
    """
    text = number_equal_rows(X)
    n_labels = int(labels.max(initial=0)) + 1
    keys, pair, size = np.unique(text * n_labels + labels, return_inverse=True, return_counts=True)
    texts = keys // n_labels
    times = np.zeros(int(text.max(initial=-1)) + 1)  # how often each text occurs
    np.maximum.at(times, texts, size)
    largest = np.zeros(len(times))
    np.maximum.at(largest, text, weight)
    is_soft = (np.bincount(texts, minlength=len(times)) > 1) & (largest <= 1)
    is_soft &= np.abs(np.bincount(text, weight, len(times)) - times) <= TOLERANCE * times
    is_soft &= np.bincount(text, minlength=len(times)) > times
    if not is_soft.any():
        return None
    by_weight = np.lexsort((-np.bincount(pair, weight), texts))
    best = by_weight[np.unique(texts[by_weight], return_index=True)[1]]
    by_pair, start = np.argsort(pair, kind="stable"), np.cumsum(size) - size
    rank = np.empty(len(pair), np.int64)
    rank[by_pair] = np.arange(len(pair)) - start[pair[by_pair]]
    target = best[text]
    return np.where(is_soft[text], by_pair[start[target] + rank % size[target]], np.arange(len(text)))


def _check_probabilities(values: Sequence[Any] | NDArray[Any], label: str, n_docs: int, first: int) -> Floats:
    """Probabilities as floats (n_docs,), in multiples of 1/UNITS; an error names the first invalid value."""
    values = values if hasattr(values, "__len__") else list(values)
    probabilities = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            probabilities[row] = float(value)
        except (TypeError, ValueError):
            probabilities[row] = np.nan
        if not 0 <= probabilities[row] <= 1:
            number = first + row + 1
            raise BadData(
                f"the probability of {label!r} in row {number} is {shorten_value(value)}; give a number from 0 to 1"
            )
    if len(probabilities) != n_docs:
        raise BadData(
            f"{n_docs} texts came with {len(probabilities)} probabilities of {label!r}; give one for each text"
        )
    return np.asarray(np.rint(probabilities * UNITS) / UNITS)


def warn_about_small_weights(X: Sparse, labels: Ids | None, weight: Floats) -> None:
    """Warn if weights are far below 1 on average: a model smooths and regularises as for so few documents.

    Weights of 0 are left out, and all rows of a text with soft labels are one document; `labels` (n_rows,) is None for
    multilabel data, which has no soft labels.
    """
    if float(weight.sum()) >= LEAST_MEAN * np.count_nonzero(weight):
        return
    likeliest = None if labels is None else likeliest_rows(X, labels, weight)
    n_docs = np.count_nonzero(weight) if likeliest is None else len(np.unique(likeliest[weight > 0]))
    total = float(weight.sum())
    if n_docs >= MANY and total < LEAST_MEAN * n_docs:
        like = "a single document" if total < 1.5 else f"{total:,.0f} documents"
        warnings.warn(
            f"the sample weights of {n_docs:,} documents sum to {total:.3g}, so models smooth and regularise as for "
            f"{like}; divide the weights by their mean, {total / n_docs:.3g}, unless that is meant",
            UnnaiveWarning,
            stacklevel=2,
        )
