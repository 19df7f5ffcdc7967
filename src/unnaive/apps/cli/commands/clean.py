"""`unnaive clean`: apply the accepted findings of an audit and write the data to another file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import READ, WRITTEN
from unnaive.apps.common.screen import echo, note
from unnaive.apps.common.shared_options import AsJson, make_output_folders, reading
from unnaive.base.errors import BadData, choose, count_noun
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.base.types import RowValues
    from unnaive.curation.audit.cleaning import Changes
    from unnaive.io.datafiles import DataFile
    from unnaive.io.fields.columns import Columns
    from unnaive.io.writing.parquet_writer import ColumnTypes


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(clean)


@reading("The data that was audited: a file with a table.")
def clean(
    source: DataFile,
    findings: Annotated[
        Path,
        READ,
        typer.Argument(metavar="FINDINGS", help="The CSV file that unnaive audit wrote.", show_default=False),
    ],
    output: Annotated[
        Path, WRITTEN, typer.Option("--output", "-o", metavar="FILE", help="The file to write: .csv, .tsv or .jsonl.")
    ],
    accept: Annotated[
        list[str] | None,
        typer.Option(
            help="Also accept findings of this kind, if their column bulk is yes; may be repeated.", metavar="KIND"
        ),
    ] = None,
    min_score: Annotated[
        float, typer.Option(min=0, max=1, help="Minimum score of the findings that --accept accepts, from 0 to 1.")
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Apply the accepted findings of an audit: write the data without dropped rows and with corrected labels.

    A finding is accepted if its cell in the column accept is yes, or if its kind is named with --accept and its cell in
    the column bulk is yes: label errors with a proposed label of probability .9 or more, as many as are estimated.

    unnaive audit tickets/train.csv --label queue -o audit
    unnaive clean tickets/train.csv audit/findings.csv --label queue -o fixed.csv --accept label-error
    """
    from unnaive.apps.common.progress_bar import reading_progress
    from unnaive.apps.common.screen import say_summary
    from unnaive.curation.audit.cleaning import plan_changes
    from unnaive.curation.audit.findings import KINDS, read_corrections
    from unnaive.io.endings import written_format
    from unnaive.io.formats import read_rows

    kinds = [choose(list(KINDS), kind, "kind of finding") for kind in accept or []]
    format = written_format(output)
    make_output_folders([output])
    changes = plan_changes(read_corrections(read_rows(findings), str(findings)), kinds=kinds, min_score=min_score)
    types: dict[str, Any] = {}
    with reading_progress(source, "cleaning") as (watched, _):
        n_read, n_written = write_rows(output, format, cleaned_rows(watched, changes, types, format), lambda: types)
    counted = {
        "read": n_read,
        "written": n_written,
        "dropped": changes.done["dropped"],
        "relabelled": changes.done["relabelled"],
        "renamed": changes.done["renamed"],
        "left": dict(changes.left),
        "file": str(output),
    }
    if as_json:
        echo(visible_json(counted))
        return
    say_summary(
        f"{count_noun(n_read, 'row')}: {counted['dropped']:,} dropped, {counted['relabelled']:,} given "
        f"another label, {counted['renamed']:,} with a label renamed; {n_written:,} written to {output}"
    )
    for kind, n in changes.left.items():
        note(f"left {count_noun(n, 'finding')} of kind {kind} that nobody has read; write yes into their column accept")
    if counted["relabelled"]:
        note(
            "an accuracy that train or compare measures on these rows is too high: labels were changed where models "
            "doubt them; measure with evaluate, on documents whose labels were not changed"
        )
    if not (counted["dropped"] or counted["relabelled"] or counted["renamed"]):
        say_summary(f"nothing changed: write yes into the column accept of {findings}, or name a kind with --accept")


