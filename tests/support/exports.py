"""What tests of all export targets share: models by token rules, trained on hard texts so that they know such terms."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from unnaive import TextClassifier
from unnaive.data.word_vectors import WordVectors
from unnaive.interop.export import c_engines
from unnaive.interop.export.c_engines import _named, _with_lengths
from unnaive.interop.export.c_header import header_content, model_data
from unnaive.interop.export.conformance import TOLERANCE, EngineAgreement, compare_answers
from unnaive.interop.export.engines import read_answers
from unnaive.interop.export.hard_texts import hard_texts
from unnaive.interop.export.portable import portable_model
from unnaive.learning.fitted import FittedModel
from unnaive.text.field import Field
from unnaive.text.token_rule import OPTIONS

COMPILER = shutil.which("gcc") or shutil.which("clang")
ENGLISH = [
    "refund", "invoice", "login", "password", "crash", "error", "report", "export", "feature", "price", "team", "the",
]  # fmt: skip

VECTORS = WordVectors.of([*ENGLISH, "unseen", "goal"], np.random.default_rng(3).normal(size=(len(ENGLISH) + 2, 5)))

# name → parameters of TextClassifier; every kind of weighting, link, calibration and decision is among them
MODELS: dict[str, dict[str, Any]] = {
    "multinomial": {"model": "multinomial"},
    "bernoulli": {"model": "bernoulli"},
    "complement-isotonic": {"model": "complement", "calibrate": "isotonic"},
    "multinomial-temperature": {"model": "multinomial", "calibrate": "temperature"},
    "or-gate": {"model": "or-gate"},
    "or-gate-platt": {"model": "or-gate", "calibrate": "platt"},
    "rocchio": {"model": "rocchio"},
    "rocchio-counts": {"model": "rocchio-counts"},
    "hos": {"model": "hos"},
    "maxent-platt": {"model": "maxent", "calibrate": "platt"},
    "svm": {"model": "svm"},
    "nbsvm": {"model": "nbsvm"},
    "nbsvm-macro-f1": {"model": "nbsvm", "optimise": "macro-f1"},
    "auto": {"model": "auto"},
    "auto-vectors": {"model": "auto", "word_vectors": VECTORS, "budget": "fast"},
}
MULTILABEL: dict[str, dict[str, Any]] = {
    "sets-auto": {"model": "auto"},
    "sets-auto-fast": {"model": "auto", "budget": "fast"},  # words alone, as SQL needs
    "sets-multinomial": {"model": "multinomial"},
    "sets-or-gate": {"model": "or-gate"},
    "sets-svm-platt": {"model": "svm", "calibrate": "platt"},
    "sets-maxent": {"model": "maxent", "decision": "rcut"},
}
RULES: dict[str, dict[str, Any]] = {
    "words": {},
    "turkish": {"language": "tr", "symbols": True},
    "pairs": {"ngrams": (1, 2), "stopwords": "smart", "min_length": 1},
    "long": {"ngrams": (2, 3), "unspaced": "whole", "digits": False, "emoji": False, "min_length": 3},
    "characters": {"analyzer": "char", "char_ngrams": (1, 3), "symbols": True},
    "in-words": {"analyzer": "char", "char_borders": "words", "char_ngrams": (3, 5), "digits": False},
    "both": {"analyzer": "both", "ngrams": (1, 2), "symbols": True, "lowercase": False},
    "stops": {"stopwords": ("the", "北", "京大", "👍", ":)", "ΣΊΣΥΦΟΣ"), "symbols": True, "char_borders": "words"},
}
CASES = [
    ("multinomial", "words"), ("bernoulli", "pairs"), ("complement-isotonic", "turkish"), ("or-gate", "long"),
    ("multinomial-temperature", "both"), ("rocchio", "characters"), ("maxent-platt", "in-words"), ("svm", "stops"),
    ("nbsvm", "both"), ("nbsvm-macro-f1", "words"), ("auto", "words"), ("or-gate-platt", "turkish"), ("hos", "words"),
    ("rocchio-counts", "pairs"), ("sets-auto", "words"), ("sets-multinomial", "turkish"), ("sets-or-gate", "pairs"),
    ("sets-svm-platt", "characters"), ("sets-maxent", "both"),
    ("auto-vectors", "stops"),
]  # fmt: skip  # every model and every rule at least once
QUICK = [("multinomial", "words"), ("nbsvm", "both")]  # the others are slow tests


DRAWN: dict[str, tuple[Any, ...]] = {  # the values to draw of options that have neither choices nor two values
    "language": ("en", "tr", None),
    "min_length": (1, 2, 3),
    "stopwords": (None, "smart", ("the", "北", "京大", "👍", ":)", "ΣΊΣΥΦΟΣ")),
    "ngrams": ((1, 1), (1, 2), (2, 2), (2, 3)),
    "char_ngrams": ((1, 3), (2, 5), (3, 4)),
    "fields": (None, (Field("body", "text"),)),
}


def option_values(name: str) -> tuple[Any, ...]:
    """The values of a token option that are tried."""
    declared = OPTIONS[name]
    if name in DRAWN:
        return DRAWN[name]
    return (False, True) if declared.choices is None else tuple(dict.fromkeys((declared.default, *declared.choices)))


def drawn_rule(targets: Iterable[str], random: Random) -> dict[str, Any]:
    """A value, drawn evenly, for each token option that all these exports carry; the others keep their default."""
    return {
        name: random.choice(option_values(name))
        for name, declared in OPTIONS.items()
        if name != "fields" and set(targets) <= set(declared.exports)
    }


@lru_cache(maxsize=64)
def fitted_case(model: str, rule: str) -> FittedModel:
    """A model of the table, trained on hard texts read by a rule of the table."""
    return fitted_rule(model, RULES[rule])


def fitted_rule(model: str, rule: dict[str, Any]) -> FittedModel:
    """A model of the table, trained on hard texts read by a rule."""
    random = Random(7)
    texts = [f"{text} {random.choice(ENGLISH)}" for text in hard_texts(ENGLISH, 240, seed=5)]
    if model in MULTILABEL:
        labels: list[Any] = [tuple(name for name in "abc" if random.random() < 0.5) or ("a",) for _ in texts]
        how = MULTILABEL[model]
    else:
        labels = [random.choice(["access", "bug", "éclair"]) for _ in texts]
        how = MODELS[model]
    return TextClassifier(**how, **rule, random_state=0).fit(texts, labels).fitted_


def drawn_texts(fitted: FittedModel, n: int, seed: int) -> list[str]:
    """Hard texts that have terms of the model in them."""
    terms = [] if fitted.vocabulary is None else fitted.vocabulary.terms
    return list(hard_texts(terms[:: max(1, len(terms) // 2000)], n, seed=seed))


def build_c_program(folder: Path, header: bytes | None = None) -> Path:
    """The header, that of linear models if none is given, built with sanitizers: it is the same for all models."""
    (folder / "unnaive.h").write_bytes(header_content() if header is None else header)
    (folder / "check.c").write_bytes((c_engines.RUNTIME / "check.c.in").read_bytes())
    flags = [*c_engines.WARNINGS, *c_engines.SANITIZERS, "-O1"]
    subprocess.run([COMPILER, *flags, "check.c", "-o", "check", "-lm"], cwd=folder, check=True, capture_output=True)
    return folder / "check"


def run_c_program(program: Path, fitted: FittedModel, lines: list[str], folder: Path) -> EngineAgreement:
    """How the program agrees with the lines of a conformance file."""
    (folder / "model.bin").write_bytes(model_data(portable_model(fitted, "c")))
    command = [program, folder / "model.bin"]
    done = subprocess.run(command, input=_with_lengths(lines), capture_output=True, check=True)
    answers = [_named(answer, fitted.classes) for answer in read_answers(done.stdout.decode())]
    return compare_answers("c", TOLERANCE, lines, answers)
