"""A fitted hierarchical network with arcs to the class: tables, exact inference, conversion to a Network.

em_to_class.py finds the tables; hidden_networks.py has one such network for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unnaive.base.elementary import log, log1p
from unnaive.base.types import Floats
from unnaive.data.products import matmul
from unnaive.linear.network import Network
from unnaive.models.hierarchical.cases import UNKNOWN, Cases, FeatureRows, distinct_rows
from unnaive.models.hierarchical.em import TINY, StartTables
from unnaive.models.hierarchical.em_to_class import UNSEEN, ToClass, node_probability
from unnaive.models.hierarchical.tree_shape import Tree, compile_stages, inputs, node_names

SOFT_CELLS = 1 << 22  # numbers held at a time if features are unknown


@dataclass(frozen=True, eq=False)
class HiddenTree:
    """Features → hidden variables → class (HBN); one or more sets of tables, whose posteriors are averaged.

    tree      the shape; the last node is the class
    features  P(F = 1) of each feature                                    (n_features,)
    tables    P(node = 1 | hidden, features), of every node               (members, 2^hidden, 2^features)

    In a table the first hidden variable and the first feature are the highest bits of their index.

    >>> from unnaive.models.hierarchical.tree_shape import Node
    >>> either = HiddenTree((Node((0, 1), ()),), np.array([0.5, 0.2]), (np.array([[[0.0, 1.0, 1.0, 1.0]]]),))
    >>> either.posterior(np.array([[0, 1], [0, -1]], np.int8)).round(3)   # second: absent, unknown
    array([1. , 0.2])
    """

    direction: ClassVar[str] = "to-class"

    tree: Tree
    features: Floats
    tables: tuple[Floats, ...]

    @classmethod
    def of(cls, tree: Tree, cases: Cases, problem: ToClass, tables: StartTables) -> HiddenTree:
        """The network that EM found; configurations that were never seen get 1/2."""
        whole = []
        for node, stage, table in zip(tree, problem.stages, tables, strict=True):
            full = np.full((*table.shape[:2], 1 << len(node.features)), UNSEEN)
            full[:, :, stage.codes] = table
            whole.append(full)
        present = matmul(cases.positive + cases.negative, cases.rows)
        return cls(tree, present / max(cases.total, 1), tuple(whole))

    @property
    def members(self) -> int:
        """The number of averaged sets of tables."""
        return len(self.tables[0])

    @property
    def n_parameters(self) -> int:
        """Free parameters of one member: one for each feature, and one for each configuration of a node's parents."""
        return int(len(self.features) + sum(table[0].size for table in self.tables))

    def posterior(self, evidence: FeatureRows) -> Floats:
        """P(class | evidence): rows of 1 present, 0 absent, −1 unknown (n, n_features) → (n,)."""
        posterior: Floats = self.member_posteriors(evidence).mean(axis=0)
        return posterior

    def member_posteriors(self, evidence: FeatureRows) -> Floats:
        """The posterior of each member (members, n)."""
        rows, row_of = distinct_rows(evidence)
        unknown = (rows == UNKNOWN).any(axis=1)
        inside = np.empty((self.members, len(rows)))
        inside[:, ~unknown] = self._if_known(rows[~unknown])
        inside[:, unknown] = self._if_unknown(rows[unknown])
        return inside[:, row_of]

    def log_features(self, rows: FeatureRows) -> Floats:
        """log P(features) of known rows: features are independent roots (n,)."""
        p = np.clip(self.features, TINY, 1 - TINY)
        present = rows.astype(np.float64)
        logs: Floats = matmul(present, log(p)) + matmul(1 - present, log1p(-p))
        return logs

    def _if_known(self, rows: FeatureRows) -> Floats:
        stages, order = compile_stages(self.tree, rows)
        chances: list[Floats] = []
        for stage, table in zip(stages, self.tables, strict=True):
            hidden = [link.expand(chances[link.node]) for link in stage.links]
            chances.append(np.clip(node_probability(stage, table[:, :, stage.codes], hidden), TINY, 1 - TINY))
        return chances[-1][:, order]

    def _if_unknown(self, rows: FeatureRows) -> Floats:
        """Every feature as a variable with its own probability: 0, 1, or P(F) if it is unknown."""
        step = max(1, SOFT_CELLS // (self.members * max(table[0].size for table in self.tables)))
        parts = [self._soft(rows[first : first + step]) for first in range(0, len(rows), step)]
        return np.concatenate(parts, axis=1) if parts else np.empty((self.members, 0))

    def _soft(self, rows: FeatureRows) -> Floats:
        features = np.where(rows == UNKNOWN, self.features, rows.astype(np.float64)).T
        chances: list[Floats] = []
        for node, table in zip(self.tree, self.tables, strict=True):
            parents = [chances[child] for child in node.hidden] + [features[None, feature] for feature in node.features]
            chances.append(np.clip(_averaged(table, parents), TINY, 1 - TINY))
        return chances[-1]

    def network(self, names: list[str], class_name: str, member: int = 0) -> Network:
        """One member as a Network: features first, then hidden variables `hidden1` …, then the class."""
        n = len(self.features)
        parents = [()] * n + [inputs(node, n) for node in self.tree]
        roots = [np.array([1 - p, p]) for p in self.features]
        tables = [_with_axes(table[member]) for table in self.tables]
        return Network(node_names(self.tree, names, class_name), tuple(parents), (*roots, *tables))


def _averaged(table: Floats, parents: list[Floats]) -> Floats:
    """The mean of the table over its parents' states.

    (members, 2^hidden, 2^features), probabilities by row → (members, rows).
    """
    rest = table.reshape(len(table), -1, 1)
    for parent in parents:
        absent, present = np.split(rest, 2, axis=1)
        rest = absent + parent[:, None] * (present - absent)
    mean: Floats = rest[:, 0]
    return mean


def _with_axes(table: Floats) -> Floats:
    """P(node = 1) by joint state of parents → one axis for each parent, then the node's own two states."""
    n_parents = table.size.bit_length() - 1
    return np.stack([1 - table, table], axis=-1).reshape((2,) * (n_parents + 1))
