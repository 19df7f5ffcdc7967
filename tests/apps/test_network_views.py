"""The network of a class as lines, files and a figure, from a trained model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.linear.linear import Linear
from unnaive.models.or_gate import NoisyOr
from unnaive.text.vocabulary import Vocabulary
from unnaive.workflows.network_views import network_view, write_network


@pytest.fixture
def fitted():
    weights = csr_array(-np.log1p(-np.array([[0.0, 0.0, 0.75], [0.5, 0.25, 0.0]])))
    model = TextClassifier("or-gate").fit(["vote", "ball goal"], ["politics", "sport"]).fitted_
    gate = NoisyOr(weights, np.zeros(2), link="noisy-or")
    return replace(model, scorer=gate, vocabulary=Vocabulary(["ball", "goal", "vote"]))


def test_lines_name_the_strongest_arcs_first(fitted):
    head, first, second, about = network_view(fitted, "sport").lines()
    assert head == "sport: 2 parents, 0 of them certain; strongest 2:"
    assert first.split()[:2] == ["ball", "0.5"]
    assert second.split()[:2] == ["goal", "0.25"]
    assert about == "the predictor of sport: all 2 arcs"
    *_, about = network_view(fitted, "sport", k=1).lines()
    assert about == "a part of the predictor of sport: the 1 strongest of its 2 arcs"


def test_network_has_the_noisy_or_of_its_arcs(fitted):
    (network,) = network_view(fitted, "sport").networks
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
    with pytest.raises(BadData, match="or-gate, hierarchical, tan or diagnostic"):
        network_view(cosine, "sport")


@pytest.mark.parametrize(
    ("name", "start"), [("a.bif", b"// the predictor"), ("a.uai", b"BAYES"), ("a.png", b"\x89PNG")]
)
def test_files_are_written_by_their_ending(fitted, tmp_path, name, start):
    (file,) = write_network(network_view(fitted, "sport"), tmp_path / name)
    assert file.read_bytes().startswith(start)


def test_wrong_class_and_ending_are_refused(fitted, tmp_path):
    with pytest.raises(UnknownName, match="no class called 'sprot'"):
        network_view(fitted, "sprot")
    with pytest.raises(
        UnnaiveError,
        match=(
            r"a network cannot be written as .doc; give a name that "
            r"ends in .bif, .uai, .png"
        ),
    ):
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
    assert lines[0].startswith("class" if network_model.spec.model.traits.name == "tan" else "sport")
    assert any("ball" in line for line in lines)
    tan = network_model.spec.model.traits.name == "tan"
    about = "the predictor: 7 terms and class" if tan else "member 1 of 2 of sport; the predictor is the mean"
    assert lines[-1].startswith(about)
    for name, start in (("a.bif", f"// {about}"), ("a.uai", "BAYES"), ("a.png", "\x89PNG")):
        (file,) = write_network(view, tmp_path / name)
        assert file.read_bytes().startswith(start.encode("latin-1" if name == "a.png" else "utf-8"))
    assert view.to_dict()["about"] == lines[-1]


def test_all_members_are_the_predictor_or_its_parts(network_model, tmp_path):
    """Arcs to the class: one mixture, whose posterior is the model's. Arcs from it: a file for each member."""
    view = network_view(network_model, "sport", members="all")
    files = write_network(view, tmp_path / "a.bif")
    name = network_model.spec.model.traits.name
    if name == "hierarchical-naive-bayes":
        assert [file.name for file in files] == ["a-1.bif", "a-2.bif"]
        assert files[1].read_text(encoding="utf-8").startswith("// member 2 of the 2 members of sport")
        return
    (network,), (file,) = view.networks, files
    assert file.read_text(encoding="utf-8").startswith("// the predictor")
    texts = ["ball goal", "law", "win party ball"]
    expected = network_model.predict_proba(texts)[:, network_model.classes.index("sport")]
    top, states = ("class", list(network_model.classes)) if name == "tan" else ("sport", ["no", "yes"])
    sport = states.index("sport" if name == "tan" else "yes")
    terms = {name for name in network.nodes if name in network_model.vocabulary.terms}
    for text, p in zip(texts, expected, strict=True):
        given = {name: int(name in text.split()) for name in terms}
        found = network.probability({**given, top: sport}) / network.probability(given)
        assert found == pytest.approx(p, abs=1e-9)


def test_members_that_are_not_there_are_refused(network_model):
    with pytest.raises(BadData, match="one member" if network_model.spec.model.traits.name == "tan" else "from 1 to 2"):
        network_view(network_model, "sport", members="3")


def test_the_picture_of_tan_has_an_arc_into_every_term():
    texts = ["ball goal", "ball goal", "vote law", "vote law"] * 3
    model = TextClassifier("tan").fit(texts, ["sport", "sport", "politics", "politics"] * 3)
    drawing = network_view(model.fitted_, "sport").figure()
    (axes,) = drawing.axes
    assert {text.get_text() for text in axes.texts} >= {"class", "ball", "goal", "vote", "law"}
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == 4
    assert "every term also depends on class" in drawing.get_suptitle()


def test_members_over_different_terms_are_written_each_by_itself(tmp_path):
    texts = ["ball goal", "goal win", "vote law", "law party", "ball win", "vote party"] * 5
    labels = ["sport", "sport", "politics", "politics", "sport", "politics"] * 5
    model = TextClassifier("diagnostic", parents=1, members=2).fit(texts, labels).fitted_
    view = network_view(model, "sport", members="all")
    files = write_network(view, tmp_path / "a.bif")
    assert [file.name for file in files] == ["a-1.bif", "a-2.bif"]
    assert view.about == "the 2 members of sport; the predictor is the mean of their posteriors"
    assert next(iter(network_view(model, "sport").lines())) == "class"
