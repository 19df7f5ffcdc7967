"""`unnaive predict`: labels and probabilities for documents, as they stream by."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from unnaive.apps.options import AsJson, ModelFile, reading
from unnaive.apps.screen import echo, visible_json

if TYPE_CHECKING:
    from unnaive.fitted import FittedModel
    from unnaive.reading.datafiles import Batch, DataFile

Record = dict[str, Any]
FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-?inf|nan")


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(predict)


@reading("Documents: a file, a folder, or - for stdin (the default); each line of plain text is one.", optional=True)
def predict(
    model: ModelFile,
    source: DataFile,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="A text given here, in the place of DATA.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file to write, in the place of stdout.")
    ] = None,
    top: Annotated[int, typer.Option(help="Show the K best classes of each document.", metavar="K", min=1)] = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Show which terms spoke for it.")] = False,
    unbuffered: Annotated[bool, typer.Option("--unbuffered", help="Answer each line at once.")] = False,
    excel_safe: Annotated[
        bool, typer.Option("--excel-safe", help="CSV without formulas: a ' before cells that begin like one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Label new documents.

    Prints CSV, or with --json an object a line. Any amount goes through in constant memory.

    unnaive predict tickets.model new.csv -o labelled.csv
    """
    from unnaive.apps.output import open_output, read_as_trained
    from unnaive.errors import UnnaiveError
    from unnaive.store import load

    if document and source.path != "-":
        raise UnnaiveError(f"texts came with --document and as {source.path}; give one of the two")
    fitted = load(model)
    shown = document is not None or output is None
    with open_output(output) as file:
        people = shown and file.isatty()
        write = make_writer(
            fitted, file, as_json=as_json, people=people, top=top, explain=explain, excel_safe=excel_safe
        )
        for batch in read_batches(read_as_trained(source, fitted), document, unbuffered):
            for record in predict_batch(fitted, batch, top=top, explain=explain):
                write(record)
            if unbuffered or document:
                file.flush()


def read_batches(source: DataFile, documents: list[str] | None, unbuffered: bool) -> Iterator[Batch]:
    """The documents given as arguments, or those of the source, watched by a progress bar."""
    from unnaive.apps.screen import reading_progress
    from unnaive.reading.datafiles import Batch

    if documents:
        yield Batch(documents, [()] * len(documents), [str(number) for number in range(1, len(documents) + 1)])
        return
    live = source.path == "-" and sys.stdin.isatty()
    if live:
        echo("note: type a text and press enter; Ctrl-D ends", err=True)
    how = replace(source.options, rows=1 if unbuffered or live else source.options.rows)
    source = replace(source, options=how, format=source.format or ("lines" if live else None))
    if live:
        yield from source.batches(labelled=False)
        return
    with reading_progress(source, "predicting") as (watched, _):
        yield from watched.batches(labelled=False)


def predict_batch(fitted: FittedModel, batch: Batch, *, top: int = 1, explain: bool = False) -> Iterator[Record]:
    """A record for each document: id, text, labels with their values, and which kind the values are."""
    from unnaive.core.documents import chunk_size

    step = chunk_size(len(fitted.classes))  # scores of many classes are large
    for start in range(0, len(batch.texts), step):
        chunk = slice(start, start + step)
        yield from predict_chunk(fitted, batch.ids[chunk], batch.texts[chunk], top, explain)


def predict_chunk(
    fitted: FittedModel, ids: list[str], texts: Sequence[str], top: int, explain: bool
) -> Iterator[Record]:
    """The same for a few documents, whose scores are held at once."""
    import numpy as np

    from unnaive.core.targets import label_sets

    scores = fitted.scores(texts)
    kind = value_kind(fitted)
    values = fitted.probabilities(scores) if kind == "probability" else scores
    given = label_sets(fitted.decide(scores), fitted.classes)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top] if top > 1 else scores.argmax(axis=1)[:, None]
    place = {label: column for column, label in enumerate(fitted.classes)}
    for row, (name, text) in enumerate(zip(ids, texts, strict=True)):
        labels = list(given[row])
        record: Record = {"id": name, "text": text, "labels": labels, "kind": kind}
        record["values"] = [float(values[row, place[label]]) for label in labels]
        record["top"] = [(fitted.classes[column], float(values[row, column])) for column in order[row]]
        if explain:
            record["why"] = fitted.explain(text, labels[0] if labels else None)
        yield record


