"""`unnaive filter`: keep the texts of a corpus that a model assigns to given classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.common.option_markers import needs
from unnaive.apps.common.path_options import READ, WRITTEN_RESULT
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import (
    FIELD_OPTIONS,
    LABEL_OPTIONS,
    STDOUT,
    AsJson,
    ModelFile,
    Page,
    reading,
)
from unnaive.base.open_files import STDIN

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("filter")(filter_command)


@reading(
    "Texts: .jsonl, .parquet, .warc, .wet or .txt files, also compressed, folders of them, or - for stdin.",
    without=(*FIELD_OPTIONS, "vector", "id"),
    needed=dict.fromkeys((*LABEL_OPTIONS, "delimiter", "header"), needs("held_out")),
)
def filter_command(
    model: ModelFile,
    source: DataFile,
    keep: Annotated[
        list[str],
        typer.Option(
            "--class", metavar="CLASS", help="Class of the texts to keep; may be repeated.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        WRITTEN_RESULT,
        typer.Option(
            "-o",
            "--output",
            help="File to write, or a folder if DATA is several files; by default stdout.",
            show_default=False,
        ),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(metavar="P", help="Minimum probability of the kept classes, e.g. 0.5."),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Minimum share of the wanted texts to keep; the threshold is chosen on --held-out."
        ),
    ] = None,
    held_out: Annotated[
        Path | None, READ, typer.Option(help="Labelled texts that the model was not trained on, for --recall.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Probability that new texts reach the recall of --recall; by default 0.9."),
    ] = None,
    report: Page = None,
    as_json: AsJson = False,
    *,
    read_like: Callable[..., DataFile],
) -> None:
    """Filter a corpus: keep the texts that a model assigns to given classes.

    Kept texts are written unchanged and in order. For a folder of shards, the output is a folder with the same file
    names. The same command continues an interrupted run.

    unnaive predict demo/tickets.model demo/test.csv -o texts.jsonl
    unnaive filter demo/tickets.model texts.jsonl -o billing.jsonl --class billing --above 0.5
    """
    from unnaive.apps.common.output import check_reports, write_reports
    from unnaive.apps.common.progress_bar import Progress
    from unnaive.apps.common.report_identity import identify
    from unnaive.apps.common.screen import say_summary
    from unnaive.base.visible_text import visible_json
    from unnaive.scaleout.filter.filter_page import filter_page
    from unnaive.workflows.filter import CONFIDENCE, filter_files

    target = None if output is None or output == STDOUT else output
    check_cut(above, recall, held_out, confidence)
    check_reports(report, (".html",))
    labelled = None if held_out is None else replace(read_like([str(held_out)]), format=None)
    with Progress(in_logs=any(path != STDIN for path in source.paths)) as bar:
        result = filter_files(
            model, source, keep, target, above=above, recall=recall, held_out=labelled,
            confidence=CONFIDENCE if confidence is None else confidence, progress=bar.event,
        )  # fmt: skip
    if as_json:
        echo(visible_json(result.to_dict()), err=target is None)
    else:
        tell = say_summary if target is not None else note_summary
        for sentence in result.report.sentences():
            tell(sentence)
    about = {"model file": [model], "data": source.paths, "held-out data": [held_out]}
    write_reports(report, {".html": lambda: filter_page(result.report, identity=identify(about))})


def note_summary(line: str) -> None:
    """Print a summary line on stderr, where stdout has the texts, unless --quiet."""
    from unnaive.apps.common.screen import is_quiet

    if not is_quiet():
        echo(line, err=True)


def check_cut(above: float | None, recall: float | None, held_out: Path | None, confidence: float | None) -> None:
    """Raise an error unless exactly one way to set the threshold was given."""
    from unnaive.base.errors import UnnaiveError

    if (above is None) == (recall is None):
        problem = "no threshold was given" if above is None else "--above and --recall were both given"
        raise UnnaiveError(f"{problem}; give either --above 0.5, or --recall 0.9 with --held-out LABELLED")
    if recall is not None and held_out is None:
        raise UnnaiveError("--recall needs labelled texts that the model has not learnt; add --held-out LABELLED")
    if recall is None and held_out is not None:
        raise UnnaiveError("--held-out is used only with --recall; leave it out, or replace --above by --recall")
    if recall is None and confidence is not None:
        raise UnnaiveError("--confidence is used only with --recall; leave it out, or replace --above by --recall")
