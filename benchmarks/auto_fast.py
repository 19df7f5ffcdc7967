"""`auto` with the budget "fast" beside `nbsvm`, which is not calibrated: accuracy and processor seconds, one thread.

python benchmarks/auto_fast.py [COLLECTION …]

From raw text to a trained model, the least of nine runs each, in turn. Target: at most 0.3 points less accurate on each
of the six collections of docs/models.md, and at most three times the seconds.
"""

import argparse

from auto_accuracy import LANGUAGES
from auto_peers import COLLECTIONS, splits
from timing import timed, verdict

from unnaive import TextClassifier

REPEATS = 9
LEAST_LEAD, MOST_RATIO = -0.3, 3.0


def measure(name, split):
    """(accuracy in %, processor seconds) of both, fast first."""
    texts, labels, test_texts, test_labels = (list(part) for part in split)
    models = [
        TextClassifier(language=LANGUAGES.get(name, "en"), n_jobs=1, **settings)
        for settings in ({"budget": "fast"}, {"model": "nbsvm"})
    ]
    runs = [[timed(lambda model=model: model.fit(texts, labels))[1] for model in models] for _ in range(REPEATS)]
    accuracies = [100 * model.score(test_texts, test_labels) for model in models]
    return list(zip(accuracies, map(min, zip(*runs, strict=True)), strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=[name for name in COLLECTIONS if name != "20newsgroups"])
    total = [0.0, 0.0]
    for name in parser.parse_args().collections:
        (ours, seconds), (theirs, their_seconds) = measure(name, splits(name)[0])
        total = [total[0] + seconds, total[1] + their_seconds]
        print(
            f"{name}: {ours:.2f} against {theirs:.2f} %, {verdict(ours - theirs, LEAST_LEAD)}; {seconds:.3f} against "
            f"{their_seconds:.3f} s, {seconds / their_seconds:.1f}×, "
            f"{verdict(seconds / their_seconds, MOST_RATIO, at_most=True)}",
            flush=True,
        )
    print(f"all: {total[0]:.2f} against {total[1]:.2f} s, {total[0] / total[1]:.1f}×")


if __name__ == "__main__":
    main()
