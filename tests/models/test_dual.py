"""Dual coordinate descent against scikit-learn, brute force and its own reference; and what it refuses."""

import signal
import subprocess
import sys
import threading
import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array, csr_matrix, hstack, random_array
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.models.svm import solver as dual
from unnaive.models.svm.solver import SolverDocuments, softmax, squared_hinge

native = pytest.mark.skipif(dual.NATIVE is None, reason="built without a compiler")


def documents(n_docs=120, n_terms=80, n_classes=5, density=0.1, seed=0):
    """Documents that lean on a few terms of their class."""
    rng = np.random.default_rng(seed)
    targets = np.arange(n_docs) % n_classes
    Z = random_array((n_docs, n_terms), density=density, rng=rng, format="lil")
    Z[np.arange(n_docs), targets] = 0.5
    return csr_array(Z), targets


def one_hot(targets, n_classes):
    return csr_array((np.ones(len(targets)), targets, np.arange(len(targets) + 1)), shape=(len(targets), n_classes))


def hinge_objective(Z, present, w, b, C, scale=1.0, weight=1.0):
    """By the definition, with v = w / scale."""
    slack = np.maximum(0, 1 - np.where(present, 1, -1) * (Z @ w + b))
    return ((w / scale) ** 2).sum() / 2 + b**2 / 2 + C * (weight * slack**2).sum()


def softmax_objective(Z, targets, W, b, C, prior=0.0, prior_bias=0.0, weight=1.0):
    scores = Z @ W.T + b
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(targets)), targets]
    return (weight * losses).sum() + (((W - prior) ** 2).sum() + ((b - prior_bias) ** 2).sum()) / (2 * C)


# oracles


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_squared_hinge_is_that_of_liblinear(C):
    Z, targets = documents()
    ours = squared_hinge(Z, one_hot(targets, 5), C=C, tol=1e-6)
    theirs = LinearSVC(C=C, tol=1e-6, dual=True, max_iter=100_000, random_state=0).fit(csr_matrix(Z), targets)
    for c in range(5):
        values = [
            hinge_objective(Z, targets == c, w[c], b[c], C)
            for w, b in ((ours.weights, ours.bias), (theirs.coef_, theirs.intercept_))
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-9)
        assert ours.objective[c] == pytest.approx(values[0], rel=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.coef_, atol=2e-6)  # measured 2e-7
    np.testing.assert_allclose(ours.bias, theirs.intercept_, atol=2e-6)


def test_at_the_default_tolerance_the_objective_is_that_of_liblinear_to_1e_4():
    Z, targets = documents(400, 300, 6)
    ours = squared_hinge(Z, one_hot(targets, 6))
    theirs = LinearSVC(random_state=0).fit(csr_matrix(Z), targets)
    for c in range(6):
        theirs_at = hinge_objective(Z, targets == c, theirs.coef_[c], theirs.intercept_[c], 1.0)
        assert ours.objective[c] == pytest.approx(theirs_at, rel=1e-4)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_softmax_is_that_of_logistic_regression_with_a_feature_that_is_one(C):
    Z, targets = documents()
    with_one = csr_matrix(hstack([Z, np.ones((Z.shape[0], 1))]))
    theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(with_one, targets)
    ours = softmax(Z, targets, 5, C=C, tol=1e-12)
    at_theirs = softmax_objective(Z, targets, theirs.coef_[:, :-1], theirs.coef_[:, -1], C)
    assert ours.objective == pytest.approx(at_theirs, rel=1e-8)
    assert ours.objective == pytest.approx(softmax_objective(Z, targets, ours.weights, ours.bias, C), rel=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.coef_[:, :-1], atol=3e-5)  # measured 5e-7, 3e-6 at 30
    # the gradient of the problem at ours, which no other solver has a part in
    p = np.exp(Z @ ours.weights.T + ours.bias)
    residual = p / p.sum(axis=1, keepdims=True) - one_hot(targets, 5).toarray()
    np.testing.assert_allclose(residual.T @ Z + ours.weights / C, 0, atol=1e-4)


