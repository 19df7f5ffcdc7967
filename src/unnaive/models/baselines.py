"""What the family is compared with: linear SVM, nearest neighbours and decision tree, behind the same door.

Learners (X, Y) → Scorer; scikit-learn trains the SVM and the trees, and is imported when they do. Scoring needs only
numpy: the SVM becomes a Linear, the others have scorers of their own in neighbours.py and trees.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_array, csr_matrix

from unnaive.core.linear import Linear
from unnaive.core.weighting import Weighting
from unnaive.errors import UnnaiveError, choose
from unnaive.models.neighbours import Neighbours
from unnaive.models.trees import Trees, joined_trees
from unnaive.types import Floats, Sparse

WEIGHTS = ("tf-idf", "log", "binary", "counts")


def svm(X: Sparse, Y: Sparse, *, C: float = 1.0, weights: str = "tf-idf") -> Linear:
    """A linear support vector machine for each class against the rest; the score is the margin.

    min over (w, b) of ½(‖w‖² + b²) + C·Σ_d max(0, 1 − y_d(w·z_d + b))², z the weighted document; LIBLINEAR solves it.

    >>> model = svm(csr_array([[3, 0], [2, 1], [0, 2]]), csr_array([[1, 0], [1, 0], [0, 1]]))
    >>> model.scores(csr_array([[1, 0], [0, 1]])).argmax(axis=1)
    array([0, 1])
    """
    if not 0 < C < np.inf:
        raise UnnaiveError(f"C is {C!r}; give a number above 0")
    weighting = document_weighting(weights, X)
    Z = _small_indices(csr_matrix(weighting.apply(X)))
    planes = [_plane(Z, present, C) for present in class_columns(Y)]
    arcs = np.array([normal for normal, _ in planes]).reshape(len(planes), X.shape[1])
    return Linear(arcs, np.array([offset for _, offset in planes]), weighting=weighting, link="margin")


def _plane(Z: Any, present: NDArray[np.bool_], C: float) -> tuple[Floats, float]:
    """Normal and offset of the hyperplane of one class; a class with nothing to tell apart gets a constant."""
    if present.all() or not present.any():
        return np.zeros(Z.shape[1]), 1.0 if present.any() else -1.0
    from sklearn.svm import LinearSVC

    # so tight a tolerance makes the order of documents irrelevant, for half as much time again
    machine = LinearSVC(C=C, dual="auto", tol=1e-7, max_iter=10_000, random_state=0).fit(Z, present)
    return machine.coef_[0], float(machine.intercept_[0])


def knn(X: Sparse, Y: Sparse, *, k: int = 30, weights: str = "tf-idf") -> Neighbours:
    """The k most similar training documents vote, each with its cosine similarity.

    score[d, c] = Σ over the k nearest n of d of cos(d, n)·Y[n, c]. Yang and Liu (1999), A re-examination of text
    categorization methods, eq. 3.

    >>> model = knn(csr_array([[3, 0], [2, 1], [0, 2]]), csr_array([[1, 0], [1, 0], [0, 1]]), k=1)
    >>> model.scores(csr_array([[1, 0]]))
    array([[1., 0.]])
    """
    if not (isinstance(k, int | np.integer) and k >= 1):
        raise UnnaiveError(f"k is {k!r}; give a whole number from 1 on")
    weighting = document_weighting(weights, X)
    unit = Weighting(weighting.tf, weighting.idf, "l2")
    return Neighbours(csr_array(unit.apply(X)), csr_array(Y), int(k), unit)


def tree(
    X: Sparse,
    Y: Sparse,
    *,
    max_depth: int | None = None,
    min_leaf: int = 2,
    criterion: str = "entropy",
    scheme: str = "multiclass",
    seed: int = 0,
) -> Trees:
    """Decision trees on the counts: one over all classes, or one for each class against the rest.

    A leaf with n documents, n_c of class c, says log (n_c + 1)/(n + n_classes), or with `scheme="one-vs-rest"` the
    log-odds log (n_c + 1)/(n − n_c + 1): the +1 keeps pure leaves from being certain.

    >>> model = tree(csr_array([[3, 0], [2, 1], [0, 2], [1, 3]]), csr_array([[1, 0], [1, 0], [0, 1], [0, 1]]))
    >>> np.exp(model.scores(csr_array([[5, 0]])))
    array([[0.75, 0.25]])
    """
    choose(["multiclass", "one-vs-rest"], scheme, "scheme")
    choose(["entropy", "gini"], criterion, "criterion")
    for name, value in (("max_depth", max_depth), ("min_leaf", min_leaf)):
        if value is not None and value < 1:
            raise UnnaiveError(f"{name} is {value}; give a whole number from 1 on")
    from sklearn.tree import DecisionTreeClassifier

    counts = _small_indices(csc_matrix(X, dtype=np.float32))
    grower = DecisionTreeClassifier(
        criterion=criterion, max_depth=max_depth, min_samples_leaf=min_leaf, random_state=seed
    )
    if scheme == "multiclass":
        truth = np.asarray(csr_array(Y).argmax(axis=1)).ravel()
        nodes = [grower.fit(counts, truth).tree_]
        said = [_log_shares(nodes[0], Y.shape[1], grower.classes_)]
        return joined_trees(nodes, said, X.shape[1], "softmax")
    nodes = [grower.fit(counts, present).tree_ for present in class_columns(Y)]
    said = [_log_odds(one, bool(present.any())) for one, present in zip(nodes, class_columns(Y), strict=True)]
    return joined_trees(nodes, said, X.shape[1], "log-odds")


def _log_shares(grown: Any, n_classes: int, seen: NDArray[Any]) -> Floats:
    """What each node says of each class (n_nodes, n_classes); classes without documents are in no node."""
    documents = np.zeros((grown.node_count, n_classes))
    documents[:, seen] = grown.value[:, 0, :] * grown.weighted_n_node_samples[:, None]
    shares: Floats = np.log(documents + 1) - np.log(documents.sum(axis=1, keepdims=True) + n_classes)
    return shares


def _log_odds(grown: Any, any_present: bool) -> Floats:
    """What each node of a tree says of its class (n_nodes, 1)."""
    documents = grown.value[:, 0, :] * grown.weighted_n_node_samples[:, None]
    if documents.shape[1] == 1:  # all documents, or none, were of the class
        documents = np.hstack([0 * documents, documents] if any_present else [documents, 0 * documents])
    odds: Floats = np.log(documents[:, 1:] + 1) - np.log(documents[:, :1] + 1)
    return odds


def class_columns(Y: Sparse) -> list[NDArray[np.bool_]]:
    """Which documents have each class, one array a class."""
    columns, labels = csr_array(Y).tocsc(), []
    for c in range(columns.shape[1]):
        present = np.zeros(columns.shape[0], np.bool_)
        inside = slice(columns.indptr[c], columns.indptr[c + 1])
        present[columns.indices[inside]] = columns.data[inside] != 0
        labels.append(present)
    return labels


def document_weighting(name: str, X: Sparse) -> Weighting:
    """The weighting called `name`, with what it takes from the training documents X.

    "tf-idf"  (1 + log n)·(1 + log((N+1)/(df+1))), rows of length 1     "log"     1 + log n, rows of length 1
    "binary"  presence                                                "counts"  as they are
    """
    choose(list(WEIGHTS), name, "document weighting")
    if name == "tf-idf":
        df = np.bincount(X.indices[X.data > 0], minlength=X.shape[1])
        return Weighting("log", 1 + np.log((X.shape[0] + 1) / (df + 1)), "l2")
    return {"log": Weighting("log", None, "l2"), "binary": Weighting("binary"), "counts": Weighting("raw")}[name]


def _small_indices(X: Any) -> Any:
    """The matrix with 32-bit indices, which is what LIBLINEAR and the trees take."""
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
