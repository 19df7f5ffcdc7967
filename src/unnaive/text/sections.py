"""A record with fields as one text: a section for each field, which the token rule reads by the field's kind.

A section is SECTION, the field's key, UNIT, and what the field holds. A text field holds its text, which is read
"shared" (its terms as they stand), "own" (each word behind the field's key and OWN), or "both", shared terms first. A
fixed field (category, number, date, characters or vector) holds its value for people, and behind further UNITs the
terms that stand for it, which io/fields.py makes; each is read as it stands behind the key and FIXED. So "refund" of
the subject is the terms "refund" and "subject:refund", and a product is the term "product=Printer". No n-gram goes over
the border of a section, sections of unknown fields are skipped, and what stands before the first section is shared
text.
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
SKIPPED, SHARED, OWN_ONLY, BOTH, TERMS = range(5)  # how a section is read, as the kernel counts
VECTOR = "vector"  # a list of numbers; "vector(384)" once it is known how many
MODES = {
    "shared": SHARED, "own": OWN_ONLY, "both": BOTH, "category": TERMS, "number": TERMS, "date": TERMS,
    "characters": TERMS, VECTOR: TERMS,
}  # fmt: skip
TEXT = "text"  # shared; and as its own unless it is the last text, which is the longest by custom
KINDS = (TEXT, *MODES)
TEXT_KINDS = (TEXT, "shared", "own", "both")
_BAD_UNIT = re.compile("[\x00-\x20\ud800-\udfff\ufffd]|^$")  # no term of the encoder has one
_VECTOR = re.compile(r"vector\(([1-9]\d{0,6})\)")
_NO_KEY = re.compile(r"[\s\x00-\x1f\ud800-\udfff\ufffd:=]+")


class RecordSection(NamedTuple):
    """A stretch of a record: the key of its field, how it is read, where it starts in the record, and its text."""

    key: str
    mode: int
    start: int
    text: str


def read_fields(fields: object) -> tuple[str, ...] | None:
    """Fields as "name:kind", checked, from a dict of kinds by name or from such words; None for None.

    >>> read_fields({"subject": "text", "product": "category"})
    ('subject:text', 'product:category')
    """
    if fields is None or fields == ():
        return fields
    if isinstance(fields, Mapping):
        pairs = list(fields.items())
    elif isinstance(fields, Sequence) and not isinstance(fields, str):
        pairs = [(str(one).rpartition(":")[0], str(one).rpartition(":")[2]) for one in fields]
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
        raise UnnaiveError(f"two fields are called {field_key(twice)!r}; give them names that differ in letters")
    return tuple(f"{name}:{kind}" for name, kind in pairs)


def field_kinds(fields: Sequence[str]) -> dict[str, str]:
    """The kind of each field by its name.

    >>> field_kinds(("subject:text", "age:number"))
    {'subject': 'text', 'age': 'number'}
    """
    return {name: kind for name, _, kind in (one.rpartition(":") for one in fields)}


def base_kind(kind: str) -> str:
    """The kind without the length of vectors.

    >>> base_kind("vector(384)"), base_kind("number")
    ('vector', 'number')
    """
    return VECTOR if _VECTOR.fullmatch(kind) else kind


def vector_lengths(fields: Sequence[str] | None) -> dict[str, int]:
    """How many numbers the vectors of each vector field have, by its name; 0 where that is not known yet.

    >>> vector_lengths(("body:text", "topic:vector(384)", "style:vector"))
    {'topic': 384, 'style': 0}
    """
    kinds = field_kinds(fields or ())
    found = {name: _VECTOR.fullmatch(kind) for name, kind in kinds.items() if base_kind(kind) == VECTOR}
    return {name: int(match[1]) if match else 0 for name, match in found.items()}


def field_key(name: str) -> str:
    """A field's name as terms have it: without spaces, controls, ":" and "=", and not as a character n-gram begins.

    >>> field_key("Production Budget"), field_key("#id")
    ('Production_Budget', '_id')
    """
    key = _NO_KEY.sub("_", name.strip()) or "_"
    return f"_{key[1:]}" if key[0] in "#_" else key


@lru_cache(maxsize=64)
def section_modes(fields: tuple[str, ...]) -> dict[str, int]:
    """How the section of each key is read.

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
    """The fields of which character n-grams are cut: those with shared text, and nothing but it."""
    modes = section_modes(fields)
    return tuple(f"{name}:shared" for name in field_kinds(fields) if modes[field_key(name)] in (SHARED, BOTH))


def own_keys(fields: tuple[str, ...] | None) -> list[str]:
    """The keys of fields whose words are read behind their key."""
    return [key for key, mode in section_modes(fields or ()).items() if mode in (OWN_ONLY, BOTH)]