def test_scale_and_weights_of_the_squared_hinge_by_brute_force():
    Z, targets = documents(12, 6, 3, density=0.5, seed=3)
    rng = np.random.default_rng(1)
    scale, weight, C = rng.uniform(0.5, 2, size=(3, 6)), rng.uniform(0, 3, size=12), 0.7
    ours = squared_hinge(Z, one_hot(targets, 3), C=C, scale=scale, weight=weight, tol=1e-10)
    for c in range(3):

        def value(x, c=c):
            return hinge_objective(Z, targets == c, x[:-1], x[-1], C, scale[c], weight)

        best = minimize(value, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
        assert ours.objective[c] == pytest.approx(best.fun, rel=1e-9)
        np.testing.assert_allclose([*ours.weights[c], ours.bias[c]], best.x, atol=1e-5)


def test_a_prior_and_weights_of_the_softmax_by_brute_force():
    Z, targets = documents(12, 6, 3, density=0.5, seed=4)
    rng = np.random.default_rng(2)
    prior, prior_bias, weight, C = rng.normal(size=(3, 6)), rng.normal(size=3), rng.uniform(0, 3, size=12), 0.7

    def value(x):
        return softmax_objective(Z, targets, x[3:].reshape(3, 6), x[:3], C, prior, prior_bias, weight)

    best = minimize(value, np.zeros(21), method="BFGS", options={"gtol": 1e-9})
    ours = softmax(Z, targets, 3, C=C, prior=prior, prior_bias=prior_bias, weight=weight, tol=1e-13)
    assert ours.objective == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose([*ours.bias, *ours.weights.ravel()], best.x, atol=1e-5)


def test_a_scale_is_as_documents_that_were_scaled():
    Z, targets = documents()
    scale = np.random.default_rng(0).normal(size=(1, 80))
    found = squared_hinge(Z, one_hot(targets, 5)[:, [2]], scale=scale, tol=1e-9)
    scaled = squared_hinge(csr_array(Z * scale), one_hot(targets, 5)[:, [2]], tol=1e-9)
    np.testing.assert_allclose(found.weights, scale * scaled.weights, atol=1e-8)
    np.testing.assert_allclose(found.objective, scaled.objective, rtol=1e-12)


# laws


@native  # the reference takes minutes
@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 12), st.integers(0, 8), st.integers(1, 9), st.floats(0, 1), st.floats(-3, 0), st.integers(0, 2**32)
)
def test_the_gap_closes_on_whatever_documents(n_docs, n_terms, n_classes, density, log_c, seed):
    rng = np.random.default_rng(seed)
    Z = csr_array(rng.normal(size=(n_docs, n_terms)) * (rng.random((n_docs, n_terms)) < density))
    Y = csr_array(rng.random((n_docs, n_classes)) < rng.random(n_classes))
    targets, weight, C = rng.integers(n_classes, size=n_docs), rng.integers(0, 3, size=n_docs), 10.0**log_c
    found = squared_hinge(Z, Y, C=C, weight=weight, tol=1e-8, max_iter=20_000)
    assert found.converged.all()
    assert (np.abs(found.gap) <= 1e-6 * (1 + found.objective)).all()
    other = softmax(Z, targets, n_classes, C=C, weight=weight, tol=1e-8, max_iter=20_000)
    assert other.converged
    assert -1e-12 * (1 + other.objective) <= other.gap <= 1e-8 * other.objective
    value = softmax_objective(Z, targets, other.weights, other.bias, C, weight=weight)
    assert other.objective == pytest.approx(value, rel=1e-9, abs=1e-12)


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_does_not_change_a_bit(dtype):
    Z, targets = documents(300, 200, 19)
    found = [squared_hinge(Z.astype(dtype), one_hot(targets, 19), n_jobs=n) for n in (1, 2, 4, -1)]
    for name in ("weights", "bias", "n_iter", "objective", "gap"):
        assert len({getattr(one, name).tobytes() for one in found}) == 1, name


