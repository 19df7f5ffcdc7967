"""How large exports are, and how fast they label one text after another: js, c, onnx and SQLite beside the kernel.

python benchmarks/export_speed.py [--texts N] [--rounds N] [--target TARGET]... [--model MODEL]...

All targets alternate, round by round, in processor time; a ratio is the median over rounds of a target's time of a text
over that of the classifier, and of the kernel alone, called from Python with one text for its scores: this is what "the
kernel's rate on one text" means. The exports give probabilities and decide too; `predict` gives labels alone, from sums
in single precision if the lead is certain. Models are trained on the built-in tickets and, if it is found, on
20 Newsgroups, whose messages are longer.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from unnaive import TextClassifier
from unnaive.base.errors import UnnaiveError
from unnaive.data.corpus import Corpus
from unnaive.interop.export.declared_parts import CannotExport
from unnaive.interop.export.export_folder import export_model
from unnaive.interop.export.sql_engines import documents_table, run_sqlite
from unnaive.io.tickets import load_tickets
from unnaive.linear.linear import Linear
from unnaive.papers.collections import load
from unnaive.text.counting import TextScorer

NODE = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const { classify } = await import(pathToFileURL(process.argv[1]));
const texts = JSON.parse(readFileSync(process.argv[2], "utf8"));
const times = [];
for (let run = 0; run < 4; run++) {
  const before = process.cpuUsage();
  for (const text of texts) classify(text);
  const { user, system } = process.cpuUsage(before);
  times.push((user + system) / 1e6 / texts.length);
}
console.log(Math.min(...times));
"""
C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "unnaive.h"
static char *slurp(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  fseek(file, 0, SEEK_END); *size = (size_t)ftell(file); rewind(file);
  char *data = malloc(*size + 1);
  if (fread(data, 1, *size, file) != *size) exit(1);
  fclose(file);
  return data;
}
int main(int n, char **arguments) {
  size_t size, bytes; (void)n;
  char *data = slurp(arguments[1], &size), *texts = slurp(arguments[2], &bytes);
  unnaive_model model;
  if (unnaive_open(&model, data, size)) return 1;
  double *scores = malloc(model.n_classes * 8), *p = malloc(model.n_classes * 8);
  unnaive_answer answer = {scores, p, malloc(model.n_classes), 0, 0, 0};
  size_t room = unnaive_scratch_size(&model, bytes); void *scratch = calloc(room, 1);
  double best = 1e9;
  for (int run = 0; run < 4; run++) {
    clock_t before = clock(); size_t done = 0;
    for (char *at = texts; at < texts + bytes; at += strlen(at) + 1, done++)
      unnaive_classify(&model, at, strlen(at), scratch, room, &answer);
    double each = (double)(clock() - before) / CLOCKS_PER_SEC / (double)done;
    if (each < best) best = each;
  }
  printf("%.9f\n", best);
}
"""


FILES = {
    "js": ["model.js"],
    "c": ["unnaive.h", "model.bin"],
    "onnx": ["model.onnx"],
    "sql": ["sqlite-tables.sql", "sqlite-label.sql"],
}
CLASSIFIER, KERNEL = "the classifier's scores, one call a text", "the kernel alone, one call a text"
LABELS, BATCH = "the classifier's labels, one call a text", "the kernel alone, all texts in one call"


def main() -> None:
    """Print a row for each model and target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=275)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", action="append", choices=PREPARE, help="one of them; all if none is named")
    parser.add_argument("--model", action="append", help="one of them; all if none is named")
    arguments = parser.parse_args()
    print("| texts, model | target | bytes | gzipped | µs a text | of the classifier's | of the kernel's |")
    print("|---|---|---|---|---|---|---|")
    for name, corpus, models in collections():
        train, test = corpus.part("train"), list(corpus.part("test").texts)
        texts = [text.replace("\0", " ") for text in test[:: max(1, len(test) // arguments.texts)]][: arguments.texts]
        for model in [model for model in models if not arguments.model or model in arguments.model]:
            classifier = TextClassifier(model, n_jobs=1).fit(list(train.texts), [one[0] for one in train.labels])
            with tempfile.TemporaryDirectory() as folder:
                targets = arguments.target or list(PREPARE)
                measured = measure(classifier, texts, Path(folder), arguments.rounds, targets)
                show(f"{name}, {model}", Path(folder), *measured)


def collections() -> list[tuple[str, Corpus, tuple[str, ...]]]:
    """(name, texts, models) of what is there."""
    found = [("tickets", load_tickets(), ("multinomial", "nbsvm", "auto"))]
    try:
        found.append(("20 Newsgroups", load("20newsgroups"), ("multinomial", "nbsvm")))
    except UnnaiveError as problem:
        print(f"{problem}\n")
    return found


def measure(
    classifier: TextClassifier, texts: list[str], folder: Path, rounds: int, targets: list[str]
) -> tuple[dict[str, list[float]], list[str]]:
    """(processor seconds of a text by target, one entry a round; the targets that were exported)."""
    (folder / "texts.json").write_text(json.dumps(texts))
    (folder / "texts.bin").write_bytes(b"".join(text.encode() + b"\0" for text in texts))
    runs: dict[str, Callable[[], float]] = {
        CLASSIFIER: lambda: best_of(lambda: [classifier.scores([text]) for text in texts], len(texts)),
    }
    runs[LABELS] = lambda: best_of(lambda: [classifier.predict([text]) for text in texts], len(texts))
    scorer = kernel_alone(classifier)
    if scorer is not None:
        runs[KERNEL] = lambda: best_of(lambda: [scorer.scores([text]) for text in texts], len(texts))
        runs[BATCH] = lambda: best_of(lambda: scorer.scores(texts), len(texts))
    for target in targets:
        try:
            export_model(classifier.fitted_, target, folder / target)
        except CannotExport:
            continue
        run = PREPARE[target](folder, texts)
        if run is not None:
            runs[target] = run
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return times, [name for name in runs if name in FILES]


def kernel_alone(classifier: TextClassifier) -> TextScorer | None:
    """The kernel with the weights of a naive Bayes model, without all that a classifier is beside it."""
    model, linear = classifier.fitted_, classifier.fitted_.scorer
    if model.spec.model.traits.name != "multinomial" or not isinstance(linear, Linear):
        return None
    return TextScorer(model.token_rule, model.vocabulary, np.asarray(linear.weights()), bias=linear.bias, threads=1)


def best_of(work: Callable[[], object], n_texts: int, runs: int = 4) -> float:
    """Processor seconds of a text: the best of some runs, as the programs in C and JavaScript have it."""
    best = float("inf")
    for _ in range(runs):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best / n_texts


def run_number(command: list[str]) -> float:
    """The number that a program prints."""
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def prepare_js(folder: Path, texts: list[str]) -> Callable[[], float] | None:
    """Node with the module, all texts one after another."""
    node = shutil.which("node")
    if node is None:
        return None
    command = [node, "--input-type=module", "-e", NODE, str(folder / "js" / "model.js"), str(folder / "texts.json")]
    return lambda: run_number(command)


def prepare_c(folder: Path, texts: list[str]) -> Callable[[], float] | None:
    """A program of the header, likewise."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    (folder / "speed.c").write_text(C)
    build = [compiler, "-O2", "-I", str(folder / "c"), str(folder / "speed.c"), "-o", str(folder / "speed"), "-lm"]
    subprocess.run(build, check=True)
    command = [str(folder / "speed"), str(folder / "c" / "model.bin"), str(folder / "texts.bin")]
    return lambda: run_number(command)


def prepare_onnx(folder: Path, texts: list[str]) -> Callable[[], float] | None:
    """onnxruntime with one thread, one call a text, for at most 50 of them."""
    if not find_spec("onnxruntime"):
        return None
    from unnaive.interop.export.onnx_target import open_session

    session = open_session((folder / "onnx" / "model.onnx").read_bytes())
    asked = [{"text": np.array([text], dtype=object)} for text in texts[:: max(1, len(texts) // 50)]]
    return lambda: best_of(lambda: [session.run(["label", "scores"], one) for one in asked], len(asked), runs=1)


def prepare_sqlite(folder: Path, texts: list[str]) -> Callable[[], float]:
    """SQLite, all texts in one query, loading of the tables included."""
    table = documents_table([{"text": text} for text in texts])
    return lambda: best_of(lambda: run_sqlite(folder / "sql", table), len(texts), runs=1)


PREPARE: dict[str, Callable[[Path, list[str]], Callable[[], float] | None]] = {
    "js": prepare_js,
    "c": prepare_c,
    "onnx": prepare_onnx,
    "sql": prepare_sqlite,
}


def show(name: str, folder: Path, times: dict[str, list[float]], targets: list[str]) -> None:
    """The rows of a model."""
    for target, taken in times.items():
        sizes = " | "
        if target in targets:
            content = b"".join((folder / target / file).read_bytes() for file in FILES[target])
            sizes = f"{len(content):,} | {len(gzip.compress(content)):,}"
        pairs = (zip(taken, times[base], strict=True) if base in times else () for base in (CLASSIFIER, KERNEL))
        ratios = " | ".join(f"{median(ratios):.2f}" if (ratios := [a / b for a, b in pair]) else "" for pair in pairs)
        print(f"| {name} | {target} | {sizes} | {median(taken) * 1e6:.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
