"""The random sample of the texts on which accuracy is measured.

A random order of the texts is drawn once, and a part of it is reserved: nobody is asked about a reserved text for
another reason than its turn in this order, and no model learns its label while texts are being labelled. So the
reserved texts up to the first one without an answer are a simple random sample of all texts, whatever else was asked,
searched or imported, and by however many people, and their accuracy is that of new texts of the same kind.

Texts that were asked about for their uncertainty are not such a sample, nor are the texts that are left after them. Nor
would it be enough to score random texts by models fitted without them: the model that has learnt a text does not ask
about similar ones, and is weaker there without it. On the tickets, such an estimate was 10 points too low.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from unnaive.base.types import Ids


class RandomTexts(NamedTuple):
    """The texts of the random order by their use: the first questions, the reserved texts, the others."""

    first: Ids
    reserved: Ids
    others: Ids


@lru_cache(maxsize=8)
def draw_random_texts(n_texts: int, n_first: int, share: float, seed: int = 0) -> RandomTexts:
    """The random order, the same for every process and person: `share` of the texts after the first are reserved.

    >>> [len(texts) for texts in draw_random_texts(120, 20, 0.1)]
    [20, 10, 90]
    """
    order: Ids = np.random.default_rng([seed, n_texts, 20]).permutation(n_texts)
    order.setflags(write=False)
    n_reserved = round(share * max(0, n_texts - n_first))
    return RandomTexts(*np.split(order, [min(n_first, n_texts), min(n_first, n_texts) + n_reserved]))


@lru_cache(maxsize=8)
def draw_appended_texts(ends: tuple[int, ...], n_first: int, share: float, seed: int = 0) -> RandomTexts:
    """The random order of texts that came in several parts; `ends` has the number of texts after each.

    `share` of each part is reserved. The reserved texts of a part get random places among the earlier ones, so that the
    first texts of the order without a gap are still a random sample of all parts: accuracy is measured again once the
    new texts among them have their labels.

    >>> [len(texts) for texts in draw_appended_texts((120, 220), 20, 0.1)]
    [20, 20, 180]
    """
    texts = draw_random_texts(ends[0], n_first, share, seed)
    for start, end in pairwise(ends):
        draw = np.random.default_rng([seed, end, 21])
        appended = start + draw.permutation(end - start)
        reserved, others = np.split(appended, [round(share * len(appended))])
        texts = RandomTexts(texts.first, _mix(texts.reserved, reserved, draw), _mix(texts.others, others, draw))
    return texts


def _mix(earlier: Ids, later: Ids, draw: np.random.Generator) -> Ids:
    """Both sequences in one, each in its own order, all mixtures equally likely."""
    is_later = draw.permutation(len(earlier) + len(later)) >= len(earlier)
    mixed: Ids = np.empty(len(is_later), np.int64)
    mixed[~is_later], mixed[is_later] = earlier, later
    mixed.setflags(write=False)
    return mixed


def find_open(texts: Iterable[int], closed: Collection[int]) -> int | None:
    """The first text that is not closed; None if all are.

    >>> find_open([3, 1, 0], {3, 0})
    1
    """
    return next((int(text) for text in texts if int(text) not in closed), None)


def sampled_texts(reserved: Ids, decided: Collection[int], labelled: Collection[int]) -> list[int]:
    """The texts of the sample that have a label: those that were skipped or flagged are left out.

    >>> sampled_texts(np.array([3, 1, 0, 2]), {1, 3, 2}, {3, 2})
    [3]
    """
    sample = []
    for text in reserved.tolist():
        if text not in decided:
            break
        sample.append(text)
    return [text for text in sample if text in labelled]
