"""`unnaive predict`: labels and probabilities for documents, as they stream by."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.options import AsJson, ModelFile, reading
from unnaive.apps.screen import echo
from unnaive.apps.spark_engine import Engine, Master, Ship, SparkEngine, predict_on_spark

if TYPE_CHECKING:
    from unnaive.apps.writers import Write
    from unnaive.fitted import FittedModel
    from unnaive.reading.datafiles import Batch, DataFile
    from unnaive.types import Floats

Record = dict[str, Any]
REJECTED = "unknown"  # the label of rejected documents, unless --unknown names another


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(predict)


@reading("Documents: files, a folder, or - for stdin (the default); each line of plain text is one.", optional=True)
def predict(
    model: ModelFile,
    source: DataFile,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="A text given here, in the place of DATA.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A file to write: .csv, .tsv, .jsonl or .parquet.", show_default=False),
    ] = None,
    keep_columns: Annotated[
        bool,
        typer.Option("--keep-columns/--no-keep-columns", help="Write the columns of a table too, ours after them."),
    ] = True,
    every: Annotated[bool, typer.Option("--all", help="A column for each class.")] = False,
    top: Annotated[int, typer.Option(help="Show the K best classes of each document.", metavar="K", min=1)] = 1,
    unknown: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The label of documents of which the model knows no word.")
    ] = None,
    reject_below: Annotated[
        float | None,
        typer.Option(metavar="P", min=0, max=1, help="Label documents less probable than this unknown, or LABEL."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(metavar="P", help="Also the set of labels that holds the right one with this confidence: 0.9."),
    ] = None,
    by_class: Annotated[
        bool, typer.Option("--by-class", help="Let --confidence hold for every class, the rare ones too.")
    ] = False,
    at_least_one: Annotated[
        bool, typer.Option("--at-least-one", help="Let no set be empty, though more are right than --confidence asks.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show which terms spoke for it.")] = False,
    unbuffered: Annotated[bool, typer.Option("--unbuffered", help="Answer each line at once.")] = False,
    excel_safe: Annotated[
        bool, typer.Option("--excel-safe", help="CSV without formulas: a ' before cells that begin like one.")
    ] = False,
    engine: Engine = "local",
    master: Master = None,
    ship: Ship = False,
    as_json: AsJson = False,
) -> None:
    """Label new documents.

    Writes a table, or with --json an object a line. Any amount goes through in constant memory. The column known_terms
    counts the words that the model knows: a row with 0 is a guess.

    unnaive predict tickets.model new.csv -o labelled.csv
    """
    from unnaive.apps.output import read_as_trained, say_what_was_read
    from unnaive.apps.writers import Layout, open_writer, output_format
    from unnaive.errors import UnnaiveError
    from unnaive.store import load

    if document and source.path != "-":
        raise UnnaiveError(f"texts came with --document and as {source.path}; give one of the two")
    spark = SparkEngine.asked(engine, master, ship)
    if spark is not None:
        others = {"--document": document, "--all": every, "--top": top > 1, "--unknown": unknown, "--json": as_json}
        others |= {"--reject-below": reject_below is not None, "--explain": explain, "--unbuffered": unbuffered}
        others |= {"--confidence": confidence is not None, "--by-class": by_class, "--at-least-one": at_least_one}
        spark.refuse("predict", others | {"--no-keep-columns": not keep_columns, "--excel-safe": excel_safe})
        predict_on_spark(spark, load(model), source, output)
        return
    kind = output_format(output, as_json)
    fitted = load(model)
    people = output is None and not as_json and sys.stdout.isatty()
    predictor = Predictor(
        fitted, top, every, explain, unknown, reject_below, confidence=confidence, by_class=by_class,
        at_least_one=at_least_one, show_text=people,
    )  # fmt: skip
    predictor.check()
    classes = tuple(map(str, fitted.classes)) if every else ()
    layout = Layout(predictor.kind, classes, min(top, len(fitted.classes)), fitted.multilabel, explain, excel_safe)
    layout.sets = confidence is not None
    source = read_as_trained(source, fitted)
    with open_writer(output, kind, layout) as write:
        for batch in read_batches(source, document, unbuffered, keep_columns and not people):
            if not layout.kept:
                layout.kept, layout.types = tuple(batch.kept), batch.types
            write_batch(predictor, batch, print_lines if people else write)
            if (unbuffered or document) and output is None:
                sys.stdout.flush()
    if not document:
        say_what_was_read(source)
    predictor.tell_unknown()


def read_batches(source: DataFile, documents: list[str] | None, unbuffered: bool, keep: bool) -> Iterator[Batch]:
    """The documents given as arguments, or those of the source, watched by a progress bar."""
    from unnaive.apps.screen import reading_progress
    from unnaive.reading.datafiles import Batch

    if documents:
        yield Batch(documents, [()] * len(documents), [str(number) for number in range(1, len(documents) + 1)])
        return
    live = source.path == "-" and sys.stdin.isatty()
    if live:
        echo("note: type a text and press enter; Ctrl-D ends", err=True)
    how = replace(source.options, rows=1 if unbuffered or live else source.options.rows)
    source = replace(source, options=how, format=source.format or ("lines" if live else None))
    if live:
        yield from source.batches(labelled=False)
        return
    with reading_progress(source, "predicting") as (watched, _):
        yield from watched.batches(labelled=False, keep=keep)


def write_batch(predictor: Predictor, batch: Batch, write: Write) -> None:
    """Predict and write the documents of a batch, as many at a time as their scores may be held at once."""
    from unnaive.core.documents import chunk_size

    step = chunk_size(len(predictor.fitted.classes))  # scores of many classes are large
    whole_columns = predictor.one_label and getattr(write, "takes_columns", False)
    for start in range(0, len(batch.texts), step):
        chunk = slice(start, start + step)
        ids, texts = batch.ids[chunk], batch.texts[chunk]
        columns = {name: values[chunk] for name, values in batch.kept.items()}
        if whole_columns:
            write.write_columns(columns or {"id": ids}, predictor.predict_columns(texts))  # type: ignore[attr-defined]
        else:
            write(with_columns(predictor.predict(ids, texts), columns))


def with_columns(records: list[Record], columns: Mapping[str, Sequence[Any]]) -> list[Record]:
    """The records, each with its row of the columns."""
    names = tuple(columns)
    rows = zip(*columns.values(), strict=True) if names else repeat(())
    for record, values in zip(records, rows, strict=False):
        record["kept"] = dict(zip(names, values, strict=True))
    return records


@dataclass
class Predictor:
    """Texts to records: labels with their values, what else was asked for, and how many words the model knows.

    top      best classes of each document that are shown; every: all of them, in the order of the classes
    unknown  the label of documents without a known word; below: a probability that the best label must reach
    confidence  of the set of labels that is shown too; None for none
    show_text  whether records have the text itself, for people to see how it begins
    """

    fitted: FittedModel
    top: int = 1
    every: bool = False
    explain: bool = False
    unknown: str | None = None
    below: float | None = None
    confidence: float | None = None
    by_class: bool = False
    at_least_one: bool = False
    show_text: bool = False
    seen: int = 0
    guessed: int = 0

    @property
    def kind(self) -> str:
        """What is shown with a label: a probability where the model has them, else a score."""
        return "probability" if self.fitted.probabilistic else "score"

    def check(self) -> None:
        """An error if documents are to be rejected by probabilities that the model does not have."""
        from unnaive.errors import UnnaiveError

        if self.below is not None and not self.fitted.probabilistic:
            raise UnnaiveError(f"{self.fitted.spec.model.title} gives no probabilities to reject by; "
                               "train it with --calibrate temperature")  # fmt: skip
        if self.confidence is None and (self.by_class or self.at_least_one):
            raise UnnaiveError("--by-class and --at-least-one are for sets of labels; add --confidence 0.9")
        if self.confidence is not None:
            from unnaive.conformal import check_confidence

            check_confidence(self.confidence)
            self.fitted.conformal_scores()

    @property
    def one_label(self) -> bool:
        """Whether every document gets the best class alone, or a name for none."""
        from unnaive.decisions import Argmax

        return isinstance(self.fitted.decision, Argmax) and not self.fitted.multilabel

    def predict_columns(self, texts: Sequence[str]) -> tuple[list[str], list[float], list[int]]:
        """(labels, their values, known_terms) of documents with `one_label`, whose scores are held at once."""
        import numpy as np

        scores, values, known = self._score(texts)
        best = scores.argmax(axis=1)
        shown = values[np.arange(len(best)), best]
        names = [str(label) for label in self.fitted.classes]
        labels = [names[code] for code in best.tolist()]
        rejected = {}
        if self.below is not None:
            rejected = dict.fromkeys(np.flatnonzero(shown < self.below).tolist(), self.unknown or REJECTED)
        if self.unknown is not None:
            rejected |= dict.fromkeys(np.flatnonzero(known == 0).tolist(), self.unknown)
        for row, label in rejected.items():
            labels[row], shown[row] = label, values[row].max()
        return labels, shown.tolist(), known.tolist()

    def _score(self, texts: Sequence[str]) -> tuple[Floats, Floats, Any]:
        """(scores, the values that are shown, known_terms) of documents, which are counted as seen."""
        scores, known = self.fitted.scores_and_known(texts)
        self.seen += len(texts)
        self.guessed += int((known == 0).sum())
        return scores, self.fitted.probabilities(scores) if self.kind == "probability" else scores, known

    def predict(self, ids: Sequence[str], texts: Sequence[str]) -> list[Record]:
        """A record for each document, whose scores are held at once."""
        import numpy as np

        scores, values, known = self._score(texts)
        given = self.fitted.label_sets_of(scores)
        order = np.argsort(-scores, axis=1, kind="stable")[:, : self.top] if self.top > 1 else None
        sets = None
        if self.confidence is not None:
            sets = self.fitted.sets_of(
                scores, self.confidence, by_class=self.by_class, at_least_one=self.at_least_one
            )  # fmt: skip
        records, kind = [], self.kind
        for row, (name, n_known) in enumerate(zip(ids, known.tolist(), strict=True)):
            record = self._record(values[row], list(given[row]), n_known, kind)
            record["id"] = name
            if self.show_text:
                record["text"] = texts[row]
            if sets is not None:
                record["set"] = list(sets[row])
            if order is not None:
                record["top"] = [(self.fitted.classes[c], float(values[row, c])) for c in order[row]]
            if self.explain:
                record["why"] = self.fitted.explain(texts[row], given[row][0] if given[row] else None)
            records.append(record)
        return records

    def _record(self, values: Floats, labels: list[Any], known: int, kind: str) -> Record:
        """Labels, the most probable first, unless they are rejected."""
        place = self._places
        if len(labels) > 1:
            labels.sort(key=lambda label: -values[place[label]])
        shown = [float(values[place[label]]) for label in labels]
        if self.unknown is not None and not known:
            labels, shown = [self.unknown], [float(values.max())]
        elif self.below is not None and max(shown, default=0.0) < self.below:
            labels, shown = [self.unknown or REJECTED], [float(values.max())]
        record: Record = {"labels": labels, "values": shown, "kind": kind, "known_terms": known}
        if self.every:
            record["all"] = values.tolist()
        return record

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: column for column, label in enumerate(self.fitted.classes)}

    def tell_unknown(self) -> None:
        """A note on documents without a known word."""
        from unnaive.apps.screen import note
        from unnaive.errors import count_noun

        if self.guessed:
            advice = "" if self.unknown is not None else "; --unknown LABEL gives them a label of their own"
            verb = "has" if self.guessed == 1 else "have"
            note(
                f"{self.guessed:,} of {count_noun(self.seen, 'document')} {verb} no word that the model knows "
                f"(known_terms 0){advice}"
            )


def print_lines(records: Sequence[Record]) -> None:
    """A line for people for each record: the labels in colour, how sure, and how the text begins."""
    for record in records:
        print_line(record)


def print_line(record: Record) -> None:
    """The line of one record."""
    from rich.text import Text

    from unnaive.apps.screen import console, shorten_text, visible

    screen = console()
    if "why" in record:
        screen.print(record["why"], "", sep="\n")
        return
    pairs = record.get("top") or zip(record["labels"], record["values"], strict=True)
    line = Text()
    for label, value in pairs:
        line.append(visible(str(label), lines=False), style="bold green").append(
            f" {format_value(value, record['kind'])}  "
        )
    if "set" in record:
        names = ", ".join(visible(str(label), lines=False) for label in record["set"])
        line.append(f"{{{names}}}  ", style="cyan")
    if not record["labels"]:
        line.append("no label  ", style="dim")
    if not record["known_terms"]:
        line.append("no known word  ", style="yellow")
    line.append(shorten_text(record["text"], max(10, screen.width - line.cell_len)), style="dim")
    screen.print(line, no_wrap=True, overflow="ellipsis")


def format_value(value: float, kind: str) -> str:
    """A probability in per cent, a score as it is."""
    from unnaive.explain import percent

    return percent(value) if kind == "probability" else f"{value:.3g}"
