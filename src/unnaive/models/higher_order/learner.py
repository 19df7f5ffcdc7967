"""Higher-order smoothing (HOS) and higher-order naive Bayes (HONB), from the paths of second_order_paths.py.

Poyraz, Kilimci and Ganiz (2012), "A Novel Semantic Smoothing Method Based on Higher Order Paths for Text
Classification"; HONB after Ganiz, George and Pottenger (2011). Both end in an ordinary Linear.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, hstack

from unnaive.base.elementary import log1p
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.progress import report_classes
from unnaive.base.settings import setting
from unnaive.base.sklearn_protocol import available_if
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.named_counts import over_classes
from unnaive.data.targets import Targets, check_known_classes, class_columns, sorted_classes
from unnaive.data.weighting import NORMS, Weighting, document_frequency, presence
from unnaive.learning.decisions import default_decision
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import refuse_full_table
from unnaive.models.estimator import UnweightedDocumentsModel, scheme_setting
from unnaive.models.higher_order.path_scorer import PathScorer
from unnaive.models.higher_order.second_order_paths import FirstPass, SecondPass, TermSums, class_paths_as_published
from unnaive.models.higher_order.smoothing import (
    BERNOULLI,
    Mixture,
    exclusive_scorer,
    mix_paths,
    one_vs_rest_scorer,
    smoothed,
)

PATHS = ("exact", "paper")
PRIORS = ("documents", "paths")
PATH_WEIGHTS = ("binary", "log", "tfidf")


class HigherOrderNB(UnweightedDocumentsModel):
    """Bernoulli naive Bayes that counts second-order paths among the documents of a class instead of documents.

    P(t|c) = (1 + φ(t, D_c)) / (2 + φ(D_c))                               (eq. 8, Ganiz et al. 2011)
    P(c)   = n_c / n, or φ(D_c) / Σ_k φ(D_k) with prior="paths"           (eq. 9)

    φ(t, D_c) is the number of second-order paths among the class's documents that contain t, φ(D_c) that of all paths.
    For one-vs-rest each class is compared with the paths among the documents without it.

    >>> X, y = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]], ["a", "a", "b", "b"]
    >>> HigherOrderNB().fit(X, y).predict([[1, 1, 0, 0]]).tolist()
    ['a']
    """

    traits = Traits("honb", "higher-order naive Bayes", "documents", poor_score=True, takes_sample_weight=False)

    prior: str = setting(
        "The prior of a class is its share of documents, or of second-order paths.",
        default="documents",
        more="Classes with long documents have more paths; if there are none, documents count.",
        choices=PRIORS,
    )
    scheme: str | None = scheme_setting()

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Count the paths within the documents of each class."""
        refuse_full_table(Y.shape[1], X.shape[1], "higher-order naive Bayes")
        B, labels = presence(X), presence(Y)
        parts = [B[rows] for rows in class_columns(labels)]
        masses = np.array([part.shape[0] for part in parts], np.float64)
        everything = np.full(Y.shape[1], float(Y.shape[0]))
        sums = [TermSums.of(part) for part in report_classes(parts, len(parts), progress, self.traits.name)]
        counted = [part_sums.paths(part) for part_sums, part in zip(sums, parts, strict=True)]
        paths = np.array([total for _, total in counted])
        inside = _path_shares(np.column_stack([containing for containing, _ in counted]), paths)
        if self.scheme_for(exclusive) == "multiclass":
            return Learnt(
                exclusive_scorer(inside, paths if self.prior == "paths" and paths.any() else masses, BERNOULLI)
            )
        containing, other_paths = TermSums.of(B).without_classes(sums, B, labels)
        outside = _path_shares(containing, other_paths)
        if self.prior == "paths":
            has_paths = paths + other_paths > 0
            masses = np.where(has_paths, paths, masses)
            everything = np.where(has_paths, paths + other_paths, everything)
        return Learnt(one_vs_rest_scorer(inside, outside, masses, everything, BERNOULLI))


