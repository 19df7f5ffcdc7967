"""`unnaive verify`: check whether a model has forgotten what a receipt says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unnaive.apps.common.path_options import READ
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, KeyFile, ModelFile
from unnaive.base.errors import UnnaiveError
from unnaive.base.visible_text import visible_json
from unnaive.io.read_options import COLUMN_OPTIONS

WORDS = {True: "yes", False: "NO", None: "not checked"}


class NotVerified(UnnaiveError):
    """A receipt is not valid for the model."""

    exit_code = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(verify)


def verify(
    model: ModelFile,
    receipt: Annotated[
        list[Path],
        READ,
        typer.Option(help="A receipt from unnaive forget; may be repeated, in any order.", show_default=False),
    ],
    remaining: Annotated[
        str | None,
        READ,
        typer.Option(metavar="DATA", help="The training data without the forgotten documents.", show_default=False),
    ] = None,
    forgotten: Annotated[
        str | None,
        READ,
        typer.Option(
            metavar="DATA",
            help="The forgotten documents; their hashes must be those of the receipts.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", metavar="COLUMN", help=COLUMN_OPTIONS["text"].doc)] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="COLUMN", help=COLUMN_OPTIONS["label"].doc)] = None,
    signer: Annotated[
        Path | None,
        READ,
        typer.Option(metavar="FILE", help="Ed25519 public key (PEM) to check the signatures with.", show_default=False),
    ] = None,
    key: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Check the receipts of unnaive forget against a model, and print what could not be checked.

    With --remaining, a new model is trained on the remaining data; it must equal MODEL byte for byte.

    unnaive train demo/train.csv --label queue --model nbsvm -o tickets.model
    unnaive update tickets.model demo/test.csv --label queue
    unnaive forget tickets.model demo/test.csv --label queue --receipt forgotten.json
    unnaive verify tickets.model --receipt forgotten.json --remaining demo/train.csv --label queue
    """
    from unnaive.apps.common.shared_options import data_file, shared_defaults
    from unnaive.workflows.verify import verify_file

    columns = shared_defaults() | {"text": text, "label": label}
    result = verify_file(
        model, receipt, remaining=None if remaining is None else data_file([remaining], **columns),
        forgotten=None if forgotten is None else data_file([forgotten], **columns), signer=signer, key=key,
    )  # fmt: skip
    if as_json:
        echo(visible_json(result.to_dict()))
    else:
        for check in sorted(result.checks, key=lambda check: check.holds is None):
            echo(f"{WORDS[check.holds]:<12}{check.name:<11}{check.sentence}")
        if result.verified is None:
            echo("No check contradicts the receipt, but no check shows that the documents are gone.")
    if result.verified is False:
        raise NotVerified("the receipt does not hold for this model")
