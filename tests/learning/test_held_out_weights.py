"""What is tuned on held-out documents counts a document of weight k as k copies, for the same parts held out."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from unnaive import TextClassifier, soft_labels
from unnaive.data.soft_labels import likeliest_rows
from unnaive.learning.conformal import ConformalScores
from unnaive.learning.optimise import tune_macro_f1
from unnaive.learning.top_tuning import TOP_TUNINGS, tune_top
from unnaive.learning.tuning import TUNINGS, best_cut
from unnaive.linear.top_scores import TopScores
from unnaive.models.auto.held_out_accuracy import HeldOutAccuracy
from unnaive.models.auto.label_odds import fit_log_odds
from unnaive.models.auto.pool_weights import fit_pool, fit_saturation, fit_temperature_scale, pool_log_loss, soften
from unnaive.models.catalogue import MODELS, find_model

N, C = 150, 4
CLOSE = {"rtol": 0, "atol": 1e-6}  # of Newton's method, which stops at a gain in log-loss of 1e-7


def drawn(seed=0):
    """Log-probabilities, the class of each document, its weight, and the row of each copy."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(C, size=N)
    scores = rng.normal(0, 1, (N, C)) + 1.5 * (np.arange(C) == codes[:, None])
    weight = rng.integers(1, 6, N)
    return (
        scores - np.logaddexp.reduce(scores, axis=1)[:, None],
        codes,
        weight.astype(float),
        np.repeat(range(N), weight),
    )


def single(codes):
    return csr_array((np.arange(C) == codes[:, None]).astype(int))


def several(seed=1):
    return csr_array((np.random.default_rng(seed).random((N, C)) < 0.4).astype(int))


@pytest.mark.parametrize("multilabel", [False, True])
def test_sets(multilabel):
    log_p, codes, weight, copies = drawn()
    Y, novelty = several() if multilabel else single(codes), -log_p.max(axis=1)
    weighted = ConformalScores.of(log_p, Y, multilabel=multilabel, novelty=novelty, weight=weight)
    copied = ConformalScores.of(log_p[copies], Y[copies], multilabel=multilabel, novelty=novelty[copies])
    (found, about), (expected, expected_about) = weighted.to_arrays(), copied.to_arrays()
    assert about == expected_about
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)


def test_sets_of_fractional_weights_cover_the_weighted_documents():
    """By hand: weights .5, 1.5 and 1 are three documents; ranks 1, 2 and 3 are at .5 + 1.5 ≥ 1, ≥ 2, and at 3."""
    log_p = -np.array([[1.0, 9.0], [2.0, 9.0], [3.0, 9.0]])
    found = ConformalScores.of(log_p, csr_array([[1, 0]] * 3), weight=np.array([0.5, 1.5, 1.0]))
    assert found.overall.values.tolist() == [2.0, 2.0, 3.0]
    assert found.n_documents == 3


@pytest.mark.parametrize("tuning", ["scut", "rcut", "pcut"])
def test_thresholds(tuning):
    log_p, _, weight, copies = drawn()
    Y = several()
    scores = log_p + 2 * Y.toarray()
    expected = TUNINGS[tuning](scores[copies], Y[copies], "log-odds", None)
    assert TUNINGS[tuning](scores, Y, "log-odds", weight) == expected
    top = [TopScores.of(part, 3) for part in (scores, scores[copies])]
    assert tune_top(tuning, top[0], Y, weight) == tune_top(tuning, top[1], csr_array(Y[copies]))
    assert expected != TUNINGS[tuning](scores, Y, "log-odds", None) or tuning == "rcut"
    assert set(TOP_TUNINGS) == set(TUNINGS)


def test_a_cut_by_hand():
    """With weights 1, 2 and 4 the cut takes the third document too: F1 is 10/12, not 2/6; with 4, 2, 1 not."""
    scores, truth, weight = np.array([3.0, 2.0, 1.0]), np.array([1, 0, 1]), np.array([1.0, 2.0, 4.0])
    assert best_cut(scores, truth, weight=weight) == (1.0, pytest.approx(10 / 12))
    assert best_cut(scores, truth, weight=weight[::-1]) == (2.5, pytest.approx(8 / 9))


