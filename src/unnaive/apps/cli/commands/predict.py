"""`unnaive predict`: labels and probabilities for a stream of documents."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.cli.spark_engine import Engine, Master, Ship, choose_engine, refuse_on_spark
from unnaive.apps.common.options import AsJson, ModelFile, reading
from unnaive.apps.common.paths import WRITTEN
from unnaive.apps.common.screen import echo, note, say_summary
from unnaive.workflows.predictor import Predictor

if TYPE_CHECKING:
    from unnaive.base.types import RowValues
    from unnaive.io.datafiles import Batch, DataFile
    from unnaive.io.writing.table_writer import Write
    from unnaive.workflows.prediction_columns import Layout


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(predict)


@reading(
    "Documents: files, a folder, or - for stdin (the default); in plain text, each line is a document.",
    optional=True,
    trained=True,
)
def predict(
    model: ModelFile,
    source: DataFile,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="A text to classify, instead of DATA; may be repeated.")
    ] = None,
    output: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            "-o",
            "--output",
            help="File to write: .csv, .tsv, .jsonl or .parquet; by default stdout.",
            show_default=False,
        ),
    ] = None,
    keep_columns: Annotated[
        bool,
        typer.Option("--keep-columns/--no-keep-columns", help="Write the columns of the input before the predictions."),
    ] = True,
    every: Annotated[bool, typer.Option("--all", help="Write the score of every class, one column for each.")] = False,
    top: Annotated[
        int, typer.Option(help="Number of best classes to write for each document.", metavar="K", min=1)
    ] = 1,
    unknown: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Label to write instead of unknown for rejected documents, and for documents without a known term.",
        ),
    ] = None,
    reject_below: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help="Label documents unknown (or as --unknown) if their best probability is below this value.",
        ),
    ] = None,
    unknown_rate: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Label novel documents unknown, with this false alarm rate for known classes, e.g. 0.05.",
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Also write a set of labels that contains the right one with this probability, e.g. 0.9."
        ),
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="Guarantee --confidence for every class, including rare ones.")
    ] = False,
    at_least_one: Annotated[
        bool, typer.Option("--at-least-one", help="Never return an empty set; coverage may then exceed --confidence.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the terms that contributed most to each prediction.")
    ] = False,
    unbuffered: Annotated[
        bool, typer.Option("--unbuffered", help="Write each prediction as soon as its line is read.")
    ] = False,
    excel_safe: Annotated[
        bool, typer.Option("--excel-safe", help="Put ' before CSV cells that a spreadsheet would run as a formula.")
    ] = False,
    engine: Engine = "local",
    master: Master = None,
    ship: Ship = False,
    as_json: AsJson = False,
) -> None:
    """Predict the labels of new documents.

    The output is a table, or one JSON object per line with --json. Documents are streamed in constant memory. The
    column known_terms counts the terms of a document that the model knows; if it is 0, the label is only a guess.

    unnaive predict tickets/tickets.model tickets/test.csv -o predicted.csv
    """
    from unnaive.apps.common.output import say_what_sets_promise, say_what_was_read, say_what_was_written
    from unnaive.base.errors import UnnaiveError
    from unnaive.classifier.model_file import load_model
    from unnaive.io.endings import written_format
    from unnaive.io.writing.table_writer import open_table_writer
    from unnaive.workflows.prediction_columns import Layout
    from unnaive.workflows.trained_columns import read_as_trained

    if document and source.path != "-":
        raise UnnaiveError(f"texts came with --document and as {source.path}; give one of the two")
    spark = choose_engine(engine, master, ship)
    if spark is not None:
        others = {"--document": document, "--all": every, "--top": top > 1, "--unknown": unknown, "--json": as_json}
        others |= {"--reject-below": reject_below is not None, "--explain": explain, "--unbuffered": unbuffered}
        others |= {"--unknown-rate": unknown_rate is not None}
        others |= {"--confidence": confidence is not None, "--by-class": by_class, "--at-least-one": at_least_one}
        refuse_on_spark("predict", others | {"--no-keep-columns": not keep_columns, "--excel-safe": excel_safe})
        from unnaive.workflows.spark_jobs import predict_on_spark

        columns = predict_on_spark(spark, load_model(model), source, output)
        say_summary(f"wrote {output}, a folder of part files ({columns.describe()})")
        return
    format = written_format(output, as_json=as_json)
    rejecting = {"--unknown": unknown, "--reject-below": reject_below, "--unknown-rate": unknown_rate}
    refuse_top(top, format, next((name for name, value in rejecting.items() if value is not None), None))
    fitted = load_model(model)
    people = output is None and not as_json and sys.stdout.isatty()
    predictor = Predictor(
        fitted, top, every, explain, unknown, reject_below, confidence=confidence, by_class=by_class,
        at_least_one=at_least_one, show_text=people, unknown_rate=unknown_rate,
    )  # fmt: skip
    predictor.check()
    classes = tuple(map(str, fitted.classes)) if every else ()
    layout = Layout(predictor.kind, classes, min(top, len(fitted.classes)), fitted.multilabel, explain)
    layout.sets = confidence is not None
    source = read_as_trained(source, fitted)
    with open_table_writer(output, format, excel_safe=excel_safe, types=layout.arrow_types) as table:
        write = PredictionWriter(table, layout, format)
        batches = lay_out(read_prediction_batches(source, document, unbuffered, keep_columns and not people), layout)
        if output is not None and writes_columns(predictor, write) and fitted.reader.fused:
            write_ahead(predictor, batches, write)
        else:
            for batch in batches:
                write_batch(predictor, batch, print_lines if people else write)
                if (unbuffered or document) and output is None:
                    sys.stdout.flush()
    if not document:
        say_what_was_read(source)
    if confidence is not None and not document:
        say_what_sets_promise(fitted, confidence, by_class=by_class)
    if output is not None:
        say_what_was_written(output)
    sentence = predictor.describe_unknown()
    if sentence is not None:
        note(sentence)


def refuse_top(top: int, format: str, option: str | None) -> None:
    """Raise an error if a table would have the best classes of every document and so no label for unknown ones."""
    from unnaive.base.errors import UnnaiveError

    if top > 1 and option is not None and format != "jsonl":
        raise UnnaiveError(
            f"--top {top} writes the best classes of every document, so {option} would have no effect; leave one of "
            "the two out, or add --json, which writes both"
        )


class PredictionWriter:
    """Writes records of predictions, or whole columns, to a table."""

    def __init__(self, table: Write, layout: Layout, format: str) -> None:
        self._table, self._layout, self._format = table, layout, format

    def __call__(self, records: Sequence[RowValues]) -> None:
        """Write some records, one row each."""
        self._table([self._layout.row(record, self._format) for record in records])

    @property
    def takes_columns(self) -> bool:
        """Whether `write_columns` writes the same as records would."""
        return self._layout.plain and getattr(self._table, "takes_columns", False)

    def write_columns(self, before: Mapping[str, Sequence[Any]], new: Sequence[Sequence[Any]]) -> None:
        """Write rows from columns: those of the input, or the ids, then label, value and known_terms."""
        self._table.write_columns(self._layout.columns(before, new))  # type: ignore[attr-defined]


def read_prediction_batches(
    source: DataFile, documents: list[str] | None, unbuffered: bool, keep: bool
) -> Iterator[Batch]:
    """The documents given as arguments, or those of the source, with a progress bar."""
    from unnaive.apps.common.screen import reading_progress
    from unnaive.io.datafiles import Batch

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
    # the total of a stream is unknown
    with reading_progress(source, "predicting", in_logs=source.path != "-") as (watched, _):
        yield from watched.batches(labelled=False, keep=keep)


def lay_out(batches: Iterable[Batch], layout: Layout) -> Iterator[Batch]:
    """The batches; the first decides the columns of the layout."""
    for batch in batches:
        if not layout.kept:
            layout.kept, layout.types = tuple(batch.kept), batch.types
        yield batch


def writes_columns(predictor: Predictor, write: Any) -> bool:
    """Whether predictions are computed and written by columns, without a record for each document."""
    return predictor.one_label and getattr(write, "takes_columns", False)


def write_ahead(predictor: Predictor, batches: Iterable[Batch], write: Any) -> None:
    """Predict and write all batches by columns; two batches are predicted while others are read and written.

    The serial part of one batch overlaps with the parallel part of the other.
    """
    from unnaive.io.tables.native_parser import map_in_order

    chunks = (chunk for batch in batches for chunk in cut_batch(predictor, batch))
    for chunk, new in map_in_order(lambda chunk: (chunk, predictor.predict_columns(chunk.texts)), chunks, threads=2):
        predictor.count_seen(new[2])
        write.write_columns(chunk.kept or {"id": chunk.ids}, new)


def write_batch(predictor: Predictor, batch: Batch, write: Any) -> None:
    """Predict and write the documents of a batch."""
    whole_columns = writes_columns(predictor, write)
    for chunk in cut_batch(predictor, batch):
        if whole_columns:
            new = predictor.predict_columns(chunk.texts)
            predictor.count_seen(new[2])
            write.write_columns(chunk.kept or {"id": chunk.ids}, new)
        else:
            write(with_columns(predictor.predict(chunk.ids, chunk.texts), chunk.kept))


def cut_batch(predictor: Predictor, batch: Batch) -> Iterator[Batch]:
    """The batch, or parts of it whose scores fit in memory."""
    step = predictor.chunk_size()
    for start in range(0, len(batch.texts), step):
        part = slice(start, start + step)
        columns = {name: values[part] for name, values in batch.kept.items()}
        yield replace(batch, texts=batch.texts[part], labels=batch.labels[part], ids=batch.ids[part], kept=columns)


def with_columns(records: list[RowValues], columns: Mapping[str, Sequence[Any]]) -> list[RowValues]:
    """The records, each with its row of the kept columns."""
    names = tuple(columns)
    rows = zip(*columns.values(), strict=True) if names else repeat(())
    for record, values in zip(records, rows, strict=False):
        record["kept"] = dict(zip(names, values, strict=True))
    return records


def print_lines(records: Sequence[RowValues]) -> None:
    """A line for each record: the labels in colour, their probability, and the beginning of the text."""
    for record in records:
        print_line(record)


def print_line(record: RowValues) -> None:
    """The line of one record."""
    from rich.text import Text

    from unnaive.apps.common.screen import console, shorten_text
    from unnaive.base.visible_text import visible

    screen = console()
    if "why" in record:
        screen.print(record["why"], "", sep="\n")
        return
    pairs = record.get("top") or zip(record["labels"], record["values"], strict=True)
    line = Text()
    for label, value in pairs:
        line.append(visible(str(label), lines=False), style="bold green").append(
            f" {format_prediction(value, record['kind'])}  "
        )
    if "set" in record:
        names = ", ".join(visible(str(label), lines=False) for label in record["set"])
        line.append(f"{{{names}}}  ", style="cyan")
    if not record["labels"]:
        line.append("no label  ", style="dim")
    if not record["known_terms"]:
        line.append("no known word  ", style="yellow")
    line.append(shorten_text(record["text"], max(10, screen.width - line.cell_len)), style="dim")
    screen.print(line, no_wrap=True, overflow="ellipsis")


def format_prediction(value: float, kind: str) -> str:
    """A probability in per cent, a score unchanged."""
    from unnaive.learning.explain import percent

    return percent(value) if kind == "probability" else f"{value:.3g}"
