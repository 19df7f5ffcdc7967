"""Show the result of training: sizes, measures, the search of auto, as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.base.errors import count_noun

# the measurements of a summary: key, name in the headline, and documents; the first that there is, is the headline
MEASURED = (("test", "test", "of the test file"), ("holdout", "held-out", "set aside"))


def show_summary(summary: dict[str, Any], memory: str | None = None, *, test: Sequence[str] = ()) -> None:
    """The summary of a training for people: the headline, then what is needed to judge it, then the next command.

    summary   TrainingResult.to_dict
    memory    the limit that was given, if any
    test      the test files
    """
    from unnaive.apps.common.screen import format_size, say_headline
    from unnaive.apps.common.screen import say_summary as say

    say(f"read {summary['read']}")
    learnt = describe_learnt(summary)
    headline = accuracy_headline(summary)
    say_headline(headline or learnt)
    for line in (*measure_lines(summary), *([learnt] if headline else []), *details(summary, memory)):
        say(f"  {line}")
    n_bytes = summary["documents_bytes"]
    of_them = f", {format_size(n_bytes)} of it counted documents for updates" if n_bytes else ""
    say(f"wrote {summary['file']} ({format_size(summary['bytes'])}{of_them})")
    say(f"next: {next_command(summary['file'], test)}")


def describe_learnt(summary: dict[str, Any]) -> str:
    """What the model has learnt, and in which time."""
    kind = "any number of labels" if summary["multilabel"] else "one label each"
    documents = "" if summary["documents"] is None else count_noun(summary["documents"], "document") + ", "
    return (
        f"{summary['model']} learnt {documents}{count_noun(summary['classes'], 'class', 'classes')} "
        f"({kind}), {count_noun(summary['terms'], 'term')} in {summary['seconds']:.2f} s"
    )


def accuracy_headline(summary: dict[str, Any]) -> str:
    """The best measurement that there is, and the model; empty if nothing was measured.

    >>> search = {"tried": [{"share": 0.6}, {"share": 0.4}, {"share": 0}]}
    >>> accuracy_headline({"model": "auto", "multilabel": False, "test": {"accuracy": 0.927}, "search": search})
    'test accuracy 92.7 % (auto: 2 models; unnaive inspect shows them)'
    >>> accuracy_headline({"model": "svm", "multilabel": True, "holdout": {"micro-f1": 0.75}})
    'held-out micro F1 0.750 (svm)'
    """
    from unnaive.models.auto.search_report import describe_accuracy, members

    search = summary.get("search") or {}
    n_models = len(members(search))
    shown = f": {count_noun(n_models, 'model')}; unnaive inspect shows {'it' if n_models == 1 else 'them'}"
    model = f"{summary['model']}{shown if n_models else ''}"
    for name, words, _ in MEASURED:
        if name in summary:
            values = summary[name]
            if summary["multilabel"]:
                return f"{words} micro F1 {values['micro-f1']:.3f} ({model})"
            return f"{words} accuracy {100 * values['accuracy']:.1f} % ({model})"
    held_out = describe_accuracy(search)
    return f"{held_out} ({model})" if held_out else ""


def measure_lines(summary: dict[str, Any]) -> list[str]:
    """What belongs to the headline: its interval, macro F1 and documents, and any other measurement."""
    from unnaive.models.auto.search_report import describe_expectation

    lines: list[str] = []
    for name, _, words in MEASURED:
        if name in summary:
            values, multilabel = summary[name], summary["multilabel"]
            documents = f"on {count_noun(values['documents'], 'document')} {words}"
            lines.append(
                f"{main_measures(values, multilabel) if lines else _beside_headline(values, multilabel)} {documents}"
            )
    expectation = describe_expectation(summary.get("search") or {})
    return lines if lines or not expectation else [expectation]


def _beside_headline(measured: dict[str, Any], multilabel: bool) -> str:
    macro = f"macro F1 {measured['macro-f1']:.3f}"
    if multilabel:
        return macro
    low, high = measured["accuracy_interval"]
    return f"95 % interval {100 * low:.1f} to {100 * high:.1f} %, {macro}"


def details(summary: dict[str, Any], memory: str | None) -> list[str]:
    """What else people must know: the aim of the decision, large data, parts held out together, the cost of a limit."""
    from unnaive.models.auto.search_report import remark_lines

    lines = [summary["decides"]] if summary["decides"] else []
    lines += [*remark_lines(summary.get("search") or {}), *describe_report(summary.get("out_of_core", {}), memory)]
    lines += [block["sentence"] for block in summary.get("blocks", ())]
    return lines + (size_sentences(summary["size"], summary["multilabel"]) if "size" in summary else [])


def next_command(file: str, test: Sequence[str]) -> str:
    """The command that people need after a training, which evaluates the model on its test files.

    >>> next_command("my.model", ["test.csv"])
    'unnaive evaluate my.model test.csv'
    """
    import shlex

    if test:
        return shlex.join(["unnaive", "evaluate", file, *test])
    return f"unnaive evaluate {shlex.quote(file)} DATA, on labelled documents that it has not learnt"


def main_measures(measured: dict[str, Any], multilabel: bool) -> str:
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
            f"{main_measures(cost['before'], multilabel)} before, {main_measures(cost['after'], multilabel)} after, on "
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
