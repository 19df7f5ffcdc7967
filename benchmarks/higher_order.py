"""Higher-order smoothing and naive Bayes beside the dense matrices of the papers, on 20 Newsgroups.

python benchmarks/higher_order.py

Target: smoothing at 2,000 terms at least 40 times as fast as Algorithm 1 of the paper in numpy, at the full vocabulary
within 3 times of its own time at 2,000 terms, and 10 times the documents in at most 11 times the time; naive Bayes at
2,000 terms at least 10 times as fast as with dense matrices, and at the full vocabulary under 2 GB; the 90 classes of
Reuters, which overlap, within 2 s of processor time. One thread.
"""

import os
import sys
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.sparse import csr_array, vstack
from timing import alternated, peak_memory, show, show_figure, timed

from unnaive.data.counts import Counts
from unnaive.data.targets import class_columns, label_matrix
from unnaive.data.weighting import presence
from unnaive.evaluation.splits import stratified_split
from unnaive.linear.term_selection import information_gain, top_k
from unnaive.models.higher_order.learner import HigherOrderNB, HigherOrderSmoothing
from unnaive.models.higher_order.second_order_paths import class_paths_as_published, term_paths
from unnaive.papers.collections import data_folder, load
from unnaive.papers.data import prepare
from unnaive.papers.paper_run import PaperRun
from unnaive.text.counting import TextCounter


def training_documents(min_df=3):
    """80 % of the collection as the paper prepares it, with all terms of min_df documents, and their labels."""
    data = prepare(PaperRun(), "20newsgroups", "higher-order", view="from-subject-body", split=False).take_frequent(
        min_df
    )
    rows, _ = stratified_split(data.Y, 0.8, seed=0)
    return data.X[rows], data.Y[rows]


def algorithm_1(X, Y):
    """Steps 5 to 8 of the paper's Algorithm 1: all terms and class labels with each other, dense."""
    whole = np.hstack([X, Y])
    first = whole.T @ whole
    second = first @ first
    own = np.diag(first)
    second += second - first * (own[:, None] + own[None, :])
    return second[: X.shape[1], X.shape[1] :]


def dense_naive_bayes(parts):
    """The same matrices for the documents of each class, whose row sums are the paths of its terms."""
    for B in parts:
        first = B.T @ B
        second = first @ first
        own = np.diag(first)
        second -= first * (own[:, None] + own[None, :])
        yield second.sum(axis=1)


def smoothing(X, Y, X_cut):
    dense, labels = presence(X_cut).toarray(), Y.toarray().astype(float)
    np.testing.assert_array_equal(algorithm_1(dense, labels), class_paths_as_published(presence(X_cut), Y))
    cut = partial(HigherOrderSmoothing().learn, X_cut, Y)
    show("smoothing, 2,000 terms | Algorithm 1", alternated(cut, partial(algorithm_1, dense, labels), 3), 40)
    whole = alternated(cut, partial(HigherOrderSmoothing().learn, X, Y), 25)
    show_figure(f"smoothing, {X.shape[1]:,} terms / 2,000 terms", whole.ratio, 3)
    many = csr_array(vstack([X] * 10)), csr_array(vstack([Y] * 10))
    growth = alternated(partial(HigherOrderSmoothing().learn, X, Y), partial(HigherOrderSmoothing().learn, *many), 7)
    show_figure("smoothing, 10 times the documents", growth.ratio, 11)


def naive_bayes(X, Y, X_cut):
    classes = Y.tocsc()
    members = [classes.indices[classes.indptr[c] : classes.indptr[c + 1]] for c in range(Y.shape[1])]
    parts = [presence(X_cut[rows]).toarray() for rows in members]
    cut = partial(HigherOrderNB().learn, X_cut, Y)
    show("naive Bayes, 2,000 terms | dense", alternated(cut, lambda: list(dense_naive_bayes(parts)), 3), 10)
    whole = alternated(cut, partial(HigherOrderNB().learn, X, Y), 5)
    print(f"{f'naive Bayes, {X.shape[1]:,} terms / 2,000 terms':44} {whole.ratio:6.2f}")


def overlapping_classes():
    """Naive Bayes of the 90 classes of Reuters, which overlap: beside it one walk over the documents without each."""
    corpus = load("reuters").part("train")
    X = TextCounter(threads=1).count(corpus.texts, grow=True)
    Y = label_matrix(corpus.labels, corpus.classes)
    B, members = presence(X), class_columns(Y)
    ours, peer = (
        timed(lambda: HigherOrderNB().learn(X, Y, exclusive=False)),
        timed(lambda: [term_paths(B[~rows]) for rows in members]),
    )
    name = f"naive Bayes, {Y.shape[1]} overlapping classes, s of processor"
    show_figure(name, ours[1], 2)
    print(f"{'':44} {peer[1] / ours[1]:6.2f} times as fast as class by class")


def memory(min_df):
    """Gigabytes of a process that trains naive Bayes on all terms of `min_df` documents."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from higher_order import *\n"
        f"HigherOrderNB().learn(*training_documents({min_df}))"
    )
    return peak_memory(code) / 1e9


def main():
    if data_folder() is None:
        print("20 Newsgroups is not here; set UNNAIVE_DATA or run: unnaive collections fetch 20newsgroups")
        return
    X, Y = training_documents()
    best = np.sort(top_k(information_gain(Counts.of(X, Y)), 2000))
    X_cut = X[:, best]
    print(f"{X.shape[0]:,} documents, {X.nnz:,} cells; at 2,000 terms {X_cut.nnz:,}")
    smoothing(X, Y, X_cut)
    naive_bayes(X, Y, X_cut)
    overlapping_classes()
    show_figure("naive Bayes, all terms, peak memory in GB", memory(1), 2)


if __name__ == "__main__":
    sys.exit(main())
