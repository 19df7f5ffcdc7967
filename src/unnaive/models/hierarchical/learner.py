"""Hierarchical Bayesian network classifiers: for each class select features, build a tree of hidden variables, run EM.

    X, Y → features by information gain → Cases → tree_shape → em → a network for each class → HiddenNetworks

Karčiauskas (2002), "Text categorization using hierarchical Bayesian network classifiers".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.base.errors import BadData
from unnaive.base.settings import setting
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.named_counts import over_classes
from unnaive.data.weighting import presence
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.term_selection import class_gain, informative_terms
from unnaive.models.estimator import DocumentsModel, class_weight_setting, scheme_setting
from unnaive.models.hierarchical.cases import Cases
from unnaive.models.hierarchical.em import EmSearch, StartTables, run_em
from unnaive.models.hierarchical.em_from_class import Branch, FromClass, branches
from unnaive.models.hierarchical.em_to_class import ToClass
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_networks import NETWORK_SCORES, ClassNetwork, HiddenNetworks, evidence
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.tree_shape import CLUSTERINGS, Tree, shape_tree
from unnaive.models.mixins import HasNetwork

EmReport = Callable[[int, Floats], None]
Each = Callable[..., Iterable[Any]]  # map, or a threaded version

TUNED = {"avg": (7, 0.05), "or": (9, 0.09), "dep": (7, 170.0), "dep-unconditional": (7, 170.0)}
"""branching and alpha with the best results on the thesis's validation data (table 4.1); the last has those of dep."""

WIDEST = 16  # a table has 2^branching cells


