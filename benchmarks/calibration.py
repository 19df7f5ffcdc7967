"""Quality of probabilities and prediction sets: calibration error, coverage, and the gain from rejecting.

    python benchmarks/calibration.py [--model multinomial] [--model nbsvm] [--collections tickets,webkb4]
    python benchmarks/calibration.py --model auto --calibrations none          # auto is calibrated by itself

For each collection, model and calibration: accuracy; calibration error (15 bins) and its excess over chance; coverage
and mean size of 90 % sets, overall and with `by_class`. Trained on the training part, measured on the test part.
Targets for auto: coverage of 88 to 92 %, with twice the standard error that as many held-out and test documents have by
chance beside it; an excess of at most .03, and .045 on Ohsumed and 20 Newsgroups, whose test parts differ.
"""

from __future__ import annotations

import argparse

from auto_accuracy import LANGUAGES
from auto_peers import COLLECTIONS, splits

from unnaive import TextClassifier
from unnaive.evaluation.evaluate import evaluate

CALIBRATIONS = ("none", "temperature", "platt", "isotonic")
CONFIDENCE = 0.9


def rows(collection: str, model: str, calibrations: tuple[str, ...]) -> None:
    """Print a line for each calibration of one model on one collection, and for each split of it."""
    for train, labels, test, truth in splits(collection):
        for calibrate in calibrations:
            classifier = TextClassifier(model, calibrate=calibrate, language=LANGUAGES.get(collection, "en"))
            classifier.fit(list(train), labels.tolist())
            found = evaluate(classifier, list(test), truth.tolist())
            values = found.measures
            line = f"{collection:<14}{model:<14}{calibrate:<13}{values['accuracy']:.3f}"
            if "ece" in values:
                line += f"  ECE {values['ece']:.3f}  excess {values['ece-excess']:+.3f}"
            for one in found.coverage(CONFIDENCE):
                line += f"  {'by class' if one.by_class else 'sets'} {one.coverage:.3f}"
                if not one.by_class:
                    line += f" ± {2 * standard_error(classifier, len(test)):.3f}"
                line += f" (size {one.mean_size:.2f}, empty {one.empty:.3f}, worst class {one.worst_class:.2f})"
            print(line, flush=True)


def standard_error(classifier: TextClassifier, n_test: int) -> float:
    """The standard error of the coverage: of quantiles of held-out documents, and of a share of test documents."""
    held_out = classifier.fitted_.conformal.overall.n
    return (CONFIDENCE * (1 - CONFIDENCE) * (1 / held_out + 1 / n_test)) ** 0.5


def main() -> None:
    """Read the options and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--collections", default=",".join(COLLECTIONS))
    options.add_argument("--model", action="append")
    options.add_argument("--calibrations", default=",".join(CALIBRATIONS))
    given = options.parse_args()
    for collection in given.collections.split(","):
        for model in given.model or ["multinomial", "nbsvm"]:
            rows(collection, model, tuple(given.calibrations.split(",")))


if __name__ == "__main__":
    main()
