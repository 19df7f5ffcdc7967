"""Train, predict, evaluate and compare on a cluster: the same results, computed by Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError

if TYPE_CHECKING:
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.training_data import TrainingData
    from unnaive.evaluation.results import Record
    from unnaive.evaluation.trials import ExperimentPlan
    from unnaive.io.datafiles import DataFile
    from unnaive.io.fields.columns import Columns
    from unnaive.learning.fitted import FittedModel
    from unnaive.text.tokens import TokenRule
    from unnaive.workflows.training_result import TrainingResult

WRITERS = {"tsv": "csv", "jsonl": "json"}  # formats with another name in Spark


@dataclass(frozen=True)
class SparkEngine:
    """Where Spark runs: the address of its master, and whether to send this package to the executors."""

    master: str | None = None
    ship: bool = False

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A session, stopped afterwards unless it was running before."""
        from unnaive.scaleout.spark.spark_session import require_pyspark, ship, start_session

        require_pyspark()
        from pyspark.sql import SparkSession

        running = SparkSession.getActiveSession() is not None
        spark = start_session(self.master)
        try:
            if self.ship:
                ship(spark)
            yield spark
        finally:
            if not running:
                spark.stop()


def train_on_spark(
    engine: SparkEngine,
    classifier: TextClassifier,
    source: DataFile,
    output: Path,
    *,
    test: Sequence[str] | None = None,
    frozen: bool = False,
    soft: Sequence[str] = (),
) -> TrainingResult:
    """Train, evaluate if requested, write; the result is that of `train_file`.

    soft  names or patterns of the columns with the probability of each label
    """
    from unnaive.classifier.model_file import check_writable, save
    from unnaive.learning.train import train
    from unnaive.scaleout.spark.files import read_source
    from unnaive.scaleout.spark.fitting import check_trainable
    from unnaive.scaleout.spark.soft_rows import check_soft_model
    from unnaive.text.field import field_kinds
    from unnaive.workflows.training_result import TrainingResult

    check_writable(output)
    spec = classifier.spec()
    check_trainable(spec)
    if soft:
        check_soft_model(spec)
    start = time.perf_counter()
    with engine.session() as spark:
        df, columns = read_source(spark, source, labelled=not soft)
        classifier.fields = field_kinds(columns.fields) or None
        check_trainable(spec, columns.fields)
        if soft:
            data, n_docs = _count_soft_labels(df, columns, classifier.token_rule, soft)
        else:
            data = _count_labels(df, columns, classifier.token_rule, source)
            n_docs = data.n_docs
        fitted = train(data.with_reading(source=columns.section(), n_jobs=classifier.n_jobs), spec)
        measured = _measure(spark, replace(source, paths=tuple(test)), fitted) if test else None
        save(fitted, output, frozen=frozen)
    seconds, read = time.perf_counter() - start, f"{source.name} on Spark: {columns.describe()}"
    return TrainingResult.of(
        fitted, output, documents=n_docs, seconds=seconds, read=read, label_sizes={}, test=measured
    )  # fmt: skip


def _count_labels(df: Any, columns: Columns, rule: TokenRule, source: DataFile) -> TrainingData:
    """The training data of texts and labels, with a note about rows without a label."""
    from unnaive.scaleout.spark.counting import count_complete_rows
    from unnaive.scaleout.spark.files import label_column, text_column
    from unnaive.scaleout.spark.fitting import partitions_data

    rows = df.select(text_column(df, columns), label_column(df, columns))
    counted = count_complete_rows(rows, rule)
    multilabel = bool(source.multilabel) or counted.n_several > 0
    named = counted.named(multilabel=multilabel)
    unlabelled = counted.n_rows - int(named.n_docs)
    sizes = zip(named.classes, named.counts.class_docs.tolist(), strict=True)
    source.options.log.label_sets.update({(str(label),): int(size) for label, size in sizes})
    source.warn_about_labels(list(map(str, named.classes)), counted.n_rows, unlabelled, multilabel=multilabel)
    return partitions_data(rows, rule, counted, multilabel=multilabel)


