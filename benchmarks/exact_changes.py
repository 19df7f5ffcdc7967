"""Whether probabilities and sets keep their word after every change, and what exact forgetting costs.

    python benchmarks/exact_changes.py [--collections tickets,webkb4,r8] [--models multinomial,auto]

For each model, collection and change: coverage of 90 % sets and calibration error (ECE, 15 bins) on the test part
before and after, and whether the file is the one that training on the same documents writes. Training parts have at
most 1,200 documents, test parts 2,500; `auto` has its usual budget. Then seconds of training on all documents, and of
forgetting a tenth of them, whole and with `keep_choice`. The tables are those of docs/unlearning.md; five minutes.
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
MOST, FEW, MOST_TEST = 1_200, 300, 2_500
SMALL_FILE = 60_000  # bytes
CONFIDENCE = 0.9

Documents = tuple[list[str], list[str]]
Measures = tuple[float, float]


def classifier(model: str) -> TextClassifier:
    """The model with calibrated probabilities; auto calibrates its own."""
    return TextClassifier(model, calibrate=None if model == "auto" else "temperature")


def changes(model: str, rows: Callable[[int, int], Documents]) -> dict[str, Callable[[], tuple[Any, Any, int]]]:
    """By name, what makes (the model before, the model after, how many documents it has): changed and trained."""

    def fit(start: int, end: int) -> TextClassifier:
        return classifier(model).fit(*rows(start, end))

    def update() -> tuple[Any, Any, int]:
        before = fit(0, FEW)
        return before.fitted_, before.partial_fit(*rows(FEW, MOST)).fitted_, MOST

    def forget() -> tuple[Any, Any, int]:
        before = fit(0, MOST)
        return before.fitted_, before.forget(*rows(FEW, MOST)).fitted_, FEW

    def merge() -> tuple[Any, Any, int]:
        before = fit(0, MOST // 2)
        return before.fitted_, before.merge(fit(MOST // 2, MOST)).fitted_, MOST

    def compress() -> tuple[Any, Any, int]:
        before = fit(0, MOST).fitted_
        return before, compress_model(before, SMALL_FILE).fitted, 0

    return {f"update {FEW} → {MOST:,}": update, f"forget {MOST:,} → {FEW}": forget, "merge of halves": merge,
            f"compress to {SMALL_FILE // 1000} kB": compress}  # fmt: skip


def measure(fitted: FittedModel, test: Documents) -> Measures:
    """Coverage of the sets, and calibration error."""
    found = evaluate(TextClassifier.from_fitted(fitted), *test)
    return found.coverage(CONFIDENCE)[0].coverage, found.measures["ece"]


def table_rows(collection: str, model: str) -> list[str]:
    """A line of the table for each change."""
    train, labels, test, truth = splits(collection)[0]
    order = np.random.default_rng(0).permutation(len(train))
    aside = np.random.default_rng(0).permutation(len(test))[:MOST_TEST]
    tested = test[aside].tolist(), truth[aside].tolist()

    def rows(start: int, end: int) -> Documents:
        chosen = order[start:end]
        return train[chosen].tolist(), labels[chosen].tolist()

    lines = []
    for name, change in changes(model, rows).items():
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


def cost_row(model: str) -> str:
    """Seconds of training on all tickets, of forgetting a tenth of them, and of doing so with the choice kept."""
    train, labels, _, _ = splits("tickets")[0]
    texts, targets, tenth = train.tolist(), labels.tolist(), len(train) // 10

    def seconds(work: Callable[[], Any]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    made = classifier(model)
    training = seconds(lambda: made.fit(texts, targets))
    kept = TextClassifier.from_fitted(made.fitted_)
    forgetting = seconds(lambda: made.forget(texts[:tenth], targets[:tenth]))
    quick = seconds(lambda: kept.forget(texts[:tenth], targets[:tenth], keep_choice=True)) if model == "auto" else None
    return f"| `{model}` | {training:.2f} | {forgetting:.2f} | {'' if quick is None else f'{quick:.2f}'} |"


def main() -> None:
    """Read the options and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--collections", default="tickets,webkb4,r8")
    options.add_argument("--models", default=",".join(MODELS))
    given = options.parse_args()
    warnings.simplefilter("ignore", UnnaiveWarning)
    print("| collection | model | change | coverage before | after | ECE before | after | file of training |")
    print("|---|---|---|---:|---:|---:|---:|---|")
    for collection in given.collections.split(","):
        for model in given.models.split(","):
            for line in table_rows(collection, model):
                print(line, flush=True)
    print("\n| model | training, s | forgetting a tenth, s | with `--keep-choice`, s |")
    print("|---|---:|---:|---:|")
    for model in given.models.split(","):
        print(cost_row(model), flush=True)


if __name__ == "__main__":
    main()
