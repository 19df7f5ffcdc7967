"""Settings of the elimination of candidates by `auto`, compared on training parts only.

    python benchmarks/auto_elimination.py [COLLECTION …] [--splits 3]

The training part of each collection is split again at random, three quarters for training and a quarter for testing
(once for 20 Newsgroups, three times for the others); the test parts are not read. Each setting says how many candidates
of a family go on after 200 held-out documents, how many are tried on pairs and characters, and by which share of the
log-loss a family must improve the pool of words to be tried there at all.

The rule, fixed before the first run: a setting is eligible if its accuracy, on the mean of the collections, is at most
0.1 points below that of the search without elimination, and nowhere more than 0.4 points below by more than two
standard errors of the paired difference. Seconds are processor time, one thread.
"""

import argparse
import warnings

import numpy as np
from auto_accuracy import LANGUAGES
from auto_peers import COLLECTIONS, splits
from timing import timed

from unnaive import TextClassifier
from unnaive.models.auto import elimination, search

ALL = elimination.ALL
SETTINGS = {  # candidates that go on after 200 documents, candidates on the other views, least gain of a family
    "no elimination": (ALL, ALL, -1.0),
    "best 2, then 3, 1 %": (2, 3, 0.01),
    "best 2, then 3, 2 %": (2, 3, 0.02),
    "best 2, then 2, 2 %": (2, 2, 0.02),
    "best 1, then 2, 5 %": (1, 2, 0.05),
}
MOST_MEAN, MOST_EACH = 0.1, 0.4
ONCE = "20newsgroups"


def train_and_judge(setting, language, train, test):
    """Whether each test document is classified correctly, and processor seconds of training."""
    most, search.NEXT, elimination.LEAST_GAIN = setting
    elimination.ROUNDS = {0: ALL, 200: most}
    model = TextClassifier("auto", n_jobs=1, language=language)
    seconds = timed(lambda: model.fit(*train))[1]
    return np.array(model.predict(test[0])) == np.array(test[1]), seconds


def measure(name, n_splits):
    """{setting: (whether right, one flag for each judged document; processor seconds)} for a collection."""
    texts, labels, *_ = next(iter(splits(name)))
    random = np.random.default_rng(17)
    right, seconds = {setting: [] for setting in SETTINGS}, dict.fromkeys(SETTINGS, 0.0)
    for _ in range(1 if name == ONCE else n_splits):
        order = random.permutation(len(texts))
        cut = 3 * len(order) // 4
        train, test = (([texts[row] for row in rows], [labels[row] for row in rows]) for rows in np.split(order, [cut]))
        for setting, values in SETTINGS.items():
            flags, took = train_and_judge(values, LANGUAGES.get(name, "en"), train, test)
            right[setting].append(flags)
            seconds[setting] += took
    return {setting: (np.concatenate(right[setting]), seconds[setting]) for setting in SETTINGS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=COLLECTIONS)
    parser.add_argument("--splits", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    losses, total = {setting: [] for setting in SETTINGS}, dict.fromkeys(SETTINGS, 0.0)
    too_low = dict.fromkeys(SETTINGS, False)
    for name in options.collections:
        results = measure(name, options.splits)
        base = results["no elimination"][0]
        for setting, (right, seconds) in results.items():
            difference = 100.0 * (right.astype(float) - base)
            mean, error = difference.mean(), difference.std() / np.sqrt(len(difference))
            losses[setting].append(mean)
            total[setting] += seconds
            too_low[setting] |= mean + 2 * error < -MOST_EACH
            print(
                f"{name}, {setting}: {100 * right.mean():.2f} ({mean:+.2f} ± {error:.2f}), {seconds:.1f} s", flush=True
            )
    for setting in SETTINGS:
        eligible = np.mean(losses[setting]) >= -MOST_MEAN and not too_low[setting]
        words = "eligible" if eligible else "loses too much"
        print(f"all, {setting}: {np.mean(losses[setting]):+.2f} points, {total[setting]:.0f} s: {words}")


if __name__ == "__main__":
    main()
