"""The HTML pages of an evaluation and of a comparison; evaluate.py and summaries.py compute what they show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.errors import count_noun
from unnaive.evaluation import page as html
from unnaive.evaluation import plots
from unnaive.evaluation.evaluate import Evaluation, Mistake
from unnaive.evaluation.grids import Grid, format_seconds, make_grids, place_names, short_name
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.records import Record
from unnaive.evaluation.report import ABSTENTION, COVERAGE, abstention_rows, class_rows, coverage_rows
from unnaive.evaluation.significance import holm
from unnaive.evaluation.summaries import (
    FEWEST_SPLITS,
    PairwiseTest,
    Place,
    every_pair,
    learning_curves,
    pairwise_tests,
    vocabulary_curves,
)
from unnaive.explain import Explanation

LARGEST_MATRIX = 30  # classes; above that classes are put beside those they are confused with, and worst come first
CLASSES_SHOWN = 30
ONE_SPLIT = "One split, so there is no interval."
INTERVAL = (
    "Mean over the splits; the line is its 95 % interval, widened because splits share documents (Nadeau and Bengio)."
)
BARS_SHOWN = 30
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
    sizes = ", ".join(
        [
            count_noun(len(evaluation), "document"),
            count_noun(len(evaluation.classes), "class", "classes"),
            count_noun(evaluation.n_terms, "term"),
        ]
    )
    return html.page(
        title or f"{short_name(evaluation.name)}: evaluation",
        f"{evaluation.model}; {sizes}",
        [
            html.Section("Summary", measure_tiles(evaluation)),
            html.Section("Classes", class_table(evaluation)),
            html.Section("Confusion", confusion_section(evaluation)),
            html.Section("Precision, recall and calibration", curve_figures(evaluation)),
            html.Section("Rejecting the least sure", abstention_section(evaluation)),
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
    """Precision, recall and F1 of each class with a bar, the largest first; of many classes, those of worst F1."""
    many = len(found.classes) > CLASSES_SHOWN
    shown = sorted(class_rows(found), key=lambda row: row[3]) if many else class_rows(found)
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
    note = '<p class="note">Worst F1 first.</p>' if many else ""
    first = note + html.table(head, rows[:CLASSES_SHOWN], kind="bars", label="Measures by class")
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
        return pair_table + large_confusion_matrix(found)
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
            words = escape(f"{n} of {count_noun(int(sums[i]), 'document')} of {name} given {given}", quote=True)
            kind = ' class="right"' if i == j else ""
            cells.append(
                f'<td{kind} title="{words}" style="background:rgba(var(--shade),{0.6 * share:.2f})">{n or ""}</td>'
            )
        rows.append(cells)
    note = '<p class="note">Documents; the shade is the share of the row. Outlined: right.</p>'
    return note + html.table(head, rows, kind="confusion", label="Confusion matrix")


def large_confusion_matrix(found: Evaluation) -> str:
    """All classes as small cells, those that are confused beside each other; a tick makes them large enough to read."""
    order = cluster_classes(found.confusion)
    names = [found.classes[c] for c in order]
    table = found.confusion[np.ix_(order, order)]
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    n, margin = len(names), 14
    parts = []
    for row, column in zip(*np.nonzero(table), strict=True):
        words = escape(
            f"{table[row, column]} of {count_noun(int(table[row].sum()), 'document')} of {names[row]} given "
            f"{names[column]}"
        )
        kind = "right" if row == column else "wrong"
        parts.append(
            f'<rect class="{kind}" x="{margin + column}" y="{margin + row}" width="1" height="1" '
            f'fill-opacity="{0.25 + 0.75 * shares[row, column]:.2f}"><title>{words}</title></rect>'
        )
    for place, name in enumerate(names):
        short = escape(name if len(name) <= 26 else name[:25] + "…")
        parts.append(f'<text x="{margin - 0.3}" y="{margin + place + 0.75}" text-anchor="end">{short}</text>')
        parts.append(
            f'<text transform="translate({margin + place + 0.75} {margin - 0.3}) rotate(-90)" text-anchor="start">'
            f"{short}</text>"
        )
    side = margin + n
    svg = (
        f'<svg role="img" aria-label="Confusion matrix of {n} classes" viewBox="0 0 {side} {side}" font-size="0.85">'
        f'<rect class="frame" x="{margin}" y="{margin}" width="{n}" height="{n}"/>{"".join(parts)}</svg>'
    )
    note = (
        '<p class="note">Rows are true classes, columns given ones; the shade is the share of the row. Classes that '
        "are confused stand beside each other, orange is wrong. Point at a cell for its numbers.</p>"
    )
    switch = '<label class="zoom"><input type="checkbox"> large</label>'
    return f'<h3>All classes</h3>{note}<div class="zoomable">{switch}{html.scrolling(svg, "Confusion matrix")}</div>'


def cluster_classes(confusion: NDArray[Any]) -> list[int]:
    """Class numbers such that classes which are confused stand beside each other.

    Distance is 1 less the mean share of documents of one that were given the other; clusters are joined by their mean.

    >>> cluster_classes(np.array([[5, 0, 4], [0, 9, 0], [3, 0, 6]]))
    [1, 0, 2]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    distance = 1 - (shares + shares.T) / 2
    np.fill_diagonal(distance, 0)
    return [int(c) for c in leaves_list(linkage(squareform(distance, checks=False), "average"))]


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
                caption=f"{_chance_sentence(found)}Beside a dot, how many predictions it stands for. Below the dotted "
                "line the classifier is too sure. A model that counts evidence twice where terms repeat each other, as "
                "naive Bayes does, is sure too soon; calibration takes that back.",
            )
        )
    return html.figures(*drawn)


