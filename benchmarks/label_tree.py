"""A tree of labels against one classifier for each label: precision at 1, 3, 5 and training time.

    python benchmarks/label_tree.py [--labels 20000] [--share 0.1] [--data FOLDER]

Reuters-90 is multilabel with 90 labels; the synthetic collection has the requested number of labels, each with words
of its own, words of its topic and words of all. Both ways have the same features, solver, C and tolerance, on one
thread, and times are processor time. One-vs-rest is trained in blocks of labels, since its dual variables of all
labels at once would not fit in memory.

With --share, one-vs-rest learns only that share of the synthetic labels, against all documents, and both ways are
tested on documents of these labels. Its classifiers do not know each other, so its time is that divided by the share;
it ranks fewer labels than the tree does, so its precision is an upper bound, and so is what the tree loses.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from unnaive.data.targets import label_matrix
from unnaive.data.weighting import tf_idf
from unnaive.evaluation.many_labels import precision_at, propensities, propensity_scored_precision_at
from unnaive.models.label_tree.learner import LabelTree
from unnaive.models.svm.solver import squared_hinge
from unnaive.papers.collections import load
from unnaive.text.counting import TextCounter

KS = (1, 3, 5)
BLOCK = 500  # labels that one-vs-rest learns at a time
SETTINGS = {"C": 1.0, "tol": 0.01, "random_state": 0, "n_jobs": 1}  # of both; the tree has two levels


def make_collection(n_labels, n_docs, seed=0):
    """Counts X and labels Y: a document has 24 words, a third from its label, a third from its topic, a third from all.

    A label has 6 words of its own among 5,000 to 60,000, which other labels may have too; labels are 200 to a topic.
    """
    rng = np.random.default_rng(seed)
    n_terms, n_topics = max(5_000, 3 * n_labels), max(2, n_labels // 200)
    own = rng.integers(0, n_terms, (n_labels, 6))
    topical = rng.integers(0, n_terms, (n_topics, 40))
    topic = rng.permutation(n_labels) % n_topics
    labels = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n_docs - n_labels)])
    common = (n_terms * rng.random((n_docs, 8)) ** 3).astype(np.int64)
    words = np.hstack([
        own[labels[:, None], rng.integers(0, 6, (n_docs, 8))],
        topical[topic[labels][:, None], rng.integers(0, 40, (n_docs, 8))],
        common,
    ])  # fmt: skip
    X = csr_array((np.ones(words.size, np.int32), words.ravel(), np.arange(0, words.size + 1, 24)), (n_docs, n_terms))
    X.sum_duplicates()
    Y = csr_array((np.ones(n_docs, np.int64), labels, np.arange(n_docs + 1)), (n_docs, n_labels))
    return X, Y


def one_vs_rest(X, Y, X_test, top, n_labels):
    """(best labels of each test document, best first, of the first `n_labels`; processor seconds of training)."""
    weighting = tf_idf(X)
    Z, Z_test = weighting.apply(X), weighting.apply(X_test)
    best, scores = np.zeros((Z_test.shape[0], 0), np.int64), np.zeros((Z_test.shape[0], 0))
    seconds, columns = 0.0, csr_array(Y).tocsc()
    for start in range(0, n_labels, BLOCK):
        block = csr_array(columns[:, start : min(start + BLOCK, n_labels)])
        began = time.process_time()
        found = squared_hinge(Z, block, **SETTINGS)
        seconds += time.process_time() - began
        here = Z_test @ found.weights.T + found.bias
        best = np.hstack([best, np.tile(np.arange(start, start + block.shape[1]), (len(here), 1))])
        scores = np.hstack([scores, here])
        kept = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        best, scores = np.take_along_axis(best, kept, 1), np.take_along_axis(scores, kept, 1)
    return best, seconds


def label_tree(X, Y, X_test, top, exclusive):
    """The same of the tree, and processor seconds of prediction for one document."""
    began = time.process_time()
    scorer = LabelTree(levels=2, **SETTINGS).learn(X, Y, exclusive=exclusive).scorer
    seconds, began = time.process_time() - began, time.process_time()
    best = [np.argsort(-scorer.scores(X_test[at : at + 200]), axis=1, kind="stable")[:, :top]
            for at in range(0, X_test.shape[0], 200)]  # fmt: skip
    return np.concatenate(best), seconds, (time.process_time() - began) / X_test.shape[0]


def compare(name, X, Y, X_test, Y_test, exclusive, share=1.0):
    """One line for each way, and what the tree loses and gains."""
    print(
        f"\n{name}: {X.shape[0]:,} documents, {Y.shape[1]:,} labels, {X.shape[1]:,} terms; {X_test.shape[0]:,} to test"
    )
    n_labels = round(share * Y.shape[1])
    if share < 1:
        asked = np.flatnonzero(Y_test[:, :n_labels].sum(axis=1))
        X_test, Y_test = X_test[asked], Y_test[asked]
        print(
            f"  one-vs-rest of {n_labels:,} labels, tested on {len(asked):,} documents of theirs; its time is scaled up"
        )
    weights = propensities(Y.sum(axis=0), Y.shape[0])
    found = {}
    tree, tree_seconds, each = label_tree(X, Y, X_test, max(KS), exclusive)
    for way, (best, seconds) in {
        "tree of labels": (tree, tree_seconds), "one-vs-rest": one_vs_rest(X, Y, X_test, max(KS), n_labels)
    }.items():  # fmt: skip
        seconds = seconds / share if way == "one-vs-rest" else seconds
        found[way] = precision_at(best, Y_test, 1), seconds
        at = "  ".join(f"P@{k} {100 * precision_at(best, Y_test, k):5.2f}" for k in KS)
        scored = "  ".join(f"PSP@{k} {100 * propensity_scored_precision_at(best, Y_test, weights, k):5.2f}" for k in KS)
        print(f"  {way:15s} {at}  {scored}  train {seconds:8.2f} s")
    (p_tree, t_tree), (p_all, t_all) = found["tree of labels"], found["one-vs-rest"]
    print(f"  the tree loses {100 * (p_all - p_tree):.2f} points of P@1 and trains {t_all / t_tree:.1f} times as fast; "
          f"{1e3 * each:.2f} ms a prediction")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=20_000)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--data", type=Path, default=None)
    options = parser.parse_args()
    corpus = load("reuters", data=options.data)
    train, test = corpus.part("train"), corpus.part("test")
    counter = TextCounter()
    X = counter.count(train.texts, grow=True)
    Y = label_matrix(train.labels, train.classes)
    Y_test = label_matrix(test.labels, train.classes, ignore_unknown=True)
    compare("Reuters-90", X, Y, counter.count(test.texts), Y_test, exclusive=False)
    X, Y = make_collection(options.labels, 2 * options.labels + 2_000)
    n = X.shape[0] - 2_000
    compare("made up", X[:n], Y[:n], X[n:], Y[n:], exclusive=True, share=options.share)


if __name__ == "__main__":
    main()
