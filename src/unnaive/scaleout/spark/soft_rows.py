"""Soft labels on Spark: columns with the probabilities of labels → documents with weights.

A weight is a whole number of units of 2⁻²⁴. So sums of weights are sums of integers, the same for any partitions and
order of rows, and the same as in local training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.types import Floats
from unnaive.data.accumulator import LabelCodes
from unnaive.data.counts import UNITS, Counts
from unnaive.data.soft_labels import expand_probabilities
from unnaive.data.sorted_runs import Run, merge_runs
from unnaive.io.fields.columns import join_names
from unnaive.io.labels import name_flags
from unnaive.io.soft_columns import PREFIX
from unnaive.learning.learner import TrainingSpec
from unnaive.scaleout.spark.counting import CountedRows, collect_runs, run_row
from unnaive.scaleout.spark.rows import LABEL, TEXT, BatchDocuments, as_buffer, check_text_type
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")


@dataclass(frozen=True)
class SoftReader:
    """Read Arrow batches of texts and arrays of probabilities; `labels` are those of the numbers in an array."""

    labels: tuple[str, ...]

    def __call__(self, batch: Any) -> tuple[BatchDocuments, int]:
        """The documents of the complete rows, one for each label with a probability above 0; the number of others."""
        text, probabilities = batch.column(0), batch.column(1).flatten().to_numpy(zero_copy_only=False)
        table = probabilities.reshape(len(text), len(self.labels))
        complete = ~np.isnan(table).any(axis=1) & text.is_valid().to_numpy(zero_copy_only=False)
        table = table[complete]
        self._check(table)
        rows, labels, weight = expand_probabilities(dict(zip(self.labels, table.T, strict=True)), len(table))
        used, text_of = np.unique(rows, return_inverse=True)  # texts of no label have no terms to learn
        texts = as_buffer(text.filter(pa.array(complete))).take(used)
        return BatchDocuments(texts, [(label,) for label in labels], weight, text_of), int((~complete).sum())

    def _check(self, table: Floats) -> None:
        outside = np.argwhere((table < 0) | (table > 1))
        if len(outside):
            row, column = outside[0].tolist()
            label, value = self.labels[column], float(table[row, column])
            raise BadData(f"a probability of {label!r} is {value!r}; give numbers from 0 to 1")


def soft_rows(df: Any, texts: Any, patterns: str | Sequence[str]) -> tuple[Any, SoftReader]:
    """The rows (text, array of probabilities) of a DataFrame, and their reader.

    texts     the column of texts
    patterns  names of the columns with probabilities, or patterns such as p_*
    """
    from pyspark.sql import functions as F

    patterns = [patterns] if isinstance(patterns, str) else list(patterns)
    names = [name for name in df.columns if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not names:
        raise BadData(
            f"no column of the DataFrame matches {' or '.join(patterns)}; it has {join_names(df.columns)}: name "
            "some of these, or give another pattern"
        )
    for name in names:
        kind = df.schema[name].dataType
        if kind.typeName() not in NUMBERS:
            raise BadData(
                f"the column {name!r} has type {kind.simpleString()}; probabilities must be numbers from 0 to 1"
            )
    cells = F.array(*(F.coalesce(df[f"`{name}`"].cast("double"), F.lit(float("nan"))) for name in names))
    rows = df.select(texts.alias(TEXT), cells.alias(LABEL))
    check_text_type(rows, TEXT)
    return rows, SoftReader(tuple(name_flags(names, [*patterns, PREFIX])))


def check_soft_model(spec: TrainingSpec) -> None:
    """Raise an error if the model does not learn from weighted documents on Spark."""
    if spec.model.traits.takes_sample_weight and (
        spec.model.traits.in_passes or spec.model.traits.statistic == "counts"
    ):
        return
    raise UnnaiveError(
        f"{spec.model.traits.title} takes no soft labels on Spark; use sharded-nbsvm, or a model that learns from "
        "counts, such as multinomial"
    )


def count_soft_rows(rows: Any, rule: TokenRule, reader: SoftReader) -> CountedRows:
    """The sums over the documents of all rows, in units of a document."""
    return collect_runs(rows, lambda n_parts: soft_counter(rule, n_parts, reader), units=UNITS)


def soft_counter(rule: TokenRule, n_parts: int, reader: SoftReader) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: batches of texts and probabilities in, runs split by term out."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        n_rows, n_missing = [0], [0]

        def runs() -> Iterator[Run]:
            for batch in batches:
                documents, lost = reader(batch)
                n_rows[0] += batch.num_rows - lost
                n_missing[0] += lost
                yield count_units(rule, documents)

        total = merge_runs(runs())
        for part, run in total.cut(n_parts) if total is not None else ():
            yield run_row(part, run, *((0, 0, 0) if part else (n_rows[0], n_missing[0], 0)))

    return count


def count_units(rule: TokenRule, documents: BatchDocuments) -> Run:
    """The sums over weighted documents, in units of a document."""
    counter, codes = TextCounter(rule, threads=1), LabelCodes()
    X = documents.count(counter, grow=True)
    units = np.rint(documents.weights() * UNITS).astype(np.int64)
    return Run.of(Counts.of(X, codes.matrix(documents.labels).tocsr(), units), counter.vocabulary, codes.labels)
