"""All measures on 100,000 documents × 100 classes, beside scikit-learn where it has the measure.

python benchmarks/measures.py [--documents N] [--classes C]
"""

import argparse
import time
from statistics import median

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn import metrics

from unnaive.evaluation.measures import MEASURES, measure
from unnaive.learning.decisions import Argmax


def problem(n_docs, n_classes, seed=0):
    """Single-label truth, scores that know something of it, their softmax and argmax."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_docs)
    scores = rng.normal(size=(n_docs, n_classes))
    scores[np.arange(n_docs), labels] += 2.0
    Y = csr_array((np.ones(n_docs, dtype=np.int64), labels, np.arange(n_docs + 1)), shape=scores.shape)
    return Y, labels, scores, softmax(scores, axis=1)


def seconds(function, repeats=3):
    """Median wall time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return median(times)


def alternated(ours, theirs, repeats=5):
    """Median wall times of two functions, run in turn so that other programs slow both."""
    pairs = [(seconds(ours, 1), seconds(theirs, 1)) for _ in range(repeats)]
    return tuple(median(times) for times in zip(*pairs, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=100)
    options = parser.parse_args()
    Y, labels, scores, probabilities = problem(options.documents, options.classes)
    predicted = Argmax().decide(scores)
    given = {"scores": scores, "predictions": predicted, "probabilities": probabilities}
    whole = seconds(lambda: measure(list(MEASURES), Y, **given))
    print(f"{len(MEASURES)} measures, {options.documents:,} documents × {options.classes} classes: {whole:.2f} s")
    guesses = predicted.indices
    peers = {
        "macro-f1": lambda: metrics.f1_score(labels, guesses, average="macro"),
        "auc": lambda: metrics.roc_auc_score(Y.toarray(), scores, average="macro"),
        "log-loss": lambda: metrics.log_loss(labels, probabilities),
    }
    print(f"{'measure':<12}{'ours s':>10}{'sklearn s':>12}{'ratio':>8}{'difference':>12}")
    for name, peer in peers.items():
        ours, theirs = alternated(lambda n=name: measure([n], Y, **given), peer)
        difference = abs(measure([name], Y, **given)[name] - peer())
        print(f"{name:<12}{ours:>10.3f}{theirs:>12.3f}{theirs / ours:>8.1f}{difference:>12.1e}")


if __name__ == "__main__":
    main()
