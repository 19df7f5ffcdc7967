"""`unnaive verify`: whether a model has forgotten what a receipt says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from unnaive.apps.cli.options import AsJson, KeyFile, ModelFile
from unnaive.apps.cli.paths import READ
from unnaive.apps.cli.screen import echo, say_summary
from unnaive.base.errors import UnnaiveError
from unnaive.base.visible_text import visible_json


class NotVerified(UnnaiveError):
    """A receipt that does not hold."""

    exit_code = 1


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(verify)


def verify(
    model: ModelFile,
    receipt: Annotated[Path, READ, typer.Option(help="The receipt that unnaive forget wrote.", show_default=False)],
    against: Annotated[
        str | None,
        READ,
        typer.Option(metavar="DATA", help="The training data without the forgotten documents.", show_default=False),
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", help="Column of text in the data of --against.")] = None,
    label: Annotated[str | None, typer.Option("--label", help="Column of labels in the data of --against.")] = None,
    key: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Check a receipt of unlearning against a model.

    With --against, a model is trained on the data that is left, and must have the same counts or counted documents, and
    the same bytes.

    unnaive verify tickets.model --receipt withdrawn.json --against rest.csv
    """
    from unnaive.classifier.model_file import load_model
    from unnaive.classifier.receipts import check_against, check_receipt, read_key, read_receipt
    from unnaive.io.sources import hash_file

    found, fitted = read_receipt(receipt), load_model(model)
    checks = check_receipt(fitted, found, hash_file(model))
    if against is not None:
        texts, labels = read_rest(against, fitted, text, label)
        checks += check_against(fitted, found, texts, labels, read_key(key))
    if as_json:
        echo(visible_json({"verified": all(one.holds for one in checks), "checks": [asdict(one) for one in checks]}))
    else:
        for one in checks:
            echo(f"{'yes' if one.holds else 'NO '}  {one.sentence}")
        for part in found.get("kept_from_before", ()):
            say_summary(f"note  the {part} was made before the documents were forgotten, and is kept")
    if not all(one.holds for one in checks):
        raise NotVerified("the receipt does not hold for this model")


def read_rest(path: str, fitted: Any, text: list[str] | None, label: str | None) -> tuple[Any, list[tuple[Any, ...]]]:
    """The documents that the model should have left."""
    from unnaive.apps.cli.commands.change import read_labelled
    from unnaive.apps.cli.options import data_file, shared_defaults

    return read_labelled(data_file([path], **(shared_defaults() | {"text": text, "label": label})), fitted)
