"""Any number of documents as a matrix on disk: counted once, then learners read a memory map of it.

The folder contains X (CSR: counts, columns, row ends) and Y (columns, row ends) as raw arrays, and the vocabulary; with
character n-grams, also the units that they were cut from, in the same form. Its manifest has the labels, a checksum of
every array, and the fingerprint of the data. Learners get X with the same type and columns as in memory, so the model
is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.base.sparse import csr_array
from unnaive.base.system import scratch_folder
from unnaive.base.system_memory import return_large_blocks, return_small_blocks
from unnaive.base.types import Arrays, Sparse
from unnaive.data.accumulator import LETTERS, Accumulator, LabelCodes
from unnaive.data.array_folder import ArrayWriter, is_whole, open_arrays
from unnaive.data.arrays import find_csr_problem
from unnaive.data.memory import table_budget, table_bytes
from unnaive.data.partly_labelled import take_labelled
from unnaive.data.run_folders import TermCost
from unnaive.data.targets import Targets, sorted_classes
from unnaive.data.training_data import TrainingData
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.columns import Columns
from unnaive.scaleout.checkpoint import fingerprint
from unnaive.scaleout.read_ahead import counting_threads, in_small_blocks, read_ahead, reading_again
from unnaive.scaleout.resident_pages import resident_pages_limited
from unnaive.scaleout.scratch import arrays_on_disk
from unnaive.scaleout.streaming import (
    LearntHashes,
    Resources,
    count_source,
    is_multilabel,
    learnt_columns,
    learnt_section,
)
from unnaive.text.backend import few_kept_pages
from unnaive.text.counting import TextCounter
from unnaive.text.gram_units import GramKind, GramUnits
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

NARROW = 1 << 31  # entries up to which indices have 32 bits


class _TooManyTerms(Exception):
    """The terms do not fit in the allowed memory, so rare ones must be left out."""

    def __init__(self, n_terms: int) -> None:
        super().__init__()
        self.n_terms = n_terms


class _KeepUnlabelled(Exception):
    """The data is multilabel after all, so the unlabelled documents that were left out belong to it."""

    def __init__(self, n_dropped: int) -> None:
        super().__init__()
        self.n_dropped = n_dropped


@contextmanager
def documents_on_disk(
    source: DataFile,
    rule: TokenRule,
    *,
    n_jobs: int | None = None,
    resources: Resources | None = None,
    keep: Path | None = None,
    hash_texts: bool = False,
    each_once: DataFile | None = None,
) -> Iterator[TrainingData]:
    """All documents of a source as a matrix on disk, which learners get as a memory map.

    `keep` is a folder in which the matrix stays; if it already has a matrix of the same data, that one is used. Without
    `keep`, the matrix is removed when the block ends. Inside the block, large arrays of this thread are on disk too. If
    the terms do not fit in the allowed memory, rare terms are left out, which takes a second pass; the report says how
    many. If the source yields a document several times, the second pass reads `each_once` instead.
    """
    return_large_blocks()
    resources = resources or Resources()
    of = {} if keep is None else fingerprint(source, rule)
    report: dict[str, Any] = {}
    # if a matrix is used again, the texts are not read, so there is nothing to hash
    hashes = LearntHashes(resources.memory) if hash_texts and keep is None else None
    with ExitStack() as stack:
        if resources.memory is not None:
            stack.enter_context(few_kept_pages())
        folder = keep
        if folder is None:
            folder = stack.enter_context(scratch_folder(resources.scratch))
        matrix = None if keep is None else find_matrix(folder / "matrix", of, table_budget(resources.memory))
        if matrix is None:
            counting = _Counting(rule, n_jobs, resources.memory, folder / "matrix", of, each_once or source)
            matrix = _count_source(source, counting, hashes)
            return_small_blocks()  # the memory of the batches, before the learner allocates its arrays
        else:
            report["notes"] = [f"the counted documents of the same data are taken from {keep}"]
            log = source.options.log
            log.source, log.columns, log.rows = source.name, Columns.from_dict(matrix.of["columns"]), matrix.X.shape[0]
        # the intermediate results of learners are as large as the matrix
        stack.enter_context(arrays_on_disk(resources.scratch))
        stack.enter_context(resident_pages_limited(resources.memory, matrix.arrays()))
        report |= {name: value for name, value in matrix.of.items() if name in ("pruned_terms", "pruned_below_df")}
        report |= {"without_hashes": True} if hashes and hashes.given_up else {}
        text_hashes = hashes and hashes.total(multilabel=True)
        data = TrainingData.of_rows(
            matrix.X, matrix.targets(), matrix.vocabulary, units=matrix.units, token_rule=rule, n_jobs=n_jobs,
            source=learnt_section(source), text_hashes=text_hashes,
        )  # fmt: skip
        yield replace(data, report=report).checked()


@dataclass(frozen=True)
class _Counting:
    """How documents become a matrix on disk, and where."""

    rule: TokenRule
    threads: int | None
    memory: int | None
    folder: Path
    of: dict[str, Any]
    each_once: DataFile
    vocabulary: Vocabulary | None = None

    @property
    def term_cost(self) -> TermCost:
        """Bytes of a term while documents are counted."""
        return TermCost(table_bytes(1, LETTERS * self.rule.ngrams[1], 0), 0, 0)


def _count_source(source: DataFile, counting: _Counting, hashes: LearntHashes | None) -> DiskMatrix:
    """Count the documents, over the terms that fit if not all do."""
    try:
        return _count_labelled(source, counting, hashes)
    except _TooManyTerms as error:
        problem = f"more than {error.n_terms:,} terms, which do not fit in the memory allowed"
        _start_again(source, hashes, problem, "put the data into a file, or give more with --memory")
        return _count_labelled(source, _over_frequent_terms(counting), hashes)


def _start_again(source: DataFile, hashes: LearntHashes | None, problem: str, advice: str) -> None:
    """Drop the hashes of the documents read so far; an error if the source cannot be read a second time."""
    once = source.read_once()
    if once is not None:
        raise BadData(f"{once} has {problem}, and cannot be read a second time; {advice}") from None
    if hashes is not None:
        hashes.clear()


def _over_frequent_terms(counting: _Counting) -> _Counting:
    """How to count only terms of at least d documents, with the smallest d for which they fit.

    The rule depends only on the documents, not on their order. One pass counts all terms, on disk if necessary.
    """
    with scratch_folder(counting.folder.parent) as folder:
        counter = Accumulator(
            counting.rule, counting_threads(counting.threads), counting.memory, folder, cost=counting.term_cost
        )
        with reading_again(counting.each_once) as again:
            count_source(counter, in_small_blocks(again, counting.threads), None)
        vocabulary = counter.total(multilabel=is_multilabel(again, counter)).in_order().vocabulary
        pruned = {"pruned_terms": counter.n_pruned, "pruned_below_df": counter.min_df}
    return replace(counting, vocabulary=vocabulary, of=counting.of | pruned | {"budget": table_budget(counting.memory)})


def _count_labelled(source: DataFile, counting: _Counting, hashes: LearntHashes | None) -> DiskMatrix:
    """Count the documents; start again if unlabelled ones turn out to belong to multilabel data."""
    try:
        return _count(source, counting, hashes, multilabel=bool(source.multilabel))
    except _KeepUnlabelled as error:
        dropped = count_noun(error.n_dropped, "document")
        problem = f"{dropped} without a label before the first document with more than one label"
        _start_again(source, hashes, problem, "put the data into a file")
        return _count(source, counting, hashes, multilabel=True)


def _count(source: DataFile, how: _Counting, hashes: LearntHashes | None, *, multilabel: bool) -> DiskMatrix:
    """The matrix of a source. Unless `multilabel`, unlabelled documents are left out, as in memory."""
    counter, codes = TextCounter(how.rule, how.vocabulary, threads=counting_threads(how.threads)), LabelCodes()
    budget, n_docs, n_dropped, fixed = table_budget(how.memory), 0, 0, how.vocabulary is not None
    writer = MatrixWriter(how.folder)
    try:
        with read_ahead(in_small_blocks(source, how.threads).batches(labelled=True)) as batches:
            for batch in batches:
                texts, labels = batch.texts, batch.labels
                several = any(len(names) > 1 for names in labels)
                if several and n_dropped and not multilabel:
                    raise _KeepUnlabelled(n_dropped)
                multilabel = multilabel or several
                if not multilabel and not all(labels):
                    texts, labels = take_labelled(texts, labels)
                    n_dropped += len(batch.labels) - len(labels)
                if hashes is not None:
                    hashes.add(texts, labels)
                X, units = (counter.count(texts), None) if fixed else counter.count_with_units(texts)
                writer.add(X, codes.matrix(labels, mark_unlabelled=False).tocsr(), units)
                n_docs += len(labels)
                if budget is not None and not fixed and how.term_cost.of(X.shape[1], 0, 0) > budget:
                    raise _TooManyTerms(X.shape[1])
                del batch, texts, labels, X, units  # before the next batch and the vocabulary are in memory
        source.warn_about_labels(codes.labels, n_docs + n_dropped, n_dropped, multilabel=multilabel)
        columns = learnt_columns(source)
        about = how.of | {"columns": columns and columns.to_dict(), "multilabel": multilabel}
        writer.finish(counter.vocabulary, codes.labels, about)
    except BaseException:
        writer.abandon()
        raise
    return open_matrix(how.folder)


class MatrixWriter:
    """Writes X and Y batch by batch; `finish` adds the vocabulary and the labels.

    >>> import tempfile
    >>> writer = MatrixWriter(Path(tempfile.mkdtemp()) / "cache")
    >>> writer.add(csr_array([[2, 1]], dtype=np.int32), csr_array([[1]]))
    >>> writer.finish(Vocabulary(["ball", "goal"]), ["sport"], {"files": []})
    >>> matrix = open_matrix(writer.folder)
    >>> matrix.X.toarray().tolist(), matrix.vocabulary.terms, matrix.targets().classes
    ([[2, 1]], ['ball', 'goal'], ('sport',))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer = ArrayWriter(folder)
        self._sizes: dict[str, list[Any]] = {"X": [], "Y": []}
        self._units: Vocabulary | None = None
        self._kind: GramKind | None = None
        self.n_entries = 0

    def add(self, X: Sparse, Y: Sparse, units: GramUnits | None = None) -> None:
        """Some documents X (n_docs, n_terms so far) and their labels Y (n_docs, n_classes so far).

        `units` are what character n-grams were cut from: for all documents, or for none.
        """
        if units is not None:
            self._add_units(units)
        self.n_entries += X.nnz
        self._writer.append("X.data", X.data.astype(np.int32, copy=False))
        self._writer.append("X.indices", X.indices.astype(np.int32, copy=False))
        self._writer.append("Y.indices", Y.indices.astype(np.int32, copy=False))
        for name, table in (("X", X), ("Y", Y)):
            self._sizes[name].append(np.diff(table.indptr).astype(np.int32))

    def _add_units(self, units: GramUnits) -> None:
        self._kind = units.kind
        self._units, places = (Vocabulary() if self._units is None else self._units).union(units.vocabulary)
        self._writer.append("units.data", units.X.data.astype(np.int32, copy=False))
        self._writer.append("units.indices", places[units.X.indices].astype(np.int32))
        self._sizes.setdefault("units", []).append(np.diff(units.X.indptr).astype(np.int32))

    def finish(self, vocabulary: Vocabulary, labels: Sequence[Any], of: dict[str, Any]) -> None:
        """Write the rest; then the folder is complete."""
        for name, sizes in self._sizes.items():
            ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]), dtype=np.int64)
            self._writer.append(f"{name}.indptr", ends.astype(np.int32) if ends[-1] < NARROW else ends)
        for name, terms in (("vocabulary", vocabulary), ("units", self._units)):
            if terms is not None:
                blob, offsets = terms.to_arrays()
                self._writer.append(f"{name}.bytes", blob)
                self._writer.append(f"{name}.offsets", offsets)
        self._writer.finish({"labels": list(labels), "of": of, "grams": self._kind})

    def abandon(self) -> None:
        """Remove what was written."""
        self._writer.abandon()


