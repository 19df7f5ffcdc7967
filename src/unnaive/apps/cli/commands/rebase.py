"""`unnaive rebase`: teach a retrained model the documents that a served model was taught."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unnaive.apps.common.path_options import EXTENDED, WRITTEN_MODEL
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, ChangedModel
from unnaive.base.visible_text import visible_json

SHOWN = 10  # documents listed on the screen


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(rebase)


def rebase(
    model: ChangedModel,
    record: Annotated[
        Path,
        EXTENDED,
        typer.Option(
            metavar="FILE", help="Record of the served model: the file MODEL.record beside it.", show_default=False
        ),
    ],
    new_classes: Annotated[
        bool,
        typer.Option("--new-classes", help="Also apply documents of classes that the retrained model does not have."),
    ] = False,
    output: Annotated[
        Path | None,
        WRITTEN_MODEL,
        typer.Option("-o", "--output", help="Write the model to this file and leave MODEL unchanged."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Teach a retrained model the documents that a served model was taught.

    Documents that the retrained model has learnt already are skipped. Documents that cannot be applied are listed with
    the reason. The record can then be used with the new file. A running service does all this when its model file is
    replaced.

    unnaive train demo/train.csv --label queue --model nbsvm -o retrained.model
    unnaive rebase retrained.model --record demo/tickets.model.record -o tickets.model
    """
    from unnaive.workflows.rebase import rebase_file

    result = rebase_file(model, record, new_classes=new_classes, output=output)
    show_rebase(result.to_dict(), result.rebased.describe(), as_json)


def show_rebase(summary: dict[str, Any], described: str, as_json: bool) -> None:
    """Print what was applied, and what was not."""
    if as_json:
        echo(visible_json(summary))
        return
    from unnaive.apps.common.screen import say_summary as say
    from unnaive.text.sections import shown_record

    say(f"{summary['file']}: {described}")
    for change in summary["left"][:SHOWN]:
        text = shown_record(change["text"]).replace("\n", "; ")
        say(f"  not carried over: {', '.join(map(str, change['labels']))}: {text[:80]!r} ({change['reason']})")
    if len(summary["left"]) > SHOWN:
        say(f"  and {len(summary['left']) - SHOWN:,} more; --json lists them all")
