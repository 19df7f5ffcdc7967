"""`unnaive plot`: a figure of the records of a comparison, or of a model on data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.cli.overwriting import refuse_inputs
from unnaive.apps.common.option_markers import BY_SET
from unnaive.apps.common.path_options import READ, WRITTEN
from unnaive.apps.common.screen import echo, show_event
from unnaive.apps.common.shared_options import Archives, make_output_folders, reading
from unnaive.workflows.plot import CURVES, OF_A_MODEL, plan_figure, plot_file

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plot)


@reading(
    "For a model: labelled data to evaluate it on; only the test documents if the data has a split.",
    default=None,
    trained=True,
    without=("id",),
)
def plot(
    what: Annotated[
        Path, READ, typer.Argument(metavar="RECORDS|MODEL", help="Records of unnaive compare, or a model file.")
    ],
    source: DataFile | None,
    figure: Annotated[
        str | None,
        typer.Option("--figure", "-f", help=f"Figure: {', '.join((*CURVES, *OF_A_MODEL))}.", show_default=False),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="Measure of a curve; by default the first in the records.")
    ] = None,
    output: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(
            "-o", "--output", help="Image file to write: .png, .svg or .pdf; by default FIGURE.png.", show_default=False
        ),
    ] = None,
    title: Annotated[str | None, BY_SET, typer.Option(help="Title of the figure.")] = None,
    archives: Archives = None,
) -> None:
    """Plot the curves of a comparison, or the results of a model on data.

    unnaive plot demo/tickets.model demo/test.csv --label queue --figure confusion -o confusion.svg
    """
    request = plan_figure(what, figure, output)
    refuse_inputs([request.path], [str(what), *(() if source is None else source.paths)])
    make_output_folders([request.path])
    written = plot_file(
        what, source, request.path, figure=request.name, measure=measure, title=title, archives=archives,
        progress=show_event,
    )  # fmt: skip
    echo(f"wrote {written}")
