"""`unnaive compare`: models on the same splits of the same data. `reproduce` and `plot` come with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.apps import verbs_plot, verbs_reproduce
from unnaive.apps.experiment_options import (
    OUTPUT,
    Archives,
    Html,
    Jobs,
    JsonFile,
    Seed,
    Stopped,
    corpus_of,
    listed,
    number,
    write,
)
from unnaive.apps.options import reading

if TYPE_CHECKING:
    from unnaive.evaluation.records import Record
    from unnaive.evaluation.trials import Material, Plan
    from unnaive.text.corpus import Corpus
    from unnaive.text.datafiles import DataFile

WORDS = "Words"  # panels of the help
FAMILY = ("multinomial", "bernoulli", "complement", "or-gate", "rocchio", "hos", "maxent", "svm", "knn", "tree")
DATA_HELP = "A data file or folder, or a collection: tickets, reuters, 20newsgroups:subject-body, …"


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command()(compare)
    verbs_reproduce.register(app)
    verbs_plot.register(app)


@reading(DATA_HELP)
def compare(
    source: DataFile,
    models: Annotated[
        str | None, typer.Option(help="Models with commas between, settings as in multinomial:alpha=0.1; the family.")
    ] = None,
    splits: Annotated[int, typer.Option(help="Random splits.")] = 10,
    train_sizes: Annotated[
        str | None, typer.Option(help="Shares for training in %: 1,5,10,80. The data's own split without.")
    ] = None,
    vocabulary: Annotated[str, typer.Option(help="Numbers of terms, best by information gain: 100,1000,all.")] = "all",
    folds: Annotated[int | None, typer.Option(help="Cross-validation in place of random splits.")] = None,
    measures: Annotated[str | None, typer.Option(help="Measures; accuracy or micro-f1, and macro-f1.")] = None,
    against: Annotated[str | None, typer.Option(help="The model to test the others against.")] = None,
    min_df: Annotated[int, typer.Option(help="Leave out terms of fewer training documents.")] = 1,
    seed: Seed = 0,
    jobs: Jobs = 1,
    records: Annotated[
        Path | None, typer.Option(help="File of records; a run goes on where it stopped.", rich_help_panel=OUTPUT)
    ] = None,
    html: Html = None,
    json_file: JsonFile = None,
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown.", rich_help_panel=OUTPUT)] = None,
    archives: Archives = None,
    language: Annotated[str, typer.Option(help="Of the texts: en, tr, de, …", rich_help_panel=WORDS)] = "en",
    stopwords: Annotated[str | None, typer.Option(help="smart or a language code.", rich_help_panel=WORDS)] = None,
    stem: Annotated[str | None, typer.Option(help="porter or snowball.", rich_help_panel=WORDS)] = None,
    digits: Annotated[bool, typer.Option(help="Whether digits belong to words.", rich_help_panel=WORDS)] = True,
) -> None:
    """Compare models on the same splits: means, curves, significance.

    unnaive compare tickets --models multinomial,complement,svm --train-sizes 10,50,80 --jobs 2
    """
    from unnaive.evaluation.trials import Contender, Material, Plan
    from unnaive.text.tokens import TokenRule

    corpus = corpus_of(source, archives)
    material = Material.of(corpus, TokenRule(language, digits=digits, stopwords=stopwords, stem=stem))
    named = ("accuracy", "macro-f1") if material.exclusive else ("micro-f1", "macro-f1")
    plan = Plan(
        tuple(Contender.parsed(name) for name in (listed(models) if models else family())),
        tuple(listed(measures)) if measures else named,
        splits=splits,
        train_sizes=sizes(train_sizes, folds, corpus),
        vocabularies=tuple(None if word == "all" else int(number(word)) for word in listed(vocabulary)),
        folds=folds,
        min_df=min_df,
        seed=seed,
    )
    file = records if records is not None else Path(f"compare-{material.fingerprint.replace('#', '-')}.jsonl")
    made = compared(plan, material, file, jobs)
    write_comparison(made, html=html, json_file=json_file, markdown=markdown)
    if json_file != Path("-"):
        show_comparison(made, against, file)


def family() -> list[str]:
    """The models that are compared when none are named: those that train in seconds."""
    from unnaive.models.catalogue import MODELS

    return [name for name in FAMILY if name in MODELS]


def compared(plan: Plan, material: Material, file: Path, jobs: int) -> list[Record]:
    """Run the plan under a progress bar; an interruption says that nothing is lost."""
    from unnaive.apps.screen import Progress
    from unnaive.evaluation.experiments import run

    with Progress("comparing") as bar:

        def show(done: int, total: int, words: str) -> None:
            bar.rename(words, total)
            bar.advance(done)

        try:
            return run(plan, material, file, jobs=jobs, progress=show)
        except KeyboardInterrupt:
            raise Stopped(f"interrupted; what was measured is in {file}, run the same command to go on") from None


def sizes(train_sizes: str | None, folds: int | None, corpus: Corpus) -> tuple[float, ...]:
    """The training sizes asked for; 80 % where there are none and the data has no split of its own."""
    if train_sizes is not None:
        return tuple(number(word) for word in listed(train_sizes))
    fixed = corpus.split is not None and {"train", "test"} <= set(corpus.split)
    return () if folds is not None or fixed else (80.0,)


def write_comparison(
    records: list[Record], *, html: Path | None, json_file: Path | None, markdown: Path | None
) -> None:
    """The files that were asked for."""
    from unnaive.evaluation.summaries import as_json, as_markdown

    if html is not None:
        from unnaive.evaluation.comparison_page import comparison_page

        write(html, comparison_page(records))
    if markdown is not None:
        write(markdown, as_markdown(records) + "\n")
    if json_file is not None:
        write(json_file, as_json(records) + "\n")


def show_comparison(records: list[Record], against: str | None, file: Path) -> None:
    """Means and differences as tables for the terminal."""
    from unnaive.apps.screen import console, plain_table
    from unnaive.evaluation.summaries import contender_name, duels, place_name, summaries

    out = console()
    found = summaries(records)
    for measure in dict.fromkeys(one.measure for one in found):
        places = list(dict.fromkeys((one.train_size, one.terms) for one in found if one.measure == measure))
        table = plain_table(measure, *(f">{place_name(place)}" for place in places), ">seconds")
        for name in dict.fromkeys(one.contender for one in found):
            cells = {
                (one.train_size, one.terms): one for one in found if (one.contender, one.measure) == (name, measure)
            }
            seconds = sum(one.seconds for one in cells.values()) / len(cells)
            table.add_row(name, *(str(cells[place]) if place in cells else "–" for place in places), f"{seconds:.2f}")
        out.print(table, "")
    names = list(dict.fromkeys(contender_name(record) for record in records))
    rival = None if against is None else _chosen(names, against)
    fights = duels(records, against=rival)
    if fights:
        table = plain_table(f"{fights[0].measure} against {fights[0].second}", "where", "win/tie/loss", ">p", "verdict")
        for one in fights:
            test = one.corrected or one.paired
            p = "–" if test is None else f"{test.p:.2g}"
            table.add_row(one.first, place_name(one.place), str(one.outcome), p, one.verdict)
        out.print(table)
        typer.echo("p: corrected resampled t-test (Nadeau and Bengio), two-sided; verdict at .05")
    typer.echo(f"records: {file}")


def _chosen(names: list[str], name: str) -> str:
    from unnaive.errors import choose

    return choose(names, name, "model in this comparison")
