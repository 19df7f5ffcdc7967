"""`unnaive reproduce`: the tables of a paper, ours beside the published ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.options import (
    OUTPUT,
    STDOUT,
    Archives,
    Html,
    Jobs,
    JsonFile,
    Seed,
    check_archives,
    make_output_folders,
    split_list,
)
from unnaive.apps.output import write_text
from unnaive.apps.screen import echo

if TYPE_CHECKING:
    from unnaive.evaluation.papers.lineup import Lineup
    from unnaive.evaluation.papers.tables import Run, Table


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(help="or-gate, maxent-bridge, higher-order, hierarchical or iir.")],
    table: Annotated[str | None, typer.Option(help="Only this table.")] = None,
    models: Annotated[
        str | None, typer.Option(help="Only these: rows as printed, models, or families such as naive-bayes.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer splits and sizes.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a figure is outside its band.")] = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    records: Annotated[
        Path | None, typer.Option(help="Folder of records; a run goes on where it stopped.", rich_help_panel=OUTPUT)
    ] = None,
    html: Html = None,
    json_file: JsonFile = None,
    archives: Archives = None,
) -> None:
    """Run the experiments of a paper again, and set our figures beside the published ones.

    unnaive reproduce or-gate --models naive-bayes
    """
    from unnaive.apps.screen import Progress
    from unnaive.errors import UnnaiveError
    from unnaive.evaluation.papers.tables import Run, read_paper

    tables = read_paper(paper).chosen(table)
    wanted = tuple(check_models(tables, split_list(models))) if models is not None else None
    make_output_folders([html, json_file])
    run = Run(check_archives(archives), quick, seed, wanted, jobs, records=records)
    with Progress(f"reproducing {paper}") as bar:
        run = replace(run, progress=bar.rename)
        done = show_lineups(paper, table, run, quiet=json_file == STDOUT)
    write_reproduction(paper, done, run, html=html, json_file=json_file)
    if all(line.ours is None for one in done for line in one.lines):
        raise UnnaiveError("no figure could be measured; the tables say why, and where the data can be had")
    outside = sum(len(one.outside) for one in done)
    if strict and outside:
        raise typer.Exit(1)


def check_models(tables: Sequence[Table], names: list[str]) -> list[str]:
    """The names; an error unless each is a row or column of the tables, a model, or a family of models."""
    from unnaive.errors import choose
    from unnaive.evaluation.papers.tables import family
    from unnaive.models.catalogue import MODELS

    labels = {label for table in tables for label in table.models}
    behind = {model for table in tables for model in table.models.values()} or set(MODELS)
    there = sorted(labels | behind | {family(model) for model in behind})
    lower = [name.lower() for name in there]
    return [name if name.lower() in lower else choose(there, name, "row or model of these tables") for name in names]


def show_lineups(paper: str, table: str | None, run: Run, *, quiet: bool) -> list[Lineup]:
    """Print each table as it is done, then how many figures fell where."""
    import shutil

    from unnaive.evaluation.papers.lineup import reproduce as lineups
    from unnaive.evaluation.papers.output import LEGEND, QUICK, as_text
    from unnaive.evaluation.papers.tables import read_paper

    about, done = read_paper(paper), []
    if not quiet:
        notes = [*about.notes, *([QUICK] if run.quick else [])]
        echo("\n".join([f"{about.title} ({about.source})", *(f"  {note}" for note in notes), LEGEND, ""]))
    for one in lineups(paper, run, table=table):
        done.append(one)
        if not quiet:
            echo(as_text(one, width=shutil.get_terminal_size((110, 24)).columns) + "\n")
    if not quiet:
        marks = [line.mark for one in done for line in one.lines if line.mark]
        echo(f"{marks.count('inside')} of {len(marks)} figures with a band are inside it")
    return done


def write_reproduction(paper: str, done: list[Lineup], run: Run, *, html: Path | None, json_file: Path | None) -> None:
    """The files that were asked for."""
    from unnaive.evaluation.papers.output import as_json
    from unnaive.evaluation.papers.page import as_html
    from unnaive.evaluation.papers.tables import read_paper

    if html is not None:
        write_text(html, as_html(read_paper(paper), done, run))
    if json_file is not None:
        write_text(json_file, json.dumps(as_json(read_paper(paper), done, run), indent=2, ensure_ascii=False) + "\n")
