"""`unnaive label`: label texts one at a time, while a model selects the next text."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import EXTENDED, READ, WRITTEN
from unnaive.apps.common.screen import echo, note, say_summary, show_event
from unnaive.apps.common.shared_options import AsJson, Html, Seed, reading, split_list
from unnaive.base.errors import BadData, Interrupted, UnnaiveError, count_noun
from unnaive.base.extras import missing_extra
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.curation.labelling.label_log import LabelRecord
    from unnaive.curation.labelling.labelling_session import Labelling
    from unnaive.io.datafiles import DataFile

ASKING = "Suggestions and order"  # headings in the help
MOVING = "Labels"
MIGRATED = ("csv", "jsonl", "parquet", "prodigy", "label-studio")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(label)


@reading("Texts, in any format of unnaive train, or a file of labels to continue.", default=None)
def label(
    source: DataFile | None,
    output: Annotated[
        Path | None,
        EXTENDED,
        typer.Option(
            "-o", "--output", help="File of labels to write; an existing one is continued.", show_default=False
        ),
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Label in this terminal instead of a browser.")] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…", help="Classes, in the order of their keys on the keyboard; more can be added later."
        ),
    ] = None,
    multilabel: Annotated[bool, typer.Option("--multilabel", help="Allow any number of labels for a text.")] = False,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the annotator; by default the name of the user.")
    ] = None,
    hints: Annotated[
        Path | None,
        READ,
        typer.Option(
            help='TOML file with keywords of each class, e.g. sport = ["ball", "goal"].', rich_help_panel=ASKING
        ),
    ] = None,
    model: Annotated[
        Path | None,
        READ,
        typer.Option(
            help="Model file to start from; texts unlike all of its classes are asked first.",
            rich_help_panel=ASKING,
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        READ,
        typer.Option(metavar="FILE", help="Word vectors as additional features of the model.", rich_help_panel=ASKING),
    ] = None,
    random_share: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=0.5,
            help="Share of texts drawn at random to measure accuracy: the model does not learn them while you label.",
            rich_help_panel=ASKING,
        ),
    ] = 0.1,
    double: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Share of texts that two annotators label, if there is more than one annotator.",
            rich_help_panel=ASKING,
        ),
    ] = 0.1,
    again: Annotated[bool, typer.Option("--again", help="Show skipped texts again.", rich_help_panel=ASKING)] = False,
    queue: Annotated[
        Path | None,
        READ,
        typer.Option(
            help="Findings of unnaive audit; their texts are shown first, in the order of the file.",
            rich_help_panel=ASKING,
        ),
    ] = None,
    seed: Seed = 0,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            help="Port to listen on; 0 for any free port; by default the same port for the same file of labels.",
            min=0,
            max=65535,
            show_default=False,
        ),
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Print how many texts are labelled, and exit.")] = False,
    export: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(metavar="FILE", help="Write the labels to this file, and exit.", rich_help_panel=MOVING),
    ] = None,
    import_: Annotated[
        Path | None,
        READ,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Add the labels of this file to the file of labels, and exit.",
            rich_help_panel=MOVING,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="FORMAT",
            help=f"Format of --export or --import: {', '.join(MIGRATED)}; by default by the ending of the file name.",
            rich_help_panel=MOVING,
        ),
    ] = None,
    simulate: Annotated[
        str | None,
        READ,
        typer.Option(metavar="DATA", help="Compare query strategies on this labelled data, and exit."),
    ] = None,
    labels: Annotated[int, typer.Option(min=20, help="Number of labels in each run of --simulate.")] = 500,
    seeds: Annotated[int, typer.Option(min=2, help="Number of runs of each strategy with --simulate.")] = 10,
    html: Html = None,
    as_json: AsJson = False,
    *,
    read_like: Callable[[list[str]], DataFile],
) -> None:
    """Label texts on a web page or in the terminal, while a model suggests labels and selects the next text.

    The same command continues an earlier session. To train on the labels: unnaive train labels.db -o MODEL.

    unnaive label tickets/test.csv -o labels.db --classes billing,data,login
    """
    from unnaive.curation.labelling.asking import Strategy
    from unnaive.curation.labelling.hints import read_hints
    from unnaive.curation.labelling.labelling_session import Labelling
    from unnaive.io.vectors.cached_vectors import read_vectors

    word_vectors = read_vectors(vectors)
    if simulate is not None:
        from unnaive.apps.labelling.simulation import run_simulation

        run_simulation(
            read_like([simulate]),
            labels=labels,
            seeds=seeds,
            seed=seed,
            html=html,
            as_json=as_json,
            vectors=word_vectors,
        )
        return
    keywords = None if hints is None else read_hints(hints)
    record = open_record(source, output, split_list(classes or ""), multilabel=multilabel)
    if export is not None or import_ is not None:
        _move(record, export, import_, to)
        return
    labelling = Labelling(
        record,
        strategy=Strategy(random_share=random_share, seed=seed),
        hints=keywords,
        double=double,
        again=again,
        vectors=word_vectors,
    )
    if model is not None:
        start_from(labelling, model)
    if queue is not None:
        _queue(labelling, queue, who_labels(who))
    try:
        if not status:
            _run(labelling, who_labels(who), terminal=terminal, host=host, port=port)
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; all answers are in {record.path}; continue with: unnaive label {record.path}"
        ) from None
    finally:
        state = describe_session(labelling)
        record.close()
    if as_json:
        echo(visible_json(state))
    else:
        say_summary("\n".join(sentences(state)))


def open_record(source: DataFile | None, output: Path | None, classes: list[str], *, multilabel: bool) -> LabelRecord:
    """The record to continue, or a new one with the texts."""
    from unnaive.curation.labelling.label_log import IMPORTED, LabelRecord, is_label_record
    from unnaive.workflows.feedback import Feedback
    from unnaive.workflows.source_fields import settle_fields

    fields = None
    if source is not None:
        source, fields = settle_fields(
            source, Feedback(show_event), labelled=source.label is not None or bool(source.label_columns)
        )
    record_path = None if source is None or len(source.paths) > 1 else Path(source.path)
    if record_path is not None and record_path.is_file() and is_label_record(record_path):
        if output is not None and output != record_path:
            raise UnnaiveError(f"{record_path} is itself a file of labels; leave -o out to continue it")
        return _reopened(LabelRecord(record_path), classes)
    if output is None:
        raise UnnaiveError("no file of labels was named; add -o, such as: unnaive label texts.csv -o labels.db")
    if output.exists():
        record = LabelRecord(output)
        if source is not None:
            texts, _, _ = read_unlabelled_texts(source)
            if texts != record.texts():
                raise UnnaiveError(f"{output} has labels of other texts than {source.name}; name another file")
        return _reopened(record, classes)
    if source is None:
        raise BadData(f"no file of labels called {output}; name the texts too: unnaive label TEXTS -o {output}")
    texts, names, given_labels = read_unlabelled_texts(source)
    classes = list(dict.fromkeys([*classes, *sorted({name for labels in given_labels.values() for name in labels})]))
    multilabel = multilabel or bool(source.multilabel) or any(len(name) > 1 for name in given_labels.values())
    record = LabelRecord.create(output, texts, names, classes=classes, multilabel=multilabel, fields=fields)
    if given_labels:
        record.add_many(IMPORTED, list(given_labels.items()), f"import {source.name}")
    return record


def _reopened(record: LabelRecord, classes: list[str]) -> LabelRecord:
    for name in classes:
        if name not in record.classes():
            record.add(who_labels(None), "class", None, [name])
    return record


def read_unlabelled_texts(source: DataFile) -> tuple[list[str], list[str], dict[int, tuple[str, ...]]]:
    """Texts, ids, and the labels that some have, if a column of labels was named."""
    from unnaive.apps.common.output import say_what_was_read

    labelled = source.label is not None or bool(source.label_columns)
    from unnaive.text.buffer import TextBuffer
    from unnaive.text.messages import PARTS

    source = replace(source, message=PARTS)  # for mail, the parts that people read
    texts: list[str] = []
    names: list[str] = []
    labels_by_row: dict[int, tuple[str, ...]] = {}
    for batch in source.batches(labelled=labelled):
        labels_by_row |= {len(texts) + row: labels for row, labels in enumerate(batch.labels) if labels}
        # half a surrogate pair cannot be stored; it becomes U+FFFD, as the model reads it
        texts += list(TextBuffer.of(batch.texts))
        names += list(batch.ids)
    say_what_was_read(source)
    return texts, names, labels_by_row


def who_labels(name: str | None) -> str:
    """The name that decisions are recorded with."""
    if name is not None:
        if not name.strip() or len(name) > 100:
            raise UnnaiveError(f"--who has {len(name.strip())} characters; give a name of 1 to 100 characters")
        return name.strip()
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user, as in some containers
        return os.environ.get("USER", "somebody")


def start_from(labelling: Labelling, path: Path) -> None:
    """Add a model's log-probabilities to the scores of its classes; texts that fit none are shown first."""
    import numpy as np

    from unnaive.classifier.model_file import load_model

    fitted = load_model(path)
    if fitted.token_rule is None or not fitted.probabilistic:
        raise UnnaiveError(f"{path} gives no probabilities, so labelling cannot start from it; train it "
                           "with --calibrate temperature")  # fmt: skip
    pool = labelling.pool
    scores = np.asarray(fitted.predict_log_proba(pool.texts), np.float32)
    scores = np.maximum(scores, np.float32(-30))  # never certain
    pool.prior_scores = {
        str(name): np.ascontiguousarray(scores[:, column]) for column, name in enumerate(fitted.classes)
    }
    for name in pool.prior_scores:
        pool.add_class(name)
    if fitted.tells_novelty:
        pool.novelty = fitted.novelty(pool.texts)
    labelling.start_classes(list(pool.prior_scores))