class HigherOrderSmoothing(UnweightedDocumentsModel):
    """Naive Bayes smoothed by second-order paths: a term that never occurred in a class borrows from related terms.

    P(t|c) = (1 − β)·P_so(t|c) + β·P_fo(t|c)                                                        (eq. 11)
    P_fo   = F_tc / Σ_t F_tc                               first order: occurrence in documents of the class
    P_so   = (1 + φ_tc) / (2 + Σ φ)                        second order: paths from term to class     (eq. 10)

    For one-vs-rest each class is compared with all documents without it: φ is linear in Y, so theirs is that of all
    documents minus that of the class.

    Learning takes two passes over the documents, and each is a sum over them. So documents that do not fit in memory,
    or are on several machines, can be learnt in shards. With presence in paths (the default) the result is bitwise the
    same; with weights="log" or a norm, sums of fractions depend on the shards by their rounding errors.

    >>> shards = [([[1, 1, 0]], ["a"]), ([[0, 1, 1], [0, 0, 1]], ["b", "b"])]
    >>> model = HigherOrderSmoothing()
    >>> for order in (1, 2):
    ...     for X, y in shards:
    ...         model = model.fit_pass(X, y, classes=["a", "b"], order=order)
    >>> whole = HigherOrderSmoothing().fit([[1, 1, 0], [0, 1, 1], [0, 0, 1]], ["a", "b", "b"])
    >>> bool((model.predict_proba([[1, 0, 1]]) == whole.predict_proba([[1, 0, 1]])).all())
    True
    """

    traits = Traits(
        "hos",
        "higher-order smoothing",
        "documents",
        scorer_kinds=("paths", "linear"),
        poor_score=True,
        takes_sample_weight=False,
    )

    beta: float = setting(
        "Share of the first-order estimate: 0 is second order only, 1 is first order only.",
        default=0.5,
        at_least=0,
        at_most=1,
    )
    paths: str = setting(
        "How paths are counted: exactly, or as the published algorithm does.", default="exact", choices=PATHS
    )
    weights: str = setting("Weight of a term in a path.", default="binary", choices=PATH_WEIGHTS)
    normaliser: str = setting(
        "Normalise paths by those of all terms and classes, or by those of each class.",
        default="total",
        choices=("total", "class"),
    )
    events: str = setting(
        "Event model: Bernoulli (absent terms are evidence) or multinomial.", default="bernoulli",
        choices=("bernoulli", "multinomial"),
    )  # fmt: skip
    norm: str | None = setting(
        "Norm by which documents are scaled before paths are counted; None for no scaling.",
        default=None,
        more="Without scaling, long documents dominate, since they have most paths.",
        choices=tuple(NORMS),
    )
    keep_documents: bool = setting(
        "Keep the terms of the training documents, so that explanations can name the paths.", default=True
    )
    scheme: str | None = scheme_setting()

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Both passes over all documents at once."""
        scheme = self.scheme_for(exclusive)
        refuse_full_table(Y.shape[1], X.shape[1], "higher-order smoothing")
        weighting = path_weighting(self.weights, X, self.norm)
        Z, labels = path_documents(X, self.weights, self.norm), path_labels(Y, scheme)
        first = FirstPass.of(Z, labels)
        if self.paths == "paper":
            linear = mix_paths(first, _published(Z, labels, scheme), self._mixture, weighting, scheme)
        else:
            linear = smoothed(first, SecondPass.of(Z, labels, first.first), self._mixture, weighting, scheme)
        return Learnt(PathScorer.of(linear, Z, csr_array(Y)) if self.keep_documents else linear)

    @classmethod
    def from_passes(
        cls, one: FirstPass, two: SecondPass, classes: Any, *, multilabel: bool = False, **parameters: Any
    ) -> Self:
        """An estimator fitted on the documents behind both passes, whose classes are `classes`, sorted.

        The passes of shards are computed with `FirstPass.of`, then `SecondPass.of` with the `first` of all of them, and
        added with `+`; `path_documents` and `path_labels` prepare their input.
        """
        names = np.asarray(classes)
        if not np.array_equal(names, np.unique(names)):
            raise BadData(f"the {len(names)} class names are not sorted and distinct; sort them")
        model = cls(**parameters)
        model.check_settings()
        if not model._in_shards:
            raise UnnaiveError(
                "weights='tfidf' and paths='paper' need all documents at once; call fit, or use other settings"
            )
        model._shards = _Shards(tuple(names.tolist()), "sets" if multilabel else "single", None, one, None)
        return model._finish(two)

    @available_if(lambda self: self._in_shards)
    def fit_pass(self, X: Any, y: Any, classes: Any = None, *, order: int = 1) -> Self:
        """Process some documents in the first pass (order=1) or, after all of them, in the second pass (order=2).

        The first call needs `classes`, a list of all classes, unless `fit` was called before; the documents of `fit`
        are dropped. The second pass must process the same documents as the first; after the last of them the model is
        ready. A further call with order=1 adds documents, and the second pass starts again. Documents are not kept: a
        model learnt in this way has no paths in its explanations, and cannot be updated or forget. Weights "tfidf",
        which need document frequencies in advance, and paths="paper" are not supported.
        """
        self.check_settings()
        begun: _Shards | None = self.__dict__.get("_shards")
        before: FittedModel | None = self.__dict__.get("fitted_")
        if (order, begun is not None) not in ((1, False), (1, True), (2, True)):
            raise BadData(f"order is {order!r}; process all documents with order=1 first, then with order=2")
        if classes is None and begun is None and before is None:
            raise BadData("classes must be passed on the first call to fit_pass")
        documents, targets, names = self._check_labelled(X, y)
        if begun is None:
            class_names = (
                sorted_classes(np.asarray(classes).tolist())
                if before is None or classes is not None
                else before.classes
            )
            begun = _Shards(class_names, targets.target_type, names, None, None)
        begun.check(documents, targets)
        Z = path_documents(documents, self.weights, self.norm)
        Y = path_labels(over_classes(targets, begun.classes).Y, self.scheme_for(not targets.multilabel))
        if order == 1:
            first = FirstPass.of(Z, Y)
            sums = first if begun.first_sums is None else begun.first_sums + first
            self._shards = replace(begun, first_sums=sums, second_sums=None)
            self.__dict__.pop("fitted_", None)  # between the passes there is no model to predict with
            return self
        self._shards = begun
        more = SecondPass.of(Z, Y, begun.first_pass.first)
        return self._finish(more if begun.second_sums is None else begun.second_sums + more)

    def fit(self, X: Any, y: Any, *, progress: ProgressCallback | None = None) -> Self:  # type: ignore[override]
        """Learn from all documents X and labels y."""
        self.__dict__.pop("_shards", None)
        return super().fit(X, y, progress=progress)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, new_classes: bool = False) -> Self:  # type: ignore[override]
        """Learn from more documents; the result equals training on all together. If there are too many to keep, use
        `fit_pass`.

        The first call needs `classes`, a list of all classes. With `new_classes`, any call may bring new classes, and X
        may have more columns; without it, both are errors.
        """
        self.__dict__.pop("_shards", None)
        return super().partial_fit(X, y, classes, new_classes)

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X; known after the first pass has started."""
        shards: _Shards | None = self.__dict__.get("_shards")
        if shards is not None and shards.first_sums is not None:
            return len(shards.first_sums.first)
        return super().n_features_in_

    def _finish(self, two: SecondPass) -> Self:
        """Store the second pass, and build the model once all documents have been processed."""
        shards = self._shards
        first_pass = shards.first_pass
        if two.n_docs > first_pass.n_docs:
            raise BadData(
                f"the second pass has {two.n_docs} documents, but the first has {first_pass.n_docs}; process each "
                "document once in both"
            )
        self._shards = replace(shards, second_sums=two)
        if two.n_docs == first_pass.n_docs:
            scheme = self.scheme_for(shards.target_type == "single")
            scorer = smoothed(first_pass, two, self._mixture, Weighting(self.weights, norm=self.norm), scheme)
            decision = default_decision(shards.target_type, scorer.link, scorer.n_classes)
            self.fitted_ = FittedModel(
                self._spec(), shards.classes, shards.target_type, scorer, decision, feature_names=shards.names
            )
        return self

    @property
    def _mixture(self) -> Mixture:
        return Mixture(self.beta, self.normaliser, self.events)

    @property
    def _in_shards(self) -> bool:
        return self.weights != "tfidf" and self.paths == "exact"


