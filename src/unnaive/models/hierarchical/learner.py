"""Hierarchical Bayesian network classifiers: for each class its features, a tree of hidden variables, tables by EM.

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
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.named_counts import over_classes
from unnaive.data.weighting import presence
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.linear.selection import class_gain, informative_terms
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
from unnaive.text.backend import thread_count

EmReport = Callable[[int, Floats], None]
Each = Callable[..., Iterable[Any]]  # map, or one that uses threads

TUNED = {"avg": (7, 0.05), "or": (9, 0.09), "dep": (7, 170.0)}
"""branching and alpha that did best on the thesis's validation data (table 4.1)."""

WIDEST = 16  # a table has 2^branching cells


class HierarchicalBN(DocumentsModel, HasNetwork):
    """A Bayesian network for each class: its best terms, hidden variables between them and the class, tables by EM.

    A class's network depends on its own documents and `random_state` alone, not on other classes or their order. Scores
    are log-odds of the class against the rest; for two exclusive classes there is one network, of the second.
    `progress` is called in every iteration: ("em", {"class", "classes", "iteration", "restarts", "log_likelihood"}).

    n_iter_  iterations of EM, of the class that took most

    >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
    >>> HierarchicalBN(restarts=8, average=2).fit(X, y).predict(X).tolist()
    ['trade', 'trade', 'ship', 'ship']
    """

    name = "hierarchical"
    title = "hierarchical Bayesian networks"
    scorer_kinds = ("hidden-networks",)
    poor_score = True

    clustering: str = setting("How features share a hidden variable.", default="or", choices=tuple(CLUSTERINGS))
    branching: int | None = setting(
        "The most children of a node; None for what the thesis found best for the clustering.",
        default=None,
        at_least=2,
        at_most=WIDEST,
    )
    alpha: float | None = setting(
        'Penalty of cluster size ("avg", "or"), or weight of mutual information ("dep").',
        default=None,
        more="None: what the thesis found best.",
        at_least=0,
        below=np.inf,
    )
    features: int = setting(
        "Terms for each class, the best by information gain; only presence counts.", default=30, at_least=1
    )
    direction: str = setting(
        "Features → hidden → class (HBN), or the reverse (HNB).", default="to-class", choices=("to-class", "from-class")
    )
    restarts: int = setting(
        "Random starts of EM; half of them are dropped at each doubling of the iterations.", default=64, at_least=1
    )
    average: int = setting(
        "Number of the best starts that are run to the end, and whose posteriors are averaged.",
        default=8,
        more="1 is the thesis.",
        at_least=1,
    )
    tol: float = setting("EM ends when the log-likelihood rises by less.", default=1e-4, at_least=0, below=np.inf)
    stopping: str = setting(
        "Whether tol is for each case or absolute, as in the thesis.",
        default="per-case",
        choices=("per-case", "absolute"),
    )
    max_iter: int = setting("Iterations of EM, at most.", default=1000, at_least=1)
    scheme: str | None = scheme_setting()
    n_jobs: int | None = setting(
        "Number of threads, by default one for each core; results do not depend on it.",
        default=None,
        more="Classes, and starts within a class, share them.",
        at_least=-1,
    )
    random_state: int = setting("Seed of the starts.", default=0, at_least=0)
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """A network with its tables, and restarts of EM over the documents."""
        features = min(self.features, size.terms)
        return ClassCost(held=64 * features, steps=self.restarts * (3e4 + 10 * size.documents * features))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> HiddenNetworks:  # fmt: skip
        """A network for each class against the rest."""
        branching, alpha = _branching_and_alpha(self.clustering, self.branching, self.alpha)
        search = EmSearch(self.restarts, self.average, self.tol, self.stopping, self.max_iter)
        documents = TrainingCases(X, Y, sample_weight)
        pair = self.scheme_for(exclusive) == "multiclass" and documents.n_classes == 2
        wanted = [1] if pair else list(range(documents.n_classes))

        def network(each: Each, c: int) -> ClassNetwork:
            terms = documents.best_terms(c, self.features)
            cases = documents.cases(c, terms)
            tree = shape_tree(cases, clustering=self.clustering, branching=branching, alpha=alpha)
            report = _progress_of_class(progress, c, len(wanted))
            random = np.random.default_rng(self.random_state)
            return ClassNetwork(terms, LEARNERS[self.direction](tree, cases, search, random, report, each))

        n_threads = thread_count(self.n_jobs)
        with spare_threads(n_threads, len(wanted)) as each:
            networks = in_threads(partial(network, each), wanted, n_threads)
        return HiddenNetworks(tuple(networks), documents.n_terms, "softmax" if pair else "log-odds")

    def _fit(self, X: Any, y: Any, sample_weight: Any, progress: ProgressCallback | None) -> Self:
        iterations = [1]  # where nothing is hidden, counting is all there is to do

        def note(solver: str, line: dict[str, Any]) -> None:
            iterations.append(line["iteration"])
            if progress is not None:
                progress(solver, line)

        super()._fit(X, y, sample_weight, note)
        self.n_iter_: int = max(iterations)
        return self

    def predict_proba_given(self, X: Any, unknown: Any) -> Floats:
        """`predict_proba` where some terms of some documents are unknown, neither present nor absent.

        `unknown` (n_docs, n_terms), sparse or dense, is true there; what X has in those places is not looked at.
        """
        fitted = self._fitted()
        documents, mask = self._check_documents(X, fitted)[0], csr_array(unknown)
        if mask.shape != documents.shape:
            raise BadData(f"unknown has shape {mask.shape} and X {documents.shape}; give one cell for each cell of X")
        scorer: HiddenNetworks = fitted.scorer  # type: ignore[assignment]
        return fitted.probabilities(scorer.scores_given(documents, mask))

    def network_scores(self, label: Any, X: Any, y: Any) -> dict[str, float]:
        """How well the network of a class fits documents: "LL", "CLL", "MDL" and "CMDL" of its best member.

        Log-likelihood of features and class, and of the class given the features, in nats over all documents; both as
        description lengths, which add (log N)/2 for each parameter.

        >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
        >>> found = HierarchicalBN(restarts=8).fit(X, y).network_scores("trade", X, y)
        >>> list(found), round(found["CLL"], 3)
        (['LL', 'CLL', 'MDL', 'CMDL'], -0.0)
        """
        fitted = self._fitted()
        documents, targets, _ = self._check_labelled(X, y, fitted)
        scorer: HiddenNetworks = fitted.scorer  # type: ignore[assignment]
        place = fitted.class_index(label)
        one = scorer.class_network(place)
        own = over_classes(targets, fitted.classes).Y[:, [place]].toarray()[:, 0] > 0
        # the only network of two classes is the second's
        inside = ~own if scorer.link == "softmax" and place == 0 else own
        cases = Cases.of(evidence(csc_array(documents), one.terms), inside)
        return {name: score(one.network, cases) for name, score in NETWORK_SCORES.items()}