@dataclass(frozen=True, eq=False)
class DiskMatrix:
    """X (n_docs, n_terms) and Y (n_docs, n_labels) over memory maps, the labels of Y's columns, the terms of X's.

    `units` are what character n-grams were cut from, if there are any.
    """

    X: Sparse
    Y: Sparse
    labels: list[Any]
    vocabulary: Vocabulary
    of: dict[str, Any]
    units: GramUnits | None = None

    @property
    def multilabel(self) -> bool:
        """Whether documents may have any number of labels."""
        return bool(self.of.get("multilabel"))

    def arrays(self) -> list[NDArray[Any]]:
        """The arrays of the tables, which lie in files."""
        tables = [self.X, self.Y] + ([] if self.units is None else [self.units.X])
        return [part for table in tables for part in (table.data, table.indices, table.indptr)]

    def targets(self) -> Targets:
        """Y with sorted classes, like the result of `read_targets`."""
        classes = sorted_classes(self.labels)
        position_of = {label: position for position, label in enumerate(classes)}
        places = np.array([position_of[label] for label in self.labels], np.int64)
        ones, ends = (part.astype(np.int64) for part in (self.Y.data, self.Y.indptr))  # like `read_targets`
        Y = csr_array((ones, places[self.Y.indices], ends), shape=(self.Y.shape[0], len(classes)))
        Y.sort_indices()
        return Targets(classes, Y, "sets" if self.multilabel else "single")


