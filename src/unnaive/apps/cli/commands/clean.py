"""`unnaive clean`: apply the accepted findings of an audit and write the data to another file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.common.option_markers import needs
from unnaive.apps.common.path_options import READ, WRITTEN
from unnaive.apps.common.screen import echo, note
from unnaive.apps.common.shared_options import AsJson, make_output_folders, reading
from unnaive.base.errors import count_noun
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile


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
        float,
        needs("accept"),
        typer.Option(min=0, max=1, help="Minimum score of the findings that --accept accepts, from 0 to 1."),
    ] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Apply the accepted findings of an audit: write the data without dropped rows and with corrected labels.

    A finding is accepted if its cell in the column accept is yes, or if its kind is named with --accept and its cell in
    the column bulk is yes: label errors with a proposed label of probability .9 or more, as many as are estimated.

    unnaive audit demo/train.csv --label queue -o audit
    unnaive clean demo/train.csv audit/findings.csv --label queue -o fixed.csv --accept label-error
    """
    from unnaive.apps.common.progress_bar import Progress
    from unnaive.apps.common.screen import say_summary
    from unnaive.workflows.clean import clean_file

    make_output_folders([output])
    with Progress() as bar:
        result = clean_file(source, findings, output, accept=accept or (), min_score=min_score, progress=bar.event)
    if as_json:
        echo(visible_json(result.to_dict()))
        return
    say_summary(
        f"{count_noun(result.read, 'row')}: {result.dropped:,} dropped, {result.relabelled:,} given another label, "
        f"{result.renamed:,} with a label renamed; {result.written:,} written to {output}"
    )
    for kind, n in result.left.items():
        note(f"left {count_noun(n, 'finding')} of kind {kind} that nobody has read; write yes into their column accept")
    if result.relabelled:
        note(
            "an accuracy that train or compare measures on these rows is too high: labels were changed where models "
            "doubt them; measure with evaluate, on documents whose labels were not changed"
        )
    if not result.changed:
        say_summary(f"nothing changed: write yes into the column accept of {findings}, or name a kind with --accept")
