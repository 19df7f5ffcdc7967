"""A Bayesian network as a value, for display and export: the OR gate and the hierarchical models are such networks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.types import Floats

BINARY = ("no", "yes")


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes, the parents of each, and a table of conditional probabilities for each.

    nodes    the name of each node
    parents  for each node the numbers of its parents, in the order of the axes of its table
    tables   p(node | parents): one axis for each parent, the node's own states last; the last axis sums to 1
    states   the names of each node's states; all are binary ("no", "yes") by default

    >>> rain = Network(("rain", "wet"), ((), (0,)), (np.array([0.8, 0.2]), np.array([[1.0, 0.0], [0.1, 0.9]])))
    >>> round(rain.probability({"wet": 1}), 2)
    0.18
    """

    nodes: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[Floats, ...]
    states: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if not self.states:
            object.__setattr__(self, "states", (BINARY,) * len(self.nodes))
        _check(self)

    def arcs(self) -> Iterator[tuple[int, int]]:
        """Every (parent, child), by child."""
        return ((parent, child) for child, parents in enumerate(self.parents) for parent in parents)

    def order(self) -> list[int]:
        """The nodes in topological order; an error if there is a cycle."""
        waits_for = [set(parents) for parents in self.parents]
        children: dict[int, list[int]] = {}
        for parent, child in self.arcs():
            children.setdefault(parent, []).append(child)
        placed: list[int] = []
        ready = [node for node, parents in enumerate(waits_for) if not parents]
        while ready:
            placed += ready
            for parent in ready:
                for child in children.get(parent, ()):
                    waits_for[child].discard(parent)
            ready = sorted({child for parent in ready for child in children.get(parent, ()) if not waits_for[child]})
        if len(placed) < len(self.nodes):
            first = next(node for node, parents in enumerate(waits_for) if parents)
            raise BadData(f"the arcs into {self.nodes[first]!r} form a cycle; remove one of them")
        return placed

    def probability(self, given: dict[str, int]) -> float:
        """p of an assignment of states to some nodes, summed over the others; for small networks.

        The sum has as many terms as the other nodes have joint states; it is the definition, used to test faster
        methods.
        """
        ranges = [
            [given[name]] if name in given else range(len(states))
            for name, states in zip(self.nodes, self.states, strict=True)
        ]
        return float(sum(self._joint(assignment) for assignment in product(*ranges)))

    def _joint(self, assignment: Sequence[int]) -> float:
        cells = (
            table[(*(assignment[parent] for parent in parents), assignment[node])]
            for node, (parents, table) in enumerate(zip(self.parents, self.tables, strict=True))
        )
        return float(np.prod(list(cells)))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The states, parents and table of each node by its name, for JSON.

        >>> Network(("rain",), ((),), (np.array([0.75, 0.25]),)).to_dict()
        {'rain': {'states': ['no', 'yes'], 'parents': [], 'table': [0.75, 0.25]}}
        """
        rows = zip(self.nodes, self.states, self.parents, self.tables, strict=True)
        return {
            name: {
                "states": list(states),
                "parents": [self.nodes[parent] for parent in parents],
                "table": table.tolist(),
            }
            for name, states, parents, table in rows
        }

    def to_bif(self, name: str = "unnaive", comment: str = "") -> str:
        """The network in the Bayesian Interchange Format, which pgmpy, bnlearn and others read.

        Names are reduced to letters, digits and `_`, as the format requires, and made distinct. `comment` is the first
        line of the file.

        >>> print(Network(("a b",), ((),), (np.array([0.25, 0.75]),)).to_bif())
        network unnaive {
        }
        variable a_b {
          type discrete [ 2 ] { no, yes };
        }
        probability ( a_b ) {
          table 0.25, 0.75;
        }
        <BLANKLINE>
        """
        names = plain_names(self.nodes)
        states = [plain_names(node_states) for node_states in self.states]
        blocks = [f"// {' '.join(comment.split())}\n"] if comment else []
        blocks += [f"network {plain_names([name])[0]} {{\n}}\n"]
        blocks += [_bif_variable(node, node_states) for node, node_states in zip(names, states, strict=True)]
        blocks += [_bif_table(self, node, names, states) for node in range(len(names))]
        return "".join(blocks)

    def to_uai(self) -> str:
        """The network in the format of the UAI inference competitions: sizes, scopes, tables; names are left out.

        The format has no comments, and numbers are plain decimals: its readers stop at 1e-12.

        >>> print(Network(("rain",), ((),), (np.array([0.75, 0.25]),)).to_uai())
        BAYES
        1
        2
        1
        1 0
        <BLANKLINE>
        2
         0.75 0.25
        <BLANKLINE>
        """
        scopes = [(*parents, node) for node, parents in enumerate(self.parents)]
        lines = ["BAYES", str(len(self.nodes)), _spaced(len(states) for states in self.states), str(len(scopes))]
        lines += [_spaced((len(scope), *scope)) for scope in scopes]
        for table in self.tables:
            lines += ["", str(table.size), " " + _spaced(_number(value) for value in table.ravel())]
        return "\n".join(lines) + "\n"


def mixture_network(networks: Sequence[Network], name: str = "member") -> Network:
    """Combine networks with the same nodes and parents into one: a first node selects among them uniformly.

    A node whose table is equal in all networks keeps it; any other node gets the new node as its last parent. So, given
    nodes that keep their table, such as the features of networks whose arcs point to the class, the posterior of any
    other node is the mean of the posteriors of the networks.

    >>> coins = [Network(("heads",), ((),), (np.array([1 - p, p]),)) for p in (0.25, 0.75)]
    >>> both = mixture_network(coins)
    >>> both.nodes, both.probability({"heads": 1}), both.probability({"heads": 1, "member": 1})
    (('member', 'heads'), 0.5, 0.375)
    """
    first = networks[0]
    if any(
        (network.nodes, network.parents, network.states) != (first.nodes, first.parents, first.states)
        for network in networks
    ):
        raise BadData("networks with different nodes or parents cannot be combined; write each to its own file")
    while name in first.nodes:
        name += "'"
    parents: list[tuple[int, ...]] = [()]
    tables = [np.full(len(networks), 1 / len(networks))]
    for node, node_parents in enumerate(first.parents):
        versions = [network.tables[node] for network in networks]
        same = all(np.array_equal(table, versions[0]) for table in versions)
        moved = tuple(parent + 1 for parent in node_parents)
        parents.append(moved if same else (*moved, 0))
        tables.append(versions[0] if same else np.stack(versions, axis=-2))
    states = (tuple(f"member{number}" for number in range(1, len(networks) + 1)), *first.states)
    return Network((name, *first.nodes), tuple(parents), tuple(tables), states)


def noisy_or_table(weights: Sequence[float] | Floats, leak: float = 0.0) -> Floats:
    """p(class | parents) of a noisy-OR gate: 1 − (1 − leak) Π (1 − w_k) over the parents that are present.

    weights (k,) → (2, …, 2) with k + 1 axes, the class last; 2^(k+1) cells, so for small gates.

    >>> noisy_or_table([0.5])
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    absent: Any = np.array(1.0 - leak)
    for weight in weights:
        absent = np.multiply.outer(absent, np.array([1.0, 1.0 - weight]))
    return np.stack([absent, 1.0 - absent], axis=-1)


