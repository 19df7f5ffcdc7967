"""Naive Bayes grows as the textbook says: training Θ(|D| L + |C||V|), testing Θ(L + |C| M) for each document.

python benchmarks/linear_growth.py [--documents N]

|D| documents of L words over |V| terms and |C| classes; M distinct terms in a document. Each line doubles one of them,
holds the others, and prints the time and its exponent: 1 is linear, 0 is no growth. 10 times the data should take at
most 11 times as long.
"""

import argparse
from itertools import pairwise
from math import log
from statistics import median

import numpy as np
from scipy.sparse import csr_array
from timing import seconds, show_figure

from unnaive.data.counts import Counts
from unnaive.models.naive_bayes import MultinomialNB

N_TERMS, N_CLASSES, LENGTH = 50_000, 20, 100


def problem(n_docs, length=LENGTH, n_classes=N_CLASSES, seed=0):
    """Documents of `length` words, Zipf-distributed, with one label each."""
    rng = np.random.default_rng(seed)
    terms = rng.zipf(1.3, n_docs * length) % N_TERMS
    rows = np.repeat(np.arange(n_docs), length)
    X = csr_array((np.ones(terms.size, np.int64), (rows, terms)), shape=(n_docs, N_TERMS))
    labels = rng.integers(n_classes, size=n_docs)
    return X, csr_array((np.ones(n_docs, np.int64), labels, np.arange(n_docs + 1)), shape=(n_docs, n_classes))


def training(size):
    X, Y = problem(**size)
    return lambda: MultinomialNB().rule(Counts.of(X, Y))


def testing(size):
    X, Y = problem(**size)
    model = MultinomialNB().rule(Counts.of(X, Y))
    model.scores(X[:1])  # lays out the weights once
    return lambda: model.scores(X)


def growth(name, make, sizes, expected):
    """Times at each size, in alternating runs, and the exponent of each step."""
    runs = [make(size) for size in sizes]
    times = [[] for _ in runs]
    for _ in range(7):
        for run, found in zip(runs, times, strict=True):
            found.append(seconds(run))
    medians = [median(found) for found in times]
    changed = next(key for key in sizes[0] if sizes[0][key] != sizes[1][key])
    steps = [log(b / a) / log(2) for a, b in pairwise(medians)]
    line = "  ".join(f"{size[changed]:,}: {1e3 * time:.1f} ms" for size, time in zip(sizes, medians, strict=True))
    exponents = " ".join(f"{step:.2f}" for step in steps)
    print(f"{name:34} {line}   exponents {exponents} (expected {expected})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    n = parser.parse_args().documents
    by_documents = [{"n_docs": k * n} for k in (1, 2, 4)]
    by_length = [{"n_docs": n, "length": k * LENGTH} for k in (1, 2, 4)]
    by_classes = [{"n_docs": n, "n_classes": k * N_CLASSES} for k in (1, 2, 4)]
    growth("training, by documents", training, by_documents, "1")
    growth("training, by length", training, by_length, "up to 1")
    growth("training, by classes", training, by_classes, "0 to 1")
    growth("testing, by documents", testing, by_documents, "1")
    growth("testing, by length", testing, by_length, "up to 1")
    growth("testing, by classes", testing, by_classes, "0 to 1")
    for name, make in (("training", training), ("testing", testing)):
        small, large = make({"n_docs": n}), make({"n_docs": 10 * n})
        ratios = [seconds(large) / seconds(small) for _ in range(7)]
        show_figure(f"{name}, time of 10 × the documents", median(ratios), 11)


if __name__ == "__main__":
    main()
