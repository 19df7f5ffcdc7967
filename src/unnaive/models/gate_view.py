"""An OR gate looked at: what each term of a document forces, the strongest arcs of a class, the network as a value.

or_gate.py makes the Linear that these read; explain.py and `unnaive inspect --network` show what they return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.linear import Linear
from unnaive.core.network import Network, noisy_or_table
from unnaive.errors import BadData
from unnaive.types import Sparse

LARGEST_GATE = 16  # a table has 2^(parents + 1) cells


@dataclass(frozen=True)
class Force:
    """One term of a document and one class: what the term does alone, and what is left without it."""

    term: int
    count: float
    score: float
    alone: float
    without: float


def forces(model: Linear, document: Sparse, class_index: int) -> list[Force]:
    """The terms of a document (1, n_terms) that have an arc to the class, strongest first, ties by term id.

    alone   1 − (1 − w)^n, the probability that this term forces the class by itself
    without 1 − Π over the other terms, the class's probability if the term were not there

    >>> gate = Linear(csr_array(-np.log([[0.5, 0.75]])), np.zeros(1), link="noisy-or")
    >>> [(one.term, round(one.alone, 3), round(one.without, 3)) for one in forces(gate, csr_array([[1, 1]]), 0)]
    [(0, 0.5, 0.25), (1, 0.25, 0.5)]
    """
    _check_gate(model)
    features = model.weighting.apply(document)
    pushes = features.data * model.weights(features.indices)[class_index]
    others = pushes.sum() - pushes
    found = [
        Force(int(term), float(count), float(push), float(-np.expm1(-push)), float(-np.expm1(-max(rest, 0.0))))
        for term, count, push, rest in zip(features.indices, features.data, pushes, others, strict=True)
        if push > 0
    ]
    return sorted(found, key=lambda force: (-force.score, force.term))


@dataclass(frozen=True)
class Arc:
    """One arc of the network: the term and w, the probability that it alone forces the class."""

    term: int
    weight: float


def strongest_arcs(model: Linear, class_index: int, k: int = 20) -> list[Arc]:
    """The k arcs into a class with the largest weights, ties by term id.

    >>> gate = Linear(csr_array(-np.log([[0.5, 0.75]])), np.zeros(1), link="noisy-or")
    >>> [(arc.term, round(arc.weight, 3)) for arc in strongest_arcs(gate, 0, 1)]
    [(0, 0.5)]
    """
    _check_gate(model)
    row = csr_array(model.arcs[[class_index], :])
    order = np.lexsort((row.indices, -row.data))[:k]
    return [Arc(int(row.indices[at]), float(-np.expm1(-row.data[at]))) for at in order]


def gate_network(
    arcs: Sequence[Arc], class_name: str, terms: Sequence[str], presence: NDArray[np.float64] | None = None
) -> Network:
    """The gate of one class over `arcs`: terms are roots, the class is their noisy-OR (eq. 7).

    `presence` (n_terms,) is the share of documents with each term, one half by default; a document sets all of them, so
    posteriors do not depend on it. Terms left out of `arcs` are taken as absent.
    """
    if len(arcs) > LARGEST_GATE:
        raise BadData(f"a gate of {len(arcs)} terms has a table too large to write; choose at most {LARGEST_GATE}")
    shares = [0.5 if presence is None else float(presence[arc.term]) for arc in arcs]
    names = [terms[arc.term] for arc in arcs]
    target = class_name if class_name not in names else f"class {class_name}"
    roots = tuple(np.array([1 - share, share]) for share in shares)
    table = noisy_or_table([arc.weight for arc in arcs])
    parents = (*(() for _ in arcs), tuple(range(len(arcs))))
    return Network((*names, target), parents, (*roots, table))


def _check_gate(model: Linear) -> None:
    if model.link != "noisy-or":
        raise BadData(f"this model has {model.link} scores, not the noisy-OR of a network; use the or-gate model")
