"""One large file to a saved model, and to predictions in CSV, by the command line; beside it pyarrow, reading alone.

python benchmarks/large_file.py [--copies N] [--repeats N] [--folder FOLDER]

The file has --copies copies of 20 Newsgroups as JSON lines, CSV and Parquet: ten are 377 MB of JSON lines. Target:
training from JSON lines in 1.6 s, and of each format the documents in memory at three quarters of the rate, or more, at
which pyarrow merely reads the same file with the same number of threads, in one run. Files that are in FOLDER already,
where a run before wrote them, are used again.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import pyarrow
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from timing import alternated, show_figure, timed

from unnaive.io.datafiles import DataFile
from unnaive.papers.collections import load

BLOCK = 8 << 20
PEERS = {
    "jsonl": lambda path: pyarrow.json.read_json(path, pyarrow.json.ReadOptions(block_size=BLOCK)),
    "csv": lambda path: pyarrow.csv.read_csv(
        path, pyarrow.csv.ReadOptions(block_size=BLOCK), pyarrow.csv.ParseOptions(newlines_in_values=True)
    ),
    "parquet": pyarrow.parquet.read_table,
}


def write_files(folder, texts, labels, copies):
    """The documents in every format."""
    with (folder / "news.jsonl").open("w", encoding="utf-8") as file:
        for _ in range(copies):
            file.writelines(
                json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n"
                for text, label in zip(texts, labels, strict=True)
            )
    with (folder / "news.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        for _ in range(copies):
            table.writerows(zip(texts, labels, strict=True))
    columns = {"text": pyarrow.array(texts * copies, pyarrow.large_string()), "label": labels * copies}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "news.parquet")


def prepare(folder, copies):
    """Write the files, unless they exist."""
    if (folder / "news.parquet").exists():
        return
    corpus = load("20newsgroups")
    texts, labels = list(corpus.texts), [label for (label,) in corpus.labels]
    write_files(folder, texts, labels, copies)


def run(*arguments):
    subprocess.run([sys.executable, "-m", "unnaive", *map(str, arguments)], check=True, capture_output=True)


def measure(folder, repeats):
    """Each format beside pyarrow, then to a model; and the predictions of the JSON lines."""
    for kind, peer in PEERS.items():
        path = folder / f"news.{kind}"
        print(f"{kind}: {path.stat().st_size / 1e6:.0f} MB, {pyarrow.cpu_count()} threads")
        found = alternated(
            lambda path=path: DataFile(str(path)).corpus(), lambda path=path, peer=peer: peer(path), repeats
        )
        show_figure(f"  reading, rate over pyarrow's, {kind}", found.ratio, 0.75, at_most=False)
        print(f"    processor time: {found.cpu_ratio:.2f} of pyarrow's rate")
        show_runs(
            f"  seconds to a saved model, {kind}", repeats, "train", path, "-m", "multinomial", "-o", folder / "new"
        )
    # the model that the command trained reads messages as such, like the benchmark's other rows
    paths = folder / "new", folder / "news.jsonl"
    show_runs("  seconds to predictions in CSV, jsonl", repeats, "predict", *paths, "-o", folder / "out.csv")


def show_runs(name, repeats, *arguments):
    """The median of some runs of a command, in wall-clock and processor time."""
    runs = [timed(lambda: run(*arguments)) for _ in range(repeats)]
    show_figure(name, median(wall for wall, _ in runs), 1.6)
    print(f"    processor time, both cores: {median(cpu for _, cpu in runs):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        prepare(folder, options.copies)
        measure(folder, options.repeats)


if __name__ == "__main__":
    main()
