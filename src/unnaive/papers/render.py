"""Comparisons with a paper as text, Markdown, HTML and JSON; reasons and remarks become footnotes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from unnaive.base.errors import count_noun
from unnaive.evaluation.grids import fitting
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports.identity import Identity
from unnaive.papers.claims import CLAIM_FAILS, CLAIM_HOLDS, CLAIM_PARTLY
from unnaive.papers.comparison import (
    SYMBOLS,
    UNEXPLAINED,
    CellComparison,
    TableComparison,
    claim_comparisons,
    count_marks,
    summary_line,
)
from unnaive.papers.paper_run import PaperRun
from unnaive.papers.published_tables import Band, Paper, PublishedTable, Source

LEGEND = (
    "ours | theirs difference; ✓ ours lies in a band around the published value, ≈ ours differs for a reason "
    "that another figure of ours shows, ✗ ours differs; no mark where nothing is published, it is marked elsewhere, or "
    "nothing says how precisely it is known"
)
QUICK = (
    "A quick run has fewer splits, folds and sizes; the bands are for the whole run, so some figures may miss theirs."
)
SEPARATOR = " | "


class Footnotes:
    """Remarks numbered in the order of their first use.

    >>> remarks = Footnotes()
    >>> remarks.mark(["left out"]), remarks.mark(["left out", "doubtful"])
    ('[1]', '[1,2]')
    """

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, remarks: Iterable[str]) -> str:
        """The numbers of these remarks, in brackets; empty if there are none."""
        numbers = sorted(self.number(remark) for remark in remarks)
        return f"[{','.join(map(str, numbers))}]" if numbers else ""

    def number(self, remark: str) -> int:
        """The number of a remark; a new one gets the next number."""
        if remark not in self.texts:
            self.texts.append(remark)
        return self.texts.index(remark) + 1


def format_cell(value: float | None, table: PublishedTable, *, signed: bool = False) -> str:
    """A value with the decimals of its table, without decimals from a thousand on; a dash if there is none."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:{'+' if signed else ''},.0f}"
    rounded = round(value, table.decimals) + 0.0  # avoids "-0.0"
    return f"{rounded:{'+' if signed else ''}.{table.decimals}f}"


def format_mean(value: float | None, spread: float | None, table: PublishedTable) -> str:
    """Mean and standard deviation."""
    return format_cell(value, table) + ("" if spread is None else f"±{spread:.{table.decimals}f}")


def tables_as_text(comparison: TableComparison, *, width: int = 110) -> str:
    """The table for a terminal: blocks of as many columns as fit, then the footnotes."""
    table, remarks = comparison.table, Footnotes()
    rows, columns = comparison.rows, comparison.columns
    cells = {(row, column): _cell(comparison.cell(row, column), table, remarks) for row in rows for column in columns}
    first = max(len(row) for row in rows)
    widths = {column: max(len(column), *(len(cells[row, column]) for row in rows)) for column in columns}
    groups = fitting(columns, list(widths.values()), width - first)
    blocks = [_block(rows, [(column, widths[column]) for column in group], cells, first) for group in groups]
    notes = [f"  [{number}] {text}" for number, text in enumerate(remarks.texts, 1)]
    sources = [f"  {text}" for text in band_sources(table)]
    return "\n".join([_head(table), *blocks, *notes, *(f"  {note}" for note in table.notes), *sources])


CLAIM_MARKS = {CLAIM_HOLDS: "that hold", CLAIM_PARTLY: "in part", CLAIM_FAILS: "that fail"}
CLAIM_COLUMNS = ("claim", "published", "ours", "")
CLAIM_RULE = (
    "In how many cells a claim holds, and the mean gap between first and last. ✓ it holds for ours in more than half "
    "of the cells and in the mean, ≈ in one of the two, ✗ in neither."
)
TRIED_COLUMNS = ("tried", "for the figure", "printed", "on this page", "with it")
DIFFERENCE_COLUMNS = ("table", "marked", *SYMBOLS.values(), "mean of ours − theirs")


def claim_rows(paper: Paper, comparisons: Sequence[TableComparison]) -> list[tuple[str, ...]]:
    """Every claim: its text, the counts for the published figures and for ours, its mark."""
    return [
        (found.claim.text, str(found.theirs), str(found.ours), found.mark)
        for found in claim_comparisons(paper, comparisons)
    ]


