"""The lowest score to keep, so that a share of the good documents is kept: found on held-out ones, with a bound.

`choose_recall_threshold` promises the recall for new documents; `abstention.choose_threshold` an accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.base.types import Floats


@dataclass(frozen=True)
class RecallThreshold:
    """The highest score that keeps a share of the good documents, and what it does on those it was chosen on.

    recall, confidence  what was asked for: a share of the good documents, and how probable it shall be to reach it
    threshold           documents with at least this score are kept
    good, kept_good     held-out documents that are to be kept, and those of them that are
    others, kept_others  all other held-out documents, and those of them that are kept too
    """

    recall: float
    confidence: float
    threshold: float
    good: int
    kept_good: int
    others: int
    kept_others: int

    @property
    def precision(self) -> float:
        """The share of good documents among those kept."""
        return self.kept_good / max(1, self.kept_good + self.kept_others)

    def describe(self) -> str:
        """What is promised, in a sentence.

        >>> RecallThreshold(0.9, 0.95, 0.5, 100, 95, 300, 20).describe()
        'at least 90 % of the good texts are kept, with a confidence of 95 %; of 100 held out 95 were, of 300 others 20'
        """
        return (
            f"at least {100 * self.recall:g} % of the good texts are kept, with a confidence of "
            f"{100 * self.confidence:g} %; of {self.good:,} held out {self.kept_good:,} were, of {self.others:,} "
            f"others {self.kept_others:,}"
        )


def choose_recall_threshold(
    scores: Floats, good: NDArray[np.bool_], recall: float, *, confidence: float = 0.9
) -> RecallThreshold:
    """The highest score from which on new documents are kept with at least this recall.

    Whatever the scores, at most 1 − confidence of such choices have a lower recall on new documents of the source of
    these, which must not have taken part in training. The k-th lowest of the n scores of good documents has at least
    the share `recall` of all good documents at or above it with probability P(Binomial(n, 1 − recall) ≥ k), the more so
    where scores are equal: a one-sided tolerance limit. The largest k for which that is the confidence is taken. Wilks
    (1941), Determination of sample sizes for setting tolerance limits.

    scores, good  of held-out documents, and whether each is to be kept (n_docs,)

    >>> scores = np.arange(100) / 100
    >>> choose_recall_threshold(scores, np.ones(100, bool), 0.9).threshold       # of 100, the 5 lowest are given up
    0.05
    >>> choose_recall_threshold(scores[:21], np.ones(21, bool), 0.9)
    Traceback (most recent call last):
    unnaive.base.errors.BadData: 21 held-out texts are to be kept, too few to promise a recall of 90 % with a ...
    """
    from scipy.special import bdtr

    check_share(recall, "recall")
    check_share(confidence, "confidence")
    ranked = np.sort(scores[good])
    n = len(ranked)
    given_up = np.arange(n)  # documents below the threshold: P(Binomial(n, 1 − recall) ≤ them) must be small
    n_promised = int(np.count_nonzero(bdtr(given_up, n, 1 - recall) <= 1 - confidence)) if n else 0
    if not n_promised:
        fewest = int(np.ceil(np.log(1 - confidence) / np.log(recall)))
        raise BadData(
            f"{count_noun(n, 'held-out text')} {'is' if n == 1 else 'are'} to be kept, too few to promise a recall of "
            f"{100 * recall:g} % with a confidence of {100 * confidence:g} %; give {fewest:,} or more, or ask for less"
        )
    threshold = float(ranked[n_promised - 1])
    kept = scores >= threshold
    return RecallThreshold(
        recall, confidence, threshold, n, int(np.count_nonzero(kept & good)), len(scores) - n,
        int(np.count_nonzero(kept & ~good)),
    )  # fmt: skip


def check_share(value: float, name: str) -> None:
    """An error unless it lies between 0 and 1."""
    if not 0 < value < 1:
        raise BadData(f"a {name} of {value:g}; give a share between 0 and 1, such as 0.9")
