"""fit and predict on scikit-learn's matrices, beside MultinomialNB and LinearSVC, at 20 to 18,000 rows.

python benchmarks/matrix_input.py [--rows N]

20 Newsgroups. Naive Bayes reads CountVectorizer's matrix, whose rows are not sorted, and the SVM TfidfVectorizer's. One
thread; times of the processor.
"""

import argparse
import warnings
from functools import partial

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC
from timing import alternated, show_figure

import unnaive
from unnaive.papers.collections import load

ROWS = (20, 200, 2000, 18000)
WANTED = 1.1  # our time divided by theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, choices=ROWS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # few rows have classes of one document
    corpus = load("20newsgroups")
    order = np.random.default_rng(0).permutation(len(corpus.texts))
    for rows in ROWS if options.rows is None else [options.rows]:
        texts = [corpus.texts[i] for i in order[:rows]]
        labels = np.array([corpus.labels[i][0] for i in order[:rows]])
        repeats = 15 if rows < 1000 else 3
        for name, vectorizer, ours, theirs in (
            ("naive Bayes", CountVectorizer(), unnaive.MultinomialNB(), MultinomialNB()),
            ("SVM", TfidfVectorizer(), unnaive.LinearSVM(n_jobs=1), LinearSVC()),
        ):
            X = vectorizer.fit_transform(texts)
            for method, arguments in (("fit", (X, labels)), ("predict", (X,))):
                sides = [partial(getattr(model, method), *arguments) for model in (ours, theirs)]
                ratio = alternated(*sides, repeats).cpu_ratio
                show_figure(f"{name}, {method}, {rows} rows: ours / theirs", 1 / ratio, WANTED)


if __name__ == "__main__":
    main()
