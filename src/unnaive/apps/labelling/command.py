"""`unnaive label`: label texts one at a time, while a model selects the next text."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.option_markers import BY_SET, excludes
from unnaive.apps.common.path_options import EXTENDED, READ
from unnaive.apps.common.screen import echo, note, say_summary, show_event
from unnaive.apps.common.shared_options import AsJson, Seed, reading
from unnaive.base.errors import BadData, Interrupted, UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.extras import missing_extra
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.curation.labelling.label_log import LabelRecord
    from unnaive.curation.labelling.labelling_session import Labelling
    from unnaive.curation.labelling.texts_to_label import TextPool
    from unnaive.io.datafiles import DataFile

ASKING, PAGE = "Suggestions and order", "Page"  # headings in the help


LabelOutput = Annotated[
    Path | None,
    EXTENDED,
    typer.Option("-o", "--output", help="File of labels to write; an existing one is continued.", show_default=False),
]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        "--class", metavar="CLASS", help="A class, in the order of the keys on the keyboard; may be repeated."
    ),
]
Append = Annotated[bool, typer.Option("--append", help="Append texts that an existing file of labels does not have.")]
Multilabel = Annotated[bool, typer.Option("--multilabel", help="Allow any number of labels for a text.")]


def register(app: typer.Typer) -> None:
    """Add the command and its subcommands."""
    from unnaive.apps.labelling.record_commands import label_export, label_import, label_simulate, label_status

    app.command()(label)
    for function in (label_status, label_export, label_import, label_simulate):
        app.command(function.__name__.replace("_", " "))(function)


@reading("Texts, in any format of unnaive train, or a file of labels to continue.", default=None)
def label(
    source: DataFile | None,
    output: LabelOutput = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Label in this terminal instead of a browser.")] = False,
    classes: Classes = None,
    multilabel: Multilabel = False,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the annotator; by default the name of the user.")
    ] = None,
    hints: Annotated[
        Path | None,
        READ,
        typer.Option(
            help='TOML file with keywords and descriptions of classes, and guidelines, e.g. sport = ["ball"].',
            rich_help_panel=ASKING,
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
    word_vectors: Annotated[
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
    append: Append = False,
    listen: Annotated[
        str,
        excludes("terminal"),
        typer.Option(
            metavar="HOST",
            help="Address to listen on; any but that of this computer needs --person.",
            rich_help_panel=PAGE,
        ),
    ] = "127.0.0.1",
    person: Annotated[
        list[str] | None,
        excludes("terminal"),
        typer.Option(
            metavar="NAME",
            help="Somebody who labels, with an address and a token of their own; NAME:review also decides for others.",
            rich_help_panel=PAGE,
        ),
    ] = None,
    certfile: Annotated[
        Path | None,
        BY_SET,
        READ,
        typer.Option(metavar="FILE", help="Certificate for HTTPS (PEM), with those of its issuers."),
    ] = None,
    keyfile: Annotated[
        Path | None, BY_SET, READ, typer.Option(metavar="FILE", help="Private key of certfile, unless that has it.")
    ] = None,
    port: Annotated[
        int | None,
        excludes("terminal"),
        typer.Option(
            help="Port to listen on; 0 for any free port; by default the same port for the same file of labels.",
            min=0,
            max=65535,
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Label texts on a web page or in the terminal, while a model suggests labels and selects the next text.

    The same command continues an earlier session. To train on the labels: unnaive train labels.db -o MODEL.

    unnaive label demo/test.csv -o labels.db --class billing --class data --class login
    """
    from unnaive.curation.labelling.asking import Strategy
    from unnaive.curation.labelling.hints import read_hints
    from unnaive.curation.labelling.labelling_session import Labelling
    from unnaive.io.vectors.cached_vectors import read_vectors

    vectors = read_vectors(word_vectors)
    about = None if hints is None else read_hints(hints)
    record = open_record(source, output, classes or [], multilabel=multilabel, who=who_labels(who), append=append)
    if about is not None:
        about.describe(record, who_labels(who))
    place = (listen, port, certfile, keyfile)
    labelling = Labelling(
        record,
        strategy=Strategy(random_share=random_share, seed=seed),
        hints=None if about is None else about.keywords,
        double=double,
        again=again,
        vectors=vectors,
    )
    if model is not None:
        start_from(labelling, model)
    if queue is not None:
        _queue(labelling, queue, who_labels(who))
    try:
        _run(labelling, who_labels(who), terminal=terminal, place=place, people=person or [])
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


def open_record(
    source: DataFile | None, output: Path | None, classes: list[str], *, multilabel: bool, who: str,
    append: bool = False,
) -> LabelRecord:  # fmt: skip
    """The record to continue, or a new one with the texts."""
    from unnaive.curation.labelling.label_log import LabelRecord
    from unnaive.curation.labelling.record_tables import is_label_record
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
        return _reopened(LabelRecord(record_path), classes, multilabel, who)
    if output is None:
        if record_path is not None and record_path.exists():
            raise UnnaiveError(
                f"{record_path} is not a file of labels; to label its texts, name one with -o, such as: unnaive label "
                f"{record_path} -o labels.db"
            )
        raise UnnaiveError("no file of labels was named; add -o, such as: unnaive label texts.csv -o labels.db")
    if output.exists():
        record = LabelRecord(output)
        if source is not None:
            if fields != record.fields():
                raise UnnaiveError(f"{output} has documents with other fields than {source.name}; name another file")
            _append(record, source, who, append=append)
        return _reopened(record, classes, multilabel, who)
    if source is None:
        raise BadData(f"no file of labels called {output}; name the texts too: unnaive label TEXTS -o {output}")
    texts, names, given_labels = read_unlabelled_texts(source)
    if not classes and not given_labels:
        note_labels(source)
    classes = list(dict.fromkeys([*classes, *sorted({name for labels in given_labels.values() for name in labels})]))
    multilabel = multilabel or bool(source.multilabel) or any(len(name) > 1 for name in given_labels.values())
    record = LabelRecord.create(output, texts, names, classes=classes, multilabel=multilabel, fields=fields)
    if given_labels:
        _add_given(record, given_labels, source.name)
    return record