def test_the_seed_decides_the_steps_but_not_where_they_lead():
    Z, targets = documents()
    Y = one_hot(targets, 5)
    same = [squared_hinge(Z, Y, random_state=7).weights.tobytes() for _ in range(2)]
    assert same[0] == same[1]
    other = squared_hinge(Z, Y, random_state=8, tol=1e-9)
    assert other.weights.tobytes() != same[0]
    np.testing.assert_allclose(other.weights, squared_hinge(Z, Y, random_state=7, tol=1e-9).weights, atol=1e-8)
    first, second = (softmax(Z, targets, 5, random_state=seed, tol=1e-13) for seed in (0, 1))
    assert first.weights.tobytes() == softmax(Z, targets, 5, random_state=0, tol=1e-13).weights.tobytes()
    np.testing.assert_allclose(first.weights, second.weights, atol=1e-6)


def test_float32_costs_what_rounding_the_documents_costs():
    """Measured: weights 3e-8 apart, objective 8e-9 relative; sums are in float64."""
    Z, targets = documents(400, 300, 6)
    Y, small = one_hot(targets, 6), Z.astype(np.float32)
    one, two = (squared_hinge(X, Y, tol=1e-9) for X in (Z, small))
    np.testing.assert_allclose(one.weights, two.weights, atol=3e-7)
    np.testing.assert_allclose(one.objective, two.objective, rtol=1e-7)
    one, two = (softmax(X, targets, 6, tol=1e-13) for X in (Z, small))
    np.testing.assert_allclose(one.weights, two.weights, atol=3e-7)
    assert one.objective == pytest.approx(two.objective, rel=1e-7)
    exact = squared_hinge(small.astype(np.float64), Y, tol=1e-9)
    np.testing.assert_array_equal(exact.weights, squared_hinge(small, Y, tol=1e-9).weights)


@native
@pytest.mark.parametrize("n_classes", [2, 7, 9])
def test_single_precision_stays_within_the_tolerance(n_classes):
    """Measured: the softmax takes the same passes and is 3e-6 apart; the hinge orders documents by eight classes."""
    Z, targets = documents(400, 300, n_classes)
    Y, small, scale = (
        one_hot(targets, n_classes),
        Z.astype(np.float32),
        np.random.default_rng(0).normal(size=(n_classes, 300)),
    )
    exact = squared_hinge(Z, Y, scale=scale, tol=1e-9)
    found = squared_hinge(small, Y, scale=scale, tol=1e-3, single=True)
    assert found.converged.all()
    np.testing.assert_allclose(found.weights, exact.weights, atol=2e-3 * np.abs(exact.weights).max())
    one, two = (softmax(small, targets, n_classes, prior=scale, tol=1e-3, single=single) for single in (False, True))
    assert one.n_iter == two.n_iter
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-4)
    shared = SolverDocuments.of(small)
    again = squared_hinge(shared, Y, scale=scale, tol=1e-3, single=True, n_jobs=2)
    assert again.weights.tobytes() == found.weights.tobytes()
    strict = squared_hinge(shared, Y, tol=1e-6, single=True)  # too strict for float32: all in float64
    assert strict.weights.tobytes() == squared_hinge(small, Y, tol=1e-6).weights.tobytes()


