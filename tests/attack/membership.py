"""The membership attack: who has a model after forgetting, the other documents and the settings, looks for the rest.

A hundred of 200 candidates, drawn by a coin, were learnt and forgotten again; the attacker says of each whether it was
one of them. He has the file and trains a model of the other documents himself; he takes those candidates for members
of which the file is surer than his own model, by the ranks of the difference.
"""

from __future__ import annotations

import warnings

import numpy as np

from unnaive import TextClassifier, UnnaiveWarning
from unnaive.models.catalogue import find_model

N_CANDIDATES = 200
SMALL = {
    "restarts": 1, "average": 1, "members": 2, "clusters": 2, "k": 3, "max_iter": 30, "budget": "fast", "features": 6,
    "most": 6,
}  # fmt: skip
WORDS = {
    "sport": ("ball", "goal", "team", "game", "win", "coach", "match"),
    "politics": ("vote", "law", "state", "party", "tax", "poll", "mayor"),
    "food": ("soup", "bread", "salt", "cook", "oven", "rice", "plum"),
}


def draw_documents(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts of three classes, a quarter of their words from the others, and in each a name that no other has."""
    random = np.random.default_rng(seed)
    every = [word for words in WORDS.values() for word in words]
    labels = [list(WORDS)[number % 3] for number in range(n)]
    texts = [
        " ".join([*random.choice(WORDS[label], 6), *random.choice(every, 2), *[f"name{seed}n{number}"] * 2])
        for number, label in enumerate(labels)
    ]
    return texts, labels


def make_classifier(name: str) -> TextClassifier:
    """The model as the attack meets it: calibrated, so that there are held-out scores, except where it is by itself."""
    known = find_model(name).declared()
    settings = {key: value for key, value in SMALL.items() if key in known and type(known[key].default) is type(value)}
    return TextClassifier(name, calibrate=None if name == "auto" else "temperature", **settings)


def forgotten_file(name: str, members: np.ndarray, *, forget: bool = True, **options: object) -> TextClassifier:
    """The model that learnt sixty others and the members, and then forgot these, unless told otherwise."""
    others, candidates = draw_documents(60, 1), draw_documents(N_CANDIDATES, 2)
    mine = [[values[row] for row in np.flatnonzero(members)] for values in candidates]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        model = make_classifier(name).fit(others[0] + mine[0], others[1] + mine[1])
        return model.forget(*mine, **options) if forget else model


def guess_members(name: str, model: TextClassifier) -> np.ndarray:
    """Which half of the candidates the attacker takes for members: those whose label the model gained most for."""
    texts, labels = draw_documents(N_CANDIDATES, 2)
    own = forgotten_file(name, np.zeros(N_CANDIDATES, bool), forget=False)
    column = [list(model.classes_).index(label) for label in labels]
    gain = [one.predict_log_proba(texts)[np.arange(len(texts)), column] for one in (model, own)]
    order = np.argsort(np.maximum(gain[1], -50) - np.maximum(gain[0], -50), kind="stable")
    guessed = np.zeros(len(texts), bool)
    guessed[order[: len(texts) // 2]] = True
    return guessed
