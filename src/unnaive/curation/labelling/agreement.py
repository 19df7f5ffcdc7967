"""Agreement between people beyond chance: Cohen's kappa of two people, and Krippendorff's alpha of all of them.

Only answers that were given alone count: those of a reviewer, who saw the others, and labels that were given to many
texts at once or imported, do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from unnaive.curation.labelling.label_log import BULK, LabelRecord
from unnaive.curation.labelling.record_tables import DECIDED


@dataclass(frozen=True)
class Agreement:
    """The agreement of two annotators.

    texts  the number of texts that both labelled
    same   how many of these have the same labels from both
    kappa  Cohen's kappa; None if it is undefined
    """

    people: tuple[str, str]
    texts: int
    same: int
    kappa: float | None


def cohen_kappa(first: Sequence[Any], second: Sequence[Any]) -> float | None:
    """Cohen's kappa (1960), (p_o − p_e) / (1 − p_e), of two sequences of labels of the same texts.

    p_o is the observed agreement, p_e the agreement expected by chance from the class shares of both. None without
    labels, or if both gave the same single class to all texts (p_e = 1).

    >>> cohen_kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"])    # p_o = 3/4, p_e = 1/2·1/4 + 1/2·3/4 = 1/2
    0.5
    """
    n = len(first)
    if not n:
        return None
    seen = sum(left == right for left, right in zip(first, second, strict=True)) / n
    mine, theirs = Counter(first), Counter(second)
    expected = sum(count * theirs[label] for label, count in mine.items()) / n**2
    return None if expected >= 1 else (seen - expected) / (1 - expected)


def krippendorff_alpha(units: Iterable[Sequence[Any]]) -> float | None:
    """Krippendorff's alpha (2011) for nominal values, 1 − D_o / D_e, of any number of people and missing answers.

    units  the answers about each text; texts with fewer than two are left out

    Each pair of answers about a text counts 1/(m − 1) of its m answers. D_o is the share of pairs that differ, D_e the
    same for pairs drawn from all n answers, 1 − Σ_c n_c (n_c − 1) / (n (n − 1)). None without two different answers.

    >>> round(krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b", "b"]]), 3)   # D_o = 2/9, D_e = 1/2
    0.556
    """
    totals: Counter[Any] = Counter()
    differ = 0.0
    for values in units:
        m = len(values)
        if m >= 2:
            counts = Counter(values)
            totals += counts
            differ += (m * m - sum(count * count for count in counts.values())) / (m - 1)
    n = sum(totals.values())
    if len(totals) < 2:
        return None
    expected = 1 - sum(count * (count - 1) for count in totals.values()) / (n * (n - 1))
    return 1 - (differ / n) / expected


def _own_labels(record: LabelRecord) -> dict[str, dict[int, tuple[str, ...]]]:
    """The labels that each annotator gave alone, by text."""
    labels: dict[str, dict[int, tuple[str, ...]]] = {}
    for answer in record.current_answers():
        together = (answer.way or "").startswith((DECIDED, BULK, "import"))
        if answer.kind == "label" and not together and answer.text is not None:
            labels.setdefault(answer.who, {})[answer.text] = answer.labels
    return labels


def agreement_of_all(record: LabelRecord) -> float | None:
    """Krippendorff's alpha of all annotators; a set of labels counts as one answer."""
    units: dict[int, list[tuple[str, ...]]] = {}
    for labels in _own_labels(record).values():
        for text, names in labels.items():
            units.setdefault(text, []).append(names)
    return krippendorff_alpha(units.values())


def agreements(record: LabelRecord) -> list[Agreement]:
    """The agreement of every two annotators who labelled a text in common; a set of labels counts as one answer."""
    labels = _own_labels(record)
    results = []
    for first, second in combinations(sorted(labels), 2):
        common = sorted(labels[first].keys() & labels[second].keys())
        if common:
            mine, theirs = [labels[first][text] for text in common], [labels[second][text] for text in common]
            same = sum(left == right for left, right in zip(mine, theirs, strict=True))
            results.append(Agreement((first, second), len(common), same, cohen_kappa(mine, theirs)))
    return results
