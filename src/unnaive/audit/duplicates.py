"""Texts that come twice, or nearly so: inside the data, with differing labels, and between training and test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from unnaive.audit.findings import DROP, LOOK, RELABEL, Finding
from unnaive.audit.material import AuditData
from unnaive.audit.minhash import Pairs, similar_pairs
from unnaive.core.text_hashes import hash_texts
from unnaive.types import Ids, Sparse

FEWEST_TERMS = 5  # of a document: shorter ones are alike by chance
TRAIN, TEST = "train", "test"


def duplicate_findings(data: AuditData, X: Sparse, *, threshold: float = 0.8, seed: int = 0) -> list[Finding]:
    """Exact and near duplicates, with the same and with differing labels, and leaks between training and test part."""
    hashes = hash_texts(data.texts)
    # an empty text is a finding of its own
    hashes = np.where(np.diff(X.indptr) > 0, hashes, np.arange(len(hashes), dtype=np.uint64))
    found = list(_exact(data, exact_groups(hashes)))
    found += _near(data, near_pairs(X, hashes, threshold=threshold, seed=seed))
    return found


def exact_groups(hashes: np.ndarray) -> list[Ids]:
    """The rows of each text that comes more than once, in order.

    >>> exact_groups(np.array([7, 5, 7, 6]))
    [array([0, 2])]
    """
    order = np.argsort(hashes, kind="stable")
    cuts = np.flatnonzero(hashes[order][1:] != hashes[order][:-1]) + 1
    return sorted((group for group in np.split(order, cuts) if len(group) > 1), key=lambda group: int(group[0]))


def near_pairs(X: Sparse, hashes: np.ndarray, *, threshold: float, seed: int = 0) -> Pairs:
    """Pairs of different texts of five terms or more that share most of them; of equal texts the first stands for all.

    X (n_docs, n_terms), hashes (n_docs,) of the texts.
    """
    first = np.unique(hashes, return_index=True)[1]
    rows = np.sort(first[np.diff(X.indptr)[first] >= FEWEST_TERMS])
    found = similar_pairs(X[rows], threshold=threshold, seed=seed)
    return Pairs(rows[found.first], rows[found.second], found.similarity)


def _exact(data: AuditData, groups: Sequence[Ids]) -> Iterator[Finding]:
    for group in groups:
        labels = Counter(data.labels[row] for row in group)
        if len(labels) > 1:
            yield _conflict(data, group, labels)
        seen: dict[tuple[str, tuple[str, ...]], int] = {}
        for row in group:
            part = data.part(row)
            if part == TEST and any(data.part(one) == TRAIN for one in group):
                first = next(int(one) for one in group if data.part(one) == TRAIN)
                reason = f"the same text is row {data.numbers[first]}, of the training part"
                yield data.finding(row, "leak", reason, DROP, others=[first])
                continue
            key = (part, data.labels[row])
            if key in seen:
                reason = f"the same text with the same label is row {data.numbers[seen[key]]}"
                yield data.finding(row, "duplicate", reason, DROP, others=[seen[key]])
            else:
                seen[key] = int(row)


def _conflict(data: AuditData, group: Ids, labels: Counter[tuple[str, ...]]) -> Finding:
    names = ", ".join(f"{'; '.join(names) or 'none'} ({n})" for names, n in labels.most_common(5))
    (best, n), (_, second) = labels.most_common(2)
    clear = n > second and len(best) == 1
    row = next(one for one in group if data.labels[one] != best)
    return data.finding(
        row,
        "duplicate-conflict",
        f"{len(group)} rows have this very text, and their labels differ: {names}",
        RELABEL if clear else LOOK,
        proposed=best[0] if clear else "",
        score=1.0,
        others=[int(one) for one in group if one != row],
    )


def _near(data: AuditData, pairs: Pairs) -> Iterator[Finding]:
    """For each group of near duplicates, one finding for each row but the first, about its most similar partner."""
    for first, second, similarity in _closest(pairs, len(data)):
        shares = f"{100 * similarity:.0f} % of its terms are those of row {data.numbers[first]}"
        parts = {data.part(first), data.part(second)}
        if parts == {TRAIN, TEST}:
            row, other = (second, first) if data.part(second) == TEST else (first, second)
            reason = (
                f"{100 * similarity:.0f} % of its terms are those of row {data.numbers[other]}, in the training part"
            )
            yield data.finding(row, "near-leak", reason, DROP, score=similarity, others=[other])
        elif data.labels[first] != data.labels[second]:
            theirs = "; ".join(data.labels[first]) or "none"
            yield data.finding(
                second, "near-duplicate-conflict", f"{shares}, which has the label {theirs}", LOOK, score=similarity,
                others=[first],
            )  # fmt: skip
        else:
            yield data.finding(second, "near-duplicate", shares, DROP, score=similarity, others=[first])


def _closest(pairs: Pairs, n_docs: int) -> Iterator[tuple[int, int, float]]:
    """(first, second, similarity): each row that is near an earlier one, with the most similar of these."""
    order = np.lexsort((pairs.first, -pairs.similarity, pairs.second))
    second = pairs.second[order]
    best = order[np.concatenate(([True], second[1:] != second[:-1]))] if len(order) else order
    for place in best:
        yield int(pairs.first[place]), int(pairs.second[place]), float(pairs.similarity[place])


def duplicate_groups(pairs: Pairs, n_docs: int) -> Ids:
    """A group number for each document, the same for documents that pairs join (n_docs,).

    >>> duplicate_groups(Pairs(np.array([0]), np.array([2]), np.array([0.9])), 3).tolist()
    [0, 1, 0]
    """
    graph = csr_array((np.ones(len(pairs)), (pairs.first, pairs.second)), shape=(n_docs, n_docs))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
