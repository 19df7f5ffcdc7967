"""The exact E-step of a hierarchical naive Bayes network, whose arcs point from the class, for many starts at once.

em.py drives it; hidden_naive_bayes.py holds the resulting network. In training the class is known, so the network
decomposes: each hidden variable below the class, with its subtree, is a separate problem with its own restarts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unnaive.base.elementary import exp, log, log1p
from unnaive.base.types import Floats
from unnaive.data.products import matmul
from unnaive.models.hierarchical.cases import Cases, sums_by
from unnaive.models.hierarchical.em import SEEN, TINY, StartTables
from unnaive.models.hierarchical.tree_shape import Node, Stage, Tree, compile_stages


@dataclass(frozen=True)
class Branch:
    """A hidden variable below the class with its subtree, renumbered: node numbers and features of the whole tree."""

    nodes: tuple[int, ...]
    features: tuple[int, ...]
    tree: Tree


def branches(tree: Tree) -> list[Branch]:
    """One branch for each hidden variable below the class.

    >>> branches((Node((0, 2), ()), Node((1,), (0,))))
    [Branch(nodes=(0,), features=(0, 2), tree=(Node(features=(0, 1), hidden=()),))]
    """
    return [_branch(tree, _below(tree, top)) for top in tree[-1].hidden]


def _below(tree: Tree, top: int) -> list[int]:
    """The node and all nodes below it, lower ones first."""
    return sorted([top, *(node for child in tree[top].hidden for node in _below(tree, child))])


def _branch(tree: Tree, nodes: list[int]) -> Branch:
    features = [feature for node in nodes for feature in tree[node].features]
    index = {node: number for number, node in enumerate(nodes)}
    column = {feature: number for number, feature in enumerate(features)}
    local = tuple(
        Node(tuple(column[f] for f in tree[node].features), tuple(index[child] for child in tree[node].hidden))
        for node in nodes
    )
    return Branch(tuple(nodes), tuple(features), local)


class FromClass:
    """EM for one branch: tables in, better tables and the likelihood of the old ones out.

    The tables are P(hidden = 1 | state of its parent) (starts, 2, hidden) and P(feature = 1 | state of its parent)
    (starts, 2, features).
    """

    def __init__(self, branch: Branch, cases: Cases) -> None:
        rows = cases.rows[:, list(branch.features)]
        self.tree = branch.tree
        self.stages, order = compile_stages(branch.tree, rows)
        self.sides = np.stack([sums_by(order, side) for side in cases.sides])
        self.weight = cases.total
        self.bits = [code_bits(stage, node) for stage, node in zip(self.stages, self.tree, strict=True)]
        self.n_features = rows.shape[1]

    def start(self, random: np.random.Generator, n_starts: int) -> StartTables:
        """Random tables for hidden variables and for features (section 3.3)."""
        return [random.random((n_starts, 2, len(self.tree))), random.random((n_starts, 2, self.n_features))]

    def log_likelihood(self, tables: StartTables) -> Floats:
        """log P(features of the branch | class) of each start."""
        return self._total(upward_pass(self.stages, self.tree, self.bits, tables)[-1].log_chance)

    def step(self, tables: StartTables) -> tuple[StartTables, Floats]:
        """One iteration: the tables that maximise the expected likelihood, and the likelihood before."""
        hidden, features = tables
        seen = upward_pass(self.stages, self.tree, self.bits, tables)
        better = [hidden.copy(), features.copy()]
        # the weight of each state of the parent node, by row; for the class these are the data
        owner: list[Floats] = [np.empty(0)] * len(self.tree)
        owner[-1] = np.broadcast_to(self.sides, (len(hidden), *self.sides.shape))
        for number in range(len(self.tree) - 1, -1, -1):
            stage, node = self.stages[number], self.tree[number]
            both = seen[number].split_weights(owner[number], hidden[:, :, number])  # (starts, owner, own, rows)
            better[0][:, :, number] = _ratio(both[:, :, 1].sum(-1), both.sum((2, 3)), hidden[:, :, number])
            node_counts = both.sum(axis=1)
            by_code = np.add.reduceat(node_counts, stage.starts, axis=2)
            columns = list(node.features)
            total = node_counts.sum(axis=2, keepdims=True)
            better[1][:, :, columns] = _ratio(matmul(by_code, self.bits[number]), total, features[:, :, columns])
            for link in stage.links:
                owner[link.node] = link.sum_rows(node_counts)
        return better, self._total(seen[-1].log_chance)

    def _total(self, log_chance: Floats) -> Floats:
        total: Floats = np.einsum("rcs,cs->r", log_chance, self.sides)
        return total


@dataclass(frozen=True, eq=False)
class SubtreeLikelihood:
    """The likelihood of a node's subtree: of its rows given its own state (relative), and given the state of its
    parent.

    below       ∝ P(rows | own state)              (starts, 2, rows)
    log_chance  log P(rows | state of the owner)   (starts, 2, rows)
    """

    below: Floats
    log_chance: Floats

    def split_weights(self, owner: Floats, table: Floats) -> Floats:
        """The owner's weights split by the node's own posterior state: (starts, owner, own, rows)."""
        prior = np.stack([1 - table, table], axis=2)  # (starts, owner, own)
        joint = prior[..., None] * self.below[:, None]
        share = np.divide(owner, joint.sum(axis=2), out=np.zeros(joint[:, :, 0].shape), where=owner > 0)
        shared: Floats = joint * share[:, :, None]
        return shared


def upward_pass(stages: list[Stage], tree: Tree, bits: list[Floats], tables: StartTables) -> list[SubtreeLikelihood]:
    """The likelihood of each node's subtree given the state of its parent."""
    hidden, features = (np.clip(table, TINY, 1 - TINY) for table in tables)
    seen: list[SubtreeLikelihood] = []
    for number, (stage, node) in enumerate(zip(stages, tree, strict=True)):
        node_features = features[:, :, list(node.features)]
        logs = np.repeat(_log_bits(node_features, bits[number]), stage.sizes, axis=2)
        for link in stage.links:
            logs += link.expand(seen[link.node].log_chance)
        seen.append(subtree_likelihood(logs, hidden[:, :, number]))
    return seen


