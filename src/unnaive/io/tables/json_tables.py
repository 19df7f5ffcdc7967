"""JSON as a table: lines or an array of objects, nested keys as data.text, and the exports of annotation tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any

from unnaive.base.errors import BadData
from unnaive.base.open_files import ByteSource
from unnaive.base.types import RowValues
from unnaive.data.fields.fields import encode_records
from unnaive.io.endings import split_ending
from unnaive.io.fields.columns import join_names
from unnaive.io.labels import describe_kind
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.tables import SAMPLE_ROWS, Table, TableSample, split_into_batches
from unnaive.io.text_encoding import BYTE_ORDER_MARK, Lines, read_lines
from unnaive.text.field import Field, field_kinds

DEEPEST_KEY = 6  # maximum depth of keys with dots
WHOLE_ARRAY = 16  # times the maximum line: the limit of an array, which is read whole
LABELS = "labels"  # the column of labels in records of an annotation tool
ANNOTATION_KEYS = ("annotations", "completions", "answer", "cats")  # keys by which such a record is recognised
ABSENT_KEY = object()


class JsonTable(Table):
    """One JSON object per line; a file that is one JSON array of objects is read whole."""

    reusable = True

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        self.source, self.path, self.options = source, source.name, options
        self.annotated = False  # whether the records come from an annotation tool
        self._array: list[Any] = []  # what a look has parsed of a file that is one array, which a reader takes
        self._optional: tuple[str, ...] = ()
        self._known: frozenset[str] = frozenset()  # the keys of the records so far, where all are kept
        self._may_lack: frozenset[str] = frozenset()
        records = self._read_records(options.as_look())
        self.records = [record for _, record in islice(records, min(SAMPLE_ROWS, options.rows))]
        if not self.records:
            raise BadData(f"{self.path} is empty; expected one JSON object per line")
        self.names = tuple(dict.fromkeys(name for record in self.records for name in list_keys(record)))
        if self.annotated:
            self.roles = {"label": LABELS} | ({"text": "data.text"} if "data.text" in self.names else {})

    def _read_records(self, options: ReadOptions) -> Iterator[tuple[int, RowValues]]:
        if self._array and not options.looking:
            yield from self._convert_items(self._array.pop(), options)
            return
        lines = read_lines(self.source, _options_for(self.path, options))
        filled = ((number, line) for number, line in lines if line.strip())
        for index, (number, line) in enumerate(filled):
            if index == 0 and line.lstrip().startswith("["):  # later, it is a line that is not an object
                items = self._read_array(line, lines)
                if options.looking:
                    self._array[:] = [items]
                yield from self._convert_items(items, options)
                return
            try:
                record = json.loads(line.removeprefix(BYTE_ORDER_MARK), strict=False)
            except (ValueError, RecursionError) as problem:
                options.reject_row(self.path, number, f"is not JSON ({describe_json_error(problem)})")
                continue
            if isinstance(record, dict):
                yield from self._convert(number, record, options)
            else:
                options.reject_row(self.path, number, 'is not a JSON object such as {"text": …}')

    def _read_array(self, start: str, lines: Lines) -> list[Any]:
        limit = WHOLE_ARRAY * self.options.max_line
        parts = [start]
        for _, line in lines:
            parts.append(line)
            limit -= len(line)
            if limit < 0:
                raise BadData(
                    f"{self.path} is a JSON array of more than {WHOLE_ARRAY * self.options.max_line >> 20} MiB; write "
                    "one object per line (JSONL), which is read in batches"
                )
        try:
            items: list[Any] = json.loads("".join(parts), strict=False)
        except (ValueError, RecursionError) as problem:
            reason = describe_json_error(problem) if isinstance(problem, RecursionError) else str(problem)
            raise BadData(f"{self.path} is not a JSON array ({reason}); expected one object per line") from problem
        return items

    def _convert_items(self, items: list[Any], options: ReadOptions) -> Iterator[tuple[int, RowValues]]:
        for number, record in enumerate(items, start=1):
            if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
                record = {"text": record[0], **record[1]}  # spaCy's training data has pairs of a text and a dict
            if not isinstance(record, dict):
                raise BadData(f'item {number} of {self.path} is not a JSON object such as {{"text": …}}')
            yield from self._convert(number, record, options, "item")

    def _convert(
        self, number: int, record: RowValues, options: ReadOptions, unit: str = "line"
    ) -> Iterator[tuple[int, RowValues]]:
        try:
            converted = convert_annotation(record)
        except BadAnnotation as problem:
            options.reject_row(self.path, number, f"has {problem}", unit=unit)
            return
        if converted is not None:
            self.annotated |= converted is not record
            yield number, converted

    def sample(self) -> TableSample:
        """The first values of every key."""
        values = {name: [get_key(record, name) for record in self.records] for name in self.names}
        return {name: [None if value is ABSENT_KEY else value for value in column] for name, column in values.items()}

    def kept_names(self) -> tuple[str, ...]:
        """The top-level keys; None for those that a record lacks."""
        self._optional = tuple(dict.fromkeys(name for record in self.records for name in record))
        return self._optional

    def accept_name(self, name: str) -> None:
        """Allow a number inside an object of numbers to be named, which `list_keys` lists as one column of scores."""
        super().accept_name(name)
        inside = "." in name and name not in self.names
        if inside and any(get_key(record, name) is not ABSENT_KEY for record in self.records):
            self.names = (*self.names, name)

    def allow_absent(self, names: Sequence[str]) -> None:
        """Read these keys as empty cells where a record lacks them, unless it lacks all of them."""
        self._may_lack = frozenset(names)

    def _complete_rows(self, names: Sequence[str], optional: Sequence[str]) -> Iterator[list[Any]]:
        for number, record in self._read_records(self.options):
            row = [get_key(record, name) for name in names]
            absent = [] if ABSENT_KEY not in row else self._find_absent(names, row)
            if absent:
                problem = f"has no key {absent[0]!r}; it has {join_names(list(record))}"
                self.options.reject_row(self.path, number, problem)
                continue
            if optional and not record.keys() <= self._known:
                self._find_late_keys(record, names)
            kept = (*optional, *self.late_names)
            yield [*(None if value is ABSENT_KEY else value for value in row), *map(record.get, kept)]

    def _find_late_keys(self, record: RowValues, names: Sequence[str]) -> None:
        """Add the keys that no record had before."""
        self.late_names += tuple(key for key in record if key not in self._known)
        self._known |= record.keys()

    def _find_absent(self, names: Sequence[str], row: Sequence[Any]) -> list[str]:
        """The keys that a record must have but lacks."""
        absent = [name for name, value in zip(names, row, strict=True) if value is ABSENT_KEY]
        return absent if self._may_lack <= set(absent) else [name for name in absent if name not in self._may_lack]

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted keys, a batch at a time."""
        required = names[: len(names) - len(self._optional)]  # the kept ones come last
        self.late_names, self._known = (), frozenset(self._optional)
        for rows in split_into_batches(
            self._complete_rows(required, self._optional), self.options.rows, size=_measure
        ):  # fmt: skip
            yield [list(column) for column in zip_longest(*rows)]


