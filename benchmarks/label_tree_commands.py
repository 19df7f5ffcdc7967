"""Whole commands with tens of thousands of labels: peak memory and processor time of each, from files.

    python benchmarks/label_tree_commands.py [--labels 30000] [--documents 40000] [--tests 3000] [--size 12MB]

The collection of label_tree_peers.py, written as JSON lines. Memory is the high-water mark of the whole program
(VmHWM), seconds are of the processor, those of `serve` for one request of many.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from label_tree_peers import make_collection
from one_pass_memory import TRAIN
from timing import MEMORY

REQUESTS = {1: 500, 1000: 10}  # texts in a request → requests
PATIENCE = 120  # seconds until the service must have started


def write(folder, n_labels, n_docs, n_tests):
    """train.jsonl and test.jsonl; gives the number of labels in the first."""
    X, Y = make_collection(n_labels, n_docs + n_tests)
    seen = set()
    for name, rows in (("train", range(n_docs)), ("test", range(n_docs, n_docs + n_tests))):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for row in rows:
                cells = slice(X.indptr[row], X.indptr[row + 1])
                words = [f"w{term}" for term in X.indices[cells].repeat(X.data[cells].astype(int)).tolist()]
                labels = [f"c{label}" for label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()]
                seen.update(labels if name == "train" else ())
                file.write(json.dumps({"text": " ".join(words), "labels": labels}) + "\n")
    return len(seen)


def measure(words):
    """(peak bytes, processor seconds, output) of a command."""
    code = TRAIN.format(words=[str(word) for word in words]) + MEMORY
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *_, cpu, peak = done.stdout.split()
    return int(peak) * 1024, float(cpu), done.stdout


def measure_service(model, texts):
    """(peak bytes, processor seconds of a request) with one text and with all texts in a request."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "unnaive", "serve", str(model), "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(port, process)
        return [_timed_requests(port, process.pid, part) for part in (texts[:1], texts)]
    finally:
        process.terminate()
        process.wait()


def _wait_for(port, process):
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("unnaive serve did not start")


def _timed_requests(port, pid, texts):
    body = json.dumps({"texts": texts, "top_k": 5}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/classify", body, {"Content-Type": "application/json"})
    n = REQUESTS[len(texts)]
    for number in range(n + 1):
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            answer.read()
        if not number:  # the first also reads the model
            before = processor_time(pid)
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    return peak, (processor_time(pid) - before) / n


def processor_time(pid):
    """Processor seconds of a running process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=30_000)
    parser.add_argument("--documents", type=int, default=40_000)
    parser.add_argument("--tests", type=int, default=3_000)
    parser.add_argument("--size", default="12MB", help="of the compressed model")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_labels = write(folder, asked.labels, asked.documents, asked.tests)
        print(f"{asked.documents:,} documents with {n_labels:,} labels, {asked.tests:,} test documents")
        train, test, model = folder / "train.jsonl", folder / "test.jsonl", folder / "tree.model"
        first = json.loads(test.read_text(encoding="utf-8").splitlines()[0])["text"]
        predict = ["predict", model, test, "-o", folder / "predicted.jsonl"]
        commands = {
            "train": ["train", train, "-m", "label-tree", "-o", model],
            "predict": predict,
            "predict --top-k 5": [*predict, "--top-k", "5"],
            "evaluate": ["evaluate", model, test],
            "evaluate --report": ["evaluate", model, test, "--report", folder / "page.html"],
            "explain": ["explain", model, first],
            f"compress --max-size {asked.size}": ["compress", model, "-o", folder / "small.model",
                                                   "--max-size", asked.size],
        }  # fmt: skip
        for title, words in commands.items():
            peak, cpu, said = measure(words)
            more = f", file {model.stat().st_size / 1e6:.0f} MB" if title == "train" else ""
            print(f"{title}: {peak / 1e6:,.0f} MB, {cpu:.1f} s{more}", flush=True)
            if title == "evaluate":
                print(*(f"  {line.strip()}" for line in said.splitlines() if "precision@" in line), sep="\n")
        texts = [json.loads(line)["text"] for line in test.read_text(encoding="utf-8").splitlines()]
        texts = (texts * 1000)[:1000]
        for n, (peak, seconds) in zip((1, len(texts)), measure_service(model, texts), strict=True):
            print(f"serve, {n:,} in a request: {peak / 1e6:,.0f} MB, {1e3 * seconds:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