def difference_rows(comparisons: Sequence[TableComparison]) -> list[tuple[str, ...]]:
    """Every table with marks: how many cells have which mark, and the mean difference."""
    rows = []
    for comparison in comparisons:
        counts = count_marks([comparison])
        if comparison.mean_difference is not None:
            difference = format_cell(comparison.mean_difference, comparison.table, signed=True)
            numbers = (sum(counts.values()), *(counts[mark] for mark in SYMBOLS))
            rows.append((f"{comparison.table.id}. {comparison.table.title}", *map(str, numbers), difference))
    return rows


def claims_line(paper: Paper, comparisons: Sequence[TableComparison]) -> str:
    """How many claims hold for our figures, in one line."""
    marks = Counter(found.mark for found in claim_comparisons(paper, comparisons))
    counted = "; ".join(f"{words} {mark} {marks[mark]}" for mark, words in CLAIM_MARKS.items())
    return f"Claims {counted}" + (f"; not measured {marks['']}" if marks[""] else "")


def summary_as_text(paper: Paper, comparisons: Sequence[TableComparison], *, width: int = 110) -> str:
    """The claims and the differences of the tables for a terminal; claims that were not measured are left out."""
    differences = difference_rows(comparisons)
    measured = [found for found in claim_comparisons(paper, comparisons) if found.mark]
    claims = [
        line
        for found in measured
        for line in (
            *wrap(found.claim.text, width, initial_indent=f"  {found.mark} ", subsequent_indent="    "),
            f"    published {found.theirs}; ours {found.ours}",
        )
    ]
    blocks = [
        *([claims_line(paper, comparisons), *claims, ""] if paper.claims else []),
        *([*wrap(CLAIM_RULE, width), ""] if measured else []),
        *(["Tables", _text_grid([DIFFERENCE_COLUMNS, *differences]), ""] if differences else []),
        *(
            ["The paper contradicts itself", *(f"  {text}" for text in paper.contradictions)]
            * bool(paper.contradictions)
        ),
    ]
    return "\n".join(blocks).rstrip()


