"""The exact E-step of a hierarchical network whose arcs point to the class, for many starts at once.

em.py drives it; hidden_tree.py holds the resulting network. Nothing is approximated: P(class | features) is a
polynomial in the tables that is linear in each of them, so one pass up the tree computes it and one pass down computes
every expected count. Two things make it fast: identical rows are computed once at every node, and if a node has many
hidden variables, their joint states are split into two halves whose product is a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from unnaive.base.elementary import log, log1p
from unnaive.base.types import Floats
from unnaive.data.products import matmul
from unnaive.models.hierarchical.cases import Cases, sums_by
from unnaive.models.hierarchical.em import SEEN, TINY, StartTables
from unnaive.models.hierarchical.tree_shape import Stage, Tree, compile_stages

UNSEEN = 0.5  # for configurations that never occur in training
SPLIT = 4  # with at least this many hidden variables, two halves and a matrix product are faster
CHUNK_BYTES = 1 << 20  # starts are processed together while their rows fit the cache


class ToClass:
    """EM for one class: tables in, better tables and the likelihood of the old ones out.

    Each node has a table P(node = 1 | hidden states, features): (starts, 2^hidden, configurations of features
    seen). Starts are processed in chunks; `each` is `map` or a threaded version. The result is the same.
    """

    def __init__(self, tree: Tree, cases: Cases, each: Callable[..., Iterable[Any]] = map) -> None:
        self.each = each
        self.stages, order = compile_stages(tree, cases.rows)
        self.positive = sums_by(order, cases.positive)
        self.negative = sums_by(order, cases.negative)
        self.weight = cases.total
        widest = max(cells_per_start(stage) for stage in self.stages)
        self.chunk = max(1, CHUNK_BYTES // (8 * widest))

    def start(self, random: np.random.Generator, n_starts: int) -> StartTables:
        """Random tables for hidden variables, 1/2 everywhere for the class (section 3.2)."""
        shapes = [(n_starts, 1 << len(stage.links), len(stage.codes)) for stage in self.stages]
        return [random.random(shape) for shape in shapes[:-1]] + [np.full(shapes[-1], UNSEEN)]

    def log_likelihood(self, tables: StartTables) -> Floats:
        """log P(classes | features) of each start; by Proposition 1 the likelihood itself differs by a constant."""
        return np.concatenate(list(self.each(self._likelihood_before, self._parts(tables))))

    def step(self, tables: StartTables) -> tuple[StartTables, Floats]:
        """One iteration: the tables that maximise the expected likelihood, and the likelihood before."""
        done = list(self.each(self._step, self._parts(tables)))
        better = [np.concatenate(parts) for parts in zip(*(part for part, _ in done), strict=True)]
        return better, np.concatenate([likelihood for _, likelihood in done])

    def _parts(self, tables: StartTables) -> Iterator[StartTables]:
        for first in range(0, len(tables[0]), self.chunk):
            yield [table[first : first + self.chunk] for table in tables]

    def _likelihood_before(self, tables: StartTables) -> Floats:
        return self._log_likelihood(self._upward(tables)[0][-1])

    def _log_likelihood(self, inside: Floats) -> Floats:
        likelihood: Floats = matmul(log(inside), self.positive) + matmul(log1p(-inside), self.negative)
        return likelihood

    def _step(self, tables: StartTables) -> tuple[StartTables, Floats]:
        chances, shown = self._upward(tables)
        inside = chances[-1]
        # ∂ log-likelihood / ∂ P(node = 1) and / ∂ P(node = 0), by row; for the class these come from the data
        slopes = [(np.empty(0), np.empty(0))] * len(tables)
        slopes[-1] = (self.positive / inside, self.negative / (1 - inside))
        better = list(tables)
        for node in range(len(tables) - 1, -1, -1):
            stage = self.stages[node]
            better[node], below = reestimate_node(stage, tables[node], shown[node], *slopes[node])
            for link, (absent, present) in zip(stage.links, below, strict=True):
                slopes[link.node] = (link.sum_rows(present), link.sum_rows(absent))
        return better, self._log_likelihood(inside)

    def _upward(self, tables: StartTables) -> tuple[list[Floats], list[list[Floats]]]:
        """P(node = 1 | features below it) by row, and for each node that of its hidden variables on its own rows."""
        chances: list[Floats] = []
        shown: list[list[Floats]] = []
        for stage, table in zip(self.stages, tables, strict=True):
            shown.append([link.expand(chances[link.node]) for link in stage.links])
            chances.append(np.clip(node_probability(stage, table, shown[-1]), TINY, 1 - TINY))
        return chances, shown


def node_probability(stage: Stage, table: Floats, hidden: list[Floats]) -> Floats:
    """P(node = 1) = Σ_h Π_k P(h_k) · table[h, f], by row (starts, rows)."""
    if not hidden:
        return table[:, 0, :]
    if len(hidden) < SPLIT:
        return _dot(joint(hidden), np.repeat(table, stage.sizes, axis=2))
    first, second = halves(hidden)
    return _dot(sum_over_first(stage, table, joint(first), len(second)), joint(second))


def _dot(left: Floats, right: Floats) -> Floats:
    """Sums of products over the middle axis: (starts, states, rows) twice → (starts, rows)."""
    sums: Floats = np.einsum("rhs,rhs->rs", left, right)
    return sums


def joint(chances: list[Floats]) -> Floats:
    """Π_k P(h_k) for every joint state of independent binary variables; the first is the highest bit.

    [(starts, rows), …] → (starts, 2^k, rows)

    >>> joint([np.array([[0.25]]), np.array([[0.5]])]).ravel()
    array([0.375, 0.375, 0.125, 0.125])
    """
    starts, rows = chances[0].shape
    states = np.empty((starts, 1 << len(chances), rows))
    states[:, 1] = chances[-1]
    np.subtract(1, chances[-1], out=states[:, 0])
    filled = 2
    for chance in reversed(chances[:-1]):
        np.multiply(states[:, :filled], chance[:, None], out=states[:, filled : 2 * filled])
        states[:, :filled] -= states[:, filled : 2 * filled]
        filled *= 2
    return states


def halves(hidden: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Split the hidden variables into two parts; the first is the larger."""
    middle = (len(hidden) + 1) // 2
    return hidden[:middle], hidden[middle:]