def _options_for(path: str, options: ReadOptions) -> ReadOptions:
    """The maximum length of the first line: a file that is one array may be one long line."""
    return replace(options, max_line=WHOLE_ARRAY * options.max_line) if split_ending(path)[0] == ".json" else options


def list_keys(record: RowValues, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The keys of a record, nested ones with dots.

    >>> list(list_keys({"id": 1, "data": {"text": "hi"}, "cats": {}}))
    ['id', 'data.text', 'cats']
    """
    for key, value in record.items():
        scores = isinstance(value, dict) and all(isinstance(score, (int, float)) for score in value.values())
        if isinstance(value, dict) and not scores and depth < DEEPEST_KEY:
            yield from list_keys(value, f"{prefix}{key}.", depth + 1)
        else:
            yield prefix + key


def get_key(record: Any, name: str) -> Any:
    """The value of a key, or of a nested one with dots."""
    if isinstance(record, dict) and name in record:
        return record[name]
    first, dot, rest = name.partition(".")
    if dot and isinstance(record, dict) and isinstance(record.get(first), dict):
        return get_key(record[first], rest)
    return ABSENT_KEY


def encode_json_record(record: Any, fields: Sequence[Field]) -> str:
    """Encode a record as a text; missing fields are empty cells, but at least one field must be present.

    >>> encode_json_record({"mail": {"subject": "hi"}}, [Field("mail.subject", "text"), Field("vip", "category")])
    '\\x1email.subject\\x1fhi\\x1evip\\x1f\\x1f(missing)'
    """
    values = {name: get_key(record, name) for name in field_kinds(fields)}
    if all(value is ABSENT_KEY for value in values.values()):
        raise BadData(f"it has none of the fields {', '.join(values)}")
    return encode_records({name: [None if value is ABSENT_KEY else value] for name, value in values.items()}, fields)[0]


def describe_json_error(problem: Exception) -> str:
    """The error of a line, without the line number of the library, which counts from this line."""
    if isinstance(problem, RecursionError):
        return "its brackets are nested too deeply"
    return f"{problem.msg}, column {problem.colno}" if isinstance(problem, json.JSONDecodeError) else str(problem)


def _measure(row: list[Any]) -> int:
    return sum(len(value) if isinstance(value, str) else 16 for value in row)


class BadAnnotation(ValueError):
    """A record of an annotation tool has another shape than the tool writes."""


def convert_annotation(record: RowValues) -> RowValues | None:
    """A record of an annotation tool with its labels as a list under `labels`; None to skip it; others unchanged.

    Label Studio: the choices of the first annotation that was not cancelled. Prodigy: accepted tasks; ignored ones are
    skipped. spaCy: categories with a score of at least 0.5.

    >>> convert_annotation({"text": "hi", "label": "POS", "answer": "reject"})["labels"]
    []
    """
    if isinstance(record.get("data"), dict) and isinstance(record.get("annotations", record.get("completions")), list):
        return _with_labels(record, _choices(record.get("annotations", record.get("completions"))))
    if record.get("answer") in ("accept", "reject", "ignore") and ("accept" in record or "label" in record):
        return None if record["answer"] == "ignore" else _with_labels(record, _accepted(record))
    if isinstance(record.get("cats"), dict):
        return _with_labels(record, [name for name, score in record["cats"].items() if _is_accepted(name, score)])
    return record


def _with_labels(record: RowValues, labels: list[Any]) -> RowValues:
    return record | {LABELS: labels}


def _choices(annotations: Any) -> list[Any]:
    for annotation in annotations:
        if isinstance(annotation, dict) and not annotation.get("was_cancelled") and not annotation.get("skipped"):
            results = [result for result in _list_of(annotation, "result") if isinstance(result, dict)]
            values = [result["value"] for result in results if isinstance(result.get("value"), dict)]
            return [choice for value in values for choice in _list_of(value, "choices")]
    return []


def _list_of(value: RowValues, key: str) -> list[Any]:
    """The items of a list that may be missing; one string is a list of itself."""
    items = value.get(key) or []
    if isinstance(items, str):
        return [items]
    if not isinstance(items, list):
        raise BadAnnotation(f"an annotation whose {key!r} is {describe_kind(items)}, not a list")
    return items


def _is_accepted(name: str, score: Any) -> bool:
    """Whether a category of spaCy has a score of at least 0.5."""
    if not isinstance(score, (int, float, type(None))):
        raise BadAnnotation(f"a score of {name!r} that is {describe_kind(score)}, not a number")
    return score is not None and score >= 0.5


def _accepted(record: RowValues) -> list[Any]:
    if record["answer"] == "reject":
        return []
    return list(record["accept"]) if isinstance(record.get("accept"), list) else [record.get("label")]
