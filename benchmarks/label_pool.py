"""How soon the next text is there: label, rank the whole pool anew, choose; with 100,000 texts. CPU time of one thread.

    python benchmarks/label_pool.py [--texts 100000] [--classes 20] [--labels 200]

The texts are made up, lengths and word frequencies like those of newsgroup posts (Zipf): no collection is needed.
Times are CPU time of the process (it waits for nothing but the disk at each label, which is told apart).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from unnaive.labelling.record import LabelRecord
from unnaive.labelling.session import Labelling


def make_texts(n: int, words: int = 80, vocabulary: int = 60_000, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    share = 1 / np.arange(1, vocabulary + 1)
    edges = np.cumsum(share / share.sum())
    lengths = np.maximum(1, draw.poisson(words, n))
    ids = np.searchsorted(edges, draw.random(int(lengths.sum())))
    names = np.array([f"w{number}x" for number in range(vocabulary + 1)], object)
    at, texts = 0, []
    for length in lengths.tolist():
        texts.append(" ".join(names[ids[at : at + length]]))
        at += length
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--labels", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        classes = [f"class {number}" for number in range(asked.classes)]
        record = LabelRecord.create(Path(folder) / "labels.db", make_texts(asked.texts), classes=classes)
        start = time.process_time()
        labelling = Labelling(record)
        print(f"{asked.texts:,} texts, {labelling.pool.X.nnz:,} terms; opened in {time.process_time() - start:.1f} s")
        draw = np.random.default_rng(1)
        ranked, whole, wall = [], [], []
        for number in range(asked.labels):
            shown = labelling.show("me")
            assert shown is not None
            started, clock = time.process_time(), time.perf_counter()
            labelling.answer("me", shown.text, "label", [classes[int(draw.integers(asked.classes))]], shown)
            before = time.process_time()
            labelling.pool.ranking()
            ranked.append(1000 * (time.process_time() - before))
            after = time.process_time()
            following = labelling.show("me")
            assert following is not None
            labelling.explain(following)
            if number >= asked.classes:  # from here on every class is known
                whole.append(1000 * (time.process_time() - after + before - started) + ranked[-1])
                wall.append(1000 * (time.perf_counter() - clock))
        ranked = ranked[asked.classes :]
    for name, times in (
        ("rank the pool anew", ranked),
        ("key press to next text, CPU", whole),
        ("the same by the clock", wall),
    ):
        cuts = statistics.quantiles(times, n=20)
        middle = statistics.median(times)
        print(f"{name:30} median {middle:6.1f} ms   95 % {cuts[-1]:6.1f} ms   least {min(times):6.1f} ms")


if __name__ == "__main__":
    main()
