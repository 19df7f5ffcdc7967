"""Training the OR gate from Counts and scoring with it, beside multinomial naive Bayes from the same Counts.

python benchmarks/or_gate.py [--documents N] [--classes C] [--terms V]

Target: training from Counts at most 2 times, scoring at most 1.2 times the time of multinomial naive Bayes. The paper's
own naive Bayes is the one-vs-rest one, shown as well; the target is for the plain one.
"""

import argparse
import time
from statistics import median

import numpy as np
from scipy.sparse import csr_array

from unnaive.data.counts import Counts
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.models.or_gate import WEIGHTS, OrGate


def problem(n_docs, n_classes, n_terms, length=80, seed=0):
    """Documents of Zipf-distributed terms, shifted by class, with one label each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_docs)
    terms = (rng.zipf(1.3, size=(n_docs, length)) + 37 * labels[:, None]) % n_terms
    cells = (np.repeat(np.arange(n_docs), length), terms.ravel())
    X = csr_array((np.ones(terms.size, np.int64), cells), shape=(n_docs, n_terms))
    return X, csr_array((np.ones(n_docs, np.int64), labels, np.arange(n_docs + 1)), shape=(n_docs, n_classes))


def alternated(functions, repeats=15):
    """Median seconds of each function; they alternate, so that other programs slow all equally."""
    times = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in times.items()}


def show(title, times, wanted):
    """One line for each estimate, with the ratio to naive Bayes."""
    base = times["naive Bayes"]
    for name, seconds in times.items():
        ratio = seconds / base
        verdict = "" if name not in WEIGHTS else f"  wanted ≤ {wanted}: {'yes' if ratio <= wanted else 'NO'}"
        print(f"{title:<10}{name:<16}{1e3 * seconds:>9.2f} ms{ratio:>8.2f}{verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=50)
    parser.add_argument("--terms", type=int, default=30_000)
    options = parser.parse_args()
    X, Y = problem(options.documents, options.classes, options.terms)
    counts = Counts.of(X, Y)
    print(f"{options.documents:,} documents, {options.classes} classes, {counts.class_terms.nnz:,} arcs")
    rules = {
        "naive Bayes": lambda: MultinomialNB().rule(counts),
        "one-vs-rest NB": lambda: MultinomialNB(scheme="one-vs-rest").rule(counts),
    }
    rules |= {name: lambda name=name: OrGate(weights=name).rule(counts) for name in WEIGHTS}
    show("training", alternated(rules), 2.0)
    whole = {name: lambda rule=rule: (Counts.of(X, Y), rule()) for name, rule in rules.items()}
    print("with counting, which both need (not what the target is about):")
    for name, seconds in alternated(whole, repeats=5).items():
        print(f"{'fit':<10}{name:<16}{1e3 * seconds:>9.2f} ms")
    models = {name: rule() for name, rule in rules.items()}
    for model in models.values():
        model.scores(X[:1])  # the dense copy of the arcs is made once
    show("scoring", alternated({name: lambda m=model: m.scores(X) for name, model in models.items()}), 1.2)


if __name__ == "__main__":
    main()
