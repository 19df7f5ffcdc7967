"""How well probabilities and sets of labels keep their word: calibration error, coverage, and what rejecting gains.

    python benchmarks/calibration.py [--model multinomial] [--model nbsvm] [--collections tickets,webkb4]

For each collection, model and calibration: accuracy; calibration error (15 bins) and its excess over chance; coverage
and mean size of 90 % sets, overall and with `by_class`. Trained on the training part, measured on the test part.
"""

from __future__ import annotations

import argparse

from unnaive import TextClassifier
from unnaive.evaluation.evaluate import evaluate
from unnaive.reading.collections import load
from unnaive.reading.tickets import load_tickets

CALIBRATIONS = ("none", "temperature", "platt", "isotonic")


def rows(collection: str, model: str, calibrations: tuple[str, ...]) -> None:
    """Print a line for each calibration of one model on one collection."""
    corpus = load_tickets() if collection == "tickets" else load(collection)
    train, test = corpus.part("train"), corpus.part("test")
    for calibrate in calibrations:
        classifier = TextClassifier(model, calibrate=calibrate).fit(train.texts, [one[0] for one in train.labels])
        found = evaluate(classifier, test.texts, test.labels)
        values = found.measures
        line = f"{collection:<14}{model:<14}{calibrate:<13}{values['accuracy']:.3f}"
        if "ece" in values:
            line += f"  ECE {values['ece']:.3f}  excess {values['ece-excess']:+.3f}"
        for one in found.coverage():
            line += f"  {'by class' if one.by_class else 'sets'} {one.coverage:.3f} (size {one.mean_size:.2f}"
            line += f", empty {one.empty:.3f}, worst class {one.worst_class:.2f})"
        print(line, flush=True)


def main() -> None:
    """Read the options and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--collections", default="tickets,webkb4,ohsumed,20newsgroups")
    options.add_argument("--model", action="append")
    options.add_argument("--calibrations", default=",".join(CALIBRATIONS))
    given = options.parse_args()
    for collection in given.collections.split(","):
        for model in given.model or ["multinomial", "nbsvm"]:
            rows(collection, model, tuple(given.calibrations.split(",")))


if __name__ == "__main__":
    main()
