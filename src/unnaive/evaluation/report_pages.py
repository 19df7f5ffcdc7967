"""The HTML pages of an evaluation and of a comparison; evaluate.py and summaries.py compute what they show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from unnaive.evaluation import page as html
from unnaive.evaluation import plots
from unnaive.evaluation.evaluate import Evaluation, Mistake
from unnaive.evaluation.grids import Grid, make_grids, place_names
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.records import Record
from unnaive.evaluation.report import class_rows
from unnaive.evaluation.summaries import Place, learning_curves, pairwise_tests, vocabulary_curves
from unnaive.explain import Explanation

LARGEST_MATRIX = 30  # classes; above that the pairs confused most are listed instead
CLASSES_SHOWN = 30
TEXT_SHOWN = 700  # characters of a mistaken document


def evaluation_page(
    evaluation: Evaluation,
    *,
    title: str | None = None,
    mistakes: int = 8,
    terms: int = 10,
    records: Sequence[Record] = (),
) -> str:
    """Everything about a model on labelled documents; `records` of a comparison add learning and vocabulary curves."""
    sizes = f"{len(evaluation):,} documents, {len(evaluation.classes)} classes, {evaluation.n_terms:,} terms"
    return html.page(
        title or f"{evaluation.name}: evaluation",
        f"{evaluation.model}; {sizes}",
        [
            html.Section("Summary", measure_tiles(evaluation)),
            html.Section("Classes", class_table(evaluation)),
            html.Section("Confusion", confusion_section(evaluation)),
            html.Section("Precision, recall and calibration", curve_figures(evaluation)),
            html.Section("Learning and vocabulary", record_curves(records)),
            html.Section("Terms that speak for a class", term_lists(evaluation, terms)),
            html.Section("Most confident mistakes", mistake_list(evaluation, mistakes)),
        ],
    )


def measure_tiles(found: Evaluation) -> str:
    """The measures as tiles, and what they mean."""
    values = [(name, f"{value:.3f}") for name, value in found.measures.items()]
    speed = f"{len(found) / max(found.seconds, 1e-9):,.0f}"
    shown = html.tiles([*values, ("documents per second", speed)])
    unknown = ""
    if found.unknown:
        named = ", ".join(found.unknown[:5]) + (", …" if len(found.unknown) > 5 else "")
        unknown = f'<p class="note">The model has never seen {escape(named)}: those labels count as missed.</p>'
    meanings = "".join(
        f"<li><b>{escape(name)}</b>: {escape(find_measure(name).about)}"
        f"{'' if find_measure(name).larger_is_better else ' (smaller is better)'}</li>"
        for name in found.measures
    )
    return shown + unknown + html.folded("What the measures mean", f"<ul>{meanings}</ul>")


def class_table(found: Evaluation) -> str:
    """Precision, recall and F1 of each class with a bar, the largest first."""
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
        for name, precision, recall, f1, size in class_rows(found)
    ]
    first = html.table(head, rows[:CLASSES_SHOWN], kind="bars", label="Measures by class")
    rest = rows[CLASSES_SHOWN:]
    return first + (html.folded(f"{len(rest)} more classes", html.table(head, rest, kind="bars")) if rest else "")


def confusion_section(found: Evaluation) -> str:
    """The confusion matrix of single-label data, if it is not too large, and the pairs confused most."""
    pairs = [(escape(true), escape(given), f"{n:,}") for true, given, n in found.confused_pairs()]
    if not found.exclusive:
        note = "Documents are multilabel, so there is no confusion matrix; missed and wrong decisions by class:"
        tally = found.tally
        order = (tally.fp + tally.fn).argsort()[::-1][:15]
        rows = [(escape(found.classes[c]), f"{tally.fp[c]:,}", f"{tally.fn[c]:,}", f"{tally.tp[c]:,}") for c in order]
        head = ("class", "wrongly given", "missed", "right")
        return f'<p class="note">{note}</p>' + html.table(head, rows, label="Wrong and missed decisions by class")
    pair_table = (
        html.table(("true class", "class given", "documents"), pairs, kind="pairs", label="Pairs confused most")
        if pairs
        else ""
    )
    if len(found.classes) > LARGEST_MATRIX:
        return pair_table
    most = f"<div><h3>Confused most</h3>{pair_table}</div>" if pair_table else ""
    return f'<div class="side"><div>{confusion_matrix(found)}</div>{most}</div>'


def confusion_matrix(found: Evaluation) -> str:
    """Rows are true classes, columns given ones; the shade is the share of the row."""
    sums = found.confusion.sum(axis=1)
    head = ("true ↓ given →", *(f"<span>{escape(name)}</span>" for name in found.classes))
    rows = []
    for i, name in enumerate(found.classes):
        cells = [escape(name)]
        for j, given in enumerate(found.classes):
            n = int(found.confusion[i, j])
            share = n / max(int(sums[i]), 1)
            words = escape(f"{n} of {sums[i]} documents of {name} were given {given}", quote=True)
            kind = ' class="right"' if i == j else ""
            cells.append(
                f'<td{kind} title="{words}" style="background:rgba(var(--shade),{0.6 * share:.2f})">{n or ""}</td>'
            )
        rows.append(cells)
    note = '<p class="note">Documents; the shade is the share of the row. Outlined: right.</p>'
    return note + html.table(head, rows, kind="confusion", label="Confusion matrix")


def curve_figures(found: Evaluation) -> str:
    """Precision–recall curves with breakeven points, and the calibration curve."""
    rankings = found.rankings()
    points = ", ".join(f"{one.name} {one.breakeven:.3f}" for one in rankings)
    drawn = [
        html.figure(
            plots.precision_recall_figure,
            rankings,
            title="Precision and recall",
            alt=f"Precision against recall; breakeven points: {points}",
            caption="Markers and legend: the breakeven point, where precision equals recall (dotted line).",
        )
    ]
    reliability = found.calibration()
    if reliability:
        errors = ", ".join(f"{name} {one.error:.3f}" for name, one in reliability.items())
        drawn.append(
            html.figure(
                plots.calibration_figure,
                reliability,
                title="Calibration",
                alt=f"Share that came true against probability given; calibration error: {errors}",
                caption="Below the dotted line the classifier is too sure. A model that counts evidence twice "
                "where terms repeat each other, as naive Bayes does, is sure too soon; calibration takes that back.",
            )
        )
    return html.figures(*drawn)


def term_lists(evaluation: Evaluation, limit: int) -> str:
    """The strongest terms of each class, with bars; nothing for a model where nobody can tell."""
    lists = [_term_list(label, found) for label, found in evaluation.top_terms(limit).items() if found]
    if not lists:
        return ""
    note = '<p class="note">What a mention adds to the score of the class, most informative first.</p>'
    first, rest = lists[:CLASSES_SHOWN], lists[CLASSES_SHOWN:]
    more = html.folded(f"{len(rest)} more classes", _columns(rest)) if rest else ""
    return note + _columns(first) + more


def _columns(parts: Sequence[str]) -> str:
    return f'<div class="columns">{"".join(parts)}</div>'


def _term_list(label: str, found: Sequence[tuple[str, float]]) -> str:
    largest = max(value for _, value in found)
    rows = [(escape(term), html.bar(value / largest, f"{value:.3g}"), f"{value:#.3g}") for term, value in found]
    return f"<div><h3>{escape(label)}</h3>{html.table(('term', '', 'adds'), rows, kind='bars', label=label)}</div>"


def mistake_list(found: Evaluation, limit: int) -> str:
    """The documents it was wrong about and most sure of, with their evidence."""
    shown = [mistake_article(found, one, found.explain_mistake(one)) for one in found.mistakes(limit)]
    if not shown:
        return "<p>There are none.</p>"
    legend = (
        '<p class="note"><mark class="for" style="--weight:40%">solid line</mark> speaks for the wrong class, '
        '<mark class="against" style="--weight:40%">dashed line</mark> against it; more shade, more weight.</p>'
    )
    return legend + "".join(shown)


def mistake_article(found: Evaluation, mistake: Mistake, why: Explanation | None) -> str:
    """One mistake."""
    name = found.document_name(mistake.row)
    sure = f"{100 * mistake.confidence:.1f} % sure" if found.probabilities is not None else "by its score"
    verdict = f"missed {mistake.wrong}" if mistake.missed else f"given {mistake.wrong}"
    true = ", ".join(mistake.true) or "no class"
    given = ", ".join(mistake.given) or "no class"
    head = f"<h3>{escape(verdict)}, {escape(sure)}; true: {escape(true)}</h3>"
    about = f'<p class="faint">{escape(name)}; given {escape(given)}</p>'
    text = mark_evidence(why) if why is not None else escape(found.text(mistake.row)[:TEXT_SHOWN])
    return f'<article>{head}{about}<p class="text">{text}</p></article>'


def mark_evidence(why: Explanation) -> str:
    """The part of the text with most evidence, its terms marked."""
    stretches = list(why.marked())
    largest = max((abs(value) for _, value in stretches), default=0.0) or 1.0
    start, stop = evidence_window(stretches)
    parts, at = [], 0
    for text, value in stretches:
        cut = text[max(start - at, 0) : max(stop - at, 0)]
        at += len(text)
        if cut:
            share = value / largest
            kind = "for" if share > 0 else "against"
            weight = f"{15 + 60 * abs(share):.0f}%"
            quiet = abs(share) < 0.05
            parts.append(
                escape(cut) if quiet else f'<mark class="{kind}" style="--weight:{weight}">{escape(cut)}</mark>'
            )
    return ("…" if start > 0 else "") + "".join(parts) + ("…" if stop < at else "")


def evidence_window(stretches: Sequence[tuple[str, float]], size: int = TEXT_SHOWN) -> tuple[int, int]:
    """Where to cut a long text: the run of `size` characters, started at a stretch, with the most evidence.

    >>> evidence_window([("dull ", 0.0), ("dull ", 0.0), ("telling", 3.0)], size=7)
    (10, 17)
    """
    ends = np.cumsum([len(text) for text, _ in stretches])
    starts, at = ends - [len(text) for text, _ in stretches], int(ends[-1]) if len(ends) else 0
    if at <= size:
        return 0, at
    up_to = np.concatenate([[0.0], np.cumsum([abs(value) for _, value in stretches])])
    inside = up_to[np.searchsorted(ends, starts + size, side="right")] - up_to[:-1]
    best = int(starts[int(np.argmax(inside))])
    return min(best, at - size), min(best, at - size) + size


def comparison_page(records: Sequence[Record], *, title: str | None = None, against: str | None = None) -> str:
    """The records of a comparison: tables of means, curves, and paired tests against the first model, or `against`."""
    names = list(dict.fromkeys(record.contender for record in records))
    data = ", ".join(dict.fromkeys(record.data.split("#")[0] for record in records))
    splits = len({record.split for record in records})
    protocol = ", ".join(dict.fromkeys(record.protocol for record in records))
    about = f"{len(names)} models, {protocol} split{'s' if splits > 1 else ''} ({splits}), {len(records):,} figures"
    return html.page(
        title or f"{data}: comparison",
        about,
        [
            html.Section("Results", "".join(map(result_table, make_grids(records)))),
            html.Section("Curves", record_curves(records)),
            html.Section("Differences", difference_table(records, against)),
        ],
    )


def result_table(grid: Grid) -> str:
    """One measure: models by training size and vocabulary; the best in bold."""

    def cell(name: str, place: Place) -> str:
        return f"<b>{grid.text(name, place)}</b>" if grid.is_best(name, place) else grid.text(name, place)

    rows = [
        (escape(name), *(cell(name, place) for place in grid.places), f"{grid.seconds(name):.2f}")
        for name in grid.names
    ]
    head = (escape(grid.measure), *map(escape, grid.places.values()), "seconds")
    return f"<h3>{escape(grid.measure)}</h3>" + html.table(head, rows, label=f"{grid.measure} of the models")


def difference_table(records: Sequence[Record], against: str | None = None) -> str:
    """Everyone against the first, or another, by the first measure."""
    found = pairwise_tests(records, against=against) if records else []
    if not found:
        return ""
    where = place_names(test.place for test in found)
    rows = [
        (
            escape(test.first),
            escape(where[test.place]),
            str(test.outcome),
            "–" if test.paired is None else f"{test.paired.difference:+.4f}",
            "–" if test.paired is None else f"{test.paired.p:.2g}",
            "–" if test.corrected is None else f"{test.corrected.p:.2g}",
            escape(test.verdict),
        )
        for test in found
    ]
    note = (
        f'<p class="note">Against {escape(found[0].second)}, by {escape(found[0].measure)}, on the same splits. '
        "The plain paired test takes splits as independent, which they are not; the verdict is by the corrected "
        "resampled test (Nadeau and Bengio) at the level .05.</p>"
    )
    head = ("model", "where", "win/tie/loss", "difference", "paired p", "corrected p", "verdict")
    return note + html.table(head, rows, kind="pairwise_tests", label="Differences and their significance")


def record_curves(records: Sequence[Record]) -> str:
    """Learning and vocabulary curves of every measure, where the records have them."""
    drawn = []
    for measure in dict.fromkeys(record.measure for record in records):
        for kind, found, x, logarithmic in (
            ("training size", learning_curves(records, measure), "training documents, % of all", False),
            ("vocabulary", vocabulary_curves(records, measure), "terms, best by information gain (log scale)", True),
        ):
            if found:
                ends = ", ".join(f"{curve.name} {curve.mean[0]:.3f} to {curve.mean[-1]:.3f}" for curve in found)
                drawn.append(
                    html.figure(
                        plots.curves_figure,
                        found,
                        title=f"{measure} by {kind}",
                        x=x,
                        y=measure,
                        logarithmic=logarithmic,
                        alt=f"{measure} by {kind}: {ends}",
                        caption="Mean over the splits; the band is one standard deviation on either side.",
                    )
                )
    return html.figures(*drawn)