def test_class_weights_for_macro_f1():
    log_p, codes, weight, copies = drawn()
    weighted, copied = (
        tune_macro_f1(np.exp(log_p), single(codes), weight),
        tune_macro_f1(np.exp(log_p[copies]), single(codes[copies])),
    )
    np.testing.assert_allclose(weighted.weights, copied.weights, rtol=1e-9)
    assert not np.allclose(weighted.weights, tune_macro_f1(np.exp(log_p), single(codes)).weights)


def test_accuracy_and_its_interval():
    log_p, codes, weight, copies = drawn()
    right, group = log_p.argmax(axis=1) == codes, np.arange(N)
    weighted = HeldOutAccuracy.of(right, group, 0.8, weight=weight)
    copied = HeldOutAccuracy.of(right[copies], group[copies], 0.8)
    assert weighted.accuracy == pytest.approx(copied.accuracy)
    assert weighted.interval == pytest.approx(copied.interval)
    all_right = [
        HeldOutAccuracy.of(np.ones(len(rows), bool), rows, 0.8, weight=w)
        for rows, w in ((group, weight), (copies, None))
    ]
    assert all_right[0].interval == pytest.approx(all_right[1].interval)


def test_pools():
    log_p, codes, weight, copies = drawn()
    members = [3 * log_p, drawn(1)[0], log_p + 0.5 * drawn(2)[0]]
    possible = np.ones(C, bool)
    soft, soft_copies = soften(codes, possible, weight), soften(codes[copies], possible)
    np.testing.assert_allclose(soft.sum(axis=1), weight)
    np.testing.assert_allclose(soft[copies] / weight[copies][:, None], soft_copies)
    copied = [member[copies] for member in members]
    assert fit_temperature_scale(members[0], soft) == pytest.approx(fit_temperature_scale(copied[0], soft_copies))
    assert pool_log_loss(log_p, codes, weight) == pytest.approx(pool_log_loss(log_p[copies], codes[copies]))
    pool, expected = (fit_pool(*part, shrink=20.0) for part in ((members, soft), (copied, soft_copies)))
    np.testing.assert_allclose(pool.weights, expected.weights, **CLOSE)
    np.testing.assert_allclose(pool.bias, expected.bias, **CLOSE)
    pooled = pool.combine(members)
    found, expected = (fit_saturation(*part, shrink=1.0) for part in ((pooled, soft), (pooled[copies], soft_copies)))
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    Y = several()
    (slopes, levels), (slopes_of_copies, levels_of_copies) = (
        fit_log_odds([log_p], Y, weight),
        fit_log_odds([log_p[copies]], Y[copies]),
    )
    np.testing.assert_allclose([*slopes, *levels], [*slopes_of_copies, *levels_of_copies], atol=1e-3)


SETTINGS = {
    "svm": {"tol": 1e-11}, "nbsvm": {"tol": 1e-11}, "sharded-nbsvm": {"tol": 1e-11}, "label-tree": {"tol": 1e-11},
    "maxent": {"tol": 1e-12}, "hierarchical": {"restarts": 2, "average": 1}, "word-clusters": {"clusters": 4},
    "hierarchical-naive-bayes": {"restarts": 2, "average": 1}, "superparent": {"folds": 2},
}  # fmt: skip
WEIGHTED = [name for name in MODELS if find_model(name).traits.takes_sample_weight and name != "auto"]
SLOW = {"hierarchical", "hierarchical-naive-bayes", "superparent", "selective", "or-blend"}


