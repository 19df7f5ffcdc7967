"""Decision trees, a baseline. scikit-learn grows them; the scorer stores their nodes in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_array

from unnaive.base.elementary import log
from unnaive.base.errors import BadModel, choose, refuse_damaged
from unnaive.base.extras import import_extra
from unnaive.base.progress import report_classes
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.array_rules import ArrayRule, check_keys, check_rules, read_whole
from unnaive.data.targets import class_columns
from unnaive.data.weighting import with_small_indices
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.scorer import Scorer
from unnaive.models.estimator import UnweightedDocumentsModel, scheme_setting

BLOCK_CELLS = 1 << 22  # dense counts held at a time: 16 MB of float32
LEAF = -1


RULES = {
    "feature": ArrayRule("whole", ("nodes",), LEAF, below="terms"),
    "left": ArrayRule("whole", ("nodes",), LEAF, below="nodes"),
    "right": ArrayRule("whole", ("nodes",), LEAF, below="nodes"),
    "threshold": ArrayRule("float", ("nodes",)),
    "node_scores": ArrayRule("float", ("nodes", "states")),
    "roots": ArrayRule("whole", ("trees",), 0, below="nodes"),
}


@dataclass(frozen=True, eq=False)
class Trees(Scorer):
    """One tree for all classes, or one tree for each class; the nodes of all trees are in one list.

    roots (n_trees,); feature, threshold, left, right (n_nodes,); node_scores (n_nodes, classes of a tree). A document
    with x[feature] ≤ threshold goes left; a leaf has feature −1. Children come after their parent, so every path ends.
    """

    kind: ClassVar[str] = "trees"

    roots: Ids
    feature: Ids
    threshold: Floats
    left: Ids
    right: Ids
    node_scores: Floats
    n_terms: int
    link: str

    @property
    def n_classes(self) -> int:
        """The number of classes of the single tree, or the number of trees."""
        return int(self.node_scores.shape[1] if len(self.roots) == 1 else len(self.roots))

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        used = np.unique(self.feature[self.feature != LEAF])
        tested = np.searchsorted(used, self.feature)  # the entry of a leaf is not used
        counts = csr_array(X)[:, used]
        scores = np.empty((counts.shape[0], self.n_classes))
        block = max(1, BLOCK_CELLS // max(1, len(used)))
        for start in range(0, len(scores), block):
            rows = counts[start : start + block].toarray().astype(np.float32)
            scores[start : start + block] = np.hstack(
                [self.node_scores[self._leaves(rows, tested, root)] for root in self.roots]
            )
        return scores

    def _leaves(self, rows: NDArray[np.float32], tested: Ids, root: int) -> Ids:
        """The leaf of each document in the tree that starts at `root`."""
        node = np.full(len(rows), root)
        walking = np.flatnonzero(self.feature[node] != LEAF)
        while len(walking):
            here = node[walking]
            goes_left = rows[walking, tested[here]] <= self.threshold[here]
            node[walking] = np.where(goes_left, self.left[here], self.right[here])
            walking = walking[self.feature[node[walking]] != LEAF]
        return node

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings for `from_arrays`."""
        arrays = {
            field_.name: getattr(self, field_.name) for field_ in fields(self) if field_.name not in ("n_terms", "link")
        }
        return arrays, {"n_terms": self.n_terms, "link": self.link}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> Trees:
        """The inverse of `to_arrays`; the input is checked, since it comes from a file."""
        with refuse_damaged("the trees in this model are"):
            link = choose(["softmax", "log-odds"], settings["link"], "link")
            check_keys(settings, "link", "n_terms")
            n_terms = read_whole(settings["n_terms"], "n_terms")
            check_rules(arrays, RULES, terms=n_terms)
            nodes = {name: arrays[name].astype(np.int64) for name in ("roots", "feature", "left", "right")}
            trees = cls(**nodes, threshold=arrays["threshold"], node_scores=arrays["node_scores"],
                        n_terms=n_terms, link=link)  # fmt: skip
        if not _is_sound(trees):
            raise BadModel("the trees in this model have invalid branches; train it again")
        return trees


def _is_sound(trees: Trees) -> bool:
    """Whether every path ends: the children of a node come after it."""
    inner = np.flatnonzero(trees.feature != LEAF)
    onward = (trees.left[inner] > inner) & (trees.right[inner] > inner)
    one_column = len(trees.roots) == 1 or trees.node_scores.shape[1] == 1
    return bool(np.all(onward)) and len(trees.roots) > 0 and one_column


