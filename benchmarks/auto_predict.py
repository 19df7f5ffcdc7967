"""Raw text → predicted class by the pool of `auto`, beside the strongest peer's vectorisers and LinearSVC.

python benchmarks/auto_predict.py [--documents N] [--training N] [--repeats N] [--model FILE]

20 Newsgroups by date. Both read the same test texts; ours with one thread, as the peer does. The peer learns all
training texts, but with few passes: its accuracy does not matter here, and its speed does not depend on it. A model
file of ours that was trained before saves the minute of training.
"""

import argparse
from dataclasses import replace

import numpy as np
from auto_peers import splits, vectoriser
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from timing import alternated, show, show_figure, timed, verdict

from unnaive import TextClassifier
from unnaive.data.products import take_columns

WANTED = 20


def plain_scores(pool, X):
    """The scores of the pool, part by part, with a matrix of weighted documents for each."""
    return pool.bias + sum(linear.scores(take_columns(X, columns)) for columns, linear in pool.parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--training", type=int, help="documents that both learn from; all by default")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--model")
    given = parser.parse_args()
    ((texts, labels, test, _),) = splits("20newsgroups")
    kept = np.random.default_rng(1).permutation(len(texts))[: given.training]
    texts, labels = texts[kept], labels[kept]
    ours = TextClassifier.load(given.model) if given.model else TextClassifier().fit(list(texts), labels)
    fitted = replace(ours.fitted_, n_jobs=1)
    peer = make_pipeline(vectoriser("pairs and characters"), LinearSVC(max_iter=5)).fit(texts, labels)
    some = list(np.random.default_rng(0).permutation(test)[: given.documents])
    reader = fitted.reader
    first = timed(lambda: fitted.predict(some))[1]  # cuts words that it has not met yet; later calls remember them
    X = reader._counter.count(some)
    show_figure(
        "largest difference of the plain way, 1e-9",
        abs(plain_scores(fitted.scorer, X) - fitted.scores(some)).max() / 1e-9,
        1,
    )
    counting = timed(lambda: reader._counter.count(some))[1]
    scoring = timed(lambda: fitted.scorer.scores(X))[1]
    print(f"processor seconds for {len(some)} documents: counting {counting:.3f}, scoring {scoring:.3f}; ", end="")
    print(f"the first time, with new words, {first:.3f} in all")
    found = alternated(lambda: fitted.predict(some), lambda: peer.predict(some), given.repeats)
    show("predict, pairs and characters + LinearSVC", found, WANTED)
    print(f"by processor time {found.cpu_ratio:.1f}   {verdict(found.cpu_ratio, WANTED)}")


if __name__ == "__main__":
    main()
