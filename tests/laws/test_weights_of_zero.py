"""Every model × weights of classes: 0 means that the documents are left out, and what no model can use is refused."""

import numpy as np
import pytest

from unnaive import BadData, TextClassifier
from unnaive.models.catalogue import MODELS, find_model

pytestmark = pytest.mark.filterwarnings("ignore::unnaive.UnnaiveWarning")  # few passes do not converge

WORDS = {
    "sport": ("ball", "goal", "team", "game"),
    "politics": ("vote", "law", "state", "party"),
    "food": ("soup", "bread", "salt", "cook"),
}
SMALL = {"restarts": 2, "average": 1, "members": 2, "clusters": 2, "k": 3, "max_iter": 30}
PRECISE = {"label-tree": {"tol": 1e-9}}  # where the solver stops sooner depends on the classes beside
QUICK = ("multinomial", "nbsvm", "tan")
# two classes are told apart by one network; beside a third, of a name and no documents, each has its own
ONE_NETWORK_FOR_A_PAIR = ("hierarchical", "hierarchical-naive-bayes")
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MODELS]


def documents():
    """Sixty texts of three classes, each with some words of the others, and a few with one that no other class has."""
    random = np.random.default_rng(0)
    every = [word for words in WORDS.values() for word in words]
    labels = [list(WORDS)[number % 3] for number in range(60)]
    texts = [
        " ".join([*random.choice(WORDS[label], 4), *random.choice(every, 3), f"{label}{number % 4}"])
        for number, label in enumerate(labels)
    ]
    return texts, labels


TEXTS, LABELS = documents()
REST = [row for row, label in enumerate(LABELS) if label != "food"]
REST_TEXTS, REST_LABELS = [TEXTS[row] for row in REST], [LABELS[row] for row in REST]


def classifier(name, **options):
    known = find_model(name).declared()
    small = {key: value for key, value in SMALL.items() if key in known}
    return TextClassifier(name, **small, **PRECISE.get(name, {}), **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_class_of_weight_0_is_one_whose_documents_are_left_out(name):
    weighted = classifier(name, class_weight={"food": 0}).fit(TEXTS, LABELS)
    named = classifier(name).partial_fit(REST_TEXTS, REST_LABELS, classes=sorted(WORDS))
    np.testing.assert_array_equal(weighted.scores(TEXTS), named.scores(TEXTS))
    without = classifier(name).fit(REST_TEXTS, REST_LABELS)
    if name not in ONE_NETWORK_FOR_A_PAIR:
        np.testing.assert_array_equal(weighted.predict(TEXTS), without.predict(TEXTS))
    assert weighted.vocabulary_.terms == without.vocabulary_.terms


@pytest.mark.parametrize("name", NAMES)
def test_if_one_of_two_classes_has_weight_0_every_text_gets_the_other(name):
    model = classifier(name, class_weight={"sport": 0, "politics": 1}).fit(REST_TEXTS, REST_LABELS)
    assert set(model.predict([*TEXTS, "", "unheard-of words"])) == {"politics"}
    assert list(model.classes_) == ["politics", "sport"]


@pytest.mark.parametrize("name", NAMES)
def test_documents_of_weight_0_are_left_out(name):
    if not find_model(name).traits.takes_sample_weight:
        pytest.skip("it takes no sample_weight, and says so")
    weights = [float(label != "food") for label in LABELS]
    weighted = classifier(name).fit(TEXTS, LABELS, sample_weight=weights)
    named = classifier(name).partial_fit(REST_TEXTS, REST_LABELS, classes=sorted(WORDS))
    np.testing.assert_array_equal(weighted.scores(TEXTS), named.scores(TEXTS))


@pytest.mark.parametrize("weight", [1e300, 1e-300, 2e9])
@pytest.mark.parametrize("name", NAMES)
def test_weights_out_of_range_are_refused_by_every_model(name, weight):
    with pytest.raises(
        BadData, match=r"^class_weight of 'food' is [0-9e+.-]+; give 0, or a number from 1e-09 to 1e\+09$"
    ):
        classifier(name, class_weight={"food": weight}).fit(TEXTS, LABELS)
    if find_model(name).traits.takes_sample_weight:
        with pytest.raises(BadData, match=r"^the weight of document 0 is "):
            classifier(name).fit(TEXTS, LABELS, sample_weight=[weight] * len(TEXTS))


@pytest.mark.parametrize("weight", [1e9, 1e-9])
@pytest.mark.parametrize("name", NAMES)
def test_the_largest_and_the_smallest_weight_give_finite_scores(name, weight):
    if not find_model(name).traits.takes_sample_weight:
        pytest.skip("it takes no sample_weight, and says so")
    model = classifier(name, class_weight={"food": weight}).fit(TEXTS, LABELS)
    assert np.isfinite(model.scores(TEXTS)).all()
    assert set(model.predict(TEXTS)) <= set(WORDS)
