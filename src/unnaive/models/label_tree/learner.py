"""LabelTree: cluster labels into groups, then train a linear classifier at every node on the node's documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from unnaive.base.errors import BadData
from unnaive.base.settings import setting
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.weighting import DOCUMENT_WEIGHTINGS, document_weighting
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.scorer import Scorer
from unnaive.models.estimator import DocumentsModel, class_weight_setting
from unnaive.models.label_tree import pruning
from unnaive.models.label_tree.clustering import cluster_labels, compact_columns, label_centroids
from unnaive.models.label_tree.scorer import LabelTreeScorer
from unnaive.models.svm.solver import squared_hinge

MOST_PASSES = 1000  # over the documents of a node
MOST_WEIGHTS = 1 << 22  # weights, or dual variables, of the children that are learnt at once: 32 MB


class LabelTree(DocumentsModel):
    """A tree of labels with a linear classifier at each node, for thousands of classes.

    Labels with similar documents are grouped by balanced k-means. A node separates its children by the squared hinge,
    one child against the rest, trained on the documents that have a label below the node. In prediction a document
    descends to the `beam` most likely groups. With n labels and two levels, a document is scored by about 2√n
    classifiers instead of n. Fewer than 1,000 labels are not grouped: there is one classifier for each label against
    the rest, which is more accurate but more expensive.

    Prabhu, Kag, Harsola, Agrawal and Varma (2018), Parabel; Khandagale, Xiao and Babbar (2020), Bonsai.

    >>> model = LabelTree().fit([[3, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 0]], ["a", "b", "c", "a"])
    >>> model.predict([[2, 0, 0], [0, 0, 3]]).tolist()
    ['a', 'c']
    """

    traits = Traits(
        "label-tree", "tree of labels", "documents", scorer_kinds=("label-tree",), generative=False, poor_score=True
    )

    levels: int | None = setting(
        "Levels of the tree, labels included; None: 1, from 1,000 labels on 2, from 65,536 labels on 3.",
        default=None,
        at_least=1,
    )
    beam: int = setting("Number of groups per level that are kept for a document.", default=10, at_least=1)
    C: float = setting("Cost of a document on the wrong side of the margin.", default=1.0, above=0, below=np.inf)
    weights: str = setting(
        "Weighting of terms in a document.", default="auto", choices=DOCUMENT_WEIGHTINGS,
        more="auto is tf-idf for whole numbers; fractions, such as those of TfidfVectorizer, are not weighted again.",
    )  # fmt: skip
    least_weight: float = setting("Weights of smaller magnitude are left out.", default=0.05, at_least=0)
    tol: float = setting("Largest violation of the optimality conditions.", default=0.1, above=0)
    random_state: int = setting("Random seed for the clustering and the order of documents.", default=0, at_least=0)
    n_jobs: int | None = setting(
        "Number of threads over classes, by default one for each core; results do not depend on it.", default=None
    )
    class_weight: Any = class_weight_setting()

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Train the tree on documents X (n_docs, n_terms) and labels Y (n_docs, n_classes)."""
        if Y.shape[1] < 1 or not Y.nnz:
            raise BadData("no document has a label; label some documents")
        weighting = document_weighting(self.weights, X, sample_weight)
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
        Z, labels = weighting.apply(X), csr_array(Y != 0)
        if not weight.all():  # documents of weight zero are left out
            Z, labels, weight = Z[weight > 0], labels[weight > 0], weight[weight > 0]
        order, ends = self._group(Z, labels, weight)
        leaf = np.empty(len(order), np.int64)
        leaf[order] = np.arange(len(order))
        by_leaf = csr_array((np.ones(labels.nnz), leaf[labels.indices], labels.indptr), shape=labels.shape)
        rows, biases = [], []
        above = np.array([0, len(order)])
        for level, below in enumerate(ends):
            membership = _members(by_leaf, below)
            for start, end in zip(above[:-1].tolist(), above[1:].tolist(), strict=True):
                first, last = (int(index) for index in np.searchsorted(below, [start, end]))
                W, b = self._split(Z, membership, slice(first, last), weight)
                rows.append(W)
                biases.append(b)
            if progress is not None:
                progress(self.traits.name, {"iteration": level + 1, "of": len(ends)})
            above = below
        weights = csr_array(vstack(rows, format="csr"))
        link = "softmax" if exclusive else "log-odds"
        return Learnt(LabelTreeScorer(order, tuple(ends), weights, np.concatenate(biases), weighting, self.beam, link))

    def shrink(
        self, fitted: FittedModel, limit: int, size: Callable[[FittedModel], int], bits: Sequence[int]
    ) -> tuple[FittedModel, int] | None:
        """Fewer weights, which keep their bits."""
        return pruning.shrink_label_tree(fitted, limit, size), pruning.BITS

    def shrink_alike(self, scorer: Scorer, small: Scorer, *, drop_terms: bool) -> tuple[Scorer, Ids] | None:
        """Another tree with as many weights as `small`."""
        if not (isinstance(scorer, LabelTreeScorer) and isinstance(small, LabelTreeScorer)):
            return None
        return pruning.shrink_alike(scorer, small, drop_terms=drop_terms)

    def _group(self, Z: Sparse, labels: Sparse, weight: Floats) -> tuple[Ids, list[Ids]]:
        """The labels in the order of the leaves, and the groups of each level."""
        groups = group_numbers(labels.shape[1], self.levels)
        if not groups:
            return np.arange(labels.shape[1]), [np.arange(labels.shape[1] + 1)]
        return cluster_labels(label_centroids(Z, labels, weight), groups, self.random_state)

    def _split(self, Z: Sparse, membership: Sparse, children: slice, weight: Floats) -> tuple[Sparse, Floats]:
        """The hyperplanes (n_children, n_terms) of one node, and their biases, from the documents below it."""
        n_children = children.stop - children.start
        inside = csr_array(membership[:, children])
        documents = np.flatnonzero(np.diff(inside.indptr) > 0)
        targets = csr_array(inside[documents] != 0)
        sizes = np.bincount(targets.indices, minlength=n_children)
        separable = (sizes > 0) & (sizes < len(documents))
        bias = np.where(sizes == 0, -1.0, 1.0)  # children of no document or of all
        if not separable.any():
            return csr_array((n_children, Z.shape[1]), dtype=np.float32), bias
        columns, part = compact_columns(csr_array(Z[documents]))
        rows, step = [], children_at_once(*part.shape)
        for start in range(0, n_children, step):
            block = slice(start, start + step)
            W, block_bias = self._separate(part, csr_array(targets[:, block]), weight[documents], separable[block])
            rows.append(W)
            bias[block] = np.where(separable[block], block_bias, bias[block])
        W = csr_array(vstack(rows, format="csr"))
        return csr_array((W.data, columns.astype(np.int32)[W.indices], W.indptr), shape=(n_children, Z.shape[1])), bias

    def _separate(self, Z: Sparse, targets: Sparse, weight: Floats, separable: Any) -> tuple[Sparse, Floats]:
        """The hyperplanes and biases of some children; weights are 0 for children that are not `separable`."""
        solution = squared_hinge(
            Z, targets, C=self.C, weight=weight, tol=self.tol, max_iter=MOST_PASSES, random_state=self.random_state,
            n_jobs=thread_count(self.n_jobs),
        )  # fmt: skip
        solution.weights[~separable] = 0.0
        return _sparse_rows(solution.weights, max(self.least_weight, float(np.finfo(np.float32).tiny))), solution.bias


