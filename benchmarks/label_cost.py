"""Growth of what is computed for several labels, with documents and with classes: processor seconds at four sizes.

python benchmarks/label_cost.py [PART …] [--documents 20000] [--classes 200]

Each part is timed at an eighth, a quarter, a half and all of the documents, and then of the classes. Target: the
exponent of the growth is at most 1.15 in each, and memory beside the scores at most 2.5 times theirs. Parts:

decision     the default decision of several labels: thresholds against the number of labels, in folds
macro-f1     class weights for macro F1
calibration  one temperature for all classes
passages     the order of documents in a chain, each quoting the one before
neighbours   the nearest neighbours of ten documents, after a first call
paths        the paths behind an explanation of higher-order smoothing
pool         the weights of auto's pool of four members (exclusive classes; bias of each class)
"""

import argparse
import tracemalloc

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse import random as random_table
from timing import timed, verdict

from unnaive.base.elementary import exp
from unnaive.data.shared_passages import SharedPassages
from unnaive.learning.fit_calibration import fit_temperature
from unnaive.learning.optimise import tune_macro_f1
from unnaive.learning.tuning import scut_or_rcut
from unnaive.linear.linear import Linear
from unnaive.models.auto.pool_weights import fit_pool, soften
from unnaive.models.higher_order.path_scorer import PathScorer
from unnaive.models.neighbours import NearestNeighbours

SHARES = (8, 4, 2, 1)
LABELS = 3
TERMS = 5_000
MOST_EXPONENT, MOST_MEMORY = 1.15, 2.5


def scores_and_labels(n_docs, n_classes, n_labels=LABELS):
    """Scores (n_docs, n_classes) of which those of the labels are higher on average, and the labels."""
    random = np.random.default_rng(0)
    scores, classes = random.normal(size=(n_docs, n_classes)) - 3, random.integers(0, n_classes, (n_docs, n_labels))
    scores[np.arange(n_docs)[:, None], classes] += random.normal(3, 1.5, size=classes.shape)
    Y = csr_array((np.ones(classes.size), (np.repeat(np.arange(n_docs), n_labels), classes.ravel())), scores.shape)
    Y.data[:] = 1
    return scores, Y


def single(n_docs, n_classes):
    scores, Y = scores_and_labels(n_docs, n_classes, 1)
    p = exp(scores)
    return scores, p / p.sum(axis=1, keepdims=True), Y


def decision(n_docs, n_classes):
    scores, Y = scores_and_labels(n_docs, n_classes)
    return (lambda: scut_or_rcut(scores, Y, "log-odds")), scores.nbytes


def macro_f1(n_docs, n_classes):
    _, p, Y = single(n_docs, n_classes)
    return (lambda: tune_macro_f1(p, Y)), p.nbytes


def calibration(n_docs, n_classes):
    scores, Y = scores_and_labels(n_docs, n_classes)
    return (lambda: fit_temperature("log-odds", scores, Y, exclusive=False)), scores.nbytes


def passages(n_docs, _):
    first = np.arange(4 * n_docs - 1)
    chain = SharedPassages(4 * n_docs, first, first + 1, first)
    return (lambda: (chain.groups(), chain.order())), None


def documents(n_docs):
    return csr_array(random_table(n_docs, TERMS, density=30 / TERMS, random_state=0))


def neighbours(n_docs, n_classes):
    X, Y = documents(n_docs), scores_and_labels(n_docs, n_classes)[1]
    scorer = NearestNeighbours(k=30).learn(X, Y).scorer
    scorer.scores(X[:1])
    return (lambda: [scorer.scores(X[row : row + 1]) for row in range(10)]), None


def paths(n_docs, n_classes):
    X, Y = documents(n_docs), scores_and_labels(n_docs, n_classes)[1]
    scorer = PathScorer.of(Linear(np.zeros((1, TERMS)), np.zeros(1)), X, Y)
    return (lambda: scorer.evidence_details(X[:1], 0)), None


def pool(n_docs, n_classes):
    n_docs //= 10  # auto holds out 2,500 documents
    scores, _, Y = single(n_docs, n_classes)
    random = np.random.default_rng(1)
    members = [scores + random.normal(size=scores.shape) for _ in range(4)]
    targets = soften(Y.indices, np.ones(n_classes, np.bool_))
    return (lambda: fit_pool(members, targets, shrink=20.0)), None


PARTS = {
    "decision": decision, "macro-f1": macro_f1, "calibration": calibration, "passages": passages,
    "neighbours": neighbours, "paths": paths, "pool": pool,
}  # fmt: skip


def measure(part, n_docs, n_classes):
    """Processor seconds, and peak memory divided by the size of the scores, or None."""
    run, size = part(n_docs, n_classes)
    took = min(timed(run)[1] for _ in range(2))
    if size is None:
        return took, None
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return took, peak / size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--classes", type=int, default=200)
    arguments = parser.parse_args()
    for name in arguments.parts:
        for what in ("documents", "classes"):
            if name == "passages" and what == "classes":
                continue
            whole = vars(arguments)[what]
            sizes = [whole // share for share in SHARES]
            found = [measure(PARTS[name], **{"n_docs": arguments.documents, "n_classes": arguments.classes,
                                             {"documents": "n_docs", "classes": "n_classes"}[what]: size})
                     for size in sizes]  # fmt: skip
            costs = [cost for cost, _ in found]
            exponent = float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
            memory = found[-1][1]
            beside = "" if memory is None else (
                f"; memory {memory:.2f} of the scores, {verdict(memory, MOST_MEMORY, at_most=True)}"
            )  # fmt: skip
            print(
                f"{name}, {what} {' '.join(f'{size:,}' for size in sizes)}: "
                f"{' '.join(f'{cost:.3f}' for cost in costs)} s, exponent {exponent:.2f}, "
                f"{verdict(exponent, MOST_EXPONENT, at_most=True)}{beside}",
                flush=True,
            )


if __name__ == "__main__":
    main()
