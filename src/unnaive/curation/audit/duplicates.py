"""Texts that occur twice, or nearly so: within the data, with different labels, and between training and test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array, vstack

from unnaive.base.types import Ids, Sparse
from unnaive.curation.audit.findings import DROP, LOOK, RELABEL, Finding
from unnaive.curation.audit.material import AuditData
from unnaive.curation.audit.minhash import Pairs, similar_pairs
from unnaive.data.text_hashes import hash_texts
from unnaive.io.corpus import Corpus

FEWEST_TERMS = 5  # terms of a document; shorter ones are alike by chance
TRAIN, TEST = "train", "test"


def duplicate_findings(data: AuditData, X: Sparse, *, threshold: float = 0.8, seed: int = 0) -> list[Finding]:
    """Exact and near duplicates, with the same and with different labels, and leaks between training and test part."""
    hashes = hash_texts(data.texts)
    # an empty text has a finding of its own
    hashes = np.where(np.diff(X.indptr) > 0, hashes, np.arange(len(hashes), dtype=np.uint64))
    found = list(_exact(data, exact_groups(hashes)))
    found += _near(data, near_pairs(X, hashes, threshold=threshold, seed=seed))
    return found


def exact_groups(hashes: np.ndarray) -> list[Ids]:
    """The rows of each text that occurs more than once, in order.

    >>> exact_groups(np.array([7, 5, 7, 6]))
    [array([0, 2])]
    """
    order = np.argsort(hashes, kind="stable")
    cuts = np.flatnonzero(hashes[order][1:] != hashes[order][:-1]) + 1
    return sorted((group for group in np.split(order, cuts) if len(group) > 1), key=lambda group: int(group[0]))


def near_pairs(X: Sparse, hashes: np.ndarray, *, threshold: float, seed: int = 0) -> Pairs:
    """Pairs of different texts of at least five terms that share most of them; the first of equal texts represents all.

    X (n_docs, n_terms), hashes (n_docs,) of the texts.
    """
    first = np.unique(hashes, return_index=True)[1]
    rows = np.sort(first[np.diff(X.indptr)[first] >= FEWEST_TERMS])
    found = similar_pairs(X[rows], threshold=threshold, seed=seed)
    return Pairs(rows[found.first], rows[found.second], found.similarity)


def _exact(data: AuditData, groups: Sequence[Ids]) -> Iterator[Finding]:
    for group in groups:
        labels = Counter(data.spelt(row) for row in group)
        if len(labels) > 1:
            yield from _conflicts(data, group, labels)
        seen: dict[tuple[str, tuple[str, ...]], int] = {}
        for row in group:
            part = data.part(row)
            if part == TEST and any(data.part(one) == TRAIN for one in group):
                first = next(int(one) for one in group if data.part(one) == TRAIN)
                reason = f"the same text is row {data.numbers[first]}, of the training part"
                yield data.finding(row, "leak", reason, DROP, others=[first])
                continue
            key = (part, data.spelt(row))
            if key in seen:
                reason = f"the same text with the same label is row {data.numbers[seen[key]]}"
                yield data.finding(row, "duplicate", reason, DROP, others=[seen[key]])
            else:
                seen[key] = int(row)


def _conflicts(data: AuditData, group: Ids, labels: Counter[tuple[str, ...]]) -> Iterator[Finding]:
    """One finding for each row whose label is not the most frequent; in a tie, one for the first row."""
    names = ", ".join(f"{'; '.join(names) or 'none'} ({n})" for names, n in labels.most_common(5))
    (best, n), (_, second) = labels.most_common(2)
    clear = n > second and len(best) == 1
    reason = f"{len(group)} rows have this very text, and their labels differ: {names}"
    for row in [one for one in group if data.spelt(one) != best] if clear else group[:1]:
        others = [int(one) for one in group if one != row]
        if clear:
            yield data.finding(row, "duplicate-conflict", reason, RELABEL, proposed=best[0], others=others)
        else:
            yield data.finding(row, "duplicate-conflict", reason, LOOK, others=others)


def _near(data: AuditData, pairs: Pairs) -> Iterator[Finding]:
    """For each group of near duplicates, one finding for each row but the first, with its most similar partner."""
    for first, second, similarity in _closest(pairs):
        shares = f"{100 * similarity:.0f} % of its terms are those of row {data.numbers[first]}"
        parts = {data.part(first), data.part(second)}
        if parts == {TRAIN, TEST}:
            row, other = (second, first) if data.part(second) == TEST else (first, second)
            reason = (
                f"{100 * similarity:.0f} % of its terms are those of row {data.numbers[other]}, in the training part"
            )
            yield data.finding(row, "near-leak", reason, DROP, score=similarity, others=[other])
        elif data.spelt(first) != data.spelt(second):
            theirs = "; ".join(data.labels[first]) or "none"
            yield data.finding(
                second, "near-duplicate-conflict", f"{shares}, which has the label {theirs}", LOOK, score=similarity,
                others=[first],
            )  # fmt: skip
        else:
            yield data.finding(second, "near-duplicate", shares, DROP, score=similarity, others=[first])


def _closest(pairs: Pairs) -> Iterator[tuple[int, int, float]]:
    """(first, second, similarity): each row that is near an earlier one, with the most similar of these."""
    order = np.lexsort((pairs.first, -pairs.similarity, pairs.second))
    second = pairs.second[order]
    best = order[np.concatenate(([True], second[1:] != second[:-1]))] if len(order) else order
    for place in best:
        yield int(pairs.first[place]), int(pairs.second[place]), float(pairs.similarity[place])


def leaks_between(
    data: AuditData, X: Sparse, test: Corpus, theirs: Sparse, *, threshold: float = 0.8, seed: int = 0
) -> list[Finding]:
    """Rows of the data whose text, or nearly the same, is in a test file.

    X (n_docs, n_terms), theirs (n_test, n_terms).
    """
    first = {hashed: row for row, hashed in reversed(list(enumerate(hash_texts(test.texts).tolist())))}
    own = hash_texts(data.texts)
    there = np.diff(X.indptr) > 0
    found, copied = [], set()
    for row in np.flatnonzero(there).tolist():
        twin = first.get(int(own[row]))
        if twin is not None:
            copied.add(row)
            found.append(data.finding(row, "leak", f"the same text is row {twin + 1} of {test.name}", DROP))
    n_docs = len(data)
    both = csr_array(vstack([_wide(X, theirs.shape[1]), theirs]))
    rows = np.flatnonzero(np.diff(both.indptr) >= FEWEST_TERMS)
    pairs = similar_pairs(both[rows], threshold=threshold, seed=seed)
    one, other, similarity = rows[pairs.first], rows[pairs.second], pairs.similarity
    across = (one < n_docs) & (other >= n_docs)
    best: dict[int, tuple[float, int]] = {}
    for row, twin, share in zip(one[across].tolist(), other[across].tolist(), similarity[across].tolist(), strict=True):
        if row not in copied:
            best[row] = max(best.get(row, (0.0, 0)), (share, n_docs - 1 - twin))
    for row, (share, place) in sorted(best.items()):
        reason = f"{100 * share:.0f} % of its terms are those of row {-place} of {test.name}"
        found.append(data.finding(row, "near-leak", reason, DROP, score=share))
    return found


def _wide(X: Sparse, n_terms: int) -> Sparse:
    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_terms))
