"""`unnaive compare`, `reproduce` and `plot`: experiments, the papers' tables beside ours, and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.options import reading

if TYPE_CHECKING:
    from unnaive.evaluation.papers.lineup import Lineup
    from unnaive.evaluation.papers.tables import Run
    from unnaive.evaluation.records import Record
    from unnaive.evaluation.trials import Material, Plan
    from unnaive.text.corpus import Corpus
    from unnaive.text.datafiles import DataFile

WORDS = "Words"  # panels of the help
OUTPUT = "Output"
FAMILY = ("multinomial", "bernoulli", "complement", "or-gate", "rocchio", "hos", "maxent", "svm", "knn", "tree")
DATA_HELP = "A data file or folder, or a collection: tickets, reuters, 20newsgroups:subject-body, …"

Data = Annotated[Path | None, typer.Option("--data", help="Folder with the collections' archives.")]
Seed = Annotated[int, typer.Option(help="Of everything random.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes; the numbers do not depend on it.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page.", rich_help_panel=OUTPUT)]
Json = Annotated[Path | None, typer.Option("--json", help="Write JSON; - for stdout.", rich_help_panel=OUTPUT)]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command()(compare)
    app.command()(reproduce)
    app.command()(plot)


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
    json_file: Json = None,
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown.", rich_help_panel=OUTPUT)] = None,
    archives: Data = None,
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
        tuple(Contender.parsed(name) for name in (_listed(models) if models else family())),
        tuple(_listed(measures)) if measures else named,
        splits=splits,
        train_sizes=sizes(train_sizes, folds, corpus),
        vocabularies=tuple(None if word == "all" else int(_number(word)) for word in _listed(vocabulary)),
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
            typer.echo(f"interrupted; what was measured is in {file}, run the same command to go on", err=True)
            raise typer.Exit(130) from None


def sizes(train_sizes: str | None, folds: int | None, corpus: Corpus) -> tuple[float, ...]:
    """The training sizes asked for; 80 % where there are none and the data has no split of its own."""
    if train_sizes is not None:
        return tuple(_number(word) for word in _listed(train_sizes))
    fixed = corpus.split is not None and {"train", "test"} <= set(corpus.split)
    return () if folds is not None or fixed else (80.0,)


def corpus_of(source: DataFile, data: Path | None) -> Corpus:
    """A data file, or a collection by its name and perhaps a view of it; unlabelled documents of tickets included."""
    from unnaive.text.collections import COLLECTIONS, load
    from unnaive.text.tickets import tickets

    name, _, view = source.path.partition(":")
    if Path(source.path).exists() or name not in ("tickets", *COLLECTIONS):
        return source.corpus()
    return tickets(view or "queue") if name == "tickets" else load(name, view=view or None, data=data)


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _number(word: str) -> float:
    from unnaive.errors import UnnaiveError

    try:
        return float(word)
    except ValueError:
        raise UnnaiveError(f"{word!r} is no number; give numbers with commas between them, such as 10,50,80") from None


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


def write(path: Path, text: str) -> None:
    """Write a file, or to stdout for -."""
    if path == Path("-"):
        typer.echo(text, nl=False)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {path}", err=True)


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
    json_file: Json = None,
    archives: Data = None,
) -> None:
    """Run the experiments of a paper again, and set our figures beside the published ones.

    unnaive reproduce or-gate --models naive-bayes
    """
    from unnaive.apps.screen import Progress
    from unnaive.evaluation.papers.tables import Run

    with Progress(f"reproducing {paper}") as bar:
        chosen = tuple(_listed(models)) if models is not None else None
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


CURVES = ("learning-curve", "vocabulary-curve")
OF_A_MODEL = ("precision-recall", "calibration", "confusion", "classes")


@reading("For a model: the data to draw it on.", optional=True)
def plot(
    what: Annotated[Path, typer.Argument(metavar="RECORDS|MODEL", help="Records of compare, or a model file.")],
    source: DataFile,
    figure: Annotated[
        str | None, typer.Option("--figure", "-f", help=", ".join((*CURVES, *OF_A_MODEL)), show_default=False)
    ] = None,
    measure: Annotated[str | None, typer.Option(help="The measure of a curve.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="PNG, SVG or PDF by its ending.", show_default=False)
    ] = None,
    title: Annotated[str | None, typer.Option(help="Above the figure.")] = None,
    archives: Data = None,
) -> None:
    """Draw a figure: curves from the records of a comparison, or what a model does on data.

    unnaive plot records.jsonl --figure learning-curve --measure accuracy -o curve.png
    unnaive plot tickets.model tickets.csv --figure confusion -o confusion.svg
    """
    from unnaive.errors import choose
    from unnaive.evaluation.plots import save_figure

    of_records = what.suffix == ".jsonl"
    there = CURVES if of_records else OF_A_MODEL
    name = choose(list(there), figure or there[0], f"figure of {'records' if of_records else 'a model'}")
    drawn = (
        curve(what, name, measure, title)
        if of_records
        else model_figure(what, corpus_of(source, archives), name, title)
    )
    path = save_figure(drawn, output if output is not None else Path(f"{name}.png"))
    typer.echo(f"wrote {path}")


def curve(path: Path, name: str, measure: str | None, title: str | None) -> Any:
    """A learning or vocabulary curve from records."""
    from unnaive.errors import BadData, choose
    from unnaive.evaluation.plots import curves_figure
    from unnaive.evaluation.records import RecordFile
    from unnaive.evaluation.summaries import learning_curves, vocabulary_curves
    from unnaive.text.sources import existing

    records = list(RecordFile(existing(path)).read())
    there = list(dict.fromkeys(record.measure for record in records))
    if not there:
        raise BadData(f"{path} has no records; make some with unnaive compare")
    chosen = choose(there, measure or there[0], f"measure in {path}")
    by_terms = name == "vocabulary-curve"
    curves = vocabulary_curves if by_terms else learning_curves
    # a file may hold several comparisons; the last that has such a curve is drawn
    parts = dict.fromkeys((record.data, record.protocol) for record in reversed(records))
    each = (curves([one for one in records if (one.data, one.protocol) == part], chosen) for part in parts)
    found = next((some for some in each if some), None)
    if found is None:
        option = "--vocabulary 100,1000,all" if by_terms else "--train-sizes 10,50,80"
        raise BadData(f"{path} has no two points along that axis; compare with {option} first")
    axis = "terms, best by information gain (log scale)" if by_terms else "training documents, % of all"
    heading = title or f"{chosen} by {'vocabulary' if by_terms else 'training size'}"
    return curves_figure(found, title=heading, x=axis, y=chosen, logarithmic=by_terms)


def model_figure(path: Path, corpus: Corpus, name: str, title: str | None) -> Any:
    """What a model does on labelled data."""
    from unnaive.classifier import TextClassifier
    from unnaive.errors import BadData
    from unnaive.evaluation import plots
    from unnaive.evaluation.report import Evaluation, by_size

    found = Evaluation.of(TextClassifier.load(path), corpus)
    words = {"title": title} if title else {}
    if name == "precision-recall":
        return plots.precision_recall_figure(found.rankings(), **words)
    if name == "calibration":
        if not found.calibration():
            raise BadData(f"{path} gives no probabilities to draw; train it with --calibrate")
        return plots.calibration_figure(found.calibration(), **words)
    if name == "confusion":
        return plots.confusion_figure(found.confusion, found.classes, **words)
    order = by_size(found)
    tally = found.tally
    values = {"precision": tally.precision[order], "recall": tally.recall[order], "F1": tally.f1[order]}
    return plots.classes_figure(values, [found.classes[c] for c in order], **words)
