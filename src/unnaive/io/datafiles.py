"""Data files of any format → batches of texts with label sets, or a Corpus: where data enters the package."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning, choose, count_noun
from unnaive.base.open_files import STDIN, STDIN_NAME, can_read_again, check_exists
from unnaive.data.corpus import Corpus, check_some_documents, check_some_labels
from unnaive.io import batches
from unnaive.io.batches import Batch
from unnaive.io.fields.columns import Columns, choose_columns, join_names
from unnaive.io.first_looks import FirstLooks
from unnaive.io.folders import FilesTable, read_folder, sample_folder
from unnaive.io.formats import WHOLE_FILES, find_format
from unnaive.io.inspection import Inspection
from unnaive.io.label_checks import LabelSpelling, warn_about_odd_labels
from unnaive.io.labels import suggest_separator
from unnaive.io.part_files import PartFile, PartTable, list_parts
from unnaive.io.read_options import COLUMN_OPTIONS, READ_OPTIONS, ColumnOptions, ReadLog, ReadOptions
from unnaive.io.row_reader import RowReader
from unnaive.io.source_paths import are_documents, expand_mailboxes, expand_pattern, list_opened_files
from unnaive.io.tables.mail_tables import MailTable
from unnaive.io.tables.tables import Table
from unnaive.io.tables.vector_tables import split_vector_file, with_vector_files
from unnaive.text.field import Field, Fields, field_kinds
from unnaive.text.messages import PARTS, are_messages, read_message

__all__ = ["Batch", "DataFile", "expand_pattern"]

NOT_DECISIVE = ("rows", "threads", "block", "max_line", "max_ratio")  # options with the same rows for every value
MOST_SHOWN = 10  # bad rows listed in a warning
SAMPLE_TEXTS = 20  # inspected to detect e-mail messages


@dataclass(frozen=True)
class DataFile(ColumnOptions):
    """One or more files, folders with a folder for each class, databases, or "-" for stdin.

    paths            a path, or several; a path with *, ? or [ that is not a file is a pattern
    options          how to read; afterwards `options.log` has what was found
    default_columns  columns to prefer before guessing: those that a model was trained on
    message          parts, e.g. subject-body, to read instead of the whole text of e-mail messages; None for the
                     whole texts
    looks            what first looks at the files have found, so that each file is opened and understood once; copies
                     of this value with other options share it
    listed           the files of the paths, if they are known; None to list them

    Format and columns are those of ColumnOptions, by keyword.
    """

    paths: str | tuple[str, ...]
    options: ReadOptions = field(default_factory=ReadOptions)
    default_columns: Columns | None = None
    message: str | None = None
    looks: FirstLooks = field(default_factory=FirstLooks, repr=False, compare=False)
    listed: tuple[PartFile, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.paths, str):
            object.__setattr__(self, "paths", (self.paths,))
        if self.fields is not None:
            choose(["auto", "none"], self.fields, "--fields")

    @property
    def path(self) -> str:
        """The path; of several, the first and the number of others."""
        more = len(self.paths) - 1
        return self.paths[0] if not more else f"{self.paths[0]} and {more} more"

    @property
    def name(self) -> str:
        """The name in messages."""
        return STDIN_NAME if self.path == STDIN else self.path

    @property
    def spelling(self) -> LabelSpelling:
        """How labels are read from their cells."""
        return LabelSpelling(self.ignore_label, self.label_prefix, self.lower_labels)

    @property
    def multilabel(self) -> bool | None:
        """True if the options say that the data is multilabel; None if the data decides."""
        return True if self.separator is not None or self.label_columns else None

    @property
    def fixed_fields(self) -> Fields:
        """The columns that options name as fields beside the texts."""
        vectors = tuple(split_vector_file(vector)[0] for vector in self.vector)
        kinds = {
            "category": self.category, "number": self.number, "date": self.date, "characters": self.characters,
            "vector": vectors,
        }  # fmt: skip
        named = tuple(Field(name, kind) for kind, names in kinds.items() for name in names)
        if self.fields == "none" and named:
            raise BadData(f"--fields none contradicts --{named[0].kind}; leave one of the two out")
        return named

    def files(self) -> list[str]:
        """The paths; patterns such as parts/*.parquet, and folders of mbox or data files, are replaced by the files."""
        return [part.path for part in self.parts()]

    def parts(self) -> list[PartFile]:
        """The files, with the columns in their paths below the folders that were given."""
        if self.listed is not None:
            return list(self.listed)
        paths = [path for pattern in self.paths for path in expand_pattern(pattern)]
        return [
            part for path in paths
            for part in (self.format not in WHOLE_FILES and list_parts(path, self.format))
            or [PartFile(file, {}) for file in expand_mailboxes(path)]
        ]  # fmt: skip

    def read_once(self) -> str | None:
        """The name of an input that can be read only once: stdin, or a pipe such as <(zcat x.gz); None if none is."""
        once = next((path for path in self.files() if not can_read_again(path)), None)
        return STDIN_NAME if once == STDIN else once

    def opened_files(self) -> list[Path]:
        """All files whose bytes decide what is read: those of folders, logs of databases, vectors beside a table."""
        vectors = [file for _, file in map(split_vector_file, self.vector) if file is not None]
        follow_links = self.options.follow_links
        return [file for path in (*self.files(), *vectors) for file in list_opened_files(path, follow_links)]

    def how_to_read(self) -> dict[str, Any]:
        """The options that decide what is read, as plain JSON: those that are not at their defaults."""
        default = None if self.default_columns is None else self.default_columns.to_dict()
        options = {name: (getattr(self.options, name), item.default) for name, item in READ_OPTIONS.items()}
        columns = {name: (getattr(self, name), item.default) for name, item in COLUMN_OPTIONS.items()}
        more = {"message": (self.message, None), "default_columns": (default, None)}
        decisive = (options | columns | more).items()
        return {name: value for name, (value, default) in decisive if value != default and name not in NOT_DECISIVE}

    def describe(self) -> str:
        """One line about what was read: columns, header, rows."""
        return self.options.log.describe()

    def batches(self, *, labelled: bool, keep: bool = False) -> Iterator[Batch]:
        """All documents in batches, in constant memory; label sets are empty unless `labelled`.

        With `keep`, a batch of a table has all of its columns; those of the first file, if there are several.
        """
        log = self.start_log()
        empty = missing = 0
        for batch in self._read_tables(labelled, keep):
            empty += batches.count_empty(batch.texts)
            missing += batches.count_missing(batch.texts)
            yield batch
        self.warn_about_rows(log.rows, empty, missing)

    def corpus(self, *, unlabelled: bool = False) -> Corpus:
        """All labelled documents at once; multilabel if any row has two labels or more.

        In single-label data, rows without a label are left out with a warning, or kept if `unlabelled`; in multilabel
        data they are documents without labels.
        """
        log = self.start_log()
        files = self.files()
        if len(files) == 1 and self.format in (None, "folder") and find_format(files[0]) == "folder":
            corpus = self._spell_labels(read_folder(files[0], self.options))
            if self.message is not None and self.is_mail(corpus.texts):
                corpus = replace(corpus, texts=[read_message(text, self.message) for text in corpus.texts])
            log.format, log.files, log.rows = "folder", 1, len(corpus)
            log.label_sets.update(corpus.labels)
            warn_about_odd_labels(self.name, log.label_sizes())
            return _drop_unlabelled(corpus) if self.ignore_label and not unlabelled else corpus
        parts = list(self._read_tables(labelled=True))
        texts = batches.concatenate([part.texts for part in parts])
        labels = [names for part in parts for names in part.labels]
        corpus = Corpus(texts, labels, ids=[doc_id for part in parts for doc_id in part.ids], name=self.name)
        self.warn_about_rows(len(corpus), batches.count_empty(texts), batches.count_missing(texts))
        sizes = log.label_sizes()
        warn_about_odd_labels(self.name, sizes)
        if self.multilabel or max(map(len, labels), default=0) > 1:
            return corpus
        suggest_separator(corpus)
        if unlabelled and any(labels):
            return corpus
        corpus = _drop_unlabelled(corpus)
        _warn_about_many_classes(self.name, len(sizes), len(corpus))
        return corpus

    def _spell_labels(self, corpus: Corpus) -> Corpus:
        """The corpus with the labels of its folders after the label options."""
        if not self.spelling:
            return corpus
        spelt = {names: self.spelling.apply(names) for names in set(corpus.labels)}
        return replace(corpus, labels=[spelt[names] for names in corpus.labels])

    def warn_about_labels(self, labels: Sequence[str], seen: int, unlabelled: int, *, multilabel: bool) -> None:
        """Check the labels of all documents like `corpus`, for callers that read them in batches.

        labels  the distinct labels; `unlabelled` of the `seen` documents have none and are left out
        """
        warn_about_odd_labels(self.name, self.options.log.label_sizes())
        if multilabel or (self.options.log.format == "folder" and not self.ignore_label):
            return
        suggest_separator(Corpus([""] * len(labels), [(label,) for label in labels], name=self.name))
        _warn_about_unlabelled(self.name, seen, unlabelled)
        _warn_about_many_classes(self.name, len(labels), seen - unlabelled)

    def start_log(self) -> ReadLog:
        """The log, cleared for another reading."""
        log = self.options.log
        log.source, log.rows, log.files, log.columns = self.name, 0, 0, None
        log.skipped.clear()
        log.repeated_headers = 0
        log.label_sets.clear()
        return log

    def _read_tables(self, labelled: bool, keep: bool = False) -> Iterator[Batch]:
        log = self.options.log
        mail: bool | None = None if self.message is not None else False
        for table, columns in self.tables(labelled, keep):
            for batch in RowReader(self, table, columns).read_batches(log.rows):
                log.rows += len(batch.texts)
                if labelled:
                    log.label_sets.update(batch.labels)
                if mail is None:
                    mail = not columns.fields and self.is_mail(batch.texts)
                if mail:
                    batch = replace(batch, texts=[read_message(text, self.message or PARTS) for text in batch.texts])
                yield batch

    def is_mail(self, texts: Sequence[str]) -> bool:
        """Whether the documents, of which `texts` is a sample, are e-mail messages; then warn which parts are read."""
        step = max(1, len(texts) // SAMPLE_TEXTS)
        are_mails = are_messages([texts[row] for row in range(0, len(texts), step)])
        if are_mails:
            parts = (self.message or PARTS).replace("-", " and ")
            warnings.warn(f"{self.name}: the texts are e-mail messages; of each, {parts} are read", UnnaiveWarning,
                          stacklevel=2)  # fmt: skip
        return are_mails

    def sample_texts(self, *, labelled: bool = False) -> list[str]:
        """A sample of documents, by a look; empty on an error. `labelled` as in the reading that follows."""
        try:
            files = self.files()
            if find_format(files[0]) in ("excel", "sqlite", "dataset"):
                return []  # these formats are slow to open, and never mail
            if len(files) == 1 and self.format in (None, "folder") and find_format(files[0]) == "folder":
                return sample_folder(files[0], self.options, SAMPLE_TEXTS)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnnaiveWarning)
                alone = replace(self, options=self.options.as_look(), message=None)
                table, columns = next(alone.tables(labelled=labelled))
                few = table.for_reading(replace(alone.options, rows=SAMPLE_TEXTS))
                first = next(RowReader(alone, few, columns).read_batches(0), None)
        except UnnaiveError:
            return []  # reported when all is read
        return [] if first is None else list(first.texts[:SAMPLE_TEXTS])

    def tables(self, labelled: bool, keep: bool = False) -> Iterator[tuple[Table, Columns]]:
        """Every file as a table, with the columns to read; the columns of the first file apply to all."""
        log = self.options.log
        columns: Columns | None = None
        for inspection in self.inspections(labelled=labelled):
            default, table = columns or self.default_columns, inspection.table
            missing = () if columns is None or inspection.roles else set(columns.names) - set(inspection.names)
            if missing:
                raise BadData(f"{inspection.source} has no column {min(missing)!r}, which the first file has; it has "
                              f"{join_names(inspection.names)}; give files with the same columns")  # fmt: skip
            columns = choose_columns(inspection, self, labelled=labelled, default=default)
            if default is not None and default.fields and not columns.fields:
                _warn_about_only_texts(inspection.source, default)
            log.format, log.header, log.files = inspection.format, inspection.header, log.files + 1
            header = not inspection.numbered
            log.columns = replace(columns, separator=self.separator, header=header, spelling=self.spelling)
            yield table, replace(columns, kept=table.kept_names()) if keep else columns

    def inspections(self, *, labelled: bool) -> Iterator[Inspection]:
        """What is in each file, understood once; its table reads the rows of the file with the options of this value.

        labelled  whether labels are needed: then a text file is a table, not lines
        """
        options, default = self._expect_names(), self.default_columns
        columns = (*self.text, *field_kinds(self.fixed_fields), self.label, self.id)
        for inspection in self._open(options, labelled):
            table = inspection.table.for_reading(options)
            for column in (*columns, *(() if default is None else default.names)):
                table.accept_name(column or "")
            same = table.names == inspection.names
            yield (
                replace(inspection, table=table) if same else Inspection.of(table, inspection.source, inspection.format)
            )

    def _open(self, options: ReadOptions, labelled: bool) -> Iterator[Inspection]:
        parts = self.parts()
        files = [part.path for part in parts]
        if self.format == "files" or (self.format is None and not labelled and are_documents(files)):
            if self.format is None:
                warnings.warn(f"{self.name}: each of the {len(files)} files is read as one document; use "
                              "--format lines if each line is one", UnnaiveWarning, stacklevel=2)  # fmt: skip
            all_files = FilesTable([str(check_exists(path)) for path in files], options, self.name)
            yield Inspection.of(all_files, self.name, "files")
            return
        for path, columns in parts:
            inspection = self.looks.inspect(path, self.format, options, labelled=labelled)
            unnamed = labelled and self.label is None and not self.label_columns
            several = len(files) > 1 or len(getattr(inspection.table, "folders", ())) > 1
            if isinstance(inspection.table, MailTable) and unnamed and several:
                inspection = replace(inspection, roles={**inspection.roles, "label": "folder"})
            if columns:
                part = PartTable(inspection.table, columns)
                inspection = Inspection.of(part, inspection.source, inspection.format)
            if self.vector:
                table = with_vector_files(inspection.table, self.vector, self.name, len(files))
                inspection = Inspection.of(table, inspection.source, inspection.format)
            yield inspection

    def _expect_names(self) -> ReadOptions:
        """The options with the expected names of a header, and without a header if training had none."""
        default = self.default_columns
        expected = [
            *self.text,
            *field_kinds(self.fixed_fields),
            *(name for name in (self.label, self.id) if name is not None),
        ]
        header = self.options.header
        if default is not None and default.header:
            expected += default.names
        elif default is not None and header is None:
            header = False
        return replace(self.options, expected=tuple(expected), header=header)

    def warn_about_rows(self, seen: int, empty: int, missing: int) -> None:
        """Warn about rows that were left out and about `empty` and `missing` texts; no rows are an error."""
        if not seen:
            if self.options.log.format in ("folder", "files"):
                raise BadData(f"{self.name} contains no files; name a folder with files")
            check_some_documents(0, self.name)
        skipped = self.options.log.skipped
        if skipped:
            warnings.warn(f"{self.name}: {_describe_skipped(skipped)}", UnnaiveWarning, stacklevel=2)
        repeated = self.options.log.repeated_headers
        if repeated:
            rows = "row repeats the header and is" if repeated == 1 else "rows repeat the header and are"
            warnings.warn(f"{self.name}: {repeated:,} {rows} left out", UnnaiveWarning, stacklevel=2)
        for n, what in (
            (empty, "empty"),
            (missing, ("NaN, None or the like (unnaive audit lists them, unnaive clean drops them)")),
        ):
            if n:
                verb = "is" if n == 1 else "are"
                problem = f"{n:,} of {count_noun(seen, 'text')} {verb} {what}"
                warnings.warn(f"{self.name}: {problem}", UnnaiveWarning, stacklevel=2)


def _warn_about_only_texts(source: str, trained: Columns) -> None:
    """Say that plain texts are read by a model with fields."""
    others = [name for name in trained.inputs if name != trained.texts[-1]]
    warnings.warn(f"{source} has only texts, which are read as {trained.texts[-1]}; the other fields "
                  f"({join_names(others, 5)}) are unknown", UnnaiveWarning, stacklevel=2)  # fmt: skip


def _describe_skipped(skipped: Sequence[tuple[int, int]]) -> str:
    """List the bad rows that were left out, by line.

    >>> _describe_skipped([(5, 5)]), _describe_skipped([(5, 5), (7, 9)])
    ('1 bad row was left out: line 5', '2 bad rows were left out: line 5, lines 7 to 9')
    """
    places = [f"line {first}" if first == last else f"lines {first} to {last}" for first, last in skipped[:MOST_SHOWN]]
    if len(skipped) == 1:
        return f"1 bad row was left out: {places[0]}"
    more = f" and {len(skipped) - MOST_SHOWN:,} more" if len(skipped) > MOST_SHOWN else ""
    return f"{len(skipped):,} bad rows were left out: {', '.join(places)}{more}"


def _drop_unlabelled(corpus: Corpus) -> Corpus:
    rows = [row for row, names in enumerate(corpus.labels) if names]
    _warn_about_unlabelled(corpus.name, len(corpus), len(corpus) - len(rows))
    return corpus if len(rows) == len(corpus) else corpus.take(rows)


def _warn_about_unlabelled(name: str, seen: int, unlabelled: int) -> None:
    check_some_labels(seen - unlabelled, name)
    if unlabelled:
        verb = "has no label and is" if unlabelled == 1 else "have no label and are"
        warnings.warn(
            f"{name}: {unlabelled:,} of {count_noun(seen, 'row')} {verb} left out", UnnaiveWarning, stacklevel=4
        )


def _warn_about_many_classes(name: str, classes: int, documents: int) -> None:
    if documents >= 20 and classes > documents / 2:
        summary = f"{classes:,} classes in {count_noun(documents, 'document')}"
        warnings.warn(f"{name}: {summary}; is this the column of labels?", UnnaiveWarning, stacklevel=3)
