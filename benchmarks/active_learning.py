"""Number of labels with which the default query strategy reaches the accuracy of random sampling.

    python benchmarks/active_learning.py [--seeds 10] [--labels 1000] [--ways random,mixed,uncertain] [NAME …]

The goal is the mean accuracy that random sampling has at 1,000 labels, or at half of the pool where that is less.
Targets: at most 85 % of the labels on three of five collections, 60 % on WebKB-4, and never more than 105 %. Both
strategies are measured by the model that suggests labels, on the test part.
"""

from __future__ import annotations

import argparse

from unnaive.apps.labelling.simulation import describe_curves, split_corpus
from unnaive.curation.labelling.simulate import simulate
from unnaive.data.corpus import Corpus
from unnaive.io.tickets import load_tickets
from unnaive.papers.collections import load

COLLECTIONS = {
    "tickets": load_tickets,
    "webkb4": lambda: load("webkb4"),
    "reuters": lambda: load("reuters", view="r8"),
    "ohsumed": lambda: load("ohsumed"),
    "20newsgroups": lambda: load("20newsgroups"),
}


def compare_asking(name: str, corpus: Corpus, arguments: argparse.Namespace) -> None:
    pool, test = split_corpus(corpus, 0)
    goal_at = min(arguments.labels, len(pool) // 2)
    more = goal_at * 6 // 5  # a way that needs more than random sampling is followed further
    curves = simulate(pool, test, labels=more, seeds=arguments.seeds, ways=arguments.ways.split(","))
    found = describe_curves(curves, goal_at)
    for one in found["ways"]:
        needed = "    –" if one["labels_needed"] is None else f"{one['labels_needed']:5.0f}"
        share = "   –" if one["share"] is None else f"{100 * one['share']:3.0f} %"
        p = "" if one["p"] is None else f"   p {one['p']:.3f}"
        print(f"{name:13} {one['way']:10} accuracy at {found['labels']:4} {one['accuracy']:.3f}   labels for "
              f"{found['goal']:.3f}: {needed}  {share}{p}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--labels", type=int, default=1000)
    parser.add_argument("--ways", default="random,mixed,uncertain")
    arguments = parser.parse_args()
    for name in arguments.names:
        compare_asking(name, COLLECTIONS[name](), arguments)


if __name__ == "__main__":
    main()
