"""The HTML page of an evaluation; evaluate.py computes what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import count_noun
from unnaive.evaluation.comparison_page import record_curves
from unnaive.evaluation.evaluate import Evaluation
from unnaive.evaluation.evaluation_report import (
    ABSTENTION,
    ABSTENTION_NOTE,
    COVERAGE,
    absent_note,
    abstention_choices,
    abstention_rows,
    class_rows,
    coverage_notes,
    coverage_rows,
    describe_interval,
    worst_of_largest,
)
from unnaive.evaluation.explanation_page import TEXT_SHOWN, mark_evidence
from unnaive.evaluation.grids import short_name
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.mistakes import Mistake
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports import plots
from unnaive.evaluation.results import Record
from unnaive.learning.explanation import Explanation

LARGEST_MATRIX = 30  # classes; for more, confused classes are placed next to each other, and the worst come first
CLASSES_SHOWN = 30
LARGEST_DRAWN = 1000  # classes; of more there is no matrix, and the others are not listed


def evaluation_page(
    evaluation: Evaluation,
    *,
    title: str | None = None,
    mistakes: int = 8,
    terms: int = 10,
    records: Sequence[Record] = (),
) -> str:
    """The page of an evaluation; `records` of a comparison add learning and vocabulary curves."""
    sizes = html.describe_sizes(len(evaluation), len(evaluation.classes), evaluation.n_terms)
    return html.page(
        title or f"{short_name(evaluation.name)}: evaluation",
        f"{evaluation.model}; {sizes}",
        [
            html.Section("Summary", measure_tiles(evaluation)),
            html.Section("Classes", class_table(evaluation)),
            html.Section("Confusion", confusion_section(evaluation)),
            html.Section("Precision, recall and calibration", curve_figures(evaluation)),
            html.Section("Rejecting uncertain documents", abstention_section(evaluation)),
            html.Section("Learning and vocabulary", record_curves(records)),
            html.Section("Strongest terms of each class", term_lists(evaluation, terms)),
            html.Section("Most confident mistakes", mistake_list(evaluation, mistakes)),
        ],
    )


def measure_tiles(evaluation: Evaluation) -> str:
    """The measures as tiles, and their meanings."""
    values = [(name, f"{value:.3f}") for name, value in evaluation.measures.items()]
    speed = f"{len(evaluation) / max(evaluation.seconds, 1e-9):,.0f}"
    shown = html.tiles([*values, ("documents per second", speed)])
    unknown = ""
    if evaluation.unknown:
        named = ", ".join(evaluation.unknown[:5]) + (", …" if len(evaluation.unknown) > 5 else "")
        unknown = html.page_note(f"The model has never seen {escape(named)}: those labels count as missed.")
    if evaluation.drift is not None and evaluation.drift.differs:
        sentence = evaluation.drift.sentence()
        unknown += html.page_note(f"{sentence[0].upper()}{escape(sentence[1:])}.")
    if evaluation.absent:
        sentence = absent_note(evaluation.absent)
        unknown += html.page_note(f"{sentence[0].upper()}{escape(sentence[1:])}.")
    interval = describe_interval(evaluation.accuracy_interval)
    unknown += html.page_note(f"The 95 % interval of the accuracy on new documents like these is {interval}.")
    meanings = (
        f"<b>{escape(name)}</b>: {escape(find_measure(name).about)}"
        f"{'' if find_measure(name).larger_is_better else ' (smaller is better)'}"
        for name in evaluation.measures
    )
    return shown + unknown + html.collapsible("What the measures mean", html.bullets(meanings))


def class_table(evaluation: Evaluation) -> str:
    """Precision, recall and F1 of each class with a bar, largest first; for many classes, those with the lowest F1."""
    many = len(evaluation.classes) > CLASSES_SHOWN
    shown = worst_of_largest(evaluation, LARGEST_DRAWN) if many else class_rows(evaluation)
    head = ("class", "F1, 0 to 1", "F1", "precision", "recall", "documents")
    rows = [
        (
            html.breakable(name),
            html.bar(f1, f"F1 of {name}: {f1:.3f}"),
            f"{f1:.3f}",
            f"{precision:.3f}",
            f"{recall:.3f}",
            f"{size:,}",
        )
        for name, precision, recall, f1, size in shown
    ]
    note = html.page_note("Worst F1 first.") if many else ""
    if len(evaluation.classes) > LARGEST_DRAWN:
        note = html.page_note(f"The {LARGEST_DRAWN} classes with most documents, worst F1 first.")
    first = note + html.table(head, rows[:CLASSES_SHOWN], kind="bars", label="Measures by class")
    rest = rows[CLASSES_SHOWN:]
    return first + (html.collapsible(f"{len(rest)} more classes", html.table(head, rest, kind="bars")) if rest else "")


def confusion_section(evaluation: Evaluation) -> str:
    """The confusion matrix of single-label data, if it is not too large, and the most confused pairs."""
    pairs = [(escape(true), escape(predicted), f"{n:,}") for true, predicted, n in evaluation.confused_pairs()]
    if not evaluation.exclusive:
        note = "Documents are multilabel, so there is no confusion matrix; missed and wrong decisions by class:"
        tally = evaluation.tally
        order = (tally.fp + tally.fn).argsort()[::-1][:15]
        rows = [
            (escape(evaluation.classes[c]), f"{tally.fp[c]:,}", f"{tally.fn[c]:,}", f"{tally.tp[c]:,}") for c in order
        ]
        head = ("class", "wrongly given", "missed", "right")
        return html.page_note(note) + html.table(head, rows, label="Wrong and missed decisions by class")
    pair_table = (
        html.table(("true class", "class given", "documents"), pairs, kind="pairs", label="Pairs confused most")
        if pairs
        else ""
    )
    if len(evaluation.classes) > LARGEST_DRAWN:
        return pair_table
    if len(evaluation.classes) > LARGEST_MATRIX:
        return pair_table + large_confusion_matrix(evaluation)
    most = html.headed("Confused most", pair_table) if pair_table else ""
    return html.side_by_side(f"<div>{confusion_matrix(evaluation)}</div>", most)


def confusion_matrix(evaluation: Evaluation) -> str:
    """Rows are true classes, columns are predicted classes; the shade is the share of the row."""
    sums = evaluation.confusion.sum(axis=1)
    head = ("true ↓ predicted →", *(f"<span>{escape(name)}</span>" for name in evaluation.classes))
    rows = []
    for i, name in enumerate(evaluation.classes):
        cells = [escape(name)]
        for j, predicted in enumerate(evaluation.classes):
            n = int(evaluation.confusion[i, j])
            share = n / max(int(sums[i]), 1)
            words = escape(
                f"{n} of {count_noun(int(sums[i]), 'document')} of {name} predicted as {predicted}", quote=True
            )
            kind = ' class="right"' if i == j else ""
            cells.append(
                f'<td{kind} title="{words}" style="background:color-mix(in srgb,var(--mark-for) {60 * share:.0f}%,'
                f'transparent)">{n or ""}</td>'
            )
        rows.append(cells)
    note = html.page_note("Numbers of documents; the shade is the share of the row. Right predictions are outlined.")
    return note + html.table(head, rows, kind="confusion", label="Confusion matrix")


def large_confusion_matrix(evaluation: Evaluation) -> str:
    """All classes as small cells, confused classes next to each other; a checkbox enlarges them."""
    order = cluster_classes(evaluation.confusion)
    names = [evaluation.classes[c] for c in order]
    table = evaluation.confusion[np.ix_(order, order)]
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    n, margin = len(names), 14
    parts = []
    for row, column in zip(*np.nonzero(table), strict=True):
        words = escape(
            f"{table[row, column]} of {count_noun(int(table[row].sum()), 'document')} of {names[row]} predicted as "
            f"{names[column]}"
        )
        kind = "right" if row == column else "wrong"
        parts.append(
            f'<rect class="{kind}" x="{margin + column}" y="{margin + row}" width="1" height="1" '
            f'fill-opacity="{0.25 + 0.75 * shares[row, column]:.2f}"><title>{words}</title></rect>'
        )
    for index, name in enumerate(names):
        short = escape(name if len(name) <= 26 else name[:25] + "…")
        parts.append(f'<text x="{margin - 0.3}" y="{margin + index + 0.75}" text-anchor="end">{short}</text>')
        parts.append(
            f'<text transform="translate({margin + index + 0.75} {margin - 0.3}) rotate(-90)" text-anchor="start">'
            f"{short}</text>"
        )
    side = margin + n
    svg = (
        f'<svg role="img" aria-label="Confusion matrix of {n} classes" viewBox="0 0 {side} {side}" font-size="0.85">'
        f'<rect class="frame" x="{margin}" y="{margin}" width="{n}" height="{n}"/>{"".join(parts)}</svg>'
    )
    note = (
        "Rows are true classes, columns are predicted classes; the shade is the share of the row. Classes that "
        "are confused are next to each other; orange is wrong. Hover over a cell for its numbers."
    )
    switch = '<label class="zoom"><input type="checkbox"> large</label>'
    matrix = html.scrolling(svg, "Confusion matrix")
    return f'<h3>All classes</h3>{html.page_note(note)}<div class="zoomable">{switch}{matrix}</div>'


def cluster_classes(confusion: NDArray[Any]) -> list[int]:
    """Order the classes such that confused classes are next to each other.

    The distance is 1 minus the mean share of documents of one predicted as the other, with average linkage.

    >>> cluster_classes(np.array([[5, 0, 4], [0, 9, 0], [3, 0, 6]]))
    [1, 0, 2]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    distance = 1 - (shares + shares.T) / 2
    np.fill_diagonal(distance, 0)
    return [int(c) for c in leaves_list(linkage(squareform(distance, checks=False), "average"))]