def cleaned_rows(source: DataFile, changes: Changes, types: dict[str, Any], format: str) -> Iterator[RowValues | None]:
    """Each row of the data with all its columns, changed; None for a dropped one. Fills in Arrow's `types`.

    format  that of the output
    """
    number = 0
    for batch in source.batches(labelled=True, keep=True):
        columns = source.options.log.columns
        if columns is None or not batch.kept:
            raise BadData(f"{source.name} is not a table; to apply findings on a folder, move the files that they name")
        types.update(types or batch.types)
        batch.check_late(source.name, format)
        for index, labels in enumerate(batch.labels):
            number += 1
            check_expected(changes, number, labels, source.name)
            row = {name: values[index] for name, values in batch.kept.items()}
            cell = None if columns.label is None else row[columns.label]
            changed = changes.labels(number, labels, several=holds_several(cell, source))
            if changed is None:
                yield None
                continue
            yield row if changed == labels else relabel(row, changed, columns, source)
    if changes.last_row > number:
        raise BadData(
            f"the findings name row {changes.last_row:,}, but {source.name} has "
            f"{count_noun(number, 'row')}; give the data that was audited"
        )


def holds_several(cell: object, source: DataFile) -> bool:
    """Whether a cell may have any number of labels, so that "oil;gas" is two of them."""
    return source.separator is not None or isinstance(cell, list) or str(cell).lstrip().startswith("[")


def check_expected(changes: Changes, number: int, labels: tuple[str, ...], name: str) -> None:
    """Raise an error if a row to be changed has another label than in the audit."""
    if number in changes.expected and changes.expected[number] != ";".join(labels):
        raise BadData(
            f"row {number:,} of {name} has the label {';'.join(labels)!r}, and the findings say "
            f"{changes.expected[number]!r}; give the data that was audited, with the same options"
        )


def relabel(row: RowValues, labels: tuple[str, ...], columns: Columns, source: DataFile) -> RowValues:
    """The row with these labels, written like its label column."""
    if columns.label is None:
        raise BadData(f"the labels of {source.name} are columns of 0 and 1; findings can only drop rows of it")
    old = row[columns.label]
    if isinstance(old, list):
        return row | {columns.label: list(labels)}
    as_list = source.separator == "list" or str(old).lstrip().startswith("[")
    if as_list or (len(labels) > 1 and source.separator is None):
        return row | {columns.label: spell_list(labels, str(old))}
    if len(labels) > 1:
        return row | {columns.label: (source.separator or ";").join(labels)}
    return row | {columns.label: spell_label(labels[0], old) if labels else ""}


def spell_label(label: str, like: Any) -> Any:
    """A label in the type of its column: an integer if the cell was one.

    >>> spell_label("2", 1), spell_label("spam", "ham")
    (2, 'spam')
    """
    numbers = isinstance(like, int) and not isinstance(like, bool) and label.removeprefix("-").isdecimal()
    return int(label) if numbers else label


def spell_list(labels: tuple[str, ...], like: str) -> str:
    """A list of labels in the syntax of another cell: Python if it has Python's quotes, else JSON.

    >>> spell_list(("oil", "gas"), "['corn']"), spell_list(("oil",), '["corn"]')
    ("['oil', 'gas']", '["oil"]')
    """
    import json

    return str(list(labels)) if "'" in like and '"' not in like else json.dumps(list(labels), ensure_ascii=False)


def write_rows(output: Path, format: str, rows: Iterator[RowValues | None], types: ColumnTypes) -> tuple[int, int]:
    """(rows read, rows written) to a file, atomically; `types` of columns, for Parquet."""
    from unnaive.io.read_options import BATCH_ROWS
    from unnaive.io.writing.table_writer import open_table_writer

    n_read = n_written = 0
    with open_table_writer(output, format, types=types) as write:
        while batch := list(islice(rows, BATCH_ROWS)):
            remaining = [row for row in batch if row is not None]
            write(remaining)
            n_read, n_written = n_read + len(batch), n_written + len(remaining)
    return n_read, n_written
