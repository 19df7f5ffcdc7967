"""`unnaive inspect`: settings, size and strongest terms of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.option_markers import excludes, needs
from unnaive.apps.common.path_options import WRITTEN
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, ModelFile
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(inspect)


def inspect(
    model: ModelFile,
    terms: Annotated[int, typer.Option(help="Number of terms to show for each class.", min=0)] = 8,
    label: Annotated[
        list[str] | None,
        excludes("network"),
        typer.Option("--class", metavar="CLASS", help="Show only this class; may be repeated."),
    ] = None,
    network: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Show the Bayesian network of this class.")
    ] = None,
    output: Annotated[
        Path | None,
        needs("network"),
        WRITTEN,
        typer.Option("-o", "--output", help="Write the network to a .bif, .uai, .png, .svg or .pdf file."),
    ] = None,
    members: Annotated[
        str,
        needs("network"),
        typer.Option(metavar="N|all", help="Which network to show if the model averages several; 1 is the best."),
    ] = "1",
    as_json: AsJson = False,
) -> None:
    """Show the settings, size and most informative terms of a model.

    unnaive inspect demo/tickets.model --terms 12
    """
    from unnaive.classifier.model_file import load_model
    from unnaive.learning.class_spellings import find_class
    from unnaive.workflows.describe_model import describe_file

    fitted = load_model(model)
    if network is not None:
        show_network(fitted, network, max(1, terms), output, members=members, as_json=as_json)
        return
    labels = [find_class(fitted, name) for name in label] if label else list(fitted.classes)
    description = describe_file(fitted, model, labels, terms)
    if as_json:
        echo(visible_json(description))
    else:
        show_description(description)


def show_description(description: dict[str, Any]) -> None:
    """Print the description of a model."""
    from rich.markup import escape

    from unnaive.apps.common.screen import console, format_size, plain_table

    screen = console()
    screen.print(f"[bold]{escape(description['file'])}[/]: {description['title']}, {format_size(description['bytes'])}")
    facts = plain_table("", "")
    facts.show_header = False
    for name, value in description_lines(description):
        facts.add_row(f"[dim]{name}[/]", escape(value))
    screen.print(facts)
    show_search(description.get("search") or {})
    thresholds = [">threshold"] if description["thresholds"] else []
    table = plain_table("class", ">documents", *thresholds, "strongest terms")
    for row in description["classes"]:
        count = "" if row["documents"] is None else f"{row['documents']:,}"
        threshold = [f"{row['threshold']:.3g}"] if description["thresholds"] else []
        table.add_row(escape(str(row["class"])), count, *threshold, escape(", ".join(term for term, _ in row["terms"])))
    screen.print()
    screen.print(table)


def show_search(search: dict[str, Any]) -> None:
    """The search of auto: accuracy on held-out documents, then the models of the pool with their shares."""
    from rich.markup import escape

    from unnaive.apps.common.screen import console, plain_table
    from unnaive.models.auto.search_report import accuracy_lines, member_table, remark_lines

    screen = console()
    for line in accuracy_lines(search):
        screen.print(line, markup=False)
    head, *rows = member_table(search) or [()]
    if rows:
        numbers = len(head) - 2  # the columns before the view and the model
        table = plain_table(*(f"{'>' * (place < numbers)}{name}" for place, name in enumerate(head)))
        for row in rows:
            table.add_row(*map(escape, row))
        screen.print()
        screen.print(table)
    for line in remark_lines(search):
        screen.print(line, markup=False)


ELSEWHERE = ("calibrate", "optimise")  # options that the lines about probabilities and the decision describe


def description_lines(description: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values of the lines to show."""

    def pairs(values: dict[str, Any]) -> str:
        return ", ".join(describe_setting(name, value) for name, value in values.items()) or "defaults"

    from unnaive.base.setting_words import describe_setting
    from unnaive.text.field import describe_fields, read_fields

    seen, reading = description["terms_seen"], dict(description["reading"])
    fields = read_fields(reading.pop("fields", None))
    training = {name: value for name, value in description["training"].items() if name not in ELSEWHERE}
    return [
        ("settings", pairs(description["settings"])),
        *([("training", pairs(training))] if training else []),
        ("reading", pairs(reading)),
        *([("fields", describe_fields(fields))] if fields else []),
        ("documents", _describe_documents(description)),
        (
            "terms",
            f"{description['terms']:,}" + _describe_seen(seen, description["terms"]),
        ),
        ("labels", description["labels"]),
        ("decision", description["decision"]),
        ("probabilities", describe_calibration(description)),
        ("can be updated", "yes" if description["can_be_updated"] else "no"),
    ]


def _describe_seen(seen: int | None, terms: int) -> str:
    """How many terms the training documents have, if the model has others; vectors add terms that no document has."""
    if not seen or seen == terms:
        return ""
    return f" of {seen:,} seen" if seen > terms else f", {seen:,} of them seen and the others by their vectors"


def _describe_documents(description: dict[str, Any]) -> str:
    from unnaive.apps.common.screen import format_size

    if description["documents"] is None:
        return "not kept"
    n_bytes = description["documents_bytes"]
    return f"{description['documents']:,}" + (
        f", kept as counts in {format_size(n_bytes)} of the file" if n_bytes else ""
    )


def describe_calibration(description: dict[str, Any]) -> str:
    """How probabilities were calibrated, in words."""
    if not description["probabilistic"]:
        return "none, only scores; train with --calibrate temperature to have them"
    kind, held_out = description["calibration"], description["held_out_documents"]
    words = {
        None: "calibrated while models were pooled" if description["calibrated"] else "as the model gives them",
        "temperature": f"calibrated by a temperature of {description['temperature'] or 1:.3g}",
        "platt": "calibrated by a logistic line for each class (Platt)",
        "isotonic": "calibrated by a rising function for each class (isotonic)",
    }
    sets = f"; sets with a confidence by {held_out:,} held-out documents" if held_out else ""
    return words[kind] + sets


def show_network(
    fitted: FittedModel,
    name: str,
    terms: int,
    output: Path | None,
    *,
    members: str = "1",
    as_json: bool = False,
) -> None:
    """The network of a class as lines or JSON, or as a file."""
    from unnaive.workflows.network_views import network_view, write_network

    view = network_view(fitted, name, terms, members)
    if output is not None:
        files = ", ".join(map(str, write_network(view, output)))
        echo(f"wrote {files}: {view.about}")
    elif as_json:
        echo(visible_json(view.to_dict()))
    else:
        for line in view.lines():
            echo(line)
