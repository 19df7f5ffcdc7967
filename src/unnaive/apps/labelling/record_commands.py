"""`unnaive label status`, `export`, `import` and `simulate`: what is done with a file of labels without labelling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.common.option_markers import BY_SET
from unnaive.apps.common.path_options import EXTENDED, READ, WRITTEN
from unnaive.apps.common.screen import echo, note, say_summary
from unnaive.apps.common.shared_options import AsJson, Page, Seed, reading
from unnaive.apps.labelling.command import (
    Append,
    Classes,
    LabelOutput,
    Multilabel,
    describe_session,
    open_record,
    sentences,
    who_labels,
)
from unnaive.base.errors import UnnaiveError, count_noun
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile

MIGRATED = ("csv", "jsonl", "parquet", "prodigy", "label-studio")
Format = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="FORMAT", help=f"Format of FILE: {', '.join(MIGRATED)}; by default by the ending of its name."
    ),
]
LabelFile = Annotated[Path, READ, typer.Argument(metavar="LABELS", help="A file of labels.", show_default=False)]


@reading("A file of labels, or with -o the texts of one.", default=None)
def label_status(
    source: DataFile | None,
    output: LabelOutput = None,
    classes: Classes = None,
    multilabel: Multilabel = False,
    append: Append = False,
    as_json: AsJson = False,
) -> None:
    """Print how many texts of a file of labels are labelled, and how accurate a model of them is.

    With texts and -o, it makes a file of labels without opening the page.

    unnaive label status demo/test.csv -o labels.db --class billing --class data
    """
    from unnaive.curation.labelling.labelling_session import Labelling

    record = open_record(source, output, classes or [], multilabel=multilabel, who=who_labels(None), append=append)
    try:
        state = describe_session(Labelling(record))
    finally:
        record.close()
    if as_json:
        echo(visible_json(state))
    else:
        say_summary("\n".join(sentences(state)))


def label_export(
    labels: LabelFile,
    output: Annotated[
        Path, WRITTEN, typer.Option("-o", "--output", metavar="FILE", help="The file to write.", show_default=False)
    ],
    votes: Annotated[
        bool, typer.Option("--votes", help="Write a row for every annotator's answer, with its time, skips and flags.")
    ] = False,
    form: Format = None,
) -> None:
    """Write the labels of a file of labels as a table, or for Prodigy or Label Studio.

    unnaive label status demo/test.csv --label queue -o labels.db
    unnaive label export labels.db -o labels.csv
    """
    from unnaive.curation.labelling.label_log import LabelRecord
    from unnaive.curation.labelling.moving import export_labels

    record = LabelRecord(labels)
    try:
        written = count_noun(export_labels(record, output, form, votes=votes), "answer" if votes else "labelled text")
        say_summary(f"{written} written to {output}")
    finally:
        record.close()


@reading("The texts, if the file of labels does not exist yet.", default=None)
def label_import(
    file: Annotated[Path, READ, typer.Argument(metavar="FILE", help="The labels to add.", show_default=False)],
    source: DataFile | None,
    output: Annotated[
        Path,
        EXTENDED,
        typer.Option("-o", "--output", metavar="LABELS", help="The file of labels to add to.", show_default=False),
    ],
    classes: Classes = None,
    multilabel: Multilabel = False,
    form: Format = None,
) -> None:
    """Add labels from a table, Prodigy or Label Studio to a file of labels.

    unnaive label status demo/test.csv --label queue -o first.db
    unnaive label export first.db -o votes.csv
    unnaive label import votes.csv demo/test.csv -o labels.db
    """
    from unnaive.curation.labelling.importing import import_labels

    is_new = not output.exists()
    record = open_record(source, output, classes or [], multilabel=multilabel, who=who_labels(None))
    try:
        taken, unknown = import_labels(record, file, form)
        say_summary(f"{count_noun(taken, 'answer')} imported from {file}")
        if unknown:
            note(f"left out {count_noun(unknown, 'text')} of {file} that the file of labels does not have")
    except UnnaiveError:
        if is_new:
            output.unlink()  # nothing was imported
        raise
    finally:
        record.close()


@reading("Labelled data.")
def label_simulate(
    source: DataFile,
    labels: Annotated[int, typer.Option(min=20, help="Number of labels in each run.")] = 500,
    seeds: Annotated[int, typer.Option(min=2, help="Number of runs of each strategy.")] = 10,
    word_vectors: Annotated[
        Path | None,
        BY_SET,
        READ,
        typer.Option(metavar="FILE", help="Word vectors as additional features of the model."),
    ] = None,
    seed: Seed = 0,
    report: Page = None,
    as_json: AsJson = False,
) -> None:
    """Compare query strategies on labelled data: how accurate models become with each label.

    unnaive label simulate demo/train.csv --label queue --labels 60 --seeds 2
    """
    from unnaive.apps.common.output import check_reports
    from unnaive.apps.labelling.simulation import run_simulation
    from unnaive.io.vectors.cached_vectors import read_vectors

    check_reports(report, (".html",))
    run_simulation(
        source, labels=labels, seeds=seeds, seed=seed, report=report, as_json=as_json,
        vectors=read_vectors(word_vectors),
    )  # fmt: skip
