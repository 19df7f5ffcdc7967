"""Reports: an Evaluation as text, Markdown and JSON, and any result to a file; evaluation_page.py makes the HTML.

evaluation = evaluate(classifier, texts, labels)
print(evaluation)
report(evaluation, "report.html")      # or .md, .json, .txt
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unnaive.base.errors import count_noun
from unnaive.evaluation.abstention import TARGETS, AbstentionChoice
from unnaive.evaluation.evaluate import Evaluation
from unnaive.evaluation.training_drift import TrainingDrift
from unnaive.io.endings import REPORTS, choose_ending
from unnaive.learning.conformal import describe_sets


class Reportable(Protocol):
    """What `report` writes: an Evaluation, or a Comparison."""

    def render(self, format: str) -> str:
        """The result as "html", "md", "json" or "txt"."""


def report(result: Reportable, path: str | Path) -> Path:
    """Write an evaluation or a comparison to a file: .html (with figures), .md, .json or .txt by its ending.

    >>> report(None, "report.doc")
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: report.doc: a report cannot be written as .doc; give a name in .html, .md, ...
    """
    place = Path(path)
    format = choose_ending(place, REPORTS, "a report").removeprefix(".")
    place.write_text(result.render(format), encoding="utf-8", newline="\n")
    return place


def classes_by_size(evaluation: Evaluation) -> list[int]:
    """Class numbers, largest first."""
    return [int(c) for c in np.argsort(-evaluation.tally.support, kind="stable")]


def class_rows(evaluation: Evaluation) -> Iterator[tuple[str, float, float, float, int]]:
    """Name, precision, recall, F1 and true documents of each class, the largest first."""
    tally = evaluation.tally
    columns = tally.precision.tolist(), tally.recall.tolist(), tally.f1.tolist(), tally.support.tolist()
    for c in classes_by_size(evaluation):
        precision, recall, f1, size = (column[c] for column in columns)
        yield evaluation.classes[c], precision, recall, f1, size


def _sizes(evaluation: Evaluation) -> str:
    documents, classes = len(evaluation), len(evaluation.classes)
    return f"{count_noun(documents, 'document')}, {count_noun(classes, 'class', 'classes')}"


def as_text(evaluation: Evaluation) -> str:
    """The measures and the classes, for a terminal."""
    wide = max(len(name) for name in ("class", *evaluation.classes, *evaluation.measures))
    lines = [
        f"{evaluation.name}: {_sizes(evaluation)}",
        evaluation.model,
        "",
    ]
    lines += [f"{name:<{wide}}  {value:.4f}" for name, value in evaluation.measures.items()]
    lines += ["", f"{'class':<{wide}}  precision  recall      F1  documents"]
    for name, precision, recall, f1, size in class_rows(evaluation):
        lines.append(f"{name:<{wide}}     {precision:.4f}  {recall:.4f}  {f1:.4f}  {size:>9,}")
    return "\n".join(lines)


def as_markdown(evaluation: Evaluation) -> str:
    """The measures and the classes as Markdown tables."""
    head = f"# {evaluation.name}\n\n{evaluation.model}; {_sizes(evaluation)}."
    measures = _markdown(("measure", "value"), [(name, f"{value:.4f}") for name, value in evaluation.measures.items()])
    rows = [(name, *(f"{x:.4f}" for x in values), f"{size}") for name, *values, size in class_rows(evaluation)]
    classes = _markdown(("class", "precision", "recall", "F1", "documents"), rows)
    pairs = [(true, given, str(n)) for true, given, n in evaluation.confused_pairs()]
    drift = evaluation.drift.sentence() if evaluation.drift is not None else ""
    note = f"Note: {drift}." if drift else ""
    tables = [note, measures, classes, _markdown(("true", "given", "documents"), pairs) if pairs else ""]
    points = abstention_rows(evaluation)
    tables.append(f"{_markdown(ABSTENTION, points)}\n\n{ABSTENTION_NOTE}" if points else "")
    sets = coverage_rows(evaluation)
    notes = ". ".join(sentence[0].upper() + sentence[1:] for sentence in coverage_notes(evaluation))
    tables.append(f"{_markdown(COVERAGE, sets)}\n\n{notes}." if sets else "")
    return "\n\n".join([head, *filter(None, tables)]) + "\n"


ABSTENTION = ("for an accuracy of", "reject below", "documents labelled", "of them right")
COVERAGE = ("90 % sets", "hold the truth", "worst class", "labels in a set", "with one label", "empty")


ABSTENTION_NOTE = (
    "Each probability was chosen on a random half of the documents, so that with 90 % confidence the accuracy is "
    "reached on new documents; what is labelled and right is that of the other half."
)


def abstention_choices(evaluation: Evaluation) -> list[AbstentionChoice]:
    """For the usual accuracies above that of labelling everything, what rejecting the least sure documents promises."""
    if evaluation.abstention is None:
        return []
    whole = float(evaluation.abstention.accuracy[-1])
    found = (evaluation.choose_abstention(target) for target in TARGETS if target > whole)
    return [choice for choice in found if choice is not None]


def abstention_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The rows of the table of what rejecting the least sure documents gains."""
    return [
        (
            f"{100 * one.for_accuracy:g} %",
            f"{one.threshold:.3f}",
            f"{100 * one.coverage:.1f} %",
            f"{100 * one.accuracy:.1f} %",
        )
        for one in abstention_choices(evaluation)
    ]


