"""Show an evaluation for people: a headline, tables by class and of confusions, and what --all adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unnaive.apps.common.screen import MANY_CLASSES, TOO_MANY_CLASSES, shown_classes

if TYPE_CHECKING:
    from unnaive.evaluation.abstention import AbstentionChoice
    from unnaive.evaluation.evaluate import Evaluation
    from unnaive.evaluation.out_of_scope import OutOfScope

NARROW = 60  # columns of a screen, below which tables have short headings


def show_evaluation(evaluation: Evaluation, values: Mapping[str, float], *, every: bool = False) -> None:
    """The headline, the table by class and the top confusions; with `every` also all measures, rejection and sets."""
    from unnaive.apps.common.screen import console

    screen = console()
    screen.print(headline(evaluation, values), markup=False, style="bold")
    if every:
        screen.print(evaluation.model, markup=False, style="dim")
    support = dict(zip(evaluation.classes, evaluation.tally.support, strict=True))
    for sentence in class_mismatches(support, evaluation.unknown, evaluation.absent):
        screen.print(f"note: {sentence}", markup=False, style="yellow")
    if every:
        screen.print()
        screen.print(printed_measure_table(evaluation, values))
    screen.print()
    most = TOO_MANY_CLASSES if every else MANY_CLASSES
    screen.print(printed_class_table(evaluation, most))
    if len(evaluation.classes) > most:
        with_all = len(evaluation.classes) <= TOO_MANY_CLASSES
        elsewhere = "--all" if with_all else "--report FILE.md or --json"
        screen.print(shown_classes(len(evaluation.classes), elsewhere), markup=False, style="dim")
    pairs = evaluation.confused_pairs(5)
    if pairs:
        screen.print()
        screen.print(printed_confusion_table(pairs))
    if every:
        show_decisions(evaluation)
    if evaluation.drift is not None and evaluation.drift.differs:
        screen.print()
        screen.print(f"note: {evaluation.drift.sentence()}", markup=False)


def headline(evaluation: Evaluation, values: Mapping[str, float]) -> str:
    """The result in one sentence.

    >>> from unnaive import TextClassifier, evaluate
    >>> model = TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"])
    >>> evaluation = evaluate(model, ["a ball", "a vote", "the ball"], ["sport", "politics", "politics"])
    >>> headline(evaluation, evaluation.measures)
    '66.7 % of 3 documents got the right one of 2 classes (95 % interval 20.8 to 93.9 %); macro F1 0.667'
    """
    from unnaive.base.errors import count_noun

    low, high = evaluation.accuracy_interval
    share, interval = (
        f"{100 * evaluation.tally.accuracy:.1f} %",
        f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)",
    )
    documents = count_noun(len(evaluation), "document")
    f1 = [f"{name.replace('-f1', ' F1')} {values[name]:.3f}" for name in ("micro-f1", "macro-f1") if name in values]
    if evaluation.exclusive:
        whole = f"{share} of {documents} got the right one of {count_noun(len(evaluation.classes), 'class', 'classes')}"
        return "; ".join([f"{whole} {interval}", *f1[-1:]])
    return f"{', '.join(f1)} on {documents}; {share} of them got all labels right {interval}"


def show_decisions(evaluation: Evaluation) -> None:
    """What rejecting uncertain documents brings, and how large label sets are."""
    from unnaive.apps.common.screen import console
    from unnaive.evaluation.evaluation_report import (
        ABSTENTION,
        ABSTENTION_NOTE,
        COVERAGE,
        abstention_rows,
        coverage_notes,
        coverage_rows,
    )

    screen = console()
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


def printed_measure_table(evaluation: Evaluation, values: Mapping[str, float]) -> Any:
    """The measures, with the interval of the accuracy, and their meaning if the screen is wide enough."""
    from unnaive.apps.common.screen import console, plain_table
    from unnaive.evaluation.evaluation_report import describe_interval
    from unnaive.evaluation.measures import find_measure

    narrow = console().width < NARROW
    table = plain_table("measure", ">value", *([] if narrow else [""]))
    for name, value in values.items():
        about = find_measure(name).describe(one_label=evaluation.exclusive)
        table.add_row(name, f"{value:.4f}", *([] if narrow else [f"[dim]{about}[/]"]))
        if name == "accuracy":
            table.add_row("  95 % interval", describe_interval(evaluation.accuracy_interval))
    return table


def printed_class_table(evaluation: Evaluation, most: int = TOO_MANY_CLASSES) -> Any:
    """Precision, recall and F1 of each class, the largest first; with many classes, the lowest F1 first.

    With more than `most` classes, only the largest MANY_CLASSES.
    """
    from rich.markup import escape

    from unnaive.apps.common.screen import console, plain_table
    from unnaive.evaluation.evaluation_report import class_rows, worst_of_largest

    narrow = console().width < NARROW
    table = plain_table("class", *((">P", ">R") if narrow else (">precision", ">recall")), ">F1",
                        ">n" if narrow else ">documents")  # fmt: skip
    n_classes, digits = len(evaluation.classes), 2 if narrow else 3
    shown = n_classes if n_classes <= most else MANY_CLASSES
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
