"""Laws of learning more and forgetting: what was learnt adds up, comes off again and meets in any order, exactly."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from unnaive.base.errors import BadData, UnnaiveError

CLASSES = ["politics", "science", "sport"]


def later(*values):
    """Left to the whole suite."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def assert_same(one, other, X):
    """Equal bit for bit: what was counted or kept, the classes, and every score."""
    assert one.fitted_.statistic == other.fitted_.statistic
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_array_equal(one.scores(X), other.scores(X))


@pytest.mark.parametrize("seed", [0, *later(1, 2)])
def test_fit_equals_partial_fits_in_any_order_and_grouping(updatable, documents, seed):
    rng = np.random.default_rng(seed)
    whole = clone(updatable.estimator).fit(documents.X, documents.y)
    parts = clone(updatable.estimator)
    for rows in np.array_split(rng.permutation(60), rng.integers(2, 9)):
        part = documents.take(rows)
        parts.partial_fit(part.X, part.y, classes=CLASSES)
    assert_same(parts, whole, documents.X)


def test_fit_equals_partial_fits_with_several_labels(updatable, documents):
    whole = clone(updatable.estimator).fit(documents.X, documents.Y)
    parts = clone(updatable.estimator)
    for rows in (np.arange(40, 60), np.arange(0, 3), np.arange(3, 40)):
        part = documents.take(rows)
        parts.partial_fit(part.X, part.Y, classes=range(3))
    assert_same(parts, whole, documents.X)


def test_fit_discards_the_earlier_state(updatable, documents):
    half = documents.take(np.arange(30))
    again = clone(updatable.estimator).fit(documents.X, documents.Y).fit(half.X, half.y)
    assert_same(again, clone(updatable.estimator).fit(half.X, half.y), documents.X)


@pytest.mark.parametrize("cut", [20, *later(1, 59)])
def test_merge_equals_the_whole_in_either_order(updatable, documents, cut):
    whole = clone(updatable.estimator).fit(documents.X, documents.y)
    parts = [documents.take(np.arange(cut)), documents.take(np.arange(cut, 60))]
    for first, second in (parts, parts[::-1]):
        one, other = (clone(updatable.estimator).fit(part.X, part.y) for part in (first, second))
        assert_same(one.merge(other), whole, documents.X)


def test_merge_of_models_with_different_classes(updatable, documents):
    whole = clone(updatable.estimator).fit(documents.X, documents.y)
    models = []
    for names in (["sport"], ["politics", "science"]):
        part = documents.take(np.flatnonzero(np.isin(documents.y, names)))
        models.append(clone(updatable.estimator).fit(part.X, part.y))
    assert_same(models[0].merge(models[1]), whole, documents.X)


def test_merge_refuses_other_terms_and_other_forms_of_labels(updatable, documents):
    model = clone(updatable.estimator).fit(documents.X, documents.y)
    for X, y, sentence in (
        (documents.X[:, :5], documents.y, "the columns of the models differ"),
        (documents.X, documents.Y, "a single-label model and a multilabel model cannot be merged"),
    ):
        with pytest.raises(UnnaiveError, match=sentence):
            model.merge(clone(updatable.estimator).fit(X, y))


@pytest.mark.parametrize("seed", [0, *later(1, 2)])
def test_forget_equals_never_seen(updatable, documents, seed):
    rows = np.random.default_rng(seed).permutation(60)
    kept, gone = documents.take(rows[:35]), documents.take(rows[35:])
    for one, other in ((kept.y, gone.y), (kept.Y, gone.Y)):
        both = np.concatenate([one, other])
        model = clone(updatable.estimator).fit(documents.X[rows], both)
        model.forget(gone.X, other)
        never = clone(updatable.estimator).partial_fit(
            kept.X, one, classes=np.unique(both) if one.ndim == 1 else range(3)
        )
        assert_same(model, never, documents.X)


def test_forget_with_weights_equals_never_seen(weighted, documents):
    weight = np.arange(60) % 4 + 1
    model = clone(weighted.estimator).fit(documents.X, documents.y, sample_weight=weight)
    model.forget(documents.X[30:], documents.y[30:], sample_weight=weight[30:])
    never = clone(weighted.estimator).fit(documents.X[:30], documents.y[:30], sample_weight=weight[:30])
    assert_same(model, never, documents.X)


def test_forget_refuses_what_was_never_learned_and_changes_nothing(updatable, documents):
    half = documents.take(np.arange(30))
    model = clone(updatable.estimator).fit(half.X, half.y)
    before = model.fitted_.statistic, model.scores(documents.X)
    with pytest.raises(BadData, match="forget only documents that the model was trained on"):
        model.forget(documents.X, documents.y)
    assert model.fitted_.statistic == before[0]
    np.testing.assert_array_equal(model.scores(documents.X), before[1])


def test_an_unseen_class_is_refused_and_changes_nothing(updatable, documents):
    two = documents.take(np.flatnonzero(documents.y != "sport"))
    model = clone(updatable.estimator).fit(two.X, two.y)
    before = model.fitted_.statistic
    for method in (model.partial_fit, model.forget):
        with pytest.raises(BadData, match="class 'sport'"):
            method(documents.X, documents.y)
    assert model.fitted_.statistic == before
    with pytest.raises(BadData, match="label 'sport' is not among the 2 classes"):
        clone(updatable.estimator).partial_fit(documents.X, documents.y, classes=["politics", "science"])


def test_grow_lets_a_class_in(updatable, documents):
    whole = clone(updatable.estimator).fit(documents.X, documents.y)
    model = clone(updatable.estimator)
    for name in ("sport", "politics", "science"):
        part = documents.take(np.flatnonzero(documents.y == name))
        model.partial_fit(part.X, part.y, new_classes=True)
    assert_same(model, whole, documents.X)


