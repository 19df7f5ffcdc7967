"""The conformance file: texts or records with the results of the model, to check every export.

A JSON line for each text, or each record with a string or null for each field: its labels, scores, probabilities and
known terms. An export agrees if all labels are equal and all scores are within a tolerance. If the model
decides between two values that differ by less than the tolerance, either label is right: such a text is counted as a
tie.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Floats
from unnaive.data.fields.fields import one_document
from unnaive.interop.export.hard_records import hard_records
from unnaive.interop.export.hard_texts import hard_texts
from unnaive.learning.decisions import LeastCost, Thresholds, TopK, WeightedArgmax
from unnaive.learning.fitted import FittedModel
from unnaive.linear.links import relative
from unnaive.text.sections import SECTION, UNIT

HARD_TEXTS, OWN_TEXTS = 300, 100
TOLERANCE = 1e-9  # tolerance of scores, relative if they are above 1; for targets in float32:
TOLERANCE_OF_SINGLES = 1e-5
CONFIDENCE = 0.9  # coverage of the compared sets, if the model has any
TextOrRecord = str | dict[str, str | None]


def conformance_texts(fitted: FittedModel) -> list[TextOrRecord]:
    """Hard texts, then texts of the model's own terms; of a model with fields, records of them and some plain texts."""
    terms = [] if fitted.vocabulary is None else fitted.vocabulary.terms
    step = max(1, len(terms) // 5000)
    words = [term for term in terms[::step] if term]
    own_words = [word for word in words if not word.startswith("#")] or words
    texts = [*hard_texts(words, HARD_TEXTS, seed=1), *_own_texts(own_words)]
    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    if not fields:
        return list(texts)
    texts = [text.replace(SECTION, " ").replace(UNIT, " ") for text in texts]
    records = hard_records(texts, fields, terms, seed=3)
    return [record if row % 10 else text for row, (record, text) in enumerate(zip(records, texts, strict=True))]


def _own_texts(words: Sequence[str]) -> Iterator[str]:
    from random import Random

    random = Random(2)  # noqa: S311
    for _ in range(OWN_TEXTS):
        yield " ".join(random.choice(words) for _ in range(random.choice((1, 3, 10, 60)))) if words else ""


def conformance_lines(fitted: FittedModel, documents: Sequence[TextOrRecord]) -> list[str]:
    """The prediction of the model for each text or record, as a line of JSON."""
    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    texts = [one_document(document, fields) for document in documents]
    scores = fitted.scores(texts)
    n_known = fitted.known_terms(texts)
    probabilities = fitted.probabilities(scores) if fitted.probabilistic else None
    labels = fitted.label_sets_of(scores)
    ties = margins(fitted, scores)
    sets = fitted.sets_of(scores, CONFIDENCE) if fitted.conformal is not None and fitted.probabilistic else None
    lines = []
    for row, document in enumerate(documents):
        expected: dict[str, Any] = {
            "text" if isinstance(document, str) else "record": document,
            "labels": list(labels[row]),
            "scores": _finite(scores[row]),
            "probabilities": None if probabilities is None else _finite(probabilities[row]),
            "known_terms": int(n_known[row]),
            "margin": float(ties[row]),
        }
        if sets is not None:
            expected["label_set"] = sorted(sets[row], key=fitted.class_index)
        lines.append(json.dumps(expected, allow_nan=False))
    return lines


def margins(fitted: FittedModel, scores: Floats) -> Floats:
    """The margin of each text (n_texts,): the smallest change of scores that would change its labels."""
    decision = fitted.decision
    values = fitted.probabilities(scores) if decision.on_probabilities else scores
    if isinstance(decision, Thresholds):
        shown = relative(values) if decision.on == "relative" else values
        gap = np.abs(shown - np.asarray(decision.values))
        if decision.at_least_one:
            gap = np.minimum(gap, _lead(shown - np.asarray(decision.values), 1)[:, None])
        return np.asarray(np.nanmin(gap, axis=1))
    if isinstance(decision, WeightedArgmax):
        values = values * np.asarray(decision.weights)
    if isinstance(decision, LeastCost):
        values = -(values @ np.array(decision.costs))
    return _lead(values, decision.k if isinstance(decision, TopK) else 1)


def _lead(values: Floats, k: int) -> Floats:
    """The lead of the k-th value of each row over the next; a large number if there is none."""
    if values.shape[1] <= k:
        return np.full(len(values), 1e300)
    ordered = -np.sort(-values, axis=1)
    with np.errstate(invalid="ignore"):
        gap = ordered[:, k - 1] - ordered[:, k]
    return np.asarray(np.nan_to_num(gap, nan=0.0, posinf=1e300))


def _finite(values: Floats) -> list[float | None]:
    """For JSON: None stands for −∞, the score of a class without documents."""
    return [float(value) if np.isfinite(value) else None for value in values]


@dataclass
class EngineAgreement:
    """How an export agrees with the conformance file.

    texts, ties    number of compared texts, and of those with a decision within the tolerance
    tied_otherwise ties with other labels
    different      texts with other labels, without ties
    off            texts with a score beyond the tolerance, or another number of known terms
    largest        the largest difference of a score, relative if the score is above 1
    engine         the program that ran it
    """

    engine: str
    tolerance: float
    texts: int = 0
    ties: int = 0
    tied_otherwise: int = 0
    different: int = 0
    off: int = 0
    largest: float = 0.0
    example: str = ""

    @property
    def good(self) -> bool:
        """Whether the export agrees in everything."""
        return self.texts > 0 and not self.different and not self.off

    def add(self, expected: dict[str, Any], answer: dict[str, Any]) -> None:
        """Compare one answer: labels in any order and, if present, scores, probabilities, known terms and label set."""
        self.texts += 1
        difference = max((self._difference(expected, answer, key) for key in ("scores", "probabilities")), default=0.0)
        self.largest = max(self.largest, difference)
        tie = expected["margin"] <= self.tolerance * max(1.0, *(abs(score or 0.0) for score in expected["scores"]))
        self.ties += tie
        right = sorted(map(str, expected["labels"])) == sorted(map(str, answer["labels"]))
        if "label" in answer and answer["label"] not in (list(map(str, answer["labels"])) or [""]):
            right = tie = False  # the export contradicts itself
        self.different += not right and not tie
        self.tied_otherwise += not right and tie
        wrong_known = "known_terms" in answer and answer["known_terms"] != expected["known_terms"]
        wrong_set = (
            "label_set" in answer
            and "label_set" in expected
            and sorted(map(str, answer["label_set"])) != sorted(map(str, expected["label_set"]))
        )
        if difference > self.tolerance or wrong_known or wrong_set:
            self.off += 1
        if not self.example and (self.off or self.different):
            self.example = expected["record"] if "record" in expected else expected["text"]

    def _difference(self, expected: dict[str, Any], answer: dict[str, Any], key: str) -> float:
        if answer.get(key) is None or expected[key] is None:
            return 0.0
        largest = 0.0 if len(expected[key]) == len(answer[key]) else float("inf")
        for right, actual in zip(expected[key], answer[key], strict=False):
            if right is None or actual is None:
                largest = max(largest, 0.0 if right is actual else float("inf"))
            else:
                largest = max(largest, abs(right - actual) / max(1.0, abs(right)))
        return largest

    def sentence(self) -> str:
        """The agreement in one line."""
        what = (
            f"{self.engine}: {self.texts} texts, {self.different} different decisions, {self.off} scores "
            "that differ by more than "
        )
        tied = f"; {self.ties} ties, {self.tied_otherwise} decided differently" if self.ties else ""
        return f"{what}{self.tolerance:g} (largest difference {self.largest:.1e}{tied})"


def compare_answers(
    engine: str, tolerance: float, lines: Iterable[str], answers: Iterable[dict[str, Any]]
) -> EngineAgreement:
    """The agreement of answers with the lines of a conformance file."""
    agreement, expected, received = EngineAgreement(engine, tolerance), list(lines), list(answers)
    if len(received) != len(expected):
        raise UnnaiveError(f"{engine} gave {len(received)} answers for {len(expected)} texts; export the model again")
    for line, answer in zip(expected, received, strict=True):
        agreement.add(json.loads(line), answer)
    return agreement