class HierarchicalBN(DocumentsModel, HasNetwork):
    """A Bayesian network for each class: its best terms, hidden variables between them and the class, tables by EM.

    A class's network depends only on its own documents and `random_state`, not on other classes or their order. Scores
    are log-odds of the class against the rest; two exclusive classes have one network, for the second.
    `progress` is called in every iteration: ("em", {"class", "classes", "iteration", "restarts", "log_likelihood"}).

    n_iter_  the largest number of EM iterations over the classes

    >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
    >>> HierarchicalBN(restarts=8, average=2).fit(X, y).predict(X).tolist()
    ['trade', 'trade', 'ship', 'ship']
    """

    traits = Traits(
        "hierarchical",
        "hierarchical Bayesian networks",
        "documents",
        scorer_kinds=("hidden-networks",),
        poor_score=True,
    )

    clustering: str = setting("Criterion for clustering features.", default="or", choices=tuple(CLUSTERINGS))
    branching: int | None = setting(
        "Maximum number of children of a node; None for the thesis's best value for the clustering.",
        default=None,
        at_least=2,
        at_most=WIDEST,
    )
    alpha: float | None = setting(
        'Penalty on cluster size ("avg", "or"), or weight of mutual information (those with "dep").',
        default=None,
        more="None: the thesis's best value.",
        at_least=0,
        below=np.inf,
    )
    features: int = setting(
        "Number of terms per class, by information gain; only presence counts.", default=30, at_least=1
    )
    direction: str = setting(
        "Features → hidden → class (HBN), or the reverse (HNB).", default="to-class", choices=("to-class", "from-class")
    )
    restarts: int = setting(
        "Number of random starts of EM; half are dropped whenever the iterations double.", default=64, at_least=1
    )
    average: int = setting(
        "Number of best starts that run to the end; their posteriors are averaged.",
        default=8,
        more="The thesis uses 1.",
        at_least=1,
    )
    tol: float = setting(
        "EM stops when the log-likelihood rises by less than this.", default=1e-4, at_least=0, below=np.inf
    )
    stopping: str = setting(
        "Whether tol is per document, or absolute as in the thesis.",
        default="per-case",
        choices=("per-case", "absolute"),
    )
    max_iter: int = setting("Maximum number of EM iterations.", default=1000, at_least=1)
    scheme: str | None = scheme_setting()
    n_jobs: int | None = setting(
        "Number of threads, by default one per core; results do not depend on it.",
        default=None,
        more="Classes, and starts within a class, run in parallel.",
        at_least=-1,
    )
    random_state: int = setting("Random seed of the starts.", default=0, at_least=0)
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Memory for a network with its tables, and time for the restarts of EM over the documents."""
        features = min(self.features, size.terms)
        return ClassCost(held=64 * features, steps=self.restarts * (3e4 + 10 * size.documents * features))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """A network for each class against the rest."""
        branching, alpha = _branching_and_alpha(self.clustering, self.branching, self.alpha)
        search = EmSearch(self.restarts, self.average, self.tol, self.stopping, self.max_iter)
        documents = TrainingCases(X, Y, sample_weight)
        pair = self.scheme_for(exclusive) == "multiclass" and documents.n_classes == 2
        class_indices = [1] if pair else list(range(documents.n_classes))

        def network(each: Each, c: int) -> ClassNetwork:
            terms = documents.best_terms(c, self.features)
            cases = documents.cases(c, terms)
            tree = shape_tree(cases, clustering=self.clustering, branching=branching, alpha=alpha)
            report = _progress_of_class(progress, c, len(class_indices))
            random = np.random.default_rng(self.random_state)
            return ClassNetwork(terms, LEARNERS[self.direction](tree, cases, search, random, report, each))

        n_threads = thread_count(self.n_jobs)
        with spare_threads(n_threads, len(class_indices)) as each:
            networks = in_threads(partial(network, each), class_indices, n_threads)
        return Learnt(HiddenNetworks(tuple(networks), documents.n_terms, "softmax" if pair else "log-odds"))

    def _fit(self, X: Any, y: Any, sample_weight: Any, progress: ProgressCallback | None) -> Self:
        iterations = [1]  # without hidden variables, counting is enough

        def note(solver: str, line: dict[str, Any]) -> None:
            iterations.append(line["iteration"])
            if progress is not None:
                progress(solver, line)

        super()._fit(X, y, sample_weight, note)
        self.n_iter_: int = max(iterations)
        return self

    def predict_proba_given(self, X: Any, unknown: Any) -> Floats:
        """`predict_proba` if some terms of some documents are unknown, neither present nor absent.

        `unknown` (n_docs, n_terms), sparse or dense, is true for these cells; the values of X there are ignored.
        """
        fitted = self._fitted()
        documents, mask = self._check_documents(X, fitted), csr_array(unknown)
        if mask.shape != documents.shape:
            raise BadData(f"unknown has shape {mask.shape}, but X has {documents.shape}; give both the same shape")
        scorer: HiddenNetworks = fitted.scorer  # type: ignore[assignment]
        return fitted.probabilities(scorer.scores_given(documents, mask))

    def network_scores(self, label: Any, X: Any, y: Any) -> dict[str, float]:
        """The fit of a class's network to documents: "LL", "CLL", "MDL" and "CMDL" of its best member.

        LL is the log-likelihood of features and class, CLL that of the class given the features, in nats over all
        documents; MDL and CMDL are the corresponding description lengths, which add (log N)/2 for each parameter.

        >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
        >>> found = HierarchicalBN(restarts=8).fit(X, y).network_scores("trade", X, y)
        >>> list(found), round(found["CLL"], 3)
        (['LL', 'CLL', 'MDL', 'CMDL'], -0.0)
        """
        fitted = self._fitted()
        documents, targets, _ = self._check_labelled(X, y, fitted)
        scorer: HiddenNetworks = fitted.scorer  # type: ignore[assignment]
        index = fitted.class_index(label)
        entry = scorer.class_network(index)
        in_class = over_classes(targets, fitted.classes).Y[:, [index]].toarray()[:, 0] > 0
        # the single network of two classes is that of the second
        inside = ~in_class if scorer.link == "softmax" and index == 0 else in_class
        cases = Cases.of(evidence(csc_array(documents), entry.terms), inside)
        return {name: score(entry.network, cases) for name, score in NETWORK_SCORES.items()}


class HierarchicalNB(HierarchicalBN):
    """Hierarchical naive Bayes (HNB): HierarchicalBN with its arcs reversed, from the class to the features.

    >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
    >>> HierarchicalNB(restarts=8, average=2).fit(X, y).predict(X).tolist()
    ['trade', 'trade', 'ship', 'ship']
    """

    traits = Traits(
        "hierarchical-naive-bayes",
        "hierarchical naive Bayes networks",
        "documents",
        scorer_kinds=("hidden-networks",),
        poor_score=True,
    )

    direction: str = setting(
        "Features → hidden → class (HBN), or the reverse (HNB).",
        default="from-class",
        choices=("to-class", "from-class"),
    )


def _branching_and_alpha(clustering: str, branching: int | None, alpha: float | None) -> tuple[int, float]:
    """Branching and alpha; None is replaced by the thesis's values."""
    best_branching, best_alpha = TUNED[clustering]
    return best_branching if branching is None else branching, best_alpha if alpha is None else alpha


