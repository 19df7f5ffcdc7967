"""A record with fields as one text: a section for each field, which the token rule reads by the field's kind.

A section is SECTION, the field's key, UNIT, and the field's content. The content of a text field is its text. It is
read "shared" (the plain terms), "own" (every word prefixed with the field's key and OWN), or "both", shared terms
first. The content of a fixed field (category, number, date or characters) is its value as shown to users, followed by
further UNITs and the terms that encode it, which data/fields/fields.py makes; each term is prefixed with the key and
FIXED. For example, "refund" in the subject gives the terms "refund" and "subject:refund", and a product gives
"product=Printer". A vector is shown as "384 numbers", and its numbers follow in one unit, which is no term
(fixed_point.py). N-grams do not cross sections, sections of unknown fields are skipped, and text before the first
section is shared text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from unnaive.text.field import TEXT, VECTOR, Field, Fields

SECTION, UNIT = "\x1e", "\x1f"
OWN, FIXED = ":", "="
SKIPPED, SHARED, OWN_ONLY, BOTH, TERMS = range(5)  # how a section is read; the same numbers as in the kernel
MODES = {
    "shared": SHARED, "own": OWN_ONLY, "both": BOTH, "category": TERMS, "number": TERMS, "date": TERMS,
    "characters": TERMS, VECTOR: TERMS,
}  # fmt: skip
_BAD_UNIT = re.compile("[\x00-\x20\ud800-\udfff\ufffd]|^$")  # never in a term that data/fields/fields.py makes


class RecordSection(NamedTuple):
    """A section of a record: the key of its field, how it is read, its start in the record, and its text."""

    key: str
    mode: int
    start: int
    text: str


@lru_cache(maxsize=64)
def section_modes(fields: Fields) -> dict[str, int]:
    """The mode in which the section of each key is read.

    >>> section_modes((Field("to", "text"), Field("body", "text"), Field("age", "number")))
    {'to': 3, 'body': 1, 'age': 4}
    """
    last = next((field for field in reversed(fields) if field.is_text), None)
    return {
        field.key: MODES[field.kind] if field.kind != TEXT else SHARED if field == last else BOTH for field in fields
    }


@lru_cache(maxsize=64)
def shared_fields(fields: Fields) -> Fields:
    """The fields with shared text, as kind "shared"; character n-grams are cut only from these."""
    modes = section_modes(fields)
    return tuple(Field(field.name, "shared") for field in fields if modes[field.key] in (SHARED, BOTH))


def own_keys(fields: Fields | None) -> list[str]:
    """The keys of fields whose words are prefixed with their key."""
    return [key for key, mode in section_modes(fields or ()).items() if mode in (OWN_ONLY, BOTH)]


def sections(text: str, fields: Fields) -> Iterator[RecordSection]:
    """Yield the sections of a record in order, without those of unknown fields.

    >>> record = "\\x1esubject\\x1fhi\\x1eage\\x1f3\\x1f[2,4)"
    >>> [(one.key, one.start, one.text) for one in sections(record, (Field("age", "number"),))]
    [('age', 16, '3\\x1f[2,4)')]
    """
    modes = section_modes(fields)
    first, *rest = text.split(SECTION)
    if first:
        yield RecordSection("", SHARED, 0, first)
    at = len(first)
    for part in rest:
        key, border, content = part.partition(UNIT)
        mode = modes.get(key, SKIPPED) if border else SKIPPED
        if mode:
            yield RecordSection(key, mode, at + 1 + len(key) + 1, content)
        at += 1 + len(part)


def fixed_terms(section: RecordSection) -> list[tuple[int, int, str]]:
    """(start, end, term) of a fixed section's terms; all have the position of its shown value."""
    value, *units = section.text.split(UNIT)
    span = section.start, section.start + len(value)
    return [(*span, f"{section.key}{FIXED}{unit}") for unit in units if not _BAD_UNIT.search(unit)]


