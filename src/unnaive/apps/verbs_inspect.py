"""`unnaive inspect`: what a model is, how large, and what speaks for each class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.options import AsJson, ModelFile
from unnaive.errors import UnnaiveError

if TYPE_CHECKING:
    from unnaive.classifier import TextClassifier


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(inspect)


def inspect(
    model: ModelFile,
    terms: Annotated[int, typer.Option(help="Terms to show of each class.", min=0)] = 8,
    label: Annotated[list[str] | None, typer.Option("--class", help="Only this class; may be repeated.")] = None,
    network: Annotated[str | None, typer.Option(metavar="CLASS", help="The Bayesian network of a class.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the network: .bif, .uai, .png, .svg or .pdf.")
    ] = None,
    members: Annotated[
        str, typer.Option(metavar="N|all", help="Of averaged networks this one, the best being 1, or all of them.")
    ] = "1",
    as_json: AsJson = False,
) -> None:
    """Show the settings, sizes and strongest terms of a model.

    unnaive inspect tickets.model --terms 12
    """
    from unnaive.apps.verbs_explain import known
    from unnaive.store import load

    classifier = load(model)
    if network is not None:
        show_network(classifier, network, max(1, terms), output, members=members, as_json=as_json)
        return
    if output is not None:
        raise UnnaiveError(f"{output} is for the network of a class; name the class with --network")
    shown = [known(classifier, name) for name in label] if label else classifier.classes_.tolist()
    found = described(classifier, model, shown, terms)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        show(found)


def described(classifier: TextClassifier, path: Path, labels: list[Any], terms: int) -> dict[str, Any]:
    """What there is to know, as plain values."""
    from unnaive.explain import strongest_terms
    from unnaive.models.catalogue import find_model

    ledger = classifier.ledger_
    classes = classifier.classes_.tolist()
    documents = dict(zip(classes, ledger.counts.class_docs.tolist(), strict=True)) if ledger is not None else {}
    model = find_model(classifier.model)
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "model": model.name,
        "title": model.title,
        "settings": {**classifier._settings},
        "reading": {name: value for name, value in classifier.rule.to_dict().items() if value not in (None, False)},
        "min_df": classifier.min_df,
        "select": classifier.select,
        "labels": "one for each document" if classifier.form_ == "single" else "any number for each document",
        "decision": str(classifier.decision_),
        "temperature": classifier.temperature_ and classifier.temperature_.value,
        "documents": ledger and _number(ledger.counts.n_docs),
        "terms": len(classifier.vocabulary_),
        "terms_seen": ledger and len(ledger.vocabulary),
        "can_be_updated": ledger is not None,
        "classes": [
            {"class": label, "documents": documents.get(label), "terms": strongest_terms(classifier, label, terms)}
            for label in labels
        ],
    }


def _number(value: Any) -> float | int:
    return int(value) if value == int(value) else float(value)


def show(found: dict[str, Any]) -> None:
    """The same for people."""
    from rich.markup import escape

    from unnaive.apps.screen import console, plain_table, size

    screen = console()
    screen.print(f"[bold]{escape(found['file'])}[/]: {found['title']}, {size(found['bytes'])}")
    facts = plain_table("", "")
    facts.show_header = False
    for name, value in facts_of(found):
        facts.add_row(f"[dim]{name}[/]", escape(value))
    screen.print(facts)
    table = plain_table("class", ">documents", "strongest terms")
    for one in found["classes"]:
        count = "" if one["documents"] is None else f"{one['documents']:,}"
        table.add_row(escape(str(one["class"])), count, escape(", ".join(term for term, _ in one["terms"])))
    screen.print()
    screen.print(table)


def facts_of(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and value of what is worth a line."""

    def pairs(values: dict[str, Any]) -> str:
        return ", ".join(f"{name}={value}" for name, value in values.items()) or "defaults"

    seen = found["terms_seen"]
    return [
        ("settings", pairs(found["settings"])),
        ("reading", pairs(found["reading"])),
        ("documents", "not kept" if found["documents"] is None else f"{found['documents']:,}"),
        ("terms", f"{found['terms']:,}" + (f" of {seen:,} seen" if seen and seen != found["terms"] else "")),
        ("labels", found["labels"]),
        ("can be updated", "yes" if found["can_be_updated"] else "no"),
    ]


def show_network(
    classifier: TextClassifier,
    name: str,
    terms: int,
    output: Path | None,
    *,
    members: str = "1",
    as_json: bool = False,
) -> None:
    """The network of a class as lines or JSON, or as a file."""
    from unnaive.apps.verbs_network import network_json, network_lines, network_view, write_network

    view = network_view(classifier, name, terms, members)
    if output is not None:
        files = ", ".join(map(str, write_network(view, output)))
        typer.echo(f"wrote {files}: {view.about}")
    elif as_json:
        typer.echo(json.dumps(network_json(view), ensure_ascii=False))
    else:
        for line in network_lines(view):
            typer.echo(line)
