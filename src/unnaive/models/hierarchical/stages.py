"""A tree compiled over rows of features: every node has the distinct rows of its subtree and the ways between them.

Learning (em_to_class.py, em_from_class.py) and inference (hidden_tree.py) both walk these stages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unnaive.models.hierarchical.cases import Rows, codes_of, distinct_rows
from unnaive.models.hierarchical.tree_shape import Tree, features_below
from unnaive.types import Floats, Ids


@dataclass(frozen=True, eq=False)
class Link:
    """How the rows of a node see those of one hidden variable on it: `row[s]` there, and the way back for sums."""

    node: int
    row: Ids
    order: Ids
    starts: Ids

    def shown(self, values: Floats) -> Floats:
        """Values by the hidden variable's rows (…, rows there) → by the node's rows (…, rows)."""
        return np.take(values, self.row, axis=-1)

    def summed(self, values: Floats) -> Floats:
        """The reverse: sums over the node's rows that share a row of the hidden variable."""
        return np.add.reduceat(np.take(values, self.order, axis=-1), self.starts, axis=-1)


@dataclass(frozen=True, eq=False)
class Stage:
    """One node over the distinct rows of its subtree, sorted by `codes`, the configurations of its own features."""

    codes: Ids
    starts: Ids
    n_rows: int
    links: tuple[Link, ...]

    @cached_property
    def sizes(self) -> Ids:
        """Rows of each configuration (n_codes,)."""
        return np.diff(self.starts, append=self.n_rows)

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Each configuration with its rows."""
        for code, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            yield code, slice(int(start), int(start + size))


def compiled(tree: Tree, rows: Rows) -> tuple[list[Stage], Ids]:
    """The stages of a tree over `rows` (n, n_features), and for each of `rows` its row at the class."""
    below = features_below(tree)
    stages: list[Stage | None] = [None] * len(tree)
    top, order = distinct_rows(rows[:, list(below[-1])])
    waiting = {len(tree) - 1: top}
    while waiting:
        node, own = waiting.popitem()
        links, column = [], len(tree[node].features)
        for child in tree[node].hidden:
            width = len(below[child])
            waiting[child], row = distinct_rows(own[:, column : column + width])
            links.append(_link(child, row))
            column += width
        codes, starts = np.unique(codes_of(own[:, : len(tree[node].features)]), return_index=True)
        stages[node] = Stage(codes, starts, len(own), tuple(links))
    return [stage for stage in stages if stage is not None], order


def _link(node: int, row: Ids) -> Link:
    order = np.argsort(row, kind="stable")
    return Link(node, row, order, np.flatnonzero(np.diff(row[order], prepend=-1)))
