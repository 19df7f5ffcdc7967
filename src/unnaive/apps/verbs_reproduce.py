"""`unnaive reproduce`: the tables of a paper, ours beside the published ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps.experiment_options import OUTPUT, Archives, Html, Jobs, JsonFile, Seed, listed, write

if TYPE_CHECKING:
    from unnaive.evaluation.papers.lineup import Lineup
    from unnaive.evaluation.papers.tables import Run


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
    from unnaive.evaluation.papers.tables import Run

    with Progress(f"reproducing {paper}") as bar:
        chosen = tuple(listed(models)) if models is not None else None
        run = Run(archives, quick, seed, chosen, jobs, bar.rename, records)
        done = show_lineups(paper, table, run, quiet=json_file == Path("-"))
    write_reproduction(paper, done, run, html=html, json_file=json_file)
    outside = sum(len(one.outside) for one in done)
    if strict and outside:
        raise typer.Exit(1)


def show_lineups(paper: str, table: str | None, run: Run, *, quiet: bool) -> list[Lineup]:
    """Print each table as it is done, then how many figures fell where."""
    import shutil

    from unnaive.evaluation.papers.lineup import reproduce as lineups
    from unnaive.evaluation.papers.output import LEGEND, as_text
    from unnaive.evaluation.papers.tables import read_paper

    about, done = read_paper(paper), []
    if not quiet:
        typer.echo("\n".join([f"{about.title} ({about.source})", *(f"  {note}" for note in about.notes), LEGEND, ""]))
    for one in lineups(paper, run, table=table):
        done.append(one)
        if not quiet:
            typer.echo(as_text(one, width=shutil.get_terminal_size((110, 24)).columns) + "\n")
    if not quiet:
        marks = [line.mark for one in done for line in one.lines if line.mark]
        typer.echo(f"{marks.count('inside')} of {len(marks)} figures with a band are inside it")
    return done


def write_reproduction(paper: str, done: list[Lineup], run: Run, *, html: Path | None, json_file: Path | None) -> None:
    """The files that were asked for."""
    from unnaive.evaluation.papers.output import as_json
    from unnaive.evaluation.papers.page import as_html
    from unnaive.evaluation.papers.tables import read_paper

    if html is not None:
        write(html, as_html(read_paper(paper), done, run))
    if json_file is not None:
        write(json_file, json.dumps(as_json(read_paper(paper), done, run), indent=2, ensure_ascii=False) + "\n")
