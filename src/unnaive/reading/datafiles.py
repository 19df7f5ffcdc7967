"""A data file, whatever its format, to batches of texts with label sets; where the command line gets its documents."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from unnaive.errors import BadData, UnnaiveWarning, choose
from unnaive.reading.columns import TEXT_NAMES, Columns, choose_columns
from unnaive.reading.corpus import Corpus, Labels
from unnaive.reading.folders import FolderTable, read_folder
from unnaive.reading.sources import STDIN, check_exists
from unnaive.reading.tables import FORMATS, SUFFIXES, Lines, ReadOptions, Table, find_delimiter, read_lines

COMPRESSED_SUFFIXES = (".gz", ".zst", ".gzip", ".zstd")


@dataclass(frozen=True)
class Batch:
    """Some documents of a data file; `ids` are what the file calls them, else their numbers from 1 on."""

    texts: list[str]
    labels: list[Labels]
    ids: list[str]


@dataclass(frozen=True)
class DataFile:
    """A file, a folder with a folder for each class, or "-" for stdin.

    format     one of FORMATS or "folder"; found from the name and the first lines by default
    text       the columns of text; label, id: the columns of labels and names. Guessed where evident
    separator  between the labels of one document, for instance ";"; a column of lists needs none
    default_columns      columns to take, where they are there, before any guess: those that a model was trained on
    """

    path: str
    format: str | None = None
    text: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    separator: str | None = None
    options: ReadOptions = field(default_factory=ReadOptions)
    default_columns: Columns | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return "stdin" if self.path == STDIN else self.path

    def batches(self, *, labelled: bool) -> Iterator[Batch]:
        """All documents, a batch at a time, in constant memory; label sets are empty unless `labelled`."""
        table = self._table(labelled)
        columns = self.options.log.columns = self._columns(table, labelled)
        seen = empty = 0
        for values in table.batches(columns.names):
            batch = self._batch(columns, values, seen)
            seen += len(batch.texts)
            empty += sum(not text for text in batch.texts)
            yield batch
        self._tell(seen, empty)

    def corpus(self) -> Corpus:
        """All labelled documents at once. One label each is taken as the rule unless some row shows otherwise.

        In single-label data, rows without a label are left out and a warning counts them; in multi-label data they
        are documents of no class.
        """
        if self._is_folder():
            return read_folder(self.path, self.options)
        texts: list[str] = []
        labels: list[Labels] = []
        ids: list[str] = []
        for batch in self.batches(labelled=True):
            texts += batch.texts
            labels += batch.labels
            ids += batch.ids
        corpus = Corpus(texts, labels, ids=ids, name=self.name)
        if self.separator is not None or any(len(names) > 1 for names in labels):
            return corpus
        _suggest_separator(corpus)
        return _drop_unlabelled(corpus)

    def _columns(self, table: Table, labelled: bool) -> Columns:
        text, label = self.text, self.label
        if self.default_columns is not None:
            text = text or tuple(
                name for name in self.default_columns.texts if set(self.default_columns.texts) <= set(table.names)
            )
            label = label or (self.default_columns.label if self.default_columns.label in table.names else None)
        named = self.id or _own_id(table)
        return choose_columns(table.names, self.name, text=text, label=label, id=named, labelled=labelled)

    def _is_folder(self) -> bool:
        return self.format in (None, "folder") and self.path != STDIN and check_exists(self.path).is_dir()

    def _table(self, labelled: bool) -> Table:
        name = self.format and choose([*FORMATS, "folder"], self.format, "format")
        if name == "folder" or self._is_folder():
            return FolderTable(self.path, self.options, labelled=labelled)
        if name is None:
            name = _format_of_name(self.path)
        if name is None or (name == "lines" and labelled and self.format is None):
            return self._sniffed(labelled)
        options = (
            replace(self.options, delimiter="\t") if name == "tsv" and not self.options.delimiter else self.options
        )
        return FORMATS[name](self.path, options)

    def _sniffed(self, labelled: bool) -> Table:
        """JSON lines if the first one is JSON; CSV if a header is evident or labels are needed; else plain lines."""
        lines = read_lines(self.path, self.options)
        start = list(islice((item for item in lines if item[1].strip()), 1))
        if not start:
            raise BadData(f"{self.name} is empty; expected documents")
        whole: Lines = chain(start, lines)
        first = start[0][1]
        if first.lstrip()[:1] in ("{", "["):
            return FORMATS["jsonl"](self.name, self.options, whole)
        kind = "csv" if labelled or self.text or self.options.delimiter or _is_header(first) else "lines"
        return FORMATS[kind](self.name, self.options, whole)

    def _batch(self, columns: Columns, values: list[list[Any]], seen: int) -> Batch:
        parts = [[self._text(value) for value in column] for column in values[: len(columns.texts)]]
        texts = parts[0] if len(parts) == 1 else ["\n".join(row) for row in zip(*parts, strict=True)]
        rest = iter(values[len(columns.texts) :])
        labels = [parse_labels(value, self.separator) for value in (next(rest) if columns.label else [()] * len(texts))]
        ids = [str(value) for value in next(rest)] if columns.id else _numbers(seen, len(texts))
        return Batch(texts, labels, ids)

    def _text(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        if isinstance(value, (int, float)):
            return str(value)
        raise BadData(f"a text of {self.name} is {_kind(value)}; expected a string, so name another column with --text")

    def _tell(self, seen: int, empty: int) -> None:
        if not seen:
            if self._is_folder():
                raise BadData(f"{self.name} has no files in it; add some")
            raise BadData(f"{self.name} has a header and no documents below it; add rows")
        skipped = self.options.log.skipped
        if skipped:
            rows = f"{len(skipped)} bad rows left out, the first at" if len(skipped) > 1 else "a bad row left out,"
            warnings.warn(f"{self.name}: {rows} line {skipped[0]}", UnnaiveWarning, stacklevel=2)
        if empty:
            warnings.warn(f"{self.name}: {empty} of {seen} texts are empty", UnnaiveWarning, stacklevel=2)


def parse_labels(value: Any, separator: str | None = None) -> Labels:
    """The labels of one document as a tuple of distinct strings.

    >>> parse_labels("billing; login;billing", ";"), parse_labels(["a", "b"]), parse_labels(3), parse_labels(" ")
    (('billing', 'login'), ('a', 'b'), ('3',), ())
    """
    if isinstance(value, str):
        names: Sequence[Any] = value.split(separator) if separator else (value,)
    elif isinstance(value, (list, tuple)):
        names = value
    else:
        names = () if value is None or value != value else (value,)  # NaN is no label
    return tuple(dict.fromkeys(name for name in map(_label, names) if name))


def _label(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"  # as JSON writes it
    if isinstance(value, (dict, list)):
        raise BadData(f"a label is {_kind(value)}; expected a string, a number or a list of them")
    return "" if value is None else str(value).strip()


def _kind(value: Any) -> str:
    kinds: dict[type, str] = {dict: "an object", list: "a list", bytes: "binary"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _own_id(table: Table) -> str | None:
    return "id" if isinstance(table, FolderTable) else None


def _numbers(seen: int, size: int) -> list[str]:
    return [str(number) for number in range(seen + 1, seen + size + 1)]


def _format_of_name(path: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED_SUFFIXES:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def _is_header(line: str) -> bool:
    """Whether the first line is a header: several short fields, one of which often names a text column."""
    names = [name.strip(' "').casefold() for name in line.strip().split(find_delimiter([line]))]
    return len(names) > 1 and any(name in group for group in TEXT_NAMES for name in names)


def _suggest_separator(corpus: Corpus) -> None:
    """A hint where classes look like several labels in one cell: a part of one is a class by itself."""
    classes = {name for names in corpus.labels for name in names}
    for separator in ";|":
        joined = [name for name in classes if separator in name]
        one = next((name for name in sorted(joined) if classes & set(parse_labels(name, separator))), None)
        if one is not None:
            warnings.warn(f"{corpus.name}: {one!r} is taken as one label; if it is several, say "
                          f"--label-separator '{separator}'", UnnaiveWarning, stacklevel=3)  # fmt: skip


def _drop_unlabelled(corpus: Corpus) -> Corpus:
    rows = [row for row, names in enumerate(corpus.labels) if names]
    if not rows:
        raise BadData(f"no row of {corpus.name} has a label; name the column with --label")
    if len(rows) == len(corpus):
        return corpus
    warnings.warn(f"{corpus.name}: {len(corpus) - len(rows)} of {len(corpus)} rows have no label and are left out",
                  UnnaiveWarning, stacklevel=3)  # fmt: skip
    return corpus.take(rows)
