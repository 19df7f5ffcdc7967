"""FeatureTrees is the scorer of tree-augmented naive Bayes: tables for pairs of terms that lean on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.network import Network
from unnaive.errors import BadModel, choose
from unnaive.models.hierarchical.tree_shape import distinct_name
from unnaive.models.paths import presence
from unnaive.types import Floats, Ids, Sparse


@dataclass(frozen=True, eq=False)
class FeatureTrees:
    """One tree over all classes (link "softmax"), or for each class one with two states (link "log-odds").

    terms    the features of each tree                                          (n_trees, k)
    parents  for each feature the one it leans on, by its place, or −1          (n_trees, k)
    logs     log P(own | parent, state): parent's state, then own state         (n_trees, states, k, 2, 2)
    prior    log P(state)                                                       (n_trees, states)
    """

    kind: ClassVar[str] = "feature-trees"

    terms: Ids
    parents: Ids
    logs: Floats
    prior: Floats
    n_terms: int
    link: str

    @property
    def n_classes(self) -> int:
        """States of the one tree, or as many as there are trees."""
        return int(self.prior.shape[1] if self.link == "softmax" else len(self.terms))

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        X = csr_array(X)
        joint = [self._log_joint(X, tree) for tree in range(len(self.terms))]
        if self.link == "softmax":
            return joint[0]
        return np.stack([one[:, 1] - one[:, 0] for one in joint], axis=1)

    def _log_joint(self, X: Sparse, tree: int) -> Floats:
        """log P(features, state) (n_docs, states).

        log P(a | b) = l00 + a(l01 − l00) + b(l10 − l00) + ab(l11 − l10 − l01 + l00): a sparse product for each part.
        """
        own = presence(X[:, self.terms[tree]])
        parents = self.parents[tree]
        leaning = parents >= 0
        table = self.logs[tree]
        neither, one, other = table[:, :, 0, 0], table[:, :, 0, 1], table[:, :, 1, 0]
        weight = one - neither
        np.add.at(weight.T, parents[leaning], (other - neither)[:, leaning].T)
        pairs = (table[:, :, 1, 1] - other - one + neither)[:, leaning]
        both = own[:, np.flatnonzero(leaning)].multiply(own[:, parents[leaning]])
        joint: Floats = own @ weight.T + csr_array(both) @ pairs.T + (self.prior[tree] + neither.sum(axis=1))
        return joint

    def network(self, class_index: int, names: Any, class_names: list[str]) -> Network:
        """The tree of a class as a value: the class first, then its features; `names` names all columns of X."""
        tree = 0 if self.link == "softmax" else class_index
        states = tuple(class_names) if self.link == "softmax" else ("no", "yes")
        features = tuple(str(names[term]) for term in self.terms[tree])
        own = class_names[class_index]
        top = distinct_name("class" if self.link == "softmax" else own, features, f"class {own}")
        prior, tables = np.exp(self.prior[tree]), np.exp(self.logs[tree])
        parents = [(0,) if parent < 0 else (0, int(parent) + 1) for parent in self.parents[tree]]
        shown = [tables[:, i, 0] if parent < 0 else tables[:, i] for i, parent in enumerate(self.parents[tree])]
        names_of_states = (states, *(("no", "yes") for _ in features))
        return Network((top, *features), ((), *parents), (prior / prior.sum(), *shown), names_of_states)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal scorer."""
        arrays: dict[str, NDArray[Any]] = {
            "terms": self.terms, "parents": self.parents, "logs": self.logs, "prior": self.prior,
        }  # fmt: skip
        return arrays, {"n_terms": self.n_terms, "link": self.link}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> FeatureTrees:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        try:
            link = choose(["softmax", "log-odds"], settings["link"], "link")
            terms, parents, logs, prior = (np.asarray(arrays[name]) for name in ("terms", "parents", "logs", "prior"))
            trees = cls(terms, parents, logs, prior, int(settings["n_terms"]), link)
        except (KeyError, TypeError, ValueError) as problem:
            raise BadModel(f"the trees in this model are damaged ({problem}); train it again") from problem
        if not _sound(trees):
            raise BadModel("the trees in this model have parts that do not fit together; train it again")
        return trees


def _sound(trees: FeatureTrees) -> bool:
    """Whether shapes agree, places are inside, and numbers are numbers."""
    if (
        trees.terms.ndim != 2
        or trees.prior.ndim != 2
        or any(part.dtype.kind not in "iu" for part in (trees.terms, trees.parents))
    ):
        return False
    (n_trees, k), states = trees.terms.shape, trees.prior.shape[1]
    shapes = trees.parents.shape == (n_trees, k) and trees.prior.shape == (n_trees, states)
    if not shapes or trees.logs.shape != (n_trees, states, k, 2, 2) or n_trees < 1:
        return False
    if (trees.link == "softmax" and n_trees != 1) or (trees.link == "log-odds" and states != 2):
        return False
    inside = np.all((trees.terms >= 0) & (trees.terms < trees.n_terms)) and np.all(
        (trees.parents >= -1) & (trees.parents < k)
    )
    numbers = all(part.dtype.kind == "f" and bool(np.all(np.isfinite(part))) for part in (trees.logs, trees.prior))
    return bool(inside) and numbers
