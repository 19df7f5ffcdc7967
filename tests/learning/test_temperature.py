"""Temperature: the least log-loss by a fine grid, the order of classes kept, damaged values refused."""

from itertools import combinations

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData, BadModel
from unnaive.learning.calibration import Platt, Temperature
from unnaive.learning.fit_calibration import fit_temperature
from unnaive.linear.links import clear_lead, probabilities

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(400, 4)) * 2
RIGHT = np.array([RNG.choice(4, p=np.exp(row) / np.exp(row).sum()) for row in LOGITS])
Y = np.eye(4, dtype=int)[RIGHT]


def loss(temperature, scores, link="log-odds"):
    soft = (400 * Y + 1 / 4) / 401  # one more document, of any of the four classes
    return -(temperature.log_probabilities(link, scores) * soft).sum()


def test_overconfident_scores_are_brought_back():
    found = fit_temperature("log-odds", 10 * LOGITS, Y, exclusive=True)
    grid = [loss(Temperature(t), 10 * LOGITS) for t in np.geomspace(1, 100, 400)]
    assert loss(found, 10 * LOGITS) <= min(grid) + 1e-6
    assert found.value == pytest.approx(10, rel=0.15)  # 400 documents: the fit itself is noisy by about a tenth
    assert np.array_equal(found.probabilities("log-odds", 10 * LOGITS).argmax(axis=1), LOGITS.argmax(axis=1))


def test_margins_of_several_labels_get_slope_and_offset():
    scores = RNG.normal(size=(3000, 2))
    labels = RNG.random((3000, 2)) < 1 / (1 + np.exp(-(3 * scores - 1)))
    found = fit_temperature("margin", scores, labels, exclusive=False)
    assert (1 / found.value, found.offset) == pytest.approx((3, -1), abs=0.25)  # standard error about .1


def test_no_evidence_is_uniform_and_is_left_out_of_the_fit():
    scores = np.array([[0.0, 0.0], [2.0, 0.5], [2.0, 0.5], [2.0, 0.5]])
    found = fit_temperature("noisy-or", scores, np.array([[1, 0], [1, 0], [1, 0], [0, 1]]), exclusive=True)
    p = found.probabilities("noisy-or", scores)
    assert p[0].tolist() == [0.5, 0.5]
    assert p[1] == pytest.approx([2.5 / 4, 1.5 / 4], abs=1e-5)  # two of three, and one more of either class


def test_held_out_documents_that_are_all_right_make_no_document_certain():
    scores = np.array([[3.0, 0.0], [0.0, 3.0]] * 20)
    found = fit_temperature("log-odds", scores, np.eye(2, dtype=int)[[0, 1] * 20], exclusive=True)
    assert found.probabilities("log-odds", scores)[0] == pytest.approx([40.5 / 41, 0.5 / 41], abs=1e-6)
    found = fit_temperature("margin", scores - 1.5, np.eye(2, dtype=int)[[0, 1] * 20], exclusive=False)
    assert found.probabilities("margin", scores - 1.5)[0] == pytest.approx([41 / 42, 1 / 42], abs=1e-6)  # Platt's


def test_costs_reach_the_doubtful_documents_of_data_that_is_easily_told_apart():
    words = {"sport": ("ball", "game", "goal", "match", "team"), "politics": ("vote", "law", "tax", "party", "bill")}
    texts = {label: [f"{one} {other} the" for one, other in combinations(own, 2)] * 4 for label, own in words.items()}
    costs = {"sport": {"sport": 0, "politics": 100}, "politics": {"sport": 1, "politics": 0}}
    labels = [label for label, own in texts.items() for _ in own]
    model = TextClassifier("auto", budget="fast", optimise=costs).fit([*texts["sport"], *texts["politics"]], labels)
    assert model.predict(["the", "vote law the", "ball game"]).tolist() == ["sport", "politics", "sport"]


def test_damaged_or_meaningless_temperatures_are_refused():
    for stored in (None, {}, {"value": 0, "offset": 0, "exclusive": True}, {"value": "x", "offset": 0, "exclusive": 1}):
        with pytest.raises(BadModel, match="damaged"):
            Temperature.from_dict(stored)
    with pytest.raises(BadData, match="exclusive=False"):
        fit_temperature("log-odds", np.zeros((1, 2)), np.array([[1, 1]]), exclusive=True)


@pytest.mark.parametrize("link", ["softmax", "log-odds", "one-of-all", "noisy-or"])
@pytest.mark.parametrize("value", [None, 0.5, 3.0])
def test_a_clear_lead_has_the_probability_that_was_asked_for(link, value):
    drawn = np.random.default_rng(7)
    for n_classes in (2, 3, 20):
        for p in (0.5, 0.99, 1 - 4e-7):
            lead = clear_lead(link, n_classes, p)
            if value is not None:
                lead = Temperature(value).clear_lead(link, n_classes, p)
            if not np.isfinite(lead):
                assert link in ("one-of-all", "noisy-or")
                continue
            others = -lead - np.append(
                drawn.exponential(size=(50, n_classes - 1)), np.zeros((1, n_classes - 1)), axis=0
            )
            scores = np.hstack([np.zeros((51, 1)), others]) - 1000 * drawn.random((51, 1))
            shares = probabilities(link, scores, exclusive=True)
            if value is not None:
                shares = Temperature(value).probabilities(link, scores)
            assert shares[:, 0].min() >= p - 1e-12  # where all others are as near as may be, rounding alone is below
            assert shares[-1, 0] <= p + (1 - p) ** 2 + 1e-12  # and no smaller lead would do: 1 / (1 + (1 − p))
    assert Temperature(2.0, exclusive=False).clear_lead("softmax", 3, 0.9) == np.inf
    assert Platt((1.0,), (0.0,)).clear_lead("softmax", 3, 0.9) == np.inf