def _queue(labelling: Labelling, path: Path, who: str) -> None:
    """Show only the texts in a list of findings, in its order."""

    from unnaive.curation.labelling.moving import find_queue
    from unnaive.io.formats import read_rows

    rows = list(read_rows(path))
    labelling.follow_queue(who, find_queue(rows, labelling.names, labelling.pool.texts, str(path)))


def _run(labelling: Labelling, who: str, *, terminal: bool, host: str, port: int | None) -> None:
    if terminal:
        from unnaive.apps.labelling.terminal import Terminal

        Terminal(labelling, who).run()
        return
    try:
        from unnaive.apps.labelling.routes import serve_page
    except ImportError as problem:
        raise missing_extra(problem.name or "fastapi", "without --terminal, the page") from problem
    serve_page(labelling, who, host=host, port=port)


def _move(record: LabelRecord, export: Path | None, import_: Path | None, to: str | None) -> None:
    from unnaive.curation.labelling.moving import export_labels, import_labels

    try:
        if import_ is not None:
            taken, unknown = import_labels(record, import_, to)
            say_summary(f"{count_noun(taken, 'label')} imported from {import_}")
            if unknown:
                note(f"left out {count_noun(unknown, 'text')} of {import_} that the file of labels does not have")
        if export is not None:
            written = export_labels(record, export, to)
            say_summary(f"{count_noun(written, 'labelled text')} written to {export}")
    finally:
        record.close()


def describe_session(labelling: Labelling) -> dict[str, Any]:
    """The state of labelling, as plain values."""
    from unnaive.apps.labelling.session_progress import Standing, describe_agreement
    from unnaive.curation.labelling.label_log import describe_record

    labelling.sync()
    state = describe_record(labelling.record)
    return state | Standing().look(labelling) | {"agreement": describe_agreement(labelling)}


def sentences(status: dict[str, Any]) -> list[str]:
    """The state of labelling, in lines."""
    sizes = ", ".join(f"{name} {size:,}" for name, size in status["classes"].items())
    lines = [f"{status['file']}: {status['words']}{f' ({sizes})' if sizes else ''}", *status["sentences"]]
    for pair in status["agreement"]:
        kappa = "" if pair["kappa"] is None else f", kappa {pair['kappa']:.2f}"
        lines.append(
            f"{' and '.join(pair['people'])} agree on {pair['same']} of {count_noun(pair['texts'], 'text')}{kappa}"
        )
    if sum(size > 0 for size in status["classes"].values()) > 1:
        lines.append(f"next: unnaive train {status['file']} -o my.model")
    elif status["labelled"]:
        lines.append("next: label texts of another class too; a model needs at least two classes")
    return lines