@dataclass(frozen=True, eq=False)
class _Shards:
    """The progress of sharded documents through the two passes."""

    classes: tuple[Any, ...]
    target_type: str
    names: tuple[str, ...] | None
    first_sums: FirstPass | None
    second_sums: SecondPass | None

    @property
    def first_pass(self) -> FirstPass:
        """The first pass; an error if it has not started."""
        if self.first_sums is None:
            raise BadData("process all documents with order=1 first, then with order=2")
        return self.first_sums

    def check(self, documents: Sparse, targets: Targets) -> None:
        """Raise an error if further documents have other columns, classes or label formats."""
        if self.first_sums is not None and documents.shape[1] != len(self.first_sums.first):
            raise BadData(
                f"X has {documents.shape[1]} features, but HigherOrderSmoothing is expecting "
                f"{len(self.first_sums.first)} features as input; give all shards the same columns"
            )
        if targets.multilabel != (self.target_type != "single"):
            raise BadData(
                f"labels came as {targets.target_type!r} but were {self.target_type!r} before; use one format"
            )
        check_known_classes(targets.classes, self.classes)


def path_weighting(name: str, X: Sparse, norm: str | None = None) -> Weighting:
    """The weight of a cell n of X in a path: "binary" presence, "log" 1 + log n, "tfidf" (1 + log n)·log(1 +
    n_docs/df).

    With `norm` "l1" or "l2", documents are then divided by their length.
    """
    if name != "tfidf":
        return Weighting(name, norm=norm)
    df = document_frequency(X)
    return Weighting("log", idf=log1p(X.shape[0] / np.maximum(df, 1)), norm=norm)


