"""Predictions to files: CSV, TSV, JSON lines or Parquet by the name, the columns of the input beside the new ones."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unnaive.base.errors import UnnaiveError
from unnaive.base.visible_text import visible_json
from unnaive.io.csv_writer import csv_lines, quote
from unnaive.io.kept_columns import KeptColumn
from unnaive.io.output_files import open_output
from unnaive.text.buffer import TextBuffer

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Record = dict[str, Any]
Write = Callable[[Sequence[Record]], None]

FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
           ".pq": "parquet"}  # fmt: skip
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-?inf|nan")
WRITTEN_AS_ONE = 1 - 4e-7  # probabilities from here on are 1 in six digits
ROWS = 256  # of a table that are spelt at a time, so that they are written while the processor has them at hand
REFUSED = (".json", ".xlsx", ".xls", ".db", ".sqlite", ".zst", ".arrow", ".feather", ".html", ".model")


def output_format(path: Path | None, as_json: bool) -> str:
    """What the name of an output file says; CSV where it says nothing.

    >>> output_format(Path("labelled.tsv.gz"), False), output_format(None, True)
    ('tsv', 'jsonl')
    >>> output_format(Path("labelled.xlsx"), False)
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: predictions cannot be written as .xlsx; give a name in .csv, .tsv, .jsonl ...
    """
    ending = "" if path is None else (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if ending in REFUSED:
        raise UnnaiveError(
            f"predictions cannot be written as {ending}; give a name in .csv, .tsv, .jsonl or .parquet"
        )  # fmt: skip
    found = FORMATS.get(ending, "jsonl" if as_json else "csv")
    if as_json and found != "jsonl":
        raise UnnaiveError(f"--json asks for JSON lines and {path} for {found}; leave one out, or name a .jsonl file")
    if found == "parquet" and path is not None and path.suffix == ".gz":
        raise UnnaiveError(f"{path} would be packed twice, since Parquet packs by itself; leave out .gz")
    return found


@dataclass
class Layout:
    """Which columns are written: those kept of the input, or the ids, then what was predicted.

    kind        what is shown with a label, "probability" or "score"
    classes     a column for each of these classes, none without --all
    top         how many labels, each with its value, for every document
    multilabel  labels of one document are several
    explain     the terms that spoke most for the label
    excel_safe  CSV and TSV without cells that a spreadsheet takes for a formula
    sets        the set of labels that holds the right one with a confidence
    kept        the columns of the input that are written again; none where there are only texts, which get ids
    types       their types in Parquet, where the input has any
    """

    kind: str
    classes: tuple[str, ...] = ()
    top: int = 1
    multilabel: bool = False
    explain: bool = False
    excel_safe: bool = False
    sets: bool = False
    kept: tuple[str, ...] = ()
    types: Mapping[str, Any] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether every document has one label and nothing else was asked for."""
        return not (self.multilabel or self.sets or self.explain or self.classes or self.top > 1)

    @property
    def first(self) -> tuple[str, ...]:
        """The columns before the predictions."""
        return self.kept or ("id",)

    def rename(self, name: str) -> str:
        """The name of a new column: where the input has one of that name, ours is called predicted_…

        >>> Layout("probability", kept=("text", "label")).rename("label")
        'predicted_label'
        """
        while name in self.first:
            name = f"predicted_{name}"
        return name

    def flat(self, record: Record) -> dict[str, Any]:
        """The new columns of a record for a table: label, value, known_terms, then what else was asked for."""
        labels, values = record["labels"], record["values"]
        if self.top > 1:
            pairs = record["top"]
        elif self.multilabel:
            pairs = [([str(label) for label in labels], values)]
        else:
            pairs = [(str(labels[0]) if labels else "", values[0] if values else None)]
        row: dict[str, Any] = {}
        for number, (label, value) in enumerate(pairs, 1):
            row[f"label{'' if number == 1 else number}"] = label if isinstance(label, list) else str(label)
            row[f"{self.kind}{'' if number == 1 else number}"] = value
        if self.sets:
            row["label_set"] = [str(label) for label in record["set"]]
        row["known_terms"] = record["known_terms"]
        row |= dict(zip(self.classes, record["all"], strict=True)) if self.classes else {}
        if self.explain:
            row["because"] = "; ".join(f"{one.term} {one.value:+.2f}" for one in record["why"].strongest(1, 5))
        return {self.rename(name): value for name, value in row.items()}

    def one_label(self, record: Record) -> tuple[Any, ...]:
        """The values of `flat` where the layout is plain."""
        labels, values = record["labels"], record["values"]
        return str(labels[0]) if labels else "", values[0] if values else None, record["known_terms"]

    def nested(self, record: Record) -> dict[str, Any]:
        """The new keys of a record for JSON."""
        row = {"labels": record["labels"], self.kind: record["values"], "known_terms": record["known_terms"]}
        if self.sets:
            row["label_set"] = record["set"]
        if self.top > 1:
            row["top"] = [{"label": label, self.kind: value} for label, value in record["top"]]
        if self.classes:
            row["all"] = dict(zip(self.classes, record["all"], strict=True))
        if self.explain:
            row["explanation"] = record["why"].to_dict()
        return {self.rename(name): value for name, value in row.items()}

    def before(self, record: Record) -> dict[str, Any]:
        """The columns of the input, or the id."""
        if not self.kept:
            return {"id": record["id"]}
        kept: dict[str, Any] = record["kept"]
        return kept if tuple(kept) == self.kept else {name: kept.get(name) for name in self.kept}


