"""A fitted hierarchical naive Bayes network with arcs from the class: tables, exact inference, conversion to a Network.

em_from_class.py finds the tables; hidden_networks.py has one such network for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unnaive.base.elementary import log, log1p, logaddexp, logistic
from unnaive.base.types import Floats
from unnaive.data.products import matmul
from unnaive.linear.network import Network
from unnaive.models.hierarchical.cases import Cases, FeatureRows, distinct_rows
from unnaive.models.hierarchical.em import TINY, StartTables
from unnaive.models.hierarchical.em_from_class import Branch, class_frequencies, subtree_likelihood
from unnaive.models.hierarchical.tree_shape import Tree, inputs, node_names


@dataclass(frozen=True, eq=False)
class HiddenNaiveBayes:
    """Class → hidden variables → features (HNB); one or more sets of tables, whose posteriors are averaged.

    tree      the shape; the last node is the class
    prior     P(class = 1)
    hidden    P(hidden = 1 | state of its parent), of all nodes but the class   (members, 2, n_nodes − 1)
    features  P(feature = 1 | state of its parent)                               (members, 2, n_features)

    >>> from unnaive.models.hierarchical.tree_shape import Node
    >>> naive = HiddenNaiveBayes((Node((0,), ()),), 0.5, np.empty((1, 2, 0)), np.array([[[0.1], [0.3]]]))
    >>> naive.posterior(np.array([[1], [-1]], np.int8))   # present, unknown
    array([0.75, 0.5 ])
    """

    direction: ClassVar[str] = "from-class"

    tree: Tree
    prior: float
    hidden: Floats
    features: Floats

    @classmethod
    def of(cls, tree: Tree, cases: Cases, parts: list[tuple[Branch, StartTables]], members: int) -> HiddenNaiveBayes:
        """The network that EM found, branch by branch; features directly below the class are counted."""
        hidden = np.empty((members, 2, len(tree) - 1))
        features = np.repeat(class_frequencies(cases)[None], members, axis=0)
        for branch, (own_hidden, own_features) in parts:
            hidden[:, :, list(branch.nodes)] = own_hidden
            features[:, :, list(branch.features)] = own_features
        return cls(tree, cases.inside, hidden, features)

    @property
    def members(self) -> int:
        """The number of averaged sets of tables."""
        return len(self.features)

    @property
    def n_parameters(self) -> int:
        """Free parameters of one member: the prior, and two for every other variable."""
        return int(1 + self.hidden[0].size + self.features[0].size)

    def posterior(self, evidence: FeatureRows) -> Floats:
        """P(class | evidence): rows of 1 present, 0 absent, −1 unknown (n, n_features) → (n,)."""
        posterior: Floats = self.member_posteriors(evidence).mean(axis=0)
        return posterior

    def member_posteriors(self, evidence: FeatureRows) -> Floats:
        """The posterior of each member (members, n)."""
        rows, row_of = distinct_rows(evidence)
        outside, inside = np.moveaxis(self.log_given_class(rows), 1, 0)
        prior = np.clip(self.prior, TINY, 1 - TINY)
        odds = inside - outside + log(prior) - log1p(-prior)
        posteriors: Floats = np.clip(logistic(odds), TINY, 1 - TINY)
        return posteriors[:, row_of]

    def log_given_class(self, evidence: FeatureRows) -> Floats:
        """log P(known features | class) for both states of the class (members, 2, n); unknown features sum to 1."""
        features, hidden = np.clip(self.features, TINY, 1 - TINY), np.clip(self.hidden, TINY, 1 - TINY)
        present, absent = ((evidence == state).astype(np.float64).T for state in (1, 0))
        chances: list[Floats] = []
        for number, node in enumerate(self.tree):
            below = list(node.features)
            logs: Floats = matmul(log(features[:, :, below]), present[below])
            logs += matmul(log1p(-features[:, :, below]), absent[below])
            for child in node.hidden:
                logs += chances[child]
            if number < len(self.tree) - 1:
                chances.append(subtree_likelihood(logs, hidden[:, :, number]).log_chance)
        return logs

    def log_features(self, rows: FeatureRows) -> Floats:
        """log P(features) of rows, by the first member: the class summed out (n,)."""
        sides = log(np.clip([1 - self.prior, self.prior], TINY, 1))
        logs: Floats = logaddexp(*(self.log_given_class(rows)[0] + sides[:, None]))
        return logs

    def network(self, names: list[str], class_name: str, member: int = 0) -> Network:
        """One member as a Network: features first, then hidden variables `hidden1` …, then the class."""
        n = len(names)
        owner = {child: n + number for number, node in enumerate(self.tree) for child in inputs(node, n)}
        shares = np.concatenate([self.features[member], self.hidden[member]], axis=1).T
        tables = [np.stack([1 - share, share], axis=1) for share in shares]
        parents = [(owner[child],) for child in range(n + len(self.tree) - 1)]
        prior = np.array([1 - self.prior, self.prior])
        return Network(node_names(self.tree, names, class_name), (*parents, ()), (*tables, prior))
