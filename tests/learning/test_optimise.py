"""Decisions for macro F1 and for costs: brute force, by hand, both entrances, and what a wrong file of costs says."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import TextClassifier
from unnaive.base.errors import BadData, BadModel, UnknownName, UnnaiveError
from unnaive.evaluation.evaluate import evaluate
from unnaive.io.cost_files import read_costs
from unnaive.learning.decisions import LeastCost, Thresholds, WeightedArgmax, decision_from_dict
from unnaive.learning.optimise import _best_offset, _macro_f1, _Rivals, least_cost, read_optimise, tune_macro_f1
from unnaive.scaleout.spark.scoring import decided_labels, predicted_labels

RNG = np.random.default_rng(0)
TEXTS = ["good ball, good game", "fair vote in a fair law", "warm soup with bread", "the ball is lost", "a new law"] * 6
LABELS = ["sport", "politics", "food", "sport", "politics"] * 6
COSTS = {
    "food": {"food": 0, "politics": 1, "sport": 1},
    "politics": {"food": 100, "politics": 0, "sport": 100},
    "sport": {"food": 1, "politics": 1, "sport": 0},
}


def rare(n=2000, seed=0):
    """Probabilities of three classes of 85, 12 and 3 %, and labels that follow them."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3)) * 1.5 + np.log([0.85, 0.12, 0.03])
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return p, np.array([rng.choice(3, p=row) for row in p])


def test_the_best_offset_of_a_class_by_brute_force():
    for seed in range(6):
        p, truth = rare(60, seed)
        scores, times = np.log(p), np.ones(60) if seed < 3 else np.random.default_rng(seed).random(60) * 3
        for c in range(3):
            offset, found = _best_offset(*_Rivals(scores.T.copy()).without(c), truth, c, times, 3)
            shifted = scores.copy()
            shifted[:, c] += offset
            assert _macro_f1(truth, shifted.argmax(axis=1), 3, times) == pytest.approx(found)
            lack = np.delete(scores, c, axis=1).max(axis=1) - scores[:, c]
            tried = []
            for value in np.concatenate([lack + 1e-9, [lack.min() - 1]]):
                other = scores.copy()
                other[:, c] += value
                tried.append(_macro_f1(truth, other.argmax(axis=1), 3, times))
            assert found >= max(tried[:-1]) - 1e-12


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_the_two_best_classes_are_known_after_every_offset(n_classes):
    """Scores are whole numbers, so that many are equal: the first of equal classes is the best."""
    random = np.random.default_rng(n_classes)
    scores = random.integers(0, 4, (n_classes, 50)).astype(float)
    rivals, offsets = _Rivals(scores.copy()), np.zeros(n_classes)
    for _ in range(30):
        c, offset = int(random.integers(n_classes)), float(random.integers(-2, 3))
        rivals.add(c, offset)
        offsets[c] += offset
        for without in range(n_classes):
            others = scores + offsets[:, None]
            others[without] = -np.inf
            rival, lack = rivals.without(without)
            assert rival.tolist() == others.argmax(axis=0).tolist()
            assert lack.tolist() == (others.max(axis=0) - scores[without] - offsets[without]).tolist()


def test_macro_f1_rises_on_new_documents():
    """Weights from 2,000 documents, measured on 20,000 others: .623 by the best class, .649 weighted; noise .005."""
    p, truth = rare()
    tuned = tune_macro_f1(p, np.eye(3, dtype=int)[truth])
    new, labels = rare(20_000, 1)
    times = np.ones(len(new))
    plain = _macro_f1(labels, new.argmax(axis=1), 3, times)
    assert _macro_f1(labels, tuned.decide(new).indices, 3, times) > plain + 0.015
    assert tuned.weights[2] > tuned.weights[0]


def test_weights_by_hand_and_least_cost_by_hand():
    p = np.array([[0.5, 0.3, 0.2]])
    assert WeightedArgmax((1.0, 1.0, 3.0)).decide(p).indices.tolist() == [2]  # .5, .3, .6
    # costs of giving a, b, c: .3·2 + .2·9 = 2.4; .5·1 + .2·9 = 2.3; .5·1 + .3·2 = 1.1
    costs = ((0.0, 1.0, 1.0), (2.0, 0.0, 2.0), (9.0, 9.0, 0.0))
    assert LeastCost(costs).decide(p).indices.tolist() == [2]
    equal = LeastCost(tuple(tuple(float(i != j) for j in range(3)) for i in range(3)))
    random = RNG.dirichlet(np.ones(3), size=200)
    assert equal.decide(random).indices.tolist() == random.argmax(axis=1).tolist()  # 0/1 costs: the best class


