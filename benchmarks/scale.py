"""How training scales: measures one core, writes docs/scale.md with a cost model, and checks the model on this machine.

    python benchmarks/scale.py [--write docs/scale.md]

The text is synthetic, by Zipf's law, so that nothing needs to be fetched. Seconds are processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from one_pass_memory import measure as measure_command
from one_pass_memory import write as write_growing

from unnaive import TextClassifier
from unnaive.data.accumulator import Accumulator
from unnaive.data.run_folders import merge_folders, write_run
from unnaive.io.datafiles import DataFile
from unnaive.learning import train as training
from unnaive.scaleout.streaming import stream_documents
from unnaive.text.tokens import TokenRule

# bytes of text whose vocabulary keeps growing: the rate is that of what the second has more
GROWING = (100_000_000, 300_000_000)
MEMORY = "256M"  # less than both need, so that both write sums to disk and leave terms out
LENGTH = 200  # words of a document
WORDS = 400_000
DOCUMENTS = 1_000_000_000
CORES = (10, 100, 1000)
CLASSES, VOCABULARY = 100, 20_000_000  # of the billion documents, assumed


def write(path, n_docs, n_classes, seed=0):
    """JSON lines: words of Zipf's law, a few of them by class. Gives the bytes of text."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{number:x}" for number in range(WORDS)])
    size = 0
    with path.open("w") as file:
        for _ in range(n_docs):
            label = int(rng.integers(n_classes))
            terms = (rng.zipf(1.2, LENGTH) * 7919 + label * (rng.random(LENGTH) < 0.1)) % WORDS
            text = " ".join(words[terms])
            size += len(text)
            file.write(json.dumps({"text": text, "label": f"c{label}"}) + "\n")
    return size


def timed(function):
    """(processor seconds, what it gave)."""
    began = time.process_time()
    found = function()
    return time.process_time() - began, found


def train(path):
    """A model of a file, on one thread."""
    classifier = TextClassifier("multinomial", n_jobs=1)
    with stream_documents(DataFile(str(path)), classifier.token_rule, n_jobs=1) as data:
        return training.train(data, classifier.spec())


def measure_growing(folder, model):
    """Bytes a processor second of `unnaive train` where each document has ten words that no other has."""
    seconds, sizes = [], []
    for size in GROWING:
        path = folder / f"growing-{size}.jsonl"
        if not path.exists():
            write_growing(path, size)
        sizes.append(path.stat().st_size)
        seconds.append(measure_command(path, model, MEMORY, folder)[1])
    return (sizes[1] - sizes[0]) / (seconds[1] - seconds[0])


def measure(folder, n_docs, n_classes, seed):
    """One collection: bytes, processor seconds of training, terms, cells."""
    path = folder / f"{n_docs}-{n_classes}-{seed}.jsonl"
    size = write(path, n_docs, n_classes, seed)
    (seconds, fitted), (again, _) = (timed(lambda: train(path)) for _ in range(2))
    seconds = min(seconds, again)
    counts = fitted.counts.counts
    return {"documents": n_docs, "bytes": size, "seconds": seconds, "terms": counts.n_terms,
            "cells": counts.class_terms.nnz, "classes": n_classes}  # fmt: skip


def measure_merge(folder):
    """Bytes of a run by terms and cells, and processor seconds to merge a megabyte of two runs."""
    runs, sizes = [], []
    for seed in (1, 2):
        path = folder / f"run{seed}.jsonl"
        write(path, 3000, 20, seed)
        counter = Accumulator(TokenRule(), threads=1)
        for batch in DataFile(str(path)).batches(labelled=True):
            counter.add(batch.texts, batch.labels)
        total = counter.total(multilabel=False)
        runs.append(folder / f"run-{seed}")
        write_run(runs[-1], total.counts, total.vocabulary)
        n_bytes = sum(one.stat().st_size for one in runs[-1].iterdir())
        sizes.append(
            (len(total.vocabulary), total.counts.class_terms.nnz, len(total.vocabulary.to_arrays()[0]), n_bytes)
        )
    seconds, _ = timed(lambda: merge_folders(runs, folder / "merged"))
    return sizes, seconds


