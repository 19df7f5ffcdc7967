"""Training beyond memory where the vocabulary keeps growing: peak memory and MB a second, from 0.1 GB of text on.

python benchmarks/one_pass_memory.py [--sizes 0.1 0.5 1] [--memory 256M] [--models multinomial …] [--folder FOLDER]

Synthetic JSON lines of 1,300 bytes: phrases, some by class, and ten words in each document that no other has, so that 3
GB have 23 million terms. Peak memory is the high-water mark of the whole program (VmHWM); seconds are processor time of
all threads. Target: never more than --memory, and memory of the largest at most 1.1 times that of the smallest, for
each model. Files that a run before wrote to FOLDER are used again.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import MEMORY, show_figure

from unnaive.base.byte_sizes import parse_size

CLASSES, PHRASES, WORDS = 5, 20_000, 50_000
AT_ONCE = 4096  # documents whose phrases are drawn together
LONE = 10  # words of a document that no other has
TRAIN = """
import time
from unnaive.apps.cli.main import exit_code
code = exit_code({words!r})
print(time.process_time())
assert code == 0
"""


def write(path, size, seed=0, *, drawn=8, lone=LONE):
    """A file of at least `size` bytes; a document has `drawn` phrases, half of them by its class, and `lone` words."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{number:x}" for number in range(WORDS)])
    phrases = [
        [" ".join(words[(rng.zipf(1.2, 24) * 7919 + shift * (rng.random(24) < 0.3)) % WORDS]) for _ in range(PHRASES)]
        for shift in range(CLASSES)
    ]
    written = number = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            labels = rng.integers(CLASSES, size=(AT_ONCE, 2)).tolist()
            for (label, other), rows in zip(labels, rng.integers(PHRASES, size=(AT_ONCE, drawn)).tolist(), strict=True):
                parts = [phrases[label if place < drawn // 2 else other][row] for place, row in enumerate(rows)]
                parts += [f"n{word:x}" for word in range(lone * number, lone * (number + 1))]
                written += file.write(f'{{"text": "{" ".join(parts)}", "label": "c{label}"}}\n')
                number += 1
                if written >= size:
                    break


def measure(path, model, memory, folder):
    """(peak bytes, processor seconds, wall-clock seconds, what the summary says of terms) of `unnaive train`."""
    words = ["train", str(path), "-m", model, "-o", str(folder / "a.model"), "--memory", memory, "--frozen"]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", TRAIN.format(words=words) + MEMORY], capture_output=True, text=True, check=True
    )
    *_, cpu, peak = done.stdout.split()
    said = [line for line in (done.stdout + done.stderr).splitlines() if "term" in line]
    return int(peak) * 1024, float(cpu), time.perf_counter() - began, "; ".join(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.1, 0.5, 1])
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--models", nargs="+", default=["multinomial", "sharded-nbsvm"])
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.folder or Path(name)
        for size in arguments.sizes:
            if not (folder / f"{size}.jsonl").exists():
                write(folder / f"{size}.jsonl", size * 1e9)
        for model in arguments.models:
            peaks = []
            for size in arguments.sizes:
                path = folder / f"{size}.jsonl"
                peak, cpu, wall, said = measure(path, model, arguments.memory, Path(name))
                peaks.append(peak)
                rate = path.stat().st_size / 1e6 / cpu
                times = f"{cpu:.0f} s of the processor, {wall:.0f} s by the clock"
                print(f"{model}, {size} GB: {peak / 1e6:.0f} MB, {rate:.1f} MB/s a core, {times}; {said}", flush=True)
            show_figure(f"{model}, peak memory over --memory", max(peaks) / parse_size(arguments.memory), 1)
            show_figure(f"{model}, peak memory of the largest over the smallest", peaks[-1] / peaks[0], 1.1)


if __name__ == "__main__":
    main()
