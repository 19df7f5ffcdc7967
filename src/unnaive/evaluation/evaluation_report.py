"""Reports: an Evaluation as text, Markdown and JSON, and any result to a file; evaluation_page.py makes the HTML.

evaluation = evaluate(classifier, texts, labels)
print(evaluation)
report(evaluation, "report.html")      # or .md, .json, .txt
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unnaive.base.errors import count_noun
from unnaive.evaluation.abstention import TARGETS, AbstentionChoice
from unnaive.evaluation.evaluate import Evaluation
from unnaive.evaluation.reports.identity import Identity
from unnaive.evaluation.training_drift import TrainingDrift
from unnaive.io.endings import REPORTS, choose_ending
from unnaive.learning.conformal import describe_sets


class Reportable(Protocol):
    """The input of `report`: an Evaluation or a Comparison."""

    def render(self, format: str) -> str:
        """The result as "html", "md", "json" or "txt"."""


def report(result: Reportable, path: str | Path) -> Path:
    """Write an evaluation or a comparison to a file: .html (with figures), .md, .json or .txt by its ending.

    >>> report(None, "report.doc")
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: report.doc: a report cannot be written as .doc; give a name that ...
    """
    target = Path(path)
    format = choose_ending(target, REPORTS, "a report").removeprefix(".")
    target.write_text(result.render(format), encoding="utf-8", newline="\n")
    return target


def classes_by_size(evaluation: Evaluation) -> list[int]:
    """Class indices, largest class first."""
    return [int(c) for c in np.argsort(-evaluation.tally.support, kind="stable")]


def class_rows(evaluation: Evaluation) -> Iterator[tuple[str, float, float, float, int]]:
    """Name, precision, recall, F1 and true documents of each class, the largest first."""
    tally = evaluation.tally
    columns = tally.precision.tolist(), tally.recall.tolist(), tally.f1.tolist(), tally.support.tolist()
    for c in classes_by_size(evaluation):
        precision, recall, f1, size = (column[c] for column in columns)
        yield evaluation.classes[c], precision, recall, f1, size


def worst_of_largest(evaluation: Evaluation, most: int) -> list[tuple[str, float, float, float, int]]:
    """The `class_rows` of the `most` largest classes, lowest F1 first: of very many classes, most have no document."""
    return sorted(islice(class_rows(evaluation), most), key=lambda row: row[3])


def evaluation_verdict(evaluation: Evaluation) -> str:
    """The result in one sentence, with its interval."""
    tally, (low, high) = evaluation.tally, evaluation.accuracy_interval
    documents, share = count_noun(tally.n, "document"), 100 * tally.exact / max(tally.n, 1)
    interval = f"between {100 * low:.1f} and {100 * high:.1f} % (95 % interval)"
    if evaluation.exclusive:
        return (
            f"The label is right for {tally.exact:,} of {documents}: an accuracy of {share:.1f} %; on new documents "
            f"like these it is {interval}."
        )
    return (
        f"Micro F1 is {evaluation.measure('micro-f1'):.3f}; all labels are right for {tally.exact:,} of {documents}, "
        f"{share:.1f} %, and on new documents like these for {interval}."
    )


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
    notes = {"accuracy": f"  95 % interval {describe_interval(evaluation.accuracy_interval)}"}
    lines += [f"{name:<{wide}}  {value:.4f}{notes.get(name, '')}" for name, value in evaluation.measures.items()]
    lines += [absent_note(evaluation.absent)] if evaluation.absent else []
    lines += ["", f"{'class':<{wide}}  precision  recall      F1  documents"]
    for name, precision, recall, f1, size in class_rows(evaluation):
        lines.append(f"{name:<{wide}}     {precision:.4f}  {recall:.4f}  {f1:.4f}  {size:>9,}")
    return "\n".join(lines)


def as_markdown(evaluation: Evaluation, *, identity: Identity | None = None) -> str:
    """The verdict, what was evaluated, the measures and the classes as Markdown."""
    known = replace(identity or Identity(), model=evaluation.model, sizes=_sizes(evaluation))
    about = "\n".join(f"- {what}: {value}" for what, value in known.rows())
    head = f"# {evaluation.name}\n\n{evaluation_verdict(evaluation)}\n\n{about}"
    intervals = {"accuracy": describe_interval(evaluation.accuracy_interval)}
    measured = [(name, f"{value:.4f}", intervals.get(name, "")) for name, value in evaluation.measures.items()]
    measures = _markdown(("measure", "value", "95 % interval"), measured)
    rows = [(name, *(f"{x:.4f}" for x in values), f"{size}") for name, *values, size in class_rows(evaluation)]
    classes = _markdown(("class", "precision", "recall", "F1", "documents"), rows)
    pairs = [(true, predicted, str(n)) for true, predicted, n in evaluation.confused_pairs()]
    drift = evaluation.drift.sentence() if evaluation.drift is not None else ""
    absent = absent_note(evaluation.absent) if evaluation.absent else ""
    note = " ".join(f"Note: {sentence}." for sentence in (drift, absent) if sentence)
    tables = [note, measures, classes, _markdown(("true", "given", "documents"), pairs) if pairs else ""]
    points = abstention_rows(evaluation)
    tables.append(f"{_markdown(ABSTENTION, points)}\n\n{ABSTENTION_NOTE}" if points else "")
    sets = coverage_rows(evaluation)
    notes = ". ".join(sentence[0].upper() + sentence[1:] for sentence in coverage_notes(evaluation))
    tables.append(f"{_markdown(COVERAGE, sets)}\n\n{notes}." if sets else "")
    return "\n\n".join([head, *filter(None, tables)]) + "\n"


def describe_interval(interval: tuple[float, float]) -> str:
    """An interval of a share in words.

    >>> describe_interval((0.91238, 1.0))
    '0.9124 to 1.0000'
    """
    low, high = interval
    return f"{low:.4f} to {high:.4f}"


def absent_note(absent: Sequence[str]) -> str:
    """The classes that macro averages leave out, as a sentence without its stop."""
    classes = count_noun(len(absent), "class", "classes")
    names = ", ".join(absent[:3]) + (", …" if len(absent) > 3 else "")
    return f"macro averages leave out {classes} without a document or a prediction here: {names}"


ABSTENTION = ("target accuracy", "reject below", "share labelled", "accuracy")
COVERAGE = ("90 % sets", "coverage", "worst class", "labels in a set", "with one label", "empty")


ABSTENTION_NOTE = (
    "Each threshold was chosen on a random half of the documents such that, with 90 % confidence, new documents "
    "reach the accuracy; the shares are measured on the other half."
)


def abstention_choices(evaluation: Evaluation) -> list[AbstentionChoice]:
    """For the usual target accuracies above that of labelling everything, the choices of a rejection threshold."""
    if evaluation.abstention is None:
        return []
    whole = float(evaluation.abstention.accuracy[-1])
    choices = (evaluation.choose_abstention(target) for target in TARGETS if target > whole)
    return [choice for choice in choices if choice is not None]


def abstention_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The rows of the table of rejection thresholds."""
    return [
        (
            f"{100 * choice.for_accuracy:g} %",
            f"{choice.threshold:.3f}",
            f"{100 * choice.coverage:.1f} %",
            f"{100 * choice.accuracy:.1f} %",
        )
        for choice in abstention_choices(evaluation)
    ]


