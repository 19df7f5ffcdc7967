"""Weights of classes: they are applied to the documents that a model has now, after updates as at first."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import BadData, MultinomialNB, TextClassifier, UnnaiveWarning
from unnaive.classifier.receipts import model_hash

TEXTS = ["ball goal", "ball ball", "vote law", "goal", "soup ball", "law law vote"]
LABELS = ["sport", "sport", "politics", "sport", "food", "politics"]
BY_COUNTS = ("multinomial", "bernoulli", "complement", "or-gate", "rocchio-counts")
WEIGHTS = ("balanced", {"sport": 0.3, "food": 7.0})


def trained(model, weight, texts, labels):
    return TextClassifier(model, class_weight=weight).fit(texts, labels)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("model", BY_COUNTS)
def test_update_forget_and_merge_give_the_model_of_all_documents(model, weight):
    whole = model_hash(trained(model, weight, TEXTS, LABELS).fitted_)
    start = trained(model, weight, TEXTS[:5], LABELS[:5])
    assert model_hash(start.partial_fit(TEXTS[5:], LABELS[5:]).fitted_) == whole
    more = trained(model, weight, [*TEXTS, "soup soup", "goal law"], [*LABELS, "food", "sport"])
    assert model_hash(more.forget(["soup soup", "goal law"], ["food", "sport"]).fitted_) == whole
    one, two = ([0, 2, 4], [1, 3, 5])
    parts = [
        TextClassifier(model, class_weight=weight).partial_fit(
            [TEXTS[row] for row in rows], [LABELS[row] for row in rows], classes=sorted(set(LABELS))
        )
        for rows in (one, two)
    ]
    assert model_hash(parts[0].merge(parts[1]).fitted_) == whole


def test_class_weights_by_hand():
    """Of four documents of one class and one of the other, a balanced prior is even; counts stay those of documents."""
    X, y = csr_array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1]]), [0, 0, 0, 0, 1]
    model = MultinomialNB(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(csr_array((1, 2))), [[0.5, 0.5]])
    np.testing.assert_array_equal(model.class_count_, [4, 1])
    # weighted 2.5 documents each: p(term 0 | class 0) = 3.5 / 4.5
    np.testing.assert_allclose(model.predict_proba(csr_array([[1, 0]])), [[3.5 / 4.5, 1 / 4.5]])


def test_whole_class_weights_are_repetitions():
    weighted = trained("multinomial", {"food": 3}, TEXTS, LABELS)
    repeated = TextClassifier("multinomial").fit([*TEXTS, TEXTS[4], TEXTS[4]], [*LABELS, "food", "food"])
    np.testing.assert_array_equal(weighted.scores(TEXTS), repeated.scores(TEXTS))


def test_remaking_weighs_the_documents_that_were_kept():
    made = trained("svm", "balanced", TEXTS, LABELS).remake(model="multinomial")
    assert model_hash(made.fitted_) == model_hash(trained("multinomial", "balanced", TEXTS, LABELS).fitted_)
    unweighted = trained("multinomial", "balanced", TEXTS, LABELS).remake(class_weight=None)
    assert model_hash(unweighted.fitted_) == model_hash(TextClassifier("multinomial").fit(TEXTS, LABELS).fitted_)


def test_wrong_class_weights_are_refused_in_a_sentence():
    for weight, words in [
        ({"sport": -1.0}, "class_weight of 'sport' is -1; give 0, or a number from 1e-09 to 1e"),
        ({"sport": float("nan")}, "class_weight of 'sport' is nan; give 0, or a number"),
        ({"sports": 1.0}, "'sports'"),
        ("even", "class_weight is 'even'"),
        (dict.fromkeys(("food", "politics", "sport"), 0.0), "class_weight is 0 for every class"),
    ]:
        for model in ("multinomial", "svm"):
            for verb in ("fit", "partial_fit"):
                with pytest.raises(BadData, match=words):
                    getattr(TextClassifier(model, class_weight=weight), verb)(TEXTS, LABELS)
    for verb in ("fit", "partial_fit"):
        with pytest.raises(BadData, match="class_weight needs one label for each document"):
            getattr(TextClassifier("multinomial", class_weight="balanced"), verb)(TEXTS, [(name,) for name in LABELS])


def test_merging_models_with_other_class_weights_warns():
    other = TextClassifier("multinomial").fit(TEXTS, LABELS)
    with pytest.warns(UnnaiveWarning, match="the models differ in class_weight"):
        trained("multinomial", "balanced", TEXTS, LABELS).merge(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained("multinomial", "balanced", TEXTS, LABELS).merge(trained("multinomial", "balanced", TEXTS, LABELS))
