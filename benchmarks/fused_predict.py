"""Raw text → predicted class, beside scikit-learn's CountVectorizer + MultinomialNB and fastText's predict.

python benchmarks/fused_predict.py [--repeats N]

20 Newsgroups by date, 20 classes, one thread each unless the line says two. All are trained on the same texts; the
weights of ours are those that scikit-learn has learnt, so that both must decide alike. The first call makes the scorer
and its table of weights.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from timing import alternated, seconds, show, show_figure, show_first_call
from vectorise import WORDS

from unnaive.papers.collections import load
from unnaive.text.counting import TextCounter, TextScorer
from unnaive.text.tokens import TokenRule


def pipeline_and_maker(texts, labels):
    """scikit-learn's pipeline, and a function that makes our scorer with its weights for a number of threads.

    It looks terms up in the table of the counter that has found them, as after training.
    """
    pipeline = make_pipeline(CountVectorizer(token_pattern=WORDS), MultinomialNB()).fit(texts, labels)
    counter, bayes = TextCounter(), pipeline[-1]
    counter.count(texts, grow=True)  # terms in the order of the texts, as when we train
    columns = [pipeline[0].vocabulary_[term] for term in counter.vocabulary]
    weights, vocabulary = bayes.feature_log_prob_[:, columns], counter.final_vocabulary()

    def make(threads):
        return TextScorer(TokenRule(), vocabulary, weights, bias=bayes.class_log_prior_, threads=threads)

    return pipeline, make


def fasttext_model(texts, labels):
    """A fastText classifier; only its speed matters here."""
    import fasttext

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        lines = (
            f"__label__{label} {' '.join(text.lower().split())}\n" for text, label in zip(texts, labels, strict=True)
        )
        path.write_text("".join(lines), encoding="utf-8")
        return fasttext.train_supervised(str(path), lr=0.01, epoch=1, thread=1, verbose=0)


def fasttext_lines(texts):
    """fastText takes single lines."""
    return [" ".join(text.split()) for text in texts]


def single(scorer, text, calls=2000):
    """Microseconds for one text."""
    return seconds(lambda: [scorer.best([text]) for _ in range(calls)]) / calls * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    corpus = load("20newsgroups")
    texts, labels = list(corpus.texts), np.array([label for (label,) in corpus.labels])
    pipeline, make = pipeline_and_maker(texts, labels)
    scorer, two = make(1), make(2)
    same = (pipeline.predict(texts) == pipeline.classes_[scorer.best(texts)]).mean()
    print(f"decisions that agree with scikit-learn's: {same:.2%}")
    show(
        "predict, CountVectorizer + MultinomialNB",
        alternated(lambda: scorer.best(texts), lambda: pipeline.predict(texts), repeats),
        42,
    )
    show(
        "the same with two threads",
        alternated(lambda: two.best(texts), lambda: pipeline.predict(texts), repeats),
        75,
    )
    for threads in (1, 2):

        def best(made, threads=threads):
            if not made:
                made.append(make(threads))
            return made[0].best(texts)

        show_first_call(f"first call with its scorer / later ones, threads: {threads}", list, best, 1.15)
    try:
        model = fasttext_model(texts, labels)
    except ImportError:
        print("fastText is not installed; pip install 'unnaive[bench]'")
    else:
        lines = fasttext_lines(texts)
        show("predict, fastText", alternated(lambda: scorer.best(lines), lambda: model.predict(lines), repeats), 20)
    short = texts[5][:400]
    show_figure(f"one text of {len(short)} characters, µs", min(single(scorer, short) for _ in range(5)), 3)


if __name__ == "__main__":
    main()
