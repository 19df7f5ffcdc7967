"""Every model, calibrated or tuned: after any sequence of changes its file is that of training on its documents."""

import warnings

import numpy as np
import pytest

from unnaive import TextClassifier, UnnaiveWarning
from unnaive.classifier.receipts import model_hash
from unnaive.models.catalogue import MODELS, find_model

WORDS = {
    "sport": ("ball", "goal", "team", "game"),
    "politics": ("vote", "law", "state", "party"),
    "food": ("soup", "bread", "salt", "cook"),
}
SMALL = {"restarts": 1, "average": 1, "members": 2, "clusters": 2, "k": 3, "max_iter": 20, "features": 6}
QUICK = ("multinomial", "nbsvm")
WAYS = {
    "temperature": {"calibrate": "temperature"},
    "isotonic": {"calibrate": "isotonic", "class_weight": "balanced"},
    "macro-f1": {"optimise": "macro-f1"},
    "multilabel": {},
}

SEVERAL = ("multinomial", "complement", "nbsvm", "maxent", "auto")  # with all of these, others with the first and last
CASES = [
    pytest.param(name, way, marks=() if name in QUICK else pytest.mark.slow)
    for name in MODELS
    for way in (WAYS if name in SEVERAL else ("temperature", "multilabel"))
]


def documents(seed, n):
    """Texts with one label each, and sets of labels; a quarter are short and repeat, half of these in all classes."""
    random = np.random.default_rng(seed)
    every = [word for words in WORDS.values() for word in words]
    labels = [list(WORDS)[number % 3] for number in range(n)]
    texts = [" ".join([*random.choice(WORDS[label], 4), *random.choice(every, 3)]) for label in labels]
    texts[3::8], texts[7::8] = ["thanks"] * len(texts[3::8]), [WORDS[label][0] for label in labels[7::8]]
    return texts, labels, [tuple({label, *random.choice(list(WORDS), random.integers(2))}) for label in labels]


def classifier(name, way):
    known = find_model(name).declared()
    settings = {key: value for key, value in SMALL.items() if key in known and isinstance(known[key].default, int)}
    weighted = find_model(name).traits.takes_sample_weight
    options = {key: value for key, value in WAYS[way].items() if weighted or key != "class_weight"}
    return TextClassifier(name, **settings, **({"budget": "fast"} if name == "auto" else {}), **options)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_the_file_after_any_sequence_is_the_file_of_training(name, way):
    texts, labels, sets = documents(5, 72)
    targets = sets if way == "multilabel" else labels

    def rows(start, end, step=1):
        return texts[start:end:step], targets[start:end:step]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        whole = classifier(name, way).fit(*rows(0, 60))
        parts = classifier(name, way).fit(*rows(48, 72)).partial_fit(*rows(24, 48))
        parts.forget(*rows(60, 72)).merge(classifier(name, way).fit(*rows(0, 24)))
    assert model_hash(parts.fitted_) == model_hash(whole.fitted_)
    if way != "multilabel":
        assert whole.fitted_.calibration is not None
        assert whole.fitted_.conformal.overall.n == 60