def curve_figures(evaluation: Evaluation) -> str:
    """Precision–recall curves with breakeven points, and the calibration curve."""
    rankings = evaluation.rankings()
    if not rankings:
        return ""
    points = ", ".join(f"{ranking.name} {ranking.breakeven:.3f}" for ranking in rankings)
    drawn = [
        html.figure(
            plots.precision_recall_figure,
            rankings,
            title="Precision and recall",
            alt=f"Precision against recall; breakeven points: {points}",
            caption="Markers and legend: the breakeven point, where precision equals recall (dotted line).",
        )
    ]
    reliability = evaluation.calibration()
    if reliability:
        errors = ", ".join(f"{name} {curve.error:.3f}" for name, curve in reliability.items())
        drawn.append(
            html.figure(
                plots.calibration_figure,
                reliability,
                title="Calibration",
                alt=f"Observed share against predicted probability; calibration error: {errors}",
                caption=f"{_chance_sentence(evaluation)}Each dot shows its number of predictions. Below the dotted "
                "line the classifier is overconfident. A model that counts redundant terms twice, as "
                "naive Bayes does, is overconfident; calibration corrects this.",
            )
        )
    return html.figures(*drawn)


def _chance_sentence(evaluation: Evaluation) -> str:
    """How much of the calibration error is due to chance."""
    if "ece-excess" not in evaluation.measures:
        return ""
    chance = evaluation.measures["ece"] - evaluation.measures["ece-excess"]
    return f"On this many documents, perfectly calibrated probabilities have an error of {chance:.3f} by chance. "


