"""The confusion part of an evaluation's page: the matrix, the pairs confused most, and links to the documents."""

from __future__ import annotations

from collections.abc import Collection
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import count_noun
from unnaive.evaluation.document_table import cell_link
from unnaive.evaluation.evaluate import Evaluation
from unnaive.evaluation.reports import html_page as html

LARGEST_MATRIX = 30  # classes; for more, confused classes are placed next to each other
LARGEST_DRAWN = 1000  # classes; of more there is no matrix


def confusion_section(evaluation: Evaluation, linked: Collection[str] = ()) -> str:
    """The confusion matrix of single-label data, if it is not too large, and the most confused pairs.

    linked  the cells whose documents are on the page
    """
    if not evaluation.exclusive:
        return decision_table(evaluation, linked)
    pairs = pair_table(evaluation, linked)
    if len(evaluation.classes) > LARGEST_DRAWN:
        return pairs
    if len(evaluation.classes) > LARGEST_MATRIX:
        return pairs + large_confusion_matrix(evaluation, linked)
    most = html.headed("Confused most", pairs) if pairs else ""
    return html.side_by_side(f"<div>{confusion_matrix(evaluation, linked)}</div>", most)


def decision_table(evaluation: Evaluation, linked: Collection[str]) -> str:
    """Wrong, missed and right decisions by class, for multilabel documents."""
    note = "Documents are multilabel, so there is no confusion matrix; missed and wrong decisions by class:"
    tally, names = evaluation.tally, evaluation.classes
    rows = [
        (
            html.breakable(names[c]),
            _number(f"{c}+", int(tally.fp[c]), f"{tally.fp[c]:,} documents wrongly given {names[c]}", linked),
            _number(f"{c}-", int(tally.fn[c]), f"{tally.fn[c]:,} documents where {names[c]} is missed", linked),
            f"{tally.tp[c]:,}",
        )
        for c in (tally.fp + tally.fn).argsort(kind="stable")[::-1][:LARGEST_DRAWN].tolist()
    ]
    head = ("class", "wrongly given", "missed", "right")
    return html.page_note(note) + html.table(head, rows, label="Wrong and missed decisions by class", first=15)


def _number(cell: str, n: int, words: str, linked: Collection[str]) -> str:
    """A number, with a link if its documents are on the page."""
    return cell_link(cell, words, f"{n:,}", keyboard=True) if cell in linked else f"{n:,}"


def pair_table(evaluation: Evaluation, linked: Collection[str]) -> str:
    """The pairs of classes that are confused most; empty if every document is right."""
    index = {name: c for c, name in enumerate(evaluation.classes)}
    rows = [
        (
            f"<bdi>{html.breakable(true)}</bdi>",
            f"<bdi>{html.breakable(predicted)}</bdi>",
            _number(f"{index[true]}>{index[predicted]}", n, f"{n:,} of {true} predicted as {predicted}", linked),
        )
        for true, predicted, n in evaluation.confused_pairs()
    ]
    head = ("true class", "class given", "documents")
    return html.table(head, rows, kind="pairs", label="Pairs confused most") if rows else ""


def describe_cell(table: NDArray[Any], names: tuple[str, ...] | list[str], row: int, column: int) -> str:
    """A cell of the matrix in words."""
    all_of_class = count_noun(int(table[row].sum()), "document")
    return f"{table[row, column]:,} of {all_of_class} of {names[row]} predicted as {names[column]}"


def confusion_matrix(evaluation: Evaluation, linked: Collection[str] = ()) -> str:
    """Rows are true classes, columns are predicted classes; the shade is the share of the row."""
    table, names = evaluation.confusion, evaluation.classes
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    head = ("true ↓ predicted →", *(f"<span>{escape(name)}</span>" for name in names))
    rows = []
    for i, name in enumerate(names):
        cells = [f"<bdi>{html.breakable(name)}</bdi>"]
        for j in range(len(names)):
            words, shown = describe_cell(table, names, i, j), f"{table[i, j]:,}" if table[i, j] else ""
            inside = cell_link(f"{i}>{j}", words, shown) if f"{i}>{j}" in linked else shown
            kind, mark = (' class="right"', "mark-for") if i == j else ("", "mark-against")
            cells.append(
                f'<td{kind} title="{escape(words, quote=True)}" style="background:color-mix(in srgb,var(--{mark}) '
                f'{60 * shares[i, j]:.0f}%,transparent)">{inside}</td>'
            )
        rows.append(cells)
    note = html.page_note(
        "Numbers of documents; the shade is the share of the row. Right predictions are blue and outlined."
        + (" A number leads to its documents." if linked else "")
    )
    return note + html.fixed_table(head, rows, kind="confusion", label="Confusion matrix")


def large_confusion_matrix(evaluation: Evaluation, linked: Collection[str] = ()) -> str:
    """All classes as small cells, confused classes next to each other; a checkbox enlarges them."""
    order = cluster_classes(evaluation.confusion)
    names = [evaluation.classes[c] for c in order]
    table = evaluation.confusion[np.ix_(order, order)]
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    n, margin = len(names), 14
    parts = []
    for row, column in zip(*np.nonzero(table), strict=True):
        words = describe_cell(table, names, row, column)
        kind = "right" if row == column else "wrong"
        shown = (
            f'<rect class="{kind}" x="{margin + column}" y="{margin + row}" width="1" height="1" '
            f'fill-opacity="{0.25 + 0.75 * shares[row, column]:.2f}"><title>{escape(words)}</title></rect>'
        )
        cell = f"{order[row]}>{order[column]}"
        parts.append(cell_link(cell, words, shown) if cell in linked else shown)
    for index, name in enumerate(names):
        short = escape(name if len(name) <= 26 else name[:25] + "…")
        parts.append(f'<text x="{margin - 0.3}" y="{margin + index + 0.75}" text-anchor="end">{short}</text>')
        parts.append(
            f'<text transform="translate({margin + index + 0.75} {margin - 0.3}) rotate(-90)" text-anchor="start">'
            f"{short}</text>"
        )
    side = margin + n
    svg = (
        f'<svg role="group" aria-label="Confusion matrix of {n} classes" viewBox="0 0 {side} {side}" font-size="0.85">'
        f'<rect class="frame" x="{margin}" y="{margin}" width="{n}" height="{n}"/>{"".join(parts)}</svg>'
    )
    note = (
        "Rows are true classes, columns are predicted classes; the shade is the share of the row. Classes that "
        "are confused are next to each other; orange is wrong. Hover over a cell for its numbers, and click it for its "
        "documents."
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
