"""`unnaive export`: a model for another language with a conformance file, and the check of an export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import READ, written_into
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.interop.export.conformance import EngineAgreement
    from unnaive.learning.fitted import FittedModel


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    model: Annotated[
        Path | None, READ, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)
    ] = None,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="TARGET", help="Target of the export: js, onnx, c, sql or clickhouse.", show_default=False
        ),
    ] = "",
    output: Annotated[
        Path | None,
        written_into(),
        typer.Option("-o", "--output", metavar="FOLDER", help="The folder to write.", show_default=False),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="With --to js, also write page.html, a web page that works offline.")
    ] = False,
    check: Annotated[
        Path | None,
        READ,
        typer.Option(
            "--check",
            metavar="FOLDER",
            help="Folder of an export to check with its conformance file.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export a linear model to JavaScript, ONNX, C, SQL or ClickHouse, or check that an export predicts alike.

    Every export has a conformance file of 400 texts with their labels and scores; --check compares the export with it.
    Models of records with fields can be exported to JavaScript, C and SQL.

    unnaive export demo/tickets.model --to js --page -o tickets-js
    """
    from unnaive.base.errors import UnnaiveError

    if check is not None:
        if model is not None or to or output is not None or page:
            raise UnnaiveError("--check takes only the folder of an export; leave the other arguments out")
        show_check(check, as_json=as_json)
        return
    if model is None or not to or output is None:
        raise UnnaiveError(
            "to export, give MODEL, --to js, onnx, c, sql or clickhouse, and -o FOLDER; or --check FOLDER"
        )
    write_export(model, to, output, page=page, as_json=as_json)


def write_export(path: Path, to: str, output: Path, *, page: bool, as_json: bool) -> None:
    """Write the export and describe it."""
    from unnaive.apps.common.screen import format_size, say_summary
    from unnaive.base.errors import UnnaiveError
    from unnaive.interop.export.export_folder import find_target
    from unnaive.workflows.export import export_file

    find_target(to)
    if page and to != "js":
        raise UnnaiveError(f"--page is only for --to js, not for {to}; leave it out")
    result = export_file(path, to, output, more=page_file if page else None)
    if as_json:
        echo(visible_json(result.to_dict()))
        return
    for written in result.files:
        say_summary(f"wrote {written} ({format_size(written.stat().st_size)})")
    say_summary(f"to check it: unnaive export --check {output}")


def page_file(fitted: FittedModel) -> dict[str, bytes]:
    """The page as a file of the export."""
    return {"page.html": make_page(fitted).encode()}


def make_page(fitted: FittedModel) -> str:
    """The page in one file, with the module of the model."""
    from unnaive.apps.common.web.single_page import single_page
    from unnaive.interop.export.javascript import javascript_module
    from unnaive.interop.export.portable import portable_model

    portable = portable_model(fitted, "page")
    return single_page(javascript_module(portable), f"{portable.title}, {len(portable.classes)} classes")


def show_check(folder: Path, *, as_json: bool) -> None:
    """Print how the export agrees with its conformance file; an error if it does not."""
    from unnaive.base.errors import UnnaiveError
    from unnaive.interop.export.export_folder import check_export

    agreements = check_export(folder)
    if as_json:
        echo(visible_json([describe(agreement) for agreement in agreements]))
    else:
        for agreement in agreements:
            echo(agreement.sentence())
    wrong = [agreement for agreement in agreements if not agreement.good]
    if wrong:
        raise UnnaiveError(
            f"{folder} does not agree with the model that it was exported from, e.g. on {wrong[0].example!r}; "
            "export the model again"
        )


def describe(agreement: EngineAgreement) -> dict[str, Any]:
    """An agreement as plain values."""
    from dataclasses import asdict

    return {**asdict(agreement), "good": agreement.good}
