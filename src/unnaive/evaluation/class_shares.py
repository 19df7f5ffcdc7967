"""Estimate the class shares among new texts without labels, with intervals, and which of them changed.

Fold models of the old data score held-out old texts and the new texts; a slope, and a bias for each class, fitted on
the old texts, turn the scores into probabilities; EM then estimates the shares among the new texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from unnaive.base.elementary import exp, log
from unnaive.base.log_functions import log_softmax
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import split_folds
from unnaive.evaluation.related_documents import find_related, group_folds
from unnaive.evaluation.significance import holm
from unnaive.models.held_out_scores import softmax_scores

ALPHA = 0.05
N_FOLDS = 5
FEWEST_LEARNT = 10  # classes with fewer documents are learnt as one class
FEWEST_SHOWN = 20  # for classes with fewer documents only the sum of the shares is reported
Z_95 = 1.959963984540054


@dataclass(frozen=True)
class ClassShare:
    """The share of a class in the old data, and its estimate for the new texts.

    low, high  95 % interval of the share among these new texts
    p          of the test that the share is the same in both sources, corrected for the number of classes (Holm); 1 for
               the sum of small classes, which were selected by having few old documents: where nothing changed, such
               classes have more among the new ones
    """

    name: str
    old: float
    new: float
    low: float
    high: float
    p: float

    @property
    def changed(self) -> bool:
        """Whether the share changed: if none did, at most one audit in twenty reports a change."""
        return self.p < ALPHA


def class_shares(
    old: Sparse, codes: NDArray[np.integer], classes: Sequence[str], new: Sparse, *, seed: int = 0
) -> tuple[ClassShare, ...]:
    """The class shares in new (n_new, n_terms), from old (n_old, n_terms) with classes `codes` (n_old,).

    This assumes that texts within a class have not changed. Classes with fewer than FEWEST_SHOWN old documents are
    reported as one row, their sum; there are no rows if fewer than two classes can be learnt, or
    if no class has that many documents.

    Every document is scored by the one of N_FOLDS models that has learnt neither it nor a related document, from the
    terms of that model's training documents: so held-out old and new documents are exchangeable if nothing changed.
    p(c|x) = softmax(slope · score + bias); p(c|x)·new(c)/old(c), normalised, is the probability under the new shares,
    and its mean is the next estimate of them, until convergence (Saerens, Latinne and Decaestecker 2002; the bias for
    each class: Alexandari, Kundaje and Shrikumar 2020).
    """
    learnt, large_classes = pool_rare(np.asarray(codes, np.int64), len(classes))
    n_learnt = int(learnt.max(initial=-1)) + 1
    sizes = np.bincount(learnt, minlength=n_learnt)
    shown, names = _rows(sizes, large_classes, classes)
    if n_learnt < 2 or len(names) < 2:  # one row would be the sum of all, whose share is 1
        return ()
    scores, new_scores, weights = _fold_scores(old, learnt, n_learnt, new, seed)
    slope, bias = fit_slope_and_bias(scores, learnt, n_learnt)
    p_old, p_new = (exp(log_softmax(slope * part + bias)) for part in (scores, new_scores))
    estimate = estimate_shares(p_old, learnt, p_new, shown, weights)
    p_values = change_p(p_old, p_new, shown, weights)
    tested = len(names) - (names[-1] not in classes)
    # every class may be among those shown, so all are counted
    adjusted = [*holm([*p_values[:tested].tolist(), *([1.0] * (len(classes) - tested))])[:tested], 1.0]
    before = sizes @ shown / sizes.sum()
    half = Z_95 * estimate.deviation
    return tuple(
        ClassShare(
            name, float(before[k]), float(estimate.shares[k]), float(max(0.0, estimate.shares[k] - half[k])),
            float(min(1.0, estimate.shares[k] + half[k])), float(adjusted[k]),
        )
        for k, name in enumerate(names)
    )  # fmt: skip


def pool_rare(codes: Ids, n_classes: int) -> tuple[Ids, Ids]:
    """(codes with all classes of fewer than FEWEST_LEARNT documents merged into the last one; the other classes).

    >>> codes, large_classes = pool_rare(np.repeat([0, 1, 2, 3], [12, 3, 30, 4]), 4)
    >>> np.bincount(codes).tolist(), large_classes.tolist()
    ([12, 30, 7], [0, 2])
    """
    sizes = np.bincount(codes, minlength=n_classes)
    large_classes = np.flatnonzero(sizes >= FEWEST_LEARNT)
    index = np.full(n_classes, len(large_classes))
    index[large_classes] = np.arange(len(large_classes))
    return index[codes], large_classes


def _rows(sizes: Ids, large_classes: Ids, classes: Sequence[str]) -> tuple[Floats, list[str]]:
    """(the learnt classes in each row (n_learnt, n_rows), the names of the rows)."""
    alone = np.flatnonzero(sizes[: len(large_classes)] >= FEWEST_SHOWN)
    shown = np.zeros((len(sizes), len(alone)))
    shown[alone, np.arange(len(alone))] = 1.0
    names = [classes[large_classes[k]] for k in alone]
    others = [name for index, name in enumerate(classes) if index not in large_classes[alone]]
    if len(alone) < len(sizes):
        shown = np.column_stack([shown, 1 - shown.sum(axis=1)])
        names.append(
            others[0] if len(others) == 1 else f"({len(others)} classes of fewer than {FEWEST_SHOWN} documents)"
        )
    return shown, names


def _fold_scores(
    old: Sparse, codes: Ids, n_classes: int, new: Sparse, seed: int
) -> tuple[Floats, Floats, tuple[float, float]]:
    """(scores of the old, of the new documents, the design effect of copies on each side).

    A new document that shares passages with an old one is in its fold. The design effect is Σ w² / Σ w over groups of
    w copies: the ratio by which copies increase the variance of a mean.
    """
    n_old = old.shape[0]
    X = csr_array(vstack([old, new]))
    related = find_related(X)
    strata = np.concatenate([codes, np.full(new.shape[0], n_classes)])
    fold = group_folds(strata, related.related, N_FOLDS, seed=seed)
    scores = np.zeros((X.shape[0], n_classes))
    for others, held_out in split_folds(fold, N_FOLDS):
        train = others[others < n_old]
        scores[held_out] = softmax_scores(X[train], codes[train], n_classes, X[held_out])
    effects = [_design_effect(related.copies[:n_old]), _design_effect(related.copies[n_old:])]
    return scores[:n_old], scores[n_old:], (effects[0], effects[1])


def _design_effect(copies: Ids) -> float:
    sizes = np.bincount(copies).astype(np.float64)
    return float((sizes**2).sum() / sizes.sum())


def fit_slope_and_bias(scores: Floats, codes: Ids, n_classes: int) -> tuple[float, Floats]:
    """The slope, and the bias of each class (n_classes,), with the lowest log-loss of softmax(slope · score + bias).

    The biases have a normal prior of variance 1, which a class of any size outweighs. At the minimum the mean
    probability of a class is its share, except for that prior; a temperature alone leaves a gap, which EM would
    amplify.

    >>> rng = np.random.default_rng(0)
    >>> codes = (rng.random(5000) < 0.2).astype(int)
    >>> scores = np.column_stack([np.zeros(5000), 2.0 * codes + rng.normal(size=5000)])
    >>> slope, bias = fit_slope_and_bias(scores, codes, 2)
    >>> float(np.exp(log_softmax(slope * scores + bias))[:, 1].mean().round(3)), float(codes.mean().round(3))
    (0.21, 0.209)
    """
    from scipy.optimize import minimize

    rows = np.arange(len(codes))
    scale = float(scores.std()) or 1.0

    def loss(values: Floats) -> tuple[float, Floats]:
        bias, slope = values[:n_classes], float(exp(values[n_classes]))
        logits = slope * scores / scale + bias
        top = logits.max(axis=1)
        log_sum = top + log(exp(logits - top[:, None]).sum(axis=1))
        error = exp(logits - log_sum[:, None])
        error[rows, codes] -= 1
        total = float((log_sum - logits[rows, codes]).sum() + bias @ bias / 2)
        gradient = np.append(error.sum(axis=0) + bias, (error * scores).sum() * slope / scale)
        return total, gradient

    solution = minimize(loss, np.zeros(n_classes + 1), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return float(exp(solution.x[n_classes])) / scale, np.asarray(solution.x[:n_classes])


def new_priors(
    probabilities: Floats, old: Floats, start: Floats | None = None, *, tol: float = 1e-6, max_iter: int = 500
) -> Floats:
    """The fixed point of Saerens' EM; the likelihood of the shares never falls.

    If the classifier is certain of two classes, the shares are its counts:

    >>> new_priors(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5])).round(3)
    array([0.75, 0.25])
    """
    shares = (old if start is None else start).copy()
    for _ in range(max_iter):
        after = adjust(probabilities, old, shares).mean(axis=0)
        moved = float(np.abs(after - shares).max())
        shares = after
        if moved < tol:
            break
    return shares


def adjust(probabilities: Floats, old: Floats, shares: Floats) -> Floats:
    """p(c|x)·shares(c)/old(c), normalised: the probabilities under other shares (n_docs, n_classes)."""
    weighted = probabilities * np.divide(shares, old, out=np.zeros_like(shares), where=old > 0)
    weighted /= np.maximum(weighted.sum(axis=1, keepdims=True), 1e-300)
    return weighted


@dataclass(frozen=True, eq=False)
class EstimatedShares:
    """Shares of the displayed rows, and the standard deviation of their errors (n_rows,)."""

    shares: Floats
    deviation: Floats


def estimate_shares(
    p_old: Floats, codes: Ids, p_new: Floats, shown: Floats, effects: tuple[float, float] = (1.0, 1.0)
) -> EstimatedShares:
    """The shares among new documents with probabilities p_new (n_new, n_classes), in sums `shown` (n_classes, n_rows).

    To first order the estimate is the mean over new documents of ψ(x) = π + D Q⁻¹ (q(x) − π), with q the probabilities
    under the new shares π, D = diag π and Q = mean of q qᵀ. For old documents the difference between ψ and the
    indicator of the class is known. Its variance within classes, divided by the numbers of new and of old documents, is
    the variance of the estimate; its mean, weighted by the new shares, is the bias, whose square is added. One document
    is added on each side, since no variance is known to be 0, and π is computed with one additional document of every
    class, distributed like the old ones.
    """
    n_new, n_classes = p_new.shape
    sizes = np.bincount(codes, minlength=n_classes).astype(np.float64)
    old = sizes / sizes.sum()
    estimate = new_priors(p_new, old)
    shares = (n_new * estimate + n_classes * old) / (n_new + n_classes)
    q = adjust(p_new, old, shares)
    influence = np.diag(shares) @ np.linalg.inv(q.T @ q / n_new + 1e-4 * np.diag(shares))
    psi = shares + (adjust(p_old, old, shares) - shares) @ influence.T
    error = (psi - np.eye(n_classes)[codes]) @ shown
    of_class = csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))
    mean = (of_class @ error) / sizes[:, None]
    squares = of_class @ (error - mean[codes]) ** 2
    squares *= (sizes / np.maximum(sizes - 1, 1))[:, None]
    within = (squares + 2 * squares.sum(axis=0) / sizes.sum()) / (sizes + 2)[:, None]
    variance = effects[1] * (shares @ within) / n_new + effects[0] * ((shares**2 / sizes) @ within)
    bias = shares @ mean
    least = 1 / n_new**2 + (shares @ shown / (sizes @ shown)) ** 2
    return EstimatedShares(estimate @ shown, np.sqrt(variance + bias**2 + least))


def change_p(p_old: Floats, p_new: Floats, shown: Floats, effects: tuple[float, float] = (1.0, 1.0)) -> Floats:
    """p of the two-sided test that each row's share is the same on both sides (n_rows,).

    If nothing changed, held-out old and new documents are exchangeable, and the difference of the means of ψ on both
    sides, with ψ at the shares of all documents, is normal around 0 with the variance of ψ over the numbers of
    documents.
    """
    from scipy.special import ndtr

    n_old, n_new = len(p_old), len(p_new)
    both = np.concatenate([p_old, p_new])
    shares = both.mean(axis=0)
    influence = np.diag(shares) @ np.linalg.inv(both.T @ both / len(both) + 1e-4 * np.diag(shares))
    psi = both @ influence.T @ shown
    spread = psi.std(axis=0, ddof=1) * np.sqrt(effects[0] / n_old + effects[1] / n_new)
    difference = psi[n_old:].mean(axis=0) - psi[:n_old].mean(axis=0)
    return np.asarray(2 * ndtr(-np.abs(difference) / np.maximum(spread, 1e-300)))