def own_term(key: str, term: str) -> str:
    """A term with the field's key before each word.

    >>> own_term("subject", "good ball")
    'subject:good subject:ball'
    """
    return " ".join(f"{key}{OWN}{word}" for word in term.split(" "))


def split_term(term: str, fields: Fields | None) -> tuple[str, str, str]:
    """(key, OWN or FIXED, the rest) of a term of a field; key and sign are empty if it belongs to no field.

    >>> split_term("product=a:b", (Field("product", "category"),)), split_term(":-)", (Field("a", "text"),))
    (('product', '=', 'a:b'), ('', '', ':-)'))
    """
    for position, sign in enumerate(term):
        if sign in (OWN, FIXED):
            mode = section_modes(fields or ()).get(term[:position], SKIPPED)
            fits = mode == TERMS if sign == FIXED else mode in (OWN_ONLY, BOTH)
            return (term[:position], sign, term[position + 1 :]) if fits else ("", "", term)
    return "", "", term


def count_record_chars(record: str, fields: Sequence[Field] | None) -> int:
    """The number of characters of a record, without its vector sections.

    >>> fields = [Field("body", "text"), Field("v", VECTOR, 1)]
    >>> count_record_chars("\\x1ebody\\x1fhi\\x1ev\\x1f1 numbers\\x1f AAAIQA==", fields)
    8
    """
    vectors = {field.key for field in fields or () if field.kind == VECTOR}
    if not vectors:
        return len(record)
    first, *rest = record.split(SECTION)
    return len(first) + sum(1 + len(part) for part in rest if part.partition(UNIT)[0] not in vectors)


def shown_values(text: str) -> dict[str, str]:
    """The shown value of each field of a record, by key; a plain text is under "".

    >>> shown_values("\\x1esubject\\x1fhi there\\x1eage\\x1f3.7\\x1f[2,4)")
    {'subject': 'hi there', 'age': '3.7'}
    """
    first, *rest = text.split(SECTION)
    values = {"": first} if first or not rest else {}
    return values | {key: content.partition(UNIT)[0] for key, _, content in (part.partition(UNIT) for part in rest)}


def shown_record(text: str) -> str:
    """A record as lines of "field: value", for pages and terminals; a plain text unchanged.

    >>> print(shown_record("\\x1esubject\\x1fhi there\\x1eage\\x1f3.7\\x1f[2,4)"))
    subject: hi there
    age: 3.7
    """
    if SECTION not in text:
        return text
    return "\n".join(f"{key}: {value}" if key else value for key, value in shown_values(text).items())


def shown_spans(record: str, spans: Sequence[tuple[int, int, str]]) -> tuple[str, list[tuple[int, int, str]]]:
    """The output of `shown_record`, and the spans (start, end, term) moved to their positions in it.

    >>> shown_spans("\\x1eto\\x1fyou\\x1eage\\x1f3\\x1f[2,4)", [(4, 7, "you"), (12, 13, "age=[2,4)")])
    ('to: you\\nage: 3', [(4, 7, 'you'), (13, 14, 'age=[2,4)')])
    """
    lines, starts, moves, at, shown = [], [0], [0], 0, 0
    for number, part in enumerate(record.split(SECTION)):
        key, border, content = part.partition(UNIT) if number else ("", "", part)
        if number or part:
            value = content.partition(UNIT)[0]
            lines.append(f"{key}: {value}" if number else value)
            starts.append(at + len(key) + len(border))
            moves.append(shown + len(lines[-1]) - len(value) - starts[-1])
            shown += len(lines[-1]) + 1
        at += len(part) + 1
    places = ((start, end, moves[bisect_right(starts, start) - 1], term) for start, end, term in spans)
    return "\n".join(lines), [(start + move, end + move, term) for start, end, move, term in places]


def is_record(value: Any) -> bool:
    """Whether a text is a record with fields."""
    return isinstance(value, str) and SECTION in value
