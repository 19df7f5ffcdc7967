"""`unnaive update`, `forget`, `merge` and `remake`: exact changes of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.option_markers import BY_SET, needs
from unnaive.apps.common.path_options import READ, WRITTEN, WRITTEN_MODEL
from unnaive.apps.common.progress_bar import Progress
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, ChangedModel, KeyFile, parse_select, reading
from unnaive.base.visible_text import visible_json

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile

EVERY = 5.0  # seconds
WORTH = 1.25  # ratio of the number of documents now and at the selection, from which a new search is suggested
Output = Annotated[
    Path | None,
    WRITTEN_MODEL,
    typer.Option("-o", "--output", help="Write the changed model to this file and leave MODEL unchanged."),
]
SEARCH_HELP = (
    "For auto: search again among the models, keep the selected ones, or only adjust their weights (fast, not exact)."
)
Search = Annotated[
    str | None,
    typer.Option("--search", metavar="again|keep|adjust", help=SEARCH_HELP, show_default=False),
]
MergeSearch = Annotated[
    str | None,
    typer.Option(
        "--search", metavar="again|keep", show_default=False,
        help="For auto: search again (default), or keep the selection of the first model.",
    ),
]  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(update)
    app.command()(forget)
    app.command()(merge)
    app.command()(remake)


@reading(
    "More labelled documents: a file, a folder with a folder for each class, or - for stdin (default with --follow).",
    default=None,
    trained=True,
    without=("id",),
)
def update(
    model: ChangedModel,
    source: DataFile | None,
    read_like: Callable[[list[str]], DataFile],
    new_classes: Annotated[
        bool, typer.Option("--new-classes", help="Add classes that the model does not have yet.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Learn lines of JSON as they arrive, until Ctrl-C.")] = False,
    every: Annotated[
        float,
        BY_SET,
        needs("follow"),
        typer.Option(metavar="SECONDS", help="Seconds between two writes of the model file, with --follow."),
    ] = EVERY,
    batch: Annotated[
        str | None,
        BY_SET,
        needs("follow"),
        typer.Option(
            metavar="KEY", help="JSON key of the batch id, with --follow; a repeated batch is learnt only once."
        ),
    ] = None,
    search: Search = None,
    key: KeyFile = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Train a model further on more documents.

    The result equals a model trained on all documents at once: thresholds and calibration are tuned again, and auto
    searches again unless --search keep is given. With --follow, auto always keeps its selection. With --search adjust,
    the weights of auto are adjusted and not trained again; the file still keeps the new documents for the next exact
    update. If the command fails, the model file stays as it was.

    unnaive update demo/tickets.model demo/test.csv --label queue -o larger.model
    """
    from unnaive.base.errors import UnnaiveError
    from unnaive.learning.update import AGAIN, KEEP

    if follow and search not in (None, KEEP):
        raise UnnaiveError(f"--follow keeps the selected models and trains them; leave --search {search} out")
    if search == AGAIN and source is None:
        from unnaive.workflows.change import search_again

        with Progress() as bar:
            found = search_again(model, output=output, progress=bar.event)
        show_change("searched again", found.to_dict(), as_json)
        return
    if follow:
        arriving = source or read_like(["-"])
        follow_source(
            model, arriving, new_classes=new_classes, every=every, batch=batch, output=output, as_json=as_json
        )
        return
    if source is None:
        raise UnnaiveError("no DATA to learn was named; give a file, a folder, or - for stdin")

    from unnaive.workflows.change import update_file

    with Progress() as bar:
        result = update_file(
            model, source, output=output, new_classes=new_classes, search=search or AGAIN, key=key,
            progress=bar.event,
        )  # fmt: skip
    show_change("learnt", result.to_dict(), as_json)