def coverage_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The rows of the table of conformal sets: for all documents, and by class."""
    return [
        (
            "by class" if coverage.by_class else "overall",
            f"{100 * coverage.coverage:.1f} %",
            f"{100 * coverage.worst_class:.1f} %",
            f"{coverage.mean_size:.2f}",
            f"{100 * coverage.single:.1f} %",
            f"{100 * coverage.empty:.1f} %",
        )
        for coverage in evaluation.coverage()
    ]


def coverage_notes(evaluation: Evaluation, confidence: float = 0.9) -> list[str]:
    """The guarantees of prediction sets, one sentence each; and the result for documents with more than one label."""
    results = evaluation.coverage(confidence)
    if not results:
        return []
    scores, multilabel = evaluation.fitted.conformal_scores(), evaluation.fitted.multilabel
    sentences = [
        sentence
        for by_class in (False, True)
        for sentence in describe_sets(
            scores, evaluation.fitted.classes, confidence, multilabel=multilabel, by_class=by_class
        )
    ]
    if results[0].several is not None:
        sentences.append(
            f"the set contains all labels of {100 * results[0].several:.1f} % of the documents with more than one label"
        )
    return sentences


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as plain values, for JSON."""
    return {
        "data": evaluation.name,
        "model": evaluation.model,
        "documents": len(evaluation),
        "unknown_classes": list(evaluation.unknown),
        "absent_classes": list(evaluation.absent),
        "accuracy_interval": list(evaluation.accuracy_interval),
        "drift": None if evaluation.drift is None else _plain_drift(evaluation.drift),
        "measures": evaluation.measures,
        "classes": [
            {"class": name, "precision": precision, "recall": recall, "f1": f1, "documents": size}
            for name, precision, recall, f1, size in class_rows(evaluation)
        ],
        "calibration": {name: curve.to_dict() for name, curve in evaluation.calibration().items()},
        "abstention": [asdict(choice) for choice in abstention_choices(evaluation)],
        "sets": [asdict(coverage) for coverage in evaluation.coverage()],
        "sets_promise": coverage_notes(evaluation),
        "confused": [
            {"true": true, "given": predicted, "documents": n} for true, predicted, n in evaluation.confused_pairs()
        ],
        "confusion": confusion_table(evaluation),
    }


def _plain_drift(drift: TrainingDrift) -> dict[str, Any]:
    """The test against the training documents, for JSON."""
    return asdict(drift) | {"p": drift.p, "differs": drift.differs}


LARGEST_TABLE = 100  # with more classes, the most confused pairs are more informative


def confusion_table(evaluation: Evaluation) -> dict[str, Any] | None:
    """Documents of each true class (rows) by predicted class; None for multilabel documents and very many classes."""
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