def plain_names(names: Sequence[str]) -> list[str]:
    """Names of letters, digits and `_` only, not starting with a digit, all distinct.

    >>> plain_names(["u.s", "u s", "10k", "çay"])
    ['u_s', 'u_s_2', '_10k', 'çay']
    """
    taken: set[str] = set()
    plain = []
    for name in names:
        base = re.sub(r"^(?=\d)|\W", "_", name) or "_"
        tries = (base if number == 1 else f"{base}_{number}" for number in range(1, len(names) + 2))
        plain.append(next(candidate for candidate in tries if candidate not in taken))
        taken.add(plain[-1])
    return plain


def _bif_variable(name: str, states: Sequence[str]) -> str:
    return f"variable {name} {{\n  type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}\n"


def _bif_table(network: Network, node: int, names: Sequence[str], states: Sequence[Sequence[str]]) -> str:
    parents, table = network.parents[node], network.tables[node]
    if not parents:
        return f"probability ( {names[node]} ) {{\n  table {_row(table)};\n}}\n"
    head = f"probability ( {names[node]} | {', '.join(names[parent] for parent in parents)} ) {{\n"
    cases = zip(product(*(states[parent] for parent in parents)), table.reshape(-1, table.shape[-1]), strict=True)
    return head + "".join(f"  ({', '.join(case)}) {_row(row)};\n" for case, row in cases) + "}\n"


def _row(values: Floats) -> str:
    return ", ".join(_number(value) for value in values)


def _number(value: Any) -> str:
    """The shortest decimals that give the same float, never with an exponent.

    >>> _number(0.75), _number(1e-7)
    ('0.75', '0.0000001')
    """
    return np.format_float_positional(float(value), unique=True, trim="0")


def _spaced(values: Any) -> str:
    return " ".join(str(value) for value in values)


def _check(network: Network) -> None:
    n = len(network.nodes)
    if not (n == len(network.parents) == len(network.tables) == len(network.states)) or len(set(network.nodes)) != n:
        raise BadData("a network needs one name, one list of parents, one table and one list of states for each node")
    network.order()
    for name, parents, table, states in zip(
        network.nodes, network.parents, network.tables, network.states, strict=True
    ):
        shape = (*(len(network.states[parent]) for parent in parents), len(states))
        sound = table.shape == shape and bool(np.all(table >= 0)) and np.allclose(table.sum(axis=-1), 1.0, atol=1e-9)
        if not sound:
            raise BadData(
                f"the table of {name!r} is not one of probabilities; give shape {shape}, numbers from 0, and a last "
                "axis that sums to 1"
            )
