"""The network of a class as lines, files and a figure, from a trained model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.apps.network_views import network_view, write_network
from unnaive.classifier import TextClassifier
from unnaive.core.linear import Linear
from unnaive.errors import BadData, UnknownName
from unnaive.models.or_gate import NoisyOr
from unnaive.text.vocabulary import Vocabulary


@pytest.fixture
def fitted():
    weights = csr_array(-np.log1p(-np.array([[0.0, 0.0, 0.75], [0.5, 0.25, 0.0]])))
    model = TextClassifier("or-gate").fit(["vote", "ball goal"], ["politics", "sport"]).fitted_
    gate = NoisyOr(weights, np.zeros(2), link="noisy-or")
    return replace(model, scorer=gate, vocabulary=Vocabulary(["ball", "goal", "vote"]))


def test_lines_name_the_strongest_arcs_first(fitted):
    head, first, second = network_view(fitted, "sport").lines()
    assert head == "sport: 2 parents, 0 of them certain; strongest 2:"
    assert first.split()[:2] == ["ball", "0.5"]
    assert second.split()[:2] == ["goal", "0.25"]


def test_network_has_the_noisy_or_of_its_arcs(fitted):
    network = network_view(fitted, "sport").network()
    assert network.nodes == ("ball", "goal", "sport")
    assert network.tables[2][1, 1, 1] == pytest.approx(1 - 0.5 * 0.75)


def test_json_has_the_arcs(fitted):
    found = network_view(fitted, "sport").to_dict()
    assert found["parents"] == 2
    assert found["arcs"] == [
        {"term": "ball", "weight": pytest.approx(0.5)},
        {"term": "goal", "weight": pytest.approx(0.25)},
    ]


def test_a_model_that_is_no_network_says_which_are(fitted):
    cosine = replace(fitted, scorer=Linear(csr_array((2, 3)), np.zeros(2), link="cosine"))
    with pytest.raises(BadData, match="or-gate, hierarchical or tan"):
        network_view(cosine, "sport")


@pytest.mark.parametrize(("name", "start"), [("a.bif", b"network"), ("a.uai", b"BAYES"), ("a.png", b"\x89PNG")])
def test_files_are_written_by_their_ending(fitted, tmp_path, name, start):
    assert write_network(network_view(fitted, "sport"), tmp_path / name).read_bytes().startswith(start)


def test_wrong_class_and_ending_are_refused(fitted, tmp_path):
    with pytest.raises(UnknownName, match="no class called 'sprot'"):
        network_view(fitted, "sprot")
    with pytest.raises(BadData, match="ends in none of"):
        write_network(network_view(fitted, "sport"), tmp_path / "a.doc")


@pytest.fixture(scope="module", params=["hierarchical", "hierarchical-naive-bayes", "tan"])
def network_model(request):
    texts = [
        "ball goal team",
        "ball team win",
        "goal ball win",
        "vote law party",
        "law party win",
        "vote party law",
    ] * 3
    labels = ["sport", "sport", "sport", "politics", "politics", "politics"] * 3
    settings = {} if request.param == "tan" else {"branching": 2, "restarts": 4, "average": 2}
    return TextClassifier(request.param, **settings).fit(texts, labels).fitted_


def test_models_of_networks_show_theirs(network_model, tmp_path):
    view = network_view(network_model, "sport")
    lines = list(view.lines())
    assert lines[0].startswith("class" if network_model.spec.model.name == "tan" else "sport")
    assert any("ball" in line for line in lines)
    for name, start in (("a.bif", b"network"), ("a.uai", b"BAYES")):
        assert write_network(view, tmp_path / name).read_bytes().startswith(start)
    if network_model.spec.model.name == "tan":
        with pytest.raises(BadData, match="no figure"):
            write_network(view, tmp_path / "a.png")
    else:
        assert lines[-1].startswith("the best of 2 sets of tables")
        assert write_network(view, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
