"""Apply the accepted findings of an audit: the data in another file, without dropped rows and with corrected labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData, choose, count_noun
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, open_data

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback, RowValues
    from unnaive.curation.audit.cleaning import Changes
    from unnaive.io.datafiles import DataFile
    from unnaive.io.fields.columns import Columns
    from unnaive.io.writing.parquet_writer import ColumnTypes


@dataclass(frozen=True, repr=False)
class CleanResult(Result):
    """The written file and its numbers of rows: read, written, dropped, given another label, with a label renamed.

    left  findings of the accepted kinds, by kind, that are not for acceptance in bulk
    """

    read: int
    written: int
    dropped: int
    relabelled: int
    renamed: int
    left: dict[str, int]
    file: Path

    @property
    def changed(self) -> bool:
        """Whether any row was changed or dropped."""
        return bool(self.dropped or self.relabelled or self.renamed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive clean --json` prints them."""
        return vars(self) | {"file": str(self.file)}


def clean_file(
    data: Data,
    findings: str | Path,
    output: str | Path,
    *,
    accept: str | Sequence[str] = (),
    min_score: float = 0.0,
    text: str | Sequence[str] = (),
    label: str | None = None,
    progress: ProgressCallback | None = None,
) -> CleanResult:
    """Write data to another file without the rows that findings drop, and with the labels that they correct.

    Parameters
    ----------
    data : path, list of paths or DataFile
        The data that was audited.
    findings : path
        The CSV file that `unnaive audit` wrote. A finding is accepted if its cell in the column accept is yes.
    output : path
        The file to write: .csv, .tsv, .jsonl, .parquet and so on.
    accept : str or list of str, default=()
        Kinds of findings, such as "label-error", that are also accepted if their column bulk is yes.
    min_score : float from 0 to 1, default=0
        Minimum score of the findings that `accept` accepts.
    text, label : str, default=()
        Columns; by default they are guessed.
    progress : callable or None, default=None
        Called with the name and the details of each event.
    """
    from unnaive.curation.audit.cleaning import plan_changes
    from unnaive.curation.audit.findings import KINDS, read_corrections
    from unnaive.io.endings import written_format
    from unnaive.io.formats import read_rows

    path = Path(output)
    if Path(findings).is_dir():
        raise BadData(
            f"{findings} is a folder; name the table of findings that unnaive audit wrote, such as "
            f"{Path(findings) / 'findings.csv'}"
        )
    kinds = [choose(list(KINDS), kind, "kind of finding") for kind in ([accept] if isinstance(accept, str) else accept)]
    format = written_format(path)
    corrections = read_corrections(read_rows(Path(findings)), str(findings))
    changes = plan_changes(corrections, kinds=kinds, min_score=min_score)
    types: dict[str, Any] = {}
    source = Feedback(progress).reading(open_data(data, text=text, label=label), "cleaning")
    n_read, n_written = write_rows(path, format, cleaned_rows(source, changes, types, format), lambda: types)
    done = changes.done
    counted = done["dropped"], done["relabelled"], done["renamed"]
    return CleanResult(n_read, n_written, *counted, dict(changes.left), path)


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