def abstention_section(evaluation: Evaluation) -> str:
    """The gain if uncertain documents get no label, or a set of labels instead of one."""
    curve = evaluation.abstention
    if curve is None:
        return ""
    drawn = html.figure(
        plots.risk_coverage_figure,
        curve,
        choices=abstention_choices(evaluation),
        title="Accuracy of the most certain documents",
        alt=f"Accuracy against the share of documents labelled; area under the risk {curve.area:.3f}",
        caption="From left to right, more documents are labelled, most certain first; the dotted line is the accuracy "
        "of labelling all of them. A dot is a threshold of the table, measured on the half that did not choose it.",
    )
    tables = ""
    points = abstention_rows(evaluation)
    if points:
        note = f"For unnaive predict --min-probability. {ABSTENTION_NOTE}"
        tables += html.page_note(note) + html.table(ABSTENTION, points, label="Rejecting by probability")
    sets = coverage_rows(evaluation)
    if sets:
        note = (
            "Sets that should contain the right label for 90 % of documents like the training documents (unnaive "
            "predict --coverage 0.9). A much lower coverage means that these documents differ from those of "
            "training. " + " ".join(f"{note[0].upper()}{note[1:]}." for note in coverage_notes(evaluation))
        )
        tables += "<h3>Sets of labels</h3>" + html.page_note(escape(note))
        tables += html.table(COVERAGE, sets, label="Coverage of sets of labels")
    return html.side_by_side(f"<div>{html.figures(drawn)}</div>", f"<div>{tables}</div>")


def term_lists(evaluation: Evaluation, limit: int) -> str:
    """The strongest terms of each class, with bars; empty for models without such terms."""
    if len(evaluation.classes) > LARGEST_DRAWN:
        return ""
    lists = [_term_list(label, terms) for label, terms in evaluation.top_terms(limit).items() if terms]
    if not lists:
        return ""
    note = html.page_note("Contribution of one occurrence to the score of the class, most informative first.")
    first, rest = lists[:CLASSES_SHOWN], lists[CLASSES_SHOWN:]
    more = html.collapsible(f"{len(rest)} more classes", _columns(rest)) if rest else ""
    return note + _columns(first) + more


def _columns(parts: Sequence[str]) -> str:
    return f'<div class="columns">{"".join(parts)}</div>'


def _term_list(label: str, terms: Sequence[tuple[str, float]]) -> str:
    largest = max(value for _, value in terms)
    rows = [(escape(term), html.bar(value / largest, f"{value:.3g}"), f"{value:#.3g}") for term, value in terms]
    return html.headed(label, html.table(("term", "", "adds"), rows, kind="bars", label=label))


def mistake_list(evaluation: Evaluation, limit: int) -> str:
    """The wrong documents with the highest confidence, with their evidence."""
    shown = [
        mistake_article(evaluation, mistake, evaluation.explain_mistake(mistake))
        for mistake in evaluation.mistakes(limit)
    ]
    if not shown:
        return "<p>There are none.</p>"
    return html.evidence_legend("the wrong class") + "".join(shown)


def mistake_article(evaluation: Evaluation, mistake: Mistake, why: Explanation | None) -> str:
    """One mistake."""
    name = evaluation.document_name(mistake.row)
    sure = f"{100 * mistake.confidence:.1f} % sure" if evaluation.fitted.probabilistic else "by its score"
    verdict = f"missed {mistake.wrong}" if mistake.missed else f"given {mistake.wrong}"
    true = ", ".join(mistake.true) or "no class"
    predicted = ", ".join(mistake.given) or "no class"
    head = f"<h3>{escape(verdict)}, {escape(sure)}; true: {escape(true)}</h3>"
    about = f'<p class="faint">{escape(name)}; predicted {escape(predicted)}</p>'
    text = mark_evidence(why) if why is not None else escape(evaluation.text(mistake.row)[:TEXT_SHOWN])
    return f'<article>{head}{about}<p class="text">{text}</p></article>'
