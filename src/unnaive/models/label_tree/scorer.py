"""LabelTreeScorer: from the root down, keep the most likely groups of labels, then score the labels in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import exp, expm1, log, logaddexp
from unnaive.base.errors import choose, refuse_damaged
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csr_array
from unnaive.base.types import Arrays, Floats, Ids, Sparse
from unnaive.data.array_rules import (
    LARGEST_IDF,
    ArrayRule,
    Rules,
    TableRule,
    check_keys,
    check_rules,
    read_whole,
)
from unnaive.data.arrays import csr_arrays, read_csr
from unnaive.data.weighting import Weighting
from unnaive.linear.scorer import Scorer
from unnaive.linear.top_scores import TopScores

SLOPE = 3.0  # slope of the logistic function that maps margins to probabilities: a margin of 1 is p = 0.95
CELLS = 1 << 22  # pairs of a document and a label in memory at a time
FEW, SOME = 64, 1000  # documents that are scored term by term: at a time, and in all
FAR = 1.0  # how far labels outside the beam are below the last label inside


@dataclass(frozen=True, eq=False)
class LabelTreeScorer(Scorer):
    """log p(label) = Σ over the path from the root of log σ(SLOPE · margin of the node).

    order      the labels in the order of the leaves (n_labels,)
    ends       for each level, the borders of its groups in that order; the last level is the labels
    weights    a row for every node, level by level (n_nodes, n_terms), float32; float64 in older files
    bias       the bias of every node (n_nodes,)
    beam       number of groups of a level that are kept for a document

    Labels in groups outside the beam rank below all others, in the order of their groups. For exclusive labels (link
    "softmax") a score is log p; otherwise (link "log-odds") it is log p/(1 − p).
    """

    kind: ClassVar[str] = "label-tree"

    order: Ids
    ends: tuple[Ids, ...]
    weights: Sparse
    bias: Floats
    weighting: Weighting
    beam: int
    link: str

    @property
    def n_classes(self) -> int:
        """The number of labels."""
        return len(self.order)

    @property
    def n_terms(self) -> int:  # type: ignore[override]  # a field of other scorers
        """Columns of the weights."""
        return int(self.weights.shape[1])

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        leaves, behind = self._walk(self.weighting.apply(X))
        # by leaf; a label that the beam did not reach has the score of its last group
        leaf_scores = np.zeros((X.shape[0], self.n_classes))
        for groups, ends in behind:
            _fill(leaf_scores, groups, ends)
        seen = np.zeros(leaf_scores.shape, np.bool_)
        seen[leaves.documents, leaves.nodes] = True
        leaf_scores[leaves.documents, leaves.nodes] = leaves.paths
        last = np.where(seen, leaf_scores, np.inf).min(axis=1, keepdims=True) - FAR
        leaf_scores = np.where(seen, leaf_scores, last + leaf_scores)
        scores = np.empty_like(leaf_scores)
        scores[:, self.order] = self._as_scores(leaf_scores)
        return scores

    def top_scores(self, X: Sparse, k: int, *, above: Floats | None = None, scale: float | None = None) -> TopScores:
        """The k best classes of documents X (n_docs, n_terms), and those that reach `above`, as if all were scored.

        Only labels in the beam are scored: memory and time depend on `beam` and the size of groups, not on the number
        of labels. A document is scored in full if its beam has fewer than k labels, or if a label outside the beam may
        reach the smallest of `above`.
        """
        rows = max(1, CELLS // (self.beam * max(int(sizes.max()) for sizes in self._family_sizes)))
        if X.shape[0] <= SOME:
            rows = self._few
        if X.shape[0] <= rows:
            return self._top_scores(X, k, above, scale)
        parts = [
            self._top_scores(csr_array(X[start : start + rows]), k, above, scale)
            for start in range(0, X.shape[0], rows)
        ]
        return TopScores.joined(parts)

    def _top_scores(self, X: Sparse, k: int, above: Floats | None, scale: float | None) -> TopScores:
        n_docs, k = X.shape[0], min(k, self.n_classes)
        leaves, behind = self._walk(self.weighting.apply(X))
        cells = _Places(leaves.documents, self.order[leaves.nodes], self._as_scores(leaves.paths))
        incomplete = np.bincount(leaves.documents, minlength=n_docs) < k
        selected = _is_best(cells, k)
        log_total = np.zeros(n_docs)
        if above is not None or scale is not None:
            others, sizes = self._others(leaves, behind, n_docs)
            if above is not None:
                selected |= cells.paths >= above[cells.nodes]
                incomplete[others.documents[others.paths >= above.min(initial=np.inf)]] = True
            if scale is not None:
                log_total = _log_totals([cells, others], [np.ones(len(selected)), sizes], scale, n_docs)
        in_full = np.flatnonzero(incomplete)
        selected &= ~incomplete[cells.documents]
        kept_cells = cells.take(selected)
        columns = [(kept_cells.documents, kept_cells.nodes, kept_cells.paths)]
        step = max(1, CELLS // self.n_classes)
        for start in range(0, len(in_full), step):
            part = in_full[start : start + step]
            top = TopScores.of(self.scores(X[part]), k, above)
            columns.append((part[top.documents], top.classes, top.scores))
        documents, classes, scores = (np.concatenate(column) for column in zip(*columns, strict=True))
        return TopScores.of_cells(documents, classes, scores, log_total)

    def _others(self, leaves: _Places, behind: list[tuple[_Places, Ids]], n_docs: int) -> tuple[_Places, Floats]:
        """The groups outside the beam of each document, with the score of each of their labels; their sizes."""
        last = np.full(n_docs, np.inf)
        np.minimum.at(last, leaves.documents, leaves.paths)
        empty = _Places(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        groups = [empty, *(places for places, _ in behind)]
        sizes = [np.zeros(0), *(np.diff(ends)[places.nodes].astype(np.float64) for places, ends in behind)]
        documents, nodes, paths = (
            np.concatenate([getattr(places, name) for places in groups]) for name in ("documents", "nodes", "paths")
        )
        return _Places(documents, nodes, self._as_scores(last[documents] - FAR + paths)), np.concatenate(sizes)

    def _as_scores(self, log_p: Floats) -> Floats:
        """Convert log-probabilities to scores of the link."""
        if self.link == "softmax":
            return log_p
        return np.asarray(log_p - log(-expm1(np.minimum(log_p, -1e-12))))

    def _steps(self) -> list[tuple[Ids, Ids]]:
        """For every level, the borders of the groups above it and of its own groups."""
        return list(pairwise([np.array([0, self.n_classes]), *self.ends]))

    @lazy_property
    def _first_children(self) -> list[Ids]:
        """For every level, the first child of each node above it, and the end of the last node's children."""
        return [np.searchsorted(ends, above) for above, ends in self._steps()]

    @lazy_property
    def _family_sizes(self) -> list[Ids]:
        """For every level, the number of children of each node above it."""
        return [np.diff(first) for first in self._first_children]

    def _walk(self, Z: Sparse) -> tuple[_Places, list[tuple[_Places, Ids]]]:
        """The leaves in the beam of each document, and level by level the groups outside its beam."""
        n_docs = Z.shape[0]
        descend = self._descend_few(Z) if n_docs <= self._few else self._descend_many(Z)
        places = _Places(np.arange(n_docs), np.zeros(n_docs, np.int64), np.zeros(n_docs))
        behind, row = [], 0
        for level, ends in enumerate(self.ends):
            places = descend(places, level, row)
            if level < len(self.ends) - 1:
                in_beam = _is_best(places, self.beam)
                behind.append((places.take(~in_beam), ends))
                places = places.take(in_beam)
            row += len(ends) - 1
        return places, behind

    def _descend_many(self, Z: Sparse) -> _Descent:
        """The function that moves documents, rows of Z, to the children of their nodes, with log p of the paths.

        Node by node, the documents at a node are multiplied by the weights of its children.
        """

        def descend(places: _Places, level: int, row: int) -> _Places:
            first = self._first_children[level]
            by_node = np.argsort(places.nodes, kind="stable")
            cuts = np.searchsorted(places.nodes[by_node], np.arange(len(first)))
            parts: list[tuple[Ids, Ids, Floats]] = []
            for node in np.unique(places.nodes).tolist():
                at = by_node[cuts[node] : cuts[node + 1]]
                children = np.arange(first[node], first[node + 1])
                rows = slice(row + children[0], row + children[-1] + 1)
                documents = places.documents[at]
                margins = np.asarray((Z[documents] @ self.weights[rows].T).toarray()) + self.bias[rows]
                below = places.paths[at][:, None] + log_sigmoid(SLOPE * margins)
                parts.append((np.repeat(documents, len(children)), np.tile(children, len(at)), below.ravel()))
            return _Places(*(np.concatenate(part) for part in zip(*parts, strict=True)))

        return descend

    def _descend_few(self, Z: Sparse) -> _Descent:
        """`_descend_many` for few documents.

        A product would read all weights of a node, although few documents have few of its terms. So the margins at all
        nodes are summed term by term, from a copy of the weights ordered by term.
        """
        margins = self._margins(Z)

        def descend(places: _Places, level: int, row: int) -> _Places:
            first, sizes = self._first_children[level], self._family_sizes[level][places.nodes]
            documents, children = np.repeat(places.documents, sizes), _ranges(first[places.nodes], sizes)
            nodes = row + children
            below = log_sigmoid(SLOPE * (margins[documents, nodes] + self.bias[nodes]))
            return _Places(documents, children, np.repeat(places.paths, sizes) + below)

        return descend

    def _margins(self, Z: Sparse) -> Floats:
        """Margins of documents at all nodes (n_docs, n_nodes), without the bias."""
        n_docs, n_nodes = Z.shape[0], len(self.bias)
        table = self._by_term
        begin = table.indptr[Z.indices]
        sizes = table.indptr[1:][Z.indices] - begin
        cells = _ranges(begin, sizes)
        added = table.data[cells] * np.repeat(Z.data, sizes)
        places = table.indices[cells]
        if n_docs > 1:
            places = places + n_nodes * np.repeat(np.repeat(np.arange(n_docs), np.diff(Z.indptr)), sizes)
        sums = np.bincount(places, added, minlength=n_docs * n_nodes)
        return np.asarray(sums, np.float64).reshape(n_docs, n_nodes)

    @property
    def _few(self) -> int:
        """The number of documents that are scored term by term, limited because margins at all nodes are in memory."""
        return max(1, min(FEW, CELLS // len(self.bias)))

    @lazy_property
    def _by_term(self) -> Sparse:
        """The weights term by term (n_terms, n_nodes)."""
        return csr_array(self.weights.T)

    def strongest_terms(self, chosen: int, frequency: Floats | None, limit: int) -> list[tuple[int, float]]:
        """The terms with the largest weights of the label against the other labels of its group."""
        row = len(self.bias) - self.n_classes + int(self._leaves[chosen])
        cells = slice(self.weights.indptr[row], self.weights.indptr[row + 1])
        columns, values = self.weights.indices[cells], self.weights.data[cells]
        best = np.lexsort((columns, -values))[:limit]
        return [(int(columns[at]), float(values[at])) for at in best if values[at] > 0]

    @lazy_property
    def _leaves(self) -> Ids:
        """The leaf of each label (n_labels,): the inverse of `order`."""
        return np.argsort(self.order)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal scorer."""
        arrays = csr_arrays("weights", self.weights, index=np.int32) | {"order": self.order, "bias": self.bias}
        arrays |= {f"ends.{level}": ends for level, ends in enumerate(self.ends)}
        if self.weighting.idf is not None:
            arrays["idf"] = self.weighting.idf
        return arrays, {
            "levels": len(self.ends), "n_terms": self.n_terms, "beam": self.beam, "link": self.link,
            "tf": self.weighting.tf, "norm": self.weighting.norm,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; every value is checked, since models come from files."""
        with refuse_damaged("the scorer in this model is"):
            check_keys(settings, "levels", "n_terms", "beam", "link", "tf", "norm")
            levels, n_terms = read_whole(settings["levels"], "levels", least=1, most=64), settings["n_terms"]
            link = choose(["softmax", "log-odds"], settings["link"], "link")
            check_rules(arrays, tree_rules(arrays, levels), terms=read_whole(n_terms, "n_terms"))
            order, n_labels = arrays["order"].astype(np.int64), len(arrays["order"])
            if not np.array_equal(np.sort(order), np.arange(n_labels)):
                raise ValueError("the order of its labels is not a permutation")
            ends = tuple(_read_ends(arrays[f"ends.{level}"], n_labels) for level in range(levels))
            if len(ends[-1]) != n_labels + 1 or not all(
                set(coarse.tolist()) <= set(fine.tolist()) for coarse, fine in pairwise(ends)
            ):
                raise ValueError("its groups are not nested")
            weights = read_csr(arrays, "weights", (sum(len(level) - 1 for level in ends), n_terms))
            beam = read_whole(settings["beam"], "beam", least=1)
            weighting = Weighting(settings["tf"], arrays.get("idf"), settings["norm"])
        return cls(order, ends, weights, arrays["bias"], weighting, beam, link)


def tree_rules(arrays: Arrays, levels: int) -> Rules:
    """The rules for the arrays of a label tree with `levels`; every group and every label has a node."""
    nodes = sum(len(arrays[f"ends.{level}"]) - 1 for level in range(levels))
    groups = {f"ends.{level}": ArrayRule("whole", (f"groups {level}",), 0, below="labels+1") for level in range(levels)}
    return {
        "order": ArrayRule("whole", ("labels",), 0, below="labels"),
        **groups,
        "weights": TableRule(nodes, "terms"),
        "bias": ArrayRule("float", (nodes,)),
        "idf": ArrayRule("float", ("terms",), 0, LARGEST_IDF, optional=True),
    }


def _read_ends(values: NDArray[Any], n_labels: int) -> Ids:
    ends = values.astype(np.int64)
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != n_labels or not bool((np.diff(ends) > 0).all()):
        raise ValueError("its groups do not cover its labels")
    return ends


def log_sigmoid(values: Floats) -> Floats:
    """log 1/(1 + e^−x), exact also where e^−x overflows."""
    return -logaddexp(0.0, -values)


@dataclass(frozen=True, eq=False)
class _Places:
    """Pairs of a document and a node of a level (or a class), each with log p of the path (or the score)."""

    documents: Ids
    nodes: Ids
    paths: Floats

    def take(self, rows: NDArray[Any]) -> _Places:
        """Some of the rows."""
        return _Places(self.documents[rows], self.nodes[rows], self.paths[rows])


_Descent = Callable[[_Places, int, int], _Places]  # (pairs, the level below, its first row of weights) → pairs


def _ranges(begin: Ids, sizes: Ids) -> Ids:
    """Consecutive whole numbers from each start, as many as the size says.

    >>> _ranges(np.array([3, 9]), np.array([2, 3]))
    array([ 3,  4,  9, 10, 11])
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + np.repeat(begin - (ends - sizes), sizes))


def _fill(leaf_scores: Floats, places: _Places, ends: Ids) -> None:
    """Write the score of each node to all leaves below it."""
    sizes = np.diff(ends)[places.nodes]
    columns = _ranges(ends[places.nodes], sizes)
    leaf_scores[np.repeat(places.documents, sizes), columns] = np.repeat(places.paths, sizes)


def _is_best(places: _Places, beam: int) -> NDArray[np.bool_]:
    """Whether each row is among the `beam` best of its document; ties go to the first nodes."""
    is_best = np.zeros(len(places.paths), np.bool_)
    counts = np.bincount(places.documents)
    if len(counts) == 1:  # one document
        is_best[_best(places.paths, places.nodes, beam)] = True
        return is_best
    by_document = np.argsort(places.documents, kind="stable")
    starts = np.cumsum(counts) - counts
    column = np.arange(len(by_document)) - np.repeat(starts, counts)
    table = np.full((len(counts), max(int(counts.max(initial=0)), beam)), -np.inf)
    table[places.documents[by_document], column] = places.paths[by_document]
    least = -np.partition(-table, beam - 1, axis=1)[:, beam - 1]
    near = np.flatnonzero(places.paths >= least[places.documents])  # the best, and those that equal the last of them
    order = near[np.lexsort((places.nodes[near], -places.paths[near], places.documents[near]))]
    documents = places.documents[order]
    is_best[order[np.arange(len(order)) - np.searchsorted(documents, documents) < beam]] = True
    return is_best


def _best(paths: Floats, nodes: Ids, beam: int) -> Ids:
    """The rows of the `beam` best paths; ties go to the first nodes."""
    near = np.arange(len(paths))
    if beam < len(paths):
        near = np.flatnonzero(paths >= np.partition(paths, len(paths) - beam)[len(paths) - beam])
    return np.asarray(near[np.lexsort((nodes[near], -paths[near]))[:beam]])


def _log_totals(parts: list[_Places], sizes: list[Floats], scale: float, n_docs: int) -> Floats:
    """log Σ size · e^(scale · score) over the rows of each document (n_docs,)."""
    highest = np.full(n_docs, -np.inf)
    for places in parts:
        np.maximum.at(highest, places.documents, scale * places.paths)
    total = np.zeros(n_docs)
    for places, size in zip(parts, sizes, strict=True):
        share = size * exp(scale * places.paths - highest[places.documents])
        total += np.bincount(places.documents, share, minlength=n_docs)
    return np.asarray(highest + log(total))
