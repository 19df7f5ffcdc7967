"""Sequences with the service: it teaches, forgets, rolls back and classifies, and answers what the model predicts."""

from __future__ import annotations

import gc
import tempfile
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from statemachine.data import Document, Model, labels_of
from statemachine.draws import SeededDraws
from statemachine.invariants import PROBES, check_made_of_documents, check_model
from statemachine.sequences import sequence_names
from statemachine.verbs import Verbs, follow
from unnaive import TextClassifier, UnnaiveError, UnnaiveWarning
from unnaive.classifier.receipts import model_hash
from unnaive.learning.tuned_models import lost_tuning

STEPS = 5  # requests that change something, at most
TOKEN = "a-token-for-sequences"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
ASK = {"texts": PROBES, "top_k": None}


def run_service_sequence(number: int) -> int:
    """Run a sequence; how many requests were refused, each with a sentence."""
    draws = SeededDraws(number)
    verbs = Verbs(sequence_names(number), ("texts",))
    try:
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore", UnnaiveWarning)
            model = verbs.start(draws)
            if model is None:
                return 1
            return _serve(draws, model, Path(folder) / "served.model")
    finally:
        verbs.close()


def _serve(draws: SeededDraws, model: Model, path: Path) -> int:
    """Serve a model and change it; afterwards its file is the model that the same changes give without a service."""
    from fastapi.testclient import TestClient

    from unnaive.apps.service.app import ServiceOptions, create_app

    model.open().save(path)
    versions, refused = [model], 0
    options = ServiceOptions(models={"served": str(path)}, token=TOKEN, hosts=("testserver",))
    with TestClient(create_app(options)) as client:
        gc.unfreeze()  # thousands of services in one process would else keep each other
        check_answers(client, model)
        for _ in range(draws.random.randint(1, STEPS)):
            made, request = _change(draws, versions)
            answer = client.post(f"/v1/models/served/{request[0]}", json=request[1], headers=HEADERS)
            if made is None:
                assert 400 <= answer.status_code < 500, f"{request} was answered by {answer.status_code} {answer.text}"
                check_sentence(answer.json()["error"])
                refused += 1
            else:
                assert answer.status_code == 200, f"{request} was answered by {answer.status_code} {answer.text}"
                assert answer.json()["version"] == len(versions)
                versions.append(made)
            check_answers(client, versions[-1])
    written = TextClassifier.load(path)
    assert model_hash(written.fitted_) == model_hash(versions[-1].fitted), "the file is another model"
    check_model(versions[-1], path.parent)
    check_made_of_documents(versions[-1])
    return refused


def _change(draws: SeededDraws, versions: list[Model]) -> tuple[Model | None, tuple[str, dict[str, Any]]]:
    """The model after a request, None where it is to be refused; and the request."""
    model = versions[-1]
    kind = draws.choose(("teach", "teach", "forget", "rollback"))
    if kind == "rollback":
        # the held-out scores of a search do not come back: of a choice that was kept others are made (test_record.py)
        kept = model.fitted.choice_kept
        place = draws.choose([n for n, one in enumerate(versions) if one.fitted.choice_kept == kept])
        restored = follow(versions[place], versions[place].fitted, "rollback")
        lost = any(lost_tuning(one.fitted, two.fitted) for one, two in pairwise(versions[place:]))
        return None if lost else restored, (kind, {"version": place})
    own = sorted((model.documents or Counter()).elements())
    rows = draws.documents(multilabel=model.multilabel) if kind == "teach" or not own else draws.some(own)
    grow = draws.choose((False, True))
    body = {"documents": [document_body(row, multilabel=model.multilabel) for row in rows]}
    if kind == "teach":
        body["new_classes"] = grow  # type: ignore[assignment]
    else:
        body["unchecked"] = True  # type: ignore[assignment]  # of documents of the training
    return changed(model, kind, rows, grow=grow), (kind, body)


def changed(model: Model, kind: str, rows: list[Document], *, grow: bool) -> Model | None:
    """The model after documents were learnt or forgotten without a service; None where that is refused."""
    made = model.open()
    texts, labels = [text for text, _ in rows], labels_of(rows, multilabel=model.multilabel)
    try:
        if kind == "teach":
            made.partial_fit(texts, labels, new_classes=grow, search="keep")
        else:
            made.forget(texts, labels, search="keep")
    except UnnaiveError:
        return None
    before = model.documents or Counter()
    after = before + Counter(rows) if kind == "teach" else before - Counter(rows)
    return follow(model, made.fitted_, kind, documents=after)


def document_body(row: Document, *, multilabel: bool) -> dict[str, Any]:
    """A document as the service takes it."""
    text, labels = row
    return {"text": text, "labels": list(labels)} if multilabel else {"text": text, "label": labels[0]}


def check_answers(client: Any, model: Model) -> None:
    """predict = the label, the labels and the first class of the service = the class that it explains."""
    answer = client.post("/v1/classify", json=ASK, headers=HEADERS)
    assert answer.status_code == 200, answer.text
    classifier = model.open()
    predicted = classifier.predict(PROBES)
    probable = model.fitted.probabilistic
    values = classifier.predict_proba(PROBES) if probable else classifier.scores(PROBES)
    for place, result in enumerate(answer.json()["results"]):
        labels = list(predicted[place]) if model.multilabel else [predicted[place]]
        assert result["labels"] == labels, f"{PROBES[place]!r}: predicted {labels}, served {result['labels']}"
        assert result["label"] == (labels[0] if labels else None)
        explained = classifier.explain(PROBES[place]).label
        first = result["classes"][0]["label"]
        assert first == explained, f"{PROBES[place]!r}: explained {explained}, first of the service {first}"
        served = {one["label"]: one["probability" if probable else "score"] for one in result["classes"]}
        assert sorted(served) == sorted(model.fitted.classes)
        np.testing.assert_array_equal([served[label] for label in model.fitted.classes], values[place])
    place = len(answer.json()["results"]) - 3
    one = client.post("/v1/classify", json={"text": PROBES[place], "explain": True}, headers=HEADERS)
    assert one.json()["results"][0]["explanation"]["label"] == classifier.explain(PROBES[place]).label


def check_sentence(said: str) -> None:
    """An error is one sentence."""
    assert said == said.strip() != ""
    assert "\n" not in said
    assert "Traceback" not in said
