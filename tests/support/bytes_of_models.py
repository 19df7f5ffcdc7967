"""Checksums of the model files and the answers of every model: they must be the same on every processor."""

import contextlib
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import unnaive
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import MODELS

NETWORKS = {"restarts": 4, "average": 1, "features": 8}
SMALL: dict[str, dict[str, Any]] = {
    "hierarchical": NETWORKS,
    "hierarchical-naive-bayes": NETWORKS,
    "maxent": {"max_iter": 50},
    "word-clusters": {"terms": 200},
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "multinomial": [
        {"smoothing": "jelinek-mercer"},
        {"smoothing": "absolute", "scheme": "one-vs-rest"},
        {"optimise": "macro-f1"},
        {"calibrate": "isotonic"},
        {"ngrams": (1, 2), "select": ("chi2", 300)},
    ],
    "bernoulli": [{"smoothing": "jelinek-mercer"}, {"scheme": "one-vs-rest"}],
    "complement": [{"norm": True}],
    "maxent": [{"solver": "gis"}, {"solver": "gis", "early_stopping": False}, {"scheme": "one-vs-rest"}],
    "hierarchical": [{"clustering": "avg"}, {"clustering": "dep"}],
    "hos": [{"weights": "tfidf"}],
    "or-gate": [{"weights": "laplace", "counts": False}],
    "auto": [{"budget": "fast"}, {"budget": "thorough"}, {"optimise": "macro-f1"}],
}
N_DOCS = 260  # tickets


def run_cases(only: str = "") -> Iterator[tuple[str, str]]:
    """(case, checksum) of every model: on single labels, on tags, with calibration, with other settings, on vectors."""
    for name in MODELS:
        if only and name != only:
            continue
        small = SMALL.get(name, {})
        yield from _run(name, "queue", small)
        yield from _run(name, "tags", small)
        yield from _run(name, "queue", {**small, "calibrate": "temperature"})
        yield from _run(name, "tags", {**small, "calibrate": "platt"})
        for settings in SETTINGS.get(name, []):
            yield from _run(name, "queue", {**small, **settings})
            if name == "auto":
                yield from _run(name, "tags", {**small, **settings})
        yield from _run_vectors(name, small)


def _run(name: str, labels: str, settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    corpus = load_tickets(labels).part("train")
    texts = corpus.texts[:N_DOCS]
    targets = [label for (label,) in corpus.labels[:N_DOCS]] if labels == "queue" else corpus.labels[:N_DOCS]
    title = f"{name} {labels} {json.dumps(settings)}"
    try:
        model = unnaive.TextClassifier(name, **settings).fit(texts, targets)
    except (unnaive.UnnaiveError, TypeError, ValueError) as problem:
        yield title, f"refused: {problem}"
        return
    yield title, _sum_of_file(model)
    yield f"{title} answers", _sum_of_answers(model, corpus.texts[N_DOCS:])


def _run_vectors(name: str, settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    chance = np.random.default_rng(7)
    labels = chance.integers(0, 3, 150)
    vectors = (chance.normal(size=(150, 16)) + labels[:, None] * 0.4).astype(np.float32)
    rows = [
        {"v": vector, "t": f"word{label} and{number % 7}"}
        for number, (vector, label) in enumerate(zip(vectors, labels, strict=True))
    ]
    title = f"{name} vectors {json.dumps(settings)}"
    try:
        model = unnaive.TextClassifier(name, fields={"t": "text", "v": "vector"}, **settings).fit(
            rows, [f"c{label}" for label in labels]
        )
    except (unnaive.UnnaiveError, TypeError, ValueError) as problem:
        yield title, f"refused: {problem}"
        return
    yield title, _sum_of_file(model)


def _sum_of_file(model: unnaive.TextClassifier) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.model"
        model.save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _sum_of_answers(model: unnaive.TextClassifier, texts: Any) -> str:
    answers = [model.scores(texts)]
    if hasattr(model, "predict_proba"):
        with contextlib.suppress(unnaive.UnnaiveError):
            answers.append(model.predict_proba(texts))
    return hashlib.sha256(b"".join(np.ascontiguousarray(table).tobytes() for table in answers)).hexdigest()[:16]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for case, checksum in run_cases(*sys.argv[1:]):
        sys.stdout.write(f"{case}\t{checksum}\n")
