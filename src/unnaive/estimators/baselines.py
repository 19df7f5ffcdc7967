"""The baselines as scikit-learn estimators, so that they take labels and answer as the others here do."""

from __future__ import annotations

from typing import ClassVar

from unnaive.estimators.base import DocumentsClassifier


class LinearSVM(DocumentsClassifier):
    """A linear support vector machine for each class against the rest; the score is the margin.

    C        how much a document on the wrong side costs
    weights  "tf-idf", "log", "binary" or "counts"

    >>> LinearSVM().fit([[3, 0], [2, 1], [0, 2]], ["sport", "sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "svm"
    probabilistic: ClassVar[bool] = False

    def __init__(self, *, C: float = 1.0, weights: str = "tf-idf") -> None:
        self.C = C
        self.weights = weights


class NearestNeighbours(DocumentsClassifier):
    """The k most similar training documents vote, each with its cosine similarity.

    k        how many vote
    weights  "tf-idf", "log", "binary" or "counts"

    >>> NearestNeighbours(k=1).fit([[3, 0], [0, 2]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "knn"
    probabilistic: ClassVar[bool] = False

    def __init__(self, *, k: int = 30, weights: str = "tf-idf") -> None:
        self.k = k
        self.weights = weights


class DecisionTree(DocumentsClassifier):
    """A decision tree on the counts, or with several labels one for each class.

    max_depth  of the tree; None for as deep as it gets
    min_leaf   documents in a leaf, at least
    criterion  "entropy" or "gini"
    scheme     "multiclass" or "one-vs-rest"; None goes by the labels
    seed       of ties between terms

    >>> tree = DecisionTree().fit([[3, 0], [2, 1], [0, 2], [1, 3]], ["sport", "sport", "politics", "politics"])
    >>> tree.predict_proba([[5, 0]])
    array([[0.25, 0.75]])
    """

    model: ClassVar[str] = "tree"

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_leaf: int = 2,
        criterion: str = "entropy",
        scheme: str | None = None,
        seed: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_leaf = min_leaf
        self.criterion = criterion
        self.scheme = scheme
        self.seed = seed