def coverage_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The rows of the table of conformal sets: of all documents, and of each class by itself."""
    return [
        (
            "by class" if one.by_class else "overall",
            f"{100 * one.coverage:.1f} %",
            f"{100 * one.worst_class:.1f} %",
            f"{one.mean_size:.2f}",
            f"{100 * one.single:.1f} %",
            f"{100 * one.empty:.1f} %",
        )
        for one in evaluation.coverage()
    ]


def coverage_notes(evaluation: Evaluation, confidence: float = 0.9) -> list[str]:
    """What sets of labels promise, a sentence each; and how documents with several labels fared."""
    found = evaluation.coverage(confidence)
    if not found:
        return []
    scores, multilabel = evaluation.fitted.conformal_scores(), evaluation.fitted.multilabel
    told = [
        sentence
        for by_class in (False, True)
        for sentence in describe_sets(
            scores, evaluation.fitted.classes, confidence, multilabel=multilabel, by_class=by_class
        )
    ]
    if found[0].several is not None:
        told.append(f"here, {100 * found[0].several:.1f} % of the documents with several labels have all in the set")
    return told


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Plain values, for JSON."""
    return {
        "data": evaluation.name,
        "model": evaluation.model,
        "documents": len(evaluation),
        "unknown_classes": list(evaluation.unknown),
        "drift": None if evaluation.drift is None else _plain_drift(evaluation.drift),
        "measures": evaluation.measures,
        "classes": [
            {"class": name, "precision": precision, "recall": recall, "f1": f1, "documents": size}
            for name, precision, recall, f1, size in class_rows(evaluation)
        ],
        "calibration": {name: curve.to_dict() for name, curve in evaluation.calibration().items()},
        "abstention": [asdict(choice) for choice in abstention_choices(evaluation)],
        "sets": [asdict(one) for one in evaluation.coverage()],
        "sets_promise": coverage_notes(evaluation),
        "confused": [{"true": true, "given": given, "documents": n} for true, given, n in evaluation.confused_pairs()],
        "confusion": confusion_table(evaluation),
    }


def _plain_drift(drift: TrainingDrift) -> dict[str, Any]:
    """The test against the documents of training, for JSON."""
    return asdict(drift) | {"p": drift.p, "differs": drift.differs}


LARGEST_TABLE = 100  # classes; the pairs confused most say more of so many


def confusion_table(evaluation: Evaluation) -> dict[str, Any] | None:
    """Documents of each true class (rows) given each class; None for multilabel documents and very many classes."""
    if not evaluation.exclusive or len(evaluation.classes) > LARGEST_TABLE:
        return None
    return {"classes": list(evaluation.classes), "matrix": evaluation.confusion.tolist()}


def as_json(evaluation: Evaluation) -> str:
    """Measures and classes as JSON."""
    return json.dumps(as_dict(evaluation), indent=2, ensure_ascii=False) + "\n"


def _page(evaluation: Evaluation) -> str:
    from unnaive.evaluation.evaluation_page import evaluation_page

    return evaluation_page(evaluation)


RENDERERS: dict[str, Callable[[Evaluation], str]] = {
    "html": _page,
    "md": as_markdown,
    "json": as_json,
    "txt": as_text,
}
