"""Rows of a DataFrame → texts and labels: checks of the columns, and conversion of Arrow batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unnaive.base.errors import BadData, UnnaiveWarning, choose, count_noun
from unnaive.base.types import Floats, Ids, Label, Sparse
from unnaive.data.fields.fields import encode_records
from unnaive.data.targets import plain_label
from unnaive.io.fields.columns import join_names
from unnaive.learning.fitted import FittedModel
from unnaive.text.buffer import TextBuffer, as_texts
from unnaive.text.counting import TextCounter
from unnaive.text.field import Field, field_kinds

TEXT, LABEL = "text", "label"  # names of the two columns on the executors
MISSING = ("error", "skip")
LABEL_TYPES = ("string", "boolean", "byte", "short", "integer", "long", "float", "double")


def quote_name(name: str) -> str:
    """The name of a column in quotes, whatever is in it.

    >>> quote_name("data.text")
    '`data.text`'
    """
    return "`" + name.replace("`", "``") + "`"


def record_column(df: Any, fields: Sequence[Field]) -> Any:
    """The columns of the fields, encoded as one text per row for a token rule with these fields."""
    from pyspark.sql import functions as F

    names = list(field_kinds(fields))
    lacking = next((name for name in names if name not in df.columns), None)
    if lacking is not None:
        raise BadData(f"the DataFrame has no column {lacking!r}, which is a field; it has {join_names(df.columns)}: "
                      "add the column, empty where it is not known")  # fmt: skip

    def encode(*values: Any) -> str:
        return encode_records({name: [value] for name, value in zip(names, values, strict=True)}, fields)[0]

    return F.udf(encode, "string")(*(df[quote_name(name)] for name in names))


def add_record_texts(df: Any, fitted: FittedModel, text: str) -> tuple[Any, str] | None:
    """Add a column of encoded records for a model with fields; return DataFrame and column name, or None if not needed.

    A model with fields reads the columns of its fields, unless `text` is another column that holds encoded records.
    """
    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    if fields is None or (text in df.columns and text not in field_kinds(fields)):
        return None
    name = f"{text}_of_unnaive"
    return df.withColumn(name, record_column(df, fields)), name


def labelled_rows(df: Any, text: str, label: str, fields: Sequence[Field] | None = None) -> Any:
    """The columns of texts and labels of `df`, renamed `text` and `label`; raises an error if a type is wrong.

    With `fields` the texts are encoded records of these columns, and `df` needs no column `text`.
    """
    rows = df.select(text_or_records(df, text, fields).alias(TEXT), _column(df, label, "label").alias(LABEL))
    check_text_type(rows, text)
    kind = _element_type(rows.schema[LABEL].dataType)
    if kind.typeName() not in LABEL_TYPES:
        raise BadData(
            f"the column {label!r} has type {kind.simpleString()}; labels must be strings, whole numbers "
            "or booleans, or arrays of them for multilabel documents"
        )
    return rows


def text_or_records(df: Any, text: str, fields: Sequence[Field] | None) -> Any:
    """The column `text` of `df`, or encoded records of the columns `fields`."""
    return _column(df, text, "text") if fields is None else record_column(df, fields)


def has_label_arrays(rows: Any) -> bool:
    """Whether the label column holds an array of labels for each document."""
    return bool(rows.schema[LABEL].dataType.typeName() == "array")


def check_text_type(df: Any, text: str) -> None:
    """Raise an error if the first column of `df` does not hold texts."""
    kind = df.schema[0].dataType
    if kind.typeName() not in ("string", "varchar", "char"):
        raise BadData(
            f"the column {text!r} has type {kind.simpleString()}; texts must be strings, so name another column"
        )


def _column(df: Any, name: str, role: str) -> Any:
    if name not in df.columns:
        raise BadData(
            f"the DataFrame has no column {name!r}; it has {join_names(df.columns)}: name the column with {role}=NAME"
        )
    return df[quote_name(name)]


def _element_type(kind: Any) -> Any:
    return kind.elementType if kind.typeName() == "array" else kind


def check_missing(missing: str) -> str:
    """Return `missing` if it is "error" or "skip"; raise an error otherwise."""
    return choose(list(MISSING), missing, "treatment of missing values")


def report_missing(n_missing: int, n_rows: int, missing: str) -> None:
    """Raise an error if rows have no text or no label; with missing="skip", warn instead."""
    if not n_missing:
        return
    rows = f"{n_missing:,} of {count_noun(n_rows, 'row')} {'has' if n_missing == 1 else 'have'} no text or no label"
    if missing == "error":
        raise BadData(f"{rows}; fill them, or set missing='skip' to leave them out")
    warnings.warn(f"{rows} and {'is' if n_missing == 1 else 'are'} left out", UnnaiveWarning, stacklevel=2)


@dataclass(frozen=True, eq=False)
class BatchDocuments:
    """Texts with label sets: one document for each text, or several (`text_of`).

    weight   (n_docs,); None for 1 each
    text_of  the number of each document's text (n_docs,); None for the document's own number
    """

    texts: TextBuffer
    labels: list[tuple[Label, ...]]
    weight: Floats | None = None
    text_of: Ids | None = None

    def count(self, counter: TextCounter, *, grow: bool = False) -> Sparse:
        """The counted documents (n_docs, n_terms)."""
        X = counter.count(self.texts, grow=grow)
        return X if self.text_of is None else X[self.text_of]

    def weights(self) -> Floats:
        """The weight of each document (n_docs,)."""
        return np.ones(len(self.labels)) if self.weight is None else self.weight


BatchReader = Callable[[Any], tuple[BatchDocuments, int]]  # Arrow batch → documents, and the number of incomplete rows


def read_label_batch(batch: Any) -> tuple[BatchDocuments, int]:
    """The documents of an Arrow batch of texts and labels, and the number of rows without a text or a label."""
    texts, labels, lost = complete_rows(batch)
    return BatchDocuments(texts, labels), lost


def complete_rows(batch: Any) -> tuple[TextBuffer, list[tuple[Label, ...]], int]:
    """Texts and label sets of the rows that have both, and the number of other rows."""
    text, label = batch.column(0), batch.column(1)
    there = pc.and_(text.is_valid(), label.is_valid())
    if pa.types.is_list(label.type) or pa.types.is_large_list(label.type):
        holes = label.flatten().is_null()
        if pc.any(holes).as_py():
            parents = pc.list_parent_indices(label).filter(holes)
            there = pc.and_(
                there, pc.invert(pc.is_in(pa.array(np.arange(len(label))), value_set=parents.cast(pa.int64())))
            )
    elif pa.types.is_floating(label.type):
        there = pc.and_(there, pc.invert(pc.fill_null(pc.is_nan(label), False)))
    lost = len(text) - int(pc.sum(there).as_py() or 0)
    if lost:
        text, label = text.filter(there), label.filter(there)
    return as_buffer(text), spark_label_sets(label), lost


def spark_label_sets(column: Any) -> list[tuple[Label, ...]]:
    """The distinct labels of each row, for a column of labels or of arrays of labels without nulls.

    >>> spark_label_sets(pa.array(["b", "a"])), spark_label_sets(pa.array([[3, 1, 3], []]))
    ([('b',), ('a',)], [(3, 1), ()])
    """
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return [tuple(dict.fromkeys(map(plain_label, names))) for names in column.to_pylist()]
    encoded = column.dictionary_encode()
    label_sets = [(plain_label(label),) for label in encoded.dictionary.to_pylist()]
    return [label_sets[code] for code in encoded.indices.to_pylist()]


def as_buffer(column: Any) -> TextBuffer:
    """A string column without nulls as a TextBuffer."""
    texts = as_texts(column)
    return texts if isinstance(texts, TextBuffer) else TextBuffer.of(texts)