@contextmanager
def open_writer(path: Path | None, kind: str, layout: Layout) -> Iterator[Write]:
    """A function that writes some records to a file that appears when the block is done; stdout without a path."""
    if kind == "parquet" and path is not None:
        with _open_parquet(path, layout) as write:
            yield write
        return
    with open_output(path) as file:
        if kind == "jsonl":
            yield lambda records: file.writelines(_json_line(layout, record) for record in records)
        else:
            writer = CsvWriter(file, layout, "\t" if kind == "tsv" else ",")
            with writing_behind(writer) if path is not None else nullcontext(writer) as write:
                yield write
        if path is None:
            file.flush()


def _json_line(layout: Layout, record: Record) -> str:
    return visible_json(layout.before(record) | layout.nested(record), default=str) + "\n"


class CsvWriter:
    """Records, or whole columns, to a file of CSV or TSV; the names of the columns come before the first."""

    def __init__(self, file: Any, layout: Layout, delimiter: str) -> None:
        self._file, self._layout, self._delimiter = file, layout, delimiter
        self._started = False

    def __call__(self, records: Sequence[Record]) -> None:
        """Write some records, a row each."""
        layout = self._layout
        lines = []
        for record in records:
            if not self._started:
                lines.append([*layout.first, *layout.flat(record)])
                self._started = True
            new = layout.one_label(record) if layout.plain else layout.flat(record).values()
            lines.append([_cell_text(value) for value in (*layout.before(record).values(), *new)])
        if layout.excel_safe:
            lines = [[without_formula(cell) for cell in cells] for cells in lines]
        delimiter = self._delimiter
        self._file.writelines(delimiter.join([quote(cell, delimiter) for cell in cells]) + "\n" for cells in lines)

    @property
    def takes_columns(self) -> bool:
        """Whether `write_columns` writes what records would give."""
        return self._layout.plain and not self._layout.excel_safe and hasattr(self._file, "buffer")

    def write_columns(self, before: Mapping[str, Sequence[Any]], new: Sequence[Sequence[Any]]) -> None:
        """Write the rows of columns: those of the input, or the ids, then label, value and known_terms."""
        layout = self._layout
        if not self._started:
            names = ("label", layout.kind, "known_terms")
            header = [*layout.first, *map(layout.rename, names)]
            self._file.write(self._delimiter.join(quote(name, self._delimiter) for name in header) + "\n")
            self._started = True
        missing = [None] * len(new[0])
        columns = [_texts_of(before.get(name, missing)) for name in layout.first] + [_new_texts(one) for one in new]
        self._file.flush()
        for start in range(0, len(columns[0]), ROWS):
            rows = slice(start, start + ROWS)
            self._file.buffer.write(csv_lines([column[rows] for column in columns], self._delimiter))


