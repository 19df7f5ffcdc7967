"""Field: the name of a field of records, how it is read, and how long its vectors are.

Fields are written as "name:kind", or as kinds by name, in options, in model files and by users; `read_fields` reads
both at the border, and inside only values of Field are passed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unnaive.base.errors import UnnaiveError, choose

VECTOR = "vector"  # a list of numbers; "vector(384)" once its length is known
TEXT = "text"  # "both", but "shared" for the last text field, which is usually the longest
TEXT_KINDS = (TEXT, "shared", "own", "both")
KINDS = (*TEXT_KINDS, "category", "number", "date", "characters", VECTOR)
DAY_FIRST, COMMA = "day-first", "comma"
STYLED = {"date": DAY_FIRST, "number": COMMA}  # how columns of a kind may be written, if not as in English
_STYLED = re.compile(r"(date|number)\((day-first|comma)\)")
_VECTOR = re.compile(r"vector\(([1-9]\d{0,6})\)")
_NO_KEY = re.compile(r"[\s\x00-\x1f\ud800-\udfff\ufffd:=]+")


@dataclass(frozen=True)
class Field:
    """A field of records.

    name    its name in records
    kind    one of KINDS
    length  how many numbers its vectors have; 0 if that is not known yet, and for other kinds
    style   how its cells are written, see STYLED; empty for 3/5/2024 in March and 1,234.5, and for other kinds

    >>> Field.of("topic", "vector(384)")
    Field(name='topic', kind='vector', length=384, style='')
    >>> str(Field.of("topic", "vector(384)")), Field("Production Budget", "number").key
    ('topic:vector(384)', 'Production_Budget')
    """

    name: str
    kind: str
    length: int = 0
    style: str = ""

    @classmethod
    def of(cls, name: str, kind: str) -> Field:
        """The field of this name; the kind may have the length of vectors."""
        match = _VECTOR.fullmatch(kind)
        if match is not None:
            return cls(name, VECTOR, int(match[1]))
        styled = _STYLED.fullmatch(kind)
        if styled is not None and STYLED[styled[1]] == styled[2]:
            return cls(name, styled[1], style=styled[2])
        return cls(name, choose(list(KINDS), kind, "kind of field"))

    @property
    def key(self) -> str:
        """The name as used in terms."""
        return field_key(self.name)

    @property
    def shown_kind(self) -> str:
        """The kind, with the length of vectors if it is known, or how its cells are written."""
        return f"{VECTOR}({self.length})" if self.length else f"{self.kind}({self.style})" if self.style else self.kind

    @property
    def is_text(self) -> bool:
        """Whether the field is read as text."""
        return self.kind in TEXT_KINDS

    def __str__(self) -> str:
        return f"{self.name}:{self.shown_kind}"


Fields = tuple[Field, ...]


def read_fields(fields: object) -> Fields | None:
    """Check fields, given as kinds by name, as "name:kind" strings, or as Field; None for None.

    >>> [str(field) for field in read_fields({"subject": "text", "product": "category"})]
    ['subject:text', 'product:category']
    """
    if fields is None or fields == ():
        return fields
    if isinstance(fields, Mapping):
        pairs = list(fields.items())
    elif isinstance(fields, Sequence) and not isinstance(fields, str):
        pairs = [(name, kind) for name, _, kind in (str(field).rpartition(":") for field in fields)]
    else:
        pairs = []
    if not pairs or not all(isinstance(part, str) and part for pair in pairs for part in pair):
        raise UnnaiveError(
            f'fields came as {fields!r}; give kinds by name, such as {{"body": "text", "age": "number"}}'
        )
    known = tuple(Field.of(name, kind) for name, kind in pairs)
    keys = [field.key for field in known]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise UnnaiveError(f"two fields are both called {twice!r} in terms; rename one of them")
    return known


def has_kinds(fields: object) -> bool:
    """Whether the kinds of fields are given, as a dict or as "name:kind"; otherwise they must be guessed.

    >>> has_kinds({"age": "number"}), has_kinds(["age:number"]), has_kinds(["age"]), has_kinds("auto")
    (True, True, False, False)
    """
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        return not isinstance(fields, str)
    return all(isinstance(field, Field) or (isinstance(field, str) and _names_kind(field)) for field in fields)


def _names_kind(field: str) -> bool:
    kind = field.rpartition(":")[2].partition("(")[0]
    return ":" in field and kind in KINDS


def field_kinds(fields: Sequence[Field]) -> dict[str, str]:
    """The kind of each field by its name, as users write it.

    >>> field_kinds([Field("subject", "text"), Field("topic", "vector", 3)])
    {'subject': 'text', 'topic': 'vector(3)'}
    """
    return {field.name: field.shown_kind for field in fields}


def text_names(fields: Sequence[Field]) -> tuple[str, ...]:
    """The names of the fields that are read as text."""
    return tuple(field.name for field in fields if field.is_text)


def describe_fields(fields: Sequence[Field]) -> str:
    """Fields with their kinds in words.

    >>> describe_fields([Field("subject", "text"), Field("age", "number")])
    'subject (text), age (number)'
    """
    return ", ".join(f"{field.name} ({field.shown_kind})" for field in fields)


def vector_lengths(fields: Sequence[Field] | None) -> dict[str, int]:
    """The length of the vectors of each vector field, by field name; 0 if it is not known yet.

    >>> vector_lengths([Field("body", "text"), Field("topic", "vector", 384), Field("style", "vector")])
    {'topic': 384, 'style': 0}
    """
    return {field.name: field.length for field in fields or () if field.kind == VECTOR}


def field_key(name: str) -> str:
    """A field's name as used in terms: no spaces, controls, ":" or "=", and no "#" or "_" at the start.

    >>> field_key("Production Budget"), field_key("#id")
    ('Production_Budget', '_id')
    """
    key = _NO_KEY.sub("_", name.strip()) or "_"
    return f"_{key[1:]}" if key[0] in "#_" else key
