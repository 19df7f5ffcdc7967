"""`unnaive evaluate`: measures of a model on labelled documents, or its estimated accuracy on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.cli.spark_engine import Engine, Master, Ship, choose_engine, refuse_on_spark, show_spark_measures
from unnaive.apps.common.option_markers import excludes, needs
from unnaive.apps.common.path_options import READ
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, ModelAddress, Reports, reading
from unnaive.base.errors import UnnaiveError
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.data.corpus import NoLabels
    from unnaive.io.datafiles import DataFile
    from unnaive.workflows.evaluate import EvaluationResult


REPORTS = (".html", ".md", ".json")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


@reading(
    "Labelled documents: a file, a folder with a folder for each class, or - for stdin; texts without labels too.",
    trained=True,
)
def evaluate(
    model: ModelAddress,
    source: DataFile,
    report: Reports = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Name of a measure to print, instead of the usual ones; may be repeated.")
    ] = None,
    every: Annotated[
        bool,
        excludes("measure", "as_json"),
        typer.Option(
            "--all",
            help="Also print all measures and classes, what rejecting uncertain documents brings, label sets.",
        ),
    ] = False,
    target_accuracy: Annotated[
        float | None,
        typer.Option(
            metavar="ACCURACY",
            help="Accuracy that labelled documents should have, e.g. 0.95; prints the --min-probability for it.",
        ),
    ] = None,
    confidence: Annotated[
        float,
        needs("target_accuracy"),
        typer.Option(metavar="SHARE", help="Probability that new documents reach the accuracy of --target-accuracy."),
    ] = 0.9,
    at_least: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Exit with 1 if the accuracy, or the measure of --measure, is below this value, e.g. 0.9.",
        ),
    ] = None,
    out_of_scope: Annotated[
        Path | None,
        READ,
        typer.Option(help="Texts that belong to no class, to measure how well the model detects them."),
    ] = None,
    engine: Engine = "local",
    master: Master = None,
    ship: Ship = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model on labelled documents that it has not seen, or estimate its accuracy on texts without labels.

    unnaive evaluate demo/tickets.model demo/test.csv --label queue --report report.html
    """
    from unnaive.apps.cli.evaluation_summary import (
        class_mismatches,
        printed_measure_table,
        show_choice,
        show_evaluation,
        show_out_of_scope,
    )
    from unnaive.apps.common.output import check_reports, write_reports
    from unnaive.apps.common.progress_bar import Progress
    from unnaive.apps.common.screen import console, say_summary
    from unnaive.data.corpus import NoLabels
    from unnaive.workflows.evaluate import evaluate_file

    check_reports(report, REPORTS)
    spark = choose_engine(engine, master, ship)
    if spark is not None:
        refuse_on_spark(
            "evaluate",
            {"--report": report, "--measure": measure, "--all": every, "--at-least": at_least is not None}
            | {"--target-accuracy": target_accuracy is not None, "--out-of-scope": out_of_scope},
        )
        from unnaive.workflows.spark_jobs import evaluate_on_spark

        on_spark = evaluate_on_spark(spark, model, source)
        if as_json:
            echo(visible_json(on_spark))
        else:
            show_spark_measures(on_spark)
            support = {row["class"]: row["documents"] for row in on_spark["by class"]}
            for sentence in class_mismatches(support, on_spark["unknown"], on_spark["absent"]):
                echo(f"note: {sentence}", err=True)
        return
    try:
        with Progress() as bar:
            result = evaluate_file(
                model, source, measures=measure or (), target_accuracy=target_accuracy, confidence=confidence,
                out_of_scope=out_of_scope, progress=bar.event,
            )  # fmt: skip
    except NoLabels as problem:
        needing = {"--measure": measure, "--target-accuracy": target_accuracy, "--out-of-scope": out_of_scope}
        estimate_without_labels(
            model, source, problem, {**needing, "--report": report}, at_least=at_least, as_json=as_json
        )
        return
    if as_json:
        echo(visible_json(result.to_dict()))
    else:
        say_summary(f"read {result.read}")
        if measure:
            console().print(printed_measure_table(result.report, result.measures))
        else:
            show_evaluation(result.report, result.measures, every=every)
        if result.abstention is not None:
            show_choice(result.abstention, model)
        if result.out_of_scope is not None:
            show_out_of_scope(result.out_of_scope, model)
        if not every and not measure:
            say_summary("next: --all adds all measures and label sets, --report report.html writes a page")
    renderers = {
        ".html": lambda: render_report(model, source, result, "html"),
        ".md": lambda: render_report(model, source, result, "md"),
        ".json": lambda: visible_json(result.to_dict()) + "\n",
    }
    write_reports(report, renderers)
    if at_least is not None:
        check_at_least(result, measure, at_least)


def estimate_without_labels(
    model: str,
    source: DataFile,
    problem: NoLabels,
    needing: Mapping[str, object],
    *,
    at_least: float | None,
    as_json: bool,
) -> None:
    """Print the estimated accuracy on data without labels; the error if labels were named or an option needs them."""
    from unnaive.apps.cli.estimate_screen import show_estimate
    from unnaive.apps.common.progress_bar import Progress
    from unnaive.apps.common.screen import say_summary
    from unnaive.workflows.estimate_accuracy import estimate_accuracy_file
    from unnaive.workflows.labelled_documents import names_labels

    option = next((name for name, value in needing.items() if value), None)
    if names_labels(source):
        raise problem
    if option is not None:
        raise UnnaiveError(f"{option} needs documents with labels: {problem}") from problem
    try:
        with Progress() as bar:
            result = estimate_accuracy_file(model, source, progress=bar.event)
    except UnnaiveError as reason:
        raise UnnaiveError(f"no labels were found ({problem}), and {reason}") from problem
    echo(f"note: no labels were found, so the accuracy is estimated ({problem})", err=True)
    if as_json:
        echo(visible_json(result.to_dict()))
    else:
        say_summary(f"read {result.read}")
        show_estimate(result)
    if at_least is not None and result.estimate.accuracy < at_least:
        raise BelowTarget(f"the estimated accuracy is {result.estimate.accuracy:.4f}, below {at_least:g} (--at-least)")


def render_report(model: str, source: DataFile, result: EvaluationResult, format: str) -> str:
    """The evaluation as "html" or "md", with the model file, whose hash is known, and the data that it is about."""
    from unnaive.apps.common.report_identity import identify
    from unnaive.evaluation.evaluation_page import evaluation_page
    from unnaive.evaluation.evaluation_report import as_markdown

    known = {} if result.model_sha256 is None else {str(model): result.model_sha256}
    identity = identify({"model file": [model], "data": source.paths}, sha256=known)
    return (evaluation_page if format == "html" else as_markdown)(result.report, identity=identity)


class BelowTarget(UnnaiveError):
    """A measure is below the value of --at-least."""

    exit_code = 1


def check_at_least(result: EvaluationResult, measures: Sequence[str] | None, least: float) -> None:
    """Raise an error, for exit code 1, if the accuracy, or the measure that was named, is below `least`."""
    name = measures[0] if measures else next(iter(result.measures))
    value = result.measures[name]
    if value < least:
        raise BelowTarget(f"{name} is {value:.4f}, below {least:g} (--at-least)")
