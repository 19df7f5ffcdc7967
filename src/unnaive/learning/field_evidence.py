"""Evidence by field for records: readable names of terms, one entry for a number or date, and the sum of each field."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from unnaive.learning.explanation import Evidence
from unnaive.text.field import VECTOR, Fields
from unnaive.text.sections import FIXED, UNIT, sections, shown_values, split_term
from unnaive.text.tokens import Span

SUMMED = ("number", "date", "characters", VECTOR)  # kinds of fields whose terms are one piece of evidence
TEXT_BEFORE = "text"  # the name of the text before the first section


def name_evidence(record: str, evidence: Sequence[Evidence], fields: Fields) -> tuple[Evidence, ...]:
    """Evidence with readable names of terms: "subject: refund", "product = Printer", "age = 3.6 in [3.5, 4)".

    The evidence of the intervals of a number is summed into one piece, and so is that of the parts of a date, of
    character n-grams and of a vector. The name of a number shows the narrowest interval that the model knows.
    """
    kinds = {field.key: field.kind for field in fields}
    values = shown_values(record)
    named: list[Evidence] = []
    parts: dict[str, Evidence] = {}
    narrowest: dict[str, tuple[float, str]] = {}
    for item in evidence:
        key, sign, rest = split_term(item.term, fields)
        if sign == FIXED and kinds[key] in SUMMED and values.get(key):
            before = parts.get(key)
            if kinds[key] == "number" and (width := interval_width(rest)) is not None:
                narrowest[key] = min((width, rest.replace(",", ", ")), narrowest.get(key, (math.inf, "")))
            shown = f"{key} = {values[key]}" + (f" in {narrowest[key][1]}" if key in narrowest else "")
            parts[key] = replace(item, term=shown, count=1, value=item.value + (before.value if before else 0.0))
        elif sign == FIXED:
            named.append(replace(item, term=f"{key} = {rest}".replace("\N{NO-BREAK SPACE}", " ")))
        elif sign:
            words = item.term.split(" ")
            named.append(replace(item, term=f"{key}: {' '.join(split_term(word, fields)[2] for word in words)}"))
        else:
            named.append(item)
    return tuple(sorted([*named, *parts.values()], key=lambda item: (-abs(item.value), item.term)))


def interval_width(unit: str) -> float | None:
    """The width of an interval; None if the unit is not an interval.

    >>> interval_width("[3.5,4)"), interval_width("(-4,-2]"), interval_width("0")
    (0.5, 2.0, None)
    """
    low, comma, high = unit[1:-1].partition(",")
    return float(high) - float(low) if comma else None


def sum_by_field(record: str, evidence: Sequence[Evidence], spans: Sequence[Span], fields: Fields) -> dict[str, float]:
    """The evidence of each field, the strongest first; a shared term is split equally among its occurrences."""
    bounds = [
        (section.start, section.start + len(section.text), section.key or TEXT_BEFORE)
        for section in sections(record, fields)
    ]
    keys: dict[str, list[str]] = {}
    for start, _, term in spans:
        key = next((key for low, high, key in bounds if low <= start <= high), TEXT_BEFORE)
        keys.setdefault(term, []).append(key)
    totals: dict[str, float] = {}
    for term_evidence in evidence:
        places = keys.get(term_evidence.term, [TEXT_BEFORE])
        for key in places:
            totals[key] = totals.get(key, 0.0) + term_evidence.value / len(places)
    return dict(sorted(totals.items(), key=lambda item: -abs(item[1])))


def find_unknown_fields(record: str, by_field: Collection[str], fields: Fields) -> tuple[str, ...]:
    """The fields of a record that have a value, but no evidence: training saw no such value.

    >>> from unnaive.text.field import Field
    >>> fields = Field("team", "category"), Field("age", "number")
    >>> find_unknown_fields("\\x1eteam\\x1fx\\x1fx\\x1eage\\x1f3\\x1f[2,4)", ["age"], fields)
    ('team',)
    """
    shown = ((section.key, section.text.partition(UNIT)[0]) for section in sections(record, fields))
    return tuple(key for key, value in shown if key and value.strip() and key not in by_field)
