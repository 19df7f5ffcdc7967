"""The functions of the module `fasttext.util`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NoReturn

import numpy as np

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.types import Singles

__all__ = ["download_model", "find_nearest_neighbor", "reduce_model", "test"]


def test(
    predictions: Iterable[Iterable[str]],
    labels: Iterable[Collection[str]],
    k: int = 1,  # noqa: PT028  # no test
) -> tuple[float, float]:
    """Precision and recall of k predicted labels of each document.

    >>> test([["a"], ["b"]], [["a"], ["a", "c"]])
    (0.5, 0.3333333333333333)
    """
    right, n_docs, n_labels = 0, 0, 0
    for predicted, true in zip(predictions, labels, strict=False):
        right += sum(label in true for label in predicted)
        n_docs += 1
        n_labels += len(true)
    if not n_docs or not n_labels or k < 1:
        raise BadData(f"{n_docs} documents with {n_labels} labels, k = {k}: give at least one of each")
    return right / (k * n_docs), right / n_labels


def find_nearest_neighbor(
    query: Singles, vectors: Singles, ban_set: Collection[int], cossims: Singles | None = None
) -> int:
    """The row of `vectors` with the largest product with `query`, except those in `ban_set`.

    `cossims`, if given, receives the products.

    >>> find_nearest_neighbor(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]]), {0})
    2
    """
    products = np.matmul(vectors, query, out=cossims)
    for row in np.argsort(-products, kind="stable").tolist():
        if row not in ban_set:
            return int(row)
    raise BadData(f"all {len(products)} vectors are in ban_set; leave one out")


def reduce_model(ft_model: Any, target_dim: int) -> NoReturn:
    """Not supported: a model here is not changed by hand."""
    raise UnnaiveError("unnaive does not reduce vectors; reduce the model with fastText, and load the smaller file")


def download_model(lang_id: str, if_exists: str = "strict", dimension: int | None = None) -> NoReturn:
    """Not supported: nothing here uses the network."""
    raise UnnaiveError(
        f"unnaive downloads nothing; fetch and unpack cc.{lang_id}.300.bin.gz of https://fasttext.cc/docs/en/crawl-vectors"
    )
