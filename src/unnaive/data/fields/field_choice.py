"""Choose the columns of a table to learn from: ids and leaks are left out, with the reason, unless the user names them.

An id identifies the row: nearly all of its values differ. A leak reveals the label: a lookup of its values in one half
of the rows predicts 99 % of the labels of the other half, rows with empty cells aside. A column that predicts 90 % is
a field, and named as a suspect. Files, Spark and TextClassifier use the same rule.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.data.fields.column_kinds import ENOUGH, profile_column
from unnaive.data.fields.fields import SAMPLE, finest_unit, guess_kind, is_missing
from unnaive.data.fields.record_columns import NEED_RECORDS, record_columns
from unnaive.text.field import TEXT, TEXT_KINDS, VECTOR, Field, Fields

LOOKED_AT = 4000  # rows in which ids and leaks are searched
MOSTLY_DIFFERENT = 0.9  # share of distinct values from which a category is an id
LEAK = 0.99  # share of the held-out labels that a leak predicts
SUSPICIOUS = 0.9  # the same for a column that is used, with a remark
USUAL = 0.94  # with a class of this share, any column predicts most labels and none is a leak
NO_FIELDS = ("nothing", "lists")  # kinds of columns that are left out without a warning
IDS = "nearly all values differ"
LEAKS = "reveals the label"
CONSTANT = "has one value only"
NO_VECTORS = "vectors, which the model cannot use"


def guess_fields(names: Any, records: Any, labels: Any = (), *, vectors: bool = True) -> dict[str, str]:
    """Guess the kinds of the named fields from the first records; "auto" chooses the fields as well.

    Without `vectors`, "auto" leaves vectors out. A warning names the columns that "auto" leaves out, with the reasons.

    >>> guess_fields(["age", "queue"], {"age": [1.5, 2.5, None], "queue": ["a", "b", "a"]})
    {'age': 'number', 'queue': 'category'}
    """
    columns = record_columns(records)
    if columns is None:
        raise BadData(f"fields need records, but texts came; {NEED_RECORDS}")
    if names == "auto":
        first = {name: values[:LOOKED_AT] for name, values in columns.items()}
        choice = choose_fields(first, list(islice(labels, LOOKED_AT)), vectors=vectors)
        if choice.left_out or choice.suspects:
            warnings.warn(choice.describe(), UnnaiveWarning, stacklevel=2)
        if not choice.kinds:
            raise BadData(
                f"no column of the records was recognised as a field; name the fields among {', '.join(columns)}"
            )
        return choice.kinds
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise BadData(f'fields came as {names!r}; give a list of names, a dict from name to kind, or "auto"')
    lacking = next((name for name in names if name not in columns), None)
    if lacking is not None:
        raise BadData(f"the records have no field {lacking!r}; they have {', '.join(columns)}")
    return {name: guess_kind(name, columns[name][:SAMPLE]) for name in names}


class FieldChoice(NamedTuple):
    """The chosen fields with their kinds, and the columns that were left out with the reasons.

    suspects   share of the labels that a chosen column predicts by itself, where it is suspiciously high
    promising  chosen columns without a name from the user that are texts, vectors, or predict better than the usual
               label
    """

    kinds: dict[str, str]
    left_out: dict[str, str]
    suspects: Mapping[str, float] = MappingProxyType({})
    promising: Collection[str] = ()

    def describe(self, named: Collection[str] = ()) -> str:
        """One line with the chosen fields, except the `named` ones, and the columns that were left out.

        >>> FieldChoice({"age": "number"}, {"code": LEAKS}).describe()
        'read as fields: age (number); left out: code (reveals the label)'
        """
        guessed = self.list_kinds([name for name in self.kinds if name not in named])
        left_out = [f"{name} ({reason})" for name, reason in self.left_out.items()]
        read = f"read as fields: {guessed}" if guessed else "no column was recognised as a field"
        return read + (f"; left out: {', '.join(left_out)}" if left_out else "") + self.describe_suspects()

    def describe_suspects(self) -> str:
        """A remark about each column that nearly reveals the label.

        >>> FieldChoice({"team": "category"}, {}, {"team": 0.97}).describe_suspects()
        '; team predicts 97 % of the labels by itself: do not use it if it is only known after the label'
        """
        return "".join(
            f"; {name} predicts {100 * share:.0f} % of the labels by itself: do not use it if it is only known after "
            "the label"
            for name, share in self.suspects.items()
        )

    def list_kinds(self, names: Sequence[str]) -> str:
        """The named fields with their kinds."""
        return ", ".join(f"{name} ({self.kinds[name]})" for name in names)


def choose_fields(
    columns: Mapping[str, Sequence[Any]],
    labels: Sequence[Any],
    kinds: Mapping[str, str] | None = None,
    *,
    vectors: bool = True,
) -> FieldChoice:
    """Choose the fields: the columns in `kinds`, and all others that are neither ids nor leaks.

    columns  the values of each column in the first rows
    labels   the labels of the same rows, in any form; empty if there are none
    vectors  whether the model can use vectors

    >>> tickets = {"id": [f"T{n}" for n in range(40)], "code": ["B", "S"] * 20, "vip": ["no", "yes", "no", "no"] * 10}
    >>> choose_fields(tickets, ["bug", "sales"] * 20).describe()
    'read as fields: vip (category); left out: id (nearly all values differ), code (reveals the label)'
    """
    named, left_out = dict(kinds or {}), {}
    chosen: dict[str, str] = {}
    suspects: dict[str, float] = {}
    promising = []
    judged = {name: judge_column(name, values, labels) for name, values in columns.items() if name not in named}
    has_text = any(kind in TEXT_KINDS for kind in named.values()) or any(
        column.kind in TEXT_KINDS and column.reason is None for column in judged.values() if column is not None
    )
    for name in columns:
        column = judged.get(name)
        if name in named:
            chosen[name] = named[name]
        if column is None:
            continue
        is_text = column.kind in TEXT_KINDS
        reason = NO_VECTORS if column.kind == VECTOR and not vectors else column.reason
        if reason is not None and (has_text or not is_text or reason != LEAKS):  # the only text is read, as a suspect
            left_out[name] = reason
            continue
        chosen[name] = column.kind
        if column.shares is not None and column.shares.is_suspicious:
            suspects[name] = column.shares.column
        if column.kind == VECTOR or is_text or (column.shares is not None and column.shares.is_informative):
            promising.append(name)
    return FieldChoice(chosen, left_out, suspects, promising)


class JudgedColumn(NamedTuple):
    """The guessed kind of a column, the labels that it predicts, and why it should be left out, if so."""

    kind: str
    shares: PredictedShares | None
    reason: str | None


def judge_column(name: str, values: Sequence[Any], labels: Sequence[Any]) -> JudgedColumn | None:
    """The kind of a column and what speaks against it as a field; None if it has no values, or lists."""
    profile = profile_column(name, [value for value in values if not is_missing(value)]).kind
    kind = guess_kind(name, values)
    if profile in NO_FIELDS and kind != VECTOR:
        return None
    if profile == "ids" and kind != VECTOR:
        return JudgedColumn(kind, None, IDS)
    shares = None if kind == VECTOR else find_shares(kind, values, labels)
    return JudgedColumn(kind, shares, find_reason(kind, values, shares))


def arrange_fields(texts: Sequence[str], kinds: Mapping[str, str]) -> Fields:
    """Fields in order: other text fields come before the main `texts`; the last text is the main one.

    >>> [str(field) for field in arrange_fields(["body"], {"age": "number", "subject": "text"})]
    ['subject:text', 'body:text', 'age:number']
    """
    others = {name: kind for name, kind in kinds.items() if kind == TEXT and name not in texts}
    every = others | dict.fromkeys(texts, TEXT) | {name: kind for name, kind in kinds.items() if name not in texts}
    return tuple(Field.of(name, kind) for name, kind in every.items())


def find_reason(kind: str, values: Sequence[Any], shares: PredictedShares | None) -> str | None:
    """Why a column is left out, as an id, a leak or a constant; None if it can be a field.

    >>> codes, labels = ["a", "b"] * 20, ["yes", "no"] * 20
    >>> find_reason("category", codes, find_shares("category", codes, labels)), find_reason("number", [3] * 40, None)
    ('reveals the label', 'has one value only')
    """
    if kind == VECTOR:
        return None
    filled = [str(value) for value in values if not is_missing(value)]
    distinct = len(set(filled))
    if distinct == 1 and len(filled) == len(values) >= ENOUGH:
        return CONSTANT
    if kind == "category" and len(filled) >= ENOUGH and distinct > MOSTLY_DIFFERENT * len(filled):
        return IDS
    return LEAKS if shares is not None and shares.is_leak else None


class PredictedShares(NamedTuple):
    """Shares of `n` held-out labels that are predicted by a column alone, and by the label most frequent among them.

    `column` counts a value that the other half does not have as wrong; `best` predicts the most frequent label there.
    """

    column: float
    best: float
    usual: float
    n: int

    @property
    def is_leak(self) -> bool:
        """Whether the column reveals the label."""
        return self.column >= LEAK and self.usual < USUAL

    @property
    def is_suspicious(self) -> bool:
        """Whether the column nearly reveals the label: at most half of the errors of the usual label."""
        return self.column >= SUSPICIOUS and 1 - self.column <= (1 - self.usual) / 2

    @property
    def is_informative(self) -> bool:
        """Whether the column predicts better than the most frequent label, by two standard errors of the difference."""
        variance = self.best * (1 - self.best) + self.usual * (1 - self.usual)
        return self.best - self.usual > 2 * math.sqrt(variance / self.n)


def find_shares(kind: str, values: Sequence[Any], labels: Sequence[Any]) -> PredictedShares | None:
    """The shares of labels that a column predicts, in rows with a value and a label; None if there are too few."""
    rows = [row for row, label in enumerate(labels) if not (is_missing(label) or is_missing(values[row]))]
    if len(rows) < ENOUGH:
        return None
    return share_predicted([finest_unit(values[row], kind) for row in rows], [str(labels[row]) for row in rows])


def share_predicted(values: Sequence[str], labels: Sequence[str]) -> PredictedShares:
    """Predict the labels of half of the rows by the values of a column.

    The column predicts the most frequent label of its value in the other half.
    """
    pairs = list(zip(values, labels, strict=True))
    pairs = [
        pairs[row] for row in sorted(range(len(pairs)), key=lambda row: crc32(row.to_bytes(4)))
    ]  # in a fixed random order
    half = len(pairs) // 2
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for value, label in pairs[half:]:
        seen[value][label] += 1
    usual = Counter([label for _, label in pairs[half:]]).most_common(1)[0][0]
    best = {value: counts.most_common(1)[0][0] for value, counts in seen.items()}
    held_out = pairs[:half]
    right = sum([best.get(value) == label for value, label in held_out])
    right_or_usual = sum([best.get(value, usual) == label for value, label in held_out])
    most = max(Counter([label for _, label in held_out]).values())
    n = len(held_out)
    return PredictedShares(right / n, right_or_usual / n, most / n, n)