def follow_source(
    model: Path,
    source: DataFile,
    *,
    new_classes: bool,
    every: float,
    batch: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Learn what arrives in a growing JSON lines file, or on stdin."""
    from unnaive.apps.common.screen import is_quiet
    from unnaive.apps.common.screen import say_summary as say
    from unnaive.base.errors import UnnaiveError, count_noun
    from unnaive.classifier.model_file import load_model
    from unnaive.curation.teaching.noting import noting_change
    from unnaive.io.fields.columns import Columns
    from unnaive.learning.update import kept_statistic
    from unnaive.scaleout.follow import FollowOptions, follow
    from unnaive.workflows.change import ModelSizes

    if output is not None or len(source.paths) != 1:
        raise UnnaiveError("--follow takes one file or - for stdin, and writes to MODEL itself; leave --output out")
    fitted = load_model(model)
    kept_statistic(fitted, "follow")
    if fitted.register is not None:
        raise UnnaiveError("--follow does not update a register; update this model with files")
    usual = Columns.of_section(fitted.source)
    options = FollowOptions(
        text=(source.text or (usual.texts if usual else ()) or ("text",))[0],
        label=source.label or (usual.label if usual else None) or "label",
        batch=batch,
        separator=source.separator or (usual.separator if usual else None),
        every=every,
        new_classes=new_classes,
    )
    summary = follow(
        model, source.path, options, lambda line: None if is_quiet() else echo(line, err=True), noting=noting_change
    )
    if as_json:
        echo(visible_json(summary))
    else:
        extra = f", {count_noun(summary['left_out'], 'line')} left out" if summary["left_out"] else ""
        extra += f", {summary['again']:,} of batches that were learnt before" if summary["again"] else ""
        learnt, writes = count_noun(summary["documents"], "document"), count_noun(summary["writes"], "write")
        say(f"{model} learnt {learnt} in {writes}{extra}")
        changed = load_model(model)
        if changed.choice_kept:
            say(describe_kept_choice(changed.provenance.chosen_on, ModelSizes.of(changed).documents, str(model)))


@reading("The documents to unlearn, with the labels that they were learnt with.", trained=True, without=("id",))
def forget(
    model: ChangedModel,
    source: DataFile,
    receipt: Annotated[
        Path | None,
        WRITTEN,
        typer.Option(help="Write a receipt that unnaive verify can check.", show_default=False),
    ] = None,
    search: Search = None,
    sign: Annotated[
        Path | None,
        needs("receipt"),
        READ,
        typer.Option(
            metavar="FILE",
            help="Ed25519 private key (PEM) that signs the receipt; by default the key of --key signs it.",
            show_default=False,
        ),
    ] = None,
    key: KeyFile = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Remove documents from a model exactly (unlearning).

    The result equals a model that never saw the documents: weights, terms, classes, calibration, thresholds and the
    selection of auto no longer depend on them. A new search of auto takes as long as training. --search keep is faster;
    the receipt then names what still depends on the documents. With --search adjust, the weights are only close to
    those of a model that never saw the documents, their words stay in the vocabulary, and the receipt says so.
    Documents that the model has not learnt are refused. A model that keeps only counts needs --register at training to
    recognise them reliably.

    unnaive update demo/tickets.model demo/test.csv --label queue -o larger.model
    unnaive forget larger.model demo/test.csv --label queue -o smaller.model --receipt forgotten.json
    """
    from unnaive.apps.common.output import say_what_was_written
    from unnaive.apps.common.shared_options import make_output_folders
    from unnaive.workflows.change import forget_file

    make_output_folders([receipt])
    with Progress() as bar:
        result = forget_file(
            model, source, output=output, receipt=receipt, sign=sign, search=search or "again", key=key,
            progress=bar.event,
        )  # fmt: skip
    if receipt is not None:
        say_what_was_written(receipt)
    show_change("forgot", result.to_dict(), as_json)


def merge(
    models: Annotated[
        list[Path], READ, typer.Argument(metavar="MODEL", help="Two or more model files.", show_default=False)
    ],
    output: Annotated[
        Path, WRITTEN_MODEL, typer.Option("-o", "--output", help="The model file to write.", show_default=False)
    ],
    search: MergeSearch = None,
    as_json: AsJson = False,
) -> None:
    """Merge models that were trained separately.

    The result equals a model trained on all their documents, with the settings of the first. Auto searches again unless
    --search keep is given.

    unnaive train demo/train.csv --label queue --model nbsvm -o north.model
    unnaive train demo/test.csv --label queue --model nbsvm -o south.model
    unnaive merge north.model south.model -o all.model
    """
    from unnaive.workflows.change import merge_files

    with Progress() as bar:
        result = merge_files(models, output, search=search or "again", progress=bar.event)
    show_change("merged", result.to_dict(), as_json)


def remake(
    model: ChangedModel,
    name: Annotated[str | None, typer.Option("--model", "-m", help="Name of the new model, e.g. multinomial.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of the model, or min_df or select, e.g. alpha=0.1; may be repeated.",
        ),
    ] = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Change the model type or its settings without the training data.

    The new model is computed from the counts or the counted documents in the file. Models that learn from documents,
    such as svm, need the counted documents.

    unnaive train demo/train.csv --label queue --model multinomial -o tickets.model
    unnaive remake tickets.model --set alpha=0.01 -o smoothed.model
    """
    from unnaive.base.errors import UnnaiveError
    from unnaive.base.settings import parse_settings
    from unnaive.workflows.change import remake_file

    if name is None and not settings:
        raise UnnaiveError(f"no change of {model} was named; give --model or --set, such as --set min_df=2")
    parameters = ({} if name is None else {"model": name}) | parse_settings(settings or [])
    if "select" in parameters:
        parameters["select"] = parse_select(str(parameters["select"]))
    show_change("rebuilt", remake_file(model, output=output, **parameters).to_dict(), as_json)


def show_change(what: str, summary: dict[str, Any], as_json: bool) -> None:
    """Print the result of a change."""
    if as_json:
        echo(visible_json(summary))
        return
    from unnaive.apps.common.screen import say_summary as say
    from unnaive.base.errors import count_noun

    if "read" in summary:
        say(f"read {summary['read']}")
    before, after = summary["before"], summary["after"]
    steps = [
        count_noun(after[name], singular, name) + (f" (was {before[name]:,})" if after[name] != before[name] else "")
        for singular, name in (("document", "documents"), ("class", "classes"), ("term", "terms"))
    ]
    say(f"{what}: {summary['file']} now has {', '.join(steps)}")
    if summary.get("approximate"):
        changed = count_noun(summary["approximate"], "document")
        again = f"unnaive update {summary['file']} --search again"
        say(f"{changed} changed the weights approximately; to make them exact: {again}")
    if summary.get("choice_kept"):
        say(describe_kept_choice(summary.get("chosen_on"), after["documents"], summary["file"]))


def describe_kept_choice(chosen_on: int | None, n_docs: int, file: str) -> str:
    """A sentence about a kept selection: on how many documents it was made, and whether to search again.

    >>> describe_kept_choice(651, 700, "m.model")
    'the selected models, chosen on 651 documents, were kept'
    >>> describe_kept_choice(651, 926, "m.model")
    'the selected models, chosen on 651 documents, were kept; with 926 now, searching again is worthwhile: ...'
    """
    from unnaive.base.errors import count_noun

    basis = "other documents" if chosen_on is None else count_noun(chosen_on, "document")
    sentence = f"the selected models, chosen on {basis}, were kept"
    if not chosen_on or chosen_on / WORTH < n_docs < chosen_on * WORTH:
        return sentence
    return f"{sentence}; with {n_docs:,} now, searching again is worthwhile: unnaive update {file} --search again"
