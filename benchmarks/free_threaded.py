"""Short texts predicted by one shared model from one and from two Python threads: how much the second thread adds.

python3.13t benchmarks/free_threaded.py [--repeats N]

It prints the ratio for the interpreter that it is run with; the package must be installed there. 20 Newsgroups, the
first 400 characters of each message; the model itself has one thread (n_jobs=1). With a GIL, threads alternate wherever
Python works, which for one text at a time is most of the way; without one they do not. Each thread stays on a core of
its own, so that the ratio is not one of where the system puts them.
"""

import argparse
import os
import sys
import threading
from statistics import median

from timing import alternated

from unnaive import TextClassifier
from unnaive.papers.collections import load

CORES = sorted(os.sched_getaffinity(0))


def predict_calls(predict, calls, place):
    """Every call, on the core that has this place among those of the process."""
    os.sched_setaffinity(0, {CORES[place % len(CORES)]})
    for texts in calls:
        predict(texts)


def predict_in_threads(predict, calls, threads):
    """The calls, shared out; the thread that waits here stays out of their way."""
    parts = [(predict, calls[place::threads], place) for place in range(threads)]
    workers = [threading.Thread(target=predict_calls, args=part) for part in parts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def show_threads(name, predict, calls, repeats):
    """One line: texts a second of one thread and of two, and the ratio."""
    found = alternated(
        lambda: predict_in_threads(predict, calls, 2), lambda: predict_in_threads(predict, calls, 1), repeats
    )
    n = sum(map(len, calls))
    one, two = n / median(found.peer), n / median(found.ours)
    print(f"{name:44} {one:9,.0f} texts/s   two threads {two:9,.0f}   ratio {found.ratio:5.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    corpus = load("20newsgroups")
    texts, labels = [text[:400] for text in corpus.texts], [label for (label,) in corpus.labels]
    model = TextClassifier("multinomial", n_jobs=1).fit(texts, labels)
    characters = TextClassifier("multinomial", analyzer="both", n_jobs=1).fit(texts[:2000], labels[:2000])
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, {'with the GIL' if gil else 'without a GIL'}")
    single = [[text] for text in texts]
    show_threads("predict, a text a call", model.predict, single, repeats)
    show_threads("predict_proba, a text a call", model.predict_proba, single[:6000], repeats)
    show_threads(
        "predict, 50 texts a call", model.predict, [texts[n : n + 50] for n in range(0, len(texts), 50)] * 3, repeats
    )
    show_threads("words and character n-grams, a text a call", characters.predict, single[:2000], repeats)


if __name__ == "__main__":
    main()
