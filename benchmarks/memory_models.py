"""Every model with --memory on text whose vocabulary keeps growing: it trains within the bound, or says why not.

python benchmarks/memory_models.py [MODEL …] [--size 100] [--memory 256M] [--seconds 300]

Synthetic JSON lines of 100 MB with 7 million terms: 60 words of each document are in no other. Memory is that of the
program without pages of files, which the system can reclaim; seconds are processor time. Target: at most --memory and a
sentence about the terms that were left out, or one sentence why the model cannot and what to use.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from one_pass_memory import write

from unnaive.base.byte_sizes import parse_size
from unnaive.models.catalogue import MODELS

DRAWN, LONE = 2, 60  # phrases of a document, and words that no other has


def measure(path, model, memory, seconds, folder):
    """(exit code, peak bytes of anonymous memory, processor seconds, output) of `unnaive train`."""
    words = ["train", str(path), "-m", model, "-o", str(folder / "a.model"), "--memory", memory, "--frozen"]
    with (folder / "said").open("w+", encoding="utf-8") as said:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(
            [sys.executable, "-m", "unnaive", *words], stdout=said, stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
        )  # fmt: skip
        peak = 0
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid))
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        said.seek(0)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return process.returncode, peak, used, " ".join(said.read().split())


def anonymous_bytes(pid):
    """Memory of a process without pages of files; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument("--size", type=float, default=100, help="megabytes of text")
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--seconds", type=int, default=300, help="of the processor, after which a model is given up")
    arguments = parser.parse_args()
    limit = parse_size(arguments.memory)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "growing.jsonl"
        write(path, arguments.size * 1e6, drawn=DRAWN, lone=LONE)
        for model in arguments.models or MODELS:
            code, peak, seconds, said = measure(path, model, arguments.memory, arguments.seconds, folder)
            pruned = re.search("[0-9,]+ terms of fewer than .*? left out", said)
            terms = (pruned[0] if pruned else "all terms kept") if code == 0 else said[-400:]
            ended = {0: "trained", 2: "refused"}.get(code, f"ended with {code}")
            met = "met" if code == 2 or (code == 0 and peak <= limit) else "NOT MET"
            print(f"{model}: {ended}, {peak / 1e6:.0f} MB, {seconds:.0f} s, {met}; {terms}", flush=True)


if __name__ == "__main__":
    main()
