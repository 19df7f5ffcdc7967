"""Networks: exact inference by pgmpy on our BIF equals the noisy-OR; what is not a network is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.core.links import probabilities
from unnaive.core.network import Network, noisy_or_table
from unnaive.errors import BadData
from unnaive.models.or_gate import OrGate, gate_network, strongest_arcs

HALF = np.array([0.5, 0.5])


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


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (lambda: Network(("a", "b"), ((1,), (0,)), (np.array([HALF, HALF]), np.array([HALF, HALF]))), "circle"),
        (lambda: Network(("a",), ((),), (np.array([0.5, 0.6]),)), "sums to 1"),
        (lambda: Network(("a",), ((),), (np.ones((1, 2)) / 2,)), "must have shape"),
        (lambda: Network(("a", "a"), ((), ()), (HALF, HALF)), "one name"),
    ],
)
def test_what_is_no_network_is_refused(network, sentence):
    with pytest.raises(BadData, match=sentence):
        network()
