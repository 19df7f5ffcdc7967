"""How fast a corpus is filtered on one core: JSON lines to kept lines, beside datatrove's FastTextClassifierFilter.

python benchmarks/filter_speed.py [--copies N] [--repeats N] [--without-peer]

20 Newsgroups, N copies as uncompressed JSON lines; science and computers are kept. One thread, models loaded before.
Processor time, which other programs hardly affect: the lowest of the repeats. The lower bound is the same loop without
scoring: blocks are read, lines found, texts taken out of their JSON, and half of the lines written. datatrove reads and
writes by its own JsonlReader and JsonlWriter, one copy of the corpus, with fastText's model of words and pairs; both
filters are asked for p ≥ 0.5.
"""

import argparse
import json
import logging
import tempfile
from pathlib import Path

import numpy as np
from timing import ratio_of, show_figure, timed

from unnaive import TextClassifier
from unnaive.io.fields.columns import Columns
from unnaive.io.read_options import ReadOptions
from unnaive.learning.fitted import FittedModel
from unnaive.papers.collections import load
from unnaive.scaleout.filter.blocks import ShardReading
from unnaive.scaleout.filter.keep_rule import KeepRule
from unnaive.scaleout.filter.run import filter_file
from unnaive.scaleout.filter.shards import ShardJob

MODELS = {
    "multinomial, words": (TextClassifier("multinomial"), 90),
    "nbsvm, words and pairs": (TextClassifier("nbsvm", ngrams=(1, 2)), 50),
}


class EveryOther:
    """A rule that keeps every other text without a look at it."""

    def scores(self, texts):
        """By turns below and above 0."""
        return np.arange(len(texts)) % 2 - 0.5

    def keeps(self, scores):
        """Those above."""
        return scores >= 0


def write_corpus(folder, copies):
    """(the file, its megabytes) of all texts, and (texts, labels)."""
    corpus = load("20newsgroups")
    texts = list(corpus.texts)
    labels = ["good" if names[0].startswith(("sci", "comp")) else "bad" for names in corpus.labels]
    lines = "".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)).encode()
    path = Path(folder) / "corpus.jsonl"
    with path.open("wb") as file:
        for _ in range(copies):
            file.write(lines)
    return path, path.stat().st_size / 1e6, texts, labels


def filtering(path, rule, folder):
    """Filter the corpus by a rule, in one thread."""
    job = ShardJob(str(path), Path(folder) / "kept.jsonl", "corpus.jsonl", "jsonl")
    reading = ShardReading(Columns(("text",)), None, ReadOptions())
    return lambda: filter_file(rule, job, reading, 1)


def fasttext_file(folder, texts, labels):
    """fastText's model of words and pairs."""
    import fasttext

    lines = (f"__label__{label} {' '.join(text.split())}\n" for text, label in zip(texts, labels, strict=True))
    (Path(folder) / "train.txt").write_text("".join(lines), encoding="utf-8")
    path = Path(folder) / "fasttext.bin"
    model = fasttext.train_supervised(str(Path(folder) / "train.txt"), wordNgrams=2, epoch=1, thread=1, verbose=0)
    model.save_model(str(path))
    return path


def datatrove_run(source, model, folder):
    """The same by datatrove's filter."""
    from datatrove.pipeline.filters import FastTextClassifierFilter
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from loguru import logger

    logger.remove()
    logging.disable(logging.INFO)
    step = FastTextClassifierFilter(str(model), keep_labels=[("good", 0.5)], save_labels_in_metadata=False,
                                    newline_replacement=" ")  # fmt: skip
    step.model  # noqa: B018  # loaded before

    def run():
        data = None
        for one in (JsonlReader(str(source)), step, JsonlWriter(str(Path(folder) / "out"), compression=None)):
            data = one.run(data, 0, 1)
        for _ in data:
            pass

    return run


def main():
    """Print every figure with its target."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--without-peer", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, megabytes, texts, labels = write_corpus(folder, options.copies)
        limit = min(timed(filtering(path, EveryOther(), folder))[1] for _ in range(options.repeats))
        print(f"{'limit: the same loop without scoring':44} {megabytes / limit:6.0f} MB/s")
        rules = {}
        for name, (classifier, wanted) in MODELS.items():
            fitted: FittedModel = classifier.fit(texts, labels).fitted_
            rules[name] = KeepRule(fitted, ("good",), 0.0).on_one_thread()
            run = filtering(path, rules[name], folder)
            best = min(timed(run)[1] for _ in range(options.repeats))
            show_figure(f"{name}, MB/s", megabytes / best, wanted, at_most=False)
        if options.without_peer:
            return
        small = Path(folder) / "once"
        small.mkdir()
        write_corpus(small, 1)
        peer = datatrove_run(small, fasttext_file(folder, texts, labels), folder)
        for name, rule in rules.items():
            own = filtering(small / "corpus.jsonl", rule, folder)
            runs = [(timed(own)[1], timed(peer)[1]) for _ in range(options.repeats)]
            ours, theirs = (list(times) for times in zip(*runs, strict=True))
            show_figure(f"{name}, times datatrove's fastText filter", ratio_of(ours, theirs), 10, at_most=False)
        print(f"{'datatrove with fastText':44} {megabytes / options.copies / min(theirs):6.2f} MB/s")


if __name__ == "__main__":
    main()
