"""One call from X, Y and the name of a model to a trained scorer, for experiments that hold matrices, not texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from unnaive.core.counts import Counts
from unnaive.core.labels import single_labels
from unnaive.core.links import LINKS
from unnaive.core.scorer import Scorer
from unnaive.models.catalogue import find_model
from unnaive.types import Floats, Sparse


def trained(name: str, X: Sparse, Y: Sparse, *, seed: int = 0, **settings: Any) -> Scorer:
    """The model called `name` learned from documents X (n_docs, n_terms) with labels Y (n_docs, n_classes).

    Where the model has a `scheme` and none is given, documents with other than one label make it one-vs-rest.

    >>> from scipy.sparse import csr_array
    >>> trained("multinomial", csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [1, 1]])).link
    'log-odds'
    """
    model = find_model(name)
    filled = filled_settings(name, Y, seed, settings)
    learn_from = (Counts.of(X, Y),) if model.statistic == "counts" else (X, Y)
    scorer: Scorer = model.function(*learn_from, **filled)
    return scorer


def filled_settings(name: str, Y: Sparse, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """`settings`, checked, with the scheme that fits the labels and the seed where the model takes them."""
    model = find_model(name)
    filled = dict(model.checked(settings))
    known = model.settings()
    if "scheme" in known and "scheme" not in filled:
        filled["scheme"] = "multiclass" if single_labels(Y) is not None else "one-vs-rest"
    if "seed" in known and "seed" not in filled:
        filled["seed"] = seed
    return filled


def comparable(link: str, scores: Floats) -> Floats:
    """Scores that can be ranked over documents as well as over classes (n_docs, n_classes).

    Log joint probabilities grow with the length of the document, so within a class they rank documents by length. Their
    posterior log-odds log p(c|d)/p(c̄|d) = s_c − log Σ_{other} e^s do not, nor do they saturate as probabilities do.

    >>> comparable("softmax", np.log([[0.2, 0.2], [0.001, 0.003]])).round(2)
    array([[ 0. ,  0. ],
           [-1.1,  1.1]])
    """
    if not LINKS[link].exclusive or scores.shape[1] < 2:
        return scores
    total = logsumexp(scores, axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        others = total + np.log1p(-np.exp(scores - total))
    best = scores.argmax(axis=1)[:, None]  # there the difference above cancels: sum the others themselves
    without = scores.copy()
    np.put_along_axis(without, best, -np.inf, axis=1)
    np.put_along_axis(others, best, logsumexp(without, axis=1, keepdims=True), axis=1)
    odds: Floats = scores - others
    return odds
