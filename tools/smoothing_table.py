"""Prints the tables of docs/higher-order.md: smoothing methods by training size, and on multilabel documents.

python tools/smoothing_table.py [--splits N] [--jobs N]

Full vocabularies, no term selection, settings fixed beforehand and the same everywhere; needs the collections.
"""

import argparse
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from scipy.sparse import csr_array

from unnaive.evaluation.experiment_documents import Material
from unnaive.evaluation.experiments import run
from unnaive.evaluation.trials import Contender, ExperimentPlan
from unnaive.papers.collections import load
from unnaive.papers.data import TOKEN_RULES

SIZES = (1.0, 5.0, 10.0, 30.0, 80.0)
COLLECTIONS = (
    ("20 Newsgroups", "20newsgroups", "from-subject-body", "higher-order"),
    ("WebKB4", "webkb4", None, "words"),
    ("1150haber", "1150haber", None, "higher-order-turkish"),
)
MEASURES = ("micro-f1@1", "macro-f1@1", "breakeven-micro", "breakeven-macro")


@dataclass(frozen=True)
class Row:
    """A line of the tables: what to call it, on counts or on presence, which model."""

    label: str
    features: str
    model: str


ROWS = (
    Row("Bernoulli, Laplace", "presence", "bernoulli"),
    Row("Bernoulli, Jelinek–Mercer β = 0.1", "presence", "bernoulli:smoothing=jelinek-mercer:beta=0.1"),
    Row("HONB", "presence", "honb"),
    Row("HOS, Bernoulli (the paper's)", "presence", "hos"),
    Row("HOS, multinomial", "presence", "hos:events=multinomial"),
    Row("multinomial, Laplace", "counts", "multinomial"),
    Row("multinomial, Jelinek–Mercer β = 0.7", "counts", "multinomial:smoothing=jelinek-mercer:beta=0.7"),
    Row("multinomial, Jelinek–Mercer β = 0.7", "presence", "multinomial:smoothing=jelinek-mercer:beta=0.7"),
)


def materials(name, view, rule):
    """The collection with counts, and with presence."""
    counts = Material.of(load(name, view=view), TOKEN_RULES[rule])
    X = counts.X
    present = csr_array((np.ones(X.nnz, np.int64), X.indices, X.indptr), shape=X.shape)
    return {"counts": counts, "presence": Material(name, present, counts.Y, counts.parts)}


def values(material, features, measures, jobs, **plan):
    """(row, measure, training size) → values of all splits, for the rows with these features."""
    rows = {row: Contender.parse(row.model) for row in ROWS if row.features == features}
    by_contender = {(one.model, one.settings): row for row, one in rows.items()}
    found = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        experiment = ExperimentPlan(tuple(rows.values()), measures, divides_copies=True, **plan)
        for record in run(experiment, material, Path(folder) / "r.jsonl", jobs=jobs):
            row = by_contender[record.model, tuple(sorted(record.parameters.items()))]
            found[row, record.measure, record.train_size].append(100 * record.value)
    return found


def table(title, columns, found):
    """Markdown; the best of each column in bold."""
    print(f"\n| {title} | on | {' | '.join(name for name, _ in columns)} |")
    print("|---" * (2 + len(columns)) + "|")
    best = {key: max(round(mean(found[row, *key]), 1) for row in ROWS) for _, key in columns}
    for row in ROWS:
        cells = [cell(found[row, *key], best[key]) for _, key in columns]
        print(f"| {row.label} | {row.features} | {' | '.join(cells)} |", flush=True)


def cell(splits, best):
    """Mean and standard deviation, bold if it is the best."""
    text = f"{mean(splits):.1f}" + (f" ± {stdev(splits):.1f}" if len(splits) > 1 else "")
    return f"**{text}**" if round(mean(splits), 1) == best else text


def main():
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for title, *source in COLLECTIONS:
        found = {}
        for features, material in materials(*source).items():
            plan = {"splits": options.splits, "train_sizes": SIZES}
            found |= values(material, features, ("accuracy",), options.jobs, **plan)
        columns = [(f"{size:g} %", ("accuracy", size)) for size in SIZES]
        table(f"{title}: accuracy by share for training", columns, found)
    found = {}
    for features, material in materials("reuters", "modapte-90", "or-gate").items():
        found |= values(material, features, MEASURES, options.jobs)
    table("Reuters-21578, multilabel", [(name, (name, None)) for name in MEASURES], found)


if __name__ == "__main__":
    main()
