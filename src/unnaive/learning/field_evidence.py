"""Evidence by field for records: readable names of terms, one entry for a number or date, and the sum of each field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from unnaive.text.sections import FIXED, field_key, field_kinds, sections, shown_values, split_term
from unnaive.text.tokens import Span

if TYPE_CHECKING:
    from unnaive.learning.explain import Evidence

TEXT_BEFORE = "text"  # the text before all sections


def name_evidence(record: str, evidence: Sequence[Evidence], fields: tuple[str, ...]) -> tuple[Evidence, ...]:
    """Evidence with readable names of terms: "subject: refund", "product = Printer", "age = 3.5".

    The intervals of a number, and the parts of a date, are added up to one entry.
    """
    kinds = {field_key(name): kind for name, kind in field_kinds(fields).items()}
    values = shown_values(record)
    named: list[Evidence] = []
    parts: dict[str, Evidence] = {}
    for one in evidence:
        key, sign, rest = split_term(one.term, fields)
        if sign == FIXED and kinds[key] in ("number", "date") and values.get(key):
            before = parts.get(key)
            parts[key] = replace(
                one, term=f"{key} = {values[key]}", count=1, value=one.value + (before.value if before else 0.0)
            )
        elif sign == FIXED:
            named.append(replace(one, term=f"{key} = {rest}".replace("\N{NO-BREAK SPACE}", " ")))
        elif sign:
            words = one.term.split(" ")
            named.append(replace(one, term=f"{key}: {' '.join(split_term(word, fields)[2] for word in words)}"))
        else:
            named.append(one)
    return tuple(sorted([*named, *parts.values()], key=lambda one: (-abs(one.value), one.term)))


def sum_by_field(
    record: str, evidence: Sequence[Evidence], found: Sequence[Span], fields: tuple[str, ...]
) -> dict[str, float]:
    """The evidence of each field, the strongest first; a shared term is split equally among its occurrences."""
    bounds = [(one.start, one.start + len(one.text), one.key or TEXT_BEFORE) for one in sections(record, fields)]
    keys: dict[str, list[str]] = {}
    for start, _, term in found:
        key = next((key for low, high, key in bounds if low <= start <= high), TEXT_BEFORE)
        keys.setdefault(term, []).append(key)
    totals: dict[str, float] = {}
    for one in evidence:
        places = keys.get(one.term, [TEXT_BEFORE])
        for key in places:
            totals[key] = totals.get(key, 0.0) + one.value / len(places)
    return dict(sorted(totals.items(), key=lambda item: -abs(item[1])))
