"""`unnaive reproduce`: the tables of a paper, our results beside the published ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.common.output import check_reports, write_reports
from unnaive.apps.common.path_options import written_into
from unnaive.apps.common.screen import echo
from unnaive.apps.common.shared_options import (
    OUTPUT,
    Archives,
    AsJson,
    Jobs,
    Reports,
    Seed,
    split_list,
)
from unnaive.workflows.corpora import check_archives

if TYPE_CHECKING:
    from unnaive.papers.comparison import TableComparison
    from unnaive.papers.paper_run import PaperRun
    from unnaive.papers.published_tables import Paper, PublishedTable


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reproduce)


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(metavar="PAPER", help="The paper: or-gate, maxent-bridge, higher-order, hierarchical or iir."),
    ],
    table: Annotated[str | None, typer.Option(help="Reproduce only this table.")] = None,
    models: Annotated[
        str | None,
        typer.Option(help="Reproduce only these rows, models or families, separated by commas, e.g. naive-bayes."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer splits and training sizes.")] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 1 if a figure differs without a stated reason, or ours left its expected range."
        ),
    ] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    records: Annotated[
        Path | None,
        written_into(),
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Folder for the results; an interrupted run continues from it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Reports = None,
    as_json: AsJson = False,
    archives: Archives = None,
) -> None:
    """Repeat the experiments of a paper and print our figures beside the published ones.

    Most tables need collections: see unnaive collections.

    unnaive reproduce iir --table example
    """
    from unnaive.apps.common.progress_bar import Progress
    from unnaive.base.errors import UnnaiveError
    from unnaive.papers.comparison import reproduce as run_tables
    from unnaive.papers.paper_run import PaperRun
    from unnaive.papers.published_tables import read_paper

    tables = read_paper(paper).select_tables(table)
    wanted = tuple(check_paper_models(tables, split_list(models))) if models is not None else None
    check_reports(report, (".html", ".md", ".json"))
    run = PaperRun(check_archives(archives), quick, seed, wanted, jobs or 1, records=records)
    with Progress(f"reproducing {paper}") as bar:
        run = replace(run, progress=bar.rename)
        done = list(run_tables(paper, run, table=table))
    renderers = renderers_of(read_paper(paper), done, run)
    if as_json:
        echo(renderers[".json"]().rstrip())
    else:
        show_comparisons(read_paper(paper), done, run)
    write_reports(report, renderers)
    if all(cell.ours is None for comparison in done for cell in comparison.cells):
        raise UnnaiveError("no figure could be measured; the tables say why, and where to get the data")
    if strict and any(comparison.outside or comparison.unaccounted for comparison in done):
        raise typer.Exit(1)


def check_paper_models(tables: Sequence[PublishedTable], names: list[str]) -> list[str]:
    """The names; an error unless each is a row or column of the tables, a model, or a family of models."""
    from unnaive.base.errors import choose
    from unnaive.models.catalogue import MODELS
    from unnaive.papers.paper_run import family

    labels = {label for table in tables for label in table.models}
    behind = {model for table in tables for model in table.models.values()} or set(MODELS)
    there = sorted(labels | behind | {family(model) for model in behind})
    lower = [name.lower() for name in there]
    return [name if name.lower() in lower else choose(there, name, "row or model of these tables") for name in names]


def show_comparisons(paper: Paper, done: list[TableComparison], run: PaperRun) -> None:
    """Print the claims of the paper, the differences of its tables, what ran, and every table."""
    import shutil

    from unnaive.papers.comparison import summary_line
    from unnaive.papers.render import LEGEND, QUICK, claims_line, summary_as_text, tables_as_text

    width = shutil.get_terminal_size((110, 24)).columns
    missing = [f"Not available: {text}" for text in paper.missing]
    notes = [*paper.notes, *paper.choices, *paper.data, *missing, *([QUICK] if run.quick else [])]
    echo(f"{paper.title} ({paper.source})\n\n{summary_as_text(paper, done, width=width)}\n")
    echo("\n".join(["What ran", *(f"  {note}" for note in notes), LEGEND, ""]))
    for comparison in done:
        echo(tables_as_text(comparison, width=width) + "\n")
    echo(f"{claims_line(paper, done)}\nFigures: {summary_line(done)}")


def renderers_of(paper: Paper, done: list[TableComparison], run: PaperRun) -> dict[str, Callable[[], str]]:
    """How each kind of report is written."""
    from unnaive.apps.common.report_identity import identify
    from unnaive.papers.render import as_html, tables_as_json, tables_as_markdown

    return {
        ".html": lambda: as_html(paper, done, run, identity=identify({})),
        ".md": lambda: tables_as_markdown(paper, done, run),
        ".json": lambda: json.dumps(tables_as_json(paper, done, run), indent=2, ensure_ascii=False) + "\n",
    }
