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
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from unnaive.base.errors import UnnaiveError, choose

SECTION, UNIT = "\x1e", "\x1f"
OWN, FIXED = ":", "="
SKIPPED, SHARED, OWN_ONLY, BOTH, TERMS = range(5)  # how a section is read; the same numbers as in the kernel
VECTOR = "vector"  # a list of numbers; "vector(384)" once its length is known
MODES = {
    "shared": SHARED, "own": OWN_ONLY, "both": BOTH, "category": TERMS, "number": TERMS, "date": TERMS,
    "characters": TERMS, VECTOR: TERMS,
}  # fmt: skip
TEXT = "text"  # "both", but "shared" for the last text field, which is usually the longest
KINDS = (TEXT, *MODES)
TEXT_KINDS = (TEXT, "shared", "own", "both")
_BAD_UNIT = re.compile("[\x00-\x20\ud800-\udfff\ufffd]|^$")  # never in a term that data/fields/fields.py makes
_VECTOR = re.compile(r"vector\(([1-9]\d{0,6})\)")
_NO_KEY = re.compile(r"[\s\x00-\x1f\ud800-\udfff\ufffd:=]+")


class RecordSection(NamedTuple):
    """A section of a record: the key of its field, how it is read, its start in the record, and its text."""

    key: str
    mode: int
    start: int
    text: str


def read_fields(fields: object) -> tuple[str, ...] | None:
    """Check fields, given as a dict of kinds by name or as "name:kind" strings; return the strings, or None for None.

    >>> read_fields({"subject": "text", "product": "category"})
    ('subject:text', 'product:category')
    """
    if fields is None or fields == ():
        return fields
    if isinstance(fields, Mapping):
        pairs = list(fields.items())
    elif isinstance(fields, Sequence) and not isinstance(fields, str):
        pairs = [(str(field).rpartition(":")[0], str(field).rpartition(":")[2]) for field in fields]
    else:
        pairs = []
    if not pairs or not all(isinstance(part, str) and part for pair in pairs for part in pair):
        raise UnnaiveError(
            f'fields came as {fields!r}; give kinds by name, such as {{"body": "text", "age": "number"}}'
        )
    for _, kind in pairs:
        choose(list(KINDS), base_kind(kind), "kind of field")
    keys = [field_key(name) for name, _ in pairs]
    twice = next((name for (name, _), key in zip(pairs, keys, strict=True) if keys.count(key) > 1), None)
    if twice is not None:
        raise UnnaiveError(f"two fields are both called {field_key(twice)!r} in terms; rename one of them")
    return tuple(f"{name}:{kind}" for name, kind in pairs)


def field_kinds(fields: Sequence[str]) -> dict[str, str]:
    """The kind of each field by its name.

    >>> field_kinds(("subject:text", "age:number"))
    {'subject': 'text', 'age': 'number'}
    """
    return {name: kind for name, _, kind in (field.rpartition(":") for field in fields)}


def describe_fields(fields: Sequence[str]) -> str:
    """Fields with their kinds in words.

    >>> describe_fields(("subject:text", "age:number"))
    'subject (text), age (number)'
    """
    return ", ".join(f"{name} ({kind})" for name, kind in field_kinds(fields).items())


def base_kind(kind: str) -> str:
    """The kind without the length of vectors.

    >>> base_kind("vector(384)"), base_kind("number")
    ('vector', 'number')
    """
    return VECTOR if _VECTOR.fullmatch(kind) else kind


def vector_lengths(fields: Sequence[str] | None) -> dict[str, int]:
    """The length of the vectors of each vector field, by field name; 0 if it is not known yet.

    >>> vector_lengths(("body:text", "topic:vector(384)", "style:vector"))
    {'topic': 384, 'style': 0}
    """
    kinds = field_kinds(fields or ())
    matches = {name: _VECTOR.fullmatch(kind) for name, kind in kinds.items() if base_kind(kind) == VECTOR}
    return {name: int(match[1]) if match else 0 for name, match in matches.items()}


def field_key(name: str) -> str:
    """A field's name as used in terms: no spaces, controls, ":" or "=", and no "#" or "_" at the start.

    >>> field_key("Production Budget"), field_key("#id")
    ('Production_Budget', '_id')
    """
    key = _NO_KEY.sub("_", name.strip()) or "_"
    return f"_{key[1:]}" if key[0] in "#_" else key


@lru_cache(maxsize=64)
def section_modes(fields: tuple[str, ...]) -> dict[str, int]:
    """The mode in which the section of each key is read.

    >>> section_modes(("subject:text", "body:text", "age:number")) == {"subject": BOTH, "body": SHARED, "age": TERMS}
    True
    """
    kinds = field_kinds(fields)
    last = next((name for name in reversed(kinds) if kinds[name] in TEXT_KINDS), None)
    return {
        field_key(name): MODES[base_kind(kind)] if kind != TEXT else SHARED if name == last else BOTH
        for name, kind in kinds.items()
    }


@lru_cache(maxsize=64)
def shared_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The fields with shared text, as kind "shared"; character n-grams are cut only from these."""
    modes = section_modes(fields)
    return tuple(f"{name}:shared" for name in field_kinds(fields) if modes[field_key(name)] in (SHARED, BOTH))


def own_keys(fields: tuple[str, ...] | None) -> list[str]:
    """The keys of fields whose words are prefixed with their key."""
    return [key for key, mode in section_modes(fields or ()).items() if mode in (OWN_ONLY, BOTH)]


def sections(text: str, fields: tuple[str, ...]) -> Iterator[RecordSection]:
    """Yield the sections of a record in order, without those of unknown fields.

    >>> record = "\\x1esubject\\x1fhi\\x1eage\\x1f3\\x1f[2,4)"
    >>> [(one.key, one.start, one.text) for one in sections(record, ("age:number",))]
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


def split_term(term: str, fields: tuple[str, ...] | None) -> tuple[str, str, str]:
    """(key, OWN or FIXED, the rest) of a term of a field; key and sign are empty if it belongs to no field.

    >>> split_term("product=a:b", ("product:category",)), split_term(":-)", ("a:text",))
    (('product', '=', 'a:b'), ('', '', ':-)'))
    """
    for position, sign in enumerate(term):
        if sign in (OWN, FIXED):
            mode = section_modes(fields or ()).get(term[:position], SKIPPED)
            fits = mode == TERMS if sign == FIXED else mode in (OWN_ONLY, BOTH)
            return (term[:position], sign, term[position + 1 :]) if fits else ("", "", term)
    return "", "", term


def count_record_chars(record: str, fields: Sequence[str] | None) -> int:
    """The number of characters of a record, without its vector sections.

    >>> count_record_chars("\\x1ebody\\x1fhi\\x1ev\\x1f1 numbers\\x1f(1)", ("body:text", "v:vector(1)"))
    8
    """
    vectors = {field_key(name) for name in vector_lengths(fields)}
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
