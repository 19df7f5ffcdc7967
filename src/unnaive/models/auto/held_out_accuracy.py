"""Estimates from held-out documents: the accuracy on them, and an interval for the accuracy on new documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats, Ids
from unnaive.data.products import dot
from unnaive.learning.confidence_interval import wilson_interval

FASTEST = 0.5  # errors fall no faster than n^−FASTEST as documents are added


@dataclass(frozen=True)
class HeldOutAccuracy:
    """Held-out accuracy of models that learnt from a share of all documents.

    n_docs     number of held-out documents
    accuracy   the share of them that was classified correctly
    effective  effective sample size: documents that share passages are right or wrong together
    share      the share of all documents that the models learnt from
    best       the accuracy if all of `seen_later` were right
    unseen     the share of new documents of classes that no document has: these are not held out, and are wrong
    """

    n_docs: int
    accuracy: float
    effective: float
    share: float
    best: float
    unseen: float = 0.0

    @classmethod
    def of(
        cls, right: NDArray[np.bool_], group: Ids, share: float, seen_later: NDArray[np.bool_] | None = None,
        weight: Floats | None = None, n_docs: int | None = None, unseen: float = 0.0,
    ) -> HeldOutAccuracy:  # fmt: skip
        """Compute it from `right`, whether each row was classified correctly, and its group of shared passages.

        `seen_later` are short texts that a model of all documents has seen, but the one that classified them has not.
        Weighted rows count as often as they weigh; all rows of a text with soft labels are one of the n_docs documents.

        The variance of the accuracy is computed from sums over groups; `effective` is the number of independent
        documents with the same variance, at most n_docs.

        >>> HeldOutAccuracy.of(np.array([True, True, False, True]), np.arange(4), 0.8).effective
        4.0
        >>> HeldOutAccuracy.of(np.repeat([True, False], [40, 10]), np.arange(50) // 5, 0.8).effective   # fives alike
        8.99...
        """
        n = len(right) if n_docs is None else n_docs
        times = np.ones(len(right)) if weight is None else weight
        p = float(np.average(right, weights=times))
        best = p if seen_later is None else float(np.average(right | seen_later, weights=times))
        number = np.unique(group, return_inverse=True)[1]
        sizes, sums = np.bincount(number, times), np.bincount(number, times * (right - p))
        n_groups = len(sums)
        if n_groups == len(right) and weight is None:
            return cls(n, p, float(n), share, best, unseen)
        if 0 < p < 1 and n_groups > 1:
            variance = dot(sums, sums) / float(sizes.sum()) ** 2 * n_groups / (n_groups - 1)
            return cls(n, p, min(float(n), p * (1 - p) / variance), share, best, unseen)
        # Kish (1965), Survey sampling: the effective number of groups of unequal sizes
        return cls(n, p, min(float(n), float(sizes.sum() ** 2 / dot(sizes, sizes))), share, best, unseen)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval for the accuracy of the model of all documents, on many new documents from the same source.

        It is Wilson's interval for the held-out models, with a higher upper end: more training documents reduce the
        errors, but no faster than n^−½, so the errors at the upper end are multiplied by share^½. Short texts that
        only a model of all documents has seen count as right there. It does not hold for documents from another source
        or from a later time. A document that is alone in its class is not held out; it counts as a held-out document
        that was wrong.

        >>> [round(end, 3) for end in HeldOutAccuracy(100, 0.9, 100.0, 0.64, 0.9).interval]     # Wilson's: .826 to .945
        [0.826, 0.956]
        >>> [round(end, 3) for end in HeldOutAccuracy(100, 0.9, 100.0, 1.0, 0.9, 0.1).interval]     # of 111, 90 right
        [0.727, 0.872]
        """
        known = 1 - self.unseen
        if known <= 0:
            return 0.0, 1.0
        low, _ = wilson_interval(self.accuracy * self.effective, self.effective / known)
        _, high = wilson_interval(self.best * self.effective, self.effective / known)
        return low, 1 - (1 - high) * float(min(1.0, self.share)) ** FASTEST