def note_labels(source: DataFile) -> None:
    """Say that a table seems to have labels, which are read only from a column that is named."""
    if source.label is not None or source.label_columns or not all(Path(path).is_file() for path in source.paths):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        try:
            _, columns = next(replace(source, options=source.options.as_look()).tables(labelled=True))
        except UnnaiveError:
            return
    if columns.label in columns.names:
        note(f"{source.name} seems to have labels in {columns.label}; to begin with them: --label {columns.label}, "
             "and another -o FILE")  # fmt: skip


def _append(record: LabelRecord, source: DataFile, who: str, *, append: bool) -> None:
    """Append the texts of a file that a record does not have; without `append` it must have all of them."""
    texts, names, given_labels = read_unlabelled_texts(source)
    known = set(record.texts())
    new = [row for row, text in enumerate(texts) if text not in known]
    if not new:
        return
    if not append:
        raise UnnaiveError(
            f"{record.path} has labels of other texts than {source.name}: {len(new):,} of its "
            f"{count_noun(len(texts), 'text')} are new; add --append to append them, or name another file"
        )
    first = len(record)
    record.append(who, [texts[row] for row in new], [names[row] for row in new])
    labelled = {first + place: given_labels[row] for place, row in enumerate(new) if row in given_labels}
    if labelled:
        _add_given(record, labelled, source.name)
    say_summary(f"{count_noun(len(new), 'text')} appended to {record.path}")


def _add_given(record: LabelRecord, labels: dict[int, tuple[str, ...]], name: str) -> None:
    """Add the labels that came with the texts."""
    from unnaive.curation.labelling.label_log import IMPORTED, ImportedVote

    record.add_many([ImportedVote(text, IMPORTED, "label", given) for text, given in labels.items()], f"import {name}")


def _reopened(record: LabelRecord, classes: list[str], multilabel: bool, who: str) -> LabelRecord:
    """An existing record, with further classes; whether it is multilabel was decided when it was made."""
    if multilabel and not record.multilabel:
        record.close()
        raise UnnaiveError(f"{record.path} has one label for each text; leave --multilabel out, or name a new file")
    for name in classes:
        if name not in record.classes():
            record.change_class(who, "class", [name])
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

    def begin(pool: TextPool) -> dict[str, Any]:
        scores = np.asarray(fitted.predict_log_proba(pool.texts), np.float32)
        scores = np.maximum(scores, np.float32(-30))  # never certain
        if fitted.tells_out_of_scope:
            pool.novelty = fitted.out_of_scope_score(pool.texts)
        return {str(name): np.ascontiguousarray(scores[:, column]) for column, name in enumerate(fitted.classes)}

    labelling.start_from(begin)


def _queue(labelling: Labelling, path: Path, who: str) -> None:
    """Show only the texts in a list of findings, in its order."""

    from unnaive.curation.labelling.moving import find_queue
    from unnaive.io.formats import read_rows

    rows = list(read_rows(path))
    labelling.follow_queue(who, find_queue(rows, labelling.names, labelling.pool.texts, str(path)))


def _run(
    labelling: Labelling, who: str, *, terminal: bool, place: tuple[str, int | None, Path | None, Path | None],
    people: list[str],
) -> None:  # fmt: skip
    """Ask in the terminal, or serve the page at a place: the host, the port, the certificate and its key."""
    if terminal:
        from unnaive.apps.labelling.terminal import Terminal

        Terminal(labelling, who).run()
        return
    try:
        from unnaive.apps.common.web.running import ListenOptions
        from unnaive.apps.labelling.page import serve_page
    except ImportError as problem:
        raise missing_extra(problem.name or "fastapi", "without --terminal, the page") from problem
    host, port, certfile, keyfile = place
    options = ListenOptions(host, port or 0, certfile, keyfile)
    serve_page(labelling, who, options, usual=port is None, people=people)


def describe_session(labelling: Labelling) -> dict[str, Any]:
    """The state of labelling, as plain values."""
    from unnaive.apps.labelling.session_progress import Standing, describe_agreement
    from unnaive.curation.labelling.label_log import describe_record

    labelling.sync()
    state = describe_record(labelling.record)
    return state | Standing().look(labelling) | describe_agreement(labelling)


def sentences(status: dict[str, Any]) -> list[str]:
    """The state of labelling, in lines."""
    sizes = ", ".join(f"{name} {size:,}" for name, size in status["classes"].items())
    lines = [f"{status['file']}: {status['words']}{f' ({sizes})' if sizes else ''}", *status["sentences"]]
    for pair in status["agreement"]:
        kappa = "" if pair["kappa"] is None else f", kappa {pair['kappa']:.2f}"
        lines.append(
            f"{' and '.join(pair['people'])} agree on {pair['same']} of {count_noun(pair['texts'], 'text')}{kappa}"
        )
    if status["alpha"] is not None and len(status["people"]) > 2:
        lines.append(f"all of them: Krippendorff's alpha {status['alpha']:.2f}")
    if sum(size > 0 for size in status["classes"].values()) > 1:
        lines.append(f"next: unnaive train {status['file']} -o my.model")
    elif status["labelled"]:
        lines.append("next: label texts of another class too; a model needs at least two classes")
    return lines
