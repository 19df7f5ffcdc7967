"""Documents set aside to measure a model are new to it: copies of them are set aside too."""

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.data.corpus import Corpus
from unnaive.workflows.compress import FOLDS, measure_cost
from unnaive.workflows.hold_out import evaluate_holdout, parts_of_corpus


def corpus_of(texts, labels):
    return Corpus(list(texts), [(label,) for label in labels])


def copies_of_random_texts():
    """300 documents, each three times, whose class nothing tells: a quarter can be guessed."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in rng.integers(400, size=15)) for _ in range(300)]
    labels = [f"c{number}" for number in rng.integers(4, size=300)]
    order = rng.permutation(900) % 300
    return corpus_of([texts[row] for row in order], [labels[row] for row in order])


@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
def test_copies_are_set_aside_together(model):
    """With copies on both sides the accuracy was .91, and .98 with auto."""
    corpus = copies_of_random_texts()
    classifier = TextClassifier(model, random_state=1)
    part = parts_of_corpus(classifier, corpus, 5, False)
    assert (np.abs(np.bincount(part) - 180) <= 12).all()
    of_text = {}
    for text, number in zip(corpus.texts, part.tolist(), strict=True):
        of_text.setdefault(text, set()).add(number)
    assert sum(len(numbers) > 1 for numbers in of_text.values()) <= 4 * 4  # where a run of a class is cut
    assert evaluate_holdout(classifier, corpus, 0.2, False).tally.accuracy < 0.4
    assert evaluate_holdout(classifier, corpus, 0.8, False).tally.n == 900 - (part == 0).sum()
    cost = measure_cost(classifier, corpus, 20_000, False)
    assert cost["before"]["documents"] == (part == 0).sum()
    assert cost["before"]["accuracy"] < 0.4


def test_the_part_is_drawn_at_random_and_repeated_short_texts_are_spread():
    texts = [f"say{number % 20} it{number % 20}" for number in range(600)]
    corpus = corpus_of(texts, [f"c{number % 20 % 3}" for number in range(600)])
    first, again, other = (parts_of_corpus(TextClassifier(random_state=seed), corpus, 5, False) for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()
    assert FOLDS == 5
    shares = [np.bincount(first[number::20], minlength=5) for number in range(20)]
    assert np.max(shares) < 18  # of 30, 6 are expected


def test_several_labels_and_none():
    labels = [("a", "b"), ("b",), (), ("a",)] * 15
    corpus = Corpus([f"word{number % 4} other{number}" for number in range(60)], labels)
    part = parts_of_corpus(TextClassifier("multinomial", multilabel=True), corpus, 3, True)
    assert (np.abs(np.bincount(part) - 20) <= 3).all()
