"""How long clients wait who teach `auto` at the same time: the 99th percentile of eight clients against one refit.

One refit is the time of a teaching when nobody else teaches, its median. Rounds of single teachings and of eight
clients alternate, so that other programs affect both equally; each client sends its next document when the one before
is answered. The model learnt 651 tickets of the built-in corpus. At the end, every document that was acknowledged must
be in the record.

    python benchmarks/service_teaching.py [--clients 8] [--rounds 3] [--each 4]
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import httpx
from timing import verdict

TOKEN = "a-token-for-the-benchmark"
DOCUMENTS = 651
LIMIT = 2.5  # refits


def main() -> None:
    """Train and serve `auto`, and teach alone and together in turn."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--clients", type=int, default=8)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--each", type=int, default=4, help="documents of each client in a round")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "auto.model"
        documents = train(path)
        command = [sys.executable, "-m", "unnaive", "serve", str(path), "--port", "0"]
        environment = {**os.environ, "UNNAIVE_TOKEN": TOKEN}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                address = re.search(r"http://\S+/", process.stdout.readline()).group()  # type: ignore[union-attr]
                alone, together = measure(address, documents, given)
                taught = len(httpx.get(f"{address}v1/models/auto/versions?limit=1000").json()["versions"])
            finally:
                process.terminate()
    refit = statistics.median(alone)
    p99 = sorted(together)[min(len(together) - 1, int(0.99 * len(together)))]
    print(f"one refit {refit:.2f} s (median of {len(alone)}), on {DOCUMENTS} documents")
    print(
        f"{given.clients} clients: median {statistics.median(together):.2f} s, p99 {p99:.2f} s, {len(together)} answers"
    )
    print(f"p99 / refit: {p99 / refit:.2f}   {verdict(p99 / refit, LIMIT, at_most=True)}")
    print(f"acknowledged {1 + len(alone) + len(together)}, in the record {taught}")


def train(path: Path) -> Iterator[tuple[str, str]]:
    """Write a model of auto; the tickets that it did not learn, again and again, each time with another number."""
    from unnaive import TextClassifier
    from unnaive.io.tickets import load_tickets

    corpus = load_tickets()
    texts, labels = list(corpus.texts), [names[0] for names in corpus.labels]
    TextClassifier("auto").fit(texts[:DOCUMENTS], labels[:DOCUMENTS]).save(path)
    rest = list(zip(texts[DOCUMENTS:], labels[DOCUMENTS:], strict=True))
    return ((f"{text} {number}", label) for number in count() for text, label in rest)


def measure(
    address: str, documents: Iterator[tuple[str, str]], given: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Seconds of each teaching, alone and together."""
    teach(address, [next(documents)])  # warm
    alone, together = [], []
    with ThreadPoolExecutor(given.clients) as pool:
        for _ in range(given.rounds):
            alone += teach(address, [next(documents) for _ in range(given.each)])
            parts = [[next(documents) for _ in range(given.each)] for _ in range(given.clients)]
            together += [one for times in pool.map(teach, [address] * given.clients, parts) for one in times]
    return alone, together


def teach(address: str, documents: list[tuple[str, str]]) -> list[float]:
    """Teach one document after another; the seconds of each."""
    times = []
    for text, label in documents:
        body = {"documents": [{"text": text, "label": label}]}
        start = time.perf_counter()
        answer = httpx.post(
            f"{address}v1/models/auto/teach", json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=600
        )
        answer.raise_for_status()
        times.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
