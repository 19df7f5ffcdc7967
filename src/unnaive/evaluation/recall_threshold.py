"""The lowest score to keep such that a share of the good documents is kept; found on held-out documents, with a bound.

`choose_recall_threshold` guarantees a recall for new documents, `abstention.choose_threshold` an accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log
from unnaive.base.errors import BadData, count_noun
from unnaive.base.types import Floats


@dataclass(frozen=True)
class RecallThreshold:
    """The highest threshold that keeps a share of the good documents, and its effect on the held-out documents.

    recall, confidence  the requested share of the good documents, and the probability of reaching it
    threshold           documents with at least this score are kept
    good, kept_good     good held-out documents, and how many of them are kept
    others, kept_others  all other held-out documents, and how many of them are kept
    learnt              held-out documents that the model was trained on; with any, no recall is guaranteed
    """

    recall: float
    confidence: float
    threshold: float
    good: int
    kept_good: int
    others: int
    kept_others: int
    learnt: int = 0

    @property
    def precision(self) -> float:
        """The share of good documents among those kept."""
        return self.kept_good / max(1, self.kept_good + self.kept_others)

    def describe(self) -> str:
        """The guarantee, or why there is none, in a sentence.

        >>> RecallThreshold(0.9, 0.95, 0.5, 100, 95, 300, 20).describe()
        'at least 90 % of the good texts are kept, with a confidence of 95 %; 95 of 100 held-out good texts were ...'
        >>> RecallThreshold(0.57, 0.99999999, 0.5, 100, 95, 300, 20).describe()
        'at least 57 % of the good texts are kept, with a confidence of 99.999999 %; ...'
        """
        promise = (
            f"no recall is guaranteed, because {self.learnt:,} of {self.good + self.others:,} held-out texts are "
            "training texts"
            if self.learnt
            else f"at least {100 * self.recall:.12g} % of the good texts are kept, with a confidence of "
            f"{100 * self.confidence:.12g} %"
        )
        return (
            f"{promise}; {self.kept_good:,} of {self.good:,} held-out good texts were kept, and {self.kept_others:,} "
            f"of {self.others:,} others"
        )


def choose_recall_threshold(
    scores: Floats, good: NDArray[np.bool_], recall: float, *, confidence: float = 0.9
) -> RecallThreshold:
    """The highest threshold at which new documents are kept with at least this recall.

    At most 1 − confidence of such choices have a lower recall on new documents from the same source; the documents here
    must not have been used in training. With probability P(Binomial(n, 1 − recall) ≥ k), at least the share `recall` of
    all good documents has at least the k-th lowest of the n scores of good documents (more if scores are equal): a
    one-sided tolerance limit. The largest k for which this is at least the confidence is used. Wilks (1941),
    Determination of sample sizes for setting tolerance limits.

    scores, good  of held-out documents, and whether each is good (n_docs,)

    >>> scores = np.arange(100) / 100
    >>> choose_recall_threshold(scores, np.ones(100, bool), 0.9).threshold       # of 100, the 5 lowest are given up
    0.05
    >>> choose_recall_threshold(scores[:21], np.ones(21, bool), 0.9)
    Traceback (most recent call last):
    unnaive.base.errors.BadData: 21 held-out texts are to be kept, too few to guarantee a recall of 90 % with a ...
    """
    from scipy.special import bdtr

    check_share(recall, "recall")
    check_share(confidence, "confidence")
    ranked = np.sort(scores[good])
    n = len(ranked)
    given_up = np.arange(n)  # documents below the threshold: P(Binomial(n, 1 − recall) ≤ them) must be small
    n_promised = int(np.count_nonzero(bdtr(given_up, n, 1 - recall) <= 1 - confidence)) if n else 0
    if not n_promised:
        fewest = int(np.ceil(log(1 - confidence) / log(recall)))
        raise BadData(
            f"{count_noun(n, 'held-out text')} {'is' if n == 1 else 'are'} to be kept, too few to guarantee a recall "
            f"of {100 * recall:.12g} % with a confidence of {100 * confidence:.12g} %; give at least {fewest:,}, or "
            "ask for less"
        )
    threshold = float(ranked[n_promised - 1])
    is_kept = scores >= threshold
    return RecallThreshold(
        recall, confidence, threshold, n, int(np.count_nonzero(is_kept & good)), len(scores) - n,
        int(np.count_nonzero(is_kept & ~good)),
    )  # fmt: skip


def check_share(value: float, name: str) -> None:
    """Raise an error unless the value is between 0 and 1."""
    if not 0 < value < 1:
        raise BadData(f"the {name} is {value:g}; give a share between 0 and 1, such as 0.9")
