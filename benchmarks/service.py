"""Requests per second of `unnaive serve` beside the same model as a scikit-learn pipeline behind an equal FastAPI app.

Both servers run on this machine, on loopback, one at a time, with one process each; the client is wrk (Debian's package
of that name), which shares the cores. Runs are alternated; medians are printed. If other programs run, rates are
unreliable; the processor time of the server for a request, the minimum over the runs, is printed as well.

    python benchmarks/service.py [--seconds 5] [--runs 3] [--overload 60] [--against PYTHON]

`--against` names the Python of an environment with another version of unnaive, which then takes the place of
scikit-learn and trains its own model file.
"""

import argparse
import http.client
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

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
TRAIN = """
import json, sys
from unnaive import TextClassifier

texts, labels = json.load(open(sys.argv[1]))
TextClassifier("multinomial").fit(texts, labels).save(sys.argv[2])
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
# statuses of answers, printed at the end; wrk has one thread here
STATUSES = """
counts = {}
local me
setup = function(thread) me = thread end
response = function(status) counts[tostring(status)] = (counts[tostring(status)] or 0) + 1 end
done = function() for status, n in pairs(me:get("counts")) do print("status " .. status .. ": " .. n) end end
"""


def main() -> None:
    """Train both models, then send requests to both servers."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--seconds", type=int, default=5)
    asked.add_argument("--runs", type=int, default=3, help="0 for the overload alone")
    asked.add_argument("--overload", type=int, default=0, help="seconds of ten times as many connections as are served")
    asked.add_argument("--against", help="the Python of an environment with another version of unnaive")
    given = asked.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("this benchmark needs wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        texts = make_models(place, given.against)
        write_bodies(place / "single", [[text] for text in texts])
        write_bodies(place / "batch", [texts[at : at + 64] for at in range(0, 1024, 64)])
        servers = {"unnaive": [sys.executable, "-m", "unnaive", "serve", str(place / "ours.model"), "--port", "8701"]}
        if given.against:
            servers["other"] = [given.against, "-m", "unnaive", "serve", str(place / "theirs.model"), "--port", "8702"]
        else:
            servers["scikit-learn"] = [sys.executable, "-c", PEER, str(place / "theirs.pickle"), "8702"]
        ports = dict(zip(servers, (8701, 8702), strict=True))
        for kind, connections in (("single", 32), ("batch", 8)) if given.runs else ():
            found: dict[str, list[Load]] = {name: [] for name in servers}
            for _ in range(given.runs):
                for name, command in servers.items():
                    with Server(command, ports[name]) as process:
                        load(process.pid, place / kind, ports[name], 1, connections)  # both are warm when it counts
                        found[name].append(load(process.pid, place / kind, ports[name], given.seconds, connections))
            report(kind, found)
        if given.overload:
            overload(servers["unnaive"], place / "single", given.overload)


def make_models(place: Path, against: str | None) -> list[str]:
    """Both models on 20 Newsgroups, and the test texts."""
    import pickle

    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    from unnaive import TextClassifier
    from unnaive.papers.collections import load as load_collection

    corpus = load_collection("20newsgroups")
    train, test = corpus.part("train"), corpus.part("test")
    labels = [one[0] for one in train.labels]
    TextClassifier("multinomial").fit(train.texts, labels).save(place / "ours.model")
    if against:
        (place / "train.json").write_text(json.dumps([list(train.texts), labels]))
        subprocess.run([against, "-c", TRAIN, place / "train.json", place / "theirs.model"], check=True)
    else:
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


class Load(NamedTuple):
    """The figures of a server under load."""

    rate: float  # requests per second
    p99: float  # ms
    cpu: float  # ms of processor time of the server for each request


def load(pid: int, bodies: Path, port: int, seconds: int, connections: int) -> Load:
    """Send requests to a server for some seconds."""
    before = processor_seconds(pid)
    shown = run_wrk(bodies, port, seconds, connections)
    spent = processor_seconds(pid) - before
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", shown).group(1))  # type: ignore[union-attr]
    if "Non-2xx" in shown or "Socket errors" in shown:
        sys.exit(shown)
    number = int(re.search(r"(\d+) requests in", shown).group(1))  # type: ignore[union-attr]
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", shown).groups()  # type: ignore[union-attr]
    return Load(rate, float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit], 1000 * spent / number)


def report(kind: str, found: dict[str, list[Load]]) -> None:
    """Print rates, tails and processor times, and the ratios of ours to theirs."""
    rates = {name: statistics.median(one.rate for one in runs) for name, runs in found.items()}
    tails = {name: statistics.median(one.p99 for one in runs) for name, runs in found.items()}
    times = {name: min(one.cpu for one in runs) for name, runs in found.items()}
    for name in found:
        print(
            f"{kind:6} {name:13} {rates[name]:9,.0f} requests/s   p99 {tails[name]:8.2f} ms   cpu {times[name]:.3f} ms"
        )
    ours, theirs = found
    print(
        f"{kind:6} {rates[ours] / rates[theirs]:.2f}x the requests, p99 {tails[ours] / tails[theirs]:.2f} of theirs, "
        f"{times[theirs] / times[ours]:.2f}x less processor time\n"
    )


def run_wrk(bodies: Path, port: int, seconds: int, connections: int) -> str:
    """The output of wrk."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "20s", "-s"]
    command += [str(bodies.with_suffix(".lua")), f"http://127.0.0.1:{port}/v1/classify"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def overload(command: list[str], bodies: Path, seconds: int) -> None:
    """Ten times as many requests at once as are answered at once: what becomes of them, and of the memory.

    wrk makes the load and counts the answers by status. A few clients of our own tell how long those took that were
    not turned away, and the memory is looked at every second.
    """
    with bodies.with_suffix(".lua").open("a") as script:
        script.write(STATUSES)
    with Server(command, 8701) as process, ThreadPoolExecutor(5) as threads:
        run_wrk(bodies, 8701, 5, 2560)  # the space for so many connections is taken once
        before, sizes = resident(process.pid), []
        end = time.monotonic() + seconds
        body = bodies.read_text().partition("\n")[0].encode()
        probes = [threads.submit(probe, body, 8701, end) for _ in range(4)]
        wrk = threads.submit(run_wrk, bodies, 8701, seconds, 2560)
        while not wrk.done():
            sizes.append(resident(process.pid))
            time.sleep(1)
        answers = [one for future in probes for one in future.result()]
    print(wrk.result())
    accepted = sorted(took for status, took in answers if status == 200)
    others = sorted({status for status, _ in answers} - {200})
    print(f"our clients: {len(answers)} requests, {len(accepted)} answered with 200, the others with {others}")
    if accepted:
        median, p99 = accepted[len(accepted) // 2], accepted[int(0.99 * (len(accepted) - 1))]
        print(f"accepted: median {1000 * median:.0f} ms, p99 {1000 * p99:.0f} ms, longest {1000 * accepted[-1]:.0f} ms")
    least, most = min(sizes) / before, max(sizes) / before
    print(f"memory {before >> 20} MiB before; {least:.2f} to {most:.2f} of it during the load")


def probe(body: bytes, port: int, end: float) -> list[tuple[int, float]]:
    """Ask one request after another until `end`: the status and the seconds of each."""
    found = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < end:
        start = time.perf_counter()
        connection.request("POST", "/v1/classify", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        found.append((answer.status, time.perf_counter() - start))
        time.sleep(0.01)
    return found


def processor_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Resident memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
