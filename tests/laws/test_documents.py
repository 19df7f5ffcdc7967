"""Laws of every estimator: what documents, labels and weights mean, whatever the model."""

import pickle

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csc_array, csr_array
from sklearn.base import clone

from unnaive.base.errors import BadData
from unnaive.linear import score_documents as chunks
from unnaive.linear.links import LINKS, relative

CLOSE = {"rtol": 1e-8, "atol": 1e-10}  # sums in another order; measured below 1e-12


def fitted(case, X, y, **more):
    return clone(case.estimator).fit(X, y, **more)


def test_order_of_documents_is_irrelevant(case, documents):
    rows = np.random.default_rng(1).permutation(60)
    one, other = fitted(case, documents.X, documents.y), fitted(case, documents.X[rows], documents.y[rows])
    np.testing.assert_allclose(other.scores(documents.X), one.scores(documents.X), **CLOSE)


def test_learning_is_repeatable(case, documents):
    one, other = (fitted(case, documents.X, documents.y).scores(documents.X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_weights_are_repetitions_and_zero_is_absence(weighted, documents):
    weight = np.arange(60) % 3
    repeated = np.repeat(np.arange(60), weight)
    for labels in (documents.y, documents.Y):
        one = fitted(weighted, documents.X, labels, sample_weight=weight)
        other = fitted(weighted, documents.X[repeated], labels[repeated])
        np.testing.assert_allclose(one.scores(documents.X), other.scores(documents.X), **CLOSE)


def test_weights_of_one_change_nothing(weighted, documents):
    one, other = (
        fitted(weighted, documents.X, documents.y, sample_weight=np.ones(60)),
        fitted(weighted, documents.X, documents.y),
    )
    np.testing.assert_allclose(one.scores(documents.X), other.scores(documents.X), **CLOSE)


def test_weights_below_zero_are_refused(weighted, documents):
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        fitted(weighted, documents.X, documents.y, sample_weight=-np.ones(60))


@pytest.mark.parametrize("container", [csc_array, coo_matrix, lambda X: X.toarray(), lambda X: X.toarray().tolist()])
@pytest.mark.slow
def test_the_container_of_documents_is_irrelevant(case, documents, container):
    expected = fitted(case, documents.X, documents.y).scores(documents.X)
    other = container(documents.X)
    np.testing.assert_allclose(fitted(case, other, documents.y).scores(other), expected, **CLOSE)


@pytest.mark.parametrize("number", [np.uint8, np.float32])
@pytest.mark.slow
def test_the_kind_of_number_is_irrelevant(case, documents, number):
    expected = fitted(case, documents.X, documents.y).scores(documents.X)
    other = documents.X.astype(number)
    np.testing.assert_allclose(fitted(case, other, documents.y).scores(other), expected, **CLOSE)


def test_duplicate_or_unsorted_entries_of_X_are_irrelevant_and_not_changed(case, documents):
    X = documents.X
    pieces = csr_array(
        (
            np.repeat(X.data / 2, 2)[::-1].copy(),
            np.repeat(X.indices, 2)[::-1].copy(),
            (2 * (X.nnz - X.indptr))[::-1].copy(),
        ),
        shape=X.shape,
    )  # the rows in reverse order, every count as two halves
    before = pieces.data.copy()
    expected = fitted(case, X, documents.y).scores(X)
    model = fitted(case, pieces, documents.y[::-1])
    np.testing.assert_allclose(model.scores(pieces)[::-1], expected, **CLOSE)
    np.testing.assert_array_equal(pieces.data, before)


def test_documents_below_zero_are_refused(case, documents):
    with pytest.raises(BadData, match=r"Negative values in data passed to \w+ \(input X\), which learns from counts"):
        fitted(case, -documents.X, documents.y)


def test_documents_without_any_label_are_refused(case, documents):
    unlabelled = [()] * len(documents)
    with pytest.raises(BadData, match="no document has a label"):
        fitted(case, documents.X, unlabelled)
    with pytest.raises(BadData, match="no document has a label"):
        clone(case.estimator).partial_fit(documents.X, unlabelled, new_classes=True)


def test_names_of_classes_are_irrelevant(case, documents):
    renamed = np.array([{"politics": 7, "science": 5, "sport": 9}[name] for name in documents.y])
    one, other = fitted(case, documents.X, documents.y), fitted(case, documents.X, renamed)
    assert other.classes_.tolist() == [5, 7, 9]
    scores = other.scores(documents.X)[:, [1, 0, 2]]
    np.testing.assert_allclose(scores, one.scores(documents.X), **CLOSE)


def test_the_format_of_multilabel_targets_is_irrelevant_and_predictions_have_it(case, documents):
    sets = [{int(c) for c in np.flatnonzero(row)} for row in documents.Y]
    dense = fitted(case, documents.X, documents.Y)
    sparse = fitted(case, documents.X, csr_array(documents.Y))
    named = fitted(case, documents.X, sets)
    for model in (sparse, named):
        np.testing.assert_array_equal(model.scores(documents.X), dense.scores(documents.X))
    predicted = dense.predict(documents.X)
    assert predicted.shape == (60, 3)
    assert (sparse.predict(documents.X) != csr_array(predicted)).nnz == 0
    assert [set(labels) for labels in named.predict(documents.X)] == [set(np.flatnonzero(row)) for row in predicted]
    right = float(np.mean((predicted == documents.Y).all(axis=1)))
    assert dense.score(documents.X, documents.Y) == pytest.approx(right)
    assert named.score(documents.X, sets) == pytest.approx(right)


def test_prediction_is_the_best_score(case, documents):
    model = fitted(case, documents.X, documents.y)
    best = model.scores(documents.X).argmax(axis=1)
    np.testing.assert_array_equal(model.predict(documents.X), model.classes_[best])


def test_two_classes_have_one_decision_value(margin, documents):
    two = documents.take(np.flatnonzero(documents.y != "sport"))
    model = fitted(margin, two.X, two.y)
    value = model.decision_function(two.X)
    assert value.shape == (len(two),)
    np.testing.assert_array_equal(model.predict(two.X), np.where(value > 0, "science", "politics"))


def test_models_have_a_decision_function_or_a_joint_log_probability_before_fit_and_after(case, documents):
    """As in scikit-learn: margins and log-linear models the first, generative ones the second."""
    model = clone(case.estimator)
    for _ in range(2):
        methods = {name for name in ("decision_function", "predict_joint_log_proba") if hasattr(model, name)}
        assert methods == ({"predict_joint_log_proba"} if model.traits.generative else {"decision_function"})
        assert hasattr(model, "predict_proba") == hasattr(model, "predict_log_proba") == model.traits.probabilistic
        model.fit(documents.X, documents.y)


def test_probabilities_sum_to_one_and_order_as_scores(probable, documents):
    model = fitted(probable, documents.X, documents.y)
    p, scores = model.predict_proba(documents.X), model.scores(documents.X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(p.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(documents.X)), p, rtol=1e-10, atol=1e-300)


def test_probability_and_score_of_two_classes_agree_in_rank(probable, documents):
    two = documents.take(np.flatnonzero(documents.y != "sport"))
    model = fitted(probable, two.X, two.y)
    with np.errstate(invalid="ignore"):  # a document that says nothing: −∞ for both
        joint = (
            model.predict_joint_log_proba(two.X) @ [-1, 1]
            if model.traits.generative
            else model.decision_function(two.X)
        )
    lead = np.nan_to_num(joint)
    assert (np.diff(model.predict_proba(two.X)[np.argsort(lead, kind="stable"), 1]) >= -1e-12).all()


def test_multilabel_probabilities_are_independent_and_rise_with_the_score(probable, documents):
    model = fitted(probable, documents.X, documents.Y)
    p, scores = model.predict_proba(documents.X), model.scores(documents.X)
    assert ((p >= 0) & (p <= 1)).all()
    share = LINKS[model.scorer_.link].share
    wanted = p > 0.5 if share is None else relative(scores) >= share
    np.testing.assert_array_equal(model.predict(documents.X) == 1, wanted)
    if model.scorer_.link != "softmax":
        for c in range(3):
            assert (np.diff(p[np.argsort(scores[:, c], kind="stable"), c]) >= -1e-12).all()


def test_prior(probable, documents):
    """An empty document gets the prior: the share of each class among the documents."""
    model = fitted(probable, documents.X, documents.y)
    shares = np.unique(documents.y, return_counts=True)[1] / 60
    odds = shares / (1 - shares)
    expected = shares if model.scorer_.link == "softmax" else odds / odds.sum()
    np.testing.assert_allclose(model.predict_proba(csr_array((1, 12)))[0], expected, rtol=1e-12)


def test_a_document_is_scored_by_itself(case, documents, monkeypatch):
    """Alone, among others, or in another chunk."""
    for labels in (documents.y, documents.Y):
        model = fitted(case, documents.X, labels)
        together = model.scores(documents.X), model.predict(documents.X)
        with monkeypatch.context() as patch:
            patch.setattr(chunks, "CHUNK_CELLS", 21)
            np.testing.assert_allclose(model.scores(documents.X), together[0], **CLOSE)
            np.testing.assert_array_equal(model.predict(documents.X), together[1])
        np.testing.assert_allclose(model.scores(documents.X[4:5])[0], together[0][4], **CLOSE)


def test_predicting_changes_nothing(case, documents):
    model = fitted(case, documents.X, documents.y)
    before, counts = dict(vars(model)), documents.X.copy()
    first = model.predict(documents.X)
    np.testing.assert_array_equal(model.predict(documents.X), first)
    assert vars(model) == before
    assert (counts != documents.X).nnz == 0


def test_a_clone_is_unfitted_and_equal_in_parameters(case, documents):
    model = fitted(case, documents.X, documents.y)
    copy = clone(model)
    assert not hasattr(copy, "classes_")
    assert repr(copy.get_params()) == repr(case.estimator.get_params())
    np.testing.assert_array_equal(copy.fit(documents.X, documents.y).scores(documents.X), model.scores(documents.X))


def test_a_copy_through_another_process_scores_alike(case, documents):
    model = fitted(case, documents.X, documents.y)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301  # what joblib does between processes
    np.testing.assert_array_equal(copy.scores(documents.X), model.scores(documents.X))
