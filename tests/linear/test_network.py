"""Networks: exact inference by pgmpy on our BIF equals the noisy-OR; what is not a network is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import TreeAugmentedNB
from unnaive.base.errors import BadData
from unnaive.data.counts import Counts
from unnaive.linear.links import probabilities
from unnaive.linear.network import Network, mixture_network, noisy_or_table
from unnaive.models.or_gate import OrGate, gate_network, strongest_arcs

HALF = np.array([0.5, 0.5])


@pytest.mark.slow
def test_pgmpy_reads_our_bif_and_infers_the_posterior_of_eq_9(tmp_path):
    inference, reader = pytest.importorskip("pgmpy.inference"), pytest.importorskip("pgmpy.readwrite")
    rng = np.random.default_rng(0)
    X, Y = csr_array(rng.integers(0, 3, (20, 12))), csr_array(rng.integers(0, 2, (20, 2)))
    terms = [f"term{t}" for t in range(12)]
    model = OrGate(weights="laplace", counts=False).rule(Counts.of(X, Y))
    arcs = strongest_arcs(model, 1, 12)
    path = tmp_path / "gate.bif"
    path.write_text(gate_network(arcs, "target", terms).to_bif(), encoding="utf-8")
    query = inference.VariableElimination(reader.BIFReader(str(path)).get_model())
    posterior = probabilities(model.link, model.scores(X), exclusive=False)[:, 1]
    for d in range(4):
        evidence = {terms[arc.term]: "yes" if X[d, arc.term] else "no" for arc in arcs}
        answer = query.query(["target"], evidence=evidence, show_progress=False)
        assert answer.get_value(target="yes") == pytest.approx(posterior[d], abs=1e-9)


def test_noisy_or_table_is_the_product_over_present_parents():
    table = noisy_or_table([0.5, 0.2], leak=0.1)
    assert table[1, 1, 1] == pytest.approx(1 - 0.9 * 0.5 * 0.8)
    assert table[0, 1, 1] == pytest.approx(1 - 0.9 * 0.8)
    assert table.sum(axis=-1) == pytest.approx(np.ones((2, 2)))


def test_probability_sums_over_what_is_not_given():
    network = Network(("a", "b", "c"), ((), (), (0, 1)), (HALF, np.array([0.8, 0.2]), noisy_or_table([0.5, 0.4])))
    by_hand = 0.5 * 0.2 * 0.4 + 0.5 * 0.8 * 0.5 + 0.5 * 0.2 * (1 - 0.5 * 0.6)
    assert network.probability({"c": 1}) == pytest.approx(by_hand)
    assert network.probability({}) == pytest.approx(1.0)


def test_uai_lists_parents_before_the_node_and_the_node_varies_fastest():
    lines = Network(("a", "c"), ((), (0,)), (HALF, noisy_or_table([0.25]))).to_uai().split("\n")
    assert lines[:6] == ["BAYES", "2", "2 2", "2", "1 0", "2 0 1"]
    assert lines[-2] == " 1.0 0.0 0.75 0.25"


@pytest.mark.slow
def test_pgmpy_reads_our_uai_with_numbers_near_zero(tmp_path):
    """Its reader stops at 1e-12, so numbers are plain decimals."""
    reader = pytest.importorskip("pgmpy.readwrite")
    tiny = np.array([[1 - 1e-12, 1e-12], [3e-7, 1 - 3e-7]])
    network = Network(("a", "b"), ((), (0,)), (np.array([1e-5, 1 - 1e-5]), tiny))
    text = network.to_uai()
    assert "e-" not in text
    path = tmp_path / "a.uai"
    path.write_text(text, encoding="utf-8")
    model = reader.UAIReader(str(path)).get_model()
    tables = {cpd.variable: cpd.get_values() for cpd in model.get_cpds()}
    # the format has the node's own states vary fastest; this reader lays the same numbers out as own states × parents
    np.testing.assert_array_equal(tables["var_1"].ravel(), tiny.ravel())
    np.testing.assert_array_equal(tables["var_0"].ravel(), network.tables[0])


@pytest.mark.slow
def test_pgmpy_reads_a_bif_with_a_comment(tmp_path):
    reader = pytest.importorskip("pgmpy.readwrite")
    path = tmp_path / "a.bif"
    path.write_text(Network(("a",), ((),), (HALF,)).to_bif(comment="member 1\nof 2"), encoding="utf-8")
    assert path.read_text(encoding="utf-8").startswith("// member 1 of 2\nnetwork")
    assert list(reader.BIFReader(str(path)).get_model().nodes()) == ["a"]


def test_posterior_of_a_mixture_is_the_mean_of_posteriors_where_evidence_is_shared():
    rng = np.random.default_rng(0)
    members = []
    for _ in range(3):
        hidden, top = rng.random((2, 2)), rng.random(2)
        tables = (HALF, HALF, np.stack([1 - hidden, hidden], axis=-1), np.stack([1 - top, top], axis=-1))
        members.append(Network(("f", "g", "h", "c"), ((), (), (0, 1), (2,)), tables))
    mixture = mixture_network(members)
    assert mixture.parents == ((), (), (), (1, 2, 0), (3, 0))
    for f in (0, 1):
        given = {"f": f, "g": 1}
        posteriors = [one.probability({**given, "c": 1}) / one.probability(given) for one in members]
        assert mixture.probability({**given, "c": 1}) / mixture.probability(given) == pytest.approx(np.mean(posteriors))
    with pytest.raises(BadData, match="cannot be combined"):
        mixture_network([members[0], Network(("f",), ((),), (HALF,))])


def test_estimators_give_the_network_of_a_class():
    X, y = [[2, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 2]], ["sport", "sport", "politics", "politics"]
    gate = OrGate(weights="laplace", counts=False).fit(X, y)
    network = gate.network("sport", ["ball", "goal", "vote"])
    assert network.nodes == ("ball", "goal", "sport")
    given = {"ball": 1, "goal": 0}
    posterior = network.probability({**given, "sport": 1}) / network.probability(given)
    scores = gate.scorer_.scores(csr_array([[1, 0, 0]]))
    assert posterior == pytest.approx(probabilities("noisy-or", scores, exclusive=False)[0, 1])
    assert len(gate.network("sport", arcs=1).nodes) == 2
    tan = TreeAugmentedNB().fit(X, y)
    network = tan.network("sport")
    given = {"x0": 1, "x1": 0, "x2": 0}
    posterior = network.probability({**given, "class": 1}) / network.probability(given)
    assert posterior == pytest.approx(tan.predict_proba([[1, 0, 0]])[0, 1])
    with pytest.raises(BadData, match="'law' is not among the 2 classes politics, sport"):
        tan.network("law")


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (
            lambda: Network(("a", "b"), ((1,), (0,)), (np.array([HALF, HALF]), np.array([HALF, HALF]))),
            "the arcs into 'a' form a cycle; remove one of them",
        ),
        (lambda: Network(("a",), ((),), (np.array([0.5, 0.6]),)), "sums to 1"),
        (
            lambda: Network(("a",), ((),), (np.ones((1, 2)) / 2,)),
            "the table of 'a' is not one of probabilities; give shape",
        ),
        (lambda: Network(("a", "a"), ((), ()), (HALF, HALF)), "one name"),
    ],
)
def test_what_is_no_network_is_refused(network, sentence):
    with pytest.raises(BadData, match=sentence):
        network()
