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
from unnaive.apps.common.option_markers import BY_SET, needs
from unnaive.apps.common.path_options import WRITTEN_RESULT
from unnaive.apps.common.progress_bar import Progress
from unnaive.apps.common.screen import echo, is_quiet, note, say_summary
from unnaive.apps.common.shared_options import LABEL_OPTIONS, AsJson, ModelAddress, reading

if TYPE_CHECKING:
    from unnaive.base.types import RowValues
    from unnaive.io.datafiles import DataFile


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(predict)


@reading(
    "Documents: files, a folder, a text in quotes, or - for stdin (the default); each line of plain text is one.",
    optional=True,
    trained=True,
    without=LABEL_OPTIONS,
)
def predict(
    model: ModelAddress,
    source: DataFile,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="A text to classify, instead of DATA; may be repeated.")
    ] = None,
    output: Annotated[
        str | None,
        WRITTEN_RESULT,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write: .csv, .tsv, .jsonl or .parquet; by default stdout.",
            show_default=False,
        ),
    ] = None,
    keep_columns: Annotated[
        bool,
        BY_SET,
        typer.Option("--keep-columns", help="Write the columns of the input before the predictions."),
    ] = True,
    every: Annotated[bool, typer.Option("--all", help="Write the score of every class, one column for each.")] = False,
    top_k: Annotated[
        int, typer.Option(help="Number of best classes to write for each document.", metavar="K", min=1)
    ] = 1,
    undecided: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Label to write instead of unknown for rejected documents, and for documents without a known term.",
        ),
    ] = None,
    min_probability: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help="Label documents unknown (or as --undecided) if their best probability is below this value.",
        ),
    ] = None,
    out_of_scope_rate: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Label novel documents unknown, with this false alarm rate for known classes, e.g. 0.05.",
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="Also write a set of labels that contains the right one with this probability, e.g. 0.9."
        ),
    ] = None,
    by_class: Annotated[
        bool,
        needs("coverage"),
        typer.Option("--by-class", help="Guarantee --coverage for every class, including rare ones."),
    ] = False,
    at_least_one: Annotated[
        bool,
        needs("coverage"),
        typer.Option("--at-least-one", help="Never return an empty set; coverage may then exceed --coverage."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the terms that contributed most to each prediction.")
    ] = False,
    unbuffered: Annotated[
        bool, BY_SET, typer.Option("--unbuffered", help="Write each prediction as soon as its line is read.")
    ] = False,
    excel_safe: Annotated[
        bool,
        BY_SET,
        typer.Option("--excel-safe", help="Put ' before CSV cells that a spreadsheet would run as a formula."),
    ] = False,
    engine: Engine = "local",
    master: Master = None,
    ship: Ship = False,
    as_json: AsJson = False,
) -> None:
    """Predict the labels of new documents.

    The output is a table, or one JSON object per line with --json. Documents are streamed in constant memory. The
    column known_terms counts the terms of a document that the model knows; if it is 0, the label is only a guess.

    unnaive predict demo/tickets.model demo/test.csv -o predicted.csv
    unnaive predict demo/tickets.model "I was charged twice, please refund me"
    """
    from unnaive.apps.common.output import say_what_was_written
    from unnaive.base.errors import UnnaiveError
    from unnaive.base.open_files import local_path
    from unnaive.io.endings import written_format
    from unnaive.workflows.predict import predict_file

    texts = [path for path in source.paths if is_text(path)]
    if texts and len(texts) < len(source.paths):
        raise UnnaiveError(f"{texts[0]!r} is a text and not a file; give either texts or files")
    if document and source.path != "-":
        raise UnnaiveError(f"texts came with --document and as {source.path}; give one of the two")
    document = document or texts
    if excel_safe and written_format(Path(output) if output else None, as_json=as_json) not in ("csv", "tsv"):
        raise UnnaiveError("--set excel-safe is for CSV files, which a spreadsheet opens; leave it out")
    spark = choose_engine(engine, master, ship)
    if spark is not None:
        others = {
            "--document": document,
            "--all": every,
            "--top-k": top_k > 1,
            "--undecided": undecided,
            "--json": as_json,
        }
        others |= {
            "--min-probability": min_probability is not None,
            "--explain": explain,
            "--set unbuffered": unbuffered,
        }
        others |= {"--out-of-scope-rate": out_of_scope_rate is not None}
        others |= {"--coverage": coverage is not None, "--by-class": by_class, "--at-least-one": at_least_one}
        refuse_on_spark("predict", others | {"--set keep-columns": not keep_columns, "--set excel-safe": excel_safe})
        from unnaive.workflows.spark_jobs import predict_on_spark

        columns = predict_on_spark(spark, model, source, output)
        say_summary(f"wrote {output}, a folder of part files ({columns.describe()})")
        return
    path = None if output is None else local_path(output)
    people = path is None and not as_json and sys.stdout.isatty()
    live = not document and source.path == "-" and sys.stdin.isatty()
    if live:
        echo("note: type a text and press enter; Ctrl-D ends", err=True)
        source = replace(source, format=source.format or "lines")
    flush = sys.stdout.flush if (unbuffered or document) and output is None else None
    # the total of a stream is unknown
    with nullcontext() if live or document else Progress(in_logs=source.path != "-") as bar:
        result = predict_file(
            model, source, path or Path("-"), documents=document, format=written_format(path, as_json=as_json),
            keep_columns=keep_columns and not people, every=every, top_k=top_k, undecided=undecided,
            min_probability=min_probability, out_of_scope_rate=out_of_scope_rate,
            coverage=coverage, by_class=by_class, at_least_one=at_least_one, explain=explain,
            excel_safe=excel_safe, unbuffered=unbuffered or live, show=print_lines if people else None,
            flush=flush, progress=None if bar is None else bar.event,
        )  # fmt: skip
    if not is_quiet():
        for sentence in (*([] if result.read is None else [f"read {result.read}"]), *result.promises):
            echo(sentence, err=True)
    if path is not None:
        say_what_was_written(path)
    for sentence in result.notes:
        note(sentence)


PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def is_text(argument: str) -> bool:
    """Whether an argument is a text itself: it has a space, no slash and no ending of a file, and is no file.

    >>> is_text("I was charged twice"), is_text("my texts.csv"), is_text("texts")
    (True, False, False)
    """
    from unnaive.io.endings import READ

    looks_like_one = " " in argument.strip() and "/" not in argument and not argument.lower().endswith((*READ, *PACKED))
    return looks_like_one and not Path(argument).exists()


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
