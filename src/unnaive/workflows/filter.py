"""Filter a corpus: keep the texts that a model assigns to given classes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData, Interrupted, UnnaiveError, count_noun
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, open_data
from unnaive.workflows.trained_columns import read_as_trained

if TYPE_CHECKING:
    from unnaive.base.types import Label, ProgressCallback
    from unnaive.evaluation.recall_threshold import RecallThreshold
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel
    from unnaive.scaleout.filter.filter_page import FilterReport
    from unnaive.scaleout.filter.keep_rule import KeepRule
    from unnaive.scaleout.filter.run import FilterOutcome
    from unnaive.scaleout.filter.shards import ShardPlan

CONFIDENCE = 0.9  # probability that new texts reach the recall


@dataclass(frozen=True, eq=False, repr=False)
class FilterResult(Result):
    """What was kept, as a report with sentences for people; how its threshold was chosen; remarks."""

    report: FilterReport
    choice: RecallThreshold | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive filter --json` prints them."""
        return self.report.to_dict() | ({} if self.choice is None else {"held_out": asdict(self.choice)})


def filter_files(
    model: str | Path,
    data: Data,
    keep: str | Sequence[str],
    output: str | Path | None,
    *,
    above: float | None = None,
    recall: float | None = None,
    held_out: Data | None = None,
    confidence: float = CONFIDENCE,
    progress: ProgressCallback | None = None,
) -> FilterResult:
    """Write the texts that a model assigns to given classes, unchanged and in order.

    The same call continues an interrupted one, if `data` is a folder or several files.

    Parameters
    ----------
    model : path
        The model that decides.
    data : path, list of paths or DataFile
        Texts: .jsonl, .parquet, .warc, .wet or .txt files, also compressed, or folders of them.
    keep : str or list of str
        Class or classes of the texts to keep.
    output : path or None
        File to write, or a folder if `data` is a folder or several files; None is stdout.
    above : float or None, default=None
        Minimum probability of the kept classes.
    recall : float or None, default=None
        Instead of `above`, the minimum share of the wanted texts to keep; the threshold is chosen on `held_out`.
    held_out : path, list of paths, DataFile or None, default=None
        Labelled texts that the model was not trained on, for `recall`.
    confidence : float, default=0.9
        Probability that new texts reach the recall.
    progress : callable or None, default=None
        Called with the name and the details of each event.
    """
    from unnaive.base.open_files import hash_file
    from unnaive.classifier.model_file import load_model
    from unnaive.learning.class_spellings import find_class
    from unnaive.scaleout.filter.filter_page import FilterReport
    from unnaive.scaleout.filter.shards import plan_shards

    if (above is None) == (recall is None) or (recall is None) != (held_out is None):
        raise UnnaiveError("no threshold, or two: give above=0.5, or recall=0.9 and held_out with labelled texts")
    names = [keep] if isinstance(keep, str) else list(keep)
    feedback = Feedback(progress)
    source = open_data(data)
    target = None if output is None else Path(output)
    plan = plan_shards(source.paths, target, format=source.format, follow_links=source.options.follow_links)
    fitted = load_model(Path(model))
    classes = list(dict.fromkeys(find_class(fitted, name) for name in names))
    rule, choice = _choose_rule(fitted, classes, above, recall, confidence, held_out, feedback)
    if plan.left_out:
        feedback.note(f"skipped {len(plan.left_out):,} files that are not texts, such as {plan.left_out[0]}")
    settings = {"model": hash_file(Path(model)), "class": sorted(set(names)), "threshold": rule.threshold}
    outcome = _filter_plan(plan, rule, read_as_trained(source, fitted), settings, feedback)
    return FilterResult(FilterReport.of(rule, outcome, str(model), choice), choice, tuple(feedback.notes))


def _choose_rule(
    fitted: FittedModel,
    classes: list[Label],
    above: float | None,
    recall: float | None,
    confidence: float,
    held_out: Data | None,
    feedback: Feedback,
) -> tuple[KeepRule, RecallThreshold | None]:
    """(the rule, how its threshold was found, or None if it was given)."""
    from unnaive.evaluation.recall_threshold import check_share
    from unnaive.learning.class_spellings import parse_class_labels
    from unnaive.scaleout.filter.keep_rule import choose_keep_rule

    if recall is None or held_out is None:
        return choose_keep_rule(fitted, classes, above=above)
    check_share(recall, "recall")
    check_share(confidence, "confidence")
    labelled = read_as_trained(open_data(held_out), fitted)
    corpus = labelled.corpus()
    feedback.read(labelled)
    labels = parse_class_labels(fitted, corpus)
    if set(classes).isdisjoint(label for names in labels for label in names):
        names = " or ".join(map(str, classes))
        raise BadData(f"no text of {corpus.name} is labelled {names}; give labelled texts of that class")
    return choose_keep_rule(fitted, classes, recall=recall, held_out=(corpus.texts, labels), confidence=confidence)


def _filter_plan(
    plan: ShardPlan, rule: KeepRule, source: DataFile, settings: dict[str, Any], feedback: Feedback
) -> FilterOutcome:
    """Filter all shards; finished shards are kept on an interruption. `settings` begin the record of finished ones."""
    from unnaive.base.open_files import STDIN
    from unnaive.scaleout.filter.filter_log import open_filter_record
    from unnaive.scaleout.filter.reading import choose_reading
    from unnaive.scaleout.filter.run import FilterOutcome, filter_shards

    shards = choose_reading(plan.jobs, source, rule.fitted)
    files = [Path(job.source) for job in plan.jobs if job.source != STDIN]
    outcome = FilterOutcome()
    settings = settings | {
        "column of text": None if shards.columns is None else list(shards.columns.texts),
        "part of messages": shards.message, "encoding": shards.options.encoding, "format": source.format,
    }  # fmt: skip
    record = nullcontext() if plan.folder is None else open_filter_record(plan.folder, settings, plan.jobs)
    feedback.step("filtering", sum(path.stat().st_size for path in files if path.is_file()) or None)
    try:
        with record as kept_record:
            shards = replace(shards, options=replace(shards.options, on_read=feedback.advance))
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
            of_all = f"{len(outcome.shards):,} of {count_noun(len(plan.jobs), 'shard')}"
            feedback.note(f"{of_all} finished; the same command continues")
        raise
    if not outcome.tally.texts:
        raise BadData(f"{source.name} has no texts; give at least one")
    if outcome.tally.skipped:
        feedback.note(f"left out {count_noun(outcome.tally.skipped, 'line')} that could not be read")
    if others:
        verb = "is an output of a shard" if len(others) == 1 else "are outputs of shards"
        words = f"{count_noun(len(others), 'file')} of {plan.folder}, such as {others[0].name},"
        feedback.note(f"{words} {verb} that is not in the input now; remove what you do not want")
    if plan.folder is None and plan.jobs[0].target is None:
        sys.stdout.flush()
    return outcome
