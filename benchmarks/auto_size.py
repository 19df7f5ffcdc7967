"""`unnaive train` with `auto` on files of 10,000, 100,000 and 1.2 million documents: seconds, memory, accuracy.

    python benchmarks/auto_size.py [--documents N …] [--budget 60] [--memory 2G] [--model nbsvm] [--folder FOLDER]

The files are made of 20 Newsgroups by a seed: a document is a few runs of words of its group, some of any group, and
one word of 25 is new or one of the new words before, so that the vocabulary grows as that of real text does. One label
of twenty is another's. 1.2 million rows are about 300 MB and 720,000 words. 2,000 further documents are for testing.

Each training is a process of its own; seconds are wall-clock and processor time. Memory is the peak of all memory
without pages of files, which the system can reclaim, and in brackets with them. Targets on two idle cores: 10 s, 60 s
and 300 s at `normal`, 5 GB, 2 GB with --memory 2G, and at most 70 s with --budget 60.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import verdict, watched

from unnaive import TextClassifier
from unnaive.io.datafiles import DataFile
from unnaive.papers.collections import load

SIZES = (10_000, 100_000, 1_200_000)
WANTED = {10_000: 10.0, 100_000: 60.0, 1_200_000: 300.0}
N_TEST = 2_000
BLOCK = 10_000  # documents made at a time, each block by a seed of its own
RUNS, LENGTH = 5, 8  # runs of words in a document, and words in a run, on the mean
OTHER, NEW, WRONG = 0.1, 1 / 25, 0.05  # shares: runs of any group, new words, wrong labels
GROWTH = 0.95  # of n words drawn, n^GROWTH are there


class Source:
    """Words of 20 Newsgroups, group by group, of which documents are made."""

    def __init__(self) -> None:
        corpus = load("20newsgroups")
        self.classes = sorted({names[0] for names in corpus.labels})
        self.words: list[str] = []
        starts = []
        for label in self.classes:
            starts.append(len(self.words))
            for text, names, split in zip(corpus.texts, corpus.labels, corpus.split, strict=True):
                if names[0] == label and split == "train":
                    body = text.partition("\n\n")[2] or text
                    self.words += [word.strip(".,;:!?()\"'<>|*-_=") or "so" for word in body.split() if len(word) < 30]
        self.ends = np.array([*starts[1:], len(self.words)])
        self.starts = np.array(starts)

    def block(self, number: int, n_docs: int) -> tuple[list[str], list[str]]:
        """Texts and labels of block `number`."""
        random = np.random.default_rng((7, number))
        groups = random.integers(len(self.classes), size=n_docs)
        n_runs = 1 + random.poisson(RUNS - 1, n_docs)
        owner = np.repeat(groups, n_runs)
        other = random.random(len(owner)) < OTHER
        owner[other] = random.integers(len(self.classes), size=int(other.sum()))
        start = (self.starts[owner] + random.random(len(owner)) * (self.ends - self.starts)[owner]).astype(np.int64)
        length = 2 + random.poisson(LENGTH - 2, len(owner))
        before = number * BLOCK * RUNS * LENGTH * NEW  # new words drawn in the blocks before, about
        texts, at = [], 0
        for count in n_runs.tolist():
            parts: list[str] = []
            for run in range(at, at + count):
                parts += self.words[start[run] : start[run] + length[run]]
            for place in np.flatnonzero(random.random(len(parts)) < NEW).tolist():
                known = int((before + at * LENGTH * NEW + 1) ** GROWTH)
                parts[place] = _new_word(int(random.integers(known + 1)))
            texts.append(" ".join(parts))
            at += count
        wrong = random.random(n_docs) < WRONG
        groups[wrong] = random.integers(len(self.classes), size=int(wrong.sum()))
        return texts, [self.classes[group] for group in groups.tolist()]


def _new_word(number: int) -> str:
    """A word that no text has, by its number: syllables.

    >>> _new_word(70), _new_word(71)
    ('zmesape', 'zgonupi')
    """
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or")]
    parts = []
    number = number * 7919 + 1
    while number:
        number, rest = divmod(number, len(syllables))
        parts.append(syllables[rest])
    return "z" + "".join(parts)


def write(path: Path, source: Source, blocks: range, n_docs: int) -> None:
    """A CSV file of so many documents."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for number in blocks:
            texts, labels = source.block(number, min(BLOCK, n_docs))
            writer.writerows(zip(texts, labels, strict=True))
            n_docs -= len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="*", default=SIZES)
    parser.add_argument("--budget", default="normal")
    parser.add_argument("--memory")
    parser.add_argument("--model", default="auto")
    parser.add_argument("--folder", type=Path, help="Where the files are, and stay.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        test = folder / "test.csv"
        source = None
        for n_docs in arguments.documents:
            data = folder / f"{n_docs}.csv"
            if not data.exists() or not test.exists():
                source = source or Source()
                write(test, source, range(10_000, 10_001), N_TEST)
                write(data, source, range(-(-n_docs // BLOCK)), n_docs)
            train(data, test, n_docs, arguments)


def train(data: Path, test: Path, n_docs: int, arguments: argparse.Namespace) -> None:
    """Train on a file, and print what it took and gave."""
    model = data.with_suffix(".model")
    command = [
        sys.executable,
        "-m",
        "unnaive",
        "train",
        str(data),
        "-o",
        str(model),
        "--json",
        "--model",
        arguments.model,
    ]
    command += ["--budget", arguments.budget] if arguments.model == "auto" else []
    command += ["--memory", arguments.memory] if arguments.memory else []
    run = watched(command)
    summary = json.loads(run.stdout)
    corpus = DataFile(str(test)).corpus()
    accuracy = TextClassifier.load(model).score(corpus.texts, [names[0] for names in corpus.labels])
    seconds = float(arguments.budget) * 70 / 60 if arguments.budget[0].isdigit() else WANTED.get(n_docs, float("nan"))
    print(
        f"{n_docs:,} documents, {data.stat().st_size / 1e6:.0f} MB, {summary['terms']:,} terms: {run.wall:.1f} s "
        f"({run.processor:.1f} s of the processor), {run.anonymous / 1e9:.2f} GB ({run.resident / 1e9:.2f} GB), "
        f"accuracy {100 * accuracy:.1f}; {verdict(run.wall, seconds, at_most=True)}; the model has sha256 "
        f"{hashlib.sha256(model.read_bytes()).hexdigest()[:12]}",
        flush=True,
    )
    for line in summary.get("search", {}).get("left-out", ()):
        print(f"  left out: {line}")


if __name__ == "__main__":
    main()
