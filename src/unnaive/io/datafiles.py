"""Data files, whatever their format, to batches of texts with label sets or to a Corpus: the border of the package."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unnaive.base.errors import BadData, UnnaiveWarning, count_noun
from unnaive.io import batches
from unnaive.io.binary_tables import SQLITE
from unnaive.io.columns import ColumnRequest, Columns, choose_columns, join_names
from unnaive.io.corpus import Corpus, Labels, check_some_documents, check_some_labels
from unnaive.io.folders import FilesTable, read_folder
from unnaive.io.formats import find_format, open_table
from unnaive.io.label_checks import LabelSpelling, warn_about_odd_labels
from unnaive.io.labels import (
    LISTS,
    describe_kind,
    holds_lists,
    parse_flags,
    parse_labels,
    suggest_separator,
)
from unnaive.io.options import ColumnOptions, ReadLog, ReadOptions
from unnaive.io.sources import STDIN, STDIN_NAME, check_exists, path_mode
from unnaive.io.tables import Table

MOST_SHOWN = 10  # bad rows that a warning names


@dataclass(frozen=True)
class Batch:
    """Some documents of a data file; `ids` are what the file calls them, else their numbers from 1 on.

    `kept` are the columns of the table that they are rows of, by name, if they were asked for; `types` are Arrow's
    types of them, where the file has such.
    """

    texts: Sequence[str]
    labels: list[Labels]
    ids: list[str]
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DataFile(ColumnOptions):
    """One or more files, folders with a folder for each class, databases, or "-" for stdin.

    paths            a path, or several; one with *, ? or [ that is no file stands for all files like it
    options          how to read; `options.log` tells afterwards what was found
    default_columns  columns to take, where they are there, before any guess: those that a model was trained on

    Format and columns are those of ColumnOptions, by keyword.
    """

    paths: str | tuple[str, ...]
    options: ReadOptions = field(default_factory=ReadOptions)
    default_columns: Columns | None = None

    def __post_init__(self) -> None:
        if isinstance(self.paths, str):
            object.__setattr__(self, "paths", (self.paths,))

    @property
    def path(self) -> str:
        """The path; of several, the first and how many more."""
        more = len(self.paths) - 1
        return self.paths[0] if not more else f"{self.paths[0]} and {more} more"

    @property
    def name(self) -> str:
        """What messages call it."""
        return STDIN_NAME if self.path == STDIN else self.path

    @property
    def spelling(self) -> LabelSpelling:
        """How labels are read beyond what stands in their cells."""
        return LabelSpelling(self.ignore_label, self.label_prefix, self.lower_labels)

    @property
    def multilabel(self) -> bool | None:
        """True if the options say that the data is multilabel; None if the data must tell."""
        return True if self.separator is not None or self.label_columns else None

    def files(self) -> list[str]:
        """The paths, with patterns such as parts/*.parquet replaced by the files like them, sorted."""
        return [path for given in self.paths for path in expand_pattern(given)]

    def describe(self) -> str:
        """One line that says what was taken, once it was read: columns, header, rows."""
        return self.options.log.describe()

    def batches(self, *, labelled: bool, keep: bool = False) -> Iterator[Batch]:
        """All documents, a batch at a time, in constant memory; label sets are empty unless `labelled`.

        With `keep` a batch of a table has all of its columns; those of the first file, if there are several.
        """
        log = self._start_log()
        empty = 0
        for batch in self._read_tables(labelled, keep):
            empty += batches.count_empty(batch.texts)
            yield batch
        self._warn_about_rows(log.rows, empty)

    def corpus(self, *, unlabelled: bool = False) -> Corpus:
        """All labelled documents at once. One label each is taken as the rule unless some row shows otherwise.

        In single-label data, rows without a label are left out and a warning counts them, or kept if `unlabelled`; in
        multilabel data they are documents of no class.
        """
        log = self._start_log()
        files = self.files()
        if len(files) == 1 and self.format in (None, "folder") and find_format(files[0]) == "folder":
            corpus = self._spell_labels(read_folder(files[0], self.options))
            log.format, log.files, log.rows = "folder", 1, len(corpus)
            warn_about_odd_labels(self.name, corpus.class_sizes())
            return _drop_unlabelled(corpus) if self.ignore_label and not unlabelled else corpus
        parts = list(self._read_tables(labelled=True))
        texts = batches.concatenate([part.texts for part in parts])
        labels = [one for part in parts for one in part.labels]
        corpus = Corpus(texts, labels, ids=[one for part in parts for one in part.ids], name=self.name)
        self._warn_about_rows(len(corpus), batches.count_empty(texts))
        sizes = log.label_sizes()
        warn_about_odd_labels(self.name, sizes)
        if self.multilabel or any(len(names) > 1 for names in labels):
            return corpus
        suggest_separator(corpus)
        if unlabelled and any(labels):
            return corpus
        corpus = _drop_unlabelled(corpus)
        _warn_about_many_classes(self.name, len(sizes), len(corpus))
        return corpus

    def _spell_labels(self, corpus: Corpus) -> Corpus:
        """The corpus with the labels of its folders as they are meant."""
        if not self.spelling:
            return corpus
        spelt = {names: self.spelling.apply(names) for names in set(corpus.labels)}
        return replace(corpus, labels=[spelt[names] for names in corpus.labels])

    def warn_about_labels(self, labels: Sequence[str], seen: int, unlabelled: int, *, multilabel: bool) -> None:
        """The errors and warnings of `corpus` about the labels of all documents, for those that read them in batches.

        labels  the distinct ones; `unlabelled` of the `seen` documents have none and are left out
        """
        warn_about_odd_labels(self.name, self.options.log.label_sizes())
        if multilabel or (self.options.log.format == "folder" and not self.ignore_label):
            return
        suggest_separator(Corpus([""] * len(labels), [(label,) for label in labels], name=self.name))
        _warn_about_unlabelled(self.name, seen, unlabelled)
        _warn_about_many_classes(self.name, len(labels), seen - unlabelled)

    def _start_log(self) -> ReadLog:
        log = self.options.log
        log.source, log.rows, log.files, log.columns = self.name, 0, 0, None
        log.skipped.clear()
        log.repeated_headers = 0
        log.label_sets.clear()
        return log

    def _read_tables(self, labelled: bool, keep: bool = False) -> Iterator[Batch]:
        log = self.options.log
        for table, columns in self._tables(labelled, keep):
            for batch in _RowReader(self, table, columns).read_batches(log.rows):
                log.rows += len(batch.texts)
                if labelled:
                    log.label_sets.update(batch.labels)
                yield batch

    def _tables(self, labelled: bool, keep: bool = False) -> Iterator[tuple[Table, Columns]]:
        """Every file as a table, with the columns to take; those of the first file are taken of the others too."""
        log = self.options.log
        columns: Columns | None = None
        for name, path, table in self._open(labelled):
            source = STDIN_NAME if path == STDIN else path
            missing = () if columns is None or table.known else set(columns.names) - set(table.names)
            if missing:
                raise BadData(f"{source} has no column {min(missing)!r}, which the first file has; it has "
                              f"{join_names(table.names)}")  # fmt: skip
            request = ColumnRequest(
                self.text,
                self.label,
                self.id,
                self.label_columns,
                labelled,
                columns or self.default_columns,
                table.known,
            )
            columns = choose_columns(table.names, table.sample(), source, request)
            log.format, log.header, log.files = name, table.header, log.files + 1
            log.columns = replace(columns, separator=self.separator, header=not table.numbered, spelling=self.spelling)
            yield table, replace(columns, kept=table.kept_names()) if keep else columns

    def _open(self, labelled: bool) -> Iterator[tuple[str, str, Table]]:
        files = self.files()
        options = self._expect_names()
        if self.format == "files" or (self.format is None and not labelled and _are_documents(files)):
            if self.format is None:
                warnings.warn(f"{self.name}: each of the {len(files)} files is taken as one document; say "
                              "--format lines if each line is one", UnnaiveWarning, stacklevel=2)  # fmt: skip
            yield "files", self.name, FilesTable([str(check_exists(path)) for path in files], options, self.name)
            return
        for path in files:
            name, table = open_table(path, self.format, options, labelled=labelled)
            yield name, path, table

    def _expect_names(self) -> ReadOptions:
        """The options with the names that a header may have, and without one where training had none."""
        default = self.default_columns
        expected = [*self.text, *(name for name in (self.label, self.id) if name is not None)]
        header = self.options.header
        if default is not None and default.header:
            expected += default.names
        elif default is not None and header is None:
            header = False
        return replace(self.options, expected=tuple(expected), header=header)

    def _warn_about_rows(self, seen: int, empty: int) -> None:
        if not seen:
            if self.options.log.format in ("folder", "files"):
                raise BadData(f"{self.name} has no files in it; add some")
            check_some_documents(0, self.name)
        skipped = self.options.log.skipped
        if skipped:
            warnings.warn(f"{self.name}: {_describe_skipped(skipped)}", UnnaiveWarning, stacklevel=2)
        repeated = self.options.log.repeated_headers
        if repeated:
            rows = "row repeats the header and is" if repeated == 1 else "rows repeat the header and are"
            warnings.warn(f"{self.name}: {repeated:,} {rows} left out", UnnaiveWarning, stacklevel=2)
        if empty:
            verb = "is" if empty == 1 else "are"
            warnings.warn(
                f"{self.name}: {empty} of {count_noun(seen, 'text')} {verb} empty", UnnaiveWarning, stacklevel=2
            )


class _RowReader:
    """Values of a table's columns to documents: texts joined, labels parsed, ids given."""

    def __init__(self, source: DataFile, table: Table, columns: Columns) -> None:
        self.name, self.table, self.columns = source.name, table, columns
        self.separator, self.spelling, self.log = source.separator, source.spelling, source.options.log
        if columns.label is not None and source.separator is None:
            sample = table.sample().get(columns.label, [])
            if holds_lists(sample):
                self.separator = LISTS
                warnings.warn(f"{source.name}: the cells of {columns.label} are lists such as {sample[0]}, read as "
                              "label sets", UnnaiveWarning, stacklevel=4)  # fmt: skip

    def read_batches(self, seen: int) -> Iterator[Batch]:
        """The rows in batches, `seen` before them: without a string for each as far as that gives the very same."""
        if isinstance(self.table, FilesTable) and self.columns.label is not None:
            for texts, labels, ids in self.table.documents():
                yield Batch(texts, [self.parse_label(label) for label in labels], list(ids))
            return
        done = 0
        try:
            for documents in batches.read_batches(self.table, self.columns, self.parse_label):
                yield self._add_ids(documents, seen + done)
                done += len(documents.texts)
        except batches.NotPlain:
            yield from self._read_rows(seen, done)

    def _add_ids(self, found: batches.DocumentBatch, seen: int) -> Batch:
        ids = batches.number_rows(seen, len(found.texts)) if found.ids is None else found.ids
        return Batch(found.texts, found.labels, ids, found.kept, self.table.types)

    def _read_rows(self, seen: int, skip: int = 0) -> Iterator[Batch]:
        """Row by row, without the first `skip`, which were read already."""
        at = 0
        for values in self.table.batches(self.columns.names):
            size = len(values[0])
            if at + size > skip:
                first = max(skip - at, 0)
                yield self.make_batch([column[first:] for column in values], seen + at + first)
            at += size

    def make_batch(self, values: list[list[Any]], seen: int) -> Batch:
        """The documents of one batch, of which `seen` came before."""
        columns = self.columns
        values = self.without_headers(values)
        n_texts = len(columns.texts)
        parts = [[self.parse_text(value) for value in column] for column in values[:n_texts]]
        texts = parts[0] if n_texts == 1 else ["\n".join(row) for row in zip(*parts, strict=True)]
        rest = values[n_texts:]
        labels: list[Labels] = [()] * len(texts)
        if columns.label is not None:
            labels = [self.parse_label(value) for value in rest[0]]
        elif columns.label_columns:
            rows = zip(*rest[: len(columns.label_columns)], strict=True)
            labels = [self.spelling.apply(parse_flags(row, columns.flag_labels)) for row in rows]
        at = len(columns.names) - len(columns.kept)
        ids = [str(value) for value in values[at - 1]] if columns.id else batches.number_rows(seen, len(texts))
        return Batch(texts, labels, ids, dict(zip(columns.kept, values[at:], strict=True)), self.table.types)

    def without_headers(self, values: list[list[Any]]) -> list[list[Any]]:
        """The columns of a labelled batch without the rows that are the header once more, as joined files have them."""
        names = self.columns.names[: len(values) - len(self.columns.kept)]
        labelled = self.columns.label is not None or self.columns.label_columns
        if not labelled or self.table.numbered or names[0] not in values[0]:
            return values
        header = tuple(name.strip() for name in names)
        rows = zip(*values[: len(names)], strict=True)
        kept = [place for place, row in enumerate(rows) if tuple(map(_strip, row)) != header]
        self.log.repeated_headers += len(values[0]) - len(kept)
        return [[column[place] for place in kept] for column in values] if len(kept) < len(values[0]) else values

    def parse_label(self, value: Any) -> Labels:
        """The labels in one cell."""
        labels = parse_labels(value, self.separator)
        return self.spelling.apply(labels) if self.spelling else labels

    def parse_text(self, value: Any) -> str:
        """The text in one cell; nothing is an empty text, a number is its digits."""
        if isinstance(value, str):
            return value
        if value is None:
            return ""
        if isinstance(value, (int, float)):
            return str(value)
        raise BadData(
            f"a text of {self.name} is {describe_kind(value)}; expected a string, so name another column with --text"
        )


def _strip(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def expand_pattern(path: str) -> list[str]:
    """The files that a pattern stands for, sorted; a path that is no pattern, or is a file, stands for itself."""
    plain = path == STDIN or path.startswith(SQLITE) or "://" in path or not glob.has_magic(path)
    if plain or path_mode(path) is not None:
        return [path]
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # Path.glob has no patterns from the root
    if not found:
        raise BadData(f"no file is called like {path}; check the pattern and the folder you are in")
    return found


def _describe_skipped(skipped: Sequence[tuple[int, int]]) -> str:
    """Which bad rows were left out, by their lines.

    >>> _describe_skipped([(5, 5)]), _describe_skipped([(5, 5), (7, 9)])
    ('a bad row left out, line 5', '2 bad rows left out: line 5, lines 7 to 9')
    """
    places = [f"line {first}" if first == last else f"lines {first} to {last}" for first, last in skipped[:MOST_SHOWN]]
    if len(skipped) == 1:
        return f"a bad row left out, {places[0]}"
    more = f" and {len(skipped) - MOST_SHOWN:,} more" if len(skipped) > MOST_SHOWN else ""
    return f"{len(skipped):,} bad rows left out: {', '.join(places)}{more}"


def _are_documents(files: Sequence[str]) -> bool:
    """Whether several files are plain texts, of which each is a document rather than each line."""
    return len(files) > 1 and all(find_format(path) in ("lines", "files") for path in files)


def _drop_unlabelled(corpus: Corpus) -> Corpus:
    rows = [row for row, names in enumerate(corpus.labels) if names]
    _warn_about_unlabelled(corpus.name, len(corpus), len(corpus) - len(rows))
    return corpus if len(rows) == len(corpus) else corpus.take(rows)


def _warn_about_unlabelled(name: str, seen: int, unlabelled: int) -> None:
    check_some_labels(seen - unlabelled, name)
    if unlabelled:
        verb = "has no label and is" if unlabelled == 1 else "have no label and are"
        warnings.warn(
            f"{name}: {unlabelled} of {count_noun(seen, 'row')} {verb} left out", UnnaiveWarning, stacklevel=4
        )


def _warn_about_many_classes(name: str, classes: int, documents: int) -> None:
    if documents >= 20 and classes > documents / 2:
        found = f"{classes:,} classes in {count_noun(documents, 'document')}"
        warnings.warn(f"{name}: {found}; is that the column of labels?", UnnaiveWarning, stacklevel=3)
