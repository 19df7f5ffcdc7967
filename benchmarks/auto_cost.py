"""Processor seconds of `auto` from raw text to a trained model, one thread: an eighth to all documents.

python benchmarks/auto_cost.py [COLLECTION …] [--budget normal] [--whole] [--peer]

Target: the cost never falls as documents are added, and grows with an exponent of at most 1.1. With --whole only all
documents are trained on, and the last line has the sum over the collections, for comparing two checkouts. With --peer
one fit of scikit-learn's TfidfVectorizer (words and pairs, and characters 2–5) + LinearSVC is shown beside it; the
target on Banking77 and 20 Newsgroups is at most the peer's seconds.
"""

import argparse

import numpy as np
from auto_accuracy import LANGUAGES
from auto_peers import COLLECTIONS, splits, vectoriser
from timing import timed, verdict

from unnaive import TextClassifier

SHARES = (8, 4, 2, 1)
MOST_EXPONENT = 1.1


def train_seconds(name, texts, labels, budget):
    """Processor seconds of one fit with one thread."""
    model = TextClassifier(language=LANGUAGES.get(name, "en"), budget=budget, n_jobs=1)
    return timed(lambda: model.fit(list(texts), list(labels)))[1]


def peer_seconds(texts, labels):
    """Processor seconds of one fit of the peer, counting included."""
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    model = make_pipeline(vectoriser("pairs and characters"), LinearSVC())
    return timed(lambda: model.fit(list(texts), list(labels)))[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--budget", default="normal")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--peer", action="store_true")
    arguments = parser.parse_args()
    total = 0.0
    TextClassifier().fit(["good ball", "fair vote"] * 5, ["sport", "politics"] * 5)  # imports modules, not measured
    for name in arguments.collections:
        texts, labels, _, _ = splits(name)[0]
        order = np.random.default_rng(0).permutation(len(texts))
        sizes = [len(texts) // part for part in (SHARES[-1:] if arguments.whole else SHARES)]
        costs = [train_seconds(name, texts[order[:n]], labels[order[:n]], arguments.budget) for n in sizes]
        total += costs[-1]
        print(f"{name}: " + ", ".join(f"{n:,} documents {cost:.1f} s" for n, cost in zip(sizes, costs, strict=True)))
        if arguments.peer:
            peer = peer_seconds(texts, labels)
            ratio = costs[-1] / peer
            print(
                f"  one fit of the peer {peer:.1f} s, ours {ratio:.2f}×, {verdict(ratio, 1.0, at_most=True)}",
                flush=True,
            )
        if not arguments.whole:
            exponent = float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
            falls = "" if costs == sorted(costs) else "; it falls: NOT MET"
            print(f"  exponent {exponent:.2f}, {verdict(exponent, MOST_EXPONENT, at_most=True)}{falls}", flush=True)
    print(f"all documents: {total:.1f} s")


if __name__ == "__main__":
    main()
