"""A folder of 18,846 message files → a trained model on disk, wall clock of the command line.

python benchmarks/folder_train.py [--repeats N]

Beside it, in alternating runs: a Python process that does the same with scikit-learn's load_files, CountVectorizer and
MultinomialNB, and stores the pipeline with joblib. Rainbow, in C, takes 2.2 s to index these files.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from timing import alternated, show, show_figure, timed
from vectorise import WORDS

from unnaive.papers.collections import collection_path
from unnaive.papers.collections.archives import read_members
from unnaive.papers.collections.readers import NEWSGROUPS

RAINBOW = 2.2  # seconds, in C, on a machine of the same kind
PEER = f"""
import sys, joblib
from sklearn.datasets import load_files
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
data = load_files(sys.argv[1], encoding="utf-8", decode_error="replace")
model = make_pipeline(CountVectorizer(token_pattern={WORDS!r}), MultinomialNB()).fit(data.data, data.target)
joblib.dump(model, sys.argv[2])
"""


def unpacked(folder):
    """The messages as files, a folder for each group."""
    sizes = defaultdict(int)
    for (_, group, number), content in read_members(collection_path("20newsgroups"), NEWSGROUPS):
        place = folder / group
        place.mkdir(exist_ok=True)
        (place / number).write_bytes(content)
        sizes[group] += 1
    print(f"{sum(sizes.values())} files in {len(sizes)} folders")


def run(*arguments):
    subprocess.run([sys.executable, *map(str, arguments)], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        files = work / "files"
        files.mkdir()
        unpacked(files)

        def train():
            run("-m", "unnaive", "train", files, "--model", "multinomial", "-o", work / "ours.model")

        found = alternated(
            train,
            lambda: run("-c", PEER, files, work / "peer.joblib"),
            repeats,
        )
        processor = [timed(train)[1] for _ in range(3)]
    show("folder of messages → model on disk", found, 1)
    show_figure("seconds, ours, best of the runs", min(found.ours), 0.45)
    show_figure("seconds, ours, median of the runs", median(found.ours), 0.45)
    show_figure("times faster than Rainbow's 2.2 s", RAINBOW / median(found.ours), 5, at_most=False)
    print(f"    of which processor time, both cores, best run: {min(processor):.2f} s")


if __name__ == "__main__":
    main()