def _chance_sentence(found: Evaluation) -> str:
    """How much of the calibration error is chance."""
    if "ece-excess" not in found.measures:
        return ""
    chance = found.measures["ece"] - found.measures["ece-excess"]
    return f"On so many documents, probabilities that are true would show an error of {chance:.3f} by chance. "


def abstention_section(found: Evaluation) -> str:
    """What is gained where the least sure documents get no label, or a set of labels in the place of one."""
    curve = found.abstention
    if curve is None:
        return ""
    drawn = html.figure(
        plots.risk_coverage_figure,
        curve,
        title="Accuracy of the surest documents",
        alt=f"Accuracy against the share of documents labelled; area under the risk {curve.area:.3f}",
        caption="From left to right, more documents are labelled, the surest first; the dotted line is the accuracy of "
        "labelling all of them.",
    )
    tables = ""
    points = abstention_rows(found)
    if points:
        note = "What unnaive predict --reject-below would do on these documents."
        tables += f'<p class="note">{note}</p>' + html.table(ABSTENTION, points, label="Rejecting by probability")
    sets = coverage_rows(found)
    if sets:
        note = (
            "Sets of labels that are to hold the right one for 90 % of documents like those of training (unnaive "
            "predict --confidence 0.9). Coverage well below that means that these documents differ from those of "
            "training."
        )
        tables += f'<h3>Sets of labels</h3><p class="note">{note}</p>'
        tables += html.table(COVERAGE, sets, label="Coverage of sets of labels")
    return f'<div class="side"><div>{html.figures(drawn)}</div><div>{tables}</div></div>'


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
    data = ", ".join(dict.fromkeys(short_name(record.data) for record in records))
    splits = len({record.split for record in records})
    protocol = ", ".join(dict.fromkeys(record.protocol for record in records))
    kind = protocol if "fold" in protocol else count_noun(splits, f"{protocol} split")
    about = f"{count_noun(len(names), 'model')}, {kind}, {count_noun(len(records), 'figure')}"
    return html.page(
        title or f"{data}: comparison",
        about,
        [
            html.Section("Best first", interval_figures(records)),
            html.Section("Results", "".join(map(result_table, make_grids(records)))),
            html.Section("Curves", record_curves(records)),
            html.Section("Every pair", pair_tables(records)),
            html.Section("Differences", difference_table(records, against)),
        ],
    )


def interval_figures(records: Sequence[Record]) -> str:
    """Each measure at the largest training size and vocabulary: a dot and an interval for each model, best first."""
    drawn = []
    for grid in make_grids(records):
        place = list(grid.places)[-1]
        found = [grid.cells[name, place] for name in grid.names if (name, place) in grid.cells]
        found = [one for one in found if one.mean is not None]
        better = find_measure(grid.measure).larger_is_better
        found.sort(key=lambda one: -(one.mean or 0.0) if better else (one.mean or 0.0))
        if found:
            words = ", ".join(f"{one.contender} {one.mean:.3f}" for one in found)
            drawn.append(
                html.figure(
                    plots.intervals_figure,
                    [(one.contender, one.mean, one.half_width) for one in found],
                    title=f"{grid.measure}, {grid.places[place]}",
                    x=grid.measure,
                    alt=f"{grid.measure}, best first: {words}",
                    caption=ONE_SPLIT if found[0].half_width is None else INTERVAL,
                )
            )
    return html.figures(*drawn)


