"""The cost of changing an `auto` model: processor seconds of `unnaive update` and `forget`, exact and approximate.

    python benchmarks/auto_update.py [banking77] [20newsgroups] [--documents 10] [--jobs 1] [--accuracy]

The model is trained on the training part by `unnaive train`, and changed by some documents of the test part: exactly,
with --search keep, and with --search adjust. Seconds are processor time and of whole commands: starting, reading and
writing the file included; modules are compiled before, as in an installed package. After an exact update and an exact
`forget` the file is what it was, byte for byte; after an approximate update, `update --search again` writes the file of
an exact one. Target: an exact change within half of 5 s on Banking77 and of 15 s on 20 Newsgroups, which is what it
took before; an approximate one within 1 s on Banking77.

With --accuracy: a model of 2,800 documents of the training part learns 400 more, exactly and approximately, and is
tested on 800 others.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import show_figure, timed

from unnaive import TextClassifier
from unnaive.classifier.model_file import documents_bytes
from unnaive.papers.collections import load

EXACT = {"banking77": 2.5, "20newsgroups": 7.5}
APPROXIMATE = {"banking77": 1.0}
NO_LIMIT = float("inf")


def write_documents(path, corpus, most=None):
    texts, labels = list(corpus.texts)[:most], list(corpus.labels)[:most]
    lines = [json.dumps({"text": text, "label": label[0]}) for text, label in zip(texts, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(threads, *words):
    command = [sys.executable, "-m", "unnaive", *map(str, words), "--jobs", str(threads), "-q"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return timed(lambda: subprocess.run(command, check=True, env=environment))[1]


def measure(name, n_docs, threads):
    with tempfile.TemporaryDirectory() as folder:
        model, exact, other = (Path(folder) / file for file in ("a.model", "b.model", "c.model"))
        train, new = (Path(folder) / file for file in ("train.jsonl", "new.jsonl"))
        collection = load(name)
        write_documents(train, collection.part("train"))
        write_documents(new, collection.part("test"), n_docs)
        print(f"{name}: train {run(threads, 'train', train, '-o', model):.1f} s")
        shutil.copy(model, exact)
        run(threads, "update", exact, new, "--search", "adjust")  # compiles the modules of updates
        shutil.copy(model, exact)
        show_figure(f"{name}, update, seconds", run(threads, "update", exact, new), EXACT[name])
        for search in ("keep", "adjust"):
            shutil.copy(model, other)
            wanted = APPROXIMATE if search == "adjust" else EXACT
            show_figure(
                f"{name}, update --search {search}, seconds",
                run(threads, "update", other, new, "--search", search),
                wanted.get(name, NO_LIMIT),
            )
        run(threads, "update", other, "--search", "again")
        assert other.read_bytes() == exact.read_bytes()
        show_figure(
            f"{name}, forget --search adjust, seconds",
            run(threads, "forget", other, new, "--search", "adjust"),
            APPROXIMATE.get(name, NO_LIMIT),
        )
        show_figure(f"{name}, forget, seconds", run(threads, "forget", exact, new), EXACT[name])
        assert exact.read_bytes() == model.read_bytes()
        show_figure(f"{name}, counted documents in the file, MB", documents_bytes(model) / 1e6, 10.0)


def compare_accuracy(name):
    corpus = load(name).part("train")
    rows = [(text, labels[0]) for text, labels in zip(corpus.texts, corpus.labels, strict=True)]
    order = np.random.default_rng(3).permutation(len(rows))[:4_000].tolist()
    before, more, aside = ([rows[row] for row in part] for part in (order[:2800], order[2800:3200], order[3200:]))
    model = TextClassifier("auto").fit(*zip(*before, strict=True))
    show_accuracy(f"{name}, before", model, aside)
    show_accuracy("approximate", model.partial_fit(*zip(*more, strict=True), search="adjust"), aside)
    show_accuracy("exact", model.remake(), aside)


def show_accuracy(name, model, rows):
    texts, labels = zip(*rows, strict=True)
    p, truth = model.predict_proba(texts), np.searchsorted(np.array(model.classes_), labels)
    loss = -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-12)).mean()
    print(f"{name}: accuracy {100 * (p.argmax(axis=1) == truth).mean():.2f}, log-loss {loss:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=["banking77", "20newsgroups"])
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--accuracy", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.collections:
        if arguments.accuracy:
            compare_accuracy(name)
            continue
        measure(name, arguments.documents, arguments.jobs)


if __name__ == "__main__":
    main()