def test_grow_lets_terms_in(updatable, documents):
    wide = documents.X.toarray()
    wide[:30, 8:] = 0
    model = clone(updatable.estimator).fit(csr_array(wide[:30, :8]), documents.y[:30])
    with pytest.raises(ValueError, match="12 features"):
        model.partial_fit(wide[30:], documents.y[30:])
    model.partial_fit(wide[30:], documents.y[30:], new_classes=True)
    assert_same(model, clone(updatable.estimator).fit(wide, documents.y), wide)
    assert model.n_features_in_ == 12


def test_grow_refuses_columns_that_do_not_begin_with_those_known(updatable, documents):
    frame = pd.DataFrame(documents.X.toarray(), columns=[f"term{t}" for t in range(12)])
    model = clone(updatable.estimator).fit(frame[frame.columns[:8]], documents.y)
    with pytest.raises(BadData, match="put new columns after them"):
        model.partial_fit(frame[frame.columns[::-1]], documents.y, new_classes=True)
    model.partial_fit(frame, documents.y, new_classes=True)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()


def test_classes_listed_later_must_be_known_or_grow(updatable, documents):
    model = clone(updatable.estimator).fit(documents.X, documents.y)
    with pytest.raises(BadData, match="class 'weather' is not among the 3 classes of the model"):
        model.partial_fit(documents.X, documents.y, classes=["weather"])
    model.partial_fit(documents.X, documents.y, classes=["weather"], new_classes=True)
    assert model.classes_.tolist() == [*CLASSES, "weather"]
    assert "weather" not in model.predict(documents.X)


def test_the_first_call_needs_classes_or_grow(updatable, documents):
    with pytest.raises(BadData, match="classes must be passed on the first call"):
        clone(updatable.estimator).partial_fit(documents.X, documents.y)


def test_single_label_and_multilabel_targets_do_not_mix(updatable, documents):
    model = clone(updatable.estimator).fit(documents.X, documents.y)
    with pytest.raises(BadData, match="use one label, or label sets"):
        model.partial_fit(documents.X, documents.Y)
    with pytest.raises(BadData, match="labels mix int and str"):
        model.partial_fit(documents.X, np.arange(60) % 3, new_classes=True)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_from_counts_equals_fit(counting, documents, order):
    fitted = clone(counting.estimator).fit(documents.X, documents.y)
    names = fitted.classes_[order]
    places = np.argsort(order)
    counts = fitted.counts_.placed(places, np.arange(12), 3, 12)
    again = type(counting.estimator).from_counts(counts, names, **counting.estimator.get_params())
    assert_same(again, fitted, documents.X)
    with pytest.raises(BadData, match="name each class once"):
        type(counting.estimator).from_counts(counts, ["a", "b", "a"])


def test_fractions_are_added_and_removed_up_to_rounding(updatable, documents):
    """tf-idf and the like: sums of fractions are exact to rounding; measured below 1e-13."""
    X = (documents.X * np.random.default_rng(0).random(12)).tocsr()  # of older versions of SciPy it is in coordinates
    whole = clone(updatable.estimator).fit(X, documents.y)
    parts = clone(updatable.estimator).fit(X[:30], documents.y[:30]).partial_fit(X[30:], documents.y[30:])
    np.testing.assert_allclose(parts.scores(X), whole.scores(X), rtol=1e-10, atol=1e-11)
    parts.forget(X[30:], documents.y[30:])
    half = clone(updatable.estimator).fit(X[:30], documents.y[:30])
    np.testing.assert_allclose(parts.scores(X), half.scores(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("several", [False, True])
def test_a_kept_selection_is_not_searched_again(choosing, documents, several):
    """With keep_choice, after any series of updates, it is what its choice gives on its documents, bit for bit."""
    y = documents.Y if several else documents.y
    first = clone(choosing.estimator).fit(documents.X[:40], y[:40])
    one = clone(choosing.estimator).fit(documents.X[:40], y[:40])
    one.partial_fit(documents.X[40:], y[40:], search="keep")
    other = clone(choosing.estimator).fit(documents.X[39::-1], y[39::-1])
    for rows in ([59, 41, 40], list(range(42, 59))):
        other.partial_fit(documents.X[rows], y[rows], search="keep")
    assert_same(one, other, documents.X)
    assert one.fitted_.choice_kept
    assert not first.fitted_.choice_kept
    labelled = np.diff(csr_array(y).indptr) if several else np.ones(60)
    assert one.fitted_.conformal.overall.n == np.count_nonzero(labelled == 1)
    kept = one.fitted_.documents
    expected = choosing.estimator.relearn(
        first.fitted_.learnt, np.arange(3), kept.X, kept.Y, exclusive=not several, sample_weight=None
    ).scorer
    np.testing.assert_array_equal(one.scores(documents.X), expected.scores(documents.X))
    assert_same(one.forget(documents.X[40:], y[40:], search="keep"), first, documents.X)
    merged = clone(choosing.estimator).fit(documents.X[:40], y[:40])
    more = clone(choosing.estimator).fit(documents.X[40:], y[40:])
    assert_same(merged.merge(more, search="keep"), other, documents.X)


def test_a_merge_cannot_be_approximate(choosing, documents):
    parts = [clone(choosing.estimator).fit(documents.X[rows], documents.y[rows]) for rows in (slice(40), slice(40, 60))]
    with pytest.raises(UnnaiveError, match="models are merged exactly"):
        parts[0].merge(parts[1], search="adjust")
