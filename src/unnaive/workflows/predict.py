"""Predict the labels of documents in files, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.prediction_columns import NEW_KEYS, Layout
from unnaive.workflows.predictor import Predictor
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, ModelSource, open_data, open_model

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback, RowValues
    from unnaive.io.datafiles import Batch
    from unnaive.io.writing.table_writer import Write


@dataclass(frozen=True, repr=False)
class PredictionResult(Result):
    """The predictions that were made.

    documents  their number
    unknown    documents without a term that the model knows: their label is only a guess
    file       the table that was written; None if none was
    rows       the predictions as plain values, if no file was written
    read       which columns were read, for people; None if texts were given
    promises   what prediction sets cover, for people
    notes      remarks for people
    """

    documents: int
    unknown: int
    file: Path | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    read: str | None = None
    promises: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "documents": self.documents, "unknown": self.unknown, "read": self.read, "notes": list(self.notes),
            "file": None if self.file is None else str(self.file), "rows": [dict(row) for row in self.rows],
        }  # fmt: skip


def predict_file(
    model: ModelSource,
    data: Data,
    output: str | Path | None = None,
    *,
    text: str | Sequence[str] = (),
    documents: Sequence[str] | None = None,
    format: str | None = None,
    keep_columns: bool = True,
    every: bool = False,
    top_k: int = 1,
    undecided: str | None = None,
    min_probability: float | None = None,
    out_of_scope_rate: float | None = None,
    coverage: float | None = None,
    by_class: bool = False,
    at_least_one: bool = False,
    explain: bool = False,
    excel_safe: bool = False,
    unbuffered: bool = False,
    show: Callable[[Sequence[RowValues]], None] | None = None,
    flush: Callable[[], object] | None = None,
    progress: ProgressCallback | None = None,
) -> PredictionResult:
    """Predict the labels of documents in files, which are read like the training data, and write a table.

    The same as the command `unnaive predict`. If it is interrupted, no file is written.

    Parameters
    ----------
    model : path, TextClassifier or FittedModel
        A model file or a trained model.
    data : path, list of paths or DataFile
        Files or a folder of documents.
    output : path or None, default=None
        The table to write, such as labelled.csv; "-" for stdout; None to return the rows.
    text : str or sequence of str, default=()
        Columns with the text, if they are not those of the training data.
    documents : sequence of str or None, default=None
        Texts to classify instead of `data`.
    format : str or None, default=None
        "csv", "tsv", "jsonl" or "parquet"; None for that of the file's name.
    keep_columns : bool, default=True
        Whether to write the columns of the input before the predictions.
    every : bool, default=False
        Whether to write the value of every class.
    top_k : int, default=1
        Number of best classes for each document.
    undecided : str or None, default=None
        Label of rejected documents, and of documents without a known term.
    min_probability : float or None, default=None
        Documents are unknown if their best probability is below this value.
    out_of_scope_rate : float or None, default=None
        Novel documents are unknown, with this false alarm rate for the known classes.
    coverage : float or None, default=None
        Also a set of labels that contains the right one with this probability.
    by_class, at_least_one : bool, default=False
        Whether the coverage holds for every class, and whether no set is empty.
    explain : bool, default=False
        Whether to give the terms that contributed most.
    excel_safe : bool, default=False
        Whether to escape cells that a spreadsheet would run as a formula.
    unbuffered : bool, default=False
        Whether to write each prediction as soon as its row is read.
    show : callable or None, default=None
        Called with the records of each batch instead of writing them.
    flush : callable or None, default=None
        Called after each batch.
    progress : callable or None, default=None
        Called with the name and the details of each event.

    Examples
    --------
    >>> import tempfile
    >>> from unnaive import train_file, write_tickets
    >>> folder = write_tickets(tempfile.mkdtemp())
    >>> classifier = train_file(folder / "train.csv", "multinomial", label="queue").classifier
    >>> result = predict_file(classifier, folder / "test.csv", folder / "labelled.csv")
    >>> result.documents, result.file.name
    (275, 'labelled.csv')
    >>> predict_file(classifier, folder / "test.csv", keep_columns=False).rows[0]["labels"]
    ['bug']
    """
    from unnaive.base.open_files import local_path
    from unnaive.io.endings import written_format
    from unnaive.io.writing.table_writer import open_table_writer
    from unnaive.workflows.trained_columns import read_as_trained

    path = None if output is None else local_path(output)
    if format is None:
        format = "jsonl" if path is None else written_format(path)
    rejecting = {
        "--undecided": undecided,
        "--min-probability": min_probability,
        "--out-of-scope-rate": out_of_scope_rate,
    }
    _refuse_top(top_k, format, next((name for name, value in rejecting.items() if value is not None), None))
    fitted, feedback = open_model(model), Feedback(progress)
    predictor = Predictor(
        fitted, top_k, every, explain, undecided, min_probability, coverage=coverage, by_class=by_class,
        at_least_one=at_least_one, show_text=show is not None, out_of_scope_rate=out_of_scope_rate,
    )  # fmt: skip
    predictor.check()
    classes = tuple(map(str, fitted.classes)) if every else ()
    layout = Layout(predictor.kind, classes, min(top_k, len(fitted.classes)), fitted.multilabel, explain)
    layout.sets = coverage is not None
    source = read_as_trained(open_data(data, text=text), fitted)
    source = replace(source, options=replace(source.options, rows=1 if unbuffered else source.options.rows))
    if documents:
        batches = iter([_batch_of_texts(documents)])
    else:
        batches = feedback.reading(source, "predicting").batches(labelled=False, keep=keep_columns)
    batches = _lay_out(batches, layout, format if show is None else "jsonl", source.name)
    rows: list[RowValues] = []
    if path is None:

        def collect(records: Sequence[RowValues]) -> None:
            rows.extend(layout.row(record, "jsonl") for record in records)

        for batch in batches:
            _write_batch(predictor, batch, show or collect)
    else:
        with open_table_writer(path, format, excel_safe=excel_safe, types=layout.arrow_types) as table:
            write = _PredictionWriter(table, layout, format)
            if str(path) != "-" and _writes_columns(predictor, write) and fitted.reader.fused:
                _write_ahead(predictor, batches, write)
            else:
                for batch in batches:
                    _write_batch(predictor, batch, show or write)
                    if flush is not None:
                        flush()
    note = predictor.describe_unknown()
    return PredictionResult(
        predictor.seen, predictor.guessed, None if path is None or str(path) == "-" else path, tuple(rows),
        None if documents else source.describe(),
        () if coverage is None or documents else _describe_sets(predictor, coverage, by_class=by_class),
        () if note is None else (note,),
    )  # fmt: skip


def _batch_of_texts(texts: Sequence[str]) -> Batch:
    from unnaive.io.datafiles import Batch

    return Batch(list(texts), [()] * len(texts), [str(number) for number in range(1, len(texts) + 1)])


def _describe_sets(predictor: Predictor, coverage: float, *, by_class: bool) -> tuple[str, ...]:
    """What prediction sets cover, and which classes only together."""
    from unnaive.learning.conformal import describe_sets

    fitted = predictor.fitted
    return tuple(
        describe_sets(
            fitted.conformal_scores(), fitted.classes, coverage, multilabel=fitted.multilabel, by_class=by_class
        )
    )


def _refuse_top(top_k: int, format: str, option: str | None) -> None:
    """Raise an error if a table would have the best classes of every document and so no label for unknown ones."""
    if top_k > 1 and option is not None and format != "jsonl":
        raise UnnaiveError(
            f"--top-k {top_k} writes the best classes of every document, so {option} would have no effect; leave one "
            "of the two out, or add --json, which writes both"
        )


def _lay_out(batches: Iterable[Batch], layout: Layout, format: str, source: str) -> Iterator[Batch]:
    """The batches; the first decides the columns of the layout, and each file their types."""
    from unnaive.io.batches import check_same_columns

    for batch in batches:
        batch.check_late(source, format, (*NEW_KEYS, layout.kind))
        layout.kept, layout.types = layout.kept or tuple(batch.kept), batch.types
        check_same_columns(source, layout.kept, batch.kept, format)
        yield batch


def _writes_columns(predictor: Predictor, write: Any) -> bool:
    """Whether predictions are computed and written by columns, without a record for each document."""
    return predictor.one_label and getattr(write, "takes_columns", False)


def _write_ahead(predictor: Predictor, batches: Iterable[Batch], write: Any) -> None:
    """Predict and write all batches by columns; two batches are predicted while others are read and written.

    The serial part of one batch overlaps with the parallel part of the other.
    """
    from unnaive.io.tables.native_parser import map_in_order

    chunks = (chunk for batch in batches for chunk in _cut_batch(predictor, batch))
    for chunk, new in map_in_order(lambda chunk: (chunk, predictor.predict_columns(chunk.texts)), chunks, threads=2):
        predictor.count_seen(new[2])
        write.write_columns(chunk.kept or {"id": chunk.ids}, new)


def _write_batch(predictor: Predictor, batch: Batch, write: Any) -> None:
    """Predict and write the documents of a batch."""
    whole_columns = _writes_columns(predictor, write)
    for chunk in _cut_batch(predictor, batch):
        if whole_columns:
            new = predictor.predict_columns(chunk.texts)
            predictor.count_seen(new[2])
            write.write_columns(chunk.kept or {"id": chunk.ids}, new)
        else:
            write(_with_columns(predictor.predict(chunk.ids, chunk.texts), chunk.kept))


def _cut_batch(predictor: Predictor, batch: Batch) -> Iterator[Batch]:
    """The batch, or parts of it whose scores fit in memory."""
    step = predictor.chunk_size()
    for start in range(0, len(batch.texts), step):
        part = slice(start, start + step)
        columns = {name: values[part] for name, values in batch.kept.items()}
        yield replace(batch, texts=batch.texts[part], labels=batch.labels[part], ids=batch.ids[part], kept=columns)


def _with_columns(records: list[RowValues], columns: Mapping[str, Sequence[Any]]) -> list[RowValues]:
    """The records, each with its row of the kept columns."""
    names = tuple(columns)
    rows = zip(*columns.values(), strict=True) if names else repeat(())
    for record, values in zip(records, rows, strict=False):
        record["kept"] = dict(zip(names, values, strict=True))
    return records


class _PredictionWriter:
    """Writes records of predictions, or whole columns, to a table."""

    def __init__(self, table: Write, layout: Layout, format: str) -> None:
        self._table, self._layout, self._format = table, layout, format

    def __call__(self, records: Sequence[RowValues]) -> None:
        """Write some records, one row each."""
        self._table([self._layout.row(record, self._format) for record in records])

    @property
    def takes_columns(self) -> bool:
        """Whether `write_columns` writes the same as records would."""
        return self._layout.plain and getattr(self._table, "takes_columns", False)

    def write_columns(self, before: Mapping[str, Sequence[Any]], new: Sequence[Sequence[Any]]) -> None:
        """Write rows from columns: those of the input, or the ids, then label, value and known_terms."""
        self._table.write_columns(self._layout.columns(before, new))  # type: ignore[attr-defined]
