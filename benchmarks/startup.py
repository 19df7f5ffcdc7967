"""How long the command line takes: help, and one text through a model of 20 Newsgroups. Wall clock, warm cache.

python benchmarks/startup.py [--repeats N]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from timing import show_figure, timed

from unnaive import TextClassifier
from unnaive.papers.collections import load

TEXT = "The shuttle will be launched into orbit next week, says NASA."


COMPILED = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}  # as pip installs it


def run(*arguments):
    subprocess.run([sys.executable, "-m", "unnaive", *map(str, arguments)], check=True, capture_output=True,
                   env=COMPILED)  # fmt: skip


def figures(name, function, repeats, wanted):
    """The best run, which is what an idle machine gives, and the median."""
    function()
    runs = [timed(function) for _ in range(repeats)]
    show_figure(f"{name}, best run", min(wall for wall, _ in runs), wanted)
    show_figure(f"{name}, median", median(wall for wall, _ in runs), wanted)
    print(f"    of which processor time, best run: {min(cpu for _, cpu in runs):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    corpus = load("20newsgroups")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "news.model"
        TextClassifier("multinomial").fit(corpus.texts, [label for (label,) in corpus.labels]).save(path)
        print(f"model file: {path.stat().st_size / 1e6:.1f} MB")
        figures("seconds of unnaive --help", lambda: run("--help"), repeats, 0.3)
        figures("seconds of unnaive predict, one text", lambda: run("predict", path, "-d", TEXT), repeats, 0.3)


if __name__ == "__main__":
    main()