def _text_grid(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def _markdown_grid(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def _head(table: PublishedTable) -> str:
    unit = f" [{table.unit}]" if table.unit else ""
    return f"Table {table.id}. {table.title}{unit}\n{table.what}"


def _cell(cell: CellComparison, table: PublishedTable, remarks: Footnotes, separator: str = SEPARATOR) -> str:
    """One cell, for instance `0.773 | 0.759 +0.014 ✓`."""
    ours = format_mean(cell.ours, cell.our_spread, table)
    theirs = format_mean(cell.theirs, cell.their_spread, table)
    apart = "" if cell.difference is None else format_cell(cell.difference, table, signed=True)
    parts = (f"{ours}{separator}{theirs}", apart, SYMBOLS.get(cell.mark, ""), remarks.mark(cell.remarks))
    return " ".join(part for part in parts if part)


def _block(rows: Sequence[str], columns: list[tuple[str, int]], cells: dict[tuple[str, str], str], first: int) -> str:
    head = " " * first + "".join(f"  {column:<{wide}}" for column, wide in columns)
    body = [f"{row:<{first}}" + "".join(f"  {cells[row, column]:<{wide}}" for column, wide in columns) for row in rows]
    return "\n".join(line.rstrip() for line in (head, *body))


def band_sources(table: PublishedTable) -> list[str]:
    """A line for each source of this table's bands."""
    sources = [band.source for band in table.bands.values()]
    lines = [f"expected range of ours: {source.text} ({source.kind})" for source in dict.fromkeys(sources)]
    widths: dict[Source, set[float]] = {}
    for width, source in table.tolerances.values():
        widths.setdefault(source, set()).add(width)
    tolerances = [
        *((" to ".join(f"{width:g}" for width in sorted({min(several), max(several)})), source)
          for source, several in widths.items()),
        *([] if table.tolerance is None else [(f"{table.tolerance[0]:g}", table.tolerance[1])]),
    ]  # fmt: skip
    if table.tolerance_in_spreads is not None:
        many, source = table.tolerance_in_spreads
        tolerances.append((f"{many:g} printed standard deviations", source))
    rounding = f"{table.rounding:g} for rounding"
    return lines + [
        f"± {width} + {rounding} around published values: {source.text} ({source.kind})" for width, source in tolerances
    ]


def tables_as_markdown(paper: Paper, comparisons: Sequence[TableComparison], run: PaperRun) -> str:
    """A paper as a section of a Markdown page: its claims, the differences of its tables, what ran, every table."""
    claims, differences = claim_rows(paper, comparisons), difference_rows(comparisons)
    blocks = [
        f"## {paper.title}",
        f"{paper.source}. `unnaive reproduce {paper.key}{' --quick' if run.quick else ''}`, seed {run.seed}.",
        *(["**Claims**", _markdown_grid([CLAIM_COLUMNS, *claims]), CLAIM_RULE] if claims else []),
        summary_line(comparisons) + ".",
        *([_markdown_grid([DIFFERENCE_COLUMNS, *differences])] if differences else []),
        _bullets("Where the paper contradicts itself", paper.contradictions),
        _bullets("What the paper does not say, and we chose", paper.choices),
        _bullets("What was tried to come nearer", paper.tries),
        *([_markdown_grid([TRIED_COLUMNS, *paper.tried])] if paper.tried else []),
        _bullets("What ran", paper.notes),
        _bullets("Data", paper.data),
        _bullets("Data that is not available", paper.missing),
        *(_markdown_table(comparison) for comparison in comparisons),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _bullets(title: str, items: Sequence[str]) -> str:
    return "\n".join([f"**{title}**", "", *(f"- {item}" for item in items)]) if items else ""


def _void_note(comparison: TableComparison) -> tuple[str, ...]:
    words = "the marks are void: bands, tolerances or reasons were changed after this table was measured"
    return (words,) if comparison.void else ()


def _markdown_table(comparison: TableComparison) -> str:
    table, remarks = comparison.table, Footnotes()
    grid = [["", *comparison.columns]]
    for row in comparison.rows:
        shown = (_cell(comparison.cell(row, column), table, remarks, " / ") for column in comparison.columns)
        grid.append([row, *shown])
    unit = f" [{table.unit}]" if table.unit else ""
    head = f"### Table {table.id}. {table.title}{unit}\n\nOurs / theirs, difference; {table.what}."
    notes = [f"- [{number}] {text}" for number, text in enumerate(remarks.texts, 1)]
    notes += [f"- {text}" for text in (*_void_note(comparison), *table.notes, *band_sources(table))]
    return "\n".join([head, "", _markdown_grid(grid), "", *notes])


def as_html(
    paper: Paper, comparisons: Sequence[TableComparison], run: PaperRun, *, identity: Identity | None = None
) -> str:
    """The tables of a paper, ours and theirs, with a summary of the marks."""
    about = f"{paper.source}. Seed {run.seed}." + (f" {QUICK}" if run.quick else "")
    tables = [
        html.Section(f"Table {comparison.table.id}", _html_table(comparison) + _html_figure(paper, comparison, run))
        for comparison in comparisons
    ]
    notes = _html_notes([*paper.notes, *paper.data, *(f"Not available: {text}" for text in paper.missing)])
    summary = html.Section("Summary", _html_summary(comparisons) + notes)
    claims = html.Section("Claims", _html_claims(paper, comparisons))
    return html.page(
        f"{paper.title}: theirs and ours",
        f"{claims_line(paper, comparisons)}. {about}",
        [claims, summary, *tables],
        identity=identity,
    )


def _html_claims(paper: Paper, comparisons: Sequence[TableComparison]) -> str:
    """The claims, the differences of the tables, and where the paper contradicts itself."""
    grids = ((CLAIM_COLUMNS, claim_rows(paper, comparisons)), (DIFFERENCE_COLUMNS, difference_rows(comparisons)))
    shown = [html.table(head, [tuple(map(escape, row)) for row in rows], label=head[0]) for head, rows in grids if rows]
    return "".join(shown) + html.page_note(escape(CLAIM_RULE)) + _html_notes(paper.contradictions)


def _html_figure(paper: Paper, comparison: TableComparison, run: PaperRun) -> str:
    """The figure of a table, if it has one and was measured."""
    draw = paper.figures().get(comparison.table.id)
    if draw is None or all(cell.ours is None for cell in comparison.cells):
        return ""
    return html.figure(draw, run, alt=comparison.table.title, kind="wide")


def _html_summary(comparisons: Sequence[TableComparison]) -> str:
    """The numbers of figures with each mark, and which differ without a reason that is shown."""
    cells = [cell for comparison in comparisons for cell in comparison.cells]
    counts = count_marks(comparisons)
    titles = ("in a band around the published value", "differ for a reason that is shown", "differ")
    marked = [(f"{SYMBOLS[mark]} {title}", f"{counts[mark]:,}") for mark, title in zip(SYMBOLS, titles, strict=True)]
    measured = sum(cell.ours is not None for cell in cells)
    shown = html.tiles(
        [
            ("figures measured", f"{measured:,}"),
            *marked,
            ("not measured", f"{len(cells) - measured:,}"),
        ]
    )
    alone = measured - sum(counts.values())
    shown += html.page_note(f"For {count_noun(alone, 'figure')} nothing is published to compare.") if alone else ""
    return shown + html.bullets(
        f"table {escape(comparison.table.id)}, {escape(cell.row)}, {escape(cell.column)}: "
        f"{format_cell(cell.ours, comparison.table)} is not in {_band_words(cell.around, comparison.table)}"
        for comparison in comparisons
        for cell in comparison.marked(UNEXPLAINED)
    )


def _html_table(comparison: TableComparison) -> str:
    """One table: ours in bold, theirs, the difference, the mark."""
    table, remarks = comparison.table, Footnotes()
    unit = f" [{table.unit}]" if table.unit else ""
    rows = [
        (escape(row), *(_html_cell(comparison.cell(row, column), table, remarks) for column in comparison.columns))
        for row in comparison.rows
    ]
    shown = html.fixed_table(("", *map(escape, comparison.columns)), rows, kind="lineup", label=f"Table {table.id}")
    about = f"<p><b>{escape(table.title)}{escape(unit)}</b></p>" + html.page_note(escape(table.what))
    legend = html.page_note(escape(LEGEND))
    notes = _html_notes(remarks.texts, numbered=True) + _html_notes([*table.notes, *band_sources(table)])
    return about + legend + shown + notes


def _html_cell(cell: CellComparison, table: PublishedTable, remarks: Footnotes) -> str:
    ours = f'<span class="ours">{format_mean(cell.ours, cell.our_spread, table)}</span>'
    theirs = format_mean(cell.theirs, cell.their_spread, table)
    apart = "" if cell.difference is None else f" {format_cell(cell.difference, table, signed=True)}"
    title = f' title="band {_band_words(cell.around, table)}"' if cell.around else ""
    mark = f' <span class="{cell.mark}"{title}>{SYMBOLS[cell.mark]}</span>' if cell.mark else ""
    numbers = remarks.mark(cell.remarks)
    return f"{ours} | {theirs}{apart}{mark}" + (f"<sup>{numbers}</sup>" if numbers else "")


def _band_words(band: Band | None, table: PublishedTable) -> str:
    if band is None:
        return "any band"
    return f"{format_cell(band.low, table)} to {format_cell(band.high, table)}"


def _html_notes(texts: Iterable[str], *, numbered: bool = False) -> str:
    """Remarks below a table."""
    return html.bullets(map(escape, texts), kind="notes", numbered=numbered)


def tables_as_json(paper: Paper, comparisons: Sequence[TableComparison], run: PaperRun) -> dict[str, Any]:
    """Everything as plain values, with the versions of the software."""
    from unnaive.evaluation.results import versions

    return {
        "paper": paper.key,
        "title": paper.title,
        "source": paper.source,
        "notes": list(paper.notes),
        "data": list(paper.data),
        "missing": list(paper.missing),
        "contradictions": list(paper.contradictions),
        "choices": list(paper.choices),
        "tries": list(paper.tries),
        "tried": [dict(zip(TRIED_COLUMNS, row, strict=True)) for row in paper.tried],
        "claims": [
            dict(zip(("claim", "published", "ours", "mark"), row, strict=True))
            for row in claim_rows(paper, comparisons)
        ],
        "seed": run.seed,
        "quick": run.quick,
        "versions": versions(),
        "marks": count_marks(comparisons),
        "tables": [_table_json(comparison) for comparison in comparisons],
    }


def _table_json(comparison: TableComparison) -> dict[str, Any]:
    table = comparison.table
    return {
        "table": table.id,
        "title": table.title,
        "collection": table.collection,
        "what": table.what,
        "unit": table.unit,
        "notes": list(table.notes),
        "seconds": round(comparison.seconds, 3),
        "cells": [_cell_json(cell) for cell in comparison.cells],
    }


def _cell_json(cell: CellComparison) -> dict[str, Any]:
    return {
        "row": cell.row,
        "column": cell.column,
        "theirs": cell.theirs,
        "their_spread": cell.their_spread,
        "ours": cell.ours,
        "our_spread": cell.our_spread,
        "difference": cell.difference,
        "band": _band_json(cell.band),
        "band_around_theirs": _band_json(cell.around),
        "mark": cell.mark,
        "reason": cell.reason,
        "absent": cell.absent,
        "notes": list(cell.notes),
    }


def _band_json(band: Band | None) -> dict[str, Any] | None:
    if band is None:
        return None
    return {"low": band.low, "high": band.high, "source": {"kind": band.source.kind, "text": band.source.text}}
