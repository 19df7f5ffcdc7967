"""Changes that wait are made together, and whatever fails meanwhile is said and survived."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.app import create_app
from unnaive.apps.service.change_queue import ChangeQueue
from unnaive.apps.service.evaluations import Evaluations
from unnaive.apps.service.requested_changes import RequestedChange
from unnaive.apps.service.served import ServedModel
from unnaive.apps.service.version import Version
from unnaive.classifier.receipts import model_hash
from unnaive.curation.teaching import log_seals, teaching_log
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.teaching_log import NotRecordedError, TeachingRecord

from .conftest import TOKEN, WITH_TOKEN, options

CLASSES = ("sport", "politics")


def teaching(text: str, label: str = "sport", **more: Any) -> RequestedChange:
    return RequestedChange("teach", Change((Document(text, (label,)),)), **more)


def test_together_is_the_same_as_one_after_the_other(small: Path) -> None:
    """One refit and one transaction, but an event, an answer and predictions for each request."""
    one_by_one = TextClassifier.load(small)
    served = ServedModel("small", small, teachable=True)
    requests = [teaching(f"word{number}", CLASSES[number % 2], key=f"key {number}") for number in range(6)]
    answers = served.change_together(requests)
    for number, request in enumerate(requests):
        (document,) = request.change.learn
        one_by_one.partial_fit([document.text], list(document.labels))
        answer = answers[number]
        assert isinstance(answer, dict)
        assert (answer["event"], answer["version"], answer["taught"]) == (number + 1, 6, 1)
        assert len(answer["changed"]) == 1
        assert answer["changed"][0]["after"]["label"] == CLASSES[number % 2]
        assert answer["version_id"] == served.version.id
    assert model_hash(served.version.fitted) == model_hash(one_by_one.fitted_)
    again = served.change("teach", requests[3].change, key="key 3")
    assert (again["repeated"], again["event"]) == (True, 4)
    served.undo(2)
    assert served.roll_back(3)["version"] == 8
    served.close()


def test_what_depends_on_a_request_before_it_waits_for_the_next_round(small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    requests = [
        teaching("one", "food", new_classes=True),
        teaching("two", "Food", new_classes=True),  # resembles the class of the first
        teaching("three", "food"),  # is no class yet
        teaching("four", key="same"),
        teaching("five", key="same"),
        teaching("six", "nosuch"),
        RequestedChange("forget", Change(forget=(Document("four", ("sport",)),))),
    ]
    outcomes = served.change_together(requests)
    assert [type(one).__name__ for one in outcomes] == ["dict", *["NoneType"] * 2, "dict", *["NoneType"] * 3]
    left = [request for request, outcome in zip(requests, outcomes, strict=True) if outcome is None]
    outcomes = served.change_together(left)
    assert isinstance(outcomes[0], Refused)
    assert "resembles the class 'food'" in str(outcomes[0])
    assert isinstance(outcomes[1], dict)
    assert outcomes[2] is None or isinstance(outcomes[2], dict)
    served.close()


def test_a_request_that_the_model_refuses_is_refused_alone(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unnaive.apps.service import served as served_module
    from unnaive.base.errors import UnnaiveError

    original = served_module.change_model

    def change_model(fitted: Any, change: Change) -> Any:
        if any(document.text == "poison" for document in change.learn):
            raise UnnaiveError("this document cannot be learnt")
        return original(fitted, change)

    monkeypatch.setattr(served_module, "change_model", change_model)
    served = ServedModel("small", small, teachable=True)
    outcomes = served.change_together([teaching("good"), teaching("poison"), teaching("fine")])
    assert [one["event"] if isinstance(one, dict) else str(one) for one in outcomes] == [
        1, "this document cannot be learnt", 2,
    ]  # fmt: skip
    served.close()


def test_a_client_waits_for_two_refits_at_most(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight clients come while one is served: the next refit learns what all of them teach."""
    from unnaive.apps.service import served as served_module

    original, refits = served_module.change_model, []
    begun, go_on = threading.Event(), threading.Event()

    def change_model(fitted: Any, change: Change) -> Any:
        refits.append(len(change.learn))
        begun.set()
        assert go_on.wait(300)
        return original(fitted, change)

    monkeypatch.setattr(served_module, "change_model", change_model)
    served = ServedModel("small", small, teachable=True)

    async def run() -> list[dict[str, Any]]:
        queue = ChangeQueue(served)
        first = asyncio.ensure_future(queue.change(teaching("first")))
        await asyncio.to_thread(begun.wait)
        others = [asyncio.ensure_future(queue.change(teaching(f"word{number}"))) for number in range(8)]
        await asyncio.sleep(0)  # all of them wait now
        go_on.set()
        answers = await asyncio.gather(first, *others)
        queue.close()
        return answers

    answers = asyncio.run(run())
    assert refits == [1, 8]
    assert [answer["event"] for answer in answers] == list(range(1, 10))
    assert [answer["version"] for answer in answers] == [1, *[9] * 8]
    served.close()


