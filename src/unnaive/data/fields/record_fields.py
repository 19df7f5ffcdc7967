"""Encoded records back to their values, and whether one fits the fields of a model that it is taught to again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.data.fields.bad_values import BadValue
from unnaive.data.fields.fields import FIXED_KINDS, MISSING_UNIT, NO_BREAK
from unnaive.text.fixed_point import from_cells, read_vector
from unnaive.text.sections import SECTION, TEXT_KINDS, UNIT, VECTOR, base_kind, field_key, field_kinds, vector_lengths


def find_other_fields(document: str, fields: Sequence[str] | None) -> str | None:
    """Why a model with these fields would misread a document; None for its records and for plain texts.

    Fields that the model does not have are skipped, and nothing is known of those that the document does not have.

    >>> find_other_fields("\\x1eage\\x1f3\\x1f[2,4)\\x1f[3,4)\\x1f[3,3.5)", ("age:number",))
    >>> find_other_fields("\\x1eage\\x1f3\\x1f3", ("age:number",))
    "the model reads its field 'age' as a number"
    """
    if SECTION not in document:
        return None
    if fields is None:
        return "it is a record with fields, and the model reads texts"
    sections = {key: content for key, _, content in (part.partition(UNIT) for part in document.split(SECTION)[1:])}
    kinds, lengths = field_kinds(fields), vector_lengths(fields)
    wrong = next((
        name for name, kind in kinds.items()
        if field_key(name) in sections and not _is_of_kind(sections[field_key(name)], kind, lengths.get(name, 0))
    ), None)  # fmt: skip
    return None if wrong is None else f"the model reads its field {wrong!r} as a {kinds[wrong]}"


def decode_record(document: str, fields: Sequence[str]) -> dict[str, Any]:
    """The values of an encoded record by field; None for empty cells. Encoded again, they give the same record.

    Numbers of vectors are in fixed point. A plain text is the last text field.

    >>> decode_record("\\x1ebody\\x1fhi\\x1eage\\x1f3\\x1f[2,4)\\x1f[3,4)\\x1f[3,3.5)", ("body:text", "age:number"))
    {'body': 'hi', 'age': 3}
    """
    kinds = field_kinds(fields)
    first, *parts = document.split(SECTION)
    sections = {key: content for key, _, content in (part.partition(UNIT) for part in parts)}
    main = next((name for name in reversed(kinds) if kinds[name] in TEXT_KINDS), None)
    if main is not None and not parts:
        sections[field_key(main)] = first
    return {name: _decode(sections.get(field_key(name)), kind) for name, kind in kinds.items()}


def _decode(content: str | None, kind: str) -> Any:
    if content is None or kind in TEXT_KINDS:
        return content
    shown, *units = content.split(UNIT)
    if units == [MISSING_UNIT] and not shown:
        return None
    if base_kind(kind) == VECTOR:
        cells = read_vector(units[0]) if units else None
        return None if cells is None else from_cells(cells).tolist()
    if kind == "category" and len(units) > 1:
        return [unit.replace(NO_BREAK, " ") for unit in units]
    if kind == "number":
        return int(shown) if shown.lstrip("-").isdecimal() else float(shown)
    return shown


def _is_of_kind(content: str, kind: str, length: int) -> bool:
    """Whether the terms of a section are those that its shown value has as this kind."""
    shown, *units = content.split(UNIT)
    if kind in TEXT_KINDS:
        return not units
    if units == [MISSING_UNIT] and not shown:
        return True
    if base_kind(kind) == VECTOR:
        return len(units) == 1 and read_vector(units[0], length) is not None
    if kind == "category":  # a list of categories is shown with commas
        return bool(units) and ", ".join(units).replace(NO_BREAK, " ") == shown.replace(NO_BREAK, " ")
    try:
        return FIXED_KINDS[kind](shown)[1:] == units
    except BadValue:
        return False
