"""Encoded records back to their values, and whether one fits the fields of a model that it is taught to again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.data.fields.bad_values import BadValue
from unnaive.data.fields.fields import FIXED_KINDS, MISSING_UNIT, NO_BREAK
from unnaive.text.field import TEXT_KINDS, VECTOR, Field
from unnaive.text.fixed_point import decode_vector, from_cells
from unnaive.text.sections import SECTION, UNIT


def find_other_fields(document: str, fields: Sequence[Field] | None) -> str | None:
    """Why a model with these fields would misread a document; None for its records and for plain texts.

    Fields that the model does not have are skipped, and nothing is known of those that the document does not have.

    >>> find_other_fields("\\x1eage\\x1f3\\x1f[2,4)\\x1f[3,4)\\x1f[3,3.5)", [Field("age", "number")])
    >>> find_other_fields("\\x1eage\\x1f3\\x1f3", [Field("age", "number")])
    "the model reads its field 'age' as a number"
    """
    if SECTION not in document:
        return None
    if fields is None:
        return "it is a record with fields, and the model reads texts"
    sections = {key: content for key, _, content in (part.partition(UNIT) for part in document.split(SECTION)[1:])}
    wrong = next((field for field in fields if field.key in sections and not _fits(sections[field.key], field)), None)
    return None if wrong is None else f"the model reads its field {wrong.name!r} as a {wrong.shown_kind}"


def decode_record(document: str, fields: Sequence[Field]) -> dict[str, Any]:
    """The values of an encoded record by field; None for empty cells. Encoded again, they give the same record.

    Numbers of vectors are in fixed point. A plain text is the last text field.

    >>> fields = [Field("body", "text"), Field("age", "number")]
    >>> decode_record("\\x1ebody\\x1fhi\\x1eage\\x1f3\\x1f[2,4)\\x1f[3,4)\\x1f[3,3.5)", fields)
    {'body': 'hi', 'age': 3}
    """
    first, *parts = document.split(SECTION)
    sections = {key: content for key, _, content in (part.partition(UNIT) for part in parts)}
    main = next((field for field in reversed(fields) if field.is_text), None)
    if main is not None and not parts:
        sections[main.key] = first
    return {field.name: _decode(sections.get(field.key), field.kind) for field in fields}


def _decode(content: str | None, kind: str) -> Any:
    if content is None or kind in TEXT_KINDS:
        return content
    shown, *units = content.split(UNIT)
    if units == [MISSING_UNIT] and not shown:
        return None
    if kind == VECTOR:
        cells = decode_vector(units[0]) if units else None
        return None if cells is None else from_cells(cells).tolist()
    if kind == "category" and len(units) > 1:
        return [unit.replace(NO_BREAK, " ") for unit in units]
    if kind == "number":
        return int(shown) if shown.lstrip("-").isdecimal() else float(shown)
    return shown


def _fits(content: str, field: Field) -> bool:
    """Whether the terms of a section are those that its shown value has in this field."""
    kind = field.kind
    shown, *units = content.split(UNIT)
    if kind in TEXT_KINDS:
        return not units
    if units == [MISSING_UNIT] and not shown:
        return True
    if kind == VECTOR:
        return len(units) == 1 and decode_vector(units[0], field.length) is not None
    if kind == "category":  # a list of categories is shown with commas
        return bool(units) and ", ".join(units).replace(NO_BREAK, " ") == shown.replace(NO_BREAK, " ")
    try:
        return FIXED_KINDS[kind](shown)[1:] == units
    except BadValue:
        return False