def open_matrix(folder: Path) -> DiskMatrix:
    """The matrix in a folder, fully checked; its tables stay on disk."""
    arrays, about = open_arrays(folder)
    vocabulary = _vocabulary(arrays, "vocabulary")
    rows = len(arrays["X.indptr"]) - 1
    labels = about["labels"]
    arrays["Y.data"] = np.ones(len(arrays["Y.indices"]), np.int8)
    tables = {"X": (arrays["X.data"], (rows, len(vocabulary))), "Y": (arrays["Y.data"], (rows, len(labels)))}
    of_units = _vocabulary(arrays, "units") if about.get("grams") else None
    if of_units is not None:
        tables["units"] = arrays["units.data"], (rows, len(of_units))
    for name, (data, shape) in tables.items():
        problem = find_csr_problem(data, arrays[f"{name}.indices"], arrays[f"{name}.indptr"], shape)
        if problem:
            raise BadData(f"the matrix in {folder} {problem}; remove the folder and count again")
    X = _table(arrays, "X", tables["X"][1])
    X.has_canonical_format = True
    Y = _table(arrays, "Y", tables["Y"][1])
    units = None
    if of_units is not None:
        units = GramUnits(of_units, _table(arrays, "units", tables["units"][1]), tuple(about["grams"]))
    return DiskMatrix(X, Y, labels, vocabulary, about["of"], units)


def _vocabulary(arrays: Arrays, name: str) -> Vocabulary:
    return Vocabulary.from_arrays(np.asarray(arrays[f"{name}.bytes"]), np.asarray(arrays[f"{name}.offsets"]))


def _table(arrays: Arrays, name: str, shape: tuple[int, int]) -> Sparse:
    return csr_array(tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")), shape=shape, copy=False)


def find_matrix(folder: Path, of: dict[str, Any], budget: int | None = None) -> DiskMatrix | None:
    """The matrix kept in a folder, if it belongs to the same data read in the same way.

    A matrix without rare terms is only used if the memory limit is the same.
    """
    if not is_whole(folder):
        return None
    matrix = open_matrix(folder)
    same = all(matrix.of.get(name) == value for name, value in json.loads(json.dumps(of)).items())
    return matrix if same and matrix.of.get("budget", budget) == budget else None
