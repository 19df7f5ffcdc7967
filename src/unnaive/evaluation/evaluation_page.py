"""The HTML page of an evaluation; evaluate.py computes what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from unnaive.base.errors import count_noun
from unnaive.evaluation.calibration_measures import FEWEST
from unnaive.evaluation.comparison_page import record_curves
from unnaive.evaluation.confusion_page import LARGEST_DRAWN, confusion_section
from unnaive.evaluation.document_table import choose_documents, document_section, shown_cells
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
    evaluation_verdict,
    worst_of_largest,
)
from unnaive.evaluation.explanation_page import TEXT_SHOWN, mark_evidence
from unnaive.evaluation.grids import short_name
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.mistakes import Mistake
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports import plots
from unnaive.evaluation.reports.identity import Identity
from unnaive.evaluation.results import Record
from unnaive.learning.explanation import Explanation

CLASSES_SHOWN = 30


def evaluation_page(
    evaluation: Evaluation,
    *,
    title: str | None = None,
    mistakes: int = 8,
    terms: int = 10,
    records: Sequence[Record] = (),
    identity: Identity | None = None,
) -> str:
    """The page of an evaluation; `records` of a comparison add learning and vocabulary curves."""
    sizes = html.describe_sizes(len(evaluation), len(evaluation.classes), evaluation.n_terms)
    known = replace(identity or Identity(), model=evaluation.model, sizes=sizes)
    documents = choose_documents(evaluation)
    return html.page(
        title or f"{short_name(evaluation.name)}: evaluation",
        evaluation_verdict(evaluation),
        [
            html.Section("Summary", summary_section(evaluation)),
            html.Section("Classes", class_table(evaluation)),
            html.Section("Confusion", confusion_section(evaluation, shown_cells(documents))),
            html.Section("Documents", document_section(evaluation, documents)),
            html.Section("Precision, recall and calibration", curve_figures(evaluation)),
            html.Section("Rejecting uncertain documents", abstention_section(evaluation)),
            html.Section("Learning and vocabulary", record_curves(records)),
            html.Section("Strongest terms of each class", term_lists(evaluation, terms)),
            html.Section("Most confident mistakes", mistake_list(evaluation, mistakes)),
        ],
        identity=known,
    )


def summary_section(evaluation: Evaluation) -> str:
    """Five figures, what must be known of the data, and all measures with their meanings."""
    notes = []
    if evaluation.unknown:
        named = ", ".join(evaluation.unknown[:5]) + (", …" if len(evaluation.unknown) > 5 else "")
        notes.append(f"The model has never seen {named}: those labels count as missed.")
    if evaluation.drift is not None and evaluation.drift.differs:
        notes.append(f"{_capital(evaluation.drift.sentence())}.")
    if evaluation.absent:
        notes.append(f"{_capital(absent_note(evaluation.absent))}.")
    shown = html.tiles(headline_figures(evaluation)) + "".join(html.page_note(escape(note)) for note in notes)
    return shown + html.collapsible("All measures and what they mean", all_measures_table(evaluation))


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def headline_figures(evaluation: Evaluation) -> list[tuple[str, str]]:
    """(name, value) of the five figures that a reader needs first; fewer if the model gives no probabilities."""
    measures, tally = evaluation.measures, evaluation.tally
    low, high = evaluation.accuracy_interval
    interval = f"95\N{NO-BREAK SPACE}% interval {100 * low:.1f} to {100 * high:.1f}\N{NO-BREAK SPACE}%"
    right = "accuracy" if evaluation.exclusive else "documents with all labels right"
    figures = [(f"{right}; {interval}", f"{100 * tally.exact / max(tally.n, 1):.1f} %")]
    named = [("micro-f1", "micro F1")] * (not evaluation.exclusive)
    named += [("macro-f1", "macro F1, the mean over the classes")]
    figures += [(words, f"{measures[name]:.3f}") for name, words in named if name in measures]
    with_documents = [row for row in class_rows(evaluation) if row[4]]
    if len(with_documents) > 1:
        name, _, _, f1, size = min(with_documents, key=lambda row: row[3])
        figures.append((f"lowest F1: {name}, {count_noun(size, 'document')}", f"{f1:.3f}"))
    if "ece" in measures:
        figures.append(("calibration error: probabilities are off by this much on average", f"{measures['ece']:.3f}"))
    figures.append(("documents", f"{len(evaluation):,}"))
    return figures[:5]


def all_measures_table(evaluation: Evaluation) -> str:
    """All measures, the interval of the accuracy, and what they mean."""
    rows = []
    for name, value in evaluation.measures.items():
        measure = find_measure(name)
        about = measure.describe(one_label=evaluation.exclusive)
        about += "" if measure.larger_is_better else " (smaller is better)"
        interval = describe_interval(evaluation.accuracy_interval) if name == "accuracy" else ""
        rows.append((escape(name), f"{value:.4f}", interval, escape(about)))
    return html.table(("measure", "value", "95 % interval", "meaning"), rows, kind="measures", label="All measures")


def class_table(evaluation: Evaluation) -> str:
    """Precision, recall and F1 of each class with a bar, largest first; for many classes, those with the lowest F1."""
    many = len(evaluation.classes) > CLASSES_SHOWN
    shown = worst_of_largest(evaluation, LARGEST_DRAWN) if many else class_rows(evaluation)
    head = ("class", "F1, 0 to 1", "F1", "precision", "recall", "documents")
    rows = [
        (
            f"<bdi>{html.breakable(name)}</bdi>",
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
    return note + html.table(head, rows, kind="bars", label="Measures by class", first=CLASSES_SHOWN)


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
            caption="Markers and legend: the breakeven point, where precision equals recall (dotted line). "
            + plots.describe_crop(rankings),
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
                caption=f"{_chance_sentence(evaluation)}A dot is the share that is right among at least "
                f"{FEWEST} predictions of about this probability, with its 95 % interval; larger dots are more "
                "predictions. Below the dotted line the classifier is overconfident, as naive Bayes is, which counts "
                "redundant terms twice; calibration corrects this.",
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
    return html.headed(label, html.fixed_table(("term", "", "adds"), rows, kind="bars", label=label))


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
    head = f"<h3><bdi>{escape(verdict)}</bdi>, {escape(sure)}; true: <bdi>{escape(true)}</bdi></h3>"
    about = f'<p class="faint">{escape(name)}; predicted {escape(predicted)}</p>'
    text = mark_evidence(why) if why is not None else escape(evaluation.text(mistake.row)[:TEXT_SHOWN])
    return f'<article>{head}{about}<p class="text" dir="auto">{text}</p></article>'