def _count_soft_labels(
    df: Any, columns: Columns, rule: TokenRule, soft: Sequence[str]
) -> tuple[TrainingData, int]:  # fmt: skip
    """The training data of texts and probabilities of labels, and the number of texts."""
    from unnaive.scaleout.spark.files import text_column
    from unnaive.scaleout.spark.fitting import partitions_data
    from unnaive.scaleout.spark.rows import report_missing
    from unnaive.scaleout.spark.soft_rows import count_soft_rows, soft_rows

    rows, read = soft_rows(df, text_column(df, columns), soft)
    counted = count_soft_rows(rows, rule, read)
    report_missing(counted.left_out, counted.n_rows, "error")
    return partitions_data(rows, rule, counted, multilabel=False, read=read), counted.n_rows


def predict_on_spark(engine: SparkEngine, fitted: FittedModel, source: DataFile, output: Path | None) -> Columns:
    """Write the DataFrame with predictions, as Spark writes: a folder of part files; returns the columns read."""
    from unnaive.io.endings import DELIMITERS, ENDINGS, SPARK, choose_ending
    from unnaive.scaleout.spark.files import read_source, text_column
    from unnaive.scaleout.spark.rows import TEXT
    from unnaive.scaleout.spark.scoring import transform
    from unnaive.scaleout.spark.spark_session import reading_errors
    from unnaive.workflows.trained_columns import read_as_trained

    if output is None:
        raise UnnaiveError(
            "no output was named; Spark writes a folder of part files: add -o labelled.parquet (or .csv, .jsonl)"
        )
    format = ENDINGS[choose_ending(output, SPARK, "a table of Spark")].format
    if output.exists():
        raise UnnaiveError(f"{output} exists; name another folder, or remove it first")
    with engine.session() as spark:
        from pyspark.sql import functions as F

        df, columns = read_source(spark, read_as_trained(source, fitted), labelled=False)
        taken = f"{TEXT}_of_unnaive"  # beside the columns of the input, whatever their names
        new = _new_name("predicted_label", df.columns)
        best = _new_name(fitted.value_name, df.columns)
        texts = df.withColumn(taken, text_column(df, columns))
        out = transform(texts, fitted, text=taken, prediction=new, best=best).drop(taken)
        if format in DELIMITERS and fitted.multilabel:
            out = out.withColumn(new, F.concat_ws(columns.separator or ";", new))
        writer = out.write.option("header", True).option("escape", '"')
        if format in DELIMITERS:
            writer = writer.option("sep", DELIMITERS[format])
        with reading_errors():
            writer.format(WRITERS.get(format, format)).save(str(output))
    return columns


def evaluate_on_spark(engine: SparkEngine, fitted: FittedModel, source: DataFile) -> dict[str, Any]:
    """Measures, and precision, recall and F1 of each class, as plain values."""
    with engine.session() as spark:
        return _measure(spark, source, fitted, classes=True)


def _measure(spark: Any, source: DataFile, fitted: FittedModel, *, classes: bool = False) -> dict[str, Any]:
    from unnaive.scaleout.spark.evaluating import tally_on_spark
    from unnaive.scaleout.spark.files import label_column, read_source, text_column
    from unnaive.workflows.hold_out import describe_tally
    from unnaive.workflows.trained_columns import read_as_trained

    df, columns = read_source(spark, read_as_trained(source, fitted), labelled=True)
    rows = df.select(text_column(df, columns), label_column(df, columns))
    names, tally = tally_on_spark(rows, fitted, missing="skip")
    measures = describe_tally(tally)
    if classes:
        measures["multilabel"] = fitted.multilabel
        learnt = set(map(str, fitted.classes))
        measures["unknown"] = [name for name in map(str, names) if name not in learnt]
        measures["absent"] = [str(name) for name, there in zip(names, tally.present, strict=True) if not there]
        measures["by class"] = [
            {"class": str(name), "precision": p, "recall": r, "f1": f, "documents": int(n)}
            for name, p, r, f, n in zip(
                names, tally.precision.tolist(), tally.recall.tolist(), tally.f1.tolist(), tally.support, strict=True
            )
        ]
    return measures


def compare_on_spark(engine: SparkEngine, plan: ExperimentPlan, source: DataFile, rule: TokenRule) -> list[Record]:
    """Cross-validate the models of a plan; folds depend on a hash of the text, the same for all models."""
    from unnaive.scaleout.spark.comparing import cross_validate
    from unnaive.scaleout.spark.files import label_column, read_source, text_column

    with engine.session() as spark:
        df, columns = read_source(spark, source, labelled=True)
        rows = df.select(text_column(df, columns), label_column(df, columns))
        return cross_validate(rows, plan, replace(rule, fields=columns.fields or None), name=source.name)


def _new_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
