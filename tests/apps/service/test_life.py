"""A model's life: its file is replaced, changed by commands or trained anew, and what was taught stays taught."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.app import create_app
from unnaive.apps.service.served import ServedModel
from unnaive.classifier.receipts import model_hash
from unnaive.curation.teaching.changes import Change, Document

from .conftest import WITH_TOKEN, options, tickets

pytestmark = pytest.mark.slow  # `make quick` stays under a minute

TEXTS, LABELS = ["good ball", "fair vote", "ball game", "vote law"] * 3, ["sport", "politics"] * 6
Run = Callable[..., tuple[int, str, str]]  # a command: its exit code, stdout and stderr
BALL, LAW = Document("frobnicator ball", ("sport",)), Document("law book", ("politics",))


def train(path: Path, model: str = "multinomial", texts: list[str] = TEXTS, labels: list[str] = LABELS) -> Path:
    """A model file, as Python writes it: with nothing that knows the texts."""
    TextClassifier(model).fit(texts, labels).save(path)
    return path


def write_lines(path: Path, *documents: tuple[str, str]) -> Path:
    """Labelled documents in a file."""
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in documents))
    return path


def train_by_command(run: Run, path: Path, *more: tuple[str, str], model: str = "multinomial") -> Path:
    """A model file with the hashes of its texts."""
    data = write_lines(path.with_suffix(".jsonl"), *zip(TEXTS, LABELS, strict=True), *more)
    assert run("train", data, "-o", path, "-m", model)[0] == 0
    return path


def n_docs(served: ServedModel) -> int:
    """How many documents the model has."""
    statistic = served.version.fitted.statistic
    assert statistic is not None
    return int(statistic.n_docs)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return train(tmp_path / "small.model")


def test_a_file_that_was_replaced_is_taken_over_and_what_was_taught_carried_over(small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    served.change("teach", Change((BALL, LAW)))
    served.change("teach", Change((Document("soup", ("food",)),)), new_classes=True)
    served.forget([LAW])
    assert not served.reload()
    retrained = TextClassifier("bernoulli").fit(TEXTS * 2, LABELS * 2)
    retrained.save(small)
    assert served.reload()
    assert served.version.number == 4
    expected = retrained.partial_fit([BALL.text, "soup"], ["sport", "food"], new_classes=True).fitted_
    assert model_hash(served.version.fitted) == model_hash(expected)
    assert model_hash(TextClassifier.load(small).fitted_) == model_hash(expected)  # written at once
    with pytest.raises(Refused, match="event 4 loaded another model file; roll back"):
        served.undo(4)
    served.undo(1)  # what is left of it
    assert n_docs(served) == 25
    served.close()
    again = ServedModel("small", small, teachable=True)
    assert (again.version.number, n_docs(again)) == (5, 25)
    again.close()


def test_a_rollback_goes_back_to_the_model_file_before(small: Path) -> None:
    """And forth again, exactly; what was taught to the one does not get lost with the other."""
    served = ServedModel("small", small, teachable=True)
    hashes = [model_hash(served.version.fitted)]

    def note() -> None:
        hashes.append(model_hash(served.version.fitted))
        assert served.version.number == len(hashes) - 1

    served.change("teach", Change((BALL,)))
    note()
    served.change("teach", Change((LAW,)))
    note()
    TextClassifier("multinomial").fit(["good ball", "soup bowl"] * 4, ["sport", "food"] * 4).save(small)
    served.reload()  # without politics
    note()
    served.change("teach", Change((Document("soup", ("food",)),)))
    note()
    for place, version in enumerate((2, 1, 4, 3, 0, 6, 8)):
        served.roll_back(version)
        note()
        assert hashes[-1] == hashes[version], (place, version)
        if place % 2:
            served.close()
            assert model_hash(TextClassifier.load(small).fitted_) == hashes[-1]
            served = ServedModel("small", small, teachable=True)
            assert model_hash(served.version.fitted) == hashes[-1]
    assert served.record is not None
    assert all(one["restorable"] for one in served.record.events(20))
    served.record.previous_path.unlink()
    restorable = [one["version"] for one in served.record.events(20) if one["restorable"]]
    assert sorted(restorable) == [3, 4, 7, 8, 11]
    with pytest.raises(Refused, match="version 2 cannot be restored: version 3 loaded another model file"):
        served.roll_back(2)
    served.close()


def test_the_same_happens_at_a_start(small: Path, caplog: pytest.LogCaptureFixture) -> None:
    served = ServedModel("small", small, teachable=True)
    served.change("teach", Change((BALL,)))
    served.close()
    train(small, "bernoulli")
    with caplog.at_level(logging.WARNING, "unnaive.service"):
        again = ServedModel("small", small, teachable=True)
    assert "loaded another model file as version 2: 1 document carried over" in caplog.text
    assert n_docs(again) == 13
    again.close()


def test_what_cannot_be_carried_over_is_left_out_with_the_reason(small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    served.change("teach", Change((BALL, LAW)))
    served.forget([Document("good ball", ("sport",))], unchecked=True)
    TextClassifier("multinomial").fit(["good ball", "soup bowl"] * 4, ["sport", "food"] * 4).save(small)
    served.reload()
    assert served.record is not None
    event = served.record.events(1, documents=True)[0]
    assert event["left"] == {
        "the model has no class 'politics'": 1,
        "it was forgotten before, and the model cannot tell whether it has learnt it again": 1,
    }
    assert [(one["text"], one["sign"]) for one in event["changes"]] == [("good ball", 1), ("law book", -1)]
    with pytest.raises(Refused, match="never taught"):
        served.forget([LAW])
    served.forget([BALL])
    assert n_docs(served) == 8
    served.close()


@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
@pytest.mark.slow
def test_documents_that_the_new_model_has_are_not_taught_again(run: Run, tmp_path: Path, model: str) -> None:
    """By hashes of texts, or by the documents that it keeps; a forgotten one is forgotten again."""
    path = train_by_command(run, tmp_path / "small.model", model=model)
    served = ServedModel("small", path, teachable=True)
    served.change("teach", Change((BALL, LAW)))
    corrected = Document("good ball", ("politics",))
    served.change("teach", Change((corrected,)))  # a text that it was trained with, with another label
    train_by_command(run, path, (BALL.text, "sport"), model=model)
    served.reload()
    assert n_docs(served) == 12 + 3
    served.close()


@pytest.mark.parametrize("hashes", [False, True])
@pytest.mark.slow
def test_a_command_on_a_served_model(run: Run, tmp_path: Path, hashes: bool) -> None:
    """`unnaive update` has what was taught before it, and only the rest is taught to what it made."""
    path = tmp_path / "small.model"
    path = train_by_command(run, path) if hashes else train(path)
    served = ServedModel("small", path, teachable=True)
    served.change("teach", Change((BALL,)))
    served.write_file()
    served.change("teach", Change((LAW,)))
    assert run("update", path, write_lines(tmp_path / "more.jsonl", ("a new ball", "sport")))[0] == 0
    assert served.reload()
    assert (n_docs(served), served.version.number) == (15, 3)
    served.close()
    again = ServedModel("small", path, teachable=True)
    assert n_docs(again) == 15
    assert run("forget", path, write_lines(tmp_path / "gone.jsonl", (BALL.text, "sport")))[0] == 0
    assert again.reload()
    assert n_docs(again) == 14  # and is not taught again
    again.close()


def test_a_damaged_file_is_reported_and_the_model_still_answers(small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    whole = small.read_bytes()
    small.write_bytes(whole[: len(whole) // 2])
    assert not served.reload()
    assert "could not be loaded" in str(served.problems.preventing)
    assert served.version.fitted.scores(["ball"]).shape == (1, 2)
    small.write_bytes(whole)
    assert not served.reload()  # the file of before
    assert served.problems.preventing is None
    served.close()


def test_models_that_are_only_read_are_replaced_too(small: Path) -> None:
    served = ServedModel("small", small, teachable=False)
    TextClassifier("multinomial").fit(["one two", "three four"], ["x", "y"]).save(small)
    assert served.reload()
    assert (served.version.number, list(served.version.fitted.classes)) == (1, ["x", "y"])


def test_rebase_by_command(run: Run, small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    served.change("teach", Change((BALL, LAW)))
    served.close()
    new = small.with_name("new.model")
    TextClassifier("multinomial").fit(["good ball", "soup bowl"] * 4, ["sport", "food"] * 4).save(new)
    record = f"{small}.record"
    code, out, _ = run("rebase", new, "--record", record, "-o", small, "--json")
    found = json.loads(out)
    assert (code, found["taught"], found["present"]) == (0, 1, 0)
    reason = "the model has no class 'politics'"
    assert found["left"] == [{"text": LAW.text, "labels": ["politics"], "was": "taught", "reason": reason}]
    again = ServedModel("small", small, teachable=True)  # it goes with its record
    assert (again.version.number, n_docs(again)) == (2, 9)
    code, _, err = run("rebase", new, "--record", record)
    assert (code, "another service is teaching" in err) == (2, True)
    again.close()
    code, _, err = run("rebase", small, "--record", record)
    assert (code, "belongs to" in err) == (2, True)
    assert "1 document carried over" in run("rebase", new, "--record", record)[1]
    assert run("rebase", new, "--record", "nosuch.record")[0] == 2


def test_health_says_the_same_in_all_protocols(model_file: Path) -> None:
    with TestClient(create_app(options(model_file, token_always=True))) as client:
        paths = ("/readyz", "/v2/health/ready")
        assert [client.get(path).status_code for path in paths] == [200, 200]
        model = client.app.app.models.find(None)  # type: ignore[attr-defined]
        model.problems.note("write", "the model file is gone")
        assert [client.get(path).status_code for path in paths] == [503, 503]
        assert client.get("/v2/models/tickets/ready", headers=WITH_TOKEN).status_code == 503
        assert [client.get(path).status_code for path in ("/healthz", "/v2/health/live", "/ping")] == [200, 200, 200]


def test_probes_are_answered_whatever_the_host_is_called(model_file: Path) -> None:
    """A probe asks by address: Docker's by 127.0.0.1, Kubernetes' by that of the pod."""
    with TestClient(create_app(options(model_file, hosts=("tickets.example",)))) as client:
        for path in ("/healthz", "/readyz", "/v2/health/live", "/v2/health/ready", "/ping"):
            assert client.get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200, path
        assert client.get("/v1/models", headers={"Host": "10.1.2.3:8000"}).status_code == 421


def test_files_are_watched(model_file: Path) -> None:
    with TestClient(create_app(options(model_file))) as client:
        train(model_file)
        while client.get("/v1/models").json()["models"][0]["classes"] != 2:
            time.sleep(0.01)
        assert client.post("/v1/classify", json={"text": "ball"}).headers["unnaive-version"] == "1"


def test_versions_are_measured(model_file: Path, tmp_path: Path) -> None:
    """On documents that are held out: of every version that stands for a moment, and kept over a restart."""
    texts, labels = tickets()
    held_out = write_lines(tmp_path / "test.jsonl", *zip(texts[400:600], labels[400:600], strict=True))
    expected = TextClassifier.load(model_file)
    with TestClient(create_app(options(model_file, measure_on={"tickets": str(held_out)}))) as client:

        def measured(version: int) -> dict[str, Any]:
            while not (found := history()) or found[0]["version"] != version:
                time.sleep(0.01)
            return dict(found[0]["measures"])

        def history() -> list[dict[str, Any]]:
            return list(client.get("/v1/models/tickets?terms=0").json()["history"])

        assert measured(0)["accuracy"] == np.mean(expected.predict(texts[400:600]) == np.array(labels[400:600]))
        body = {"documents": [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]}
        assert client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN).status_code == 200
        assert measured(1)["documents"] == 200
        assert client.get("/v1/models/tickets/versions").json()["versions"][0]["measures"] == measured(1)
    with TestClient(create_app(options(model_file))) as client:
        assert [one["version"] for one in client.get("/v1/models/tickets").json()["history"]] == [1, 0]
