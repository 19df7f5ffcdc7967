"""`unnaive explain`: which terms of a text spoke for and against a class."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from unnaive.apps.options import AsJson, ModelFile


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(explain)


def explain(
    model: ModelFile,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text itself, or - for stdin.", show_default=False)],
    label: Annotated[str | None, typer.Option(help="The class to explain; the best one by default.")] = None,
    against: Annotated[str | None, typer.Option(help="The class to compare with.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the text marked.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show which words spoke for and against a class.

    The text is marked, green for and red against; the terms are listed with what each adds to the score.

    unnaive explain tickets.model "I was charged twice, please refund me"
    """
    from unnaive.apps.output import written
    from unnaive.apps.screen import console
    from unnaive.store import load

    classifier = load(model)
    found = classifier.explain(
        sys.stdin.read() if text == "-" else text, known(classifier, label), against=known(classifier, against)
    )
    if html is not None:
        with written(html) as file:
            file.write(page(found))
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        console().print(found)


def known(classifier: Any, name: str | None) -> Any:
    """The class that is spelt so; an error that lists the classes if there is none."""
    from unnaive.apps.output import spellings
    from unnaive.errors import choose

    if name is None:
        return None
    classes = spellings(classifier)
    return classes[choose(list(classes), name, "class")]


def page(found: Any) -> str:
    """A page that stands by itself."""
    from html import escape

    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<title>{escape(found.title)}</title></head>"
        "<body style='max-width:45em;margin:2em auto;padding:0 1em;font-family:sans-serif;color-scheme:light dark'>"
        f"{found._repr_html_()}</body></html>\n"
    )
