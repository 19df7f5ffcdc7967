"""alpha=0, an alpha for each term, and force_alpha: scikit-learn is the oracle, and −∞ is no weight but a score."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import naive_bayes as peers

import unnaive
from unnaive import BernoulliNB, ComplementNB, MultinomialNB, TextClassifier
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.portable import portable_model

TEXTS, LABELS = ["good ball", "fair vote", "good vote", "ball ball match"], ["sport", "politics", "politics", "sport"]
ALPHAS = [0.0, 1e-12, [0.0, 0.0, 0.0, 0.5, 0.5, 2.0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]


@pytest.fixture
def counted():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (60, 6))
    X[:20, 0] = X[20:40, 1] = X[:40, 2] = 0
    return X, np.repeat([0, 1, 2], 20)


@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
def test_multinomial_is_that_of_scikit_learn(counted, alpha):
    X, y = counted
    ours = MultinomialNB(alpha=alpha).fit(X, y)
    with np.errstate(divide="ignore"):
        theirs = peers.MultinomialNB(alpha=np.array(alpha) if isinstance(alpha, list) else alpha).fit(X, y)
    expected = theirs.predict_joint_log_proba(csr_array(X))
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    possible = np.isfinite(expected).any(axis=1)
    assert possible.mean() > 0.5
    np.testing.assert_allclose(ours.predict_joint_log_proba(X)[possible], expected[possible], rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X)[possible], theirs.predict(csr_array(X))[possible])
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X)[~possible], np.log(np.full(((~possible).sum(), 3), 1 / 3))
    )


@pytest.mark.parametrize("alpha", ALPHAS[1:], ids=str)
@pytest.mark.parametrize("norm", [False, True])
def test_complement_is_that_of_scikit_learn(counted, alpha, norm):
    X, y = counted
    positive = np.maximum(alpha, 1e-10) if isinstance(alpha, list) else alpha
    ours = ComplementNB(alpha=alpha, norm=norm).fit(X, y)
    theirs = peers.ComplementNB(alpha=positive, norm=norm).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    # scikit-learn computes (N + 1e-12) − N, of which 1e-15/1e-12 is rounding
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-3)


def test_bernoulli_with_an_alpha_for_each_term():
    """p(t|c) = (df + α_t) / (n_c + 2 α_t): class 0 has one document, class 1 has two."""
    X, y = np.array([[3, 0], [0, 1], [0, 2]]), np.array([0, 1, 1])
    for scheme in ("multiclass", "one-vs-rest"):
        model = BernoulliNB(alpha=[1.0, 0.5], scheme=scheme).fit(X, y)
        np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[2 / 3, 0.5 / 2], [1 / 4, 2.5 / 3]])
    weights = np.exp(BernoulliNB(alpha=[1.0, 0.5], fit_prior=False).fit(X, y).scores([[1, 0]]))
    np.testing.assert_allclose(weights, [[2 / 3 * 3 / 4 / 2, 1 / 4 * 0.5 / 3 / 2]])
    np.testing.assert_allclose(np.exp(BernoulliNB(alpha=0).fit(X, y).feature_log_prob_), [[1, 0], [0, 1]], atol=1e-11)


def test_maximum_likelihood_by_hand():
    """Sport has good 1, ball 3, match 1 of 5; politics fair 1, vote 2, good 1 of 4; both have half of the documents."""
    model = TextClassifier("multinomial", alpha=0).fit(TEXTS, LABELS)
    p = {"good": (1 / 4, 1 / 5), "ball": (0, 3 / 5), "vote": (2 / 4, 0)}
    for word, (politics, sport) in p.items():
        expected = np.array([politics, sport]) / (politics + sport)
        np.testing.assert_allclose(model.predict_proba([word])[0], expected, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(["ball vote", "unheard", ""]), np.full((3, 2), 0.5))
    assert model.predict(["ball good good good good"]).tolist() == ["sport"]


def test_what_a_class_never_had_is_told_in_finite_numbers():
    model = TextClassifier("multinomial", alpha=0).fit(TEXTS, LABELS)
    contributions = {term.term: term.value for term in model.explain("good ball", "sport").evidence}
    assert contributions["ball"] == pytest.approx((np.log(3 / 5) - np.log(1e-10 / 4)) / 2)
    assert contributions["good"] == pytest.approx((np.log(1 / 5) - np.log(1 / 4)) / 2)


def test_it_is_stored_updated_and_forgotten_as_others_are(tmp_path):
    model = TextClassifier("multinomial", alpha=0).fit(TEXTS, LABELS)
    model.save(tmp_path / "m.model")
    before = (tmp_path / "m.model").read_bytes()
    loaded = TextClassifier.load(tmp_path / "m.model")
    np.testing.assert_array_equal(loaded.scores(TEXTS), model.scores(TEXTS))
    loaded.partial_fit(["a new match"], ["politics"])
    assert np.isfinite(loaded.scores(["match"])).all()
    loaded.forget(["a new match"], ["politics"]).save(tmp_path / "m.model")
    assert (tmp_path / "m.model").read_bytes() == before


def test_small_alphas_are_raised_only_without_force():
    X, y = np.eye(2), [0, 1]
    with pytest.warns(UserWarning, match="alpha too small will result in numeric errors, setting alpha = 1.0e-10"):
        raised = MultinomialNB(alpha=0, force_alpha=False).fit(X, y)
    np.testing.assert_allclose(raised.feature_log_prob_[0, 1], np.log(1e-10 / (1 + 2e-10)))
    assert MultinomialNB(alpha=0).fit(X, y).feature_log_prob_[0, 1] == -np.inf


@pytest.mark.parametrize(
    ("alpha", "problem"),
    [
        ([0.1, 0.2], "contains `n_features` values: it came with 2 for 5 terms; give one number, or one for each term"),
        (
            [1, 1, 1, 1, -2],
            "must be greater than 0, or 0 for no smoothing, but one is -2.0; give finite numbers from 0",
        ),
        ([[1]], r"alpha of multinomial came as \[\[1\]\]; give a number or a list of numbers"),
        ([True], "give a number or a list of numbers"),
        (float("nan"), "alpha of multinomial came as nan; give a number from 0"),
        (-1, "give a number from 0"),
    ],
)
def test_other_values_are_refused(alpha, problem):
    with pytest.raises((BadData, UnnaiveError), match=problem):
        TextClassifier("multinomial", alpha=alpha).fit(TEXTS, LABELS)


def test_exports_and_the_bridge_refuse_it():
    model = TextClassifier("multinomial", alpha=0).fit(TEXTS, LABELS)
    with pytest.raises(CannotExport, match="no export supports alpha=0; train the model again with an alpha above 0"):
        portable_model(model.fitted_, "js")
    with pytest.raises(UnnaiveError, match="no maximum-entropy weight; fit again with alpha above 0"):
        MultinomialNB(alpha=0).fit(np.eye(2), [0, 1]).to_maxent()


@pytest.mark.parametrize("make", [MultinomialNB, lambda **of: TextClassifier("multinomial", **of)])
def test_the_array_of_a_caller_stays_his_own(make):
    alpha = np.ones(5)
    model = make(alpha=alpha)
    model.fit(TEXTS if isinstance(model, TextClassifier) else np.eye(4, 5), LABELS)
    alpha[0] = 7
    assert model.fitted_.spec.model.alpha.tolist() == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("name", ["MultinomialNB", "LinearSVM", "Auto", "TextClassifier"])
def test_an_object_whose_constructor_was_not_called_can_be_shown(name):
    made = getattr(unnaive, name)
    assert repr(made.__new__(made)).startswith(f"{name}(")