class HierarchicalNB(HierarchicalBN):
    """Hierarchical naive Bayes (HNB): HierarchicalBN with its arcs reversed, from the class to the features.

    >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
    >>> HierarchicalNB(restarts=8, average=2).fit(X, y).predict(X).tolist()
    ['trade', 'trade', 'ship', 'ship']
    """

    name = "hierarchical-naive-bayes"
    title = "hierarchical naive Bayes networks"
    scorer_kinds = ("hidden-networks",)

    direction: str = setting(
        "Features → hidden → class (HBN), or the reverse (HNB).",
        default="from-class",
        choices=("to-class", "from-class"),
    )


def _branching_and_alpha(clustering: str, branching: int | None, alpha: float | None) -> tuple[int, float]:
    """Branching and alpha, those of the thesis where None was given."""
    best_branching, best_alpha = TUNED[clustering]
    return best_branching if branching is None else branching, best_alpha if alpha is None else alpha


class TrainingCases:
    """The documents by term and by class, as every class's problem needs them."""

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
        """The k terms of most information gain about class c, best first; those of none are left out."""
        return informative_terms(class_gain(self.counts, c), k)

    def cases(self, c: int, terms: NDArray[np.int64]) -> Cases:
        """The documents by these terms, inside class c and outside."""
        rows = self.by_term[:, terms].toarray()
        inside = self.labels[:, [c]].toarray()[:, 0] > 0
        return Cases.of(rows, inside, self.weight)


def learn_to_class(
    tree: Tree, cases: Cases, search: EmSearch, random: np.random.Generator, report: EmReport, each: Each
) -> HiddenTree:
    """HBN: one EM for the whole tree, spare threads for the starts."""
    problem = ToClass(tree, cases, each)
    tables, _ = run_em(problem, search, random, report)
    return HiddenTree.of(tree, cases, problem, tables)


def learn_from_class(
    tree: Tree, cases: Cases, search: EmSearch, random: np.random.Generator, report: EmReport, each: Each
) -> HiddenNaiveBayes:
    """HNB: an EM with restarts of its own for each branch, spare threads for the branches."""
    own = branches(tree)

    def tables(branch: Branch, random: np.random.Generator) -> StartTables:
        return run_em(FromClass(branch, cases), search, random, report)[0]

    found = each(tables, own, random.spawn(len(own)))
    return HiddenNaiveBayes.of(tree, cases, list(zip(own, found, strict=True)), search.average)


LEARNERS: dict[str, Callable[..., HiddenTree | HiddenNaiveBayes]] = {
    "to-class": learn_to_class,
    "from-class": learn_from_class,
}


def _progress_of_class(progress: ProgressCallback | None, c: int, n_classes: int) -> EmReport:
    if progress is None:
        return lambda iteration, likelihoods: None

    def report(iteration: int, likelihoods: Floats) -> None:
        found = {"class": c, "classes": n_classes, "iteration": iteration, "restarts": len(likelihoods)}
        progress("em", found | {"log_likelihood": float(likelihoods.max())})

    return report


@contextmanager
def spare_threads(threads: int, n_classes: int) -> Iterator[Each]:
    """A `map` for the work within one class: over threads, where there are more of them than classes."""
    if threads <= n_classes:
        yield map
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def in_threads(work: Callable[[int], Any], items: list[int], threads: int | None) -> list[Any]:
    """`work` on every item, some at once; each BLAS call keeps to one core, so that sums do not depend on how many."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    pool = ThreadPoolExecutor(max(1, threads or os.cpu_count() or 1))
    with threadpool_limits(1, "blas"):
        try:
            return list(pool.map(work, items))
        finally:
            pool.shutdown(cancel_futures=True)  # an interruption does not wait for classes that have not begun
