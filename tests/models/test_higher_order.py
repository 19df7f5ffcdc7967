"""Higher-order smoothing and naive Bayes: formulas by hand, both schemes, both event models, passes, paths behind."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import HigherOrderNB, HigherOrderSmoothing, TextClassifier
from unnaive.base.errors import BadData, BadModel, UnknownName, UnnaiveError
from unnaive.data.weighting import Weighting, presence
from unnaive.linear.linear import Linear
from unnaive.models.higher_order.learner import path_labels, path_weighting
from unnaive.models.higher_order.path_scorer import PathScorer
from unnaive.models.higher_order.second_order_paths import FirstPass, SecondPass, class_paths, term_paths
from unnaive.models.higher_order.smoothing import Mixture, smoothed

# d0: ball match; d1: match vote; d2: vote law
X = csr_array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 3, 1]])
Y = csr_array([[1, 0], [0, 1], [0, 1]])
FIRST = np.array([[1, 0], [1, 1], [0, 2], [0, 1]])


def higher_order_smoothing(X, Y, **settings):
    return HigherOrderSmoothing(**settings).learn(X, Y).scorer


def higher_order_naive_bayes(X, Y, **settings):
    return HigherOrderNB(**settings).learn(X, Y).scorer


def random_documents(seed=0, n=80, terms=25, classes=4):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    rates = rng.gamma(0.3, 1.0, (classes, terms))
    return csr_array(rng.poisson(rates[labels])), labels


def one_hot(labels, classes=4):
    return csr_array(np.eye(classes, dtype=int)[labels])


def bernoulli_scores(documents, probability, prior):
    B = (documents.toarray() > 0).astype(float)
    return np.log(prior) + B @ np.log(probability) + (1 - B) @ np.log(1 - probability)


def phi():
    B = presence(X)
    one = FirstPass.of(B, Y)
    return class_paths(one, SecondPass.of(B, Y, one.first))


def test_paths_by_hand():
    np.testing.assert_array_equal(phi(), [[0, 1], [0, 1], [1, 0], [0, 1]])


def test_smoothing_by_hand():
    second = (1 + phi()) / (2 + phi().sum())
    probability = 0.5 * second + 0.5 * FIRST / FIRST.sum(axis=0)
    scores = higher_order_smoothing(X, Y).scores(X)
    np.testing.assert_allclose(scores, bernoulli_scores(X, probability, [1 / 3, 2 / 3]), rtol=1e-12)


def test_each_part_of_the_class_normaliser_is_laplace():
    orders = [(1 + n) / (2 + n.sum(axis=0)) for n in (phi(), FIRST)]
    scores = higher_order_smoothing(X, Y, beta=0.3, normaliser="class").scores(X)
    np.testing.assert_allclose(
        scores, bernoulli_scores(X, 0.7 * orders[0] + 0.3 * orders[1], [1 / 3, 2 / 3]), rtol=1e-12
    )


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_either_order_alone(beta):
    second, first = (1 + phi()) / (2 + phi().sum()), np.clip(FIRST / FIRST.sum(axis=0), 1e-12, 1)
    scores = higher_order_smoothing(X, Y, beta=beta).scores(X)
    np.testing.assert_allclose(scores, bernoulli_scores(X, first if beta else second, [1 / 3, 2 / 3]), rtol=1e-9)


def test_multinomial_orders_are_distributions_and_documents_are_weighted_as_paths_are():
    model = higher_order_smoothing(X, Y, events="multinomial", weights="log")
    np.testing.assert_allclose(np.exp(model.weights()).sum(axis=1), 1)
    assert model.weighting.tf == "log"
    Z = Weighting("log").apply(X)
    np.testing.assert_allclose(model.scores(X), Z @ model.weights().T + np.log([1 / 3, 2 / 3]))


@pytest.mark.parametrize("events", ["bernoulli", "multinomial"])
@pytest.mark.parametrize("normaliser", ["total", "class"])
def test_one_vs_rest_of_two_exclusive_classes_is_the_multiclass_difference(events, normaliser):
    documents, labels = random_documents(classes=2)
    settings = {"events": events, "normaliser": normaliser}
    both = higher_order_smoothing(documents, one_hot(labels, 2), **settings).scores(documents)
    odds = higher_order_smoothing(documents, one_hot(labels, 2), **settings, scheme="one-vs-rest").scores(documents)
    np.testing.assert_allclose(odds[:, 0], both[:, 0] - both[:, 1], rtol=1e-9, atol=1e-9)


def test_naive_bayes_one_vs_rest_of_two_exclusive_classes_is_the_multiclass_difference():
    documents, labels = random_documents(classes=2)
    both = higher_order_naive_bayes(documents, one_hot(labels, 2)).scores(documents)
    odds = higher_order_naive_bayes(documents, one_hot(labels, 2), scheme="one-vs-rest").scores(documents)
    np.testing.assert_allclose(odds[:, 0], both[:, 0] - both[:, 1], rtol=1e-9, atol=1e-9)


def test_naive_bayes_by_hand():
    documents, labels = random_documents()
    probability = np.empty((25, 4))
    for c in range(4):
        containing, total = term_paths(presence(documents[labels == c]))
        probability[:, c] = (1 + containing) / (2 + total)
    prior = np.bincount(labels) / len(labels)
    scores = higher_order_naive_bayes(documents, one_hot(labels)).scores(documents)
    np.testing.assert_allclose(scores, bernoulli_scores(documents, probability, prior), rtol=1e-10)


@pytest.mark.parametrize("scheme", ["multiclass", "one-vs-rest"])
def test_prior_from_paths_changes_the_prior_alone(scheme):
    """Eq. 9: P(c) = φ(D_c) / Σ φ(D_k); against the rest, φ(D_c) / φ of the documents without the class."""
    documents, labels = random_documents()
    usual, by_paths = (
        higher_order_naive_bayes(documents, one_hot(labels), prior=prior, scheme=scheme).scores(documents)
        for prior in ("documents", "paths")
    )
    paths = np.array([term_paths(presence(documents[labels == c]))[1] for c in range(4)])
    shares = np.bincount(labels) / len(labels)
    if scheme == "multiclass":
        expected = np.log(paths / paths.sum()) - np.log(shares)
    else:
        others = np.array([term_paths(presence(documents[labels != c]))[1] for c in range(4)])
        expected = np.log(paths / others) - np.log(shares / (1 - shares))
    np.testing.assert_allclose(by_paths - usual, np.broadcast_to(expected, usual.shape), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scheme", ["multiclass", "one-vs-rest"])
def test_prior_from_paths_where_there_are_none_is_that_of_documents(scheme):
    documents, labels = csr_array([[1, 0], [0, 1], [0, 1]]), csr_array([[1, 0], [0, 1], [0, 1]])
    models = [higher_order_naive_bayes(documents, labels, prior=one, scheme=scheme) for one in ("documents", "paths")]
    np.testing.assert_array_equal(*(model.scores(documents) for model in models))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_length_normalised_paths_are_those_of_normalised_documents(norm):
    documents, labels = random_documents()
    Z = Weighting("binary", norm=norm).apply(documents)
    found = [
        higher_order_smoothing(documents, one_hot(labels), norm=norm),
        smoothed(
            (one := FirstPass.of(Z, one_hot(labels))),
            SecondPass.of(Z, one_hot(labels), one.first),
            Mixture(),
            Weighting("binary", norm=norm),
        ),
    ]
    np.testing.assert_allclose(*(model.scores(documents) for model in found))
    assert not np.allclose(
        found[0].scores(documents), higher_order_smoothing(documents, one_hot(labels)).scores(documents)
    )


def test_an_empty_class_is_never_chosen_and_nothing_is_nan():
    labels = csr_array([[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    for learner in (higher_order_smoothing, higher_order_naive_bayes):
        scores = learner(X, labels).scores(X)
        assert not np.isnan(scores).any()
        assert (scores[:, 2] == -np.inf).all()
        assert np.isfinite(learner(X, labels, scheme="one-vs-rest").scores(X)).all()


def test_published_paths_are_close_in_accuracy_and_not_for_multilabel_targets():
    documents, labels = random_documents()
    models = [higher_order_smoothing(documents, one_hot(labels), paths=paths) for paths in ("exact", "paper")]
    exact, paper = ((model.scores(documents).argmax(axis=1) == labels).mean() for model in models)
    assert abs(exact - paper) < 0.05
    with pytest.raises(UnnaiveError, match="use paths='exact'"):
        higher_order_smoothing(X, Y, paths="paper", scheme="one-vs-rest")


def test_tfidf_weight_by_hand():
    found = path_weighting("tfidf", X).apply(X).toarray()
    np.testing.assert_allclose(found[0, 0], (1 + np.log(2)) * np.log(1 + 3 / 1))
    np.testing.assert_allclose(found[1, 2], np.log(1 + 3 / 2))


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"beta": 1.5}, UnnaiveError),
        ({"paths": "some"}, UnknownName),
        ({"weights": "raw"}, UnknownName),
        ({"normaliser": "none"}, UnknownName),
        ({"events": "poisson"}, UnknownName),
        ({"scheme": "one"}, UnknownName),
    ],
)
def test_settings_are_checked(setting, error):
    with pytest.raises(error):
        HigherOrderSmoothing(**setting).fit(X, [0, 1, 1])


def test_settings_are_checked_in_shards_too():
    for setting in ({"beta": 1.5}, {"normaliser": "none"}, {"events": "poisson"}):
        with pytest.raises(UnnaiveError):
            HigherOrderSmoothing(**setting).fit_pass(X, [0, 1, 1], classes=[0, 1])


def test_a_table_that_would_not_fit_is_refused():
    wide = csr_array((1, 1 << 24), dtype=int)
    for learner in (higher_order_smoothing, higher_order_naive_bayes):
        with pytest.raises(UnnaiveError, match="select fewer terms"):
            learner(wide, csr_array(np.ones((1, 5))))


@pytest.mark.parametrize("settings", [{"weights": "log"}, {"norm": "l2"}, {"weights": "log", "norm": "l1"}])
@pytest.mark.parametrize("multilabel", [False, True])
def test_partial_fit_by_passes_is_fit(multilabel, settings):
    """Up to the rounding of sums of fractions, which depends on the shards."""
    documents, labels = random_documents()
    y = np.eye(4, dtype=int)[labels] if multilabel else labels
    if multilabel:
        y[::5, 1] = 1
    whole = HigherOrderSmoothing(**settings).fit(documents, y)
    sharded = HigherOrderSmoothing(**settings)
    for order in (1, 2):
        for rows in np.array_split(np.arange(80), 3):
            sharded.fit_pass(documents[rows], y[rows], classes=np.arange(4), order=order)
    np.testing.assert_allclose(sharded.scores(documents), whole.scores(documents), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(sharded.predict(documents), whole.predict(documents))


def test_from_passes_is_fit():
    documents, labels = random_documents()
    names = np.array(list("abcd"))
    shards = [(presence(documents[rows]), path_labels(one_hot(labels[rows]), "multiclass")) for rows in (
        slice(0, 30), slice(30, 80),
    )]  # fmt: skip
    one = FirstPass.of(*shards[0]) + FirstPass.of(*shards[1])
    two = SecondPass.of(*shards[0], one.first) + SecondPass.of(*shards[1], one.first)
    model = HigherOrderSmoothing.from_passes(one, two, names, beta=0.4)
    whole = HigherOrderSmoothing(beta=0.4).fit(documents, names[labels])
    np.testing.assert_array_equal(model.predict_proba(documents), whole.predict_proba(documents))
    with pytest.raises(BadData, match="sort them"):
        HigherOrderSmoothing.from_passes(one, two, names[::-1])
    with pytest.raises(UnnaiveError, match="need all documents at once"):
        HigherOrderSmoothing.from_passes(one, two, names, weights="tfidf")
    with pytest.raises(BadData, match="process all in both"):
        smoothed(one, SecondPass.of(*shards[0], one.first), Mixture(), Weighting("binary"))


def test_passes_out_of_order_are_refused_and_between_them_there_is_no_model():
    from sklearn.exceptions import NotFittedError

    documents, labels = random_documents()
    model = HigherOrderSmoothing()
    with pytest.raises(BadData, match="process all documents with order=1 first"):
        model.fit_pass(documents, labels, classes=range(4), order=2)
    with pytest.raises(BadData, match="classes must be passed"):
        model.fit_pass(documents, labels)
    model.fit_pass(documents, labels, classes=range(4))
    with pytest.raises(NotFittedError):
        model.predict(documents)
    with pytest.raises(BadData, match="process each document once in both"):
        model.fit_pass(documents[[*range(80), 0]], labels[[*range(80), 0]], order=2)
    model.fit_pass(documents, labels, order=2)
    assert model.predict(documents).shape == (80,)
    assert not hasattr(HigherOrderSmoothing(weights="tfidf"), "fit_pass")


def test_more_documents_start_the_second_pass_again():
    documents, labels = random_documents()
    model = HigherOrderSmoothing()
    model.fit_pass(documents[:50], labels[:50], classes=range(4))
    model.fit_pass(documents[:50], labels[:50], order=2)
    model.fit_pass(documents[50:], labels[50:])
    model.fit_pass(documents, labels, order=2)
    whole = HigherOrderSmoothing().fit(documents, labels)
    np.testing.assert_array_equal(model.predict_proba(documents), whole.predict_proba(documents))


@pytest.mark.parametrize("weights", ["binary", "log", "tfidf"])
def test_paths_by_their_middle_sum_to_all_paths(weights):
    documents, labels = random_documents(1)
    scorer = higher_order_smoothing(documents, one_hot(labels), weights=weights)
    one = FirstPass.of(scorer.documents, scorer.labels)
    expected = class_paths(one, SecondPass.of(scorer.documents, scorer.labels, one.first))
    for term in range(25):
        for place in range(4):
            found = scorer.path_evidence(term, place)
            assert found.paths == pytest.approx(expected[term, place], rel=1e-10, abs=1e-9)
            assert sum(paths for _, paths in found.middles) == pytest.approx(found.paths)
            assert found.occurrences == (documents[labels == place][:, [term]] > 0).sum()


def test_the_middles_of_paths_by_hand():
    found = higher_order_smoothing(X, Y).path_evidence(0, 1)  # ball never is in a document of class 1
    assert (found.occurrences, found.paths, found.middles) == (0, 1.0, ((1, 1.0),))
    assert higher_order_smoothing(X, Y).path_evidence(0, 0).middles == ()


def test_documents_can_be_left_out_and_forgotten():
    with_paths, without = higher_order_smoothing(X, Y), higher_order_smoothing(X, Y, keep_documents=False)
    assert isinstance(with_paths, PathScorer)
    assert type(without) is type(with_paths.frozen()) is Linear
    for other in (without, with_paths.frozen()):
        np.testing.assert_array_equal(other.scores(X), with_paths.scores(X))


@pytest.mark.parametrize("weights", ["binary", "tfidf"])
def test_scorer_through_arrays(weights):
    documents, labels = random_documents()
    scorer = higher_order_smoothing(documents, one_hot(labels), weights=weights)
    arrays, settings = scorer.to_arrays()
    assert ("documents.data" in arrays) == (weights == "tfidf")
    again = PathScorer.from_arrays(arrays, settings)
    np.testing.assert_array_equal(again.scores(documents), scorer.scores(documents))
    assert again.path_evidence(3, 2) == scorer.path_evidence(3, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"documents.indices": np.array([99] * 6)},
        {"documents.indptr": np.array([0, 9, 9, 6])},
        {"labels.indices": np.array([0, 1])},
        {"labels.data": np.array([1.0, np.nan, 1.0])},
        {"documents.data": np.array(["a"] * 6)},
    ],
)
def test_hostile_arrays_are_refused(change):
    arrays, settings = higher_order_smoothing(X, Y).to_arrays()
    with pytest.raises(BadModel, match="train it again"):
        PathScorer.from_arrays(arrays | change, settings)
    with pytest.raises(BadModel):
        PathScorer.from_arrays(arrays, settings | {"documents": -1})


def test_explanation_names_the_terms_that_lead_to_a_class():
    texts = ["goalkeeper ball match", "ball match team", "ball team", "vote parliament", "goalkeeper parliament"]
    model = TextClassifier("hos").fit(texts, ["sport", "sport", "sport", "politics", "politics"])
    found = {one.term: one for one in model.explain("team goalkeeper", "politics").evidence}
    assert (found["team"].paths, found["team"].middles) == (0.0, ())
    assert found["goalkeeper"].paths is None  # it occurs in politics
    found = {one.term: one for one in model.explain("vote", "sport").evidence}
    assert "no path leads there" in str(model.explain("vote", "sport"))
    found = {one.term: one for one in model.explain("parliament", "sport").evidence}
    assert (found["parliament"].paths, found["parliament"].middles) == (1.0, (("goalkeeper", 1.0),))
    assert "paths that lead there: 1, through goalkeeper 1" in str(model.explain("parliament", "sport"))


def test_smoothing_reaches_a_class_that_a_term_was_never_in():
    """Synonyms: "car" is only in one class's documents, "auto" only in the other's, but both stand with "wheel"."""
    documents = csr_array([[1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]])
    model = HigherOrderSmoothing(beta=0.5).fit(documents, ["road", "road", "road", "sea", "sea"])
    weights = model.scorer_.weights()
    assert weights[0, 1] > weights[1, 1]


def test_learning_is_repeatable_to_the_digit():
    documents, labels = random_documents()
    for make in (HigherOrderSmoothing, HigherOrderNB):
        one, other = (make().fit(documents, labels).scores(documents) for _ in range(2))
        np.testing.assert_array_equal(one, other)
