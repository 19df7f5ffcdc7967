"""`transform`: add a model's predictions to a DataFrame, batch by batch on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.types import Floats, Label
from unnaive.data.targets import label_sets
from unnaive.io.fields.columns import join_names
from unnaive.learning.fitted import FittedModel
from unnaive.learning.top_labels import TopLabels
from unnaive.scaleout.spark.hadoop_files import read_model
from unnaive.scaleout.spark.rows import add_record_texts, as_buffer, check_text_type, quote_name
from unnaive.scaleout.spark.spark_session import require_pyspark, share

SPARK_TYPES: dict[type, str] = {str: "StringType", bool: "BooleanType", int: "LongType", float: "DoubleType"}
ARROW_TYPES: dict[type, Any] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def transform(
    df: Any,
    model: Any,
    *,
    text: str = "text",
    prediction: str | None = "prediction",
    probability: str | None = None,
    score: str | None = None,
    best: str | None = None,
) -> Any:
    """The DataFrame with additional columns of predictions; Spark computes them lazily.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows with a column of texts.
    model : str, Path, TextClassifier or FittedModel
        A model file, here or at an address such as hdfs://, or a trained model.
    text : str, default="text"
        The column of texts. A row without a text gets no prediction (null). A model of records with fields reads the
        columns of its fields instead.
    prediction : str or None, default="prediction"
        The column to add: the label, or for a multilabel model the array of labels.
    probability : str or None, default=None
        A column to add: the probability of each class, in the order of the model's classes.
    score : str or None, default=None
        A column to add: the raw score of each class.
    best : str or None, default=None
        A column to add: the highest probability of a class, or the highest score if the model gives no
        probabilities. With thousands of classes it needs far less memory than `probability`.
    """
    require_pyspark()
    fitted = read_model(df.sparkSession, model)
    records = add_record_texts(df, fitted, text)
    if records is not None:
        encoded, name = records
        columns = {"prediction": prediction, "probability": probability, "score": score, "best": best}
        return transform(encoded, fitted, text=name, **columns).drop(name)
    if text not in df.columns:
        raise BadData(
            f"the DataFrame has no column {text!r}; it has {join_names(df.columns)}: name the column with text=NAME"
        )
    check_text_type(df.select(quote_name(text)), text)
    if fitted.decision.per_batch and prediction is not None:
        raise UnnaiveError(
            "the decision 'pcut' needs the scores of all documents, and each machine of Spark has only a "
            "part; train with another decision, or ask only for probability"
        )
    if probability is not None and not fitted.probabilistic:
        raise UnnaiveError(
            f"{fitted.spec.model.traits.title} gives no probabilities; ask for score, or train with calibrate"
        )
    added = [name for name in (prediction, probability, score, best) if name is not None]
    clash = next((name for name in added if name in df.columns or added.count(name) > 1), None)
    if clash is not None:
        raise BadData(f"the DataFrame has a column {clash!r} already; choose another name for the new column")
    # Spark sends the model to each executor once, and each Python process loads it once
    shared = share(df.sparkSession, without_memory(fitted))
    fields = _new_fields(fitted, prediction, probability, score, best)
    return add_predicted_columns(df, text, batch_scorer(shared, prediction, probability, score, best), fields)


def add_predicted_columns(df: Any, text: str, function: Any, fields: Sequence[Any]) -> Any:
    """The DataFrame with columns that Python computes from a column of texts; no other column leaves Spark.

    function  arrays of texts in, struct arrays of the new columns out, as its type hints tell Spark
    fields    name and type of each new column
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructField, StructType

    if not fields:
        return df
    numbered = StructType([StructField(f"new{number}", kind) for number, (_, kind) in enumerate(fields)])
    # what is not deterministic is computed once, however the new columns are used
    compute = F.arrow_udf(function, numbered).asNondeterministic()
    found = "unnaive" + "_" * max(map(len, df.columns), default=0)
    with_struct = df.withColumn(found, compute(df[quote_name(text)]))
    new = [with_struct[found][f"new{number}"].alias(name) for number, (name, _) in enumerate(fields)]
    return with_struct.select(*(with_struct[quote_name(name)] for name in df.columns), *new)


def without_memory(fitted: FittedModel) -> FittedModel:
    """The model for executors: without the parts that only updates use, and with one thread per task."""
    left = dict.fromkeys(("counts", "register", "text_hashes", "source"))
    return replace(fitted, scorer=fitted.scorer.frozen(), n_jobs=1, **left)  # type: ignore[arg-type]


