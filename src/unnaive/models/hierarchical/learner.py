"""Hierarchical Bayesian network classifiers: for each class its features, a tree of hidden variables, tables by EM.

    X, Y → features by information gain → Cases → tree_shape → em → a network for each class → HiddenNetworks

Karčiauskas (2002), "Text categorization using hierarchical Bayesian network classifiers". Half an hour a class there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.core.counts import Counts
from unnaive.core.selection import class_gain, telling_terms
from unnaive.errors import UnnaiveError, choose
from unnaive.models.hierarchical.cases import Cases
from unnaive.models.hierarchical.em import Search, Tables, fitted
from unnaive.models.hierarchical.em_from_class import Branch, FromClass, branches
from unnaive.models.hierarchical.em_to_class import ToClass
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_networks import HiddenNetworks, Selected
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.tree_shape import CLUSTERINGS, Tree, shaped
from unnaive.types import Floats, Progress, Sparse

Tell = Callable[[int, Floats], None]
Each = Callable[..., Iterable[Any]]  # map, or one that uses threads

TUNED = {"avg": (7, 0.05), "or": (9, 0.09), "dep": (7, 170.0)}
"""branching and alpha that did best on the thesis's validation data (table 4.1)."""

WIDEST = 16  # a table has 2^branching cells


def hierarchical(
    X: Sparse,
    Y: Sparse,
    *,
    clustering: str = "or",
    branching: int | None = None,
    alpha: float | None = None,
    features: int = 30,
    direction: str = "to-class",
    restarts: int = 64,
    average: int = 8,
    tolerance: float = 1e-4,
    stopping: str = "per-case",
    iterations: int = 1000,
    scheme: str = "one-vs-rest",
    threads: int | None = None,
    seed: int = 0,
    sample_weight: NDArray[Any] | None = None,
    progress: Progress | None = None,
) -> HiddenNetworks:
    """A network of hidden variables for each class against the rest; scores are log-odds.

    clustering  how features share a hidden variable: "or", "avg" or "dep"
    branching   at most so many variables hang on one, 2 to 16; by default what the thesis found best for `clustering`
    alpha       penalty of cluster size ("avg", "or"), importance of mutual information ("dep"); default likewise
    features    terms for each class, the best by information gain; only presence counts
    direction   "to-class": features → hidden → class (HBN); "from-class": the reverse (HNB)
    restarts    random starts of EM; half of them are dropped after 1, 2, 4, … iterations
    average     how many of the best are run to the end; their posteriors are averaged. 1 is the thesis
    tolerance, stopping, iterations   when EM ends (see em.Search); stopping="absolute" is the thesis
    scheme      "multiclass": of two classes that exclude each other one network tells all
    threads     None for all cores; classes share them, and starts within a class. The outcome does not depend on it
    progress    told of every iteration: ("em", {"class", "classes", "iteration", "restarts", "log_likelihood"})

    A class's network depends on its own documents, `seed` and nothing else: not on other classes or their order.

    >>> X = csr_array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
    >>> model = hierarchical(X, csr_array([[1], [1], [0], [0]]), restarts=4, average=1)
    >>> (model.scores(X) > 0).ravel()
    array([ True,  True, False, False])
    """
    choose(list(CLUSTERINGS), clustering, "feature clustering")
    choose(["multiclass", "one-vs-rest"], scheme, "scheme")
    if features < 1:
        raise UnnaiveError(f"features is {features}; a class needs at least 1")
    branching, alpha = _tuned(clustering, branching, alpha)
    learn = LEARNERS[choose(list(LEARNERS), direction, "direction")]
    search = Search(restarts, average, tolerance, stopping, iterations)
    documents = Documents(X, Y, sample_weight)
    pair = scheme == "multiclass" and documents.n_classes == 2
    wanted = [1] if pair else list(range(documents.n_classes))

    def network(each: Each, c: int) -> Selected:
        terms = documents.best_terms(c, features)
        cases = documents.cases(c, terms)
        tree = shaped(cases, clustering=clustering, branching=branching, alpha=alpha)
        tell = _told(progress, c, len(wanted))
        return Selected(terms, learn(tree, cases, search, np.random.default_rng(seed), tell, each))

    n_threads = max(1, threads or os.cpu_count() or 1)
    with spare_threads(n_threads, len(wanted)) as each:
        networks = in_threads(partial(network, each), wanted, n_threads)
    return HiddenNetworks(tuple(networks), documents.n_terms, "softmax" if pair else "log-odds")


hierarchical_naive_bayes = partial(hierarchical, direction="from-class")
"""HNB: the arcs turned round."""


def _tuned(clustering: str, branching: int | None, alpha: float | None) -> tuple[int, float]:
    best_branching, best_alpha = TUNED[clustering]
    branching = best_branching if branching is None else branching
    if not 2 <= branching <= WIDEST:
        raise UnnaiveError(f"branching is {branching}; it can be 2 to {WIDEST}, and tables have 2^branching cells")
    alpha = best_alpha if alpha is None else alpha
    if not 0 <= alpha < np.inf:
        raise UnnaiveError(f"alpha is {alpha}; give a number from 0 on, such as {best_alpha} for {clustering!r}")
    return branching, alpha


class Documents:
    """The documents by term and by class, as every class's problem needs them."""

    def __init__(self, X: Sparse, Y: Sparse, sample_weight: NDArray[Any] | None = None) -> None:
        present = csr_array(X)
        present = csr_array(((present.data > 0).astype(np.int8), present.indices, present.indptr), shape=present.shape)
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
        """The terms that tell most of class c, best first; those that tell nothing are left out."""
        return telling_terms(class_gain(self.counts, c), k)

    def cases(self, c: int, terms: NDArray[np.int64]) -> Cases:
        """The documents by these terms, inside class c and outside."""
        rows = self.by_term[:, terms].toarray()
        inside = self.labels[:, [c]].toarray()[:, 0] > 0
        return Cases.of(rows, inside, self.weight)


def learned_to_class(
    tree: Tree, cases: Cases, search: Search, random: np.random.Generator, tell: Tell, each: Each
) -> HiddenTree:
    """HBN: one EM for the whole tree, spare threads for the starts."""
    problem = ToClass(tree, cases, each)
    tables, _ = fitted(problem, search, random, tell)
    return HiddenTree.of(tree, cases, problem, tables)


def learned_from_class(
    tree: Tree, cases: Cases, search: Search, random: np.random.Generator, tell: Tell, each: Each
) -> HiddenNaiveBayes:
    """HNB: an EM with restarts of its own for each branch, spare threads for the branches."""
    own = branches(tree)

    def tables(branch: Branch, random: np.random.Generator) -> Tables:
        return fitted(FromClass(branch, cases), search, random, tell)[0]

    found = each(tables, own, random.spawn(len(own)))
    return HiddenNaiveBayes.of(tree, cases, list(zip(own, found, strict=True)), search.average)


LEARNERS: dict[str, Callable[..., HiddenTree | HiddenNaiveBayes]] = {
    "to-class": learned_to_class,
    "from-class": learned_from_class,
}


def _told(progress: Progress | None, c: int, n_classes: int) -> Tell:
    if progress is None:
        return lambda iteration, likelihoods: None

    def tell(iteration: int, likelihoods: Floats) -> None:
        found = {"class": c, "classes": n_classes, "iteration": iteration, "restarts": len(likelihoods)}
        progress("em", found | {"log_likelihood": float(likelihoods.max())})

    return tell


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
