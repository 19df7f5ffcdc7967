"""Parts to hold out: copies stay together, short texts that repeat are spread, whatever order they were added in."""

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.data.held_out_parts import HeldOutOrder, parts_like_new
from unnaive.data.training_data import TrainingData
from unnaive.learning.train import kept_rows
from unnaive.text.tokens import TokenRule

WORDS = [first + second + "er" for first in "bcdfglmnprst" for second in ("a", "e", "i", "o", "u")]
RULES = [TokenRule(), TokenRule(analyzer="both", ngrams=(1, 2))]


def short_texts(seed, n_names=80):
    """Names of one to three words, each of a class."""
    random = np.random.default_rng(seed)
    names = [" ".join(random.choice(WORDS, random.integers(1, 4), replace=False)) for _ in range(n_names)]
    return np.array(names, object), random.integers(0, 8, n_names)


def rows_of(texts, labels, rule, weight=None):
    data = TrainingData.of_texts(list(texts), list(labels), rule, sample_weight=weight)
    return kept_rows(data.documents(), data.target_type).weighted(None)


def texts_of(rows):
    """The words of each row, and its label."""
    terms = rows.vocabulary.terms
    X, labels = rows.X, rows.targets.Y.indices
    cells = [X.indices[start:end] for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    return [(" ".join(terms[column] for column in row), int(label)) for row, label in zip(cells, labels, strict=True)]


@pytest.mark.parametrize("rule", RULES)
def test_short_texts_that_repeat_are_spread_over_the_parts(rule):
    names, classes = short_texts(0)
    chosen = np.random.default_rng(1).integers(0, 80, 2000)
    rows = rows_of(names[chosen], classes[chosen], rule)
    part = parts_like_new(rows, 5)
    assert np.bincount(part).max() - np.bincount(part).min() <= 8  # one for each class
    found = {}
    for text, number in zip(texts_of(rows), part.tolist(), strict=True):
        found.setdefault(text, []).append(number)
    shares = np.array([np.bincount(numbers, minlength=5) / len(numbers) for numbers in found.values()])
    assert len(shares) == len({*zip(names.tolist(), classes.tolist(), strict=True)})
    assert shares.max() < 0.65  # of about 25 documents 5 are in each part; in runs, all would be in one or two
    assert shares.mean(axis=0) == pytest.approx(np.full(5, 0.2), abs=0.03)


def test_longer_copies_stay_together():
    random = np.random.default_rng(2)
    texts = [" ".join(random.choice(WORDS, 9, replace=False)) for _ in range(40)] * 5
    rows = rows_of(texts, [number % 2 for number in range(40)] * 5, TokenRule())
    part, named = parts_like_new(rows, 5), texts_of(rows)
    apart = {text for text in named if len({n for n, other in zip(part, named, strict=True) if other == text}) > 1}
    assert len(apart) <= 2 * 4  # runs of 20 texts in each of two classes are cut at four places


@pytest.mark.parametrize("seed", range(3))
def test_parts_do_not_depend_on_the_order_of_the_documents(seed):
    """Identical documents are exchangeable, so the parts of each text are the same, in any order."""
    names, classes = short_texts(3)
    random = np.random.default_rng(4)
    chosen = random.integers(0, 80, 400)
    long = np.array([" ".join(random.choice(WORDS, 9)) for _ in range(100)] * 2, object)
    texts = np.concatenate([names[chosen], long])
    labels = np.concatenate([np.where(random.random(400) < 0.2, random.integers(0, 8, 400), classes[chosen]),
                             np.tile(random.integers(0, 8, 100), 2)])  # fmt: skip
    weight = random.choice([1.0, 2.0, 0.5], 600)
    order = np.random.default_rng(seed).permutation(600)
    one, other = (rows_of(texts[rows], labels[rows], RULES[1], weight[rows]) for rows in (np.arange(600), order))
    np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(parts_like_new(one, 5), parts_like_new(other, 5))


def test_a_repeated_text_that_no_training_document_has_is_told_from_a_new_one():
    texts = ["thanks", "thanks", "ok", "solved", "solved", *["a much longer text with other words"] * 2]
    data = TrainingData.of_texts(texts, list("aabbaab"), TokenRule())
    order = HeldOutOrder.of(data.rows.X, data.rows.targets.Y.indices, data.rows.vocabulary)
    seen_later = order.seen_only_in_all(np.array([0, 5]), np.array([1, 2, 3, 6]))
    assert seen_later.tolist() == [False, False, True, False]  # training has "thanks"; "ok" is there once


@pytest.mark.parametrize(
    "settings", [{"model": "auto", "budget": "fast"}, {"model": "nbsvm", "calibrate": "temperature"}]
)
def test_the_estimates_hold_where_short_texts_repeat(settings):
    """80 names, in training and among new documents alike. With all copies of a name held out together, the accuracy
    shown was .3 instead of .95, and 90 % sets had seven labels."""
    names, classes = short_texts(5)
    random = np.random.default_rng(6)
    share = random.dirichlet(np.ones(80))
    learnt, new = random.choice(80, 1500, p=share), random.choice(80, 1500, p=share)
    model = TextClassifier(**settings).fit(names[learnt].tolist(), classes[learnt].tolist())
    right = (model.predict(names[new].tolist()) == classes[new]).mean()
    sets = model.predict_label_set(names[new].tolist(), 0.9)
    covered = np.mean([truth in labels for truth, labels in zip(classes[new], sets, strict=True)])
    assert covered > 0.87  # nine in ten are promised; three standard errors are .023
    assert np.mean([len(labels) for labels in sets]) < 1.2
    if settings["model"] == "auto":
        report = model.fitted_.provenance.report
        assert abs(report["accuracy"] - right) < 0.03
        assert report["interval"][0] - 0.01 <= right <= report["interval"][1] + 0.01
