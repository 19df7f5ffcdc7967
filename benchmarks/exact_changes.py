"""Calibration and coverage of sets after every exact change, and the cost of exact forgetting.

    python benchmarks/exact_changes.py [--collections tickets,webkb4,r8] [--models multinomial,auto]

For each model, collection and change: coverage of 90 % sets and calibration error (ECE, 15 bins) on the test part
before and after, and whether the file is the one that training on the same documents writes. Training parts have at
most 1,200 documents, of classes that a quarter of them has five of or more; test parts 2,500; `auto` has its usual
budget. Then processor seconds of training on all documents, and of forgetting ten of them, whole and with
`search="keep"`. The tables are those of docs/unlearning.md; some minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from auto_peers import splits

from unnaive import TextClassifier, UnnaiveWarning
from unnaive.classifier.compress import compress_model
from unnaive.classifier.receipts import model_hash
from unnaive.evaluation.evaluate import evaluate
from unnaive.learning.fitted import FittedModel

MODELS = ("multinomial", "complement", "nbsvm", "maxent", "auto")
MOST, MOST_TEST = 1_200, 2_500
LEAST = 5  # documents of a class to be expected in a quarter: of rarer ones it may have none
N_FORGOTTEN = 10
COST_COLLECTIONS = ("tickets", "banking77")
SMALL_FILE = 60_000  # bytes
CONFIDENCE = 0.9

Documents = tuple[list[str], list[str]]
Measures = tuple[float, float]


def classifier(model: str) -> TextClassifier:
    """The model with calibrated probabilities; auto calibrates its own."""
    return TextClassifier(model, calibrate=None if model == "auto" else "temperature")


def changes(
    model: str, rows: Callable[[int, int], Documents], most: int
) -> dict[str, Callable[[], tuple[Any, Any, int]]]:
    """By name, what makes (the model before, the model after, how many documents it has): changed and trained."""
    few = most // 4

    def fit(start: int, end: int) -> TextClassifier:
        return classifier(model).fit(*rows(start, end))

    def update() -> tuple[Any, Any, int]:
        before = fit(0, few)
        return before.fitted_, before.partial_fit(*rows(few, most)).fitted_, most

    def forget() -> tuple[Any, Any, int]:
        before = fit(0, most)
        return before.fitted_, before.forget(*rows(few, most)).fitted_, few

    def merge() -> tuple[Any, Any, int]:
        before = fit(0, most // 2)
        return before.fitted_, before.merge(fit(most // 2, most)).fitted_, most

    def compress() -> tuple[Any, Any, int]:
        before = fit(0, most).fitted_
        return before, compress_model(before, SMALL_FILE).fitted, 0

    def forget_quickly() -> tuple[Any, Any, int]:
        before = fit(0, most)
        return before.fitted_, before.forget(*rows(few, most), search="keep").fitted_, 0

    found = {
        f"update {few} → {most:,}": update, f"forget {most:,} → {few}": forget, "merge of halves": merge,
        f"compress to {SMALL_FILE // 1000} kB": compress,
    }  # fmt: skip
    return found | ({f"forget {most:,} → {few}, `--search keep`": forget_quickly} if model == "auto" else {})


def measure(fitted: FittedModel, test: Documents) -> Measures:
    """Coverage of the sets, and calibration error."""
    found = evaluate(TextClassifier.from_fitted(fitted), *test)
    return found.coverage(CONFIDENCE)[0].coverage, found.measures["ece"]


def table_rows(collection: str, model: str) -> list[str]:
    """A line of the table for each change."""
    train, labels, test, truth = splits(collection)[0]
    names, sizes = np.unique(labels, return_counts=True)
    most = min(MOST, len(train))
    common = names[sizes * (most // 4) >= LEAST * len(train)]
    known, asked = np.isin(labels, common), np.isin(truth, common)
    train, labels, test, truth = train[known], labels[known], test[asked], truth[asked]
    most = min(MOST, len(train))
    order = np.random.default_rng(0).permutation(len(train))
    aside = np.random.default_rng(0).permutation(len(test))[:MOST_TEST]
    tested = test[aside].tolist(), truth[aside].tolist()

    def rows(start: int, end: int) -> Documents:
        chosen = order[start:end]
        return train[chosen].tolist(), labels[chosen].tolist()

    lines = []
    for name, change in changes(model, rows, most).items():
        before, after, n_docs = change()
        (coverage, ece), (new_coverage, new_ece) = measure(before, tested), measure(after, tested)
        same = "" if not n_docs else _same(after, classifier(model).fit(*rows(0, n_docs)).fitted_)
        cells = [
            collection,
            f"`{model}`",
            name,
            *(f"{one:.3f}" for one in (coverage, new_coverage, ece, new_ece)),
            same,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _same(one: FittedModel, two: FittedModel) -> str:
    return "yes" if model_hash(one) == model_hash(two) else "NO"


def cost_row(collection: str, model: str) -> str:
    """Processor seconds of training on all documents, of forgetting a few, and of doing so with the choice kept."""
    train, labels, _, _ = splits(collection)[0]
    texts, targets = train.tolist(), labels.tolist()
    gone = texts[:N_FORGOTTEN], targets[:N_FORGOTTEN]

    def seconds(work: Callable[[], Any]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    made = classifier(model)
    training = seconds(lambda: made.fit(texts, targets))
    kept = TextClassifier.from_fitted(made.fitted_)
    costs = [training, seconds(lambda: made.forget(*gone))]
    if model == "auto":
        costs.append(seconds(lambda: kept.forget(*gone, search="keep")))
    cells = [f"{costs[0]:.2f}", *(f"{one:.2f} ({one / training:.2f}×)" for one in costs[1:]), ""][:3]
    return f"| {collection} ({len(texts):,}) | `{model}` | {' | '.join(cells)} |"


def main() -> None:
    """Read the options and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--collections", default="tickets,webkb4,r8")
    options.add_argument("--models", default=",".join(MODELS))
    given = options.parse_args()
    warnings.simplefilter("ignore", UnnaiveWarning)
    print("| collection | model | change | coverage before | after | ECE before | after | same file as training |")
    print("|---|---|---|---:|---:|---:|---:|---|")
    for collection in given.collections.split(","):
        for model in given.models.split(","):
            for line in table_rows(collection, model):
                print(line, flush=True)
    print(f"\n| collection | model | training, s | forgetting {N_FORGOTTEN}, s | with `--search keep`, s |")
    print("|---|---|---:|---:|---:|")
    for collection in COST_COLLECTIONS:
        for model in given.models.split(","):
            print(cost_row(collection, model), flush=True)


if __name__ == "__main__":
    main()
