"""Find duplicate and near-duplicate texts: within the data, with different labels, and between training and test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array, vstack

from unnaive.base.types import Ids, Sparse
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.findings import DROP, LOOK, RELABEL, Finding
from unnaive.curation.audit.minhash import Pairs, similar_pairs
from unnaive.data.corpus import Corpus
from unnaive.data.text_hashes import hash_texts

FEWEST_TERMS = 5  # documents with fewer terms are often similar by chance and are not compared
TRAIN, TEST = "train", "test"
SHOWN_COLUMNS = 5


def duplicate_findings(data: AuditData, X: Sparse, *, threshold: float = 0.8, seed: int = 0) -> list[Finding]:
    """Find exact and near duplicates, with equal or different labels, and leaks between the training and test part."""
    hashes = hash_texts(data.texts)
    # empty texts get unique hashes: they are reported as empty, not as duplicates
    hashes = np.where(np.diff(X.indptr) > 0, hashes, np.arange(len(hashes), dtype=np.uint64))
    findings = list(_exact(data, exact_groups(hashes)))
    findings += _near(data, near_pairs(X, hashes, threshold=threshold, seed=seed))
    return findings


def exact_groups(hashes: np.ndarray) -> list[Ids]:
    """The rows of each text that occurs more than once, in order.

    >>> exact_groups(np.array([7, 5, 7, 6]))
    [array([0, 2])]
    """
    order = np.argsort(hashes, kind="stable")
    cuts = np.flatnonzero(hashes[order][1:] != hashes[order][:-1]) + 1
    return sorted((group for group in np.split(order, cuts) if len(group) > 1), key=lambda group: int(group[0]))


def near_pairs(X: Sparse, hashes: np.ndarray, *, threshold: float, seed: int = 0) -> Pairs:
    """Pairs of different texts that share most of their terms; of equal texts only the first is compared.

    X (n_docs, n_terms), hashes (n_docs,) of the texts. Texts with fewer than five terms are left out.
    """
    first = np.unique(hashes, return_index=True)[1]
    rows = np.sort(first[np.diff(X.indptr)[first] >= FEWEST_TERMS])
    pairs = similar_pairs(X[rows], threshold=threshold, seed=seed)
    return Pairs(rows[pairs.first], rows[pairs.second], pairs.similarity)


def _exact(data: AuditData, groups: Sequence[Ids]) -> Iterator[Finding]:
    for group in groups:
        labels = Counter(data.spelt(row) for row in group)
        if len(labels) > 1:
            yield from _conflicts(data, group, labels)
        seen: dict[tuple[str, tuple[str, ...]], int] = {}
        for row in group:
            part = data.part(row)
            if part == TEST and any(data.part(other) == TRAIN for other in group):
                first = next(int(other) for other in group if data.part(other) == TRAIN)
                reason = f"the same text is row {data.numbers[first]}, of the training part"
                yield data.finding(row, "leak", reason, DROP, others=[first])
                continue
            key = (part, data.spelt(row))
            if key in seen:
                different = data.differing_columns(int(row), seen[key])
                reason = f"the same text with the same label is row {data.numbers[seen[key]]}"
                if different:  # they may be two events, such as two refunds; nobody but the user knows
                    reason += f", but the rows differ in {', '.join(map(repr, different[:SHOWN_COLUMNS]))}"
                accepted, bulk = (False, False) if different else (None, True)
                yield data.finding(row, "duplicate", reason, DROP, others=[seen[key]], accepted=accepted, bulk=bulk)
            else:
                seen[key] = int(row)


def _conflicts(data: AuditData, group: Ids, labels: Counter[tuple[str, ...]]) -> Iterator[Finding]:
    """Yield a finding for each row whose label is not the most frequent; in a tie, only one, for the first row."""
    names = ", ".join(f"{'; '.join(names) or 'none'} ({n})" for names, n in labels.most_common(5))
    (best, n), (_, second) = labels.most_common(2)
    clear = n > second and len(best) == 1
    reason = f"{len(group)} rows have the same text, and their labels differ: {names}"
    for row in [row for row in group if data.spelt(row) != best] if clear else group[:1]:
        others = [int(other) for other in group if other != row]
        if clear:
            yield data.finding(row, "duplicate-conflict", reason, RELABEL, proposed=best[0], others=others)
        else:
            yield data.finding(row, "duplicate-conflict", reason, LOOK, others=others)


def _near(data: AuditData, pairs: Pairs) -> Iterator[Finding]:
    """Yield a finding for each row that is nearly the same as an earlier row, with the most similar earlier row."""
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
    """Yield (first, second, similarity) for each `second` with a similar earlier row; `first` is the most similar."""
    order = np.lexsort((pairs.first, -pairs.similarity, pairs.second))
    second = pairs.second[order]
    best = order[np.concatenate(([True], second[1:] != second[:-1]))] if len(order) else order
    for index in best:
        yield int(pairs.first[index]), int(pairs.second[index]), float(pairs.similarity[index])


def leaks_between(
    data: AuditData, X: Sparse, test: Corpus, theirs: Sparse, *, threshold: float = 0.8, seed: int = 0
) -> list[Finding]:
    """Find rows of the data whose text, or nearly the same text, is also in a test file.

    X (n_docs, n_terms), theirs (n_test, n_terms).
    """
    first = {hashed: row for row, hashed in reversed(list(enumerate(hash_texts(test.texts).tolist())))}
    hashes = hash_texts(data.texts)
    there = np.diff(X.indptr) > 0
    findings, copied = [], set()
    for row in np.flatnonzero(there).tolist():
        twin = first.get(int(hashes[row]))
        if twin is not None:
            copied.add(row)
            findings.append(data.finding(row, "leak", f"the same text is row {twin + 1} of {test.name}", DROP))
    n_docs = len(data)
    both = csr_array(vstack([_wide(X, theirs.shape[1]), theirs]))
    rows = np.flatnonzero(np.diff(both.indptr) >= FEWEST_TERMS)
    pairs = similar_pairs(both[rows], threshold=threshold, seed=seed)
    left, right, similarity = rows[pairs.first], rows[pairs.second], pairs.similarity
    across = (left < n_docs) & (right >= n_docs)
    best: dict[int, tuple[float, int]] = {}
    for row, twin, share in zip(
        left[across].tolist(), right[across].tolist(), similarity[across].tolist(), strict=True
    ):
        if row not in copied:
            best[row] = max(best.get(row, (0.0, 0)), (share, n_docs - 1 - twin))
    for row, (share, minus_row) in sorted(best.items()):
        reason = f"{100 * share:.0f} % of its terms are those of row {-minus_row} of {test.name}"
        findings.append(data.finding(row, "near-leak", reason, DROP, score=share))
    return findings


def _wide(X: Sparse, n_terms: int) -> Sparse:
    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_terms))
