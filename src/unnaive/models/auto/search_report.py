"""The report of `auto`: what was tried and chosen, and the expected accuracy, as plain values and as lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import count_noun

if TYPE_CHECKING:
    from unnaive.models.auto.held_out_accuracy import HeldOutAccuracy
    from unnaive.models.auto.plan import SearchPlan
    from unnaive.models.auto.search import ChosenView

SHOWN = 12  # rows of the table
SHOWN_SHARING = 0.05  # share of the documents below which shared passages do not matter


def make_report(
    budget: str | float, plan: SearchPlan, chosen: Sequence[ChosenView], shares: dict[tuple[str, str], float],
    held_out: HeldOutAccuracy, sharing: float,
) -> dict[str, Any]:  # fmt: skip
    """The report of a search: every candidate with its held-out accuracy and log-loss, and its share in the pool.

    `held_out` is the accuracy of pools on documents that they were not fitted on; `sharing` is the share of training
    documents that have passages in common with others of their class, and were held out together.
    """
    tried = []
    for view_choice in chosen:
        members = {candidate for candidate, _ in view_choice.members}
        for row in view_choice.tried:
            share = shares.get((row.view, row.candidate.family), 0.0) if row.candidate in members else 0.0
            tried.append(
                {
                    "view": row.view,
                    "model": str(row.candidate),
                    "accuracy": round(row.judged.accuracy, 4),
                    "log-loss": round(row.judged.log_loss, 4),
                    "share": round(share, 3),
                }
            )
    low, high = held_out.interval
    return {
        "budget": budget,
        "accuracy": round(held_out.accuracy, 4),
        "interval": [round(low, 4), round(high, 4)],
        "held-out": held_out.n_docs,
        "learnt-from": round(held_out.share, 4),
        "sharing-passages": round(sharing, 4),
        "folds": plan.n_judged,
        "tried": tried,
        "left-out": list(plan.left_out),
    }


def without_measures(report: dict[str, Any], chosen_on: int | None = None) -> dict[str, Any]:
    """The report of a recipe that is kept for other documents: its members without the measures.

    chosen_on  number of documents of the previous model, on which the recipe was chosen unless it was kept then too

    >>> without_measures({"budget": "fast", "accuracy": 0.9, "tried": [{"view": "words", "model": "NB", "share": 1.0,
    ...     "accuracy": 0.9}, {"view": "words", "model": "SVM", "share": 0.0}]})
    {'budget': 'fast', 'kept-choice': True, 'tried': [{'view': 'words', 'model': 'NB', 'share': 1.0}]}
    """
    shown = ("view", "model", "share")
    members = [{name: row[name] for name in shown} for row in report.get("tried", ()) if row["share"]]
    same: dict[str, Any] = {name: report[name] for name in ("budget", "no-search", "left-out") if name in report}
    n_docs = report.get("chosen-on", None if report.get("kept-choice") else chosen_on)
    same |= {} if n_docs is None else {"chosen-on": n_docs}
    return {**same, "kept-choice": True, "tried": members}


def accuracy_lines(report: dict[str, Any]) -> list[str]:
    """How accurate the pool was on held-out documents, and what to expect on new ones, as lines of text."""
    lines = []
    if "accuracy" in report:
        share = report.get("learnt-from")
        by = f", by models trained on {100 * share:.0f} % of the data" if share is not None and share < 1 else ""
        lines.append(f"{describe_accuracy(report)}{by}; {count_noun(len(report['tried']), 'candidate')} tried")
        lines += filter(None, [describe_expectation(report)])
    if report.get("sharing-passages", 0.0) >= SHOWN_SHARING:
        lines.append(
            f"{100 * report['sharing-passages']:.0f} % of the documents share passages with others (replies, near "
            "copies); these were held out together, so accuracy is higher if new documents copy them too"
        )
    return [*lines, describe_accuracy(report)] if "f1" in report else lines


def describe_expectation(report: dict[str, Any]) -> str:
    """The accuracy to expect on new documents; empty if nothing tells it.

    >>> describe_expectation({"interval": [0.907, 0.952], "learnt-from": 0.8})
    'expected accuracy on new documents from the same source: 90.7 to 95.2 % (95 % interval)'
    """
    if "interval" not in report or report.get("learnt-from") is None:
        return ""
    interval = f"{100 * report['interval'][0]:.1f} to {100 * report['interval'][1]:.1f} % (95 % interval)"
    if not report.get("chosen"):
        return f"expected accuracy on new documents from the same source: {interval}"
    return (
        f"expected accuracy on documents chosen like these: {interval}; "
        f"{count_noun(report['chosen'], 'text was', 'texts were')} labelled because a model was "
        "unsure or somebody searched, so new documents are mostly easier: `unnaive label status` measures on "
        "texts drawn at random"
    )


def describe_accuracy(report: dict[str, Any]) -> str:
    """The held-out accuracy, or micro F1; empty if nothing was measured.

    >>> describe_accuracy({"accuracy": 0.929, "held-out": 651})
    'held-out accuracy 92.9 % on 651 documents'
    """
    if "accuracy" not in report and "f1" not in report:
        return ""
    documents = count_noun(report["held-out"], "document")
    if "accuracy" in report:
        return f"held-out accuracy {100 * report['accuracy']:.1f} % on {documents}"
    return f"held-out micro F1 {report['f1']:.3f} on {documents}"


def members(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The models of the pool, those with the largest shares first."""
    return sorted((row for row in report.get("tried", []) if row["share"]), key=lambda row: -row["share"])


def member_table(report: dict[str, Any]) -> list[tuple[str, ...]]:
    """A heading and a row for each of the first SHOWN models of the pool; empty if the report names none.

    >>> member_table({"tried": [{"view": "words", "model": "NB", "share": 0.25, "accuracy": 0.9}]})
    [('share', 'accuracy', 'text read as', 'model'), ('25 %', '90.0 %', 'words', 'NB')]
    """
    rows = members(report)
    if not rows:
        return []
    name = next((one for one in ("accuracy", "f1") if one in rows[0]), None)
    alone = {"accuracy": ("accuracy",), "f1": ("micro F1",), None: ()}[name]
    table: list[tuple[str, ...]] = [("share", *alone, "text read as", "model")]
    for row in rows[:SHOWN]:
        values = {"accuracy": lambda one: f"{100 * one:.1f} %", "f1": lambda one: f"{one:.3f}"}
        measured = () if name is None else (values[name](row[name]),)
        table.append((f"{100 * row['share']:.0f} %", *measured, row["view"], row["model"]))
    return table


def remark_lines(report: dict[str, Any]) -> list[str]:
    """What is special about the choice: that it was kept, made without a search, or left models out."""
    lines = []
    if report.get("kept-choice"):
        made_on = f"{report['chosen-on']:,} documents" if "chosen-on" in report else "other documents"
        lines.append(f"this choice was made on {made_on}, not on the present documents of the model, and was kept")
    if report.get("approximate"):
        changed = count_noun(report["approximate"], "document")
        lines.append(f"{changed} were learnt or forgotten approximately; an exact update retrains the model")
    if report.get("no-search"):
        lines.append(f"no choice was made on held-out documents, because {report['no-search']}")
    if report.get("left-out"):
        lines.append(f"left out to stay within the budget: {'; '.join(report['left-out'])}")
    return lines


def check_report(report: Any) -> bool:
    """Whether the report of a model file can be shown."""
    try:
        accuracy_lines(report), member_table(report), remark_lines(report)
    except (TypeError, KeyError, ValueError, AttributeError):
        return False
    return True
