"""Time until the next text when ten people label 100,000 texts with 20 classes, each answering every two seconds.

    python benchmarks/label_people.py [--people 10] [--texts 100000] [--classes 20] [--seconds 60] [--labels 300]

The page runs as `unnaive label --person … --person …`; every client sends its answers with its own token, and the time
is that of the request whose answer has the next text. A browser is open beside them, if there is one, whose person
labels too: its page asks for progress every ten labels. The target is a 99th percentile of at most 100 ms. The ratio is
ten clients to one client alone.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from label_pool import make_texts

from unnaive.curation.labelling.label_log import ImportedVote, LabelRecord

BAR = 100.0  # ms


@contextmanager
def serve(record: Path, people: list[str]) -> Iterator[dict[str, str]]:
    """The address of each person, with a token, until the block ends."""
    command = [
        sys.executable,
        "-m",
        "unnaive",
        "label",
        str(record),
        *(f"--person={name}" for name in people),
        "--port",
        "0",
    ]
    environment = {**os.environ, "XDG_STATE_HOME": str(record.parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in people]
        yield {name: re.search(r"http://\S+", line)[0] for name, line in zip(people, lines, strict=True)}  # type: ignore[index]
        process.terminate()


class Client:
    """One person, who answers every two seconds."""

    def __init__(self, address: str, classes: list[str], seed: int) -> None:
        parts = urlsplit(address)
        self.connection = http.client.HTTPConnection(parts.netloc)
        self.headers = {
            "Authorization": f"Bearer {parts.fragment.removeprefix('token=')}", "Content-Type": "application/json",
        }  # fmt: skip
        self.classes, self.draw, self.times = classes, np.random.default_rng(seed), []

    def ask(self, path: str, **body: Any) -> Any:
        self.connection.request("POST", f"/label/{path}", json.dumps({"who": "me", **body}), self.headers)
        answer = self.connection.getresponse()
        found = json.loads(answer.read())
        assert answer.status == 200, found
        return found

    def work(self, until: float, every: float) -> None:
        text = self.ask("next")["text"]
        time.sleep(self.draw.random() * every)
        due = time.perf_counter()
        while time.perf_counter() < until:
            label = self.classes[text["number"] % len(self.classes)]
            start = time.perf_counter()
            found = self.ask("answer", text=text["number"], seen=text["seen"], kind="label", labels=[label])
            self.times.append(1000 * (time.perf_counter() - start))
            text = found["text"]
            due += every
            time.sleep(max(0.0, due - time.perf_counter()))


@contextmanager
def browser(address: str) -> Iterator[Callable[[], None]]:
    """A function that presses a key on the page of one more person, in Chromium; it does nothing without Chromium."""
    if shutil.which("chromium") is None:
        print("no chromium: without a browser")
        yield lambda: None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        running = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = running.new_page()
        page.goto(address)
        page.wait_for_selector("#asked:not([hidden])")
        yield lambda: page.keyboard.press("1")
        running.close()


def measure(record: Path, people: list[str], classes: list[str], seconds: float, every: float) -> list[float]:
    """The times of all answers of these people, in ms."""
    with serve(record, [*people, "reader"]) as addresses:
        clients = [Client(addresses[name], classes, seed) for seed, name in enumerate(people)]
        with browser(addresses["reader"]) as press:
            until = time.perf_counter() + seconds
            threads = [threading.Thread(target=client.work, args=(until, every)) for client in clients]
            for thread in threads:
                thread.start()
            while time.perf_counter() < until:
                press()
                time.sleep(every)
            for thread in threads:
                thread.join()
    return [value for client in clients for value in client.times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--labels", type=int, default=300, help="labels that are there at first")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two answers of a person")
    given = parser.parse_args()
    classes = [f"class {number}" for number in range(given.classes)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.db"
        record = LabelRecord.create(path, make_texts(given.texts, given.classes), classes=classes)
        order = np.random.default_rng(0).choice(given.texts, given.labels, replace=False).tolist()
        record.add_many(
            [ImportedVote(text, "import", "label", [classes[text % given.classes]]) for text in order], "import"
        )
        record.close()
        found = {}
        for number in (1, given.people):
            people = [f"person{place}" for place in range(number)]
            seconds = given.seconds / (2 if number == 1 else 1)
            times = measure(path, people, classes, seconds, given.every)
            found[number] = np.quantile(times, 0.99)
            middle, most = np.quantile(times, (0.5, 0.95))
            print(
                f"{number:3} people, {len(times):4} answers: next text median {middle:5.1f} ms   95 % {most:6.1f} ms   "
                f"99 % {found[number]:6.1f} ms   most {max(times):6.1f} ms   over {BAR:.0f} ms "
                f"{100 * np.mean(np.array(times) > BAR):.1f} %",
                flush=True,
            )
        print(f"99th percentile with {given.people} people / alone: {found[given.people] / found[1]:.2f}")


if __name__ == "__main__":
    main()
