"""`unnaive filter`: keep the texts of a corpus that a model assigns to given classes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.path_options import READ, WRITTEN_RESULT
from unnaive.apps.common.screen import echo, note
from unnaive.apps.common.shared_options import (
    FIELD_OPTIONS,
    STDOUT,
    AsJson,
    Html,
    ModelFile,
    make_output_folders,
    reading,
)
from unnaive.base.errors import Interrupted

if TYPE_CHECKING:
    from unnaive.base.types import Label
    from unnaive.evaluation.recall_threshold import RecallThreshold
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel
    from unnaive.scaleout.filter.keep_rule import KeepRule
    from unnaive.scaleout.filter.run import FilterOutcome
    from unnaive.scaleout.filter.shards import ShardPlan


CONFIDENCE = 0.9  # default probability that new texts reach the recall


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("filter")(filter_command)


@reading(
    "Texts: .jsonl, .parquet, .warc, .wet or .txt files, also compressed, folders of them, or - for stdin.",
    without=(*FIELD_OPTIONS, "vector", "id"),
)
def filter_command(
    model: ModelFile,
    source: DataFile,
    keep: Annotated[
        list[str],
        typer.Option(
            "--keep", metavar="CLASS", help="Class of the texts to keep; may be repeated.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        WRITTEN_RESULT,
        typer.Option(
            "-o",
            "--output",
            help="File to write, or a folder if DATA is several files; by default stdout.",
            show_default=False,
        ),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(metavar="P", help="Minimum probability of the kept classes, e.g. 0.5."),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Minimum share of the wanted texts to keep; the threshold is chosen on --held-out."
        ),
    ] = None,
    held_out: Annotated[
        Path | None, READ, typer.Option(help="Labelled texts that the model was not trained on, for --recall.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Probability that new texts reach the recall of --recall; by default 0.9."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
    *,
    read_like: Callable[..., DataFile],
) -> None:
    """Filter a corpus: keep the texts that a model assigns to given classes.

    Kept texts are written unchanged and in order. For a folder of shards, the output is a folder with the same file
    names. The same command continues an interrupted run.

    unnaive predict tickets/tickets.model tickets/test.csv -o texts.jsonl
    unnaive filter tickets/tickets.model texts.jsonl -o billing.jsonl --keep billing --above 0.5
    """
    from unnaive.apps.common.output import write_text
    from unnaive.apps.common.screen import say_summary
    from unnaive.base.visible_text import visible_json
    from unnaive.classifier.model_file import load_model
    from unnaive.learning.class_spellings import find_class
    from unnaive.scaleout.filter.filter_page import FilterReport, filter_page
    from unnaive.scaleout.filter.shards import plan_shards
    from unnaive.workflows.trained_columns import read_as_trained

    target = None if output is None or output == STDOUT else output
    check_cut(above, recall, held_out, confidence)
    plan = plan_shards(source.paths, target, format=source.format, follow_links=source.options.follow_links)
    make_output_folders([html])
    fitted = load_model(model)
    classes = list(dict.fromkeys(find_class(fitted, name) for name in keep))
    rule, choice = choose_rule(
        fitted, classes, above, recall, CONFIDENCE if confidence is None else confidence, held_out, read_like
    )
    if plan.left_out:
        note(f"skipped {len(plan.left_out):,} files that are not texts, such as {plan.left_out[0]}")
    outcome = filter_plan(plan, rule, read_as_trained(source, fitted), model, keep)
    report = FilterReport.of(rule, outcome, str(model), choice)
    if as_json:
        shown = report.to_dict() | ({} if choice is None else {"held_out": asdict(choice)})
        echo(visible_json(shown), err=target is None)
    else:
        tell = say_summary if target is not None else note_summary
        for sentence in report.sentences():
            tell(sentence)
    if html is not None:
        write_text(html, filter_page(report))


def note_summary(line: str) -> None:
    """Print a summary line on stderr, where stdout has the texts, unless --quiet."""
    from unnaive.apps.common.screen import is_quiet

    if not is_quiet():
        echo(line, err=True)


def check_cut(above: float | None, recall: float | None, held_out: Path | None, confidence: float | None) -> None:
    """Raise an error unless exactly one way to set the threshold was given."""
    from unnaive.base.errors import UnnaiveError

    if (above is None) == (recall is None):
        problem = "no threshold was given" if above is None else "--above and --recall were both given"
        raise UnnaiveError(f"{problem}; give either --above 0.5, or --recall 0.9 with --held-out LABELLED")
    if recall is not None and held_out is None:
        raise UnnaiveError("--recall needs labelled texts that the model has not learnt; add --held-out LABELLED")
    if recall is None and held_out is not None:
        raise UnnaiveError("--held-out is used only with --recall; leave it out, or replace --above by --recall")
    if recall is None and confidence is not None:
        raise UnnaiveError("--confidence is used only with --recall; leave it out, or replace --above by --recall")


def choose_rule(
    fitted: FittedModel,
    classes: list[Label],
    above: float | None,
    recall: float | None,
    confidence: float,
    held_out: Path | None,
    read_like: Callable[..., DataFile],
) -> tuple[KeepRule, RecallThreshold | None]:
    """(the rule, how its threshold was found, or None if it was given)."""
    from unnaive.apps.common.output import say_what_was_read
    from unnaive.base.errors import BadData
    from unnaive.evaluation.recall_threshold import check_share
    from unnaive.learning.class_spellings import parse_class_labels
    from unnaive.scaleout.filter.keep_rule import choose_keep_rule
    from unnaive.workflows.trained_columns import read_as_trained

    if recall is None:
        return choose_keep_rule(fitted, classes, above=above)
    check_share(recall, "recall")
    check_share(confidence, "confidence")
    labelled = read_as_trained(replace(read_like([str(held_out)]), format=None), fitted)
    corpus = labelled.corpus()
    say_what_was_read(labelled)
    labels = parse_class_labels(fitted, corpus)
    if set(classes).isdisjoint(label for names in labels for label in names):
        names = " or ".join(map(str, classes))
        raise BadData(f"no text of {corpus.name} is labelled {names}; give labelled texts of that class")
    return choose_keep_rule(fitted, classes, recall=recall, held_out=(corpus.texts, labels), confidence=confidence)


def filter_plan(plan: ShardPlan, rule: KeepRule, source: DataFile, model: Path, keep: list[str]) -> FilterOutcome:
    """Filter all shards with a progress bar; finished shards are kept on an interruption."""
    from contextlib import nullcontext

    from unnaive.apps.common.progress_bar import Progress
    from unnaive.base.errors import BadData, UnnaiveError, count_noun
    from unnaive.base.open_files import STDIN, hash_file
    from unnaive.scaleout.filter.filter_log import open_filter_record
    from unnaive.scaleout.filter.reading import choose_reading
    from unnaive.scaleout.filter.run import FilterOutcome, filter_shards

    shards = choose_reading(plan.jobs, source, rule.fitted)
    files = [Path(job.source) for job in plan.jobs if job.source != STDIN]
    total = sum(path.stat().st_size for path in files if path.is_file())
    outcome = FilterOutcome()
    settings: dict[str, Any] = {
        "model": hash_file(model), "class": sorted(set(keep)), "threshold": rule.threshold,
        "column of text": None if shards.columns is None else list(shards.columns.texts),
        "part of messages": shards.message, "encoding": shards.options.encoding, "format": source.format,
    }  # fmt: skip
    record = nullcontext() if plan.folder is None else open_filter_record(plan.folder, settings, plan.jobs)
    try:
        with Progress("filtering", total or None, in_logs=bool(files)) as bar, record as kept_record:
            shards = replace(shards, options=replace(shards.options, on_read=bar.advance))
            filter_shards(rule, plan.jobs, shards, record=kept_record, outcome=outcome)
            others = [] if kept_record is None else kept_record.find_others(plan.jobs)
    except KeyboardInterrupt:
        done = count_noun(len(outcome.shards), "shard")
        raise Interrupted(
            f"interrupted after {done} of {len(plan.jobs):,}; run the same command to continue"
            if plan.folder is not None
            else "interrupted; nothing was written"
        ) from None
    except (UnnaiveError, OSError):
        if outcome.shards and plan.folder is not None:
            note(
                f"{len(outcome.shards):,} of {count_noun(len(plan.jobs), 'shard')} finished; the same command continues"
            )
        raise
    if not outcome.tally.texts:
        raise BadData(f"{source.name} has no texts; give at least one")
    if outcome.tally.skipped:
        note(f"left out {count_noun(outcome.tally.skipped, 'line')} that could not be read")
    if others:
        verb = "is an output of a shard" if len(others) == 1 else "are outputs of shards"
        words = f"{count_noun(len(others), 'file')} of {plan.folder}, such as {others[0].name},"
        note(f"{words} {verb} that is not in the input now; remove what you do not want")
    if plan.folder is None and plan.jobs[0].target is None:
        sys.stdout.flush()
    return outcome
