"""How large exports are, and how fast they label one text after another: js, c and onnx beside the kernel.

python benchmarks/export_speed.py [--texts N]

Processor time of one text at a time, the best of five runs, and the ratio to the kernel called from Python; models are
trained on the built-in tickets.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from unnaive import TextClassifier
from unnaive.classifier.export import c_header
from unnaive.classifier.export.folders import export_model
from unnaive.classifier.export.onnx_target import open_session
from unnaive.io.tickets import load_tickets

NODE = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const { classify } = await import(pathToFileURL(process.argv[1]));
const texts = JSON.parse(readFileSync(process.argv[2], "utf8"));
const times = [];
for (let run = 0; run < 5; run++) {
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
  for (int run = 0; run < 5; run++) {
    clock_t before = clock(); size_t done = 0;
    for (char *at = texts; at < texts + bytes; at += strlen(at) + 1, done++)
      unnaive_classify(&model, at, strlen(at), scratch, room, &answer);
    double each = (double)(clock() - before) / CLOCKS_PER_SEC / (double)done;
    if (each < best) best = each;
  }
  printf("%.9f\n", best);
}
"""


def kernel_time(classifier: TextClassifier, texts: list[str]) -> float:
    """Processor seconds of one text in Python, one call each."""
    best = float("inf")
    for _ in range(5):
        before = time.process_time()
        for text in texts:
            classifier.scores([text])
        best = min(best, (time.process_time() - before) / len(texts))
    return best


def main() -> None:
    """Print a row for each model and target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=275)
    n_texts = parser.parse_args().texts
    corpus = load_tickets()
    train, test = corpus.part("train"), list(corpus.part("test").texts)[:n_texts]
    print("| model | target | bytes | gzipped | µs a text | of the kernel's |\n|---|---|---|---|---|---|")
    for name in ("multinomial", "nbsvm", "auto"):
        model = TextClassifier(name, n_jobs=1).fit(list(train.texts), [labels[0] for labels in train.labels])
        own = kernel_time(model, test)
        print(f"| {name} | Python, one call a text | | | {own * 1e6:.0f} | 1 |")
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            (folder / "texts.json").write_text(json.dumps(test))
            (folder / "texts.bin").write_bytes(b"".join(text.encode() + b"\0" for text in test))
            for target in ("js", "c", "onnx"):
                show(name, target, folder, own, *run(model, target, folder, test))


def onnx_time(file: Path, texts: list[str]) -> float:
    """Processor seconds of one text in onnxruntime with one thread, one call each."""
    session, best = open_session(file.read_bytes()), float("inf")
    for _ in range(5):
        before = time.process_time()
        for text in texts:
            session.run(["label", "scores"], {"text": np.array([text], dtype=object)})
        best = min(best, (time.process_time() - before) / len(texts))
    return best


def run(model: TextClassifier, target: str, folder: Path, texts: list[str]) -> tuple[float, Path]:
    """(processor seconds of a text, the file that holds the model)."""
    export_model(model.fitted_, target, folder / target)
    if target == "onnx":
        file = folder / target / "model.onnx"
        return onnx_time(file, texts), file
    if target == "js":
        file = folder / target / "model.js"
        command = [
            shutil.which("node") or "node",
            "--input-type=module",
            "-e",
            NODE,
            str(file),
            str(folder / "texts.json"),
        ]
    else:
        file, program = folder / target / "model.bin", folder / "speed"
        (folder / "speed.c").write_text(C)
        compiler = shutil.which("gcc") or "cc"
        subprocess.run(
            [compiler, "-O2", "-I", str(folder / target), str(folder / "speed.c"), "-o", str(program), "-lm"],
            check=True,
        )
        command = [str(program), str(file), str(folder / "texts.bin")]
    return float(subprocess.run(command, capture_output=True, check=True).stdout), file


def show(name: str, target: str, folder: Path, own: float, seconds: float, file: Path) -> None:
    """A row of the table."""
    content = file.read_bytes() + (b"" if target != "c" else (c_header.RUNTIME / "runtime.h.in").read_bytes())
    sizes = f"{len(content):,} | {len(gzip.compress(content)):,}"
    print(f"| {name} | {target} | {sizes} | {seconds * 1e6:.0f} | {seconds / own:.2f} |")


if __name__ == "__main__":
    main()