def subtree_likelihood(logs: Floats, table: Floats) -> SubtreeLikelihood:
    """From log P(rows | own state) (starts, 2, rows) to the parent's states.

    The maximum is factored out against underflow.
    """
    top = logs.max(axis=1)
    below = exp(logs - top[:, None])
    mixed = below[:, None, 0] * (1 - table)[..., None] + below[:, None, 1] * table[..., None]
    return SubtreeLikelihood(below, log(mixed) + top[:, None])


def _log_bits(chances: Floats, bits: Floats) -> Floats:
    """log Π_j p_j^b (1 − p_j)^(1 − b): (starts, 2, features), (codes, features) → (starts, 2, codes)."""
    absent = log1p(-chances)
    logs: Floats = matmul(log(chances) - absent, bits.T) + absent.sum(axis=2, keepdims=True)
    return logs


def code_bits(stage: Stage, node: Node) -> Floats:
    """The presence of a node's own features in each of its configurations (n_codes, n_features)."""
    places = np.arange(len(node.features) - 1, -1, -1)
    return ((stage.codes[:, None] >> places) & 1).astype(np.float64)


def _ratio(ones: Floats, counts: Floats, before: Floats) -> Floats:
    ratio: Floats = np.divide(ones, counts, out=before.copy(), where=np.broadcast_to(counts >= SEEN, before.shape))
    return ratio


def class_frequencies(cases: Cases) -> Floats:
    """P(feature = 1 | class) of every feature, outside and inside: (2, n_features); 1/2 where a side is empty."""
    present = matmul(cases.sides, cases.rows)
    totals = cases.sides.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(present, totals, out=np.full(present.shape, 0.5), where=totals > 0)
    return shares
