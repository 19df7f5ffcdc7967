"""Estimated time of counting on more cores than this machine has, from the processor times of its phases.

python benchmarks/threads_model.py [--repeats N]

Text → CSR and vocabulary of 20 Newsgroups. With n threads one thread reads the head, n copy what it taught, n read a
share each, one merges what they have learnt, n join the rows. The time on n cores is the sum over these phases of the
longest thread's processor time, which does not depend on how many cores there are to run them on. What is left out:
cores that share a cache or memory slow each other down.
"""

import argparse

from timing import show_figure

from unnaive.papers.collections import load
from unnaive.text import native
from unnaive.text.backend import kernel
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

PHASES = ("head", "copy", "shards", "merge", "join")


def phases(texts, threads):
    """Seconds of each phase."""
    engine = native.NativeEngine(TokenRule(), Vocabulary(), threads)
    limits = {"threads": kernel.Threads(threads, native.WORTH_A_THREAD), "limit": native.LARGEST_TEXT}
    return engine.kernel.time_phases(texts, **limits)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    texts = list(load("20newsgroups").texts)
    print(f"{'threads':>8}" + "".join(f"{phase:>9}" for phase in PHASES) + f"{'sum, ms':>9}{'faster':>9}")
    best = {n: min((phases(texts, n) for _ in range(repeats)), key=sum) for n in (1, 2, 4, 8)}
    for threads, parts in best.items():
        figures = "".join(f"{1e3 * part:9.1f}" for part in (*parts, sum(parts)))
        print(f"{threads:8}{figures}{sum(best[1]) / sum(parts):8.2f}×", flush=True)
    show_figure("a second thread, by the model", sum(best[1]) / sum(best[2]), 1.5, at_most=False)


if __name__ == "__main__":
    main()
