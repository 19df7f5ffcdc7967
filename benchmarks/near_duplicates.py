"""Near duplicates of 20 Newsgroups: recall and precision against brute force, time against datasketch.

Both sides get the same sets of terms, 64 hashes in 16 bands of 4, and check candidates exactly. Needs datasketch (extra
"bench") and the collection.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from timing import processor_seconds, show_figure

THRESHOLD = 0.8


def brute_force(X: Any) -> set[tuple[int, int]]:
    """All pairs of similarity from the threshold on, by the product of every document with every other."""
    ones = csr_array((np.ones(X.nnz, np.float32), X.indices, X.indptr), X.shape)
    lengths = np.diff(X.indptr)
    found = set()
    for start in range(0, X.shape[0], 500):
        both = (ones[start : start + 500] @ ones.T).tocoo()
        first, second = both.coords[0] + start, both.coords[1]
        similar = both.data / (lengths[first] + lengths[second] - both.data) >= THRESHOLD
        kept = similar & (first < second)
        found |= set(zip(first[kept].tolist(), second[kept].tolist(), strict=True))
    return found


def by_datasketch(words: list[list[bytes]]) -> set[tuple[int, int]]:
    """The pairs that datasketch's LSH finds, checked exactly."""
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(params=(16, 4), num_perm=64)
    hashes = MinHash.bulk(words, num_perm=64)
    for row, one in enumerate(hashes):
        index.insert(row, one, check_duplication=False)
    sets = [set(own) for own in words]
    found = set()
    for row, one in enumerate(hashes):
        for other in index.query(one):
            if other < row and len(sets[row] & sets[other]) >= THRESHOLD * len(sets[row] | sets[other]):
                found.add((other, row))
    return found


def main() -> None:
    """One line for each figure."""
    from unnaive.curation.audit.minhash import similar_pairs
    from unnaive.papers.collections import load
    from unnaive.text.counting import TextCounter

    warnings.simplefilter("ignore")
    texts = load("20newsgroups").texts
    counter = TextCounter(threads=1)
    X = counter.count(texts, grow=True)
    X = X[np.diff(X.indptr) >= 5]
    terms = [term.encode() for term in counter.vocabulary.terms]
    words = [[terms[t] for t in X.indices[X.indptr[row] : X.indptr[row + 1]]] for row in range(X.shape[0])]
    times = []
    for _ in range(3):
        start = processor_seconds()
        found = similar_pairs(X, threshold=THRESHOLD)
        times.append(processor_seconds() - start)
    start = processor_seconds()
    theirs = by_datasketch(words)
    their_time = processor_seconds() - start
    truth = brute_force(X)
    ours = set(zip(found.first.tolist(), found.second.tolist(), strict=True))
    print(
        f"{X.shape[0]:,} messages, {len(truth):,} pairs by brute force, ours {len(ours):,}, datasketch {len(theirs):,}"
    )
    show_figure("recall", len(ours & truth) / len(truth), 0.99, at_most=False)
    show_figure("precision", len(ours & truth) / max(len(ours), 1), 1.0, at_most=False)
    show_figure("recall of datasketch", len(theirs & truth) / len(truth), 0.99, at_most=False)
    print(f"processor seconds: ours {min(times):.2f}, datasketch {their_time:.2f}")
    show_figure("times faster than datasketch", their_time / min(times), 10, at_most=False)


if __name__ == "__main__":
    main()