def test_least_cost_costs_least_of_all_ways_to_decide():
    p, truth = rare(20_000, 3)
    costs = np.array([[0.0, 1, 1], [3, 0, 3], [20, 20, 0]])
    given = LeastCost(tuple(map(tuple, costs))).decide(p).indices
    paid = costs[truth, given].mean()
    assert paid < costs[truth, p.argmax(axis=1)].mean()
    assert paid == pytest.approx((p @ costs).min(axis=1).mean(), rel=0.05)  # what was expected comes true


@pytest.mark.parametrize("optimise", ["macro-f1", COSTS], ids=["macro-f1", "costs"])
@pytest.mark.parametrize("model", ["multinomial", "svm"])
def test_trained_stored_and_the_same_at_every_entrance(tmp_path, model, optimise):
    made = TextClassifier(model, optimise=optimise).fit(TEXTS, LABELS)
    kind = "least-cost" if isinstance(optimise, dict) else "weighted-argmax"
    assert made.fitted_.decision.kind == kind
    assert made.fitted_.calibration.kind == "temperature"  # what costs are weighed by must be true
    scores = made.scores(TEXTS)
    by_hand = made.fitted_.decision.decide(made.predict_proba(TEXTS)).indices
    assert made.predict(TEXTS).tolist() == made.classes_[by_hand].tolist()
    assert made.fitted_.labels_of(scores).tolist() == made.predict(TEXTS).tolist()
    made.save(tmp_path / "a.model")
    copy = TextClassifier.load(tmp_path / "a.model")
    assert copy.predict(TEXTS).tolist() == made.predict(TEXTS).tolist()
    assert (copy.fitted_.decision, copy.fitted_.spec.optimise) == (made.fitted_.decision, made.fitted_.spec.optimise)
    copy.save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    found = evaluate(made, TEXTS, LABELS)
    assert found.model.endswith("optimise costs" if isinstance(optimise, dict) else "optimise macro-f1")
    assert found.measures["accuracy"] == made.score(TEXTS, LABELS)


def test_dear_mistakes_are_avoided():
    """A document about nothing costs 100 if it was politics and 1 else: it is called politics."""
    made = TextClassifier("multinomial", optimise=COSTS).fit(TEXTS, LABELS)
    assert made.predict(["nothing known here"]).tolist() == ["politics"]
    assert TextClassifier("multinomial").fit(TEXTS, [*LABELS[:-1], "sport"]).predict(["unknown"]).tolist() == ["sport"]


def test_the_service_decides_by_the_costs_too():
    from unnaive.apps.service.answers import Answers

    made = TextClassifier("multinomial", optimise=COSTS).fit(TEXTS, LABELS)
    new = ["nothing known here", "a ball", "warm bread"]
    found = Answers.of(made.fitted_, made.scores(new)).labels()
    assert [label for (label,) in found] == made.predict(new).tolist()


def test_updates_keep_the_decision():
    made = TextClassifier("multinomial", optimise=COSTS).fit(TEXTS, LABELS)
    decision = made.fitted_.decision
    assert made.partial_fit(["late ball"], ["sport"]).fitted_.decision == decision


def test_multilabel_macro_f1_is_a_threshold_for_each_class():
    sets = [(label, "any") for label in LABELS]
    made = TextClassifier("svm", optimise="macro-f1").fit(TEXTS, sets)
    assert made.fitted_.decision.kind == "thresholds"
    with pytest.raises(UnnaiveError, match="costs are for single-label documents"):
        TextClassifier("multinomial", optimise={"any": {"any": 0.0}}).fit(TEXTS, sets)


def test_settings_that_contradict():
    with pytest.raises(UnnaiveError, match="leave one of the two out"):
        TextClassifier("multinomial", decision="scut", optimise="macro-f1").fit(TEXTS, LABELS)
    with pytest.raises(UnnaiveError, match="gives no probabilities, which optimise needs"):
        TextClassifier("svm", calibrate="none", optimise="macro-f1").fit(TEXTS, LABELS)
    with pytest.raises(UnknownName, match="did you mean 'macro-f1'"):
        TextClassifier("multinomial", optimise="macrof1").fit(TEXTS, LABELS)
    with pytest.raises(BadData, match="optimise is 3"):
        TextClassifier("multinomial", optimise=3).fit(TEXTS, LABELS)
    assert TextClassifier("multinomial", optimise="accuracy").fit(TEXTS, LABELS).fitted_.decision.kind == "argmax"