def run_bytes(terms, letters, cells):
    """What a run takes, which is what is sent where sums are merged: 24 bytes and its letters a term, 20 a cell."""
    return 24 * terms + letters + 20 * cells


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train(_warm(folder))
        small, large = measure(folder, 8_000, 20, 3), measure(folder, 24_000, 20, 4)
        rate = (large["bytes"] - small["bytes"]) / (large["seconds"] - small["seconds"])
        fixed = max(0.0, small["seconds"] - small["bytes"] / rate)
        checked = measure(folder, 48_000, 20, 5)
        predicted = fixed + checked["bytes"] / rate
        sizes, merge_seconds = measure_merge(folder)
        growing = {model: measure_growing(folder, model) for model in ("multinomial", "sharded-nbsvm")}
    off = checked["seconds"] / predicted - 1
    formula = [run_bytes(terms, letters, cells) / n_bytes for terms, cells, letters, n_bytes in sizes]
    merge_rate = sum(n_bytes for *_, n_bytes in sizes) / merge_seconds
    text = page(rate, fixed, checked, predicted, off, sizes, formula, merge_rate, growing)
    print(text)
    if options.write is not None:
        options.write.write_text(text, encoding="utf-8")
    print(f"prediction off by {100 * off:+.1f} %, wanted within 25: {'met' if abs(off) <= 0.25 else 'NOT MET'}")


def _warm(folder):
    path = folder / "warm.jsonl"
    write(path, 200, 20, 9)
    return path


