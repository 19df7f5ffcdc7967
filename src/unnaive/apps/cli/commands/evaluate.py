"""`unnaive evaluate`: measures of a model on labelled documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.cli.spark_engine import Engine, Master, Ship, choose_engine, refuse_on_spark, show_spark_measures
from unnaive.apps.common.option_markers import needs
from unnaive.apps.common.path_options import READ
from unnaive.apps.common.screen import MANY_CLASSES, TOO_MANY_CLASSES, echo, shown_classes
from unnaive.apps.common.shared_options import AsJson, ModelAddress, Reports, reading
from unnaive.base.errors import UnnaiveError
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.evaluation.abstention import AbstentionChoice
    from unnaive.evaluation.evaluate import Evaluation
    from unnaive.evaluation.out_of_scope import OutOfScope
    from unnaive.evaluation.reports.identity import Identity
    from unnaive.io.datafiles import DataFile
    from unnaive.workflows.evaluate import EvaluationResult


REPORTS = (".html", ".md", ".json")
NARROW = 60  # columns of a screen, below which tables have short headings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


@reading("Labelled documents: a file, a folder with a folder for each class, or - for stdin.", trained=True)
def evaluate(
    model: ModelAddress,
    source: DataFile,
    report: Reports = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Name of a measure to print, instead of the usual ones; may be repeated.")
    ] = None,
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
    """Evaluate a model on labelled documents that it has not seen.

    unnaive evaluate demo/tickets.model demo/test.csv --label queue --report report.html
    """
    from unnaive.apps.common.output import check_reports, write_reports
    from unnaive.apps.common.progress_bar import Progress
    from unnaive.apps.common.screen import console, say_summary
    from unnaive.evaluation.evaluation_report import as_markdown
    from unnaive.workflows.evaluate import evaluate_file

    check_reports(report, REPORTS)
    spark = choose_engine(engine, master, ship)
    if spark is not None:
        refuse_on_spark(
            "evaluate",
            {"--report": report, "--measure": measure, "--at-least": at_least is not None}
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
    with Progress() as bar:
        result = evaluate_file(
            model, source, measures=measure or (), target_accuracy=target_accuracy, confidence=confidence,
            out_of_scope=out_of_scope, progress=bar.event,
        )  # fmt: skip
    if as_json:
        echo(visible_json(result.to_dict()))
    else:
        say_summary(f"read {result.read}")
        if measure:
            console().print(printed_measure_table(result.measures, result.report.accuracy_interval))
        else:
            show_evaluation(result.report, result.measures)
        if result.abstention is not None:
            show_choice(result.abstention, model)
        if result.out_of_scope is not None:
            show_out_of_scope(result.out_of_scope, model)
    renderers = {
        ".html": lambda: write_page(model, source, result),
        ".md": lambda: as_markdown(result.report, identity=identify_evaluation(model, source, result)),
        ".json": lambda: visible_json(result.to_dict()) + "\n",
    }
    write_reports(report, renderers)
    if at_least is not None:
        check_at_least(result, measure, at_least)


def write_page(model: str, source: DataFile, result: EvaluationResult) -> str:
    """The page of the evaluation, about these files."""
    from unnaive.evaluation.evaluation_page import evaluation_page

    return evaluation_page(result.report, identity=identify_evaluation(model, source, result))


def identify_evaluation(model: str, source: DataFile, result: EvaluationResult) -> Identity:
    """What a report is about: the model file, whose hash is known, and the data."""
    from unnaive.apps.common.report_identity import identify

    known = {} if result.model_sha256 is None else {str(model): result.model_sha256}
    return identify({"model file": [model], "data": source.paths}, sha256=known)


def show_out_of_scope(novel: OutOfScope, model: str) -> None:
    """The detection of out-of-scope texts as a table, and the command."""
    from unnaive.apps.common.screen import console
    from unnaive.base.errors import count_noun

    rejected, detected = 100 * (novel.rejected or 0.0), 100 * (novel.told or 0.0)
    rows = [
        ("AUROC", f"{novel.auroc:.4f}"),
        (f"detected if {100 * novel.rate:g} % of the texts of the classes are rejected", f"{100 * novel.found:.1f} %"),
        ("texts of the classes rejected if 95 % are detected", f"{100 * novel.rejected_at_95:.1f} %"),
    ]
    screen = console()
    screen.print()
    screen.print(table_of_text((f"{count_noun(novel.out_of_scope, 'text')} of no class", ""), rows))
    screen.print(
        f"With a threshold from its held-out documents the model calls {detected:.1f} % of them unknown, "
        f"and {rejected:.1f} % of {count_noun(novel.in_scope, 'text')} of the classes:",
        markup=False,
    )
    screen.print(f"  unnaive predict {model} DATA --out-of-scope-rate {novel.rate:g}", markup=False)


class BelowTarget(UnnaiveError):
    """A measure is below the value of --at-least."""

    exit_code = 1


def check_at_least(result: EvaluationResult, measures: Sequence[str] | None, least: float) -> None:
    """Raise an error, for exit code 1, if the accuracy, or the measure that was named, is below `least`."""
    name = measures[0] if measures else next(iter(result.measures))
    value = result.measures[name]
    if value < least:
        raise BelowTarget(f"{name} is {value:.4f}, below {least:g} (--at-least)")


def show_evaluation(evaluation: Evaluation, values: Mapping[str, float]) -> None:
    """The report for people."""
    from unnaive.apps.common.screen import console
    from unnaive.base.errors import count_noun
    from unnaive.evaluation.evaluation_report import (
        ABSTENTION,
        ABSTENTION_NOTE,
        COVERAGE,
        abstention_rows,
        coverage_notes,
        coverage_rows,
    )

    screen = console()
    sizes = f"{count_noun(len(evaluation), 'document')}, {count_noun(len(evaluation.classes), 'class', 'classes')}"
    screen.print(f"{evaluation.name}: {sizes}", markup=False)
    screen.print(evaluation.model, markup=False, style="dim")
    support = dict(zip(evaluation.classes, evaluation.tally.support, strict=True))
    for sentence in class_mismatches(support, evaluation.unknown, evaluation.absent):
        screen.print(f"note: {sentence}", markup=False, style="yellow")
    if evaluation.drift is not None and evaluation.drift.differs:
        screen.print(f"note: {evaluation.drift.sentence()}", markup=False, style="yellow")
    screen.print()
    screen.print(printed_measure_table(values, evaluation.accuracy_interval))
    screen.print()
    screen.print(printed_class_table(evaluation))
    if len(evaluation.classes) > TOO_MANY_CLASSES:
        screen.print(shown_classes(len(evaluation.classes), "--report FILE.md or --json"), markup=False, style="dim")
    pairs = evaluation.confused_pairs(5)
    if pairs:
        screen.print()
        screen.print(printed_confusion_table(pairs))
    for head, rows in ((ABSTENTION, abstention_rows(evaluation)), (COVERAGE, coverage_rows(evaluation))):
        if rows:
            screen.print()
            screen.print(table_of_text(head, rows))
        if rows and head is ABSTENTION:
            screen.print(ABSTENTION_NOTE, markup=False, style="dim")
        if rows and head is COVERAGE:
            for sentence in coverage_notes(evaluation):
                screen.print(f"{sentence[0].upper()}{sentence[1:]}.", markup=False, style="dim")


def show_choice(choice: AbstentionChoice, model: str) -> None:
    """How to reject, as a sentence and a command."""
    from unnaive.apps.common.screen import console
    from unnaive.base.errors import count_noun

    screen = console()
    screen.print()
    screen.print(
        f"For an accuracy of {100 * choice.for_accuracy:g} % on new documents, with {100 * choice.sureness:g} % "
        f"confidence (chosen on {count_noun(choice.chosen_on, 'document')}; of {choice.reported_on:,} others it labels "
        f"{100 * choice.coverage:.1f} %, of which {100 * choice.accuracy:.1f} % are right):",
        markup=False,
    )
    screen.print(f"  unnaive predict {model} DATA --min-probability {choice.threshold:.6f}", markup=False)


def table_of_text(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """A table of rows of text, all but the first column to the right."""
    from unnaive.apps.common.screen import plain_table

    table = plain_table(head[0], *(f">{name}" for name in head[1:]))
    for row in rows:
        table.add_row(*row)
    return table


def class_mismatches(support: Mapping[str, float], unknown: Sequence[str], absent: Sequence[str]) -> list[str]:
    """Sentences about the classes that only the data has, the `unknown`, and those that macro averages leave out.

    support  documents of each class of the data and of the model

    >>> class_mismatches({"ham": 3, "news": 1, "spam": 0}, ["news"], ["spam"])
    ['the model was not trained on news: this 1 label cannot be right',
     'macro averages leave out 1 class without a document or a prediction here: spam']
    """
    from unnaive.evaluation.evaluation_report import absent_note

    sentences = []
    if unknown:
        lost = int(sum(support[name] for name in unknown))
        names = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        these = "this 1 label" if lost == 1 else f"these {lost:,} labels"
        sentences.append(f"the model was not trained on {names}: {these} cannot be right")
    return [*sentences, absent_note(absent)] if absent else sentences


def printed_measure_table(values: Mapping[str, float], accuracy_interval: tuple[float, float]) -> Any:
    """The measures, with the interval of the accuracy, and their meaning if the screen is wide enough."""
    from unnaive.apps.common.screen import console, plain_table
    from unnaive.evaluation.evaluation_report import describe_interval
    from unnaive.evaluation.measures import find_measure

    narrow = console().width < NARROW
    table = plain_table("measure", ">value", *([] if narrow else [""]))
    for name, value in values.items():
        table.add_row(name, f"{value:.4f}", *([] if narrow else [f"[dim]{find_measure(name).about}[/]"]))
        if name == "accuracy":
            table.add_row("  95 % interval", describe_interval(accuracy_interval))
    return table


def printed_class_table(evaluation: Evaluation) -> Any:
    """Precision, recall and F1 of each class, the largest first; with many classes, the lowest F1 first.

    With more than TOO_MANY_CLASSES classes, only the largest MANY_CLASSES.
    """
    from rich.markup import escape

    from unnaive.apps.common.screen import console, plain_table
    from unnaive.evaluation.evaluation_report import class_rows, worst_of_largest

    narrow = console().width < NARROW
    table = plain_table("class", *((">P", ">R") if narrow else (">precision", ">recall")), ">F1",
                        ">n" if narrow else ">documents")  # fmt: skip
    n_classes, digits = len(evaluation.classes), 2 if narrow else 3
    shown = n_classes if n_classes <= TOO_MANY_CLASSES else MANY_CLASSES
    rows = class_rows(evaluation) if n_classes <= MANY_CLASSES else worst_of_largest(evaluation, shown)
    for name, precision, recall, f1, size in rows:
        colour = "green" if f1 >= 0.8 else "yellow" if f1 >= 0.5 else "red"
        numbers = (f"{precision:.{digits}f}", f"{recall:.{digits}f}", f"[{colour}]{f1:.{digits}f}[/]", f"{size:,}")
        table.add_row(escape(name), *numbers)
    return table


def printed_confusion_table(pairs: list[tuple[str, str, int]]) -> Any:
    """The most frequent confusions of classes."""
    from rich.markup import escape

    from unnaive.apps.common.screen import console, plain_table

    table = plain_table("true class", "was predicted as", ">n" if console().width < NARROW else ">documents")
    for true, predicted, n in pairs:
        table.add_row(escape(true), escape(predicted), f"{n:,}")
    return table