class TrainingCases:
    """The documents by term and by class, for the problems of all classes."""

    def __init__(self, X: Sparse, Y: Sparse, sample_weight: NDArray[Any] | None = None) -> None:
        present = presence(X).astype(np.int8)
        self.by_term = csc_array(present)
        self.labels = csc_array(Y)
        self.counts = Counts.of(present, csr_array(Y), sample_weight)
        self.weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)

    @property
    def n_classes(self) -> int:
        """Columns of Y."""
        return int(self.labels.shape[1])

    @property
    def n_terms(self) -> int:
        """Columns of X."""
        return int(self.by_term.shape[1])

    def best_terms(self, c: int, k: int) -> NDArray[np.int64]:
        """The k terms with the highest information gain about class c, best first; terms without any are omitted."""
        return informative_terms(class_gain(self.counts, c), k)

    def cases(self, c: int, terms: NDArray[np.int64]) -> Cases:
        """The documents by these terms, inside class c and outside."""
        rows = self.by_term[:, terms].toarray()
        inside = self.labels[:, [c]].toarray()[:, 0] > 0
        return Cases.of(rows, inside, self.weight)


def learn_to_class(
    tree: Tree, cases: Cases, search: EmSearch, random: np.random.Generator, report: EmReport, each: Each
) -> HiddenTree:
    """HBN: one EM for the whole tree; spare threads run starts."""
    problem = ToClass(tree, cases, each)
    tables, _ = run_em(problem, search, random, report)
    return HiddenTree.of(tree, cases, problem, tables)


def learn_from_class(
    tree: Tree, cases: Cases, search: EmSearch, random: np.random.Generator, report: EmReport, each: Each
) -> HiddenNaiveBayes:
    """HNB: one EM with its own restarts for each branch; spare threads run branches."""
    parts = branches(tree)

    def tables(branch: Branch, random: np.random.Generator) -> StartTables:
        return run_em(FromClass(branch, cases), search, random, report)[0]

    results = each(tables, parts, random.spawn(len(parts)))
    return HiddenNaiveBayes.of(tree, cases, list(zip(parts, results, strict=True)), search.average)


LEARNERS: dict[str, Callable[..., HiddenTree | HiddenNaiveBayes]] = {
    "to-class": learn_to_class,
    "from-class": learn_from_class,
}


def _progress_of_class(progress: ProgressCallback | None, c: int, n_classes: int) -> EmReport:
    if progress is None:
        return lambda iteration, likelihoods: None

    def report(iteration: int, likelihoods: Floats) -> None:
        details = {"class": c, "classes": n_classes, "iteration": iteration, "restarts": len(likelihoods)}
        progress("em", details | {"log_likelihood": float(likelihoods.max())})

    return report


@contextmanager
def spare_threads(threads: int, n_classes: int) -> Iterator[Each]:
    """A `map` for the work within one class, threaded if there are more threads than classes."""
    if threads <= n_classes:
        yield map
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def in_threads(work: Callable[[int], Any], items: list[int], threads: int | None) -> list[Any]:
    """Run `work` on every item in parallel."""
    pool = ThreadPoolExecutor(max(1, threads or os.cpu_count() or 1))
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(cancel_futures=True)  # on an interruption, do not wait for classes that have not started