def write(tmp_path, text):
    path = tmp_path / "costs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_costs_is_read(tmp_path):
    path = write(tmp_path, "\ufefftrue,ham,spam\nham,0,9\n\nspam,1.5,0\n")
    assert read_costs(path) == {"ham": {"ham": 0.0, "spam": 9.0}, "spam": {"ham": 1.5, "spam": 0.0}}
    assert read_optimise(str(path)) == read_costs(path)
    made = TextClassifier("multinomial", optimise=str(path)).fit(["buy now", "hello you"] * 9, ["spam", "ham"] * 9)
    assert made.fitted_.decision.costs == ((0.0, 9.0), (1.5, 0.0))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no table of costs"),
        ("true,ham,spam\n", "has no table of costs"),
        ("true,ham,spam\nham,0,9\nspam,1\n", "line 3 .* has 2 cells, but the first has 3; give a cost for each class"),
        ("true,ham,spam\nham,0,much\nspam,1,0\n", "is 'much' in line 2 .*give a number"),
        ("true,ham,spam\nham,0,nan\nspam,1,0\n", "give a finite number"),
        ("true,ham,ham\nham,0,1\nspam,1,0\n", "two columns for the predicted class 'ham'"),
        ("true,ham,spam\nham,0,9\nham,1,0\n", "two lines for the true class 'ham'"),
    ],
)
def test_wrong_files_of_costs_are_sentences(tmp_path, text, sentence):
    with pytest.raises(BadData, match=sentence):
        read_costs(write(tmp_path, text))


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ({"ham": {"ham": 0, "spam": 9}}, "no true class 'spam'"),
        ({"ham": {"ham": 0}, "spam": {"ham": 1}}, "no predicted class 'spam'"),
        ({"ham": {"ham": 0, "spam": 9}, "spma": {"ham": 1, "spam": 0}}, "did you mean 'spam'"),
        ({"ham": {"ham": 1, "spam": 1}, "spam": {"ham": 1, "spam": 1}}, "all costs are equal"),
        ({"ham": {"ham": 9, "spam": 0}, "spam": {"ham": 0, "spam": 9}}, "costs more than a wrong one"),
    ],
)
def test_costs_that_do_not_fit_the_classes(costs, sentence):
    with pytest.raises((BadData, UnknownName), match=sentence):
        least_cost(costs, ("ham", "spam"))
    with pytest.raises(UnnaiveError):  # and before anything is learnt
        TextClassifier("multinomial", optimise=costs).fit(["buy now", "hello you"] * 9, ["spam", "ham"] * 9)


def test_damaged_decisions_are_refused():
    for stored in (
        {"kind": "weighted-argmax", "weights": [1.0, 0.0]},
        {"kind": "weighted-argmax", "weights": "11"},
        {"kind": "least-cost", "costs": [[0.0, 1.0]]},
        {"kind": "least-cost", "costs": [["0"]]},
        {"kind": "least-cost", "costs": 3},
    ):
        with pytest.raises(BadModel, match="damaged"):
            decision_from_dict(stored)
    with pytest.raises(BadData, match="3 classes and 2 weights"):
        WeightedArgmax((1.0, 2.0)).decide(np.ones((1, 3)))
    assert csr_array(LeastCost(((0.0, 1.0), (1.0, 0.0))).decide(np.array([[0.4, 0.6]]))).indices.tolist() == [1]


@pytest.mark.parametrize("options", [{"optimise": "macro-f1"}, {"optimise": COSTS}, {"calibrate": "isotonic"}])
@pytest.mark.parametrize("name", ["multinomial", "svm", "knn"])
def test_explanations_sets_and_spark_follow_the_decision_of_predict(name, options):
    """Wrong politics cost 100, so half a sentence of it is enough; the best score is another class's."""
    fitted = TextClassifier(name, **options).fit(TEXTS, LABELS).fitted_
    new = ["a fair game", "the ball is warm", "bread in a law", "soup, soup and a vote", "good soup", ""]
    given, scores = fitted.predict(new).tolist(), fitted.scores(new)
    if options.get("optimise") is COSTS:
        assert given != fitted.class_array[scores.argmax(axis=1)].tolist()
    assert [fitted.explain(text).label for text in new] == given
    assert [fitted.classes[c] for c in fitted.first_labels(scores)] == given
    assert decided_labels(fitted, scores).to_pylist() == predicted_labels(fitted, new).to_pylist() == given
    for by_class in (False, True):
        sets = fitted.predict_label_set(new, 0.5, at_least_one=True, by_class=by_class)
        assert all(label in labels for label, labels in zip(given, sets, strict=True))


def test_the_explained_label_of_a_multilabel_document_is_the_first_that_predict_gives():
    """Thresholds .9 and .1: the first class has the better score and is not given."""
    fitted = TextClassifier("multinomial", decision=Thresholds((0.9, 0.1), "probabilities")).fit(
        ["ball", "ball vote", "vote"], [("sport",), ("sport", "politics"), ("politics",)]
    )
    first = fitted.fitted_.first_labels(np.array([[2.0, 1.0], [1.0, 2.0], [4.0, 3.0], [-4.0, -5.0]]))
    assert first.tolist() == [1, 1, 0, 0]  # p = .88 and .73; .73 and .88; .98 and .95; none: the best score