def join_trees(grown: Sequence[Any], node_scores: Sequence[Floats], n_terms: int, link: str) -> Trees:
    """Concatenate the nodes of scikit-learn's trees, with the scores of each node."""
    sizes = [tree.node_count for tree in grown]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def children(name: str) -> Ids:
        moved = [
            np.where(getattr(tree, name) < 0, LEAF, getattr(tree, name) + root)
            for tree, root in zip(grown, roots, strict=True)
        ]
        return np.concatenate(moved).astype(np.int64)

    left = children("children_left")
    feature = np.where(left == LEAF, LEAF, np.concatenate([tree.feature for tree in grown])).astype(np.int64)
    threshold = np.concatenate([tree.threshold for tree in grown]).astype(np.float64)
    return Trees(
        roots, feature, threshold, left, children("children_right"), np.concatenate(node_scores), n_terms, link
    )


class DecisionTree(UnweightedDocumentsModel):
    """A decision tree on the counts, or for multilabel targets one for each class.

    A leaf with n documents, n_c of class c, scores log (n_c + 1)/(n + n_classes), or for one-vs-rest the log-odds
    log (n_c + 1)/(n − n_c + 1): the +1 keeps pure leaves from being certain.

    >>> tree = DecisionTree().fit([[3, 0], [2, 1], [0, 2], [1, 3]], ["sport", "sport", "politics", "politics"])
    >>> tree.predict_proba([[5, 0]])
    array([[0.25, 0.75]])
    """

    traits = Traits("tree", "decision tree", "documents", scorer_kinds=("trees",), takes_sample_weight=False)

    max_depth: int | None = setting("Maximum depth of the tree; None for no limit.", default=None, at_least=1)
    min_leaf: int = setting("Minimum number of documents in a leaf.", default=2, at_least=1)
    criterion: str = setting("Criterion for splits.", default="entropy", choices=("entropy", "gini"))
    scheme: str | None = scheme_setting()
    random_state: int = setting("Random seed for ties between terms.", default=0, at_least=0)

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Memory for a number in every node of the single tree, or for one tree per class."""
        splitting = 10 * size.cells * np.log2(size.documents + 1)
        if self.scheme_for(exclusive) == "multiclass":
            return ClassCost(held=size.documents / (2 * self.min_leaf), steps=splitting)
        return ClassCost(held=1_000, steps=2e6 + splitting)

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """One tree over all classes, or one for each class against the rest."""
        counts = with_small_indices(csc_matrix(X, dtype=np.float32))
        grower = import_extra("sklearn.tree", "the model tree").DecisionTreeClassifier(
            criterion=self.criterion, max_depth=self.max_depth, min_samples_leaf=self.min_leaf,
            random_state=self.random_state,
        )  # fmt: skip
        if self.scheme_for(exclusive) == "multiclass":
            truth = np.asarray(csr_array(Y).argmax(axis=1)).ravel()
            nodes = [grower.fit(counts, truth, sample_weight=sample_weight).tree_]
            scores = [_log_shares(nodes[0], Y.shape[1], grower.classes_)]
            return Learnt(join_trees(nodes, scores, X.shape[1], "softmax"))
        columns = class_columns(Y)
        watched = report_classes(columns, len(columns), progress, self.traits.name)
        nodes = [grower.fit(counts, present, sample_weight=sample_weight).tree_ for present in watched]
        scores = [_log_odds(tree, bool(present.any())) for tree, present in zip(nodes, columns, strict=True)]
        return Learnt(join_trees(nodes, scores, X.shape[1], "log-odds"))


def _log_shares(grown: Any, n_classes: int, seen: NDArray[Any]) -> Floats:
    """The log share of each class in each node (n_nodes, n_classes); classes without documents are in no node."""
    documents = np.zeros((grown.node_count, n_classes))
    documents[:, seen] = grown.value[:, 0, :] * grown.weighted_n_node_samples[:, None]
    shares: Floats = log(documents + 1) - log(documents.sum(axis=1, keepdims=True) + n_classes)
    return shares


def _log_odds(grown: Any, any_present: bool) -> Floats:
    """The log-odds of the class in each node of its tree (n_nodes, 1)."""
    documents = grown.value[:, 0, :] * grown.weighted_n_node_samples[:, None]
    if documents.shape[1] == 1:  # all documents, or none, have the class
        documents = np.hstack([0 * documents, documents] if any_present else [documents, 0 * documents])
    odds: Floats = log(documents[:, 1:] + 1) - log(documents[:, :1] + 1)
    return odds