class WritingBehind:
    """A CsvWriter whose columns are spelt and written in a thread of their own, while the next documents are read.

    What goes wrong there is raised where the next columns come, or at the end.
    """

    def __init__(self, writer: CsvWriter, pool: Executor) -> None:
        self._writer, self._pool = writer, pool
        self._ahead: deque[Future[None]] = deque()

    @property
    def takes_columns(self) -> bool:
        """Whether `write_columns` writes what records would give."""
        return self._writer.takes_columns

    def __call__(self, records: Sequence[Record]) -> None:
        """Write some records, after all columns that came before."""
        self.wait(0)
        self._writer(records)

    def write_columns(self, before: Mapping[str, Sequence[Any]], new: Sequence[Sequence[Any]]) -> None:
        """Write the rows of columns, as soon as those before them are written."""
        self.wait(1)
        self._ahead.append(self._pool.submit(self._writer.write_columns, before, new))

    def wait(self, most: int) -> None:
        """Until at most so many columns are still to be written."""
        while len(self._ahead) > most:
            self._ahead.popleft().result()


@contextmanager
def writing_behind(writer: CsvWriter) -> Iterator[WritingBehind]:
    """The writer with a thread; all is written when the block ends well."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        behind = WritingBehind(writer, pool)
        yield behind
        behind.wait(0)


def _texts_of(column: Sequence[Any]) -> TextBuffer:
    """The cells of a column as texts of a table; as they are in memory where that goes."""
    found = column.texts() if isinstance(column, KeptColumn) else None
    return found if found is not None else _joined([_encode(value) for value in column])


def _new_texts(column: Sequence[Any]) -> TextBuffer:
    """The same of a predicted column, whose values are of one type and few: most labels, counts and 1.0 come again."""
    if column and isinstance(column[0], float):  # 0.0 and −0.0 would be one key, and are two cells
        return _joined([b"1" if value == 1.0 else _encode(value) for value in column])
    cells = {value: _encode(value) for value in set(column)}
    return _joined([cells[value] for value in column])


def _encode(value: Any) -> bytes:
    return _cell_text(value).encode("utf-8", "backslashreplace")


def _joined(cells: list[bytes]) -> TextBuffer:
    offsets = np.zeros(len(cells) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, cells), np.int64, len(cells)), out=offsets[1:])
    return TextBuffer(np.frombuffer(b"".join(cells), np.uint8), offsets)


def without_formula(cell: str) -> str:
    """The cell with a ' before it if a spreadsheet would take it for a formula; numbers are left alone.

    >>> without_formula("=HYPERLINK(1)"), without_formula("-0.5"), without_formula("spam")
    ("'=HYPERLINK(1)", '-0.5', 'spam')
    """
    return f"'{cell}" if cell[:1] in FORMULA_STARTS and not NUMBER.fullmatch(cell) else cell


def _cell_text(value: Any) -> str:
    """A value as a cell of text; the labels of a multilabel document are joined by ";"."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and all(isinstance(one, (str, float)) for one in value):
        return ";".join(map(_cell_text, value))
    return visible_json(value, default=str) if isinstance(value, (list, dict)) else str(value)


@contextmanager
def _open_parquet(path: Path, layout: Layout) -> Iterator[Write]:
    """Row groups as they come; the types are those of the input's file, or of its first rows."""
    import pyarrow
    import pyarrow.parquet

    with open_output(path, binary=True) as file:
        writer: Any = None

        def write(records: Sequence[Record]) -> None:
            nonlocal writer
            rows = [layout.before(record) | layout.flat(record) for record in records]
            if not rows:
                return
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            try:
                if writer is None:
                    schema = _find_schema(columns, layout)
                    writer = pyarrow.parquet.ParquetWriter(file, schema)
                writer.write_table(pyarrow.table(columns, schema=writer.schema))
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as problem:
                reason = str(problem).splitlines()[0]
                raise UnnaiveError(f"a column is of no one type ({reason}); write a .jsonl or .csv file") from problem

        yield write
        if writer is not None:
            writer.close()


def _find_schema(columns: Mapping[str, list[Any]], layout: Layout) -> Any:
    import pyarrow

    texts = pyarrow.list_(pyarrow.string()) if layout.multilabel and layout.top == 1 else pyarrow.string()
    numbers = pyarrow.list_(pyarrow.float64()) if layout.multilabel and layout.top == 1 else pyarrow.float64()
    known = dict(layout.types) | {layout.rename("label"): texts, layout.rename(layout.kind): numbers}
    known |= {layout.rename("label_set"): pyarrow.list_(pyarrow.string())} if layout.sets else {}
    fields = []
    for name, values in columns.items():
        kind = known.get(name) or pyarrow.array(values).type
        fields.append(pyarrow.field(name, pyarrow.string() if pyarrow.types.is_null(kind) else kind))
    return pyarrow.schema(fields)
