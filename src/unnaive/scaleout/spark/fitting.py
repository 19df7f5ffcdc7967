"""`fit`: a DataFrame of texts and labels → a trained TextClassifier."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.types import Label, ProgressCallback
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.corpus import check_some_labels
from unnaive.data.counts import Counts
from unnaive.data.fields.field_choice import LOOKED_AT, guess_fields
from unnaive.data.training_data import TrainingData
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import train
from unnaive.learning.tuning import TUNINGS
from unnaive.linear.scorer import Scorer
from unnaive.models.catalogue import MODELS, find_model
from unnaive.scaleout.spark.counting import CountedRows, count_complete_rows
from unnaive.scaleout.spark.rows import (
    BatchReader,
    check_missing,
    has_label_arrays,
    labelled_rows,
    read_label_batch,
    report_missing,
    text_or_records,
)
from unnaive.scaleout.spark.soft_rows import check_soft_model, count_soft_rows, soft_rows
from unnaive.scaleout.spark.spark_session import require_pyspark
from unnaive.text.field import Field, Fields, field_kinds, has_kinds, read_fields, vector_lengths
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

PASSES = ("maxent", "hos")  # models that take several passes over the documents


def fit(
    df: Any,
    *,
    text: str = "text",
    label: str = "label",
    soft_labels: str | Sequence[str] | None = None,
    model: str = "multinomial",
    multilabel: bool | None = None,
    missing: str = "error",
    progress: ProgressCallback | None = None,
    **parameters: Any,
) -> TextClassifier:
    """Train a model on a Spark DataFrame.

    The model is identical, bit for bit, to that of local training, for any partitions, order of rows and repeated
    tasks, because counts are sums of integers. MaxEnt sums fractions, so its weights are equal up to rounding.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Any DataFrame with a column of texts and a column of labels: from Parquet files, a table or a query.
    text, label : str
        The two columns. Labels are strings, integers or booleans; multilabel documents have arrays of them.
        With the parameter `fields` of TextClassifier, documents are records of the columns that it names.
    soft_labels : str, list of str or None, default=None
        Columns with the probability of each label, or a pattern such as "p_*", instead of `label`: as `train
        --soft-labels`, for "sharded-nbsvm" and models that learn from counts.
    model : str, default="multinomial"
        A model that learns from counts, "maxent", "hos" or "sharded-nbsvm".
    multilabel : bool or None, default=None
        Whether a document may have any number of labels; None: True if the label column holds arrays.
    missing : {"error", "skip"}, default="error"
        What to do with rows without a text or a label.
    progress : callable or None, default=None
        Called after every pass of "maxent".
    **parameters
        The parameters of TextClassifier and the settings of the model.

    Returns
    -------
    TextClassifier
        The trained classifier; `save` writes its model file.
    """
    require_pyspark()
    classifier = TextClassifier(model, multilabel=multilabel, **parameters)
    spec = classifier.spec()
    check_missing(missing)
    check_trainable(spec)
    fields = None if classifier.fields is None else _find_fields(df, label, classifier.fields)
    if fields is not None:
        classifier.fields = field_kinds(fields)
        check_trainable(spec, fields)
    rule, several = classifier.token_rule, False
    read: BatchReader = read_label_batch
    if soft_labels is not None:
        check_soft_model(spec)
        rows, soft = soft_rows(df, text_or_records(df, text, fields), soft_labels)
        counted, read = count_soft_rows(rows, rule, soft), soft
    else:
        rows = labelled_rows(df, text, label, fields)
        if has_label_arrays(rows) and multilabel is False:
            raise BadData(
                f"the column {label!r} has arrays of labels; leave multilabel=False out, or give one label for "
                "each document"
            )
        counted = count_complete_rows(rows, rule)
        several = bool(multilabel) or has_label_arrays(rows)
    report_missing(counted.left_out, counted.n_rows, missing)
    data = partitions_data(rows, rule, counted, multilabel=several, read=read)
    data = data.with_reading(n_jobs=classifier.n_jobs)
    return TextClassifier.from_fitted(train(data, spec, progress=progress))


def _find_fields(df: Any, label: str, fields: Any) -> Fields | None:
    """The fields; if `fields` has no kinds, they are guessed from the first rows."""
    if not has_kinds(fields):
        sample = [row.asDict(recursive=True) for row in df.limit(LOOKED_AT).collect()]
        labels = [row.get(label) for row in sample]
        records = [{name: row[name] for name in row if name != label} for row in sample]
        fields = guess_fields(fields, records, labels, vectors=False)  # training on Spark has no vectors
    return read_fields(fields)


def partitions_data(
    rows: Any, rule: TokenRule, counted: CountedRows, *, multilabel: bool, read: BatchReader = read_label_batch
) -> TrainingData:
    """The training data: the checked counts of all rows, and a function for further passes.

    read  makes documents of an Arrow batch of rows; by default of the columns text and label
    """
    named = counted.named(multilabel=multilabel)
    check_some_labels(named.n_docs)
    passes = partial(learn_in_passes, rows, rule, named.classes, read)
    target_type = "sets" if multilabel else "single"
    return TrainingData(target_type, named, passes=passes, reading={"token_rule": rule}).checked()


def learn_in_passes(
    rows: Any, rule: TokenRule, classes: Sequence[Label], read: BatchReader, model: Any, counts: Counts,
    vocabulary: Vocabulary | None, *, exclusive: bool, progress: ProgressCallback | None,
) -> tuple[Any, Scorer]:  # fmt: skip
    """Train a model that needs further passes over the documents; return it and its scorer.

    Between passes Spark keeps the counted documents. `counts` and `vocabulary` have only the terms in use.
    """
    if model.traits.in_passes:
        from unnaive.models.svm.sharded import ShardTask
        from unnaive.scaleout.spark.sharding import learn_from_shards

        return model, learn_from_shards(rows, rule, vocabulary, classes, ShardTask.of(model, counts), counts, read)
    from unnaive.scaleout.spark.passes import CountedDocuments
    from unnaive.scaleout.spark.solvers import LEARNERS

    learner = LEARNERS[model.traits.name](model, counts, exclusive=exclusive, progress=progress)
    with CountedDocuments.of(rows, rule, vocabulary, classes, learner.weighting, counts) as documents:
        return learner.model, learner.learn(documents)


def trainable_models() -> list[str]:
    """The models that Spark can train."""
    models = {name: find_model(name) for name in MODELS}
    return [
        name
        for name, model in models.items()
        if name in PASSES or model.traits.in_passes or model.traits.statistic == "counts"
    ]


def check_trainable(spec: TrainingSpec, fields: Sequence[Field] | None = None) -> None:
    """Raise an error if the model, its settings or its fields need all documents on one machine."""
    if spec.word_vectors is not None or vector_lengths(fields):
        raise UnnaiveError(
            "vectors are weighed with all documents on one machine, which Spark does not support; train there, and use "
            "the model on Spark, or train without vectors"
        )
    if spec.model.traits.name not in trainable_models():
        raise UnnaiveError(
            f"{spec.model.traits.title} needs all documents on one machine; on Spark use sharded-nbsvm, or one of "
            f"{', '.join(name for name in trainable_models() if name != 'sharded-nbsvm')}"
        )
    if spec.decision in tuple(TUNINGS) or spec.calibration:
        what = "calibration" if spec.calibration else f"decision {spec.decision!r}"
        raise UnnaiveError(
            f"the {what} needs held-out documents on one machine, which Spark does not support; train without it"
        )
    if spec.class_weight is not None:
        raise UnnaiveError(
            "class_weight makes counts fractions, whose sums depend on the order of the documents, so "
            "Spark does not support it; train without it"
        )
