"""Find classes that are too small, spelt in two ways, or confused with each other by the models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from unnaive.base.errors import count_noun
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.findings import RELABEL, Finding
from unnaive.curation.audit.label_errors import LabelEvidence, confused_pairs
from unnaive.data.label_spelling import SEPARATORS, is_letter, plain_spelling
from unnaive.io.label_checks import PREFIX, missing_labels, prefixed_labels

FEWEST = 10  # a class with fewer documents can hardly be learnt or evaluated
SHORTEST_TYPO = 5  # characters; shorter names often differ by one letter without being typing errors


def class_findings(data: AuditData) -> list[Finding]:
    """Find small classes, labels with nearly the same spelling, and labels that stand for a missing value.

    Spellings of one label count as one class.
    """
    sizes = Counter(label for names in data.labels for label in set(names))
    spellings = list(spelling_findings(sizes))
    for finding in spellings:
        if finding.kind == "label-spelling":
            sizes[finding.proposed] += sizes.pop(finding.label)
    return [*small_classes(sizes), *spellings, *junk_labels(sizes)]


def junk_labels(sizes: dict[str, int]) -> Iterator[Finding]:
    """Find labels that stand for a missing value, and labels with fastText's prefix.

    >>> [(one.kind, one.label, one.proposed) for one in junk_labels({"N/A": 3, "__label__sport": 2})]
    [('missing-label', 'N/A', ''), ('label-prefix', '__label__sport', 'sport')]
    """
    for name in missing_labels(sizes):
        reason = f"{name!r} ({count_noun(sizes[name], 'document')}) is what programs write where a value is missing"
        yield Finding("missing-label", reason, label=name)
    for name in prefixed_labels(sizes):
        plain = name.removeprefix(PREFIX)
        if plain:
            reason = f"{name!r} ({count_noun(sizes[name], 'document')}) begins with the prefix of fastText's files"
            yield Finding("label-prefix", reason, RELABEL, label=name, proposed=plain)


def small_classes(sizes: dict[str, int]) -> Iterator[Finding]:
    """Find classes with fewer than ten documents; smaller classes have a higher score."""
    for name, n in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        if n < FEWEST:
            reason = f"the class has {count_noun(n, 'document')}; below {FEWEST} it can hardly be learnt or measured"
            yield Finding("small-class", reason, label=name, score=1 - n / FEWEST)


def spelling_findings(sizes: dict[str, int]) -> Iterator[Finding]:
    """Find labels that differ only in case, width, spaces, hyphens or underscores, and labels one letter apart.

    >>> [(one.kind, one.label, one.proposed) for one in spelling_findings({"Billing": 2, "billing": 9, "biling": 1})]
    [('label-spelling', 'Billing', 'billing'), ('label-typo', 'biling', 'billing')]
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sizes:
        alike[plain_spelling(name)].append(name)
    leaders = {}
    for plain, names in sorted(alike.items()):
        best = max(names, key=lambda name: (sizes[name], name))
        leaders[plain] = best
        for name in sorted(names):
            if name != best:
                reason = f"{name!r} ({sizes[name]:,}) and {best!r} ({sizes[best]:,}) are spellings of one name"
                yield Finding("label-spelling", reason, RELABEL, label=name, proposed=best)
    for first, second in typo_pairs(list(leaders)):
        rare, usual = sorted((leaders[first], leaders[second]), key=lambda name: (sizes[name], name))
        if 4 * sizes[rare] <= sizes[usual]:
            reason = f"{rare!r} ({sizes[rare]:,}) is one letter away from {usual!r} ({sizes[usual]:,})"
            yield Finding("label-typo", reason, RELABEL, label=rare, proposed=usual, score=0.5)


def typo_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of names one edit apart: a letter added, replaced, or swapped with the next.

    Edits of digits, signs and symbols do not count: they make another name.

    Only names that become equal when one letter is removed are compared, so the time is linear in the number of names.

    >>> typo_pairs(["refund", "refnud", "refunds", "group1", "group2", "group+"])
    [('refnud', 'refund'), ('refund', 'refunds')]
    """
    forms: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if len(name) >= SHORTEST_TYPO:
            for form in {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))}:
                forms[form].append(name)
    pairs = set()
    for same in forms.values():
        for position, second in enumerate(same):
            for first in same[:position]:
                if _one_edit(second, first):
                    pairs.add((min(second, first), max(second, first)))
    return sorted(pairs)


def _one_edit(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    if len(long) - len(short) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[start:] == long[start + 1 :] and _may_be_typo(long[start])
    different = [at for at in range(start, len(long)) if short[at] != long[at]]
    if not all(_may_be_typo(short[at]) and _may_be_typo(long[at]) for at in different):
        return False
    swapped = len(different) == 2 and different[1] == different[0] + 1 and short[different[0]] == long[different[1]]
    return len(different) == 1 or (swapped and short[different[1]] == long[different[0]])


def _may_be_typo(character: str) -> bool:
    return is_letter(character) or character in SEPARATORS


def confused_classes(evidence: LabelEvidence, classes: Sequence[str]) -> list[Finding]:
    """Find pairs of classes that held-out predictions confuse in both directions (`label_errors.confused_pairs`)."""
    sizes = np.bincount(evidence.given[evidence.judged], minlength=len(classes))
    findings = []
    for pair, (n, total, low) in confused_pairs(evidence).items():
        small, large = sorted(pair, key=lambda c: (sizes[c], c))
        reason = (
            f"{n:,} of {total:,} documents of {classes[large]!r} and {classes[small]!r} are predicted as the "
            f"other by models that have not seen them ({100 * n / total:.0f} %, at least {100 * low:.0f} %)"
        )
        findings.append(
            Finding("confused-classes", reason, RELABEL, label=classes[small], proposed=classes[large], score=low)
        )
    return findings
