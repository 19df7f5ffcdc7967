"""Agreement between people beyond chance: Cohen's kappa on the texts that two of them labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from unnaive.curation.labelling.label_log import IMPORTED, LabelRecord


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


def agreements(record: LabelRecord) -> list[Agreement]:
    """The agreement of every two annotators who labelled a text in common; a set of labels counts as one answer.

    Imported labels are left out.
    """
    labels: dict[str, dict[int, tuple[str, ...]]] = {}
    for text, who, kind, names in record.votes():
        if kind == "label" and who != IMPORTED:
            labels.setdefault(who, {})[text] = names
    results = []
    for first, second in combinations(sorted(labels), 2):
        common = sorted(labels[first].keys() & labels[second].keys())
        if common:
            mine, theirs = [labels[first][text] for text in common], [labels[second][text] for text in common]
            same = sum(left == right for left, right in zip(mine, theirs, strict=True))
            results.append(Agreement((first, second), len(common), same, cohen_kappa(mine, theirs)))
    return results
