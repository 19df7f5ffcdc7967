"""Raw text → trained multinomial naive Bayes, beside scikit-learn's CountVectorizer + MultinomialNB pipeline.

python benchmarks/train_text.py [--repeats N] [--quick]

20 Newsgroups (18,846 messages) and a copy of it ten times over, one thread unless the line says two. Also predictions
by the whole classifier, the first ones after a fit, training over counting alone, and the peak memory of a process that
trains.
"""

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from timing import alternated, peak_memory, show, show_figure, show_first_call, show_share, timed
from vectorise import WORDS
from vectorise import ours as count

from unnaive import TextClassifier
from unnaive.papers.collections import load


def ours(texts, labels, threads=1):
    return TextClassifier("multinomial", n_jobs=threads).fit(texts, labels)


def peer(texts, labels):
    return make_pipeline(CountVectorizer(token_pattern=WORDS), MultinomialNB()).fit(texts, labels)


READ = """
import json
with open({path!r}) as lines: rows = [json.loads(line) for line in lines]
texts, labels = [row[0] for row in rows], [row[1] for row in rows]
del rows
"""
OURS = "from unnaive import TextClassifier\nmodel = TextClassifier('multinomial', n_jobs=1).fit(texts, labels)"
PEER = f"""
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
model = make_pipeline(CountVectorizer(token_pattern={WORDS!r}), MultinomialNB()).fit(texts, labels)
"""


def memory_ratio(texts, labels):
    """Peak memory of ours over the peer's, each in a process that reads the same texts line by line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        with path.open("w") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in zip(texts, labels, strict=True))
        mine, theirs = (peak_memory(READ.format(path=str(path)) + side) for side in (OURS, PEER))
    print(f"peak memory: ours {mine / 2**20:.0f} MiB, scikit-learn's {theirs / 2**20:.0f} MiB")
    return mine / theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="leave the ten-fold copy out")
    options = parser.parse_args()
    corpus = load("20newsgroups")
    texts, labels = list(corpus.texts), [label for (label,) in corpus.labels]
    mine, theirs = ours(texts, labels), peer(texts, labels)
    agree = np.mean(mine.predict(texts) == theirs.predict(texts))
    print(f"decisions that agree with scikit-learn's: {agree:.2%}")
    repeats, two = options.repeats, ours(texts, labels, threads=2)
    trained = alternated(lambda: ours(texts, labels), lambda: peer(texts, labels), repeats)
    show("raw text → trained", trained, 42)
    trained = alternated(lambda: ours(texts, labels, threads=2), lambda: peer(texts, labels), repeats)
    show("raw text → trained, two threads", trained, 55)
    predicted = alternated(lambda: mine.predict(texts), lambda: theirs.predict(texts), repeats)
    show("raw text → predictions", predicted, 42)
    predicted = alternated(lambda: two.predict(texts), lambda: theirs.predict(texts), repeats)
    show("raw text → predictions, two threads", predicted, 75)
    for threads, wanted in ((1, 1.2), (2, 0.95)):
        fit = partial(ours, texts, labels, threads)
        show_share(f"training / counting on one thread, threads: {threads}", fit, lambda: count(texts), wanted)
        name = f"first prediction / later ones, threads: {threads}"
        show_first_call(name, fit, lambda model: model.predict(texts), 1.15)
    if not options.quick:
        ten, ten_labels = texts * 10, labels * 10
        growth = median(
            timed(lambda: ours(ten, ten_labels))[1] / timed(lambda: ours(texts, labels))[1] for _ in range(3)
        )
        show_figure("processor time for ten times the data", growth, 11)
    show_figure("peak memory, ours / scikit-learn's", memory_ratio(texts, labels), 0.7)


if __name__ == "__main__":
    main()
