"""Decisions by the cost of mistakes: class weights tuned for macro F1, and the lowest expected cost.

Both need documents with one label each and calibrated probabilities. `decisions.py` has the decisions; this module
tunes them and checks cost matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.base.elementary import exp, log
from unnaive.base.errors import BadData, UnknownName, choose
from unnaive.base.registry import import_part
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, Label
from unnaive.learning.decisions import LeastCost, WeightedArgmax

NAMED = ("accuracy", "macro-f1")
MOST_ROUNDS = 10
SHRINK = 5  # the weight 1 counts as much as this many documents of the class
NONE = 1e-9  # share of the documents below which the sum of some weights is 0 but for rounding
MOST_SHORT = 1 << 16  # classes whose numbers have 16 bits
BLOCK = 1 << 17  # scores that are worked on at once
TINY = 1e-300  # for a probability that underflowed: its logarithm is finite and no weight raises it

Costs = dict[str, dict[str, float]]


def read_optimise(value: Any) -> Any:
    """`optimise` as a plain value: None, a name, or costs by true and predicted class.

    value  None, "accuracy", "macro-f1", the path of a CSV file of costs, or a mapping of mappings

    >>> read_optimise({"ham": {"ham": 0, "spam": 9}, "spam": {"ham": 1, "spam": 0}})["ham"]
    {'ham': 0.0, 'spam': 9.0}
    >>> read_optimise("makro-f1")
    Traceback (most recent call last):
    unnaive.base.errors.UnknownName: no aim called 'makro-f1'; there are accuracy, macro-f1; did you mean ...
    """
    if value is None or (isinstance(value, str) and value in NAMED):
        return value
    if isinstance(value, (str, Path)):
        if not Path(value).is_file() and Path(value).suffix.lower() not in (".csv", ".tsv", ".txt"):
            try:
                choose(list(NAMED), str(value), "aim")
            except UnknownName as problem:
                more = " A" if str(problem).endswith("?") else "; a"
                raise UnknownName(f"{problem}{more} file of costs ends in .csv") from None
        return import_part("unnaive.io.cost_files:read_costs")(Path(value))
    if isinstance(value, Mapping) and all(isinstance(row, Mapping) for row in value.values()) and value:
        return {str(true): cost_row(str(true), row.items()) for true, row in value.items()}
    raise BadData(f"optimise is {value!r}; give accuracy, macro-f1, a CSV file of costs, or a dict of dicts of costs")


def cost_row(true: str, pairs: Any, where: str = "") -> dict[str, float]:
    """The costs of one true class by predicted class; an error names the cell that is NaN or infinite."""
    row: dict[str, float] = {}
    for predicted, cell in pairs:
        try:
            row[str(predicted)] = float(cell)
        except (TypeError, ValueError):
            raise BadData(
                f"the cost of predicting {predicted!r} for a document of {true!r} is {cell!r}{where}; give a number"
            ) from None
        if not np.isfinite(row[str(predicted)]):
            raise BadData(
                f"the cost of predicting {predicted!r} for a document of {true!r} is {cell}{where}; give a "
                "finite number"
            )
    return row


def least_cost(costs: Costs, classes: Sequence[Label]) -> LeastCost:
    """The decision with the lowest expected cost; an error unless the costs name exactly these classes.

    >>> least_cost({"ham": {"ham": 0, "spam": 9}, "spam": {"ham": 1, "spam": 0}}, ("ham", "spam")).costs
    ((0.0, 9.0), (1.0, 0.0))
    """
    names = [str(label) for label in classes]
    _check_names(list(costs), names, "true class")
    for row in costs.values():
        _check_names(list(row), names, "predicted class")
    table = [[float(costs[true][predicted]) for predicted in names] for true in names]
    if all(min(row) == max(row) for row in table):
        raise BadData("all costs are equal, so they cannot decide between labels; give right labels the cost 0")
    dearest = [true for true, row in zip(names, table, strict=True) if row[names.index(true)] > min(row)]
    if dearest:
        raise BadData(
            f"the right label of {dearest[0]!r} costs more than a wrong one; rows are true classes, "
            "columns are predicted classes"
        )
    return LeastCost(tuple(map(tuple, table)))


def _check_names(named: list[str], classes: list[str], what: str) -> None:
    unknown = [name for name in named if name not in classes]
    if unknown:
        choose(classes, unknown[0], f"class in the data (a {what} of the costs)")
    missing = [name for name in classes if name not in named]
    if missing:
        raise BadData(f"the costs have no {what} {missing[0]!r}, which the data has; give one cost for every pair")


def tune_macro_f1(probabilities: Floats, Y: Any, weight: Floats | None = None) -> WeightedArgmax:
    """Class weights with a high macro F1 on held-out probabilities (n_docs, n_classes) and labels Y.

    `weight` is that of each document (n_docs,), None if all are 1; a document of weight 2 counts as two.

    Coordinate ascent: the weight of one class at a time is set to the best of all values that change a label, until no
    class gains. The logarithms are then shrunk towards 0 by n/(n+5), n the number of documents of the class, since the
    best weight of a class with few documents is mostly chance.

    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]] * 20)      # argmax never gives the second class
    >>> tuned = tune_macro_f1(p, np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 20))
    >>> tuned.decide(p).indices[:4].tolist()
    [0, 0, 1, 1]
    """
    logs = np.array(probabilities.T, np.float64, order="C")
    log(np.maximum(logs, TINY, out=logs), out=logs)
    truth, n_classes = csr_array(Y).indices.astype(np.int64), len(logs)
    times = np.ones(len(truth)) if weight is None else weight
    rivals = _Rivals(logs)
    best = _macro_f1(truth, rivals.first, n_classes, times)
    for _ in range(MOST_ROUNDS):
        before = best
        for c in range(n_classes):
            offset, value = _best_offset(*rivals.without(c), truth, c, times, n_classes)
            if value > best + 1e-12:
                rivals.add(c, offset)
                best = value
        if best <= before + 1e-6:
            break
    sizes = np.bincount(truth, times, minlength=n_classes)
    shrunk = rivals.offsets * sizes / (sizes + SHRINK)
    return WeightedArgmax(tuple(exp(np.clip(shrunk - shrunk.mean(), -300, 300)).tolist()))


def _macro_f1(truth: Ids, predicted: Ids, n_classes: int, times: Floats) -> float:
    right = np.bincount(truth, times * (truth == predicted), minlength=n_classes)
    both = np.bincount(truth, times, minlength=n_classes) + np.bincount(predicted, times, minlength=n_classes)
    return float(np.mean(2 * right / np.where(both > 0, both, 1)))


class _Rivals:
    """The two best classes of each document, while the scores of classes get offsets one after the other.

    logs     scores without offsets (n_classes, n_docs)
    offsets  what is added to the scores of each class (n_classes,)
    first    the best class of each document (n_docs,), the lowest of equal ones; `second` is the best of the others
    """

    def __init__(self, logs: Floats) -> None:
        n_classes, n_docs = logs.shape
        self.logs, self.offsets = logs, np.zeros(n_classes)
        self.first, self.second = np.zeros(n_docs, np.int64), np.zeros(n_docs, np.int64)
        self._find(np.arange(n_docs))

    def without(self, c: int) -> tuple[Ids, Floats]:
        """The best class of each document but c, and its score minus that of c; −∞ if c is the only class."""
        rival = np.where(self.first == c, self.second, self.first)
        documents = np.arange(len(rival))
        best = self.logs[rival, documents] + self.offsets[rival]
        return rival, np.where(rival == c, -np.inf, best) - (self.logs[c] + self.offsets[c])

    def add(self, c: int, offset: float) -> None:
        """Add an offset to the scores of class c. A third class can only come in for a class that lost."""
        self.offsets[c] += offset
        of_second = self.logs[self.second, np.arange(len(self.second))] + self.offsets[self.second]
        is_near = (self.first == c) | (self.second == c) | (self.logs[c] + self.offsets[c] >= of_second)
        self._find(np.flatnonzero(is_near))

    def _find(self, documents: Ids) -> None:
        """Find the two best classes of these documents."""
        step = max(1, BLOCK // len(self.offsets))
        for start in range(0, len(documents), step):
            some = documents[start : start + step]
            scores = self.logs[:, some] + self.offsets[:, None]
            self.first[some] = first = np.argmax(scores, axis=0)
            scores[first, np.arange(len(some))] = -np.inf
            self.second[some] = np.argmax(scores, axis=0)


def _best_offset(rival: Ids, lack: Floats, truth: Ids, c: int, times: Floats, n_classes: int) -> tuple[float, float]:
    """The offset of the scores of class c with the highest macro F1, and that F1.

    As the offset rises, documents change to class c one after the other, in the order of their gap. Each leaves the
    class that was best without c, so two terms of F1 change at a time, and the changes are summed.

    rival  the best class of each document but c (n_docs,)
    lack   what the score of c lacks to that of the rival (n_docs,): c gets the document at any greater offset
    """
    n_docs = len(rival)
    order = np.argsort(lack, kind="stable")
    sizes, least = np.bincount(truth, times, minlength=n_classes), NONE * times.sum()
    own_f1 = 2 * np.cumsum(times[order] * (truth[order] == c)) / (np.cumsum(times[order]) + sizes[c])
    # the loss of the rivals: within each rival's documents, in the order in which they leave
    # of 16 bits, numpy sorts them in linear time
    by_rival = order[np.argsort(rival[order].astype(np.uint16 if n_classes <= MOST_SHORT else np.int64), kind="stable")]
    group = rival[by_rival]
    start = np.searchsorted(group, group)
    weight = times[by_rival]
    right = weight * (truth[by_rival] == group)
    gone_right = np.cumsum(right) - np.concatenate([[0.0], np.cumsum(right)])[start]
    gone = np.cumsum(weight) - np.concatenate([[0.0], np.cumsum(weight)])[start]
    n_predicted = np.bincount(rival, times, minlength=n_classes)
    all_right = np.bincount(rival, times * (truth == rival), minlength=n_classes)
    still_right, still = all_right[group] - gone_right, n_predicted[group] - gone + sizes[group]
    change = np.empty(n_docs)
    change[by_rival] = 2 * (
        still_right / np.maximum(still, least) - (still_right + right) / np.maximum(still + weight, least)
    )
    without = 2 * all_right / np.maximum(n_predicted + sizes, least)
    total = without.sum() - without[c] + np.cumsum(change[order]) + own_f1
    last = np.append(lack[order][:-1] < lack[order][1:], True)  # no offset separates documents with the same gap
    total = np.where(last, total, -np.inf)
    at = int(np.argmax(total))
    here = lack[order][at]
    step = (lack[order][at + 1] - here) / 2 if at + 1 < n_docs else 1.0
    return float(here + min(step, 1.0)), float(total[at] / n_classes)