def short_texts(n, seed=0):
    """Texts of three words of 30, those of a class more often from its own ten, and their labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    words = np.where(
        rng.random((n, 4)) < 0.5, 10 * codes[:, None] + rng.integers(10, size=(n, 4)), rng.integers(30, size=(n, 4))
    )
    return [" ".join(f"w{word}" for word in row) for row in words.tolist()], codes.tolist()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in WEIGHTED]
)
def test_models(name, monkeypatch):
    """Temperature, sets and class weights of weighted documents and of their copies, held out in the same parts."""
    monkeypatch.setattr("unnaive.learning.train.parts_like_new", parts_by_content)
    monkeypatch.setattr(
        "unnaive.learning.tuned_models._cross_fitted", lambda fitted, scores, *_: fitted.log_probabilities(scores)
    )
    texts, labels = short_texts(60)
    weight = np.random.default_rng(1).integers(1, 4, len(texts))
    made = TextClassifier(name, calibrate="temperature", optimise="macro-f1", **SETTINGS.get(name, {}))
    weighted = clone(made).fit(texts, labels, sample_weight=weight).fitted_
    copies = np.repeat(np.arange(len(texts)), weight)
    copied = clone(made).fit([texts[row] for row in copies], [labels[row] for row in copies]).fitted_
    assert weighted.calibration.value == pytest.approx(copied.calibration.value, rel=1e-6)
    np.testing.assert_allclose(weighted.decision.weights, copied.decision.weights, rtol=1e-6)
    assert weighted.conformal.n_documents == copied.conformal.n_documents == weight.sum()
    np.testing.assert_allclose(weighted.conformal.overall.values, copied.conformal.overall.values, rtol=1e-5)
    np.testing.assert_allclose(weighted.conformal.mean_p, copied.conformal.mean_p, rtol=1e-5)


def parts_by_content(rows, n_parts, *, words=None):
    """A part for each row, the same for all copies."""
    X = csr_array(rows.X)
    return np.rint(np.sin(X @ np.arange(1, X.shape[1] + 1)) * 1e6).astype(int) % n_parts


def rare_texts(n, seed):
    """Texts with a rare class of 6 %, which three words of thirty tell from the other."""
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < 0.06
    texts = []
    for is_rare in rare.tolist():
        words = [f"w{word}" for word in rng.zipf(1.3, 30) % 3000]
        words += [f"rare{word}" for word in rng.integers(0, 40, rng.binomial(3, 0.45 if is_rare else 0.05))]
        texts.append(" ".join(words))
    return texts, np.where(rare, "yes", "no")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sample_weight", "class_weight"])
def test_weights_reach_the_choice_of_auto(how):
    """Recall of a class of 6 %: .16 without weights, .77 with a weight of 15, .755 balanced or with 15 copies.

    Where weights did not reach the choice it was .09. The accuracy is that of documents without the weights of classes.
    """
    texts, labels = rare_texts(3000, 1)
    new, truth = rare_texts(4000, 2)
    if how == "sample_weight":
        model = TextClassifier("auto", budget="fast").fit(
            texts, labels, sample_weight=np.where(labels == "yes", 15.0, 1.0)
        )
        times = np.where(truth == "yes", 15.0, 1.0)
    else:
        model = TextClassifier("auto", budget="fast", class_weight="balanced").fit(texts, labels)
        times = np.ones(len(truth))
    found = np.array(model.predict(new))
    assert (found[truth == "yes"] == "yes").mean() > 0.6
    low, high = model.fitted_.provenance.report["interval"]
    assert low < np.average(found == truth, weights=times) < high


@pytest.mark.slow
def test_auto_learns_probabilities():
    """Measured: off by .03 on new texts; with unweighted rows in the choice, .24: every text was .5."""
    rng = np.random.default_rng(0)
    texts, good = [], rng.integers(11, size=500) / 10
    for p in good.tolist():
        fine = rng.binomial(10, p)
        texts.append(
            " ".join(
                [f"fine{v}" for v in rng.integers(30, size=fine)]
                + [f"poor{v}" for v in rng.integers(30, size=10 - fine)]
            )
        )
    documents, labels, weight = soft_labels(texts[:400], {"good": good[:400]})
    model = TextClassifier("auto", budget="fast").fit(documents, labels, sample_weight=weight)
    assert np.abs(model.predict_proba(texts[400:])[:, 0] - good[400:]).mean() < 0.15
    assert model.fitted_.provenance.report["held-out"] == model.fitted_.conformal.n_documents == 400


def test_weighted_rows_are_no_soft_labels():
    """The same text with two labels of weights above 1 is two documents; of weights that sum to 1 it is one."""
    X, codes = csr_array([[1, 0], [1, 0], [0, 1], [0, 1]]), np.array([0, 1, 0, 1])
    assert likeliest_rows(X, codes, np.array([2.0, 3.0, 1.0, 1.0])) is None
    assert likeliest_rows(X, codes, np.array([0.4, 0.6, 0.5, 2.0])).tolist() == [1, 1, 2, 3]