PAGE = """# Scale: more text than memory

`unnaive train` can learn from more text than memory. Models that learn from counts (all forms of naive Bayes, the OR
gate, Rocchio on counts) need one pass in bounded memory. Sums of integers are exact, so the model file has the same
bytes however the texts are divided among files, whether the sums fit in memory or are written to disk, and after an
interruption.

```sh
unnaive train parts/*.jsonl -m multinomial -o all.model --memory 2G --set checkpoint=work/
```

- **Memory.** Without a limit, memory grows with the number of terms and of (class, term) pairs, not of documents: one
  copy of 20 Newsgroups takes 139 MB, forty copies take 141 MB (`benchmarks/out_of_core.py`). With `--memory` (at least
  256M), sums that exceed the limit are written as sorted runs and merged exactly at the end; with 500M and terms of up
  to three words the whole program took 315 MB. Terms are left out only if the model itself does not fit: the rarest
  terms, as few as needed. This depends only on the sums, not on the order of documents. The summary prints how many
  terms were left out, and the document frequency below which they were. Every model does this; a model that learns
  from documents reads them a second time, with the remaining terms. See [Growing vocabularies](#growing-vocabularies).
- **Hashes of documents.** `evaluate` and `filter` recognise training texts by a hash of 8 bytes for each document. The
  model keeps these hashes if they take at most 1/64 of the memory (524,288 documents with 256M); otherwise, and with
  `--set checkpoint` or `--set cache`, it keeps none, and the summary says so.
- **Interruptions.** `--set checkpoint=FOLDER` records the sums every `--set checkpoint-every` (256M of text). The same
  command continues from there, also after kill -9. Earlier rows are read again, but not counted.
- **`sharded-nbsvm`** is NB-SVM for more text than memory, in three passes. The first pass counts; the vocabulary, idf
  and naive Bayes ratios follow from the counts. The second assigns documents to shards of about 8,192 documents, by a
  hash of their terms, and trains a support vector machine on each shard. The third refines each shard from the average
  of the others; the final weights are the average again. Files are read twice, and shards are on disk. With
  `--memory`, or from 256 MB of input on, memory holds only the weights and one shard. In memory, from files in any
  order and [on Spark](spark.md) the weights are the same, bit for bit. Use it for more than
  8,192 documents: with fewer it is the same as `nbsvm`. Smaller shards (`--set shard_size=…`) lower the accuracy, for
  651 tickets in two shards by 1.8 points.
- **Probabilities as labels** (`--soft-labels`) work with any model that supports weights. They use the matrix on disk
  that is described below and take 8 bytes for each text and label. They are rounded to 24 binary digits, so their sums
  are exact, and models have the same weights from memory, from files in any order and [on Spark](spark.md).
- **Models that learn from documents** (maximum entropy, NB-SVM, higher-order smoothing, `auto`), and thresholds of
  multilabel data, can use a matrix on disk instead of memory. With `--memory` or `--cache`, or from 256 MB of input on
  (`auto`: 32 MB), documents are counted once into that matrix (8 bytes per nonzero entry, with checksums), which is
  mapped into memory. `--cache FOLDER` keeps it for the next model of the same data. Arrays derived from it, such as
  weighted features and dual variables, are in unnamed files beside the model until training ends. The system writes
  their pages to disk if it needs memory, so memory limits the speed of training, not the amount of data. Maximum
  entropy needs 78 MB in addition to the memory map, for one copy of 20 Newsgroups and for ten.
- **`auto`** plans its search by the size of the text and the numbers of documents and classes, and prints [what it
  leaves out](auto.md#any-size-any-budget).
- **Streams.** `unnaive update MODEL lines.jsonl --follow` learns lines as they come, each once; `--set batch=KEY`
  learns each batch exactly once by its id, also across files and from stdin.
- **Filtering.** `unnaive filter MODEL shards -o kept --class good --recall 0.9 --held-out labelled.jsonl` keeps the
  texts that a model classifies as good, shard by shard, in constant memory; the same command continues an interrupted
  run; see [Filter a corpus](guides/filtering.md), also for its speed.
- **Many labels.** `-m label-tree` scores groups of labels first, and then only the labels of the best groups. So
  training, `predict` (also `--top-k`), `evaluate`, `explain`, `serve` and Spark need no matrix of documents × labels,
  unless you request all scores (`--all`, `--coverage`, or a class list without `top_k`). Weights take 8 bytes each;
  `--set least_weight=…` drops small ones, and `compress --max-size` drops as many as necessary. See [Many
  labels](#many-labels).

## Measured

`benchmarks/scale.py`, which wrote this page, measures the processor time from JSON lines to a model, on synthetic text
of {length} words a document. It ran on one core of an idle machine with {machine}.

- With a vocabulary of 400,000 words, one core counts {rate:.0f} MB of text per second, or {documents:,.0f} documents of
  {document:,.0f} bytes.
- If the vocabulary keeps growing, with ten new words in every document, the command with `--memory {memory}` counts
  {slow:.0f} MB per second on two threads: it also writes terms to disk, merges them and leaves some out. All passes of
  `sharded-nbsvm` together read {shards:.1f} MB per second. Both rates were measured on a very busy machine.
- A run is the file that is sent or written when sums are merged. It takes 24 bytes and the letters for each term, and
  20 bytes for each (class, term) pair.
- One core merges {merge_rate:.0f} MB of runs per second.
- The formula below, fitted on two collections, predicted {predicted:.2f} s for another of {checked:.0f} MB; it took
  {took:.2f} s ({off:+.0f} %).

## Growing vocabularies

`benchmarks/one_pass_memory.py --memory 256M` (268 MB) runs `train --frozen` on JSON lines of 1,300 bytes with five
classes; ten words of every document occur in no other document. The table has the peak memory of the whole program, and
the text read per second of processor time on very busy machines (AMD EPYC); multinomial and the 3 GB of `sharded-nbsvm`
are from earlier runs.

| text | terms seen | terms kept | multinomial | rate | `sharded-nbsvm` | rate |
|---|---|---|---|---|---|---|
| 0.1 GB | 0.9 million | 49,967 | 179 MB | 34 MB/s | 183 MB | 10.0 MB/s |
| 1 GB | 8.1 million | 49,970 | 189 MB | 36 MB/s | 189 MB | 10.2 MB/s |
| 3 GB | 24.0 million | 49,970 | 190 MB | 33 MB/s | 190 MB | 8.7 MB/s |

The solver's C grows with the number of shards up to 16, and a larger C needs more passes over a shard: 22 in
the first round and 27 in the second with C = 3.2 (ten shards), 24 and 29 with C = 4. From 16 shards on, the cost of a
shard is constant. Assigning documents to shards takes 1.4 s for 0.1 GB, both for ten shards and for 366. Of 11 s for
0.1 GB, the solver takes 4.4 s, counting twice 3.7 s and reading shards from disk twice 1.6 s.

If the terms do not fit in `--memory`, every model leaves out the rarest terms and prints how many. They are the same
terms for any order of the documents (`tests/scaleout/test_sharding.py` trains each model on a small file in two
orders):

- **Models that learn from counts** (`multinomial`, `bernoulli`, `complement`, `or-gate`, `rocchio-counts`,
  `word-clusters`) read the data once; their sums are on disk, and rare terms are not loaded.
- **`sharded-nbsvm`** does the same, and then reads the data again with the remaining terms, into shards.
- **All others** (`auto`, `svm`, `nbsvm`, `maxent`, `label-tree`, `rocchio`, `knn`, `hos`, `tan`, `nb-em`, …) count into
  the matrix on disk. If there are too many terms, they read the data twice more: once to count terms, and once to count
  documents with the remaining terms. stdin cannot be read again, so training from stdin then ends with an error that
  says to use a file or more memory.

`benchmarks/memory_models.py` measures peak memory (without pages of mapped files) and processor time with `--memory
256M` (268 MB), on 100 MB of text with 7.7 million terms and five classes (very busy machine; `complement` in an earlier
run):

| | `complement` | `rocchio` | `svm` | `nbsvm` | `label-tree` | `maxent` | `auto` |
|---|---|---|---|---|---|---|---|
| memory | 165 MB | 264 MB | 261 MB | 262 MB | 265 MB | 267 MB | **283 MB** |
| time | 16 s | 17 s | 23 s | 24 s | 21 s | 41 s | 323 s |

`auto` exceeds the limit, here by 5 %. If texts have less than 40 MB in all, it also counts character n-grams, whose
tables are larger than estimated: it took 484 MB for 25 MB of such text. The other models were not measured.

## Many labels

Measured by `benchmarks/label_tree_peers.py`: the same tf-idf rows and default settings for all three tools, one thread,
processor time, one run (2 cores, Intel Xeon; the second table on a busy machine). Memory is what training needs in
addition to the data. omikuji predicts one document at a time; times in brackets are ours in this mode. The first table
has 60,000 documents with 30,000 synthetic labels, whose frequencies follow Zipf's law. The second has the 13,197
documents of Reuters-21578 with its 406 topics, places, people, organisations and exchanges.

| 30,000 labels | P@1, 3, 5 | training | prediction | file | memory |
|---|---|---|---|---|---|
| `label-tree` | 81.6, 36.8, 22.3 | 10.8 s | 0.43 ms (0.27) | 40 MB | 180 MB |
| omikuji 0.5.2, three trees | 76.5, 32.6, 19.8 | 18.6 s | 2.29 ms | 252 MB | 641 MB |
| napkinXC 0.7.2 | 65.6, 29.0, 18.3 | 33.0 s | 1.91 ms | 122 MB | 214 MB |

| Reuters-21578 | P@1, 3, 5 | training | prediction | file | memory |
|---|---|---|---|---|---|
| `label-tree`, one level | 91.7, 55.2, 35.9 | 4.3 s | 0.06 ms (0.23) | 3.2 MB | 90 MB |
| omikuji | 90.5, 54.4, 35.4 | 5.6 s | 0.52 ms | 7.0 MB | 113 MB |
| napkinXC | 88.7, 53.7, 34.9 | 5.3 s | 0.35 ms | 5.2 MB | 39 MB |

The settings of `label-tree` were chosen after looking at these results, before the next ones: the one-line
descriptions of 28,818 Debian packages with their 595 tags, a fifth of them for testing (very busy machine). Here
omikuji is ahead by 0.8 points at P@1, and nothing was changed because of it.

| Debian's tags | P@1, 3, 5 | training | prediction | file | memory |
|---|---|---|---|---|---|
| `label-tree` | 82.7, 59.7, 45.7 | 1.8 s | 0.03 ms (0.11) | 3.5 MB | 44 MB |
| omikuji | 83.5, 60.5, 46.3 | 3.9 s | 0.08 ms | 8.0 MB | 38 MB |

`unnaive.read_xc` reads the files of the XC repository as counts and labels, for `LabelTree().fit(X, Y)`, and
`unnaive.read_texts_and_labels` reads texts beside a file of their labels, for TextClassifier. EURLex-4K and Wiki10-31K
were not measured, since we found no package that contains them; `label_tree_peers.py --xc TRAIN TEST` measures them.

`benchmarks/label_tree_commands.py` measures the peak memory and processor time of whole commands, on the synthetic text
written as JSON lines: 40,000 documents with 28,774 labels, and 110,000 documents with 98,747 labels. The machine was
very busy, so times are high; those of `serve` and the two columns on the right are from earlier runs.

| command | memory | time | 98,747 labels: memory | time |
|---|---|---|---|---|
| `train` (thresholds tuned on a fifth, held out) | 807 MB | 26.9 s | 1,354 MB | 94 s |
| `predict` of 3,000 documents; with `--top-k 5` | 551 MB; 551 MB | 2.6 s; 2.5 s | of 2,000: 377, 387 MB | 2.8, 3.2 s |
| `evaluate` of 3,000 documents (`--report`) | 556 MB | 5.2 s | of 2,000, no page: 511 MB | 4.9 s |
| `explain` | 187 MB | 1.4 s | 473 MB | 2.1 s |
| `serve`: a text; 1,000 texts in a request | 185 MB; 208 MB | 1.7 ms; 270 ms | | |
| `compress --max-size 12MB`, from 35 MB | 689 MB | 17.6 s | 40MB, from 129 MB: 1,013 MB | 61 s |

If documents × labels exceed 33 million, thresholds are tuned on the 100 best labels of each held-out document, and
`evaluate` prints only measures of these (P@k, PSP@k, F1 of decisions), not measures of all scores (AUC, log-loss).

## A billion documents

    seconds = bytes / (rate · cores) + log₂ cores · bytes of two runs / merge rate

This formula gives the training time. The rate is that of a growing vocabulary, as in a crawl; the column "with few
terms" uses the rate of a fixed vocabulary.

Computed by `benchmarks/scale.py`, with these assumptions: {document:,.0f} bytes a document, JSON lines, {classes}
classes; {vocabulary:,} terms in the end with three classes each on average, so that a complete run has {run:.1f} GB;
reading is not the bottleneck (each core needs {slow:.0f} MB/s); in the worst case every core has a run as large as
the last one; pairs of runs are merged in a tree.

| cores | counting | with few terms | merging | together | `sharded-nbsvm` | bytes moved |
|---|---|---|---|---|---|---|
{table}

Beyond a few hundred cores, merging takes most of the time: use fewer and larger parts. The time of `sharded-nbsvm` is
computed from its rate above, without the transfers of a cluster.
"""


