"""`filter_texts`: keep the rows of a DataFrame whose text a model assigns to given classes, on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from unnaive.base.errors import BadData
from unnaive.base.types import Label
from unnaive.io.fields.columns import join_names
from unnaive.scaleout.filter.keep_rule import KeepRule, choose_keep_rule
from unnaive.scaleout.spark.hadoop_files import read_model
from unnaive.scaleout.spark.rows import add_record_texts, as_buffer, check_text_type, quote_name
from unnaive.scaleout.spark.scoring import add_predicted_columns, spread, without_memory
from unnaive.scaleout.spark.spark_session import require_pyspark, share


def filter_texts(
    df: Any,
    model: Any,
    *,
    keep: Label | Sequence[Label],
    above: float | None = None,
    recall: float | None = None,
    held_out: tuple[Any, Any] | None = None,
    confidence: float = 0.9,
    text: str = "text",
    score: str | None = None,
) -> Any:
    """The rows of a DataFrame that `unnaive filter` would keep; Spark computes them lazily.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows with a column of texts. A row without a text (null) is dropped.
    model : str, Path, TextClassifier or FittedModel
        A model file, here or at an address such as hdfs://, or a trained model.
    keep : label or list of labels
        The classes of the texts to keep.
    above : float or None, default=None
        Keep texts whose probability of the classes in `keep` is at least this.
    recall : float or None, default=None
        Instead of `above`: keep at least this share of the texts of these classes; `held_out` sets the threshold.
    held_out : (texts, labels) or None, default=None
        Labelled texts that the model was not trained on.
    confidence : float, default=0.9
        The probability that new texts reach the recall.
    text : str, default="text"
        The column of texts. A model of records with fields reads the columns of its fields instead.
    score : str or None, default=None
        A column to add: the score, log p / (1 − p) if the model gives probabilities.
    """
    require_pyspark()
    fitted = read_model(df.sparkSession, model)
    records = add_record_texts(df, fitted, text)
    if records is not None:
        encoded, name = records
        cut: dict[str, Any] = {"above": above, "recall": recall, "held_out": held_out, "confidence": confidence}
        return filter_texts(encoded, fitted, keep=keep, text=name, score=score, **cut).drop(name)
    if text not in df.columns:
        raise BadData(
            f"the DataFrame has no column {text!r}; it has {join_names(df.columns)}: name the column with text=NAME"
        )
    check_text_type(df.select(quote_name(text)), text)
    if score is not None and score in df.columns:
        raise BadData(f"the DataFrame has a column {score!r} already; choose another name for the new column")
    rule, _ = choose_keep_rule(
        fitted, keep, above=above, recall=recall, held_out=held_out, confidence=confidence
    )  # fmt: skip
    from pyspark.sql.types import BooleanType, DoubleType

    shared = share(df.sparkSession, replace(rule, fitted=without_memory(fitted)))
    kept = "kept" + "_" * max(map(len, (*df.columns, score or "")), default=0)
    fields = [(kept, BooleanType()), *([] if score is None else [(score, DoubleType())])]
    judged = add_predicted_columns(df, text, batch_judge(shared, with_score=score is not None), fields)
    return judged.where(judged[kept]).drop(kept)


def batch_judge(shared: Any, *, with_score: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `add_predicted_columns`: texts in, whether each is kept out, and its score; null for a missing text."""

    def judge(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        rule: KeepRule = shared.value
        for column in columns:
            there = column.is_valid() if column.null_count else None
            scores = rule.scores(as_buffer(column if there is None else column.filter(there)))
            new = [pa.array(np.asarray(rule.keeps(scores), np.bool_)), *([pa.array(scores)] if with_score else [])]
            arrays = [values if there is None else spread(values, there) for values in new]
            yield pa.StructArray.from_arrays(arrays, [f"new{number}" for number in range(len(arrays))])

    return judge
