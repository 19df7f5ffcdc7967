"""Estimators on the matrices of vectorizers: what is weighted already is not weighted again; order does not matter."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import unnaive
from unnaive.data.products import has_repeats
from unnaive.papers.collections import load

# ours, and the model of scikit-learn that is nearest to it
TWINS = [
    (unnaive.LinearSVM, LinearSVC),
    (unnaive.NearestNeighbours, lambda: KNeighborsClassifier(10, metric="cosine")),
    (unnaive.MaxEnt, LogisticRegression),
    (unnaive.LabelTree, LinearSVC),
    (unnaive.MultinomialNB, MultinomialNB),
    (unnaive.ComplementNB, ComplementNB),
    (unnaive.BernoulliNB, BernoulliNB),
]
NOISE = 0.010  # one standard error of a difference of paired decisions: 1,000 test documents, of which 10 % differ


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "twin"), TWINS)
def test_on_tf_idf_an_estimator_is_as_good_as_its_twin(ours, twin):
    corpus = load("banking77")
    rows = np.random.default_rng(0).permutation(len(corpus.texts))[:3000]
    texts, labels = [corpus.texts[i] for i in rows], np.array([corpus.labels[i][0] for i in rows])
    vectorizer = TfidfVectorizer().fit(texts[:2000])
    X, Z = vectorizer.transform(texts[:2000]), vectorizer.transform(texts[2000:])
    found, wanted = (np.mean(model().fit(X, labels[:2000]).predict(Z) == labels[2000:]) for model in (ours, twin))
    assert found >= wanted - NOISE


@pytest.mark.parametrize("name", ["LinearSVM", "NBSVM", "NearestNeighbours", "LabelTree"])
def test_fractions_are_not_weighted_again_and_counts_are(name):
    rng = np.random.default_rng(1)
    counts, labels = rng.poisson(0.7, (40, 12)), rng.integers(0, 3, 40)
    fractions = TfidfVectorizer().fit_transform(
        [" ".join("ab" * (t + 1) for t in np.flatnonzero(row)) for row in counts]
    )
    for X, weights in ((counts, "tf-idf"), (counts.astype(float), "tf-idf"), (fractions, "counts")):
        model, told = getattr(unnaive, name)().fit(X, labels), getattr(unnaive, name)(weights=weights).fit(X, labels)
        assert np.array_equal(model.scores(X), told.scores(X))


def test_maximum_entropy_takes_fractions_as_they_are():
    X = np.random.default_rng(2).dirichlet(np.ones(6), 30)
    y = np.arange(30) % 3
    assert np.array_equal(unnaive.MaxEnt().fit(X, y).scores(X), unnaive.MaxEnt(features="counts").fit(X, y).scores(X))


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB"])
@pytest.mark.parametrize("number", [np.int64, np.int32, np.float64])
def test_unsorted_rows_give_the_same_model(name, number):
    texts = ["the ball is a good ball", "a vote is fair", "good game good ball", "the fair vote is fair"] * 20
    unsorted = CountVectorizer(dtype=number, token_pattern=r"\w+").fit_transform(texts)
    assert not unsorted.has_sorted_indices
    before = unsorted.copy()
    y = [0, 1, 0, 1] * 20
    model, other = (getattr(unnaive, name)().fit(X, y) for X in (unsorted, unsorted.sorted_indices()))
    for attribute in ("class_count_", "feature_count_", "feature_log_prob_"):
        assert np.array_equal(getattr(model, attribute), getattr(other, attribute))
    np.testing.assert_allclose(model.scores(unsorted), other.scores(unsorted.sorted_indices()), rtol=1e-14)
    assert np.array_equal(unsorted.indices, before.indices)


def test_repeated_cells_are_found_in_any_order():
    def rows(*columns):
        starts = np.array([0, 2, len(columns)], np.int32)
        return csr_array((np.ones(len(columns)), np.array(columns, np.int32), starts), (2, 4))

    assert not has_repeats(rows(3, 1, 1, 3))
    assert has_repeats(rows(3, 1, 2, 0, 2))
    assert has_repeats(rows(1, 1, 2))


def test_the_object_of_a_failed_constructor_can_be_shown():
    model = unnaive.LinearSVM.__new__(unnaive.LinearSVM)
    with pytest.raises(TypeError, match="no setting called 'Cost'"):
        model.__init__(Cost=3)
    assert repr(model) == "LinearSVM()"


def test_a_matrix_without_names_is_not_summed_by_class_for_a_margin(monkeypatch):
    """The sums select terms; where all columns are used, they were a third of the time of a small fit."""
    X, y = np.array([[2, 0, 1], [0, 3, 1], [1, 0, 0]]), ["sport", "politics", "sport"]
    expected = unnaive.LinearSVM().fit(X, y).scores(X)
    monkeypatch.setattr("unnaive.data.counts.class_sums", None)
    np.testing.assert_array_equal(unnaive.LinearSVM().fit(X, y).scores(X), expected)
