"""Measures against scikit-learn, against brute force, and by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn import metrics

from unnaive.base.errors import BadData, UnknownName
from unnaive.evaluation import calibration_measures, ranking
from unnaive.evaluation.measures import MEASURES, Measure, MeasureInput, find_measure, measure
from unnaive.evaluation.tally import Tally, confusion
from unnaive.learning.decisions import Argmax, TopK

SEEDS = range(6)


def problem(seed, *, n=60, n_classes=5, single=False, tied=False):
    """Labels, scores that know something of them, and decisions; with `tied`, many equal scores."""
    rng = np.random.default_rng(seed)
    if single:
        Y = np.eye(n_classes, dtype=int)[rng.integers(n_classes, size=n)]
    else:
        Y = (rng.random((n, n_classes)) < 0.3).astype(int)
    scores = rng.normal(size=Y.shape) + Y
    return Y, np.round(scores) if tied else scores


# tally


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("single", [True, False])
def test_averages_equal_scikit_learn(seed, single):
    Y, scores = problem(seed, single=single)
    predicted = Argmax().decide(scores) if single else csr_array((scores > 0.5).astype(int))
    peers = {"precision": metrics.precision_score, "recall": metrics.recall_score, "f1": metrics.f1_score}
    for average, (what, peer) in itertools.product(("micro", "macro", "weighted"), peers.items()):
        expected = peer(Y, predicted.toarray(), average=average, zero_division=0)
        ours = measure([f"{average}-{what}"], csr_array(Y), predictions=predicted)[f"{average}-{what}"]
        assert ours == pytest.approx(expected, abs=1e-14)
    tally = Tally.of(Y, predicted)
    np.testing.assert_allclose(tally.f1, metrics.f1_score(Y, predicted.toarray(), average=None, zero_division=0))
    assert tally.accuracy == pytest.approx(metrics.accuracy_score(Y, predicted.toarray()))


@given(st.integers(0, 10_000), st.integers(0, 30))
@settings(deadline=None, max_examples=30)
def test_tallies_add_up_over_shards(seed, cut):
    Y, scores = problem(seed, n=30)
    predicted = scores > 0.5
    whole = Tally.of(Y, predicted)
    assert Tally.of(Y[:cut], predicted[:cut]) + Tally.of(Y[cut:], predicted[cut:]) == whole
    assert whole + Tally.zero(5) == whole


def test_macro_averages_leave_out_classes_without_documents_and_predictions():
    """Two of ten classes are present and all is right: 1, as in scikit-learn, not 2/10."""
    Y = np.zeros((4, 10), int)
    Y[[0, 1, 2, 3], [3, 3, 7, 7]] = 1
    assert measure(["macro-f1", "macro-recall"], Y, predictions=Y) == {"macro-f1": 1.0, "macro-recall": 1.0}
    truth = Y.argmax(axis=1)
    wrong = np.eye(10, dtype=int)[[3, 5, 7, 7]]  # class 5 is predicted: it counts, with F1 0
    expected = metrics.f1_score(truth, wrong.argmax(axis=1), average="macro", zero_division=0)
    assert measure(["macro-f1"], Y, predictions=wrong)["macro-f1"] == pytest.approx(expected, abs=1e-15)
    assert expected == pytest.approx((2 / 3 + 0 + 1) / 3)


def test_a_class_that_the_model_does_not_know_has_no_area_under_the_curve():
    """Its scores are −∞: .5 would be a ranking by chance, which nobody made."""
    Y = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    scores = [[2.0, 1.0, -np.inf], [0.0, 3.0, -np.inf], [1.0, 0.0, -np.inf]]
    assert np.isnan(ranking.auc(Y, scores)[2])
    assert measure(["auc"], Y, scores=scores)["auc"] == 1.0  # of the two others


def test_tally_by_hand():
    tally = Tally.of([[1, 0, 0], [1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert tally.counts.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert (tally.n, tally.exact) == (3, 1)
    assert tally.precision.tolist() == [1.0, 0.5, 0.0]
    assert tally.recall.tolist() == [0.5, 1.0, 0.0]
    assert tally.micro("f1") == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert tally.macro("f1") == pytest.approx((2 / 3 + 2 / 3) / 2)  # the third class has no document or prediction
    assert tally.support.tolist() == [2, 1, 0]


def test_textbook_averages():
    """IIR table 13.8: two classes, tp 10 fp 10 fn 10 and tp 90 fp 10 fn 10."""
    tally = Tally(np.array([10, 90]), np.array([10, 10]), np.array([10, 10]), 2000, 0)
    assert tally.macro("precision") == pytest.approx(0.7)
    assert tally.micro("precision") == pytest.approx(0.83, abs=0.005)


def test_macro_f1_is_the_mean_of_f1s():
    tally = Tally(np.array([1, 1]), np.array([3, 0]), np.array([0, 3]), 8, 0)
    assert tally.macro("f1") == pytest.approx((0.4 + 0.4) / 2)
    means = tally.macro("precision"), tally.macro("recall")
    assert 2 * means[0] * means[1] / sum(means) == pytest.approx(0.625)  # what it must not be


def test_confusion_equals_scikit_learn():
    Y, scores = problem(3, single=True)
    predicted = Argmax().decide(scores)
    expected = metrics.confusion_matrix(Y.argmax(axis=1), predicted.indices, labels=range(5))
    np.testing.assert_array_equal(confusion(Y, predicted).toarray(), expected)


def test_tallies_of_other_classes_do_not_add():
    with pytest.raises(BadData, match="2 and 3 classes"):
        Tally.zero(2) + Tally.zero(3)


def test_inputs_are_left_alone():
    Y = csr_array((np.array([3, 0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert Tally.of(Y, [[1, 0]]).micro("f1") == 1.0
    assert Y.data.tolist() == [3, 0]


# breakeven


def expected_r_precision(scores, truth):
    """Mean over all orders that break ties: brute force."""
    wanted = int(truth.sum())
    found = [
        truth[list(order)][:wanted].mean()
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return np.mean(found)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_breakeven_is_the_expectation_over_random_tie_breaks(pairs):
    scores, truth = np.array([float(s) for s, _ in pairs]), np.array([t for _, t in pairs])
    ours = ranking.r_precision(scores, scores[truth])
    if not truth.any():
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(expected_r_precision(scores, truth))


@pytest.mark.parametrize("seed", SEEDS)
def test_breakeven_is_where_a_threshold_sweep_has_precision_equal_to_recall(seed):
    Y, scores = problem(seed)
    for c in range(5):
        truth = Y[:, c] == 1
        sweep = [(truth[chosen].mean(), truth[chosen].sum() / truth.sum())
                 for cut in scores[:, c] for chosen in [scores[:, c] >= cut]]  # fmt: skip
        [point] = {round(p, 12) for p, r in sweep if p == pytest.approx(r, abs=1e-12) and p > 0} or {0.0}
        assert ranking.breakeven(Y, scores)[c] == pytest.approx(point)
    flat = [(Y[chosen].mean(), Y[chosen].sum() / Y.sum()) for cut in scores.ravel() for chosen in [scores >= cut]]
    # before the first hit both are 0, which is no breakeven point
    [point] = {round(p, 12) for p, r in flat if p == pytest.approx(r, abs=1e-12) and p > 0}
    assert ranking.breakeven_micro(Y, scores) == pytest.approx(point)


def test_breakeven_averages_by_hand():
    Y = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    scores = np.array([[9.0, 1, 0], [1, 2, 0], [8, 7, 0], [0, 0, 0]])
    np.testing.assert_allclose(ranking.breakeven(Y, scores), [0.5, 1.0, np.nan])
    given = {"scores": scores}
    assert measure(["breakeven-macro"], Y, **given)["breakeven-macro"] == pytest.approx(0.75)
    assert measure(["breakeven-weighted"], Y, **given)["breakeven-weighted"] == pytest.approx((2 * 0.5 + 1) / 3)
    assert measure(["breakeven-micro"], Y, **given)["breakeven-micro"] == pytest.approx(2 / 3)  # 9, 8, 7


def test_per_document_normalisation_undoes_document_length():
    Y, scores = problem(1)
    positive = np.exp(scores)
    longer = positive * np.random.default_rng(0).integers(1, 50, size=(len(Y), 1))
    names = [f"breakeven-{average}-per-document" for average in ("micro", "macro", "weighted")]
    assert measure(names, Y, scores=longer) == pytest.approx(measure(names, Y, scores=positive))


def test_per_document_normalisation_makes_lengths_comparable():
    Y = np.eye(4, dtype=int)[[0, 1, 2, 3]]
    scores = (Y + 0.5) * np.array([[1], [2], [10], [20]])  # right within each document, not between them
    assert ranking.breakeven_micro(Y, scores) == 0.5  # 30, 15, then 10 three times for two places, none right
    assert ranking.breakeven_micro(Y, scores, normalise="per-document") == 1.0


@pytest.mark.parametrize("normalise", ["none", "per-document"])
def test_averages_of_breakeven_are_means_over_classes_or_pooled(normalise):
    Y, scores = problem(4, tied=True)
    points, sizes = ranking.breakeven(Y, scores, normalise=normalise), np.asarray(Y).sum(axis=0)
    ending = "-per-document" if normalise != "none" else ""
    averages = measure([f"breakeven-{kind}{ending}" for kind in ("macro", "weighted", "micro")], Y, scores=scores)
    assert averages[f"breakeven-macro{ending}"] == pytest.approx(np.nanmean(points), rel=1e-12)
    assert averages[f"breakeven-weighted{ending}"] == pytest.approx(
        np.average(points[sizes > 0], weights=sizes[sizes > 0]), rel=1e-12
    )
    assert averages[f"breakeven-micro{ending}"] == ranking.breakeven_micro(Y, scores, normalise=normalise)


# rankings within documents


def eleven_point_by_definition(truth, scores):
    """Precision and recall down the ranking, interpolated at eleven recalls."""
    order = sorted(range(len(scores)), key=lambda c: (-scores[c], c))
    hits = np.cumsum(truth[order])
    precision, recall = hits / np.arange(1, len(order) + 1), hits / truth.sum()
    return np.mean([max(precision[recall >= level / 10 - 1e-9]) for level in range(11)])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tied", [False, True])
def test_eleven_point_equals_its_definition(seed, tied):
    Y, scores = problem(seed, n_classes=13, tied=tied)
    expected = [eleven_point_by_definition(y, s) for y, s in zip(Y, scores, strict=True) if y.any()]
    np.testing.assert_allclose(ranking.eleven_point(Y, ranking.class_order(scores)), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_eleven_point_is_reciprocal_rank_on_single_labels(seed):
    Y, scores = problem(seed, single=True, tied=seed % 2 == 0)
    values = measure(["11-point", "reciprocal-rank"], Y, scores=scores)
    assert values["11-point"] == pytest.approx(values["reciprocal-rank"], abs=1e-14)
    if seed % 2:
        expected = metrics.label_ranking_average_precision_score(Y, scores)
        assert values["11-point"] == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_f1_at_k_equals_the_decision_top_k(k):
    Y, scores = problem(2, tied=True)
    decided = TopK(k).decide(scores)
    assert (ranking.top_classes(ranking.class_order(scores), k, scores.shape[1]) != decided).nnz == 0
    for average in ("micro", "macro"):
        expected = metrics.f1_score(Y, decided.toarray(), average=average, zero_division=0)
        assert measure([f"{average}-f1@{k}"], Y, scores=scores)[f"{average}-f1@{k}"] == pytest.approx(expected)


def test_ties_go_to_the_lowest_class():
    scores = np.array([[0.5, 0.5, 0.1], [0.2, 0.7, 0.7]])
    assert ranking.class_order(scores).tolist() == [[0, 1, 2], [1, 2, 0]]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tied", [False, True])
def test_auc_equals_scikit_learn(seed, tied):
    Y, scores = problem(seed, tied=tied)
    np.testing.assert_allclose(ranking.auc(Y, scores), metrics.roc_auc_score(Y, scores, average=None), rtol=1e-12)
    assert measure(["auc"], Y, scores=scores)["auc"] == pytest.approx(metrics.roc_auc_score(Y, scores))


def test_classes_on_one_side_only_have_no_auc():
    values = ranking.auc([[1, 0, 1], [1, 0, 0]], [[1, 2, 3], [3, 2, 1]])
    np.testing.assert_array_equal(values, [np.nan, np.nan, 1.0])
    assert measure(["auc"], [[1, 0, 1], [1, 0, 0]], scores=[[1, 2, 3], [3, 2, 1]])["auc"] == 1.0


@pytest.mark.parametrize("tied", [False, True])
def test_precision_recall_curve_equals_scikit_learn(tied):
    Y, scores = problem(5, tied=tied)
    precision, recall, cuts = ranking.precision_recall(scores[:, 0], scores[Y[:, 0] == 1, 0])
    theirs = metrics.precision_recall_curve(Y[:, 0], scores[:, 0])
    np.testing.assert_allclose(precision, theirs[0][-2::-1])
    np.testing.assert_allclose(recall, theirs[1][-2::-1])
    np.testing.assert_array_equal(cuts, theirs[2][::-1])


# probabilities


@pytest.mark.parametrize("seed", SEEDS)
def test_log_loss_and_brier_equal_scikit_learn(seed):
    Y, scores = problem(seed, single=True)
    labels, p = Y.argmax(axis=1), softmax(2 * scores, axis=1)
    values = measure(["log-loss", "brier"], Y, probabilities=p)
    assert values["log-loss"] == pytest.approx(metrics.log_loss(labels, p, labels=range(5)), rel=1e-12)
    assert values["brier"] == pytest.approx(((p - Y) ** 2).sum(axis=1).mean(), rel=1e-12)


def test_multi_label_log_loss_is_the_sum_of_the_classes():
    Y, scores = problem(2)
    p = 1 / (1 + np.exp(-scores))
    expected = sum(metrics.log_loss(Y[:, c], p[:, c], labels=[0, 1]) for c in range(5))
    assert calibration_measures.log_loss(Y, p) == pytest.approx(expected, rel=1e-12)


def test_a_certain_mistake_has_a_finite_log_loss():
    assert calibration_measures.log_loss([[1, 0]], [[0.0, 1.0]]) == pytest.approx(-np.log(np.finfo(float).eps))


def ece_by_definition(confidence, true, bins):
    """Sum over bins of share × gap, one bin at a time."""
    total = 0.0
    for b in range(bins):
        inside = (confidence > b / bins) & (confidence <= (b + 1) / bins)
        if inside.any():
            total += inside.mean() * abs(true[inside].mean() - confidence[inside].mean())
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_calibration_error_equals_its_definition(seed):
    Y, scores = problem(seed, single=True)
    p = softmax(scores, axis=1)
    right = p.argmax(axis=1) == Y.argmax(axis=1)
    assert calibration_measures.calibration_error(Y, p) == pytest.approx(ece_by_definition(p.max(axis=1), right, 15))
    Y, scores = problem(seed)
    p = 1 / (1 + np.exp(-scores))
    assert calibration_measures.calibration_error(Y, p) == pytest.approx(ece_by_definition(p.ravel(), Y.ravel(), 15))


def test_calibrated_probabilities_have_little_calibration_error():
    rng = np.random.default_rng(0)
    p = softmax(rng.normal(size=(20_000, 4)) * 2, axis=1)
    labels = (rng.random((len(p), 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=3)
    Y = np.eye(4)[labels]
    assert calibration_measures.calibration_error(Y, p) < 0.015  # five seeds gave 0.005 to 0.010
    sharper = softmax(np.log(p) * 3, axis=1)
    assert calibration_measures.calibration_error(Y, sharper) > 0.1
    assert calibration_measures.log_loss(Y, p) < calibration_measures.log_loss(Y, sharper)


def test_values_that_are_no_probabilities_are_refused():
    for bad in ([[1.5, -0.5]], [[np.nan, 0.5]]):
        with pytest.raises(BadData, match="outside 0 to 1"):
            calibration_measures.log_loss([[1, 0]], bad)


# by name


def test_every_measure_prints_as_its_name_and_has_a_value_in_range():
    Y, scores = problem(0, single=True)
    given = {"scores": scores, "predictions": Argmax().decide(scores), "probabilities": softmax(scores, axis=1)}
    given["propensities"] = np.full(scores.shape[1], 0.5)
    values = measure(list(MEASURES), csr_array(Y), **given)
    assert list(values) == list(MEASURES) == [str(one) for one in MEASURES.values()]
    for name, value in values.items():
        least = -1 if name == "ece-excess" else 0  # by chance, an error may be below what chance shows on average
        assert least <= value <= (1 if name not in ("log-loss", "brier") else 5), name
    smaller = {"log-loss", "brier", "ece", "ece-excess", "aurc"}
    assert {name for name, one in MEASURES.items() if not one.larger_is_better} == smaller


def test_perfect_scores_reach_the_best_value_of_every_measure():
    Y = np.eye(6, dtype=int)[[0, 1, 2, 3, 4, 5, 0]]
    given = {"scores": Y * 1.0, "predictions": Y, "probabilities": Y * 1.0, "propensities": np.full(6, 0.5)}
    for name, value in measure([n for n in MEASURES if not n.endswith(("@3", "@5"))], Y, **given).items():
        assert value == pytest.approx(1.0 if MEASURES[name].larger_is_better else 0.0, abs=1e-12), name


def test_names_with_any_k():
    Y, scores = problem(0)
    values = measure(["f1@2", "micro-f1@2", "weighted-f1@4"], Y, scores=scores)
    assert values["f1@2"] == values["micro-f1@2"]
    assert find_measure("macro-f1@3") is MEASURES["macro-f1@3"]
    for name in ("f1@0", "f1@", "median-f1@2"):
        with pytest.raises(UnknownName, match="no measure called"):
            find_measure(name)


def test_a_measure_can_be_handed_in_itself():
    recall = Measure("any", "predictions", lambda evidence: evidence.tally.tp.sum(), "hits")
    assert measure([recall], [[1]], predictions=[[1]]) == {"any": 1.0}


def test_what_is_missing_is_named():
    with pytest.raises(BadData, match="'log-loss' needs probabilities"):
        measure(["log-loss"], [[1]], scores=[[1]])


def test_shapes_must_agree_and_scores_must_rank():
    with pytest.raises(BadData, match=r"1 documents × 2 classes came with values of shape \(1, 3\)"):
        measure(["auc"], [[1, 0]], scores=[[1, 2, 3]])
    with pytest.raises(BadData, match="document 1 contain NaN"):
        measure(["11-point"], [[1, 0], [0, 1]], scores=[[1, 2], [np.nan, 1]])
    with pytest.raises(UnknownName, match="no normalisation called 'rows'"):
        ranking.breakeven([[1]], [[1.0]], normalise="rows")


def test_documents_without_labels_count_in_decisions_and_not_in_rankings():
    Y, scores = np.array([[1, 0], [0, 0]]), np.array([[2.0, 1.0], [2.0, 1.0]])
    assert measure(["11-point", "f1@1"], Y, scores=scores) == {"11-point": 1.0, "f1@1": pytest.approx(2 / 3)}


def test_shared_work_is_done_once(monkeypatch):
    calls = []
    original = ranking.class_order
    monkeypatch.setattr(ranking, "class_order", lambda scores: calls.append(1) or original(scores))
    Y, scores = problem(0)
    measure(["f1@1", "f1@3", "macro-f1@3", "11-point"], Y, scores=scores)
    assert len(calls) == 1
    evidence = MeasureInput(csr_array(Y), scores)
    assert evidence.breakeven("none") is evidence.breakeven("none")
