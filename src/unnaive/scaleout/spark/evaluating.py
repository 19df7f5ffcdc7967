"""A model and a labelled DataFrame → a Tally of correct and wrong predictions, summed across the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from unnaive.base.errors import BadData
from unnaive.classifier.model_file import as_fitted
from unnaive.evaluation.tally import Tally
from unnaive.scaleout.spark.rows import complete_rows, labelled_rows, report_missing
from unnaive.scaleout.spark.scoring import predicted_labels, without_memory
from unnaive.scaleout.spark.spark_session import map_in_arrow, reading_errors, share

SCHEMA = "label string, what string, n bigint"


def tally_on_spark(
    df: Any, model: Any, *, text: str = "text", label: str = "label", missing: str = "error"
) -> tuple[tuple[str, ...], Tally]:
    """The classes, with those unknown to the model last, and the true and false positives and negatives of each."""
    fitted = as_fitted(model)
    shared = share(df.sparkSession, without_memory(fitted))
    partial = map_in_arrow(labelled_rows(df, text, label), batch_tally(shared), SCHEMA)
    with reading_errors():
        sums = partial.groupBy("label", "what").sum("n").collect()
    counts = {(row[0], row[1]): int(row[2]) for row in sums}
    n, lost = counts.get((None, "n"), 0), counts.get((None, "missing"), 0)
    report_missing(lost, n + lost, missing)
    if not n:
        raise BadData("there are no labelled documents to evaluate on; give at least one")
    model_classes = tuple(map(str, fitted.classes))
    unknown = tuple(sorted({name for name, _ in counts if name is not None} - set(model_classes)))
    classes = (*model_classes, *unknown)
    table = {what: np.array([counts.get((name, what), 0) for name in classes], np.int64) for what in ("tp", "fp", "fn")}
    return classes, Tally(**table, n=n, exact=counts.get((None, "exact"), 0))


def batch_tally(shared: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: texts and labels in; rows of label, kind of count ("tp", "fp" …) and count out."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        counts: Counter[tuple[str | None, str]] = Counter()
        for batch in batches:
            texts, labels, lost = complete_rows(batch)
            counts[None, "missing"] += lost
            predictions = predicted_labels(shared.value, texts).to_pylist() if len(texts) else []
            for true, guess in zip(labels, predictions, strict=True):
                right, chosen = _names(true), _names(guess)
                counts[None, "n"] += 1
                counts[None, "exact"] += right == chosen
                counts.update([(name, "tp") for name in right & chosen])
                counts.update([(name, "fp") for name in chosen - right])
                counts.update([(name, "fn") for name in right - chosen])
        names, kinds = [name for name, _ in counts], [kind for _, kind in counts]
        yield pa.record_batch(
            {
                "label": pa.array(names, pa.string()),
                "what": pa.array(kinds, pa.string()),
                "n": pa.array(list(counts.values()), pa.int64()),
            }
        )

    return count


def _names(labels: Any) -> set[str]:
    return set(map(str, labels)) if isinstance(labels, (list, tuple)) else {str(labels)}
