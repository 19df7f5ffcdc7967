"""The HTML of an explanation: the text with its evidence marked, and bars of the strongest terms."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from unnaive.base.errors import count_noun
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports.identity import Identity
from unnaive.learning.explanation import Explanation

BARS_SHOWN = 30
LEAST_NAMED = 0.1  # of the strongest term's evidence, for a term in the verdict
TEXT_SHOWN = 700  # characters shown of a misclassified document


def explanation_page(why: Explanation, *, identity: Identity | None = None) -> str:
    """One document: its text with the evidence marked, and the contribution of each term as a bar."""
    text = f'{html.evidence_legend()}<article><p class="text" dir="auto">{mark_evidence(why)}</p></article>'
    return html.page(
        f"{why.label}: why",
        explanation_verdict(why),
        [html.Section("The text", text), html.Section("Contribution of each term", evidence_bars(why))],
        identity=identity,
    )


def explanation_verdict(why: Explanation) -> str:
    """The class, and the terms that count most for it, in one sentence."""
    strongest = why.strongest(1)[:3]
    terms = [f"“{item.term}”" for item in strongest if item.value >= LEAST_NAMED * strongest[0].value]
    if not terms:
        return f"{why.title}. No term counts for it."
    named = terms[0] if len(terms) == 1 else f"{', '.join(terms[:-1])} and {terms[-1]}"
    return f"{why.title}. {named} {'counts' if len(terms) == 1 else 'count'} most for it."


def evidence_bars(why: Explanation) -> str:
    """Negative contributions on the left, positive ones on the right, strongest first, including the prior."""
    parts = [(item.term if item.count == 1 else f"{item.term} ×{item.count}", item.value) for item in why.evidence]
    base = [(why.base_name, why.base)] if np.isfinite(why.base) and abs(why.base) > 1e-12 else []
    parts = base + parts[:BARS_SHOWN]
    largest = max((abs(value) for _, value in parts), default=0.0) or 1.0
    rows = []
    for name, value in sorted(parts, key=lambda part: -abs(part[1])):
        bar = html.bar(abs(value) / largest, f"{name} {value:+.3g}")
        left, right = ("<td></td>", bar.replace('class="bar"', 'class="bar for"'))
        if value < 0:
            left, right = bar.replace('class="bar"', 'class="bar left against"'), "<td></td>"
        rows.append((escape(name), left, right, f"{value:+.3g}"))
    rows.append(("<b>together</b>", "<td></td>", "<td></td>", f"<b>{why.score:+.3g}</b>"))
    left_out = len(why.evidence) - BARS_SHOWN
    more = html.page_note(f"{count_noun(left_out, 'weaker term')} left out.") if left_out > 0 else ""
    if not why.evidence:
        more = html.page_note("The model knows none of its terms.")
    head = ("term", "against", "for", "adds")
    return html.fixed_table(head, rows, kind="explained", label="Contribution of each term") + more


def mark_evidence(why: Explanation) -> str:
    """The part of the text with the most evidence, its terms marked."""
    stretches = why.marked()
    largest = max((abs(value) for _, value in stretches), default=0.0) or 1.0
    start, stop = evidence_window(stretches)
    parts, at = [], 0
    for text, value in stretches:
        cut = text[max(start - at, 0) : max(stop - at, 0)]
        at += len(text)
        if cut:
            parts.append(html.marked(cut, value / largest))
    return ("…" if start > 0 else "") + "".join(parts) + ("…" if stop < at else "")


def evidence_window(stretches: Sequence[tuple[str, float]], size: int = TEXT_SHOWN) -> tuple[int, int]:
    """Where to cut a long text: the `size` characters from the start of a segment that have the most evidence.

    >>> evidence_window([("dull ", 0.0), ("dull ", 0.0), ("telling", 3.0)], size=7)
    (10, 17)
    """
    ends = np.cumsum([len(text) for text, _ in stretches])
    starts, at = ends - [len(text) for text, _ in stretches], int(ends[-1]) if len(ends) else 0
    if at <= size:
        return 0, at
    up_to = np.concatenate([[0.0], np.cumsum([abs(value) for _, value in stretches])])
    inside = up_to[np.searchsorted(ends, starts + size, side="right")] - up_to[:-1]
    best = int(starts[int(np.argmax(inside))])
    return min(best, at - size), min(best, at - size) + size
