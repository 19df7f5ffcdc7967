"""Training beyond memory: throughput against training in memory, and peak memory as the data grows.

    python benchmarks/out_of_core.py [--copies 40] [--data FOLDER]

20 Newsgroups as JSON lines, repeated many times: `stream_documents`, which counts batches as they are read, against
reading all documents and `TextClassifier.fit`; both from the file to a saved model, which has the same bytes. Peak
memory is measured in a separate process for each.

Models that learn from documents pass over a matrix on disk. What they derive from it lies in files too, whose pages the
system can write out and take back, so of these processes the peak of all other memory is looked at. A few iterations
are enough: further ones need no more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import alternated, peak_anonymous, peak_memory, show_figure

from unnaive.papers.collections import load

OUT_OF_CORE = """
from dataclasses import replace
from unnaive import TextClassifier
from unnaive.io.datafiles import DataFile
from unnaive.learning.train import train
from unnaive.scaleout.streaming import Resources, stream_documents
from unnaive.classifier.model_file import save
classifier = TextClassifier("multinomial", {rule})
with stream_documents(DataFile({path!r}), classifier.token_rule, resources=Resources({memory})) as data:
    save(train(data, classifier.spec()), {path!r} + ".streamed")
"""
FROM_DOCUMENTS = """
from unnaive.apps.cli.main import exit_code
raise SystemExit(exit_code(["train", {path!r}, "-o", {path!r} + ".documents", "--memory", "512M", *{words!r}]))
"""
ITERATED = {
    "NB-SVM": ["--model", "nbsvm", "--set", "max_iter=5"],
    "MaxEnt by L-BFGS": ["--model", "maxent", "--set", "max_iter=5"],
    "MaxEnt by GIS": [
        "--model",
        "maxent",
        "--set",
        "solver=gis",
        "--set",
        "early_stopping=false",
        "--set",
        "max_iter=3",
    ],
    "higher-order smoothing": ["--model", "hos"],
}
IN_MEMORY = """
from dataclasses import replace
from unnaive import TextClassifier
from unnaive.io.datafiles import DataFile
from unnaive.classifier.model_file import save
source = DataFile({path!r})
corpus = source.corpus()
classifier = TextClassifier("multinomial").fit(corpus.texts, [names[0] for names in corpus.labels])
save(replace(classifier.fitted_, source=source.options.log.columns.section()), {path!r} + ".memory")
"""


def write(path, corpus, copies):
    """The corpus as JSON lines, `copies` times."""
    lines = "".join(
        json.dumps({"text": text, "label": names[0]}) + "\n"
        for text, names in zip(corpus.texts, corpus.labels, strict=True)
    )
    with path.open("w") as file:
        for _ in range(copies):
            file.write(lines)
    return str(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--documents-copies", type=int, default=10)
    parser.add_argument("--only", choices=("sums", "documents"), help="models that learn from sums, or from documents")
    parser.add_argument("--data", type=Path, default=None)
    options = parser.parse_args()
    corpus = load("20newsgroups", data=options.data)
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "documents":
            measure_sums(Path(folder), corpus, options.copies)
        if options.only != "sums":
            measure_documents(Path(folder), corpus, options.documents_copies)


def measure_sums(folder, corpus, most):
    """Models that learn from sums: throughput, and memory from 1 to `most` copies."""
    some = write(folder / "some.jsonl", corpus, 8)
    ours, peer = OUT_OF_CORE.format(path=some, rule="", memory=""), IN_MEMORY.format(path=some)
    found = alternated(*(lambda code=code: run(code) for code in (ours, peer)), repeats=3)
    same = Path(some + ".streamed").read_bytes() == Path(some + ".memory").read_bytes()
    print(f"the two files of 8 copies have the same bytes: {same}")
    show_figure("throughput over that in memory, clock", found.ratio, 0.8, at_most=False)
    show_figure("throughput over that in memory, processor", found.cpu_ratio, 0.8, at_most=False)
    one = write(folder / "one.jsonl", corpus, 1)
    peaks = {}
    for copies in (1, most):
        path = write(folder / "grown.jsonl", corpus, copies)
        peaks[copies] = peak_memory(OUT_OF_CORE.format(path=path, rule="", memory=""))
        print(f"peak memory, {copies} times the data: {peaks[copies] / 1e6:.0f} MB")
    show_figure(f"peak memory, {most} times the data over once", peaks[most] / peaks[1], 1.1)
    for name, allowed, grams in (("256M", 256 << 20, 2), ("500M", 500 << 20, 3), ("2G", 2 << 30, 3)):
        limited = OUT_OF_CORE.format(path=one, rule=f"ngrams=(1, {grams})", memory=f"memory={allowed}")
        show_figure(f"up to {grams} words with --memory {name}, peak in MB", peak_memory(limited) / 1e6, allowed / 1e6)


def measure_documents(folder, corpus, most):
    """Models that learn from documents: memory other than pages of files, of 1 and of `most` copies."""
    for name, words in ITERATED.items():
        peaks = {}
        for copies in (1, most):
            path = write(folder / "grown.jsonl", corpus, copies)
            peaks[copies] = peak_anonymous(FROM_DOCUMENTS.format(path=path, words=words))
        print(f"{name}: {peaks[1] / 1e6:.0f} MB, of {most} times the data {peaks[most] / 1e6:.0f} MB", flush=True)
        show_figure(f"{name}, {most} times the data over once", peaks[most] / peaks[1], 1.1)


def run(code):
    """A new process, so that neither side finds anything warm."""
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
