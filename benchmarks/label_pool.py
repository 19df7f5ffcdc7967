"""Time until the next text is shown, with 100,000 texts in the pool: from the answer to the next text with its
evidence.

    python benchmarks/label_pool.py [--texts 100000] [--classes 20] [--labels 1000]

The texts are synthetic, lengths and word frequencies like those of newsgroup posts (Zipf), a fifth of the words of
their class: no collection is needed. The target is 50 ms. Every answer is on disk before the next text is shown.
Processor time and wall-clock time are printed separately, since the latter includes other programs. The linear model is
fitted again after every ten answers.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.labelling_session import Labelling

BAR = 50.0  # ms


def make_texts(n: int, n_classes: int, words: int = 80, vocabulary: int = 60_000, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    share = 1 / np.arange(1, vocabulary + 1)
    edges = np.cumsum(share / share.sum())
    lengths = np.maximum(1, draw.poisson(words, n))
    ids = np.searchsorted(edges, draw.random(int(lengths.sum())))
    owner = np.repeat(np.arange(n) % n_classes, lengths)
    of_class = draw.random(len(ids)) < 0.2
    ids[of_class] = 1000 + owner[of_class] * 500 + ids[of_class] % 500
    names = np.array([f"w{number}x" for number in range(vocabulary + 1)], object)
    at, texts = 0, []
    for length in lengths.tolist():
        texts.append(" ".join(names[ids[at : at + length]]))
        at += length
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--labels", type=int, default=1000)
    arguments = parser.parse_args()
    used, clock = [], []
    with tempfile.TemporaryDirectory() as folder:
        classes = [f"class {number}" for number in range(arguments.classes)]
        texts = make_texts(arguments.texts, arguments.classes)
        record = LabelRecord.create(Path(folder) / "labels.db", texts, classes=classes)
        start = time.process_time()
        labelling = Labelling(record)
        print(
            f"{arguments.texts:,} texts, {labelling.pool.X.nnz:,} terms; opened in {time.process_time() - start:.1f} s"
        )
        shown = labelling.show("me")
        for _ in range(arguments.labels):
            assert shown is not None
            before, at = time.process_time(), time.perf_counter()
            labelling.answer("me", shown.text, "label", [classes[shown.text % arguments.classes]], shown.seen)
            shown = labelling.show("me")
            assert shown is not None
            labelling.explain(shown)
            used.append(1000 * (time.process_time() - before))
            clock.append(1000 * (time.perf_counter() - at))
        start = time.process_time()
        labelling.pool.ranking()
        print(f"rank all texts by naive Bayes: {1000 * (time.process_time() - start):.1f} ms of processor time")
    for name, times in (("processor time", used), ("by the clock", clock)):
        slow = np.array(times) > BAR
        middle, most, nearly_all = np.quantile(times, (0.5, 0.95, 0.99))
        print(
            f"answer to next text, {name:14}  median {middle:5.1f} ms   95 % {most:5.1f} ms   99 % {nearly_all:6.1f} ms"
            f"   over {BAR:.0f} ms {100 * slow.mean():.1f} %"
        )


if __name__ == "__main__":
    main()
