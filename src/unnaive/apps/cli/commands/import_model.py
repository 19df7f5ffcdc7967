"""`unnaive import`: turn a fastText classifier into an ordinary model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.apps.common.path_options import READ, WRITTEN_MODEL
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson
from unnaive.base.visible_text import visible_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_model)


def import_model(
    file: Annotated[
        Path, READ, typer.Argument(metavar="FILE", help="A fastText model file: .bin or .ftz.", show_default=False)
    ],
    output: Annotated[
        Path, WRITTEN_MODEL, typer.Option("-o", "--output", help="The model file to write.", show_default=False)
    ],
    multilabel: Annotated[
        bool,
        typer.Option(
            "--multilabel",
            help="Predict every label with a probability of at least 0.5 (for models with loss ova or ns).",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import a fastText classifier as a model with the same predictions.

    An imported model cannot be updated and cannot forget, because the file has no counts of its training documents.

    unnaive import lid.176.ftz -o lid.model
    """
    from unnaive.apps.common.screen import format_size, say_summary
    from unnaive.base.errors import count_noun
    from unnaive.workflows.import_model import import_file

    result = import_file(file, output, multilabel=multilabel)
    about = result.to_dict()
    if as_json:
        echo(visible_json(about))
        return
    words = [count_noun(about["classes"], "class", "classes"), count_noun(about["words"], "word")]
    options = [f"{name} {value}" for name, value in result.fitted.reading.items()]
    say_summary(f"read {file}: {', '.join([*words, *options])}")
    say_summary(f"wrote {output} ({format_size(about['bytes'])})")
