"""`unnaive demo`: a tour on the built-in corpus, in a few seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import written_into

if TYPE_CHECKING:
    from rich.console import Console

    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.corpus import Corpus
    from unnaive.evaluation.evaluate import Evaluation

WIDTH = 80  # maximum width of the tour

# a queue that the corpus does not have, for learning more
NEW_QUEUE = "hardware"
NEW_TICKETS = [
    "The label printer at our front desk prints blank stickers since the firmware upgrade.",
    "Our badge scanner is not recognised by the tablet, the USB cable is fine and the scanner beeps.",
    "Printer tray jams, the scanner feeds two sheets at once. Is there a driver for the new printer?",
    "The tablet's battery swells, can you ship a replacement tablet and a docking station?",
    "Docking station makes the scanner drop its USB connection, the printer works.",
]
NEW_QUESTION = "Hello, our printer and the scanner lost their USB driver after the upgrade."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    keep: Annotated[
        Path | None,
        written_into(),
        typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write the tickets and the model to."),
    ] = None,
) -> None:
    """Show a tour on built-in support tickets: train, evaluate, explain, update and forget.

    The tour takes a few seconds. It writes files only with -o.

    unnaive demo -o demo
    """
    from unnaive.apps.common.screen import console
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.evaluation.evaluate import evaluate
    from unnaive.io.tickets import load_tickets
    from unnaive.workflows.write_tickets import make_folder

    if keep is not None:
        make_folder(keep)  # before the tour, so that an error comes at once
    screen = console()
    screen.width = min(screen.width, WIDTH)
    corpus = load_tickets()
    train, test = corpus.part("train"), corpus.part("test")
    start = time.perf_counter()
    model = TextClassifier(random_state=0).fit(train.texts, [names[0] for names in train.labels])
    show_training(screen, model, train, time.perf_counter() - start)
    evaluation = evaluate(model, test.texts, test.labels, name=test.name)
    show_demo_measures(screen, evaluation)
    show_terms(screen, model)
    show_explanations(screen, model, test, evaluation)
    show_tags(screen)
    counting = TextClassifier("multinomial", alpha=0.1).fit(train.texts, [names[0] for names in train.labels])
    show_update(screen, counting)
    show_forgetting(screen, counting, train)
    if keep is not None:
        write_tour_files(keep, model)
    show_next(screen, keep)


def heading(screen: Console, number: int, title: str) -> None:
    """A numbered line across the screen."""
    from rich.rule import Rule

    screen.print()
    screen.print(Rule(f"[bold cyan]{number}[/]  [bold]{title}[/]", align="left", style="cyan"))


def show_training(screen: Console, model: TextClassifier, train: Corpus, seconds: float) -> None:
    """The training data, and the training time."""
    from unnaive.base.errors import count_noun

    screen.print(
        "[bold]unnaive[/]: a tour on support tickets of a fictional software company,\n"
        "926 of them in 8 queues. Which queue should a new ticket go to?"
    )
    heading(screen, 1, "Train")
    screen.print(
        f"The default chose among models, pooled the best and learnt {len(train):,} tickets and "
        f"{count_noun(len(model.vocabulary_), 'term')} in [bold]{seconds:.1f} s[/]."
    )
    from unnaive.apps.common.screen import shorten_text

    for row in (0, 7, 19):
        label = train.labels[row][0]
        screen.print(f"  [green]{label:<12}[/][dim]{shorten_text(train.texts[row], screen.width - 16)}[/]", markup=True)


def show_demo_measures(screen: Console, evaluation: Evaluation) -> None:
    """Measures on the test part, by class, and the confusions."""
    from unnaive.apps.cli.evaluation_summary import printed_class_table, printed_confusion_table

    heading(screen, 2, "Measure")
    values = evaluation.measures
    screen.print(
        f"On {len(evaluation)} tickets that it never saw, [bold]{100 * values['accuracy']:.1f} %[/] go to the right "
        f"queue; macro F1 is {values['macro-f1']:.3f}.\n"
    )
    screen.print(printed_class_table(evaluation))
    screen.print()
    screen.print(printed_confusion_table(evaluation.confused_pairs(4)))


def show_terms(screen: Console, model: TextClassifier) -> None:
    """The strongest terms of each queue."""
    from unnaive.apps.common.screen import plain_table

    heading(screen, 3, "Look inside")
    table = plain_table("queue", "strongest terms")
    for label in model.classes_.tolist():
        table.add_row(label, ", ".join(term for term, _ in model.top_terms(label, 7)))
    screen.print(table)


def show_explanations(screen: Console, model: TextClassifier, test: Corpus, evaluation: Evaluation) -> None:
    """Three predictions: a certain one, an uncertain one, and a mistake compared with its true class."""
    heading(screen, 4, "Explain")
    for title, row, label, against in pick_cases(evaluation, test):
        screen.print(f"[dim italic]{title}[/]")
        screen.print(model.explain(test.texts[row], label, against=against))
        screen.print()


def pick_cases(evaluation: Evaluation, test: Corpus) -> list[tuple[str, int, str, str | None]]:
    """(title, row, class to explain, rival) of short, instructive tickets."""
    import numpy as np

    p = np.asarray(evaluation.probabilities)
    predicted, truth = p.argmax(axis=1), np.asarray(evaluation.Y.argmax(axis=1)).ravel()
    sure = p.max(axis=1)
    short = np.array([120 <= len(text) <= 330 for text in test.texts])

    def pick(rows: Any, order: Any) -> int:
        candidates = np.flatnonzero(rows & short)
        return int(candidates[np.argsort(order[candidates], kind="stable")[0]])

    right = predicted == truth
    cases = [
        ("Right and certain:", pick(right, -sure), None),
        ("Right, but it hesitated:", pick(right & (sure > 0.5), sure), None),
        ("Wrong: why this queue, and not the true one?", pick(~right & (sure < 0.95), -sure), truth),
    ]
    return [
        (title, row, evaluation.classes[predicted[row]], None if rival is None else evaluation.classes[rival[row]])
        for title, row, rival in cases
    ]


def show_tags(screen: Console) -> None:
    """The same tickets with tags: multilabel."""
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.evaluation.evaluate import evaluate
    from unnaive.io.tickets import load_tickets

    heading(screen, 5, "Multilabel")
    corpus = load_tickets("tags")
    train, test = corpus.part("train"), corpus.part("test")
    model = TextClassifier("multinomial", alpha=0.1, decision="scut").fit(train.texts, train.labels)
    evaluation = evaluate(model, test.texts, test.labels, name=test.name)
    screen.print(
        f"Tickets also carry up to three of {len(model.classes_)} tags. Each tag is decided by itself, with a "
        f"threshold tuned on held-out scores: micro F1 [bold]{evaluation.measures['micro-f1']:.3f}[/]."
    )
    from unnaive.apps.common.screen import shorten_text

    row = next(row for row, names in enumerate(test.labels) if len(names) > 1 and 80 < len(test.texts[row]) < 400)
    screen.print(f"  [dim]{shorten_text(test.texts[row], screen.width - 4)}[/]")
    (tags,) = model.predict([test.texts[row]])
    screen.print(f"  tags given: [green]{', '.join(map(str, tags))}[/]   true: {', '.join(test.labels[row])}")


def show_update(screen: Console, model: TextClassifier) -> None:
    """Learn a new queue."""
    heading(screen, 6, "Update")
    before = model.predict([NEW_QUESTION])[0]
    start = time.perf_counter()
    model.partial_fit(NEW_TICKETS, [NEW_QUEUE] * len(NEW_TICKETS), new_classes=True)
    seconds = time.perf_counter() - start
    after = model.predict([NEW_QUESTION])[0]
    screen.print(
        "Multinomial naive Bayes is sums over documents, so more can be added at any time.\n"
        f'"{NEW_QUESTION}"\n'
        f"went to [red]{before}[/]. A new queue, {NEW_QUEUE}, and {len(NEW_TICKETS)} tickets of it were learnt in "
        f"{1000 * seconds:.0f} ms: now it goes to [green]{after}[/]. Nothing was trained again."
    )


def show_forgetting(screen: Console, model: TextClassifier, train: Corpus) -> None:
    """Forget the same tickets, and prove it."""
    from unnaive.classifier.text_classifier import TextClassifier

    heading(screen, 7, "Forget")
    model.forget(NEW_TICKETS, [NEW_QUEUE] * len(NEW_TICKETS))
    never = TextClassifier("multinomial", alpha=0.1).partial_fit(train.texts, [names[0] for names in train.labels])
    word = "[bold green]bit for bit[/]" if same_model(model, never) else "[bold red]not[/]"
    gone = [term for term in ("printer", "scanner", "docking", "tablet", "firmware") if term not in model.vocabulary_]
    screen.print(
        f"The {len(NEW_TICKETS)} tickets and their queue were forgotten. The model is {word} the one that never saw "
        f"them; {', '.join(gone)} are no longer among its terms."
    )


def same_model(first: TextClassifier, second: TextClassifier) -> bool:
    """Whether two models have equal classes, terms and weights, bit for bit."""
    import numpy as np

    mine, theirs = first.scorer_.to_arrays()[0], second.scorer_.to_arrays()[0]
    return (
        first.classes_.tolist() == second.classes_.tolist()
        and first.vocabulary_ == second.vocabulary_
        and mine.keys() == theirs.keys()
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
    )


def write_tour_files(folder: Path, model: TextClassifier) -> None:
    """Write the tickets as CSV files, and the model with their columns, as if it had been trained on the files."""
    from dataclasses import replace

    from unnaive.classifier.model_file import save
    from unnaive.io.fields.columns import Columns
    from unnaive.workflows.write_tickets import write_tickets

    write_tickets(folder)
    save(replace(model.fitted_, source=Columns(("text",), "queue").section()), folder / "tickets.model")


def show_next(screen: Console, keep: Path | None) -> None:
    """Commands to try next."""
    from rich.markup import escape

    heading(screen, 8, "Your turn")
    folder = escape(str(keep or "demo"))
    if keep is None:
        screen.print(f"[bold]unnaive demo -o {folder}[/]   [dim]# the tickets and the model, to play with[/]")
    for command in (
        f"unnaive train {folder}/train.csv --label queue -o my.model --test {folder}/test.csv",
        'unnaive explain my.model "I was charged twice, please refund me"',
        f"unnaive predict my.model {folder}/test.csv --json | head -3",
        f"unnaive evaluate my.model {folder}/test.csv --report report.html",
    ):
        screen.print(f"[bold]{command}[/]")
    screen.print("\n[dim]Your own data: a CSV, JSONL or Parquet file, or a folder for each class.[/]")