@native
@pytest.mark.parametrize("n_classes", [2, 5, 13, 40, 77, 120])
def test_registers_of_all_widths_give_the_same_bits(n_classes):
    """A processor without AVX2 or AVX-512 runs one copy for all of them."""
    Z, targets = documents(6 * n_classes, 200, n_classes)
    scale = np.random.default_rng(1).normal(size=(n_classes, 200))

    def solutions():
        for single in (False, True):
            small = Z.astype(np.float32)
            yield squared_hinge(small, one_hot(targets, n_classes), scale=scale, tol=1e-3, single=single)
            yield softmax(small, targets, n_classes, prior=scale, tol=1e-3, single=single)

    found = []
    for bits in (128, 256, 512):
        dual.NATIVE.limit_registers(bits)
        found.append([(one.weights.tobytes(), one.bias.tobytes()) for one in solutions()])
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@native
@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_registers_of_all_widths_agree_on_every_remainder(kind):
    """1 to 33 classes, documents of 1 to 33 entries, and values that are subnormal, 0 or large."""
    rng = np.random.default_rng(2)
    sizes = np.tile(np.arange(1, 34), 2)
    columns = np.concatenate([rng.choice(40, size, replace=False) for size in sizes])
    tiny = np.finfo(kind).smallest_subnormal
    values = rng.choice([1.0, -0.5, 0.0, tiny, 9 * tiny, 1e12], len(columns), p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    Z = csr_array((values.astype(kind), columns, np.concatenate([[0], np.cumsum(sizes)])), shape=(66, 40))

    def solutions(n_classes):
        targets, scale = np.arange(66) % n_classes, rng.normal(size=(n_classes, 40))
        for single, prior in product((False, True), (None, scale)):
            yield squared_hinge(Z, one_hot(targets, n_classes), scale=prior, max_iter=4, single=single)
            yield softmax(Z, targets, n_classes, prior=prior, max_iter=4, single=single)

    for n_classes in range(1, 34):
        found = []
        for bits in (128, 256, 512):
            dual.NATIVE.limit_registers(bits)
            rng = np.random.default_rng(n_classes)
            arrays = [array for one in solutions(n_classes) for array in (one.weights, one.bias)]
            found.append([array.tobytes() for array in arrays])
        assert found[0] == found[1] == found[2], n_classes


@native
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.slow
def test_the_reference_takes_the_same_steps(C, monkeypatch):
    """Measured: 1e-14 apart after as many passes; only the order of additions differs."""
    Z, targets = documents(n_classes=6)
    rng = np.random.default_rng(0)
    scale, weight = rng.normal(size=(6, 80)), rng.integers(0, 3, size=120)

    def solutions():
        Y = one_hot(targets, 6)
        yield squared_hinge(Z, Y, C=C)
        yield squared_hinge(Z.astype(np.float32), Y, C=C, scale=scale, weight=weight)
        yield softmax(Z, targets, 6, C=C)
        yield softmax(Z, targets, 6, C=C, prior=scale, prior_bias=scale[:, 0], weight=weight)

    fast = list(solutions())
    monkeypatch.setattr(dual, "NATIVE", None)
    for one, two in zip(fast, solutions(), strict=True):
        np.testing.assert_array_equal(one.n_iter, two.n_iter)
        for name in ("weights", "bias", "objective", "gap"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10, err_msg=name)


def test_a_weight_is_a_repetition_and_a_weight_of_zero_an_absence():
    Z, targets = documents(60, 40, 3)
    weight = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weight)
    Y = one_hot(targets, 3)
    one, two = squared_hinge(Z, Y, weight=weight, tol=1e-9), squared_hinge(Z[rows], Y[rows], tol=1e-9)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-7)
    np.testing.assert_allclose(one.objective, two.objective, rtol=1e-10)
    one, two = softmax(Z, targets, 3, weight=weight, tol=1e-13), softmax(Z[rows], targets[rows], 3, tol=1e-13)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-5)


# by hand, and at the edges


def test_a_class_of_all_documents_and_one_of_none():
    """With z = 0 for all N, only the bias is left: ½b² + C·N·(1 ∓ b)² is least at b = ±2CN/(1 + 2CN)."""
    Z = csr_array((4, 3))
    found = squared_hinge(Z, csr_array([[1, 0]] * 4), C=0.5, tol=1e-10)
    np.testing.assert_allclose(found.bias, [4 / 5, -4 / 5])
    np.testing.assert_array_equal(found.weights, 0)
    np.testing.assert_allclose(found.objective, 0.5 * 0.64 + 0.5 * 4 * 0.04)


def test_a_class_without_documents_has_weights_below_those_of_its_rivals():
    Z, targets = documents()
    found = softmax(Z, targets, 6, tol=1e-10)
    assert found.bias[5] == found.bias.min()
    assert softmax(Z, np.zeros(120, int), 1).objective == 0


