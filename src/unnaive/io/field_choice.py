"""Choose the columns of a table to learn from: ids and leaks are left out, with the reason, unless the user names them.

An id identifies the row: nearly all of its values differ. A leak reveals the label: a lookup of its values in one half
of the rows predicts 99 % of the labels of the other half. Files, Spark and TextClassifier use the same rule.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.io.fields import SAMPLE, finest_unit, guess_kind, is_missing, record_columns
from unnaive.io.profiles import ENOUGH, profile_column
from unnaive.text.sections import TEXT, TEXT_KINDS, VECTOR

LOOKED_AT = 4000  # rows in which ids and leaks are searched
MOSTLY_DIFFERENT = 0.9  # share of distinct values from which a category is an id
LEAK = 0.99  # share of the held-out labels that a leak predicts
USUAL = 0.94  # with a class of this share, any column predicts most labels and none is a leak
NO_FIELDS = ("nothing", "lists")  # kinds of columns that are left out without a warning
IDS = "nearly all values differ"
LEAKS = "tells the label by itself"


def guess_fields(names: Any, records: Any, labels: Any = ()) -> dict[str, str]:
    """Guess the kinds of the named fields from the first records; "auto" chooses the fields as well.

    A warning names the columns that "auto" leaves out, with the reasons.

    >>> guess_fields(["age", "queue"], {"age": [1.5, 2.5, None], "queue": ["a", "b", "a"]})
    {'age': 'number', 'queue': 'category'}
    """
    columns = record_columns(records)
    if columns is None:
        raise BadData("fields are those of records; give a DataFrame, a list of dicts, or a dict of columns")
    if names == "auto":
        first = {name: values[:LOOKED_AT] for name, values in columns.items()}
        choice = choose_fields(first, list(islice(labels, LOOKED_AT)))
        if choice.left_out:
            warnings.warn(choice.describe(), UnnaiveWarning, stacklevel=2)
        if not choice.kinds:
            raise BadData(f"no column of the records is evidently a field; they have {', '.join(columns)}")
        return choice.kinds
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise BadData(f'fields came as {names!r}; give names, kinds by name, or "auto" for all')
    lacking = next((name for name in names if name not in columns), None)
    if lacking is not None:
        raise BadData(f"the records have no field {lacking!r}; they have {', '.join(columns)}")
    return {name: guess_kind(name, columns[name][:SAMPLE]) for name in names}


class FieldChoice(NamedTuple):
    """The chosen fields with their kinds, and the columns that were left out with the reasons."""

    kinds: dict[str, str]
    left_out: dict[str, str]

    def describe(self, named: Collection[str] = ()) -> str:
        """One line with the chosen fields, except the `named` ones, and the columns that were left out.

        >>> FieldChoice({"age": "number"}, {"code": LEAKS}).describe()
        'read as fields: age (number); left out: code (tells the label by itself)'
        """
        guessed = [f"{name} ({kind})" for name, kind in self.kinds.items() if name not in named]
        left_out = [f"{name} ({reason})" for name, reason in self.left_out.items()]
        read = f"read as fields: {', '.join(guessed)}" if guessed else "no column is evidently a field"
        return read + (f"; left out: {', '.join(left_out)}" if left_out else "")


def choose_fields(
    columns: Mapping[str, Sequence[Any]], labels: Sequence[Any], kinds: Mapping[str, str] | None = None
) -> FieldChoice:
    """Choose the fields: the columns in `kinds`, and all others that are neither ids nor leaks.

    columns  the values of each column in the first rows
    labels   the labels of the same rows, in any form; empty if there are none

    >>> tickets = {"id": [f"T{n}" for n in range(40)], "code": ["B", "S"] * 20, "vip": ["no", "yes", "no", "no"] * 10}
    >>> choose_fields(tickets, ["bug", "sales"] * 20).describe()
    'read as fields: vip (category); left out: id (nearly all values differ), code (tells the label by itself)'
    """
    named, left_out = dict(kinds or {}), {}
    chosen: dict[str, str] = {}
    for name, values in columns.items():
        if name in named:
            chosen[name] = named[name]
            continue
        sample = values[:SAMPLE]
        profile = profile_column(name, [value for value in sample if not is_missing(value)]).kind
        kind = guess_kind(name, sample)
        if profile in NO_FIELDS and kind != VECTOR:
            continue
        reason = IDS if profile == "ids" else find_reason(kind, values, labels)
        if reason is None:
            chosen[name] = kind
        else:
            left_out[name] = reason
    return FieldChoice(chosen, left_out)


def arrange_fields(texts: Sequence[str], kinds: Mapping[str, str]) -> tuple[str, ...]:
    """Fields as "name:kind": other text fields come before the main `texts`; the last text is the main one.

    >>> arrange_fields(["body"], {"age": "number", "subject": "text"})
    ('subject:text', 'body:text', 'age:number')
    """
    others = {name: kind for name, kind in kinds.items() if kind == TEXT and name not in texts}
    every = others | dict.fromkeys(texts, TEXT) | {name: kind for name, kind in kinds.items() if name not in texts}
    return tuple(f"{name}:{kind}" for name, kind in every.items())


def find_reason(kind: str, values: Sequence[Any], labels: Sequence[Any]) -> str | None:
    """Why a column is left out, as an id or a leak; None if it can be a field.

    >>> find_reason("category", ["a", "b"] * 20, ["yes", "no"] * 20), find_reason("category", ["a"] * 40, ["b"] * 40)
    ('tells the label by itself', None)
    """
    if kind == VECTOR:
        return None
    filled = [str(value) for value in values if not is_missing(value)]
    if kind == "category" and len(filled) >= ENOUGH and len(set(filled)) > MOSTLY_DIFFERENT * len(filled):
        return IDS
    labelled = [row for row, label in enumerate(labels) if not is_missing(label)]
    if kind in TEXT_KINDS or len(labelled) < ENOUGH:
        return None
    told, usual = share_told(
        [finest_unit(values[row], kind) for row in labelled], [str(labels[row]) for row in labelled]
    )
    return LEAKS if told >= LEAK and usual < USUAL else None


def share_told(values: Sequence[str], labels: Sequence[str]) -> tuple[float, float]:
    """The shares of held-out labels that the column and that the most frequent label predict correctly.

    Half of the rows are held out. The column predicts the most frequent label of its value in the other half; it
    predicts nothing for a value that is not there.
    """
    pairs = list(zip(values, labels, strict=True))
    pairs = [
        pairs[row] for row in sorted(range(len(pairs)), key=lambda row: crc32(row.to_bytes(4)))
    ]  # in a fixed random order
    half = len(pairs) // 2
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for value, label in pairs[half:]:
        seen[value][label] += 1
    usual = Counter(label for _, label in pairs[half:]).most_common(1)[0][0]
    best = {value: counts.most_common(1)[0][0] for value, counts in seen.items()}
    held_out = pairs[:half]
    told = sum(best.get(value) == label for value, label in held_out)
    return told / len(held_out), sum(label == usual for _, label in held_out) / len(held_out)
