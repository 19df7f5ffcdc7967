"""`unnaive train`: labelled documents in, a model file out, and a summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.options import AsJson, KeyFile, reading
from unnaive.apps.out_of_core import CHECKPOINT_EVERY, Limits
from unnaive.apps.screen import echo, visible_json
from unnaive.apps.spark_engine import Engine, Master, Ship, SparkEngine, train_on_spark
from unnaive.apps.word_options import token_options

if TYPE_CHECKING:
    from unnaive.classifier import TextClassifier
    from unnaive.fitted import FittedModel
    from unnaive.reading.corpus import Corpus
    from unnaive.reading.datafiles import DataFile
    from unnaive.types import Progress

    Finish = Callable[[FittedModel, Corpus], FittedModel]

LEARNING = "Learning"  # panels of the help
LARGE_DATA = "Large data"


DECISION_HELP = (
    "How scores become labels. argmax: the best class, and no other (the default for one label each). scut: every "
    "class that reaches its own threshold, tuned on documents held out. rcut: the same number of labels for every "
    "document. best: the better of these two on documents held out (the default for multilabel data). pcut: each "
    "class goes to the share of documents that it had in training. untuned: every class above even odds."
)


MODEL_HELP = "auto, multinomial, bernoulli, complement, or-gate, … Default: auto."
BUDGET_HELP = (
    "How much auto may try: fast, naive Bayes and a closed form on words; normal, about a minute at most; thorough, "
    "ten; or a number of seconds. Default: normal."
)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(train)


@reading("A CSV, TSV, JSONL or Parquet file, a folder with a folder for each class, or - for stdin.")
@token_options()
def train(
    source: DataFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.", show_default=False)],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help=MODEL_HELP, rich_help_panel=LEARNING, show_default=False),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="BUDGET", help=BUDGET_HELP, rich_help_panel=LEARNING),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the model.", rich_help_panel=LEARNING),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Additive smoothing of naive Bayes.", rich_help_panel=LEARNING)
    ] = None,
    smoothing: Annotated[
        str | None, typer.Option(help="laplace, jelinek-mercer or absolute, of naive Bayes.", rich_help_panel=LEARNING)
    ] = None,
    min_df: Annotated[int, typer.Option(help="Leave out terms of fewer documents.", rich_help_panel=LEARNING)] = 1,
    select: Annotated[
        str | None,
        typer.Option(metavar="[MEASURE:]K", help="Keep the K best terms: 2000, chi2:2000, …", rich_help_panel=LEARNING),
    ] = None,
    decision: Annotated[str | None, typer.Option(help=DECISION_HELP, rich_help_panel=LEARNING)] = None,
    calibrate: Annotated[
        str | None,
        typer.Option(help="Make probabilities true: temperature, platt, isotonic or none.", rich_help_panel=LEARNING),
    ] = None,
    optimise: Annotated[
        str | None,
        typer.Option(
            metavar="AIM|COST.csv",
            help="Decide for accuracy, macro-f1 (rare classes count alike), or the least cost by a table of true and "
            "given classes.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced: documents of rare classes weigh more.", rich_help_panel=LEARNING)
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option(metavar="DATA", help="Documents to measure the model on, which it never saw.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(help="Share of the documents to measure on first, such as 0.2.")
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Of the file, such as 5MB: weights are rounded and terms left out to fit."),
    ] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Leave out what only updates need, and hashes of documents.")
    ] = False,
    documents_limit: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Most that the counted documents, which updates need, may take in the file."),
    ] = "500MB",
    register: Annotated[
        bool, typer.Option("--register", help="Keep hashes of the documents, so that only these can be forgotten.")
    ] = False,
    key: KeyFile = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Such as 2G: what counting may take. Beyond it sums go to disk; the rarest terms are left out only if "
            "the model itself does not fit.",
            rich_help_panel=LARGE_DATA,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Go on from here after an interruption.", rich_help_panel=LARGE_DATA),
    ] = None,
    checkpoint_every: Annotated[
        str, typer.Option(metavar="SIZE", help="Text between two checkpoints.", rich_help_panel=LARGE_DATA)
    ] = CHECKPOINT_EVERY,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the counted documents here, and use them again for the next model of the same data.",
            rich_help_panel=LARGE_DATA,
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="All cores by default.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    engine: Engine = "local",
    master: Master = None,
    ship: Ship = False,
    as_json: AsJson = False,
    *,
    words: dict[str, Any],
) -> None:
    """Learn from labelled documents and write a model.

    unnaive train tickets.csv -o tickets.model --holdout 0.2
    """
    from unnaive.classifier import TextClassifier
    from unnaive.core.byte_sizes import parse_size
    from unnaive.core.settings import parse_settings
    from unnaive.core.work_start import work_begins

    parameters: dict[str, Any] = words | {
        "model": choose_model(model, alpha, smoothing), "min_df": min_df, "select": parse_select(select),
        "decision": decision, "calibrate": calibrate, "n_jobs": threads, "random_state": seed, "optimise": optimise,
        "class_weight": class_weight, "documents_limit": parse_size(documents_limit),
    }  # fmt: skip
    parameters |= parse_settings(settings or [])
    parameters |= {name: value for name, value in (("alpha", alpha), ("smoothing", smoothing)) if value is not None}
    parameters |= parse_budget(budget, parameters["model"])
    classifier = TextClassifier(**parameters)
    finish = registering(register, key, frozen)
    spark = SparkEngine.asked(engine, master, ship)
    if spark is not None:
        others = {"--holdout": holdout is not None, "--register": register, "--max-size": max_size}
        spark.refuse("train", others | {"--memory": memory, "--checkpoint": checkpoint, "--cache": cache})
        summary = train_on_spark(spark, classifier, source, output, test=test, frozen=frozen)
    else:
        limits = Limits(memory, checkpoint, checkpoint_every, cache, output.absolute().parent)
        # a budget in seconds counts from reading on; with --holdout each of the two trainings has it
        with work_begins() if holdout is None else nullcontext():
            summary = train_file(
                classifier, source, output, test=test, holdout=holdout, frozen=frozen, finish=finish, max_size=max_size,
                limits=limits,
            )  # fmt: skip
    if as_json:
        echo(visible_json(summary))
    else:
        show_summary(summary, memory)


def train_file(
    classifier: TextClassifier,
    source: DataFile,
    output: Path,
    *,
    test: Sequence[str] | None = None,
    holdout: float | None = None,
    frozen: bool = False,
    finish: Finish | None = None,
    max_size: str | None = None,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """Train, measure if asked, write; the sizes and measures as plain values. `finish` is applied before writing."""
    from dataclasses import replace

    from unnaive.apps.out_of_core import learn_out_of_core
    from unnaive.apps.output import read_as_trained, warn_about_learnt
    from unnaive.apps.screen import reading_progress
    from unnaive.apps.sizes import describe_size, measure_cost
    from unnaive.compress import compress_model
    from unnaive.core.byte_sizes import parse_size
    from unnaive.core.scratch import arrays_on_disk
    from unnaive.core.text_hashes import TextHashes
    from unnaive.errors import UnnaiveError, count_noun
    from unnaive.models.catalogue import find_model
    from unnaive.store import check_writable, documents_bytes, save

    limit = None if max_size is None else parse_size(max_size)
    check_writable(output)  # before minutes of work
    classifier.spec()  # likewise: an error if a setting is wrong
    start = time.perf_counter()
    source = replace(
        source, options=replace(source.options, language=classifier.language or "en", threads=classifier.n_jobs)
    )
    needs = {"--holdout": holdout is not None, "--register": finish is not None, "--max-size": limit is not None}
    steps = 3 + (holdout is not None) + bool(test)  # reading, learning and writing are always among them
    steps += 0 if limit is None else 2
    with reading_progress(source, steps=steps) as (watched, bar):
        found = learn_out_of_core(
            classifier, watched, limits or Limits(), progress=bar.event,
            on_counted=lambda n: bar.rename(f"learning {classifier.model} from {count_noun(n, 'document')}"),
            needs_corpus=next((name for name, given in needs.items() if given), None),
        )  # fmt: skip
        measured: dict[str, Any] = {}
        corpus: Corpus | None = None
        if found is not None:
            fitted, report = found
            n_docs, measured = report.documents, {"out_of_core": report.to_dict()} if report.to_dict() else {}
        else:
            takes_unlabelled = find_model(classifier.model).takes_unlabelled
            corpus = watched.corpus(unlabelled=takes_unlabelled)
            multilabel = bool(source.multilabel) or any(len(names) > 1 for names in corpus.labels)
            n_docs, multilabel = len(corpus), multilabel or (corpus.multilabel and not takes_unlabelled)
            if holdout is not None:
                bar.rename(f"measuring {classifier.model} on documents set aside")
                measured["holdout"] = measure_holdout(classifier, corpus, holdout, multilabel, bar.event)
            bar.rename(f"learning {classifier.model} from {count_noun(n_docs, 'document')}")
            classifier.fit(corpus.texts, as_targets(corpus, multilabel), progress=bar.event)
            columns = watched.options.log.columns
            columns = columns and replace(columns, separator=source.separator)
            fitted = replace(classifier.fitted_, columns=columns, text_hashes=TextHashes.of(corpus.texts))
        described = watched.describe()
        if test:
            bar.rename("measuring")
            aside = read_as_trained(replace(source, paths=tuple(test)), fitted).corpus()
            measured["test"] = measure(fitted, aside)
            warn_about_learnt(fitted, aside)
        if finish and corpus is not None:
            fitted = finish(fitted, corpus)
        if limit is not None and corpus is not None:
            bar.rename("making it smaller")
            small = compress_model(replace(fitted, counts=None) if frozen else fitted, limit, texts=corpus.texts)
            if finish and small.frozen:
                raise UnnaiveError(
                    f"a model of at most {limit:,} bytes has no room for a register; allow {small.bytes_before:,}, or "
                    "leave out --register"
                )
            measured["size"] = describe_size(small, limit)
            if small.lossy:
                bar.rename("measuring what that costs")
                measured["size"] |= {"cost": measure_cost(classifier, corpus, limit, multilabel), "set_aside": True}
            fitted, frozen = small.fitted, frozen or small.frozen
        bar.rename("writing")
        large = found is not None and fitted.documents is not None
        with arrays_on_disk(output.absolute().parent) if large else nullcontext():
            save(fitted, output, frozen=frozen)
    return {
        "model": classifier.model,
        "file": str(output),
        "bytes": output.stat().st_size,
        "documents_bytes": documents_bytes(output),
        "documents": n_docs,
        "classes": len(fitted.classes),
        "terms": fitted.scorer.n_terms,
        "multilabel": fitted.multilabel,
        "seconds": round(time.perf_counter() - start, 3),
        "read": described,
        **describe_search(fitted),
        **measured,
    }


def registering(asked: bool, key: Path | None, frozen: bool) -> Finish | None:
    """What adds a register of its documents to a model, if it was asked for."""
    from dataclasses import replace

    from unnaive.errors import UnnaiveError
    from unnaive.receipts import read_key, register_documents

    if key is not None and not asked:
        raise UnnaiveError("--key is for the register; add --register")
    if not asked:
        return None
    if frozen:
        raise UnnaiveError("a frozen model cannot forget, so it has no register; leave one of the two out")
    secret = read_key(key)

    def register(fitted: FittedModel, corpus: Corpus) -> FittedModel:
        if secret is not None:  # hashes without a key beside those with one would give away what the key hides
            fitted = replace(fitted, text_hashes=None)
        return register_documents(fitted, corpus.texts, corpus.labels, secret)

    return register


def as_targets(corpus: Corpus, multilabel: bool) -> list[Any]:
    """A label for each document, None where there is none, or a tuple of labels for each if the data is multilabel."""
    return list(corpus.labels) if multilabel else [names[0] if names else None for names in corpus.labels]


def measure_holdout(
    classifier: TextClassifier, corpus: Corpus, share: float, multilabel: bool, progress: Progress | None = None
) -> dict[str, Any]:
    """Measures of the same model on documents set aside; every class is in both parts where it can be."""
    import warnings

    import numpy as np

    from unnaive.core.folds import folds
    from unnaive.core.targets import read_targets
    from unnaive.errors import UnnaiveError, UnnaiveWarning, count_noun

    if not 0 < share < 1 or round(share * len(corpus)) < 1:
        raise UnnaiveError(f"a holdout of {share} of {count_noun(len(corpus), 'document')}; give a share such as 0.2")
    Y = read_targets(corpus.labels, len(corpus), multilabel=True).Y
    n_folds = max(2, round(1 / min(share, 1 - share)))
    aside = folds(Y, min(n_folds, len(corpus)), seed=classifier.random_state) == 0
    if share > 0.5:
        aside = ~aside
    if not multilabel:
        aside &= np.fromiter(map(bool, corpus.labels), bool, len(corpus))  # nothing to measure on those without a label
    rest, kept = corpus.take(np.flatnonzero(~aside)), corpus.take(np.flatnonzero(aside))
    copy = type(classifier)(**classifier.get_params())
    with warnings.catch_warnings():  # the same is said of all documents
        warnings.simplefilter("ignore", UnnaiveWarning)
        copy.fit(rest.texts, as_targets(rest, multilabel), progress=progress)
    return measure(copy.fitted_, kept)


def measure(fitted: FittedModel, corpus: Corpus) -> dict[str, Any]:
    """Documents, accuracy and F1 of a model on a corpus."""
    from unnaive.evaluation.evaluate import evaluate

    tally = evaluate(fitted, corpus.texts, corpus.labels, name=corpus.name).tally
    return {
        "documents": tally.n,
        "accuracy": tally.accuracy,
        "micro-f1": tally.micro("f1"),
        "macro-f1": tally.macro("f1"),
    }


def show_summary(summary: dict[str, Any], memory: str | None = None) -> None:
    """The summary for people."""
    from unnaive.apps.out_of_core import describe_report
    from unnaive.apps.screen import format_size
    from unnaive.apps.screen import summary as say
    from unnaive.errors import count_noun

    kind = "any number of labels" if summary["multilabel"] else "one label each"
    say(f"read {summary['read']}")
    say(
        f"learnt {'' if summary['documents'] is None else count_noun(summary['documents'], 'document') + ', '}"
        f"{count_noun(summary['classes'], 'class', 'classes')} "
        f"({kind}), {count_noun(summary['terms'], 'term')} in {summary['seconds']:.2f} s"
    )
    for line in (*search_lines(summary), *describe_report(summary.get("out_of_core", {}), memory)):
        say(line)
    for name, words in (("holdout", "set aside"), ("test", "of the test file")):
        if name in summary:
            one = summary[name]
            say(f"{headline(one, summary['multilabel'])} on {count_noun(one['documents'], 'document')} {words}")
    if "size" in summary:
        from unnaive.apps.sizes import size_sentences

        for sentence in size_sentences(summary["size"], summary["multilabel"]):
            say(sentence)
    kept = summary["documents_bytes"]
    of_them = f", {format_size(kept)} of it counted documents for updates" if kept else ""
    say(f"wrote {summary['file']} ({format_size(summary['bytes'])}{of_them})")


def choose_model(model: str | None, alpha: float | None, smoothing: str | None) -> str:
    """The model that was named; else auto, or multinomial naive Bayes where a setting of its was given.

    >>> choose_model(None, None, None), choose_model(None, 0.5, None), choose_model("bernoulli", 0.5, None)
    ('auto', 'multinomial', 'bernoulli')
    """
    return model or ("auto" if alpha is None and smoothing is None else "multinomial")


def parse_budget(text: str | None, model: str) -> dict[str, Any]:
    """The setting of auto that --budget gives: a name, or seconds.

    >>> parse_budget("fast", "auto"), parse_budget("90", "auto"), parse_budget(None, "auto")
    ({'budget': 'fast'}, {'budget': 90.0}, {})
    """
    from unnaive.errors import UnnaiveError

    if text is None:
        return {}
    if model != "auto":
        raise UnnaiveError(f"--budget is for the model auto, and this one is {model}; leave one of the two out")
    word = text.strip().removesuffix("s") if text.strip()[:1].isdigit() else text.strip()
    try:
        return {"budget": float(word)}
    except ValueError:
        return {"budget": word}


def describe_search(fitted: FittedModel) -> dict[str, Any]:
    """What auto tried, as the model keeps it; nothing of other models."""
    recipe = getattr(fitted.scorer, "recipe", None)
    return {"search": recipe["report"]} if recipe else {}


def search_lines(summary: dict[str, Any]) -> list[str]:
    """What auto tried, for people."""
    if not summary.get("search"):
        return []
    from unnaive.models.auto.report import report_lines

    return report_lines(summary["search"])


def headline(measured: dict[str, Any], multilabel: bool) -> str:
    """The two measures that matter: F1 both ways where documents have any number of labels, else accuracy too."""
    if multilabel:
        return f"micro F1 {measured['micro-f1']:.3f}, macro F1 {measured['macro-f1']:.3f}"
    return f"accuracy {100 * measured['accuracy']:.1f} %, macro F1 {measured['macro-f1']:.3f}"


def parse_select(text: str | None) -> Any:
    """ "2000" or "chi2:2000" as TextClassifier takes it.

    >>> parse_select("2000"), parse_select("chi2:30"), parse_select(None)
    (2000, ('chi2', 30), None)
    """
    from unnaive.errors import UnnaiveError

    if text is None:
        return None
    measure, _, number = text.rpartition(":")
    if not number.strip().isdecimal():
        raise UnnaiveError(f"--select is {text!r}; give a number of terms such as 2000, or chi2:2000")
    return (measure, int(number)) if measure else int(number)