def sections(text: str, fields: tuple[str, ...]) -> Iterator[RecordSection]:
    """The sections of a record in order, those of unknown fields left out.

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
        key, border, held = part.partition(UNIT)
        mode = modes.get(key, SKIPPED) if border else SKIPPED
        if mode:
            yield RecordSection(key, mode, at + 1 + len(key) + 1, held)
        at += 1 + len(part)


def fixed_terms(section: RecordSection) -> list[tuple[int, int, str]]:
    """(start, end, term) of a fixed section's terms; all of them stand where its value for people does."""
    value, *units = section.text.split(UNIT)
    place = section.start, section.start + len(value)
    return [(*place, f"{section.key}{FIXED}{unit}") for unit in units if not _BAD_UNIT.search(unit)]


def own_term(key: str, term: str) -> str:
    """A term of a field's own: the key stands before each word.

    >>> own_term("subject", "good ball")
    'subject:good subject:ball'
    """
    return " ".join(f"{key}{OWN}{word}" for word in term.split(" "))


def split_term(term: str, fields: tuple[str, ...] | None) -> tuple[str, str, str]:
    """(key, OWN or FIXED, the rest) of a term of a field; its key and the sign are empty where it belongs to none.

    >>> split_term("product=a:b", ("product:category",)), split_term(":-)", ("a:text",))
    (('product', '=', 'a:b'), ('', '', ':-)'))
    """
    for place, sign in enumerate(term):
        if sign in (OWN, FIXED):
            mode = section_modes(fields or ()).get(term[:place], SKIPPED)
            fits = mode == TERMS if sign == FIXED else mode in (OWN_ONLY, BOTH)
            return (term[:place], sign, term[place + 1 :]) if fits else ("", "", term)
    return "", "", term


def count_record_chars(record: str, fields: Sequence[str] | None) -> int:
    """How many characters a record has beside those that stand for vectors.

    >>> count_record_chars("\\x1ebody\\x1fhi\\x1ev\\x1f1 numbers\\x1f(1)", ("body:text", "v:vector(1)"))
    8
    """
    vectors = {field_key(name) for name in vector_lengths(fields)}
    if not vectors:
        return len(record)
    first, *rest = record.split(SECTION)
    return len(first) + sum(1 + len(part) for part in rest if part.partition(UNIT)[0] not in vectors)


def shown_values(text: str) -> dict[str, str]:
    """What each field of a record holds, for people; the text itself under "" where it is no record.

    >>> shown_values("\\x1esubject\\x1fhi there\\x1eage\\x1f3.7\\x1f[2,4)")
    {'subject': 'hi there', 'age': '3.7'}
    """
    first, *rest = text.split(SECTION)
    values = {"": first} if first or not rest else {}
    return values | {key: held.partition(UNIT)[0] for key, _, held in (part.partition(UNIT) for part in rest)}


def shown_record(text: str) -> str:
    """A record on lines of "field: value", for pages and terminals; a plain text as it is.

    >>> print(shown_record("\\x1esubject\\x1fhi there\\x1eage\\x1f3.7\\x1f[2,4)"))
    subject: hi there
    age: 3.7
    """
    if SECTION not in text:
        return text
    return "\n".join(f"{key}: {value}" if key else value for key, value in shown_values(text).items())


def shown_spans(record: str, spans: Sequence[tuple[int, int, str]]) -> tuple[str, list[tuple[int, int, str]]]:
    """What `shown_record` shows of a record, and its spans (start, end, term) in that.

    >>> shown_spans("\\x1eto\\x1fyou\\x1eage\\x1f3\\x1f[2,4)", [(4, 7, "you"), (12, 13, "age=[2,4)")])
    ('to: you\\nage: 3', [(4, 7, 'you'), (13, 14, 'age=[2,4)')])
    """
    lines, starts, moves, at, shown = [], [0], [0], 0, 0
    for place, part in enumerate(record.split(SECTION)):
        key, border, held = part.partition(UNIT) if place else ("", "", part)
        if place or part:
            value = held.partition(UNIT)[0]
            lines.append(f"{key}: {value}" if place else value)
            starts.append(at + len(key) + len(border))
            moves.append(shown + len(lines[-1]) - len(value) - starts[-1])
            shown += len(lines[-1]) + 1
        at += len(part) + 1
    places = ((start, end, moves[bisect_right(starts, start) - 1], term) for start, end, term in spans)
    return "\n".join(lines), [(start + move, end + move, term) for start, end, move, term in places]


def is_record(value: Any) -> bool:
    """Whether a text is a record with fields."""
    return isinstance(value, str) and SECTION in value
