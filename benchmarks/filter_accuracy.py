"""How well models find good texts: 20 Newsgroups, science against the rest, beside fastText.

python benchmarks/filter_accuracy.py [--shards 2 4 8] [--without-peer]

The split is by date, models learn from words and pairs, and test texts are ranked by their score. Shown are average
precision, precision where nine of ten good texts are kept, and processor seconds of training. fastText is trained with
its default settings, and with the learning rates and epochs that its guides suggest, in one thread; which of them is
best is not chosen by held-out texts, so the best row flatters it. Target: sharded-nbsvm, in three passes, above the
best of fastText.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from timing import show_figure, timed

from unnaive import TextClassifier
from unnaive.papers.collections import load

FASTTEXT = {
    "words": {"wordNgrams": 1},
    "pairs": {"wordNgrams": 2},
    "pairs, lr 0.5": {"wordNgrams": 2, "lr": 0.5},
    "pairs, lr 0.5, 25 epochs": {"wordNgrams": 2, "lr": 0.5, "epoch": 25},
    "pairs, lr 1, 25 epochs": {"wordNgrams": 2, "lr": 1.0, "epoch": 25},
}
RECALL = 0.9


def read_parts():
    """(texts, whether each is good) for training, and for tests."""
    corpus = load("20newsgroups")
    good = np.array([names[0].startswith("sci.") for names in corpus.labels])
    train = np.array(corpus.split) == "train"
    texts = np.array(corpus.texts, dtype=object)
    return [(list(texts[part]), good[part]) for part in (train, ~train)]


def average_precision(scores, good):
    """(average precision, precision where RECALL of the good are kept) of the ranking by scores."""
    hits = good[np.argsort(-scores, kind="stable")]
    found = np.cumsum(hits)
    precision = found / np.arange(1, len(hits) + 1)
    return precision[hits].mean(), precision[np.searchsorted(found, RECALL * hits.sum())]


def rank_by_ours(model, train, test, **settings):
    """(scores of the tests, seconds of training) of one of our models."""
    classifier = TextClassifier(model, ngrams=(1, 2), n_jobs=1, **settings)
    labels = np.where(train[1], "good", "rest").tolist()
    _, seconds = timed(lambda: classifier.fit(train[0], labels))
    scores = np.asarray(classifier.scores(test[0]))
    return scores[:, 0] - scores[:, 1], seconds


def rank_by_fasttext(train, test, **settings):
    """The same of fastText."""
    import fasttext

    models = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        labels = np.where(train[1], "good", "rest").tolist()
        lines = [f"__label__{label} {' '.join(text.split())}\n" for text, label in zip(train[0], labels, strict=True)]
        np.random.default_rng(0).shuffle(lines)  # it learns line by line, and the collection lies by group
        path.write_text("".join(lines), encoding="utf-8")
        more = {"input": str(path), "thread": 1, "seed": 0, "verbose": 0} | settings
        _, seconds = timed(lambda: models.append(fasttext.train_supervised(**more)))
    scores = []
    for text in test[0]:
        found = models[0].f.predict(" ".join(text.split()) + "\n", 2, 0.0, "strict")
        scores.append({label: p for p, label in found}.get("__label__good", 0.0))
    return np.array(scores), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--without-peer", action="store_true")
    arguments = parser.parse_args()
    train, test = read_parts()

    def show(name, ranking):
        scores, seconds = ranking
        found, at_recall = average_precision(scores, test[1])
        print(f"{name:40} {found:.3f}, {at_recall:.3f} at recall {RECALL}, {seconds:5.1f} s", flush=True)
        return found

    show("multinomial", rank_by_ours("multinomial", train, test))
    show("nbsvm", rank_by_ours("nbsvm", train, test))
    ours = {}
    for n_shards in arguments.shards:
        size = -(-len(train[0]) // n_shards)
        ours[n_shards] = show(
            f"sharded-nbsvm, {n_shards} shards", rank_by_ours("sharded-nbsvm", train, test, shard_size=size)
        )
    if not arguments.without_peer:
        peers = [
            show(f"fastText, {name}", rank_by_fasttext(train, test, **settings)) for name, settings in FASTTEXT.items()
        ]
        show_figure("best of fastText over the worst of sharded-nbsvm", max(peers) / min(ours.values()), 1)


if __name__ == "__main__":
    main()
