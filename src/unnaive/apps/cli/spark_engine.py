"""--engine, --set master and --set ship of train, predict, evaluate and compare, and Spark's measures printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.option_markers import BY_SET, needs
from unnaive.base.errors import UnnaiveError, choose, count_noun

if TYPE_CHECKING:
    from unnaive.workflows.spark_jobs import SparkEngine

ENGINES = ("local", "spark")
PANEL = "Spark"

Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|spark",
        help="Where to run: on this machine (local) or on Spark.",
        rich_help_panel=PANEL,
    ),
]
Master = Annotated[
    str | None,
    BY_SET,
    needs("engine=spark"),
    typer.Option(
        "--master",
        metavar="URL",
        help="Address of the Spark master, e.g. local[*], spark://HOST:7077 or yarn.",
        rich_help_panel=PANEL,
    ),
]
Ship = Annotated[
    bool,
    BY_SET,
    needs("engine=spark"),
    typer.Option("--ship", help="Send this package to the Spark executors.", rich_help_panel=PANEL),
]


def choose_engine(engine: str, master: str | None, ship: bool) -> SparkEngine | None:
    """The engine, or None for local work.

    >>> choose_engine("local", None, False)
    """
    if choose(list(ENGINES), engine, "engine") == "spark":
        from unnaive.workflows.spark_jobs import SparkEngine

        return SparkEngine(master, ship)
    return None


def refuse_on_spark(verb: str, options: dict[str, Any]) -> None:
    """Raise an error if options were given that Spark does not support."""
    unsupported = [name for name, value in options.items() if value]
    if unsupported:
        raise UnnaiveError(f"{verb} --engine spark has no {unsupported[0]}; leave it out, or use --engine local")


def show_spark_measures(results: dict[str, Any]) -> None:
    """Print the results of `evaluate_on_spark`: the measures, then the classes, the largest first.

    With very many classes, only the largest are shown, lowest F1 first.
    """
    from rich.markup import escape

    from unnaive.apps.common.screen import MANY_CLASSES, TOO_MANY_CLASSES, console, plain_table, shown_classes
    from unnaive.evaluation.evaluation_report import describe_interval

    screen = console()
    table = plain_table("measure", ">value")
    for name in ("accuracy", "micro-f1", "macro-f1"):
        table.add_row(name, f"{results[name]:.4f}")
        if name == "accuracy":
            table.add_row("  95 % interval", describe_interval(results["accuracy_interval"]))
    documents, classes = (
        count_noun(results["documents"], "document"),
        count_noun(len(results["by class"]), "class", "classes"),
    )
    screen.print(f"{documents}, {classes}", markup=False)
    screen.print(table, "")
    table = plain_table("class", ">precision", ">recall", ">F1", ">documents")
    rows, n_classes = sorted(results["by class"], key=lambda row: -row["documents"]), len(results["by class"])
    if n_classes > TOO_MANY_CLASSES:
        rows = sorted(rows[:MANY_CLASSES], key=lambda row: row["f1"])
    for row in rows:
        numbers = (f"{row[name]:.3f}" for name in ("precision", "recall", "f1"))
        table.add_row(escape(row["class"]), *numbers, f"{row['documents']:,}")
    screen.print(table)
    if n_classes > TOO_MANY_CLASSES:
        screen.print(shown_classes(n_classes, "--json"), markup=False, style="dim")
