"""How long the command line takes: help, and one text through a model of 20 Newsgroups. Wall clock, warm cache.

And a cold start in Python (import, load, one prediction) against scikit-learn's pipeline loaded with joblib: ratios of
time and of memory, at most .2 and .4.

python benchmarks/startup.py [--repeats N]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
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


OURS = """
from unnaive import TextClassifier
print(TextClassifier.load({path!r}).predict([{text!r}])[0])
"""
THEIRS = """
import joblib
print(joblib.load({path!r}).predict([{text!r}])[0])
"""


def cold_start(code):
    """(seconds, megabytes at the peak) of a new process."""
    # ru_maxrss would be that of this process, which a child inherits
    more = "\nimport sys; print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0], file=sys.stderr)"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code + more], check=True, capture_output=True, text=True, env=COMPILED)
    return time.perf_counter() - start, int(done.stderr.split()[-1]) / 1e3


def compare_cold_starts(path, corpus, folder, repeats):
    """Print medians and ratios of our model and of scikit-learn's pipeline, started in turn."""
    import joblib
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(CountVectorizer(), MultinomialNB())
    joblib.dump(pipeline.fit(corpus.texts, [label for (label,) in corpus.labels]), folder / "news.joblib")
    codes = [OURS.format(path=str(path), text=TEXT), THEIRS.format(path=str(folder / "news.joblib"), text=TEXT)]
    runs = [[cold_start(code) for code in codes] for _ in range(repeats + 1)][1:]
    for kind, name, unit in (0, "time", "s"), (1, "memory", "MB"):
        ours, theirs = (median(run[way][kind] for run in runs) for way in (0, 1))
        print(f"cold start, {name}: {ours:.2f} {unit}, scikit-learn and joblib {theirs:.2f} {unit}")
        show_figure(f"ratio of {name}", ours / theirs, (0.2, 0.4)[kind])


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
        compare_cold_starts(path, corpus, Path(folder), repeats)


if __name__ == "__main__":
    main()
