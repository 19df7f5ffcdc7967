"""The OR gate against exact rational arithmetic, and at the edges of what counts can be."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import BadData, BadModel, UnknownName, UnnaiveError
from unnaive.data.counts import Counts
from unnaive.learning.decisions import Argmax
from unnaive.linear.links import probabilities
from unnaive.models.blend import Blend, OrBlend
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.models.or_gate import (
    ALMOST_ONE,
    TOTALS,
    WEIGHTS,
    NoisyOr,
    OrGate,
    estimate_gates,
    gate_network,
    informative_arcs,
    strongest_arcs,
    term_effects,
)


def random_data(seed, n_docs=7, n_terms=5, n_classes=3):
    rng = np.random.default_rng(seed)
    return csr_array(rng.integers(0, 3, (n_docs, n_terms))), csr_array(rng.integers(0, 2, (n_docs, n_classes)))


def exact_weights(X, Y, weights, totals):
    """Eq. 11, 12, 15, 17 in fractions, products over the other parents written out; None off the arcs."""
    N = (Y.T @ X).toarray().tolist()
    over = X.toarray().sum(axis=0).tolist() if totals == "corpus" else [sum(column) for column in zip(*N, strict=True)]
    return [[exact_weight(row, k, over, weights) if row[k] else None for k in range(len(row))] for row in N]


def exact_weight(row, k, over, weights):
    if weights == "laplace":
        return Fraction(row[k] + 1, over[k] + 2)
    ml, total, size = Fraction(row[k], over[k]), sum(over), sum(row)
    if weights == "ml":
        return ml
    parents = [h for h, n in enumerate(row) if n]
    others = prod(
        (Fraction((size - row[h]) * total, (total - over[h]) * size) for h in parents if h != k), start=Fraction(1)
    )
    return ml * others / (len(parents) if weights == "relaxed" else 1)


SINGLE_TERM = (csr_array([[3, 0, 0], [1, 2, 4], [0, 1, 1]]), csr_array([[1, 0], [0, 1], [0, 1]]))
ABOVE_ONE = (csr_array([[50, 0, 1], [50, 0, 0], [0, 1, 0], [3, 1, 1]]), csr_array([[1, 0], [1, 0], [0, 1], [0, 1]]))
EXACTLY_ONE = (csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [0, 1]]))
EMPTY_CLASS = (csr_array([[2, 1], [0, 1]]), csr_array([[1, 0, 0], [0, 0, 1]]))
ONE_TERM_IN_ALL = (csr_array([[2], [1]]), csr_array([[1, 0], [0, 1]]))
CASES = {
    "single term": SINGLE_TERM, "above one": ABOVE_ONE, "exactly one": EXACTLY_ONE, "empty class": EMPTY_CLASS,
    "one term in all": ONE_TERM_IN_ALL, **{f"random {seed}": random_data(seed) for seed in range(25)},
}  # fmt: skip


@pytest.mark.parametrize("totals", TOTALS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("case", CASES)
def test_weights_equal_exact_rational_products(case, weights, totals):
    X, Y = CASES[case]
    found = estimate_gates(Counts.of(X, Y), weights=weights, totals=totals)
    dense, exact = found.weights.toarray(), exact_weights(X, Y, weights, totals)
    above = 0
    for c, row in enumerate(exact):
        for t, w in enumerate(row):
            above += w is not None and w > Fraction(ALMOST_ONE)
            expected = 0.0 if w is None else float(min(w, Fraction(ALMOST_ONE)))
            assert dense[c, t] == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert found.clipped == above


def test_the_cases_hold_what_they_are_named_for():
    assert any(w is not None and w > 1 for row in exact_weights(*ABOVE_ONE, "independent", "corpus") for w in row)
    assert any(w == 1 for row in exact_weights(*EXACTLY_ONE, "ml", "corpus") for w in row)
    assert (Counts.of(*SINGLE_TERM).class_terms[[0], :]).nnz == 1


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_posterior_equals_exact_product(seed, counts):
    X, Y = random_data(seed)
    exact = exact_weights(X, Y, "relaxed", "corpus")
    found = probabilities("noisy-or", OrGate(counts=counts).rule(Counts.of(X, Y)).scores(X), exclusive=False)
    for d, document in enumerate(X.toarray().tolist()):
        times = document if counts else [min(n, 1) for n in document]
        for c, row in enumerate(exact):
            misses = prod((1 - w) ** n for w, n in zip(row, times, strict=True) if w is not None)
            assert found[d, c] == pytest.approx(float(1 - misses), rel=1e-12, abs=1e-15)


def test_ranking_by_score_tells_apart_what_saturated_probabilities_do_not():
    X, Y = csr_array([[9, 1], [1, 8]]), csr_array([[1, 0], [0, 1]])
    model = OrGate(weights="laplace").rule(Counts.of(X, Y))
    scores = model.scores(csr_array([[40, 400]]))
    p = probabilities(model.link, scores, exclusive=False)
    assert p.tolist() == [[1.0, 1.0]]
    assert Argmax().decide(p).indices.tolist() == [0]  # what one gets by ranking doubles of p
    assert Argmax().decide(scores).indices.tolist() == [1]


def test_clipped_weights_are_counted():
    found = estimate_gates(Counts.of(*EXACTLY_ONE), weights="ml")
    assert (found.weights.nnz, found.clipped) == (2, 2)


def test_class_without_documents_and_unknown_document_have_no_evidence():
    model = OrGate().rule(Counts.of(*EMPTY_CLASS))
    scores = model.scores(csr_array([[1, 1], [0, 0]]))
    assert scores[0, 1] == 0
    assert scores[1].tolist() == [0, 0, 0]
    assert probabilities("noisy-or", scores, exclusive=False)[1].tolist() == [0, 0, 0]
    assert probabilities("noisy-or", scores, exclusive=True)[1] == pytest.approx([1 / 3] * 3)


def test_fractions_are_masses():
    X, Y = csr_array([[0.5, 0.0], [0.25, 0.25]]), csr_array([[1, 0], [0, 1]])
    assert estimate_gates(Counts.of(X, Y), weights="ml").weights.toarray()[0, 0] == pytest.approx(2 / 3)


def test_negative_counts_and_wrong_names_are_refused():
    X = EXACTLY_ONE[0]
    with pytest.raises(BadData, match="some counts are negative"):
        OrGate().rule(Counts.of(csr_array([[-1.0, 2.0]]), csr_array([[1]])))
    with pytest.raises(UnknownName, match="did you mean 'laplace'"):
        OrGate(weights="lapalce").fit(X, ["a", "b"])
    with pytest.raises(UnnaiveError, match="terms_per_class of or-gate came as 0; give a number from 1"):
        OrGate(terms_per_class=0).fit(X, ["a", "b"])


def test_arcs_are_only_where_a_class_has_the_term():
    counts = Counts.of(*random_data(3))
    assert OrGate(weights="laplace").rule(counts).sparse_weights.nnz == counts.class_terms.nnz


def test_informative_arcs_are_those_of_most_mutual_information():
    from sklearn.metrics import mutual_info_score

    X, Y = random_data(4, n_docs=40, n_terms=12)
    kept = informative_arcs(Counts.of(X, Y), 3)
    present, labels = X.toarray() > 0, Y.toarray()
    for c in range(Y.shape[1]):
        gains = [mutual_info_score(present[:, t], labels[:, c]) for t in range(X.shape[1])]
        best = sorted(range(X.shape[1]), key=lambda t: (-round(gains[t], 12), t))[:3]
        assert sorted(kept[[c], :].indices.tolist()) == sorted(best)


def test_term_effects_are_what_each_does_alone_and_what_is_left():
    gate = NoisyOr(csr_array(-np.log1p(-np.array([[0.5, 0.2, 0.0]]))), np.zeros(1), link="noisy-or")
    first, second = term_effects(gate, csr_array([[1, 2, 7]]), 0)
    assert (first.term, first.alone, first.without) == (0, pytest.approx(0.5), pytest.approx(1 - 0.8**2))
    assert (second.term, second.alone, second.without) == (1, pytest.approx(1 - 0.8**2), pytest.approx(0.5))


def test_views_need_a_noisy_or():
    with pytest.raises(BadData, match="this model is not a Bayesian network"):
        MultinomialNB().rule(Counts.of(*EXACTLY_ONE)).network(0, ["a", "b"], ["c", "d"])
    with pytest.raises(BadData, match="at most 16"):
        gate_network([*strongest_arcs(OrGate().rule(Counts.of(*EXACTLY_ONE)), 0)] * 17, "c", ["a", "b"])


def test_blend_is_the_weighted_sum_of_relative_scores_and_survives_its_arrays():
    X, Y = random_data(5, n_docs=12)
    model = OrBlend(share=0.3).learn(X, Y).scorer
    gate, centroids = model.gate.scores(X), model.centroids.scores(X)
    top = [np.where(s.max(axis=1, keepdims=True) > 0, s.max(axis=1, keepdims=True), 1) for s in (gate, centroids)]
    assert model.scores(X) == pytest.approx(0.3 * gate / top[0] + 0.7 * centroids / top[1])
    assert np.array_equal(Blend.from_arrays(*model.to_arrays()).scores(X), model.scores(X))
    with pytest.raises(UnnaiveError, match="share of or-blend came as 2; give a number from 0 and up to 1"):
        OrBlend(share=2).fit(X, Y.toarray())
    arrays, settings = model.to_arrays()
    with pytest.raises(BadModel, match="from 0 to 1"):
        Blend.from_arrays(arrays, settings | {"share": 2})


def test_explanation_says_what_a_term_forces_alone_and_what_is_left_without_it():
    from unnaive import TextClassifier

    texts, labels = ["ball goal", "goal", "vote law"], [("sport",), ("sport",), ("politics",)]
    model = TextClassifier("or-gate", weights="laplace").fit(texts, labels)
    evidence = {one.term: one for one in model.explain("ball goal vote", "sport").evidence}
    # eq. 12: ball (1 + 1)/(1 + 2), goal (2 + 1)/(2 + 2); vote has no arc to sport
    assert (evidence["ball"].alone, evidence["ball"].without) == pytest.approx((2 / 3, 3 / 4))
    assert (evidence["goal"].alone, evidence["goal"].without) == pytest.approx((3 / 4, 2 / 3))
    assert evidence["vote"].alone is None
    assert "goal (alone 75 %, without it 67 %)" in str(model.explain("ball goal vote", "sport"))


@pytest.mark.parametrize("name", ["or-gate", "or-blend", "rocchio", "rocchio-counts"])
def test_models_with_tuned_thresholds_survive_a_file(name, tmp_path):
    from unnaive import TextClassifier
    from unnaive.classifier.model_file import load_model, save

    texts = ["ball goal", "goal match", "vote law", "law party", "ball vote"] * 4
    labels = [("sport",), ("sport",), ("politics",), ("politics",), ("sport", "politics")] * 4
    model = TextClassifier(name, decision="scut").fit(texts, labels)
    save(model.fitted_, tmp_path / "model.unnaive")
    again = load_model(tmp_path / "model.unnaive")
    assert again.decision == model.fitted_.decision
    assert again.predict(texts) == model.predict(texts)


def test_masses_whose_sum_is_rounded_below_its_largest_part_stay_probabilities():
    # 1 and 1e-17 add up to 1, so the first has all of its class as far as numbers go
    X = csr_array([[1.0, 1e-17, 0.0], [0.5, 0.0, 0.25]])
    for weights in WEIGHTS:
        found = estimate_gates(Counts.of(X, csr_array([[1, 0], [0, 1]])), weights=weights).weights.data
        assert ((found >= 0) & (found <= ALMOST_ONE)).all()