def test_two_documents_that_share_no_term():
    """As test_one_document of the docstring, but the bias is shared with opposite signs: b = 0, w = ±2C/(1 + 2C)."""
    found = squared_hinge(csr_array(np.eye(2)), csr_array([[1], [0]]), C=1.0, tol=1e-10)
    np.testing.assert_allclose(found.weights, [[2 / 3, -2 / 3]])
    np.testing.assert_allclose(found.bias, 0, atol=1e-9)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
def test_nothing_to_learn_from(shape):
    Z, Y = csr_array(shape), csr_array((shape[0], 2))
    assert squared_hinge(Z, Y).weights.shape == (2, shape[1])
    assert softmax(Z, np.zeros(shape[0], int), 2).weights.shape == (2, shape[1])
    assert squared_hinge(Z, csr_array((shape[0], 0))).weights.shape == (0, shape[1])


def test_prior_alone_where_there_are_no_documents():
    prior = np.arange(6.0).reshape(2, 3)
    found = softmax(csr_array((0, 3)), np.zeros(0, int), 2, prior=prior, prior_bias=np.array([1.0, 2.0]))
    np.testing.assert_array_equal(found.weights, prior)
    np.testing.assert_array_equal(found.bias, [1, 2])
    assert found.objective == 0


def test_a_small_C_leaves_the_prior_and_a_strong_prior_that_is_wrong_is_left():
    Z, targets = documents()
    prior = 5.0 * np.random.default_rng(0).normal(size=(5, 80))
    found = softmax(Z, targets, 5, C=1e-9, prior=prior, tol=1e-12)
    np.testing.assert_allclose(found.weights, prior, atol=1e-6)
    found = softmax(Z, targets, 5, C=100, prior=prior, tol=1e-6, max_iter=20_000)
    assert found.converged
    assert ((Z @ found.weights.T + found.bias).argmax(axis=1) == targets).all()


