"""Maximum entropy: the optimum of scikit-learn, gradients, stopping, starting, multilabel targets, the estimator."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

import unnaive
from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.data.products import ThinProducts
from unnaive.data.weighting import Weighting
from unnaive.linear.links import probabilities
from unnaive.models.maxent.convergence import split_held_out
from unnaive.models.maxent.lbfgs import (
    InSpan,
    InWeights,
    balanced_bias_norm,
    descend,
    logistic_loss,
    softmax_loss,
    squared_lengths,
)
from unnaive.models.maxent.learner import MaxEnt
from unnaive.models.svm.solver import softmax


def maxent(X, Y, *, sample_weight=None, progress=None, **settings):
    return MaxEnt(**settings).learn(X, Y, sample_weight=sample_weight, progress=progress).scorer


def random_problem(n_docs=80, n_terms=40, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(n_classes, size=n_docs)
    rates = rng.gamma(0.3, size=(n_classes, n_terms))
    X = csr_array(rng.poisson(rates[targets]))
    return X, csr_array(np.eye(n_classes, dtype=np.int64)[targets]), targets


def multilabel_problem(seed=0):
    X, Y, _ = random_problem(seed=seed)
    more = np.random.default_rng(seed).random(Y.shape) < 0.2
    return X, csr_array(np.maximum(Y.toarray(), more))


def problems():
    X, _, targets = random_problem(n_docs=25, n_terms=12)
    weight = np.random.default_rng(1).random(25)
    _, labels = multilabel_problem()
    for kind in (InWeights, InSpan):
        for name, loss in (
            ("softmax", softmax_loss(targets, weight)),
            ("logistic", logistic_loss(labels[:25], weight)),
        ):
            yield pytest.param(kind(ThinProducts.of(X.astype(float)), loss, 0.3, 4), id=f"{kind.__name__} {name}")


@pytest.mark.parametrize("kind", [InWeights, InSpan])
def test_the_norm_of_the_bias_changes_the_way_and_not_the_goal(kind):
    """600 documents of length 1: the loss is steeper along b than along W, and the balanced norm evens that."""
    rng = np.random.default_rng(0)
    targets = rng.choice(4, size=600, p=[0.7, 0.1, 0.1, 0.1])
    X = Weighting(norm="l2").apply(csr_array(rng.poisson(rng.gamma(0.3, size=(4, 900))[targets] * 0.2)))
    balanced = balanced_bias_norm(600, squared_lengths(X, np.ones(600)), 0.25)
    assert balanced == pytest.approx(np.sqrt(600 * 3 / 16))
    runs = {}
    for norm in (0.1, 1.0, balanced, 1000.0):
        problem = kind(ThinProducts.of(X), softmax_loss(targets, np.ones(600)), 1.0, 4, bias_norm=norm)
        *_, runs[norm] = descend(problem, problem.start(), tol=1e-7, max_iter=500)
        W, b = problem.parameters(runs[norm].point)
        if norm == 0.1:
            expected = W, b - b.mean()
        np.testing.assert_allclose(W, expected[0], atol=1e-7)
        np.testing.assert_allclose(b - b.mean(), expected[1], atol=1e-7)
    assert runs[balanced].iteration == min(run.iteration for run in runs.values())


@pytest.mark.parametrize("problem", list(problems()))
def test_gradient_by_finite_differences(problem):
    """Along every weight and bias, at a point that W = XᵀA can reach; central differences of 1e-6 err below 1e-7."""
    points = [state.point for state in descend(problem, problem.start(), tol=0.0, max_iter=4)]
    W, b = problem.parameters(points[-1])
    _, gradient, steepest = problem.gradient(points[-1])
    by_weights, by_bias = problem.parameters(gradient)

    def value(W, b):
        return problem.loss(problem.X.X @ W + b)[0] + problem.l2 / 2 * (W**2).sum()

    for array, derivative in ((W, by_weights), (b, by_bias)):
        for index in np.ndindex(array.shape):
            change = np.zeros_like(array)
            change[index] = 1e-6
            ends = [value(*(part + sign * change if part is array else part for part in (W, b))) for sign in (1, -1)]
            assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(derivative[index], abs=1e-6)
    assert steepest == pytest.approx(max(np.abs(by_weights).max(), np.abs(by_bias).max()), rel=1e-9)


@pytest.mark.parametrize("problem", list(problems()))
def test_a_ray_is_the_value_along_a_line(problem):
    *_, state = descend(problem, problem.start(), tol=0.0, max_iter=3)
    direction = -problem.gradient(state.point)[1]
    ray = problem.ray(state.point, direction)
    for t in (0.0, 0.1, 0.7):
        value, gradient, _ = problem.gradient(state.point + t * direction)
        assert ray(t) == pytest.approx((value, problem.dot(gradient, direction)), rel=1e-9)


def test_both_coordinates_find_the_same_minimum():
    X, _, targets = random_problem()
    points = []
    for kind in (InWeights, InSpan):
        problem = kind(ThinProducts.of(X.astype(float)), softmax_loss(targets, np.ones(80)), 0.5, 4)
        *_, state = descend(problem, problem.start(), tol=1e-8, max_iter=500)
        points.append(problem.parameters(state.point))
    np.testing.assert_allclose(points[0][0], points[1][0], atol=1e-7)


@pytest.mark.parametrize(("shape", "l2"), [((80, 40), 1.0), ((40, 90), 1.0), ((80, 40), 0.01)])
def test_the_optimum_is_that_of_scikit_learn(shape, l2):
    X, Y, targets = random_problem(*shape)
    ours = maxent(X, Y, features="counts", l2=l2, tol=1e-11, max_iter=5000)
    theirs = LogisticRegression(C=1 / l2, solver="newton-cholesky", tol=1e-10, max_iter=10_000).fit(X, targets)
    np.testing.assert_allclose(ours.weights(), theirs.coef_, atol=1e-5)
    # biases are free up to a constant
    np.testing.assert_allclose(ours.bias - ours.bias.mean(), theirs.intercept_ - theirs.intercept_.mean(), atol=1e-5)


def test_classes_by_themselves_are_binary_regressions():
    X, Y = multilabel_problem()
    ours = maxent(X, Y, scheme="one-vs-rest", features="counts", l2=1.0, tol=1e-11)
    assert ours.link == "log-odds"
    for c, column in enumerate(Y.toarray().T):
        theirs = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X, column)
        np.testing.assert_allclose(ours.weights()[c], theirs.coef_[0], atol=1e-5)
        assert ours.bias[c] == pytest.approx(theirs.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("solver", ["lbfgs", "gis"])
@pytest.mark.parametrize("start", ["zero", "naive-bayes"])
@pytest.mark.slow
def test_the_start_is_forgotten_at_the_optimum_and_warm_starts_end_at_once(solver, start):
    X, Y, _ = random_problem()
    settings = {"solver": solver, "features": "normalised", "early_stopping": False, "tol": 1e-7, "max_iter": 20_000}
    model = maxent(X, Y, start=start, **settings)
    cold = maxent(X, Y, **settings)
    known = csr_array(X[np.diff(X.indptr) > 0])
    one, other = (probabilities("softmax", m.scores(known), exclusive=True) for m in (model, cold))
    np.testing.assert_allclose(one, other, atol=0.02 if solver == "gis" else 1e-4)  # GIS crawls towards certainty
    lines = []
    maxent(X, Y, start=model, progress=lambda _, line: lines.append(line), **settings)
    assert lines[-1]["iteration"] <= 2


def test_naive_bayes_is_where_gis_begins_if_asked():
    from unnaive.data.counts import Counts
    from unnaive.data.weighting import Weighting
    from unnaive.models.naive_bayes import MultinomialNB

    X, Y, targets = random_problem(n_docs=300)
    begin = maxent(X, Y, solver="gis", start="naive-bayes", max_iter=0, early_stopping=False)
    unit = Weighting(norm="l1")
    bayes = MultinomialNB(alpha=1e-5).rule(Counts.of(unit.apply(X), Y))
    one, other = (m.argmax(axis=1) for m in (begin.scores(X), bayes.scores(unit.apply(X))))
    assert (one == other).mean() > 0.99
    assert (one == targets).mean() > 0.7


@pytest.mark.parametrize("solver", ["lbfgs", "gis"])
def test_early_stopping_trains_on_all_for_the_best_iteration_of_the_held_out_part(solver):
    X, Y, _ = random_problem(n_docs=200)
    lines = []
    settings = {"solver": solver, "features": "normalised", "l2": 1e-3}
    model = maxent(X, Y, early_stopping=True, held_out=0.2, progress=lambda _, line: lines.append(line), **settings)
    held_out = [line for line in lines if "held_out_error" in line]
    best = min(held_out, key=lambda line: (line["held_out_error"], line["iteration"]))["iteration"]
    assert lines[-1]["iteration"] == best
    assert lines[-1]["log_likelihood"] > lines[len(held_out)]["log_likelihood"] or best == 0
    expected = maxent(X, Y, early_stopping=False, tol=0.0, max_iter=best, **settings)
    np.testing.assert_allclose(model.scores(X), expected.scores(X), atol=1e-9)


def test_held_out_rows_leave_a_document_of_every_class():
    Y = csr_array(np.eye(10)[[*range(10), *[0] * 20]])
    for seed in range(20):
        train, held_out = split_held_out(Y, 0.5, seed)
        assert np.sort(np.append(train, held_out)).tolist() == list(range(30))
        assert (Y[train].sum(axis=0) > 0).all()
        assert len(held_out) == 15
    assert len(split_held_out(csr_array(np.eye(3)), 0.5, 0)[1]) == 0


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("solver", ["lbfgs", "gis"])
def test_an_interruption_keeps_the_best_so_far_only_when_asked(solver, early_stopping):
    X, Y, targets = random_problem(n_docs=200)

    def interrupt(_, line):
        if line["iteration"] == 5:
            raise KeyboardInterrupt

    settings = {"solver": solver, "early_stopping": early_stopping, "progress": interrupt, "l2": 0.01}
    model = maxent(X, Y, keep_on_interrupt=True, **settings)
    assert (model.scores(X).argmax(axis=1) == targets).mean() > 0.6
    with pytest.raises(KeyboardInterrupt):
        maxent(X, Y, **settings)


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("solver", ["lbfgs", "gis"])
@pytest.mark.slow
def test_multilabel_targets(solver, early_stopping):
    X, Y = multilabel_problem()
    model = maxent(X, Y, solver=solver, scheme="one-vs-rest", l2=0.01, early_stopping=early_stopping)
    assert model.link == "log-odds"
    right = ((model.scores(X) > 0) == Y.toarray()).mean()
    assert right > max(1 - Y.toarray().mean(), 0.75)


@pytest.mark.slow
def test_classes_by_themselves_start_from_their_shares():
    """A document of unknown terms has the odds of the class."""
    X, Y = multilabel_problem()
    model = maxent(X, Y, scheme="one-vs-rest", solver="gis", early_stopping=False)
    shares = Y.toarray().mean(axis=0)
    np.testing.assert_allclose(model.scores(csr_array((1, 40)))[0], np.log(shares / (1 - shares)), rtol=1e-12)


@pytest.mark.parametrize("scheme", ["multiclass", "one-vs-rest"])
@pytest.mark.parametrize("solver", ["lbfgs", "gis"])
def test_odd_documents(solver, scheme):
    """An empty document, a duplicate, a class with an empty document only, and a class without documents."""
    X = csr_array([[2, 0, 0], [2, 0, 0], [0, 1, 1], [0, 0, 0]])
    Y = csr_array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    model = maxent(X, Y, solver=solver, scheme=scheme, l2=0.01, early_stopping=False)
    scores = model.scores(csr_array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [9, 9, 9]]))
    assert not np.isnan(scores).any()
    assert scores[:2].argmax(axis=1).tolist() == [0, 1]
    assert (scores.argmax(axis=1) != 3).all()


def test_separable_data_end_and_are_finite_without_a_prior():
    X, Y = csr_array([[3, 1], [1, 3]]), csr_array(np.eye(2))
    model = maxent(X, Y, l2=0.0, features="counts", tol=1e-8)
    assert np.isfinite(model.weights()).all()
    assert model.scores(X).argmax(axis=1).tolist() == [0, 1]


def test_sample_weights_are_repetitions():
    X, Y, _ = random_problem()
    weight = 1.0 + np.arange(80) % 3
    repeated = np.repeat(np.arange(80), weight.astype(int))
    for settings in ({"solver": "gis", "early_stopping": False, "tol": 1e-4}, {"tol": 1e-8}):
        one, other = maxent(X, Y, sample_weight=weight, **settings), maxent(X[repeated], Y[repeated], **settings)
        np.testing.assert_allclose(one.scores(X), other.scores(X), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "newton"}, "no solver called 'newton'"),
        ({"features": "words"}, "no features called 'words'"),
        ({"start": "random"}, "no start called 'random'"),
        ({"l2": -1.0}, "l2 of maxent came as -1.0; give a number from 0"),
        ({"epsilon": 0.0}, "epsilon of maxent came as 0.0; give a number above 0"),
        ({"held_out": 1.0}, "held_out of maxent came as 1.0; give a number above 0 and below 1"),
        ({"max_iter": -1}, "max_iter of maxent came as -1; give a number from 0"),
        ({"scheme": "pairs"}, "no scheme called 'pairs'"),
    ],
)
def test_settings_out_of_range_are_refused_in_one_sentence(settings, message):
    X, _, targets = random_problem()
    with pytest.raises((UnnaiveError, UnknownName), match=message):
        MaxEnt(**settings).fit(X, targets)


def test_labels_and_starts_that_do_not_fit_are_refused():
    X, Y, _ = random_problem()
    with pytest.raises(BadData, match="scheme='one-vs-rest'"):
        maxent(X, csr_array(np.ones((80, 2))))
    small = maxent(X[:, :5], Y)
    with pytest.raises(UnnaiveError, match="has 4 classes and 5 terms"):
        maxent(X, Y, start=small)
    with pytest.raises(UnnaiveError, match="one-vs-rest GIS starts from"):
        maxent(X, Y, solver="gis", scheme="one-vs-rest", start=maxent(X, Y))


def test_the_estimator_tells_its_history_and_starts_warm():
    X, _, targets = random_problem()
    lines = []
    model = unnaive.MaxEnt(warm_start=True, tol=1e-6)
    cold = model.fit(X, targets, progress=lambda name, line: lines.append((name, line))).n_iter_
    assert [line for _, line in lines] == model.history_
    assert {name for name, _ in lines} == {"lbfgs"}
    assert (np.diff([line["log_likelihood"] for line in model.history_]) >= 0).all()
    assert model.fit(X, targets).n_iter_ <= 1 < cold
    assert model.fitted_.spec.model.start == "zero"
    assert model.fit(X[:, :20], targets).n_iter_ > 1  # other terms: it starts anew


def test_texts_go_through_it_by_its_name():
    from unnaive import TextClassifier

    texts = ["goal ball match", "ball ball player", "vote law senate", "senate vote party"]
    for settings in ({"l2": 0.01}, {"solver": "gis", "early_stopping": False}):
        model = TextClassifier("maxent", **settings).fit(texts, ["sport", "sport", "politics", "politics"])
        assert model.predict(["the ball", "a vote"]).tolist() == ["sport", "politics"]
        model = TextClassifier("maxent", **settings).fit(texts, [["sport"], ["sport", "fun"], ["politics"], []])
        assert model.predict(["ball ball player"]) == [("sport", "fun")]  # by score


class TestNaiveBayesPrior:
    """MaxEnt(prior="naive-bayes"): the L2 prior is centred on complement naive Bayes."""

    @pytest.fixture
    def counts(self):
        rng = np.random.default_rng(3)
        y = rng.integers(0, 3, 90)
        return rng.poisson(rng.gamma(0.5, 1.0, (3, 25))[y]), y

    def test_without_strength_it_is_the_prior_at_zero(self, counts):
        X, y = counts
        given = MaxEnt(prior="naive-bayes", prior_strength=0.0, tol=1e-12).fit(X, y).scorer_
        plain = softmax(given.weighting.apply(csr_array(X)), y, 3, C=1 / 0.1, tol=1e-12)
        np.testing.assert_allclose(given.weights(), plain.weights, atol=1e-5)

    def test_with_a_strong_prior_it_is_naive_bayes(self, counts):
        X, y = counts
        model = MaxEnt(prior="naive-bayes", prior_strength=2.0, prior_alpha=0.5, l2=1e7).fit(X, y)
        Z = model.scorer_.weighting.apply(csr_array(X))
        bayes = unnaive.ComplementNB(alpha=0.5).fit(Z, y).scorer_.weights()
        np.testing.assert_allclose(model.scorer_.weights(), 2 * (bayes - bayes.mean(axis=0)), atol=1e-4)

    @pytest.mark.parametrize("settings", [{"solver": "gis"}, {"l2": 0.0}, {"scheme": "one-vs-rest"}])
    def test_where_it_cannot_be(self, counts, settings):
        with pytest.raises(UnnaiveError, match="needs one label for each document"):
            MaxEnt(prior="naive-bayes", **settings).fit(*counts)