def page(rate, fixed, checked, predicted, off, sizes, formula, merge_rate, growing):
    """The text of docs/scale.md."""
    document = checked["bytes"] / checked["documents"]
    run = run_bytes(VOCABULARY, 9 * VOCABULARY, 3 * VOCABULARY)
    slow, shards = growing["multinomial"], growing["sharded-nbsvm"]
    rows = []
    for cores in CORES:
        counting, often, learning = (DOCUMENTS * document / one / cores for one in (slow, rate, shards))
        merging = np.log2(cores) * 2 * run / merge_rate
        times = " | ".join(hours(seconds) for seconds in (counting, often, merging, counting + merging, learning))
        rows.append(f"| {cores:,} | {times} | {cores * run / 1e9:,.0f} GB |")
    return PAGE.format(
        machine=machine(), length=LENGTH, rate=rate / 1e6, documents=rate / document, document=document, fixed=fixed,
        terms=sizes[0][0], cells=sizes[0][1], share=100 * formula[0], merge_rate=merge_rate / 1e6, predicted=predicted,
        checked=checked["bytes"] / 1e6, took=checked["seconds"], off=100 * off, classes=CLASSES, vocabulary=VOCABULARY,
        run=run / 1e9, slow=slow / 1e6, shards=shards / 1e6, memory=MEMORY, table="\n".join(rows),
    )  # fmt: skip


def machine():
    """The cores of this machine and what they are called."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    return f"{os.cpu_count()} cores, {', '.join(sorted(names))}"


def hours(seconds):
    return (
        f"{seconds / 3600:.1f} h"
        if seconds >= 3600
        else f"{seconds / 60:.0f} min"
        if seconds >= 60
        else f"{seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
