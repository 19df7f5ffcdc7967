"""`unnaive predict`: labels and probabilities for a stream of documents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.cli.spark_engine import Engine, Master, Ship, choose_engine, refuse_on_spark
from unnaive.apps.common.path_options import WRITTEN_RESULT
from unnaive.apps.common.progress_bar import Progress
from unnaive.apps.common.screen import echo, is_quiet, note, say_summary
from unnaive.apps.common.shared_options import AsJson, ModelFile, reading

if TYPE_CHECKING:
    from unnaive.base.types import RowValues
    from unnaive.io.datafiles import DataFile


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
        WRITTEN_RESULT,
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
    from unnaive.apps.common.output import say_what_was_written
    from unnaive.base.errors import UnnaiveError
    from unnaive.io.endings import written_format
    from unnaive.workflows.predict import predict_file

    if document and source.path != "-":
        raise UnnaiveError(f"texts came with --document and as {source.path}; give one of the two")
    spark = choose_engine(engine, master, ship)
    if spark is not None:
        others = {"--document": document, "--all": every, "--top": top > 1, "--unknown": unknown, "--json": as_json}
        others |= {"--reject-below": reject_below is not None, "--explain": explain, "--unbuffered": unbuffered}
        others |= {"--unknown-rate": unknown_rate is not None}
        others |= {"--confidence": confidence is not None, "--by-class": by_class, "--at-least-one": at_least_one}
        refuse_on_spark("predict", others | {"--no-keep-columns": not keep_columns, "--excel-safe": excel_safe})
        from unnaive.classifier.model_file import load_model
        from unnaive.workflows.spark_jobs import predict_on_spark

        columns = predict_on_spark(spark, load_model(model), source, output)
        say_summary(f"wrote {output}, a folder of part files ({columns.describe()})")
        return
    people = output is None and not as_json and sys.stdout.isatty()
    live = not document and source.path == "-" and sys.stdin.isatty()
    if live:
        echo("note: type a text and press enter; Ctrl-D ends", err=True)
        source = replace(source, format=source.format or "lines")
    flush = sys.stdout.flush if (unbuffered or document) and output is None else None
    # the total of a stream is unknown
    with nullcontext() if live or document else Progress(in_logs=source.path != "-") as bar:
        result = predict_file(
            model, source, output or Path("-"), documents=document, format=written_format(output, as_json=as_json),
            keep_columns=keep_columns and not people, every=every, top=top, unknown=unknown, reject_below=reject_below,
            unknown_rate=unknown_rate, confidence=confidence, by_class=by_class, at_least_one=at_least_one,
            explain=explain, excel_safe=excel_safe, unbuffered=unbuffered or live, show=print_lines if people else None,
            flush=flush, progress=None if bar is None else bar.event,
        )  # fmt: skip
    if not is_quiet():
        for sentence in (*([] if result.read is None else [f"read {result.read}"]), *result.promises):
            echo(sentence, err=True)
    if output is not None:
        say_what_was_written(output)
    for sentence in result.notes:
        note(sentence)


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
