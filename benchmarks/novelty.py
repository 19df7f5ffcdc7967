"""Texts of no class: which score tells them from texts of the classes, with classes left out of training.

    python benchmarks/novelty.py [--collections banking77,20newsgroups,tickets] [--draws 20]
    python benchmarks/novelty.py --collections tickets --per-class 25 --test 250      # small samples, in a minute
    python benchmarks/novelty.py --collections tickets --keep 2          # two classes alone, all others out of scope

In each draw some classes, ten intents, five groups or one queue, are left out of training at random; the test documents
of the others are in scope, theirs are out of scope. Of every score: AUROC, the share of out-of-scope texts that are
found where 5 % of the in-scope ones are rejected, and the share of in-scope texts that are rejected where 95 % of the
out-of-scope ones are found. The peer is the largest probability of scikit-learn's LogisticRegression on tf-idf of words
and pairs, its C chosen on training documents. The last column is the mean difference of the share found to the peer's,
over the same draws, with a 95 % interval. Wanted of the score in the model: 5 points on the mean of the collections.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from auto_accuracy import LANGUAGES
from auto_peers import choose_strength, make, splits, vectoriser

from unnaive import TextClassifier
from unnaive.evaluation.out_of_scope import measure_out_of_scope
from unnaive.learning.novelty import NOVELTY_SCORES

LEFT_OUT = {"banking77": 10, "20newsgroups": 5, "tickets": 1}
PEER = "peer: LogisticRegression, largest probability"
RATE = 0.05


def draw_classes(collection: str, draw: int, keep: int, per_class: int, most: int | None = None):
    """Training texts and labels of the classes that stay, their test texts, and the test texts of those left out."""
    texts, labels, test, truth = splits(collection)[0]
    random = np.random.default_rng([draw, keep])
    classes = np.unique(labels)
    out = random.permutation(classes)[: LEFT_OUT[collection] if not keep else len(classes) - keep]
    rows = random.permutation(np.flatnonzero(~np.isin(labels, out)))
    if per_class:
        rank = np.zeros(len(rows), np.int64)
        for label in classes:
            own = labels[rows] == label
            rank[own] = np.arange(own.sum())
        rows = rows[rank < per_class]
    inside = ~np.isin(truth, out)
    random = np.random.default_rng(draw)
    return texts[rows], labels[rows], *(random.permutation(test[part])[:most] for part in (inside, ~inside))


def peer_novelty(train, labels, parts):
    """−log of the largest probability of a tuned logistic regression, for each list of texts."""
    reader = vectoriser("pairs")
    Z = reader.fit_transform(train)
    fitted = make("LogisticRegression", choose_strength("LogisticRegression", Z, labels)).fit(Z, labels)
    return [-np.log(fitted.predict_proba(reader.transform(texts)).max(axis=1)) for texts in parts]


def measure_draw(collection: str, draw: int, given: argparse.Namespace) -> dict[str, tuple[float, float, float]]:
    """(AUROC, share found at 5 % rejected, share rejected at 95 % found) of each score."""
    train, labels, inside, outside = draw_classes(collection, draw, given.keep, given.per_class, given.test or None)
    classifier = TextClassifier(given.model, language=LANGUAGES.get(collection, "en"), random_state=draw)
    fitted = classifier.fit(list(train), labels.tolist()).fitted_
    parts = [list(inside), list(outside)]
    scores = [fitted.scores(texts) for texts in parts]
    found = {name: [score(fitted, part) for part in scores] for name, score in NOVELTY_SCORES.items()}
    found["in the model"] = [classifier.novelty(texts) for texts in parts]
    found[PEER] = peer_novelty(list(train), labels, parts)
    measured = {name: measure_out_of_scope(*values, rate=RATE) for name, values in found.items()}
    return {name: (one.auroc, one.found, one.rejected_at_95) for name, one in measured.items()}


def print_table(collection: str, draws: list[dict[str, tuple[float, float, float]]]) -> None:
    """One line for each score: means over the draws, and the difference to the peer."""
    table: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for one in draws:
        for name, values in one.items():
            table[name].append(values)
    peer = np.array(table[PEER])[:, 1]
    print(f"{collection}, {len(draws)} draws{'':<33}AUROC  found at 5 %  rejected at 95 %  found − peer's")
    for name, values in table.items():
        auroc, found, rejected = np.array(values).mean(axis=0)
        difference = np.array(values)[:, 1] - peer
        spread = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
        print(
            f"  {name:<48}{auroc:.3f}  {found:12.3f}  {rejected:16.3f}  {100 * difference.mean():+6.1f} ± "
            f"{100 * spread:.1f}",
            flush=True,
        )


def main() -> None:
    """Read the options and print a table for each collection."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--collections", default=",".join(LEFT_OUT))
    options.add_argument("--draws", type=int, default=20)
    options.add_argument("--model", default="auto")
    options.add_argument("--keep", type=int, default=0, help="classes to keep, all others are left out")
    options.add_argument("--per-class", type=int, default=0, help="training documents of each class; all without")
    options.add_argument("--test", type=int, default=0, help="test texts of each side; all without")
    given = options.parse_args()
    for collection in given.collections.split(","):
        print_table(collection, [measure_draw(collection, draw, given) for draw in range(given.draws)])


if __name__ == "__main__":
    main()