def _sparse_rows(weights: Floats, least: float) -> Sparse:
    """The weights of magnitude `least` or more, in float32; row by row, so that each row stays in the cache."""
    columns = [np.flatnonzero(np.abs(row) >= least).astype(np.int32) for row in weights]
    values = [row[selected].astype(np.float32) for row, selected in zip(weights, columns, strict=True)]
    ends = np.concatenate([[0], np.cumsum([len(selected) for selected in columns])]).astype(np.int32)
    return csr_array((np.concatenate(values), np.concatenate(columns), ends), shape=weights.shape)


def children_at_once(n_docs: int, n_terms: int) -> int:
    """The number of children of a node that are trained at a time; their weights and dual variables are dense.

    >>> children_at_once(1000, 10_000), children_at_once(60_000, 1_000_000), children_at_once(10, 10**9)
    (416, 4, 4)
    """
    return max(4, min(1024, MOST_WEIGHTS // max(n_docs, n_terms)) // 4 * 4)


def group_numbers(n_labels: int, levels: int | None) -> list[int]:
    """The number of groups of each level above the labels: powers of two in similar ratios.

    >>> group_numbers(90, None), group_numbers(90, 2), group_numbers(20_000, None), group_numbers(1_000_000, None)
    ([], [8], [128], [64, 8192])
    """
    levels = levels or (1 if n_labels < 1000 else 2 if n_labels < 1 << 16 else 3)
    bits = max(n_labels, 1).bit_length() - 1
    powers = dict.fromkeys(round(bits * level / levels + 1e-9) for level in range(1, levels))
    return [1 << power for power in powers if power]


def _members(by_leaf: Sparse, ends: Ids) -> Sparse:
    """Whether each document has a label below each group (n_docs, n_groups)."""
    group = np.searchsorted(ends, by_leaf.indices, side="right") - 1
    ends_of_rows = by_leaf.indptr.copy()  # which sum_duplicates changes
    table = csr_array((np.ones(len(group)), group, ends_of_rows), shape=(by_leaf.shape[0], len(ends) - 1))
    table.sum_duplicates()
    return table