def sum_over_first(stage: Stage, table: Floats, first: Floats, n_second: int) -> Floats:
    """Σ_u first[u] · table[(u, v), f] by row: a matrix product for each configuration f (starts, 2^second, rows)."""
    starts = len(table)
    out = np.empty((starts, 1 << n_second, stage.n_rows))
    for code, rows in stage.blocks():
        matrix = table[:, :, code].reshape(starts, -1, 1 << n_second)
        matmul(matrix.transpose(0, 2, 1), first[:, :, rows], out=out[:, :, rows])
    return out


Slopes = list[tuple[Floats, Floats]]


def reestimate_node(
    stage: Stage, table: Floats, hidden: list[Floats], if_present: Floats, if_absent: Floats
) -> tuple[Floats, Slopes]:
    """The re-estimated table of a node and, for each of its hidden variables, the slopes for absent and present.

    `if_present`, `if_absent`: slope of the log-likelihood in P(node = 1), P(node = 0), by row.
    """
    if not hidden:
        return reestimate_table(table, if_present[:, None], if_absent[:, None]), []
    if len(hidden) < SPLIT:
        return _reestimate_jointly(stage, table, hidden, if_present, if_absent)
    return _reestimate_by_halves(stage, table, hidden, if_present, if_absent)


def reestimate_table(table: Floats, present: Floats, absent: Floats) -> Floats:
    """table ← expected count of 1 / expected count; unchanged if nothing is expected.

    `present`, `absent`: slopes summed with the weight of the hidden states, so that a count is slope × probability.
    """
    ones = np.maximum(table * present, 0)  # rounding may give a slightly negative count
    counts = ones + np.maximum((1 - table) * absent, 0)
    better: Floats = np.divide(ones, counts, out=table.copy(), where=counts >= SEEN)
    return better


def _reestimate_jointly(
    stage: Stage, table: Floats, hidden: list[Floats], if_present: Floats, if_absent: Floats
) -> tuple[Floats, Slopes]:
    states = joint(hidden)
    present = np.add.reduceat(states * if_present[:, None], stage.starts, axis=2)
    absent = np.add.reduceat(states * if_absent[:, None], stage.starts, axis=2)
    slope = np.repeat(table, stage.sizes, axis=2)
    slope *= (if_present - if_absent)[:, None]
    slope += if_absent[:, None]
    return reestimate_table(table, present, absent), marginal_slopes(slope, hidden)


def _reestimate_by_halves(
    stage: Stage, table: Floats, hidden: list[Floats], if_present: Floats, if_absent: Floats
) -> tuple[Floats, Slopes]:
    first, second = halves(hidden)
    u, v = joint(first), joint(second)
    starts, n_u, n_v = len(table), u.shape[1], v.shape[1]
    weighted = np.concatenate([u * if_present[:, None], u * if_absent[:, None]], axis=1)
    counts = np.empty((2, *table.shape))
    slope_u, slope_v = np.empty_like(u), np.empty_like(v)
    for code, rows in stage.blocks():
        matrix = table[:, :, code].reshape(starts, n_u, n_v)
        sums = matmul(weighted[:, :, rows], v[:, :, rows].transpose(0, 2, 1)).reshape(starts, 2, -1)
        counts[:, :, :, code] = sums.transpose(1, 0, 2)
        matmul(matrix, v[:, :, rows], out=slope_u[:, :, rows])
        matmul(matrix.transpose(0, 2, 1), u[:, :, rows], out=slope_v[:, :, rows])
    for slope in (slope_u, slope_v):
        slope *= (if_present - if_absent)[:, None]
        slope += if_absent[:, None]
    return reestimate_table(table, *counts), marginal_slopes(slope_u, first) + marginal_slopes(slope_v, second)


def marginal_slopes(slope: Floats, hidden: list[Floats]) -> Slopes:
    """For each variable the sums of `slope` over the states of the others, where it is absent and where it is present.

    slope (starts, 2^k, rows) → k pairs of (starts, rows); the variables are halved recursively, so that the
    sums over one half are shared by all variables of the other.
    """
    if len(hidden) == 1:
        return [(slope[:, 0], slope[:, 1])]
    first, second = halves(hidden)
    left = slope
    for chance in reversed(second):
        left = _interpolate(left[:, 0::2], left[:, 1::2], chance)
    right = slope
    for chance in first:
        middle = right.shape[1] // 2
        right = _interpolate(right[:, :middle], right[:, middle:], chance)
    return marginal_slopes(left, first) + marginal_slopes(right, second)


def _interpolate(absent: Floats, present: Floats, chance: Floats) -> Floats:
    """(1 − p) · absent + p · present, p being `chance`."""
    mixed = present - absent
    mixed *= chance[:, None]
    mixed += absent
    return mixed


def cells_per_start(stage: Stage) -> int:
    """A rough count of the numbers held for each start while a node is processed."""
    hidden = len(stage.links)
    wide = 1 << hidden if hidden < SPLIT else 3 << ((hidden + 1) // 2)
    return stage.n_rows * (wide + 4)
