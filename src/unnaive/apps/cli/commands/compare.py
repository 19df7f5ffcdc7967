"""`unnaive compare`: models on the same splits of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.cli.spark_engine import Engine, Master, Ship, choose_engine
from unnaive.apps.cli.word_options import token_options
from unnaive.apps.common.option_markers import BY_SET, excludes
from unnaive.apps.common.output import check_reports, write_reports
from unnaive.apps.common.path_options import EXTENDED, READ
from unnaive.apps.common.progress_bar import Progress
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import (
    OUTPUT,
    Archives,
    AsJson,
    Jobs,
    Reports,
    Seed,
    make_output_folders,
    parse_number,
    reading,
    split_list,
)
from unnaive.base.errors import UnnaiveError, choose

if TYPE_CHECKING:
    from unnaive.evaluation.results import Record
    from unnaive.evaluation.trials import ExperimentPlan
    from unnaive.io.datafiles import DataFile
    from unnaive.text.tokens import TokenRule
    from unnaive.workflows.spark_jobs import SparkEngine

REPORTS = (".html", ".md", ".json")
DATA_HELP = "A data file or folder, or a collection: tickets, reuters, 20newsgroups:subject-body and others."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


@reading(DATA_HELP)
@token_options("language", "ngrams")
def compare(
    source: DataFile,
    models: Annotated[
        str | None,
        typer.Option(
            help="Models, separated by commas, e.g. svm,multinomial:alpha=0.1; by default one of each family."
        ),
    ] = None,
    splits: Annotated[
        int | None,
        excludes("folds"),
        typer.Option(help="Number of random splits, by default 10; data with its own split also needs --train-sizes."),
    ] = None,
    train_sizes: Annotated[
        str | None,
        excludes("folds"),
        typer.Option(
            metavar="SHARES",
            help="Training sizes as shares of the data, e.g. 0.1,0.5,0.8; by default 0.8, or the split of the data.",
        ),
    ] = None,
    vocabulary: Annotated[
        str,
        typer.Option(help="Vocabulary sizes to compare, e.g. 100,1000,all; terms are selected by information gain."),
    ] = "all",
    folds: Annotated[
        int | None, typer.Option(help="Number of cross-validation folds, instead of random splits.")
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(help="Measures, separated by commas; by default accuracy (multilabel: micro-f1) and macro-f1."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model to test the others against; by default the first.")
    ] = None,
    word_vectors: Annotated[
        Path | None,
        READ,
        typer.Option(metavar="FILE", help="File of word vectors, for the models that use them; by default none."),
    ] = None,
    min_df: Annotated[
        int,
        BY_SET,
        typer.Option(help="Minimum number of training documents that a term occurs in; rarer terms are left out."),
    ] = 1,
    seed: Seed = 0,
    jobs: Jobs = None,
    records: Annotated[
        Path | None,
        EXTENDED,
        typer.Option(
            "-o",
            "--output",
            help="File for the result of each run; an interrupted comparison continues from it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Reports = None,
    as_json: AsJson = False,
    archives: Archives = None,
    engine: Engine = "local",
    master: Master = None,
    ship: Ship = False,
    *,
    words: dict[str, Any],
) -> None:
    """Compare models on the same splits of the data, with significance tests and learning curves.

    unnaive compare demo/train.csv --label queue --models complement,nbsvm,svm --splits 5
    """
    from unnaive.apps.cli.comparison_summary import show_comparison
    from unnaive.evaluation.trials import Contender, ExperimentPlan
    from unnaive.io.endings import RECORDS, choose_ending
    from unnaive.text.tokens import TokenRule
    from unnaive.workflows.compare import default_models, run_comparison

    # errors of the command are found before the data is read
    spark = choose_engine(engine, master, ship)
    rule = TokenRule(**words)
    plan = ExperimentPlan(
        tuple(
            Contender.parse(name)
            for name in (default_models(one_pass=spark is not None) if models is None else split_list(models))
        ),
        ("accuracy", "macro-f1") if measures is None else tuple(split_list(measures)),
        splits=10 if splits is None else splits,
        train_sizes=() if train_sizes is None else tuple(map(parse_share, split_list(train_sizes))),
        vocabularies=tuple(parse_vocabulary_size(word) for word in split_list(vocabulary)),
        folds=folds,
        min_df=min_df,
        seed=seed,
    )
    names = [str(contender) for contender in plan.contenders]
    rival = names[0] if baseline is None else choose(names, baseline, "model in this comparison")
    if records is not None:
        choose_ending(records, RECORDS, "a file of records")
    make_output_folders([records])
    check_reports(report, REPORTS)
    if spark is not None:
        if word_vectors is not None:
            raise UnnaiveError("compare --engine spark has no --word-vectors; leave it out, or use --engine local")
        results = run_on_spark(spark, plan, source, rule, records)
    else:
        with Progress("comparing") as bar:
            result = run_comparison(
                plan, source, rule, word_vectors=word_vectors, usual_measures=measures is None,
                asks_for_splits=splits is not None, records=records,
                archives=archives, jobs=jobs or 1, progress=bar.event,
            )  # fmt: skip
        results = list(result.comparison.records)
    if as_json:
        from unnaive.evaluation.summaries import records_as_json

        echo(records_as_json(results, against=rival))
    else:
        show_comparison(results, rival, records)
    write_comparison(results, rival, report, source)


def run_on_spark(
    spark: SparkEngine, plan: ExperimentPlan, source: DataFile, rule: TokenRule, records: Path | None
) -> list[Record]:
    """Run the plan on Spark, and add the results to the file of records."""
    from unnaive.evaluation.results import RecordFile
    from unnaive.workflows.spark_jobs import compare_on_spark

    results = compare_on_spark(spark, plan, source, rule)
    if records is not None:
        RecordFile(records).append(results)
    return results


def parse_share(word: str) -> float:
    """A share of the data as ExperimentPlan has it, in per cent.

    >>> parse_share("0.55")
    55.0
    """
    share = parse_number(word)
    if not 0 < share < 1:
        raise UnnaiveError(f"--train-sizes has {word}; give shares between 0 and 1, such as 0.1,0.5,0.8")
    return round(100 * share, 9)


def parse_vocabulary_size(word: str) -> int | None:
    """A number of terms, or None for all of them."""
    if word == "all":
        return None
    if not word.isdecimal():
        raise UnnaiveError(f"a vocabulary size came as {word!r}; give whole numbers or all, such as 100,1000,all")
    return int(word)


def write_comparison(records: list[Record], rival: str, reports: Sequence[Path] | None, source: DataFile) -> None:
    """Write the requested reports, which say what they are about."""
    from unnaive.apps.common.report_identity import identify
    from unnaive.evaluation.comparison_page import comparison_page
    from unnaive.evaluation.grids import grids_as_markdown
    from unnaive.evaluation.summaries import records_as_json

    renderers = {
        ".html": lambda: comparison_page(records, against=rival, identity=identify({"data": source.paths})),
        ".md": lambda: grids_as_markdown(records) + "\n",
        ".json": lambda: records_as_json(records, against=rival) + "\n",
    }
    write_reports(reports, renderers)
