"""Show the result of training: sizes, measures, the search of auto, as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.base.errors import count_noun


def show_summary(summary: dict[str, Any], memory: str | None = None) -> None:
    """The summary of a training (TrainingResult.to_dict) for people; `memory` is the limit that was given, if any."""
    from unnaive.apps.common.screen import format_size
    from unnaive.apps.common.screen import say_summary as say
    from unnaive.workflows.training_result import search_lines

    kind = "any number of labels" if summary["multilabel"] else "one label each"
    say(f"read {summary['read']}")
    documents = "" if summary["documents"] is None else count_noun(summary["documents"], "document") + ", "
    say(
        f"{summary['model']} learnt {documents}{count_noun(summary['classes'], 'class', 'classes')} "
        f"({kind}), {count_noun(summary['terms'], 'term')} in {summary['seconds']:.2f} s"
    )
    if summary["decides"]:
        say(summary["decides"])
    for line in (*search_lines(summary.get("search")), *describe_report(summary.get("out_of_core", {}), memory)):
        say(line)
    for block in summary.get("blocks", ()):
        say(block["sentence"])
    for name, words in (("holdout", "set aside"), ("test", "of the test file")):
        if name in summary:
            values = summary[name]
            say(f"{headline(values, summary['multilabel'])} on {count_noun(values['documents'], 'document')} {words}")
    if "size" in summary:
        for sentence in size_sentences(summary["size"], summary["multilabel"]):
            say(sentence)
    n_bytes = summary["documents_bytes"]
    of_them = f", {format_size(n_bytes)} of it counted documents for updates" if n_bytes else ""
    say(f"wrote {summary['file']} ({format_size(summary['bytes'])}{of_them})")


def headline(measured: dict[str, Any], multilabel: bool) -> str:
    """The main measures: micro and macro F1 for multilabel data, else accuracy and macro F1."""
    if multilabel:
        return f"micro F1 {measured['micro-f1']:.3f}, macro F1 {measured['macro-f1']:.3f}"
    low, high = measured["accuracy_interval"]
    return (
        f"accuracy {100 * measured['accuracy']:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f}), "
        f"macro F1 {measured['macro-f1']:.3f}"
    )


def size_sentences(about: dict[str, Any], multilabel: bool) -> list[str]:
    """The changes to a model and their cost, for people."""
    from unnaive.apps.common.screen import format_size

    limit, before = format_size(about["limit"]), format_size(about["bytes_before"])
    if about["bytes_before"] <= about["limit"]:
        return [f"it fits in {limit} as it is"]
    done = []
    if about["terms"] < about["terms_before"]:
        done.append(f"the {about['terms']:,} most important of {count_noun(about['terms_before'], 'term')}")
    if about["weight_bits"]:
        done.append(f"weights of {about['weight_bits']} bits")
    done.append("nothing kept for updates")
    sentences = [f"made to fit in {limit}, from {before}: {', '.join(done)}"]
    cost = about.get("cost")
    if cost:
        documents = count_noun(cost["before"]["documents"], "document")
        sentences.append(
            f"{headline(cost['before'], multilabel)} before, {headline(cost['after'], multilabel)} after, on "
            f"{documents}{' set aside, by a model of the rest' if about.get('set_aside') else ''}"
        )
    return sentences


def describe_report(report: dict[str, Any], memory: str | None) -> Sequence[str]:
    """Notes about training on a large collection.

    >>> list(describe_report({"pruned_terms": 1200, "pruned_below_df": 3}, "2G"))
    ['1,200 terms of fewer than 3 documents left out, so that the model fits in 2G of memory']
    """
    lines = []
    if "resumed_at" in report:
        lines.append(f"continued after row {report['resumed_at']:,} from the checkpoint")
    if "runs_written" in report:
        lines.append(f"wrote sums to disk {count_noun(report['runs_written'], 'time')}, when memory was full")
    if "pruned_terms" in report:
        lines.append(
            f"{count_noun(report['pruned_terms'], 'term')} of fewer than "
            f"{count_noun(report['pruned_below_df'], 'document')} left out, so that the model fits in {memory} of "
            "memory"
        )
    effect = "evaluate and filter cannot warn about texts that the model has learnt"
    if "option_without_hashes" in report:
        lines.append(f"with {report['option_without_hashes']} no hashes of the texts are kept: {effect}")
    elif "without_hashes" in report:
        lines.append(f"the hashes of the texts do not fit in {memory} of memory and were dropped: {effect}")
    return [*lines, *report.get("notes", ())]
