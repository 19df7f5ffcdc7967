"""The documents of an evaluation's page: the wrong ones of each cell of the confusion matrix, and unsure right ones.

A cell is named by the indices of its classes, "3>5": documents of class 3 that were predicted as class 5. Of multilabel
documents, "3+" are those that were wrongly given class 3, and "3-" those where it is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids
from unnaive.data.targets import single_labels
from unnaive.evaluation.evaluate import Evaluation
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.tally import indicator_matrix

MOST = 600  # documents of a page
OF_A_CELL = 20
RIGHT_OF_A_CLASS = 5
FIRST = 20  # documents shown until others are asked for
TEXT_SHOWN = 240  # characters


@dataclass(frozen=True)
class ShownDocument:
    """A document of the table: its row, its cells, and the probability of what was predicted, if known."""

    row: int
    cells: tuple[str, ...]
    probability: float | None = None


def choose_documents(evaluation: Evaluation) -> list[ShownDocument]:
    """The documents shown, wrong ones with the highest probability first; then right ones, least probable first."""
    return _choose_single(evaluation) if evaluation.exclusive else _choose_multilabel(evaluation)


def shown_cells(documents: Sequence[ShownDocument]) -> set[str]:
    """The cells with a document in the table."""
    return {cell for document in documents for cell in document.cells}


def _choose_single(evaluation: Evaluation) -> list[ShownDocument]:
    true, given = single_labels(evaluation.Y), single_labels(evaluation.predictions)
    if true is None or given is None:
        raise RuntimeError("these documents are multilabel")
    wrong = true != given
    p = _probability_of(evaluation, given)
    order = np.where(wrong, -p, p)
    cell = true.astype(np.int64) * len(evaluation.classes) + given
    rank = _rank_within(cell, order)
    kept = np.flatnonzero(rank < np.where(wrong, OF_A_CELL, RIGHT_OF_A_CLASS))
    kept = kept[np.lexsort((order[kept], rank[kept], ~wrong[kept]))][:MOST]
    kept = kept[np.lexsort((kept, order[kept], ~wrong[kept]))]
    has_p = evaluation.probabilities is not None
    return [ShownDocument(int(row), (f"{true[row]}>{given[row]}",), float(p[row]) if has_p else None) for row in kept]


def _probability_of(evaluation: Evaluation, given: Ids) -> Floats:
    """The probability of each prediction; without probabilities, the lead of its score; 0 without scores."""
    values = evaluation.probabilities if evaluation.probabilities is not None else evaluation.scores
    rows = np.arange(len(given))
    if values is None:
        return np.zeros(len(given))
    own = values[rows, given]
    if evaluation.probabilities is not None or values.shape[1] < 2:
        return np.asarray(own, np.float64)
    return np.asarray(own - np.partition(values, -2, axis=1)[:, -2], np.float64)


def _choose_multilabel(evaluation: Evaluation) -> list[ShownDocument]:
    truth, given = indicator_matrix(evaluation.Y), indicator_matrix(evaluation.predictions)
    wrong = csr_array(given - truth)
    wrong.eliminate_zeros()
    rows, columns = wrong.nonzero()
    signs = np.asarray(wrong[rows, columns]).ravel()
    p = np.zeros(len(rows)) if evaluation.probabilities is None else evaluation.probabilities[rows, columns]
    sureness = np.where(signs > 0, p, 1 - p)  # of the mistake
    rank = _rank_within(2 * columns.astype(np.int64) + (signs > 0), -sureness)
    kept = np.flatnonzero(rank < OF_A_CELL)
    kept = kept[np.lexsort((-sureness[kept], rank[kept]))]
    chosen = list(dict.fromkeys(rows[kept].tolist()))[:MOST]
    ends = np.searchsorted(rows, [*chosen, *(row + 1 for row in chosen)])  # rows come sorted
    return [
        ShownDocument(row, tuple(f"{columns[at]}{'+' if signs[at] > 0 else '-'}" for at in range(start, stop)))
        for row, start, stop in zip(chosen, ends[: len(chosen)], ends[len(chosen) :], strict=True)
    ]


def _rank_within(group: Any, order: Floats) -> Any:
    """The rank of each entry in its group, by ascending order (n,).

    >>> _rank_within(np.array([7, 3, 7]), np.array([0.5, 0.1, 0.2])).tolist()
    [1, 0, 0]
    """
    by_group = np.lexsort((order, group))
    starts = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    rank = np.empty(len(group), np.int64)
    rank[by_group] = np.arange(len(group)) - np.repeat(starts, np.diff([*starts, len(group)]))
    return rank


def document_section(evaluation: Evaluation, documents: Sequence[ShownDocument]) -> str:
    """The table of documents; the page's script shows those of a cell, and filters by any word."""
    if not documents:
        return ""
    columns = {
        "document": [html.breakable(evaluation.document_name(document.row)) for document in documents],
        "true": [_names(evaluation, evaluation.Y, document.row) for document in documents],
        "predicted": [_names(evaluation, evaluation.predictions, document.row) for document in documents],
        "p": ["" if document.probability is None else f"{document.probability:.3f}" for document in documents],
        "text": [_text_cell(evaluation.text(document.row)) for document in documents],
    }
    filled = [name for name, cells in columns.items() if any(cells)]
    rows = list(zip(*(columns[name] for name in filled), strict=True))
    what = (
        f"Wrong predictions, the most probable first, at most {OF_A_CELL} of a cell of the confusion matrix; then the "
        f"{RIGHT_OF_A_CLASS} least probable right ones of each class. A number in the matrix leads to its documents."
        if evaluation.exclusive
        else f"Documents with a wrong or a missed label, at most {OF_A_CELL} for each class. A number in the table of "
        "wrong and missed decisions leads to its documents."
    )
    marks = [f'data-cells="{" ".join(document.cells)}"' for document in documents]
    table = html.table(filled, rows, kind="documents", label="Documents", first=FIRST, marks=marks)
    return html.page_note(what) + table


def _names(evaluation: Evaluation, labels: Any, row: int) -> str:
    """The classes of a document, as HTML."""
    names = (evaluation.classes[c] for c in labels[[row]].indices)
    return ", ".join(f"<bdi>{html.breakable(name)}</bdi>" for name in names) or "no class"


def _text_cell(text: str) -> str:
    """The beginning of a text, in its own direction."""
    start = " ".join(text[: 8 * TEXT_SHOWN].split())
    start = start if len(start) <= TEXT_SHOWN else start[:TEXT_SHOWN].rstrip() + "…"
    return f'<td class="text" dir="auto">{escape(start)}</td>' if start else ""


def cell_link(cell: str, words: str, content: str, *, keyboard: bool = False) -> str:
    """A link from a number to the documents of its cell.

    Those of the matrix are left out of the order of the Tab key, which would stop at hundreds; the documents' filter
    and the table of pairs lead to the same.
    """
    skipped = "" if keyboard else ' tabindex="-1"'
    named = escape(words, quote=True)
    return f'<a href="#documents" data-cell="{cell}" data-name="{named}"{skipped}>{content}</a>'