def label_type(fitted: FittedModel) -> Any:
    """Spark's type of the labels that a model predicts."""
    from pyspark.sql import types

    kind = getattr(types, SPARK_TYPES[type(fitted.classes[0])])()
    return kind if fitted.decision.exclusive and not fitted.multilabel else types.ArrayType(kind)


def _new_fields(
    fitted: FittedModel, prediction: str | None, probability: str | None, score: str | None, best: str | None
) -> list[tuple[str, Any]]:
    from pyspark.sql.types import ArrayType, DoubleType

    new = [(prediction, label_type(fitted))] if prediction is not None else []
    new += [(name, ArrayType(DoubleType())) for name in (probability, score) if name is not None]
    return new + ([(best, DoubleType())] if best is not None else [])


def batch_scorer(
    shared: Any,
    prediction: str | None,
    probability: str | None,
    score: str | None,
    best: str | None = None,
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `add_predicted_columns`: texts in, the new columns out."""

    def score_batches(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        fitted: FittedModel = shared.value
        for column in columns:
            there = column.is_valid() if column.null_count else None
            texts = as_buffer(column if there is None else column.filter(there))
            new = _new_columns(fitted, texts, prediction, probability, score, best)
            arrays = [values if there is None else spread(values, there) for values in new.values()]
            yield pa.StructArray.from_arrays(arrays, [f"new{number}" for number in range(len(arrays))])

    return score_batches


def _new_columns(
    fitted: FittedModel,
    texts: Any,
    prediction: str | None,
    probability: str | None,
    score: str | None,
    best: str | None,
) -> dict[str, Any]:
    """The requested columns, as Arrow arrays by name."""
    new: dict[str, Any] = {}
    alone = probability is None and score is None
    if alone and best is None:
        return new if prediction is None else {prediction: predicted_labels(fitted, texts)}
    top = fitted.top_labels(texts) if alone else None
    if top is not None:
        if prediction is not None:
            new[prediction] = _top_label_array(fitted, top)
        new[str(best)] = pa.array(np.maximum.reduceat(top.values, top.top.starts[:-1]) if len(top) else np.zeros(0))
        return new
    scores = fitted.scores(texts)
    values = fitted.probabilities(scores) if fitted.probabilistic else scores
    if prediction is not None:
        new[prediction] = decided_labels(fitted, scores)
    if probability is not None:
        new[probability] = _rows_of(values)
    if score is not None:
        new[score] = _rows_of(scores)
    if best is not None:
        new[best] = pa.array(values.max(axis=1))
    return new


def predicted_labels(fitted: FittedModel, texts: Any) -> Any:
    """The predicted labels of texts as an Arrow array; uses the fused scorer or top labels if the model has them."""
    if fitted.takes_best_score:
        best = fitted.reader.best_classes(texts)
        if best is not None:
            return _class_array(fitted).take(pa.array(best))
    top = fitted.top_labels(texts)
    if top is not None:
        return _top_label_array(fitted, top)
    return decided_labels(fitted, fitted.scores(texts))


def _top_label_array(fitted: FittedModel, top: TopLabels) -> Any:
    """The predicted labels among the top classes of each text, as an Arrow array."""
    if fitted.decision.exclusive and not fitted.multilabel:
        return _class_array(fitted).take(pa.array(top.top.classes[top.first_cells()]))
    return _label_lists(fitted, top.label_sets(fitted.classes))


def decided_labels(fitted: FittedModel, scores: Floats) -> Any:
    """The labels that the decision rule chooses from scores, as an Arrow array."""
    classes = _class_array(fitted)
    if fitted.decision.exclusive and not fitted.multilabel:
        return classes.take(pa.array(fitted.decide(scores).indices))
    return _label_lists(fitted, label_sets(fitted.decide(scores), fitted.classes, scores))


def _label_lists(fitted: FittedModel, sets: list[tuple[Label, ...]]) -> Any:
    """The labels of each text as an Arrow array of lists."""
    return pa.array([list(names) for names in sets], pa.list_(_class_array(fitted).type))


def _class_array(fitted: FittedModel) -> Any:
    return pa.array(fitted.classes, ARROW_TYPES[type(fitted.classes[0])])


def _rows_of(values: Floats) -> Any:
    """A matrix as an Arrow array of lists."""
    ends = np.arange(0, values.size + 1, max(values.shape[1], 1), dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(np.ascontiguousarray(values).ravel()))


def spread(values: Any, there: Any) -> Any:
    """One value for each row: `values` where `there` is true, null elsewhere."""
    places = np.cumsum(there.to_numpy(zero_copy_only=False)) - 1
    return values.take(pc.if_else(there, pa.array(places), pa.scalar(None, pa.int64())))
