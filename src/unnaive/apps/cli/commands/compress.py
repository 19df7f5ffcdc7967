"""`unnaive compress`: an existing model in a file of a maximum size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.common.path_options import WRITTEN_MODEL
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, ModelFile, reading
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compress)


@reading(
    "Labelled documents to measure accuracy on: a file, a folder, or - for stdin.",
    default=None,
    trained=True,
    without=("id",),
)
def compress(
    model: ModelFile,
    source: DataFile | None,
    output: Annotated[
        Path,
        WRITTEN_MODEL,
        typer.Option("-o", "--output", help="The compressed model file to write.", show_default=False),
    ],
    max_size: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Maximum size of the model file, e.g. 5MB or 800kB.", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Compress a model file to a maximum size: quantise the weights and drop the least useful terms.

    The compressed model cannot be updated. If DATA is given, the accuracy before and after is printed.

    unnaive compress demo/tickets.model demo/test.csv --label queue -o small.model --max-size 200kB
    """
    from unnaive.apps.cli.train_summary import size_sentences
    from unnaive.apps.common.screen import format_size, say_summary
    from unnaive.workflows.compress import compress_file

    result = compress_file(model, output, max_size, data=source)
    if as_json:
        echo(visible_json(result.to_dict()))
        return
    for sentence in size_sentences(result.changes, result.fitted.multilabel):
        say_summary(sentence)
    say_summary(f"wrote {output} ({format_size(output.stat().st_size)})")