def test_entries_that_come_twice_are_added_up():
    twice = csr_array((np.array([1.0, 2.0, 1.0, 4.0]), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    once = csr_array([[3.0, 0, 0], [0, 5.0, 0]])
    Y = csr_array([[1, 0], [0, 1]])
    np.testing.assert_array_equal(squared_hinge(twice, Y).weights, squared_hinge(once, Y).weights)
    shared = csr_array((np.ones(6), np.array([0, 0, 1, 0, 1, 1]), np.array([0, 3, 6])), shape=(2, 2))
    np.testing.assert_array_equal(
        softmax(shared, np.array([0, 1]), 2).weights,
        softmax(csr_array([[2.0, 1], [1, 2]]), np.array([0, 1]), 2).weights,
    )


def test_duplicate_rows_and_contradictions():
    Z = csr_array(np.ones((4, 2)))
    found = softmax(Z, np.array([0, 1, 0, 1]), 2, tol=1e-12)
    np.testing.assert_allclose(found.weights, 0, atol=1e-6)
    assert found.objective == pytest.approx(4 * np.log(2))
    np.testing.assert_allclose(squared_hinge(Z, csr_array([[1], [0], [1], [0]]), tol=1e-10).weights, 0, atol=1e-9)


# when it takes long


def test_too_few_passes_are_said():
    Z, targets = documents()
    with pytest.warns(UnnaiveWarning, match=r"5 of 5 classes did not converge in 1 passes"):
        assert not squared_hinge(Z, one_hot(targets, 5), max_iter=1).converged.any()
    with pytest.warns(UnnaiveWarning, match=r"the softmax did not converge in 1 passes"):
        assert not softmax(Z, targets, 5, max_iter=1, tol=1e-9).converged


def test_progress_is_reported_on_the_thread_that_called():
    Z, targets = documents()
    heard = []
    squared_hinge(Z, one_hot(targets, 5), progress=lambda *told: heard.append((threading.get_ident(), *told)))
    softmax(Z, targets, 5, progress=lambda *told: heard.append((threading.get_ident(), *told)))
    assert {thread for thread, *_ in heard} == {threading.get_ident()}
    assert all(passes >= 1 and violation >= 0 and 0 <= solved <= 5 for _, passes, violation, solved in heard)


def endless(kind, progress=None):
    Z, targets = documents(400, 300, 8)
    if kind == "hinge":
        return squared_hinge(Z, one_hot(targets, 8), C=1e6, tol=0, max_iter=2**31 - 1, n_jobs=2, progress=progress)
    return softmax(Z, targets, 8, C=1e6, tol=0, max_iter=2**31 - 1, progress=progress)


@pytest.mark.parametrize("kind", ["hinge", "softmax"])
def test_an_error_in_progress_ends_the_run(kind):
    def complain(passes, violation, solved):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        endless(kind, complain)


ENDLESS = """
import signal
import numpy as np
from scipy.sparse import csr_array, random_array
from unnaive.models.svm.solver import SolverDocuments, softmax, squared_hinge
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
targets = np.arange(400) % 8
Z = csr_array(random_array((400, 300), density=0.1, rng=np.random.default_rng(0), format="csr"))
Y = csr_array(np.eye(8)[targets])
limits = {"C": 1e6, "tol": 0, "max_iter": 2**31 - 1}
print("ready", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("run", ["squared_hinge(Z, Y, n_jobs=2, **limits)", "softmax(Z, targets, 8, **limits)"])
def test_ctrl_c_ends_the_run(run):
    # in a process of its own: Python drops an interrupt that comes while a callback of its garbage collector runs, and
    # Hypothesis has such a callback
    program = subprocess.Popen([sys.executable, "-c", ENDLESS + run], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert program.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        program.send_signal(signal.SIGINT)
        _, problems = program.communicate(timeout=300)
    finally:
        program.kill()
    assert problems.rstrip().endswith(b"KeyboardInterrupt")


# what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0}, "C is 0"),
        ({"C": np.inf}, "C is inf"),
        ({"C": np.nan}, "C is nan"),
        ({"tol": -1}, "tol is -1"),
        ({"tol": np.nan}, "tol is nan"),
        ({"max_iter": -1}, "max_iter is -1"),
        ({"max_iter": 1.5}, "max_iter is 1.5"),
        ({"random_state": -1}, "random_state is -1"),
        ({"weight": [1.0]}, "weight has shape"),
        ({"weight": [1.0, np.nan, 1.0]}, "finite numbers of at least 0"),
        ({"weight": [1.0, -1.0, 1.0]}, "finite numbers of at least 0"),
    ],
)
def test_what_both_refuse(change, message):
    Z = csr_array(np.eye(3))
    with pytest.raises(UnnaiveError, match=message):
        squared_hinge(Z, csr_array([[1, 0]] * 3), **change)
    with pytest.raises(UnnaiveError, match=message):
        softmax(Z, np.array([0, 1, 0]), 2, **change)


def test_what_each_refuses():
    Z, Y = csr_array(np.eye(3)), csr_array([[1, 0]] * 3)
    for n_jobs in (0, -2, 1.5, True, 10**6):
        with pytest.raises(UnnaiveError, match="n_jobs is"):
            squared_hinge(Z, Y, n_jobs=n_jobs)
    with pytest.raises(UnnaiveError, match=r"scale has shape \(2, 2\)"):
        squared_hinge(Z, Y, scale=np.ones((2, 2)))
    with pytest.raises(UnnaiveError, match="a row for each document"):
        squared_hinge(Z, csr_array([[1, 0]]))
    for targets in ([0, 1], [0, 1, 2], [0, 1, -1], [0.0, 1.0, 1.0]):
        with pytest.raises(UnnaiveError, match="targets"):
            softmax(Z, np.array(targets), 2)
    for n_classes in (0, 1.5, True):
        with pytest.raises(UnnaiveError, match="n_classes is"):
            softmax(Z, np.zeros(3, int), n_classes)
    with pytest.raises(UnnaiveError, match="prior_bias has shape"):
        softmax(Z, np.array([0, 1, 0]), 2, prior_bias=np.ones(3))
    for bad in (np.eye(3), csr_array(np.full((3, 3), np.nan)), "documents"):
        with pytest.raises(UnnaiveError, match="documents"):
            squared_hinge(bad, Y)


@native
@pytest.mark.parametrize("value", [1e200, 1e154])
def test_documents_too_long_for_arithmetic_are_refused(value):
    with pytest.raises(ValueError, match="overflows"):
        squared_hinge(csr_array([[value, value]]), csr_array([[1]]))
    with pytest.raises(ValueError, match="overflows"):
        softmax(csr_array([[value, value]]), np.array([0]), 2)


def hinge_arguments():
    return {
        "starts": np.array([0, 1, 3]),
        "terms": np.array([0, 0, 1], np.int32),
        "values": np.ones(3),
        "n_terms": 2,
        "label_starts": np.array([0, 1, 1]),
        "labels": np.array([0], np.int32),
        "n_classes": 1,
        "penalty": np.ones(2),
        "scale": None,
        "tol": 1e-4,
        "max_iter": 100,
        "seed": 0,
        "n_threads": 1,
        "progress": None,
        "single": False,
    }


def softmax_arguments():
    common = {name: value for name, value in hinge_arguments().items() if name not in ("scale", "n_threads")}
    names = ["starts", "terms", "values", "n_terms", "targets", "n_classes", "penalty", "prior", "prior_bias"]
    common |= {"targets": np.array([0, 1], np.int32), "n_classes": 2, "prior": None, "prior_bias": np.zeros(2)}
    last = ["tol", "max_iter", "seed", "progress", "single"]
    return {name: common[name] for name in [*names, *last]}


def call_native(function, arguments):
    starts, terms, values, n_terms, *others = arguments.values()
    return function(dual.NATIVE.compact_rows(starts, terms, values, n_terms), *others)


HOSTILE = {
    "starts": [np.array([0, 3, 1]), np.array([1, 1, 3]), np.array([0, 1, 4]), np.array([0, -5, 3]), np.zeros(0, int)],
    "terms": [np.array([0, 0, 2], np.int32), np.array([0, -1, 1], np.int32), np.zeros(2, np.int32), np.zeros(3)],
    "values": [np.array([1, np.nan, 1]), np.array([1, np.inf, 1]), np.ones(2), np.ones(3, int), np.ones((3, 1)), None],
    "n_terms": [-1, 1, 2**40, "2"],
    "label_starts": [np.array([0, 1]), np.array([0, 1, 2]), np.array([0, 2, 1])],
    "labels": [np.array([1], np.int32), np.array([-1], np.int32), np.zeros(0, np.int32)],
    "n_classes": [-1, 2**40],
    "penalty": [np.ones(1), np.array([1, np.nan]), np.array([1, -1.0]), np.array([1e-200, 1]), np.array([1e200, 1])],
    "scale": [np.ones((2, 2)), np.full((1, 2), np.nan), np.ones(2)],
    "tol": [np.nan, -1.0, np.inf],
    "max_iter": [-1, 2**40],
    "seed": [-1],
    "n_threads": [0, -1, 10**6],
    "progress": [3],
    "targets": [np.array([0, 2], np.int32), np.array([-1, 0], np.int32), np.zeros(3, np.int32)],
    "prior": [np.ones((2, 3)), np.full((2, 2), np.nan)],
    "prior_bias": [np.ones(1), np.array([0, np.nan])],
}


@native
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_calls_of_the_native_module_are_errors(name):
    for function, arguments in ((dual.NATIVE.hinge, hinge_arguments()), (dual.NATIVE.softmax, softmax_arguments())):
        call_native(function, arguments)
        with pytest.raises(TypeError):
            function(None, *list(arguments.values())[4:])
        for value in HOSTILE[name] if name in arguments else []:
            with pytest.raises((ValueError, TypeError)):
                call_native(function, arguments | {name: value})
