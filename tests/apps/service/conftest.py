"""A service over a small model of the built-in tickets, in this process and as a real server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from fastapi.testclient import TestClient
from support.browser import open_browser

from unnaive import TextClassifier
from unnaive.apps.service.app import ServiceOptions, create_app
from unnaive.io.tickets import load_tickets

TOKEN = "a-token-for-the-tests"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}


def tickets() -> tuple[list[str], list[str]]:
    """The built-in tickets and their queues."""
    corpus = load_tickets()
    return list(corpus.texts), [labels[0] for labels in corpus.labels]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a model of six documents, sport and politics."""
    path = tmp_path / "small.model"
    TextClassifier("multinomial").fit(["good ball", "fair vote"] * 3, ["sport", "politics"] * 3).save(path)
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, for the tests of a module."""
    with open_browser() as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_collection_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service collects garbage when it starts, which is a third of a second in a process that holds all tests."""
    monkeypatch.setattr("unnaive.apps.service.app.gc.collect", lambda: 0)
    monkeypatch.setattr("unnaive.apps.service.app.gc.freeze", lambda: None)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file; tests copy it."""
    path = tmp_path_factory.mktemp("served") / "tickets.model"
    texts, labels = tickets()
    TextClassifier("multinomial").fit(texts[:600], labels[:600]).save(path)
    return path


@pytest.fixture
def model_file(trained: Path, tmp_path: Path) -> Path:
    """A copy of the model that a test may change."""
    copy = tmp_path / "tickets.model"
    copy.write_bytes(trained.read_bytes())
    return copy


def options(path: Path, **changes: Any) -> ServiceOptions:
    """Options for a test client, whose host name is testserver."""
    return ServiceOptions(**{"models": {"tickets": str(path)}, "token": TOKEN, "hosts": ("testserver",), **changes})


@pytest.fixture
def client(model_file: Path) -> Iterator[TestClient]:
    """A client of a service over the copy."""
    with TestClient(create_app(options(model_file))) as client:
        yield client


@pytest.fixture(scope="module")
def address(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server."""
    path = tmp_path_factory.mktemp("real") / "tickets.model"
    path.write_bytes(trained.read_bytes())
    command = [sys.executable, "-m", "unnaive", "serve", str(path), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "UNNAIVE_TOKEN": TOKEN}
    ) as server:  # fmt: skip
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found
        yield found.group().rstrip("/")
        server.terminate()
        assert server.wait(300) in (0, -signal.SIGTERM)  # uvicorn raises the signal again when all is done
