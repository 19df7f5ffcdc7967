"""NB-SVM and the power ratio: naive Bayes log-count ratios scale the features of an SVM, or become weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unnaive.base.elementary import log, power
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.weighting import Weighting, document_weighting, presence
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.models.estimator import DocumentsModel, class_weight_setting
from unnaive.models.mixins import LinearAttributes
from unnaive.models.svm.learner import HingeModel

if TYPE_CHECKING:
    from unnaive.models.vectors.columns import Vectors


def log_count_ratio(counts: Counts, alpha: float) -> Floats:
    """R[c, t] = log p(t|c) − log p(t|c̄), each with additive smoothing (n_classes, n_terms).

    >>> from scipy.sparse import csr_array
    >>> counts = Counts.of(csr_array([[1, 0], [1, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> np.exp(log_count_ratio(counts, 1.0)).round(2)    # (2/3)/(2/4), (1/3)/(2/4); and their inverses
    array([[1.33, 0.67],
           [0.75, 1.5 ]])
    """
    refuse_full_table(counts.n_classes, counts.n_terms, "the log-count ratio")
    cells = counts.class_terms
    totals, smoothing = np.asarray(cells.sum(axis=1), np.float64), alpha * counts.n_terms
    of_class = log(counts.terms.sum() - totals + smoothing) - log(totals + smoothing)
    unseen = log(alpha) - log(counts.terms + alpha)
    ratio: Floats = unseen + of_class[:, None]
    # most terms are in few classes: for all other classes the logarithm depends only on the term
    seen = log(cells.data + alpha) - log(counts.terms[cells.indices] - cells.data + alpha)
    rows = np.repeat(np.arange(counts.n_classes), np.diff(cells.indptr))
    ratio[rows, cells.indices] = seen + of_class[rows]
    return ratio


class NBSVM(HingeModel):
    """A linear SVM for each class against the rest, on features scaled by the naive Bayes log-count ratio.

    With r_c = log p(t|c)/p(t|c̄) from presence, the squared hinge is minimised on r_c ∘ z, and the resulting weights are
    multiplied by r_c. The penalty is then small for terms with a strong ratio and large for others. `weights` sets the
    weighting of z. Wang and Manning (2012), Baselines and bigrams.

    >>> NBSVM().fit([[3, 0], [2, 1], [0, 2]], ["sport", "sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    traits = Traits(
        "nbsvm",
        "support vector machine on naive Bayes ratios",
        "documents",
        scorer_kinds=("linear", "pool"),
        probabilistic=False,
        generative=False,
        poor_score=True,
        takes_vectors=True,
    )

    alpha: float = setting("Additive smoothing of the counts in the ratio.", default=1.0, above=0)

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None, active: Ids | None = None, vectors: Sequence[Vectors] = (),
    ) -> Learnt:  # fmt: skip
        """Fit a hyperplane for each class on scaled features, and on `vectors`, unscaled, if there are any."""
        if vectors:
            scorer = self.fit_with_vectors(
                X, Y, sample_weight, progress, active, vectors,
                lambda words: log_count_ratio(Counts.of(presence(words), Y, sample_weight), self.alpha),
            )  # fmt: skip
            return Learnt(scorer)
        weighting = document_weighting(self.weights, X, sample_weight)
        ratio = log_count_ratio(Counts.of(presence(X), Y, sample_weight), self.alpha)
        return Learnt(self.fit_hinge(weighting, X, Y, sample_weight, progress, scale=ratio))


class PowerRatio(LinearAttributes, DocumentsModel):
    """A closed-form model: weights are the signed power of the naive Bayes log-count ratio.

    z = (1 + log n) divided by its length;  R = log p(t|c)/p(t|c̄) from sums of z;  weight = sign(R)·|R|^power

    A power above 1 trusts strong ratios more than naive Bayes does. Training takes one pass; accuracy is close to that
    of iterative models if classes are balanced.

    >>> PowerRatio().fit([[3, 0], [2, 1], [0, 2]], ["sport", "sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    traits = Traits(
        "power-ratio",
        "power of the naive Bayes ratio",
        "documents",
        probabilistic=False,
        generative=False,
        poor_score=True,
    )

    alpha: float = setting("Additive smoothing of the sums in the ratio.", default=0.02, above=0)
    power: float = setting("Exponent of the log-count ratio; 1 is naive Bayes without a prior.", default=1.5, above=0)
    class_weight: Any = class_weight_setting()

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Fit in one pass over the documents."""
        weighting = Weighting("log", None, "l2")
        counts = Counts.of(weighting.apply(X), Y, sample_weight)
        ratio = log_count_ratio(counts, self.alpha)
        weights = np.sign(ratio) * power(np.abs(ratio), self.power)
        absent = np.asarray(counts.class_docs) == 0
        weights[absent] = 0.0
        return Learnt(Linear(weights, np.where(absent, -np.inf, 0.0), weighting=weighting, link="margin"))
