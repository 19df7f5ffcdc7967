"""The costs of mistakes in a CSV file, as `optimise` takes them."""

from __future__ import annotations

import csv
from pathlib import Path

from unnaive.base.errors import BadData
from unnaive.learning.optimise import Costs, cost_row


def read_costs(path: Path) -> Costs:
    """The costs in a CSV file: a row for each true class, a column for each predicted class.

    true,ham,spam
    ham,0,9
    spam,1,0
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",") if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise BadData(f"the costs in {path} cannot be read ({reason}); give a CSV file") from problem
    if len(rows) < 2 or len(rows[0]) < 2:
        raise BadData(
            f"{path} has no table of costs; write the classes to predict in the first line, and then a "
            "line for each true class with its costs"
        )
    columns = [name.strip() for name in rows[0][1:]]
    costs: Costs = {}
    for number, row in enumerate(rows[1:], 2):
        true = row[0].strip()
        if len(row) != len(rows[0]):
            raise BadData(
                f"line {number} of {path} has {len(row)} cells, but the first has {len(rows[0])}; give a cost for each "
                "class in the first line"
            )
        if true in costs:
            raise BadData(f"{path} has two lines for the true class {true!r}; leave one out")
        costs[true] = cost_row(true, zip(columns, row[1:], strict=True), f" in line {number} of {path}")
    if len(set(columns)) != len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise BadData(f"{path} has two columns for the predicted class {twice!r}; leave one out")
    return costs
