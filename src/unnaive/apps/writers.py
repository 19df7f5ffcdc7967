"""Predictions to files: CSV, TSV, JSON lines or Parquet by the name, the columns of the input beside the new ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unnaive.apps.output import open_output
from unnaive.apps.screen import visible_json
from unnaive.errors import UnnaiveError

Record = dict[str, Any]
Write = Callable[[Sequence[Record]], None]

FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
           ".pq": "parquet"}  # fmt: skip
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-?inf|nan")
REFUSED = (".json", ".xlsx", ".xls", ".db", ".sqlite", ".zst", ".arrow", ".feather", ".html", ".model")


def output_format(path: Path | None, as_json: bool) -> str:
    """What the name of an output file says; CSV where it says nothing.

    >>> output_format(Path("labelled.tsv.gz"), False), output_format(None, True)
    ('tsv', 'jsonl')
    >>> output_format(Path("labelled.xlsx"), False)
    Traceback (most recent call last):
    unnaive.errors.UnnaiveError: predictions cannot be written as .xlsx; give a name in .csv, .tsv, .jsonl or .parquet
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
    sets        the set of labels that holds the right one with a confidence
    excel_safe  CSV and TSV without cells that a spreadsheet takes for a formula
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
        """The values of `flat` where every document has one label and nothing else was asked for."""
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
            yield _csv_writer(file, layout, "\t" if kind == "tsv" else ",")
        if path is None:
            file.flush()


def _json_line(layout: Layout, record: Record) -> str:
    return visible_json(layout.before(record) | layout.nested(record), default=str) + "\n"


def _csv_writer(file: Any, layout: Layout, delimiter: str) -> Write:
    started = False
    plain = not (layout.multilabel or layout.sets or layout.explain or layout.classes or layout.top > 1)

    def write(records: Sequence[Record]) -> None:
        nonlocal started
        lines = []
        for record in records:
            if not started:
                lines.append([*layout.first, *layout.flat(record)])
                started = True
            new = layout.one_label(record) if plain else layout.flat(record).values()
            lines.append([_plain(value) for value in (*layout.before(record).values(), *new)])
        if layout.excel_safe:
            lines = [[without_formula(cell) for cell in cells] for cells in lines]
        file.writelines(delimiter.join([quote(cell, delimiter) for cell in cells]) + "\n" for cells in lines)

    return write


def quote(cell: str, delimiter: str) -> str:
    """The cell as the csv module writes it, many times as fast where texts are long; for rows of two cells or more.

    >>> [quote("ham", ","), quote("ham, eggs", ","), quote("ham, eggs", ";")]
    ['ham', '"ham, eggs"', 'ham, eggs']
    """
    if '"' in cell:
        cell = cell.replace('"', '""')
    elif delimiter not in cell and "\n" not in cell and "\r" not in cell:
        return cell
    return f'"{cell}"'


def without_formula(cell: str) -> str:
    """The cell with a ' before it if a spreadsheet would take it for a formula; numbers are left alone.

    >>> without_formula("=HYPERLINK(1)"), without_formula("-0.5"), without_formula("spam")
    ("'=HYPERLINK(1)", '-0.5', 'spam')
    """
    return f"'{cell}" if cell[:1] in FORMULA_STARTS and not NUMBER.fullmatch(cell) else cell


def _plain(value: Any) -> str:
    """A value as a cell of text; the labels of a multilabel document are joined by ";"."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and all(isinstance(one, (str, float)) for one in value):
        return ";".join(map(_plain, value))
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