def test_stopping_answers_what_waits(small: Path) -> None:
    """The change that is being made is completed; those behind it get 503, and nothing of them is recorded."""
    served = ServedModel("small", small, teachable=True)
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        assert go_on.wait(300)
        return "done"

    async def run() -> tuple[str, list[Any]]:
        queue = ChangeQueue(served)
        running = asyncio.ensure_future(queue.run(slow))
        await asyncio.to_thread(begun.wait)
        waiting = [asyncio.ensure_future(queue.change(teaching(f"word{number}"))) for number in range(3)]
        waiting.append(asyncio.ensure_future(queue.run(served.write_file)))
        await asyncio.sleep(0)
        queue.stop()
        go_on.set()
        outcomes = await asyncio.gather(*waiting, queue.change(teaching("late")), return_exceptions=True)
        queue.close()
        return await running, outcomes

    done, outcomes = asyncio.run(run())
    assert done == "done"
    assert [getattr(outcome, "status", None) for outcome in outcomes] == [503] * 5
    assert served.record is not None
    assert served.record.last == 0
    served.close()


def test_a_link_to_the_model_file_stays_one(small: Path) -> None:
    releases = small.with_name("releases")
    releases.mkdir()
    target = small.rename(releases / "v3.model")
    link = small.with_name("current.model")
    link.symlink_to(target)
    served = ServedModel("current", link, teachable=True)
    served.change("teach", Change((Document("frobnicator", ("sport",)),)))
    assert served.write_file()
    served.close()
    assert link.is_symlink()
    assert link.resolve() == target
    assert model_hash(TextClassifier.load(target).fitted_) == model_hash(served.version.fitted)


def test_a_fold_between_two_checks_is_no_damage(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check reads the model files in one table and their hashes in another; meanwhile a file is noted."""
    service = ServedModel("small", small, teachable=True)
    service.change("teach", Change((Document("frobnicator", ("sport",)),)))
    find_problem = teaching_log.find_record_problem

    def find(data: sqlite3.Connection) -> str | None:
        class Proxy:
            def execute(self, words: str, *arguments: Any) -> Any:
                if "FROM fold_seals" in words:
                    assert service.write_file()
                return data.execute(words, *arguments)

        return find_problem(Proxy())  # type: ignore[arg-type]

    monkeypatch.setattr(teaching_log, "find_record_problem", find)
    TeachingRecord(small, alone=False).close()
    service.close()


def test_a_full_disk_is_said_and_survived(small: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of the change remains, /readyz and the metrics say why, and it ends when there is room."""
    with TestClient(create_app(options(small))) as client:
        body = {"documents": [{"text": "frobnicator " * 5000, "label": "sport"}]}

        def teach() -> httpx.Response:
            return client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN)

        assert teach().status_code == 200
        served = client.app.app.models.find(None)  # type: ignore[attr-defined]
        before = served.version
        served.record._data.execute("PRAGMA max_page_count = 1")  # SQLite raises it to the pages that there are
        for _ in range(2):
            answer = teach()
            assert answer.status_code == 503
            assert "database or disk is full" in answer.json()["error"]
        assert served.version is before
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["problems"] == [ready.json()["status"]]
        assert "tickets cannot be taught: small.model.record could not be written" in ready.json()["status"]
        metrics = client.get("/metrics").text
        assert 'unnaive_problem{kind="record",model="tickets"} 1.0' in metrics
        assert 'unnaive_problem{kind="write",model="tickets"} 0.0' in metrics
        served.record._data.execute("PRAGMA max_page_count = 1000000")
        assert teach().json()["event"] == 2
        assert client.get("/readyz").json() == {"status": "ready"}
    assert sum("cannot be taught" in message for message in caplog.messages) == 1  # once, not at each request


