"""Requests per second of `unnaive serve` beside the same model as a scikit-learn pipeline behind an equal FastAPI app.

Both servers run on this machine, on loopback, one at a time, with one process each; the client is wrk (Debian's package
of that name), which shares the cores. Runs are alternated; medians are printed.

    python benchmarks/service.py [--seconds 5] [--runs 3] [--overload 60]
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PEER = """
import sys, pickle
from fastapi import FastAPI
from pydantic import BaseModel
import uvicorn

model = pickle.load(open(sys.argv[1], "rb"))
app = FastAPI()

class Ask(BaseModel):
    texts: list[str]

@app.post("/v1/classify")
def classify(ask: Ask):
    found = model.predict_proba(ask.texts)
    best = found.argmax(axis=1)
    return {"results": [
        {"label": str(model.classes_[one]),
         "classes": [{"label": str(model.classes_[k]), "probability": float(row[k])} for k in (-row).argsort()[:5]]}
        for one, row in zip(best, found)]}

uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local bodies = {}
for line in io.lines("%s") do table.insert(bodies, line) end
local at = 0
request = function()
  at = at %% #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
"""


def main() -> None:
    """Train both, then ask both."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--seconds", type=int, default=5)
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--overload", type=int, default=0, help="seconds of ten times as many connections as are served")
    given = asked.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("this benchmark needs wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        texts = make_models(place)
        write_bodies(place / "single", [[text] for text in texts])
        write_bodies(place / "batch", [texts[at : at + 64] for at in range(0, 1024, 64)])
        servers = {
            "unnaive": [sys.executable, "-m", "unnaive", "serve", str(place / "ours.model"), "--port", "8701"],
            "scikit-learn": [sys.executable, "-c", PEER, str(place / "theirs.pickle"), "8702"],
        }
        ports = {"unnaive": 8701, "scikit-learn": 8702}
        for kind, connections in (("single", 32), ("batch", 8)):
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
            for _ in range(given.runs):
                for name, command in servers.items():
                    with Server(command, ports[name]):
                        found[name].append(load(place / kind, ports[name], given.seconds, connections))
            rates = {name: statistics.median(rate for rate, _ in runs) for name, runs in found.items()}
            slowest = {name: statistics.median(p99 for _, p99 in runs) for name, runs in found.items()}
            for name in servers:
                print(f"{kind:6} {name:13} {rates[name]:9,.0f} requests/s   p99 {slowest[name]:8.2f} ms")
            ratio, tail = rates["unnaive"] / rates["scikit-learn"], slowest["unnaive"] / slowest["scikit-learn"]
            print(f"{kind:6} ratio {ratio:.1f}x, p99 {tail:.2f} of theirs\n")
        if given.overload:
            overload(servers["unnaive"], place / "single", given.overload)


def make_models(place: Path) -> list[str]:
    """Both models on 20 Newsgroups, and the test texts."""
    import pickle

    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    from unnaive import TextClassifier
    from unnaive.reading.collections import load as load_collection

    corpus = load_collection("20newsgroups")
    train, test = corpus.part("train"), corpus.part("test")
    labels = [one[0] for one in train.labels]
    TextClassifier("multinomial").fit(train.texts, labels).save(place / "ours.model")
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB()).fit(list(train.texts), labels)
    (place / "theirs.pickle").write_bytes(pickle.dumps(pipeline))
    return [text for text in test.texts if len(text) < 5_000][:1024]


def write_bodies(path: Path, batches: list[list[str]]) -> None:
    """The bodies of requests, a line each, and wrk's script that sends them in turn."""
    path.write_text("\n".join(json.dumps({"texts": batch}) for batch in batches))
    path.with_suffix(".lua").write_text(LUA % path)


class Server:
    """A server process, ready when the block begins and gone when it ends."""

    def __init__(self, command: list[str], port: int) -> None:
        self.command, self.port = command, port

    def __enter__(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        body = json.dumps({"texts": ["warm"]}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/classify", body, {"Content-Type": "application/json"}
        )
        for _ in range(600):
            try:
                urllib.request.urlopen(request).read()  # noqa: S310
                return self.process
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"{self.command[:4]} did not start")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def load(bodies: Path, port: int, seconds: int, connections: int) -> tuple[float, float]:
    """Requests per second and the 99th percentile of the time to answer, in ms."""
    shown = run_wrk(bodies, port, seconds, connections)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", shown).group(1))  # type: ignore[union-attr]
    if "Non-2xx" in shown or "Socket errors" in shown:
        sys.exit(shown)
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", shown).groups()  # type: ignore[union-attr]
    return rate, float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]


def run_wrk(bodies: Path, port: int, seconds: int, connections: int) -> str:
    """What wrk prints."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "20s", "-s"]
    command += [str(bodies.with_suffix(".lua")), f"http://127.0.0.1:{port}/v1/classify"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def overload(command: list[str], bodies: Path, seconds: int) -> None:
    """Ten times as many connections as requests are served at once: what is answered, and the memory."""
    with Server(command, 8701) as process:
        load(bodies, 8701, 5, 32)
        before = resident(process.pid)
        shown = run_wrk(bodies, 8701, seconds, 2560)
        after = resident(process.pid)
    print(shown)
    print(f"memory {before >> 20} MiB before, {after >> 20} MiB after: {after / before:.2f}")


def resident(pid: int) -> int:
    """Resident memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
