"""`auto` on few documents and on short texts: accuracy and cost beside another version of the package.

    python benchmarks/auto_short.py [COLLECTION …] [--sizes 500 2000 8000] [--draws 3] [--against FOLDER]

Test parts are not touched: of the training part of each collection, 500, 2,000 and 8,000 documents at random are learnt
(at most three quarters), and at most 1,500 others are predicted; once whole texts, once their first ten words. FOLDER
has the other version, which `pip install --no-deps --target FOLDER CHECKOUT` writes there. Both versions get the same
texts in turn, each in a process of its own with one thread; seconds are processor time from raw text to the model.

Differences are in points, the mean over collections and draws, with the standard error over draws. Target against the
version before searches of small data were changed: +0.15 points on the mean, at most 1.6 times the seconds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from auto_accuracy import LANGUAGES
from auto_peers import COLLECTIONS, splits
from timing import verdict

SIZES, WORDS, MOST_TEST = (500, 2_000, 8_000), 10, 1_500
LEAST_GAIN, MOST_COST = 0.15, 1.6
CHILD = """
import json, sys, time, warnings
folder = sys.argv[1]
if folder:
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
    sys.path.insert(0, folder)
warnings.simplefilter("ignore")
from unnaive import TextClassifier
TextClassifier("auto").fit(["good ball", "fair vote"] * 5, ["sport", "politics"] * 5)   # imports modules, not measured
for line in sys.stdin:
    with open(line.strip(), encoding="utf-8") as file:
        job = json.load(file)
    model = TextClassifier("auto", n_jobs=1, language=job["language"])
    start = time.process_time()
    model.fit(job["texts"], job["labels"])
    seconds = time.process_time() - start
    right = [one == other for one, other in zip(model.predict(job["test"]).tolist(), job["truth"])]
    print(json.dumps([100 * sum(right) / len(right), seconds]), flush=True)
"""


class Version:
    """A process that trains and judges with one version of the package; an empty folder is the installed one."""

    def __init__(self, folder):
        command = [sys.executable, "-c", CHILD, folder]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def judge(self, file):
        """Accuracy in per cent, and processor seconds of training, of the job in a file."""
        self.process.stdin.write(f"{file}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of a version ended with exit code {self.process.wait()}")
        return json.loads(answer)


def jobs(name, sizes, draws):
    """Yield (cell, job): what to learn and to predict of the training part."""
    texts, labels, *_ = splits(name)[0]
    done = set()
    for size in sizes:
        n = min(size, 3 * len(texts) // 4)
        if n in done:  # a smaller size had all there are
            continue
        done.add(n)
        for short in (False, True):
            for draw in range(draws):
                order = np.random.default_rng((n, draw)).permutation(len(texts))
                learnt, aside = order[:n].tolist(), order[n : n + MOST_TEST].tolist()
                read = [" ".join(text.split()[:WORDS]) if short else text for text in texts]
                yield (
                    (name, size, f"{n:,} documents" + (f", {WORDS} words" if short else "")),
                    {"language": LANGUAGES.get(name, "en"), "texts": [read[row] for row in learnt],
                     "labels": [str(labels[row]) for row in learnt], "test": [read[row] for row in aside],
                     "truth": [str(labels[row]) for row in aside]},
                )  # fmt: skip


def describe(rows):
    """Mean accuracy of each version, and their differences and costs, of (n_draws, n_versions, 2) results."""
    rows = np.array(rows)
    accuracy, seconds = rows[..., 0].mean(axis=0), rows[..., 1].sum(axis=0)
    text = f"{accuracy[0]:.2f} %, {seconds[0] / len(rows):.1f} s"
    if rows.shape[1] > 1:
        gain = rows[:, 0, 0] - rows[:, 1, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else float("nan")
        text += (
            f"; against {accuracy[1]:.2f} %: {gain.mean():+.2f} ± {error:.2f}, {seconds[0] / seconds[1]:.2f}× the time"
        )
    return text


def summarise(title, cells):
    """The mean gain of some cells, each a list of results, its standard error, and the ratio of the seconds."""
    tables = [np.array(rows) for rows in cells]
    gains = [table[:, 0, 0] - table[:, 1, 0] for table in tables]
    mean = float(np.mean([gain.mean() for gain in gains]))
    error = np.sqrt(sum(gain.var(ddof=1) / len(gain) for gain in gains if len(gain) > 1)) / len(gains)
    cost = sum(table[:, 0, 1].sum() for table in tables) / sum(table[:, 1, 1].sum() for table in tables)
    print(f"{title}: {mean:+.2f} ± {error:.2f} points, {cost:.2f}× the time", flush=True)
    return mean, cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=[name for name in COLLECTIONS if name != "20newsgroups"])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--against", type=Path)
    arguments = parser.parse_args()
    versions = [Version("")] + ([Version(str(arguments.against.resolve()))] if arguments.against else [])
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.json"
        for name in arguments.collections:
            shown = None
            for cell, job in jobs(name, arguments.sizes, arguments.draws):
                file.write_text(json.dumps(job), encoding="utf-8")
                found.setdefault(cell, []).append([version.judge(file) for version in versions])
                if len(found[cell]) == arguments.draws and cell != shown:
                    shown = cell
                    print(f"{cell[0]}, {cell[2]}: {describe(found[cell])}", flush=True)
    if arguments.against:
        for size in arguments.sizes:
            cells = [rows for cell, rows in found.items() if cell[1] == size]
            if cells:
                summarise(f"at most {size:,} documents", cells)
        mean, cost = summarise("all", list(found.values()))
        print(f"gain {verdict(mean, LEAST_GAIN)}, cost {verdict(cost, MOST_COST, at_most=True)}")


if __name__ == "__main__":
    main()
