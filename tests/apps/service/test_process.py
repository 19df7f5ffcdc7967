"""The service as a process: streams of any length, an end that finishes what was begun, and logs without texts."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from unnaive import TextClassifier

from .conftest import TOKEN, WITH_TOKEN, tickets

pytestmark = pytest.mark.slow
MIB = 1 << 20


@dataclass
class Running:
    """A server and where it is."""

    process: subprocess.Popen[str]
    port: int

    @property
    def resident(self) -> int:
        """Memory in use."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def connect(self) -> socket.socket:
        """A connection that gives up after a while."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=300)


@contextmanager
def running(path: Path, *options: str) -> Iterator[Running]:
    """A server over a model, with its log in a pipe."""
    command = [sys.executable, "-m", "unnaive", "serve", str(path), "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "UNNAIVE_TOKEN": TOKEN}
    ) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://127.0.0.1:(\d+)", process.stdout.readline())
            assert found
            yield Running(process, int(found.group(1)))
        finally:
            if process.poll() is None:
                process.kill()


HEAD = b"POST /v1/classify/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(lines: list[str]) -> bytes:
    """Lines of a stream as one chunk of HTTP."""
    data = "".join(json.dumps({"text": line}) + "\n" for line in lines).encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def answers_in(data: bytes) -> list[str]:
    """The labels in the chunks of an answer, which may be cut off."""
    return re.findall(r'^\{"label":"(\w+)"', re.sub(rb"\r\n[0-9a-f]+\r\n", b"", data).decode(), re.MULTILINE)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system has no /proc/PID/statm")
def test_a_stream_takes_constant_memory_and_waits_for_its_reader(model_file: Path) -> None:
    """A client that reads nothing is soon not read either; then it reads, and every line has its answer."""
    text = "my invoice was charged twice " * 30
    with running(model_file) as server, server.connect() as client:
        client.sendall(HEAD + chunk([text] * 100))
        client.recv(1)  # the answer has begun: the model is warm
        before = server.resident
        part, sent = chunk([text] * 100), 100
        client.settimeout(2)
        left = b""
        for _ in range(2_000):  # 180 MB, were all of it taken
            try:
                left = part
                while left:
                    left = left[client.send(left) :]
            except TimeoutError:
                break
            sent += 100
        assert left, "the service read on, though nobody took its answers"
        assert server.resident - before < 32 * MIB
        sent += 100
        client.settimeout(0.05)
        received, rest = 0, b""
        out = left + b"0\r\n\r\n"
        tail = b""
        while True:
            if out:
                with suppress(TimeoutError):
                    out = out[client.send(out) :]
            try:
                data = client.recv(1 << 16)
            except TimeoutError:
                continue
            rest += data
            received += rest.count(b'"labels":')
            keep = rest[-9:]  # a name may be cut in two
            received -= keep.count(b'"labels":')
            tail, rest = (tail + data)[-7:], keep
            if not data or tail == b"\r\n0\r\n\r\n":
                break
        assert received + rest.count(b'"labels":') == sent
        assert server.resident - before < 32 * MIB


def answers(server: Running) -> bool:
    """Whether a new connection gets an answer."""
    try:
        with server.connect() as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return client.recv(100) != b""
    except OSError:
        return False


def wait_until_closed(server: Running) -> bool:
    """Whether new connections get no answer any more, within five minutes: a busy machine hears a signal late."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if not answers(server):
            return True
        time.sleep(0.02)
    return False


def test_the_end_finishes_what_was_begun(model_file: Path) -> None:
    """SIGTERM in the middle of a stream: the rest of it is still answered, and what was taught is in the file."""
    texts = tickets()[0][:40]
    expected = TextClassifier.load(model_file).predict(texts).tolist()
    with running(model_file, "--write-every", "1000") as server, server.connect() as client:
        client.sendall(HEAD + chunk(texts[:20]))
        data = client.recv(1 << 16)
        while len(answers_in(data)) < 20:
            data += client.recv(1 << 16)
        body = {"documents": [{"text": "frobnicator frobnicator", "label": "bug"}]}
        url = f"http://127.0.0.1:{server.port}/v1/models/tickets/teach"
        assert httpx.post(url, json=body, headers=WITH_TOKEN, timeout=300).json()["version"] == 1
        server.process.send_signal(signal.SIGTERM)
        assert wait_until_closed(server)  # nothing new is accepted
        client.sendall(chunk(texts[20:]) + b"0\r\n\r\n")
        while more := client.recv(1 << 16):
            data += more
        found = answers_in(data)
        assert len(found) == len(expected)
        assert found[:20] == expected[:20]  # the others by a model that was taught meanwhile
        assert server.process.wait(300) in (0, -signal.SIGTERM)  # uvicorn raises the signal again when all is done
    assert TextClassifier.load(model_file).predict(["frobnicator"])[0] == "bug"


@pytest.mark.parametrize("options", [(), ("--log",)], ids=["quiet", "log"])
def test_logs_have_no_texts(model_file: Path, options: tuple[str, ...]) -> None:
    word = "frobnicator"
    with running(model_file, *options) as server:
        at = f"http://127.0.0.1:{server.port}"
        documents = {"documents": [{"text": word, "label": "bug"}]}
        statuses = [
            httpx.post(f"{at}/v1/classify", json={"text": word, "explain": True}, timeout=300).status_code,
            httpx.post(f"{at}/v1/classify", json={"text": word, word: 1}, timeout=300).status_code,
            httpx.post(f"{at}/v1/classify", content=f'{{"text": "{word}', timeout=300).status_code,
            httpx.post(f"{at}/v1/models/tickets/teach", json=documents, headers=WITH_TOKEN, timeout=300).status_code,
            httpx.post(f"{at}/predict", json={"inputs": word}, timeout=300).status_code,
        ]
        assert statuses == [200, 422, 422, 200, 200]
        server.process.send_signal(signal.SIGINT)
        _, log = server.process.communicate(timeout=300)
    assert word not in log
    assert TOKEN not in log
    assert ("POST /v1/classify 200" in log) == bool(options)


def test_sighup_takes_a_replaced_model_over(model_file: Path) -> None:
    """Without a restart, and without what was taught being lost; the file itself is found soon, the signal at once."""
    with running(model_file, "--write-every", "1000") as server:
        at = f"http://127.0.0.1:{server.port}"
        body = {"documents": [{"text": "frobnicator", "label": "bug"}]}
        assert (
            httpx.post(f"{at}/v1/models/tickets/teach", json=body, headers=WITH_TOKEN, timeout=300).json()["version"]
            == 1
        )
        texts, labels = tickets()
        TextClassifier("bernoulli").fit(texts[:300], labels[:300]).save(model_file)
        server.process.send_signal(signal.SIGHUP)
        while (card := httpx.get(f"{at}/v1/models/tickets", timeout=300).json())["model"] != "bernoulli":
            assert server.process.poll() is None
        assert (card["version"], card["documents"]) == (2, 301)
        server.process.send_signal(signal.SIGTERM)
        _, said = server.process.communicate(timeout=300)
    assert "loaded another model file as version 2: 1 document carried over" in said
