"""`unnaive predict`: labels and probabilities for documents, as they stream by."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from unnaive.apps.options import AsJson, ModelFile, reading

if TYPE_CHECKING:
    from unnaive.classifier import TextClassifier
    from unnaive.reading.datafiles import Batch, DataFile

Record = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(predict)


@reading("Documents: a file, a folder, or - for stdin (the default); each line of plain text is one.", optional=True)
def predict(
    model: ModelFile,
    source: DataFile,
    document: Annotated[
        list[str] | None, typer.Option("--document", "-d", help="A text given here, in the place of DATA.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file to write, in the place of stdout.")
    ] = None,
    top: Annotated[int, typer.Option(help="Show the K best classes of each document.", metavar="K", min=1)] = 1,
    explain: Annotated[bool, typer.Option("--explain", help="Show which terms spoke for it.")] = False,
    unbuffered: Annotated[bool, typer.Option("--unbuffered", help="Answer each line at once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Label new documents.

    Prints CSV, or with --json an object a line. Any amount goes through in constant memory.

    unnaive predict tickets.model new.csv -o labelled.csv
    """
    from unnaive.apps.output import like_trained, written
    from unnaive.errors import UnnaiveError
    from unnaive.store import load

    if document and source.path != "-":
        raise UnnaiveError(f"texts came with --document and as {source.path}; give one of the two")
    classifier = load(model)
    show = document is not None or output is None
    with written(output) as file:
        write = writer(classifier, file, as_json=as_json, people=show and file.isatty(), top=top, explain=explain)
        for batch in batches(like_trained(source, classifier), document, unbuffered):
            for record in predictions(classifier, batch, top=top, explain=explain):
                write(record)
            if unbuffered or document:
                file.flush()


def batches(source: DataFile, documents: list[str] | None, unbuffered: bool) -> Iterator[Batch]:
    """The documents given as arguments, or those of the source, watched by a progress bar."""
    from unnaive.apps.screen import reading_progress
    from unnaive.reading.datafiles import Batch

    if documents:
        yield Batch(documents, [()] * len(documents), [str(number) for number in range(1, len(documents) + 1)])
        return
    live = source.path == "-" and sys.stdin.isatty()
    if live:
        typer.echo("note: type a text and press enter; Ctrl-D ends", err=True)
    how = replace(source.options, rows=1 if unbuffered or live else source.options.rows)
    source = replace(source, options=how, format=source.format or ("lines" if live else None))
    if live:
        yield from source.batches(labelled=False)
        return
    with reading_progress(source, "predicting") as (watched, _):
        yield from watched.batches(labelled=False)


def predictions(classifier: TextClassifier, batch: Batch, *, top: int = 1, explain: bool = False) -> Iterator[Record]:
    """A record for each document: id, text, labels with their values, and which kind the values are."""
    from unnaive.models.scoring import CHUNK_CELLS

    size = max(1, CHUNK_CELLS // len(classifier.classes_))  # scores of many classes are large
    for start in range(0, len(batch.texts), size):
        chunk = slice(start, start + size)
        yield from records(classifier, batch.ids[chunk], batch.texts[chunk], top, explain)


def records(
    classifier: TextClassifier, ids: list[str], texts: Sequence[str], top: int, explain: bool
) -> Iterator[Record]:
    """The same for a few documents, whose scores are held at once."""
    import numpy as np

    scores = classifier.scores(texts)
    values, kind = scored(classifier, scores)
    chosen = classifier.labels_of(scores)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top] if top > 1 else scores.argmax(axis=1)[:, None]
    place = {label: column for column, label in enumerate(classifier.classes_.tolist())}
    for row, (name, text) in enumerate(zip(ids, texts, strict=True)):
        labels = label_list(chosen, row, classifier)
        record: Record = {"id": name, "text": text, "labels": labels, "kind": kind}
        record["values"] = [float(values[row, place[label]]) for label in labels]
        record["top"] = [(classifier.classes_[column].item(), float(values[row, column])) for column in order[row]]
        if explain:
            record["why"] = classifier.explain(text, labels[0] if labels else None)
        yield record


def label_list(chosen: Any, row: int, classifier: TextClassifier) -> list[Any]:
    """The labels of one document, whatever form `predict` has."""
    if classifier.form_ in ("indicator", "sparse"):
        dense = chosen[[row], :].toarray()[0] if classifier.form_ == "sparse" else chosen[row]
        return classifier.classes_[dense.nonzero()[0]].tolist()  # type: ignore[no-any-return]
    one = chosen[row]
    return list(one) if isinstance(one, tuple) else [one.item()]


def scored(classifier: TextClassifier, scores: Any) -> tuple[Any, str]:
    """Probabilities where the model has them, else its scores; and which of the two they are."""
    from unnaive.core.links import LINKS

    if LINKS[classifier.scorer_.link].log_odds is None and classifier.temperature_ is None:
        return scores, "score"
    return classifier.probabilities(scores), "probability"


def writer(
    classifier: TextClassifier, file: TextIO, *, as_json: bool, people: bool, top: int, explain: bool
) -> Callable[[Record], None]:
    """A function that writes one record: as JSON, for people at a terminal, or as CSV."""
    if as_json:
        return lambda record: print_json(record, file, top)
    if people:
        return lambda record: print_line(record)
    table = csv.writer(file, lineterminator="\n")
    kind = scored(classifier, classifier.scores([""]))[1]
    head = ["id", "label", kind]
    for number in range(2, min(top, len(classifier.classes_)) + 1):
        head += [f"label{number}", f"{kind}{number}"]
    rows = iter([[*head, "because"] if explain else head])

    def write(record: Record) -> None:
        table.writerows(rows)  # the header, before the first record and then no more
        table.writerow(csv_row(record, top))

    return write


def csv_row(record: Record, top: int) -> list[str]:
    """The fields of a record; several labels are joined by ";"."""
    if top > 1:
        fields = [field for label, value in record["top"] for field in (str(label), f"{value:.6g}")]
    else:
        fields = [";".join(map(str, record["labels"])), ";".join(f"{value:.6g}" for value in record["values"])]
    because = []
    if "why" in record:
        because = ["; ".join(f"{one.term} {one.value:+.2f}" for one in record["why"].strongest(1, 5))]
    return [record["id"], *fields, *because]


def print_json(record: Record, file: TextIO, top: int) -> None:
    """One object on one line."""
    line: Record = {"id": record["id"], "labels": record["labels"], record["kind"]: record["values"]}
    if top > 1:
        line["top"] = [{"label": label, record["kind"]: value} for label, value in record["top"]]
    if "why" in record:
        line["explanation"] = record["why"].to_dict()
    file.write(json.dumps(line, ensure_ascii=False) + "\n")


def print_line(record: Record) -> None:
    """A line for people: the labels in colour, how sure, and how the text begins."""
    from rich.text import Text

    from unnaive.apps.screen import console, shortened

    screen = console()
    if "why" in record:
        screen.print(record["why"], "", sep="\n")
        return
    pairs = record["top"] if len(record["top"]) > 1 else zip(record["labels"], record["values"], strict=True)
    line = Text()
    for label, value in pairs:
        line.append(str(label), style="bold green").append(f" {shown_value(value, record['kind'])}  ")
    if not record["labels"]:
        line.append("no label  ", style="dim")
    line.append(shortened(record["text"], max(10, screen.width - line.cell_len)), style="dim")
    screen.print(line, no_wrap=True, overflow="ellipsis")


def shown_value(value: float, kind: str) -> str:
    """A probability in per cent, a score as it is."""
    from unnaive.explain import percent

    return percent(value) if kind == "probability" else f"{value:.3g}"