def path_documents(X: Sparse, weights: str, norm: str | None = None) -> Sparse:
    """The input documents of the passes: X weighted by `path_weighting`."""
    return presence(X) if weights == "binary" and norm is None else path_weighting(weights, X, norm).apply(X)


def path_labels(Y: Sparse, scheme: str) -> Sparse:
    """The input labels of the passes: Y and, for one-vs-rest, a last column of ones.

    >>> path_labels(csr_array([[1, 0], [0, 0]]), "one-vs-rest").toarray()
    array([[1., 0., 1.],
           [0., 0., 1.]])
    """
    if scheme == "multiclass":
        return csr_array(Y)
    return csr_array(hstack([csr_array(Y), np.ones((Y.shape[0], 1))]))


def _published(Z: Sparse, Y: Sparse, scheme: str) -> Floats:
    if scheme != "multiclass":
        raise UnnaiveError(
            "the paper counts paths to exclusive classes, but these documents do not have exactly one label each; use "
            "paths='exact'"
        )
    return class_paths_as_published(Z, Y)


def _path_shares(containing: Floats, paths: Floats) -> Floats:
    """(1 + φ(t, D)) / (2 + φ(D)) for each set of documents (n_terms, sets), which has φ(D) paths in total (sets,)."""
    return np.asarray((1 + containing) / (2 + paths))