def value_kind(fitted: FittedModel) -> str:
    """What is shown with a label: a probability where the model has them, else a score."""
    return "probability" if fitted.probabilistic else "score"


def make_writer(
    fitted: FittedModel,
    file: TextIO,
    *,
    as_json: bool,
    people: bool,
    top: int,
    explain: bool,
    excel_safe: bool = False,
) -> Callable[[Record], None]:
    """A function that writes one record: as JSON, for people at a terminal, or as CSV."""
    if as_json:
        return lambda record: print_json(record, file, top)
    if people:
        return lambda record: print_line(record)
    table = csv.writer(file, lineterminator="\n")
    kind = value_kind(fitted)
    head = ["id", "label", kind]
    for number in range(2, min(top, len(fitted.classes)) + 1):
        head += [f"label{number}", f"{kind}{number}"]
    rows = iter([[*head, "because"] if explain else head])

    def write(record: Record) -> None:
        table.writerows(rows)  # the header, before the first record and then no more
        row = csv_row(record, top)
        table.writerow([without_formula(cell) for cell in row] if excel_safe else row)

    return write


def csv_row(record: Record, top: int) -> list[str]:
    """The fields of a record; the labels of a multilabel document are joined by ";"."""
    if top > 1:
        fields = [field for label, value in record["top"] for field in (str(label), f"{value:.6g}")]
    else:
        fields = [";".join(map(str, record["labels"])), ";".join(f"{value:.6g}" for value in record["values"])]
    because = []
    if "why" in record:
        because = ["; ".join(f"{one.term} {one.value:+.2f}" for one in record["why"].strongest(1, 5))]
    return [record["id"], *fields, *because]


def without_formula(cell: str) -> str:
    """The cell with a ' before it if a spreadsheet would take it for a formula; numbers are left alone.

    >>> without_formula("=HYPERLINK(1)"), without_formula("-0.5"), without_formula("spam")
    ("'=HYPERLINK(1)", '-0.5', 'spam')
    """
    return f"'{cell}" if cell[:1] in FORMULA_STARTS and not NUMBER.fullmatch(cell) else cell


def print_json(record: Record, file: TextIO, top: int) -> None:
    """One object on one line."""
    line: Record = {"id": record["id"], "labels": record["labels"], record["kind"]: record["values"]}
    if top > 1:
        line["top"] = [{"label": label, record["kind"]: value} for label, value in record["top"]]
    if "why" in record:
        line["explanation"] = record["why"].to_dict()
    file.write(visible_json(line) + "\n")


def print_line(record: Record) -> None:
    """A line for people: the labels in colour, how sure, and how the text begins."""
    from rich.text import Text

    from unnaive.apps.screen import console, shorten_text, visible

    screen = console()
    if "why" in record:
        screen.print(record["why"], "", sep="\n")
        return
    pairs = record["top"] if len(record["top"]) > 1 else zip(record["labels"], record["values"], strict=True)
    line = Text()
    for label, value in pairs:
        line.append(visible(str(label), lines=False), style="bold green").append(
            f" {format_value(value, record['kind'])}  "
        )
    if not record["labels"]:
        line.append("no label  ", style="dim")
    line.append(shorten_text(record["text"], max(10, screen.width - line.cell_len)), style="dim")
    screen.print(line, no_wrap=True, overflow="ellipsis")


def format_value(value: float, kind: str) -> str:
    """A probability in per cent, a score as it is."""
    from unnaive.explain import percent

    return percent(value) if kind == "probability" else f"{value:.3g}"