def test_the_small_file_may_stay_behind(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event is on disk before its line: that the line cannot be written is no error."""
    served = ServedModel("small", small, teachable=True)

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(log_seals.os, "write", full)
        assert served.change("teach", Change((Document("ball game", ("sport",)),)))["event"] == 1
    served.change("teach", Change((Document("law", ("politics",)),)))
    served.close()
    again = ServedModel("small", small, teachable=True)
    assert again.version.number == 2
    again.close()


def test_one_missing_model_file_does_not_end_the_writing_of_others(
    small: Path, model_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = options(model_file, models={"gone": str(small), "tickets": str(model_file)}, write_seconds=0.05)
    with TestClient(create_app(chosen)) as client:
        missing = small.read_bytes()
        small.unlink()
        before = model_file.read_bytes()
        for name, label in (("gone", "sport"), ("tickets", "bug")):
            body = {"documents": [{"text": "frobnicator", "label": label}]}
            assert client.post(f"/v1/models/{name}/teach", json=body, headers=WITH_TOKEN).status_code == 200
        wait_until(lambda: model_file.read_bytes() != before)
        assert "the model file of gone is missing" in client.get("/readyz").json()["status"]
        small.write_bytes(missing)
        wait_until(lambda: client.get("/readyz").json() == {"status": "ready"})


def test_measuring_does_not_disturb_teaching_and_survives(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held_out = tmp_path / "held.csv"
    held_out.write_text("text,label\n" + "good ball,sport\nfair vote,politics\n" * 20)
    monkeypatch.setattr("unnaive.apps.service.app.WATCH_SECONDS", 0.001)
    original, failing = Evaluations.measure, [True]

    def measure(self: Evaluations, version: Version) -> Any:
        if failing[0]:
            raise RuntimeError("something unexpected")
        return original(self, version)

    monkeypatch.setattr(Evaluations, "measure", measure)
    with TestClient(create_app(options(small, measure_on={"tickets": str(held_out)}))) as client:
        wait_until(lambda: "problems" in client.get("/readyz").json())
        shown = client.get("/readyz")
        assert (shown.status_code, shown.json()["status"]) == (200, "ready")  # it serves and teaches
        assert shown.json()["problems"] == ["tickets: a version could not be evaluated (something unexpected)"]
        failing[0] = False
        for number in range(100):
            body = {"documents": [{"text": f"word{number}", "label": "sport"}]}
            assert client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN).status_code == 200
        wait_until(lambda: client.get("/v1/models/tickets").json()["history"][0]["version"] == 100)
        assert client.get("/readyz").json() == {"status": "ready"}
    assert "Traceback" not in caplog.text


def test_other_threads_see_no_half_of_a_change(small: Path) -> None:
    """The list of events is read by another thread than the one that writes."""
    served = ServedModel("small", small, teachable=True)
    record = served.record
    assert record is not None
    stop = threading.Event()
    seen: list[int] = []

    def look() -> None:
        while not stop.is_set():
            seen.extend(event["documents"] for event in record.events(5))

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        for number in range(60):
            documents = tuple(Document(f"word {number} {part}", ("sport",)) for part in range(20))
            served.change("teach", Change(documents))
        stop.set()
        looking.result()
    assert set(seen) <= {20}
    served.close()


def wait_until(condition: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@contextmanager
def serving(path: Path, prepare: Callable[[], None] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service as a process of its own."""
    command = [sys.executable, "-m", "unnaive", "serve", str(path), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=prepare,
        env={**os.environ, "UNNAIVE_TOKEN": TOKEN},
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1].rstrip("/")
        finally:
            process.kill()


def limit_files() -> None:
    """No file may grow beyond 600 kB, as if the disk were full."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("way", ["killed", "full"])
def test_eight_clients_lose_nothing(small: Path, way: str) -> None:
    """The service is killed, or runs out of space, while eight clients teach."""
    acknowledged: set[str] = set()
    refused: list[str] = []

    def teach(address: str, number: int) -> None:
        with httpx.Client(base_url=address, headers=WITH_TOKEN, timeout=300) as client:
            for part in range(400):
                text = f"client{number}part{part}"
                try:
                    body = {"documents": [{"text": text, "label": "sport"}]}
                    answer = client.post("/v1/models/small/teach", json=body)
                except httpx.HTTPError:
                    return
                if answer.status_code != 200:
                    refused.append(answer.json()["error"])
                    return
                acknowledged.add(text)

    with serving(small, limit_files if way == "full" else None) as (process, address), ThreadPoolExecutor(8) as pool:
        work = [pool.submit(teach, address, number) for number in range(8)]
        if way == "killed":
            wait_until(lambda: len(acknowledged) > 100)
            process.send_signal(signal.SIGKILL)
        for one in work:
            one.result()
        if way == "full":
            assert len(refused) == 8
            assert all("could not be written" in sentence for sentence in refused)
            ready = httpx.get(f"{address}/readyz", timeout=300)
            assert (ready.status_code, "cannot be taught" in ready.json()["status"]) == (503, True)
            answer = httpx.post(f"{address}/v1/classify", json={"text": "good ball"}, timeout=300)
            assert answer.json()["results"][0]["label"] == "sport"
            process.send_signal(signal.SIGKILL)
    assert len(acknowledged) > 20
    served = ServedModel("small", small, teachable=True)
    assert served.record is not None
    taught = {document.text for document in served.record.change_since(0).learn}
    assert acknowledged <= taught
    assert len(taught - acknowledged) <= 8  # each client had one under way
    expected = TextClassifier("multinomial").fit(["good ball", "fair vote"] * 3, list(CLASSES) * 3)
    expected.partial_fit(sorted(taught), ["sport"] * len(taught))
    statistic = served.version.fitted.statistic
    assert statistic is not None
    assert np.array_equal(statistic.class_docs, expected.fitted_.statistic.class_docs)  # type: ignore[union-attr]
    served.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to catch")
def test_sigterm_with_teachings_waiting_prints_no_traceback(tmp_path: Path) -> None:
    """Every client gets an answer, 200 or 503."""
    from unnaive.io.tickets import load_tickets

    corpus = load_tickets()
    path = tmp_path / "auto.model"
    texts, labels = list(corpus.texts)[:100], [names[0] for names in corpus.labels][:100]
    TextClassifier("auto").fit(texts, labels).save(path)
    answers: list[int] = []

    def teach(address: str, number: int) -> None:
        body = {"documents": [{"text": f"word{number}", "label": "bug"}]}
        for _ in range(50):
            try:
                answer = httpx.post(f"{address}/v1/models/auto/teach", json=body, headers=WITH_TOKEN, timeout=300)
            except httpx.TransportError:  # not accepted any more
                return
            answers.append(answer.status_code)
            if answer.status_code != 200:
                return

    with serving(path) as (process, address), ThreadPoolExecutor(8) as pool:
        work = [pool.submit(teach, address, number) for number in range(8)]
        wait_until(lambda: len(answers) >= 8)
        process.send_signal(signal.SIGTERM)
        for one in work:
            one.result()
        _, err = process.communicate(timeout=300)
    assert set(answers) <= {200, 503}
    assert "Traceback" not in err, err


def test_an_error_of_the_record_is_a_sentence(small: Path) -> None:
    """Another program holds the lock of the record for longer than we wait."""
    served = ServedModel("small", small, teachable=True)
    assert served.record is not None
    served.record._data.execute("PRAGMA busy_timeout = 50")
    with sqlite3.connect(served.record.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NotRecordedError, match=r"database is locked.*end the program that keeps it locked"):
            served.change("teach", Change((Document("a", ("sport",)),)))
        other.execute("ROLLBACK")
    assert served.change("teach", Change((Document("a", ("sport",)),)))["event"] == 1
    assert served.problems.preventing is None
    served.close()


def test_versions_are_the_same_in_every_worker_and_after_a_restart(
    small: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    first, second = (ServedModel("small", small, teachable=False) for _ in range(2))
    copy = small.read_bytes()
    TextClassifier("bernoulli").fit(["another ball", "another law"] * 3, list(CLASSES) * 3).save(small)
    other = ServedModel("small", small, teachable=False)
    assert first.version.id == second.version.id != other.version.id
    assert first.reload()
    assert first.version.id == other.version.id  # whatever its number
    small.write_bytes(copy)
    taught = ServedModel("small", small, teachable=True)
    assert taught.version.id == second.version.id
    taught.change("teach", Change((Document("ball", ("sport",)),)))
    identifier = taught.version.id
    assert identifier not in (first.version.id, second.version.id)
    taught.close()
    again = ServedModel("small", small, teachable=True)
    assert (again.version.number, again.version.id) == (1, identifier)
    again.close()
