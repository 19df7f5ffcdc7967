"""`auto` beside its peers with few labels: 5, 10, 20 and 50 documents of each class, drawn at random.

python benchmarks/auto_few_labels.py [COLLECTION …] [--sizes 5 10 20 50] [--draws 10]

Mean accuracy on the whole test part over the draws; the peers are tuned by cross-validation on the same few documents.
Target: at or above the strongest peer's on at least four of the five collections, at each size.
"""

import argparse
import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from auto_peers import PEERS, measure_split, splits

from unnaive import TextClassifier

COLLECTIONS = ("tickets", "banking77", "webkb4", "ohsumed", "20newsgroups")
FEW_PEERS = ("LinearSVC, words", "ComplementNB, words", "LinearSVC, characters", "LinearSVC, pairs and characters")


def draw(labels, size, seed):
    """At most `size` rows of each class, in their order."""
    random = np.random.default_rng(seed)
    rows = [random.permutation(np.flatnonzero(labels == label))[:size] for label in np.unique(labels)]
    return np.sort(np.concatenate(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[5, 10, 20, 50])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--test", type=int, default=2_000, help="most test documents, drawn once")
    arguments = parser.parse_args()
    met = dict.fromkeys(arguments.sizes, 0)
    for name in arguments.collections:
        texts, labels, test, truth = splits(name)[0]
        kept = np.sort(np.random.default_rng(0).permutation(len(truth))[: arguments.test])
        test, truth = test[kept], truth[kept]
        for size in arguments.sizes:
            ours, theirs = [], {peer: [] for peer in FEW_PEERS}
            for seed in range(arguments.draws):
                rows = draw(labels, size, seed)
                model = TextClassifier().fit(list(texts[rows]), list(labels[rows]))
                ours.append(float((model.predict(list(test)) == truth).mean()))
                for peer, found in theirs.items():
                    found.append(measure_split(*PEERS[peer], texts[rows], labels[rows], test, truth)[0])
            best = max(theirs, key=lambda peer: np.mean(theirs[peer]))
            gain = np.array(ours) - np.array(theirs[best])
            met[size] += gain.mean() >= 0
            print(
                f"{name:14} {size:3} a class: auto {np.mean(ours):.4f}, {best} {np.mean(theirs[best]):.4f}, "
                f"{100 * gain.mean():+.2f} points (± {100 * gain.std() / max(1, len(gain) - 1) ** 0.5:.2f})",
                flush=True,
            )
    for size, number in met.items():
        print(f"{size} a class: at or above the strongest peer on {number} of {len(arguments.collections)}")


if __name__ == "__main__":
    main()