def pair_tables(records: Sequence[Record]) -> str:
    """Every model against every other by the first measure, at each training size and vocabulary."""
    found = every_pair(records) if records else []
    if not found:
        return ""
    where = place_names(test.place for test in found)
    note = (
        f'<p class="note">{escape(found[0].measure)} of the row less that of the column, best first. In bold: '
        "significant at .05 after Holm's correction for the number of pairs; in brackets the p before it. From "
        f"{FEWEST_SPLITS} splits up it is that of the corrected resampled t-test, below that of McNemar's exact test "
        "on the documents (of accuracy), else there is none.</p>"
    )
    tables = (
        f"<h3>{escape(words)}</h3>" + pair_matrix([test for test in found if test.place == place])
        for place, words in where.items()
    )
    return note + "".join(tables)


def pair_matrix(tests: Sequence[PairwiseTest]) -> str:
    """A triangle: rows are the better ones, columns the others."""
    names = list(dict.fromkeys(name for test in tests for name in (test.first, test.second)))
    p_values = [test.tested.p if test.tested is not None else 1.0 for test in tests]
    cells = {
        (test.first, test.second): pair_cell(test, p) for test, p in zip(tests, holm(p_values), strict=True)
    }  # fmt: skip
    rows = [(escape(one), *(cells.get((one, other), "") for other in names[1:])) for one in names[:-1]]
    return html.table(("", *map(escape, names[1:])), rows, label="Every pair of models")


def pair_cell(test: PairwiseTest, adjusted: float) -> str:
    """The difference, in bold if it is significant, and p."""
    shown = test.paired or test.documents
    if shown is None:
        return str(test.outcome)
    difference = f"{shown.difference:+.4f}"
    if test.tested is None:
        return difference
    return f"{f'<b>{difference}</b>' if adjusted < 0.05 else difference} ({test.tested.p:.2g})"


def result_table(grid: Grid) -> str:
    """One measure: models by training size and vocabulary; the best in bold."""

    def cell(name: str, place: Place) -> str:
        return f"<b>{grid.text(name, place)}</b>" if grid.is_best(name, place) else grid.text(name, place)

    rows = [
        (escape(name), *(cell(name, place) for place in grid.places), format_seconds(grid.seconds(name)))
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
            "–" if test.documents is None else f"{test.documents.p:.2g}",
            escape(test.verdict),
        )
        for test in found
    ]
    note = (
        f'<p class="note">Against {escape(found[0].second)}, by {escape(found[0].measure)}, on the same splits. '
        "The plain paired test takes splits as independent, which they are not; the verdict is by the corrected "
        f"resampled test (Nadeau and Bengio) at the level .05, from {FEWEST_SPLITS} splits up. McNemar's exact test is "
        "on documents: whether each got all its labels right.</p>"
    )
    head = ("model", "where", "win/tie/loss", "difference", "paired p", "corrected p", "McNemar p", "verdict")
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


def explanation_page(why: Explanation) -> str:
    """One document: its text with the evidence marked, and what each term adds as a bar."""
    legend = (
        '<p class="note"><mark class="for" style="--weight:40%">solid line</mark> speaks for the class, '
        '<mark class="against" style="--weight:40%">dashed line</mark> against it; more shade, more weight.</p>'
    )
    text = f'{legend}<article><p class="text">{mark_evidence(why)}</p></article>'
    return html.page(
        f"{why.label}: why",
        why.title,
        [html.Section("The text", text), html.Section("What each term adds", evidence_bars(why))],
    )


def evidence_bars(why: Explanation) -> str:
    """Terms against on the left, terms for on the right, the strongest first; the prior among them."""
    parts = [(one.term if one.count == 1 else f"{one.term} ×{one.count}", one.value) for one in why.evidence]
    base = [(why.base_name, why.base)] if np.isfinite(why.base) and abs(why.base) > 1e-12 else []
    parts = base + parts[:BARS_SHOWN]
    largest = max((abs(value) for _, value in parts), default=0.0) or 1.0
    rows = []
    for name, value in sorted(parts, key=lambda part: -abs(part[1])):
        bar = html.bar(abs(value) / largest, f"{name} {value:+.3g}")
        left, right = ("<td></td>", bar.replace('class="bar"', 'class="bar for"'))
        if value < 0:
            left, right = bar.replace('class="bar"', 'class="bar left against"'), "<td></td>"
        rows.append((escape(name), left, right, f"{value:+.3g}"))
    rows.append(("<b>together</b>", "<td></td>", "<td></td>", f"<b>{why.score:+.3g}</b>"))
    left_out = len(why.evidence) - BARS_SHOWN
    more = f'<p class="note">{count_noun(left_out, "weaker term")} left out.</p>' if left_out > 0 else ""
    if not why.evidence:
        more = '<p class="note">The model knows none of its terms.</p>'
    head = ("term", "against", "for", "adds")
    return html.table(head, rows, kind="explained", label="What each term adds") + more
