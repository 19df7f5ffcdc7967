"""`unnaive train`: labelled documents in, a model file out, and a summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.cli.learning_options import LEARNING, training_options
from unnaive.apps.cli.spark_engine import Engine, Master, Ship, choose_engine, refuse_on_spark
from unnaive.apps.cli.word_options import token_options
from unnaive.apps.common.option_markers import BY_SET, SettingNames, needs
from unnaive.apps.common.path_options import READ, WRITTEN_MODEL, written_into
from unnaive.apps.common.progress_bar import Progress
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import AsJson, RegisterKey, reading
from unnaive.base.visible_text import visible_json
from unnaive.workflows.large_data import CHECKPOINT_EVERY, LargeDataOptions

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile

LARGE_DATA = "Large data"  # heading in the help


MODEL_HELP = "Name of the model, e.g. auto, nbsvm, multinomial or svm; by default auto."
# the setting of auto that has an option of its own; a test compares the sentences
SETTINGS_HELP = {
    "budget": "Search work of auto: fast, normal (default, a minute or two), thorough (ten times that), or a number of "
    "seconds.",
}


def model_settings(arguments: Mapping[str, Any]) -> Iterable[str]:
    """The settings of the model that is to be trained."""
    from unnaive.models.catalogue import find_model

    return find_model(arguments.get("model") or "auto").declared()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(train)


@reading(
    "A CSV, TSV, JSONL or Parquet file, a folder with a folder for each class, or - for stdin.",
    ahead=True,
    flags=("category", "number", "date", "vector", "fields"),
)
@training_options("calibrate", "random_state", "word_vectors")
@token_options("language", "ngrams")
def train(
    source: DataFile,
    output: Annotated[
        str,
        WRITTEN_MODEL,
        typer.Option("-o", "--output", metavar="FILE", help="The model file to write.", show_default=False),
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help=MODEL_HELP, rich_help_panel=LEARNING, show_default=False),
    ] = None,
    budget: Annotated[
        str | None,
        needs("model=auto", "model="),
        typer.Option(metavar="BUDGET", help=SETTINGS_HELP["budget"], rich_help_panel=LEARNING),
    ] = None,
    settings: Annotated[
        list[str] | None,
        SettingNames(model_settings),
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of the model, e.g. alpha=0.1, or a less common option by its name; may be repeated.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    soft_labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Probabilities instead of labels: columns 'p_*' for all classes, or p_good for good and not good; "
            "may be repeated.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        READ,
        typer.Option(
            metavar="DATA", help="Labelled documents to evaluate the model on after training; may be repeated."
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the documents to evaluate on before training on all, e.g. 0.2; by default none.",
        ),
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Maximum size of the model file, e.g. 5MB; weights are quantised and terms dropped to fit.",
        ),
    ] = None,
    frozen: Annotated[
        bool,
        typer.Option(
            "--frozen", help="Leave counts and documents out of the file: it is smaller and cannot be updated."
        ),
    ] = False,
    register: Annotated[
        bool,
        typer.Option(
            "--register", help="Store a hash of each document, so that only learnt documents can be forgotten."
        ),
    ] = False,
    key: RegisterKey = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Maximum memory for counting, e.g. 2G; larger counts go to disk; by default no limit.",
            rich_help_panel=LARGE_DATA,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        BY_SET,
        written_into(),
        typer.Option(
            metavar="FOLDER",
            help="Folder for checkpoints; the same command continues an interrupted training.",
            rich_help_panel=LARGE_DATA,
        ),
    ] = None,
    checkpoint_every: Annotated[
        str,
        BY_SET,
        needs("checkpoint"),
        typer.Option(
            metavar="SIZE", help="Amount of text between two checkpoints, e.g. 256M.", rich_help_panel=LARGE_DATA
        ),
    ] = CHECKPOINT_EVERY,
    cache: Annotated[
        Path | None,
        BY_SET,
        written_into(),
        typer.Option(
            metavar="FOLDER",
            help="Folder that stores the counted documents, for further models of the same data.",
            rich_help_panel=LARGE_DATA,
        ),
    ] = None,
    engine: Engine = "local",
    master: Master = None,
    ship: Ship = False,
    as_json: AsJson = False,
    *,
    training: dict[str, Any],
    words: dict[str, Any],
) -> None:
    """Train a model on labelled documents.

    The default model, auto, selects and combines several models on held-out documents; --budget fast is quicker.

    unnaive train demo/train.csv --label queue -o tickets.model --test demo/test.csv

    Values of --set decision: argmax predicts the class with the best score. scut predicts every class whose score
    reaches its threshold, which is tuned on held-out documents. rcut predicts the same number of labels for every
    document. best uses the better of scut and rcut. pcut predicts each class for the same share of documents as in the
    training data. untuned predicts every class with a probability over 0.5.
    """
    from unnaive.apps.cli.train_summary import show_summary
    from unnaive.base.settings import parse_settings
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.workflows.train import train_file

    parameters = words | training | {"model": model or "auto"}
    parameters |= parse_settings(settings or [])
    parameters |= parse_budget(budget)
    classifier = TextClassifier(**parameters)
    spark = choose_engine(engine, master, ship)
    if spark is not None:
        others = {"--holdout": holdout is not None, "--register": register, "--max-size": max_size}
        refuse_on_spark("train", others | {"--memory": memory, "--set checkpoint": checkpoint, "--set cache": cache})
        from unnaive.workflows.spark_jobs import train_on_spark

        with Progress() as bar:
            result = train_on_spark(
                spark, classifier, source, output, test=test, frozen=frozen, soft=soft_labels or (), progress=bar.event
            )
    else:
        with Progress() as bar:
            result = train_file(
                source, classifier, output=output, test=test, holdout=holdout, frozen=frozen, max_size=max_size,
                register=register, key=key, soft_labels=soft_labels or (), progress=bar.event,
                large_data=LargeDataOptions(memory, checkpoint, checkpoint_every, cache),
            )  # fmt: skip
    if as_json:
        echo(visible_json(result.to_dict()))
    else:
        show_summary(result.to_dict(), memory, test=test or ())


def parse_budget(text: str | None) -> dict[str, Any]:
    """The setting of auto that --budget gives: a name, or seconds.

    >>> parse_budget("fast"), parse_budget("90"), parse_budget(None)
    ({'budget': 'fast'}, {'budget': 90.0}, {})
    """
    if text is None:
        return {}
    word = text.strip().removesuffix("s") if text.strip()[:1].isdigit() else text.strip()
    try:
        return {"budget": float(word)}
    except ValueError:
        return {"budget": word}
