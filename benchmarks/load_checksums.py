"""Processor time that checksums add to loading a model: with and without the check, in alternating runs.

python benchmarks/load_checksums.py [--models multinomial,nbsvm] [--file MODEL]… [--repeats N]

Trains the named models on 20 Newsgroups; `--file` measures model files that exist already.
"""

import argparse
import hashlib
import tempfile
import time
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from unnaive import TextClassifier
from unnaive.classifier import model_file
from unnaive.classifier.checksums import checksum
from unnaive.classifier.mapped_arrays import map_arrays
from unnaive.papers.collections import load as load_collection


@contextmanager
def without_checksums():
    """Load as if files had none."""
    check, read = model_file.check_header, model_file.read_checksums
    model_file.check_header = model_file.read_checksums = lambda *_, **__: None
    yield
    model_file.check_header, model_file.read_checksums = check, read


def seconds(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def measure(path, repeats):
    """Print what checksums add, copied and mapped, who comes first by turns: best runs, and medians."""
    for how, load in (("copied", model_file.load_model), ("mapped", partial(model_file.load_model, mapped=True))):
        runs = {"with": [], "without": []}
        for number in range(repeats):
            for side in ("with", "without") if number % 2 else ("without", "with"):
                with nullcontext() if side == "with" else without_checksums():
                    runs[side].append(seconds(load, path))
        for name, pick in (("best", min), ("median", median)):
            sealed, bare = pick(runs["with"]), pick(runs["without"])
            added = 100 * (sealed / bare - 1)
            print(f"  {how}, {name}: {1e3 * bare:7.1f} ms without, {1e3 * sealed:7.1f} ms with, {added:+.1f} %")
    arrays = map_arrays(path).arrays.values()
    size = sum(array.nbytes for array in arrays)
    ours = min(seconds(lambda: [checksum(array) for array in arrays]) for _ in range(5))
    theirs = seconds(lambda: [hashlib.blake2b(np.ascontiguousarray(array)).digest() for array in arrays])
    print(
        f"  checksums alone: {1000 * ours:.1f} ms, {size / ours / 1e9:.1f} GB/s; BLAKE2b {size / theirs / 1e9:.1f} GB/s"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="multinomial,nbsvm")
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(one) for one in options.file]
        if not paths:
            corpus = load_collection("20newsgroups")
            labels = [label for (label,) in corpus.labels]
            for name in options.models.split(","):
                paths.append(Path(folder) / f"{name}.model")
                TextClassifier(name).fit(corpus.texts, labels).save(paths[-1])
        for path in paths:
            print(f"{path.name}, {path.stat().st_size / 1e6:.1f} MB")
            measure(path, options.repeats)


if __name__ == "__main__":
    main()
