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


def report_lines(report: dict[str, Any]) -> list[str]:
    """The report as lines of text: expected accuracy, a row for each member of the pool, what was left out."""
    lines = []
    if "accuracy" in report:
        low, high = report["interval"]
        held_out = count_noun(report["held-out"], "held-out document")
        share = report.get("learnt-from")
        by = f", by models trained on {100 * share:.0f} % of the data" if share is not None and share < 1 else ""
        lines.append(
            f"accuracy on {held_out}: {100 * report['accuracy']:.1f} %{by}; "
            f"{count_noun(len(report['tried']), 'candidate')} tried"
        )
        if share is not None and report.get("chosen"):
            lines.append(
                f"expected accuracy on documents chosen like these: {100 * low:.1f} to {100 * high:.1f} % (95 % "
                f"interval); {count_noun(report['chosen'], 'text was', 'texts were')} labelled because a model was "
                "unsure or somebody searched, so new documents are mostly easier: `unnaive label status` measures on "
                "texts drawn at random"
            )
        elif share is not None:
            lines.append(
                f"expected accuracy on new documents from the same source: {100 * low:.1f} to {100 * high:.1f} % (95 % "
                "interval)"
            )
    if report.get("sharing-passages", 0.0) >= SHOWN_SHARING:
        lines.append(
            f"{100 * report['sharing-passages']:.0f} % of the documents share passages with others (replies, near "
            "copies); these were held out together, so accuracy is higher if new documents copy them too"
        )
    if "f1" in report:
        held_out = count_noun(report["held-out"], "held-out document")
        lines.append(f"micro F1 on {held_out}: {report['f1']:.3f}")
    rows = sorted((row for row in report.get("tried", []) if row["share"]), key=lambda row: -row["share"])
    if rows:
        alone = ", and its accuracy" if "accuracy" in rows[0] else ", and its micro F1" if "f1" in rows[0] else ""
        lines.append(f"weight of each member in the pool{alone} by itself:" if alone else "weight of each member:")
    lines += [f"  {100 * row['share']:3.0f} %  {row['view']}: {row['model']}{_measured(row)}" for row in rows[:SHOWN]]
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


def _measured(row: dict[str, Any]) -> str:
    """Accuracy or F1 of the row as text; empty if the recipe was kept and nothing was measured."""
    if "accuracy" not in row and "f1" not in row:
        return ""
    return f", {100 * row['accuracy']:.1f} %" if "accuracy" in row else f", F1 {row['f1']:.3f}"


def check_report(report: Any) -> bool:
    """Whether the report of a model file can be shown."""
    try:
        report_lines(report)
    except (TypeError, KeyError, ValueError, AttributeError):
        return False
    return True
