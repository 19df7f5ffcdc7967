"""Train, predict, evaluate and compare on a cluster: the same results, computed by Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.training_data import TrainingData
    from unnaive.evaluation.results import Record
    from unnaive.evaluation.trials import ExperimentPlan
    from unnaive.io.datafiles import DataFile
    from unnaive.io.fields.columns import Columns
    from unnaive.learning.fitted import FittedModel
    from unnaive.scaleout.spark.files import SparkDocuments
    from unnaive.text.tokens import TokenRule
    from unnaive.workflows.training_result import TrainingResult

WRITERS = {"tsv": "csv", "jsonl": "json"}  # formats with another name in Spark
# by default Spark trims texts in CSV, writes "" for an empty one, and leaves keys without a value out of JSON
VALUES_AS_THEY_ARE = {
    "header": True, "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False,
    "emptyValue": "", "ignoreNullFields": False,
}  # fmt: skip
# names that no column of the input and no field of a model has, until the columns get the names of the input
DOCUMENT, NEW = "document\0", ("label\0", "value\0")


@dataclass(frozen=True)
class SparkEngine:
    """Where Spark runs: the address of its master, and whether to send this package to the executors."""

    master: str | None = None
    ship: bool = False

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A session, stopped afterwards unless it was running before."""
        from unnaive.scaleout.spark.spark_session import require_pyspark, running_session, ship, start_session

        require_pyspark()
        running = running_session() is not None
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
    output: str | Path,
    *,
    test: Sequence[str] | None = None,
    frozen: bool = False,
    soft: Sequence[str] = (),
    progress: ProgressCallback | None = None,
) -> TrainingResult:
    """Train, evaluate if requested, write; the result is that of `train_file`.

    soft      names or patterns of the columns with the probability of each label
    progress  called with notes, as by `train_file`
    """
    from unnaive.classifier.model_file import check_writable, save
    from unnaive.learning.train import train
    from unnaive.scaleout.spark.fitting import check_trainable
    from unnaive.scaleout.spark.hadoop_files import check_model_target, model_to_write, place_of
    from unnaive.scaleout.spark.soft_rows import check_soft_model
    from unnaive.scaleout.spark.spark_tables import only_spark_opens
    from unnaive.text.field import field_kinds
    from unnaive.workflows.feedback import Feedback
    from unnaive.workflows.train import settle_source
    from unnaive.workflows.training_result import TrainingResult

    spec = classifier.spec()
    check_trainable(spec)
    if soft:
        check_soft_model(spec)
    start, feedback, tests = time.perf_counter(), Feedback(progress), source
    place = place_of(output)
    if isinstance(place, Path):
        check_writable(place)  # before Spark starts
    with engine.session() as spark:
        check_model_target(spark, output)
        if not only_spark_opens(spark, source):
            source = settle_source(classifier, source, soft, feedback, vectors=False)
            check_trainable(classifier.spec())
            source = replace(source, options=replace(source.options, language=classifier.language or "en"))
        documents = _read_documents(spark, source, labelled=not soft, soft=soft)
        columns = documents.columns
        classifier.fields = field_kinds(columns.fields) or None
        check_trainable(spec, columns.fields)
        if soft:
            columns = replace(columns, label=None, label_columns=(), flag_labels=())
            data, n_docs = _count_soft_labels(documents, classifier.token_rule)
        else:
            data = _count_labels(documents, classifier.token_rule, source)
            n_docs = data.n_docs
        # as in local training, a folder for each class says nothing about the columns of the next file
        section = None if source.options.log.format == "folder" else columns.section()
        fitted = train(data.with_reading(source=section, n_jobs=classifier.n_jobs), spec)
        measured = _measure(spark, replace(tests, paths=tuple(test)), fitted) if test else None
        with model_to_write(spark, output) as file:
            save(fitted, file, frozen=frozen)
            seconds, read = time.perf_counter() - start, f"{source.name} on Spark: {columns.describe()}"
            result = TrainingResult.of(
                fitted, file, documents=n_docs, seconds=seconds, read=read, label_sizes={}, test=measured,
                notes=tuple(feedback.notes),
            )  # fmt: skip
    return replace(result, file=output)


def _read_documents(
    spark: Any, source: DataFile, *, labelled: bool, soft: Sequence[str] = (), format: str | None = None,
    spelling: Mapping[str, str] | None = None,
) -> SparkDocuments:  # fmt: skip
    """The documents of the source, read by Spark only if nothing else can open it."""
    from unnaive.scaleout.spark.files import read_documents
    from unnaive.scaleout.spark.spark_tables import only_spark_opens, read_tables

    if only_spark_opens(spark, source):
        return read_tables(spark, source, labelled=labelled, soft=soft, keep=format is not None)
    return read_documents(spark, source, labelled=labelled, soft=soft, format=format, spelling=spelling)


def _count_labels(documents: SparkDocuments, rule: TokenRule, source: DataFile) -> TrainingData:
    """The training data of texts and labels; if only now the labels are known, with notes about them."""
    from unnaive.scaleout.spark.counting import count_complete_rows
    from unnaive.scaleout.spark.fitting import partitions_data

    rows = documents.labelled_rows
    counted = count_complete_rows(rows, rule)
    if documents.multilabel is not None:
        return partitions_data(rows, rule, counted, multilabel=documents.multilabel)
    multilabel = bool(source.multilabel) or counted.n_several > 0
    named = counted.named(multilabel=multilabel)
    unlabelled = counted.n_rows - int(named.n_docs)
    sizes = zip(named.classes, named.counts.class_docs.tolist(), strict=True)
    source.options.log.label_sets.update({(str(label),): int(size) for label, size in sizes})
    source.warn_about_labels(list(map(str, named.classes)), counted.n_rows, unlabelled, multilabel=multilabel)
    return partitions_data(rows, rule, counted, multilabel=multilabel)


def _count_soft_labels(documents: SparkDocuments, rule: TokenRule) -> tuple[TrainingData, int]:
    """The training data of texts and probabilities of labels, and the number of texts."""
    from unnaive.scaleout.spark.fitting import partitions_data
    from unnaive.scaleout.spark.rows import report_missing
    from unnaive.scaleout.spark.soft_rows import SoftReader, count_soft_rows

    rows, read = documents.labelled_rows, SoftReader(documents.soft_labels)
    counted = count_soft_rows(rows, rule, read)
    report_missing(counted.left_out, counted.n_rows, "error")
    return partitions_data(rows, rule, counted, multilabel=False, read=read), counted.n_rows


def predict_on_spark(engine: SparkEngine, model: str | Path, source: DataFile, output: str | None) -> Columns:
    """Write the DataFrame with predictions, as Spark writes: a folder of part files; returns the columns read."""
    from unnaive.classifier.model_file import load_model
    from unnaive.io.endings import DELIMITERS, ENDINGS, SPARK, choose_ending
    from unnaive.scaleout.spark.hadoop_files import HadoopFiles, place_of, read_model
    from unnaive.scaleout.spark.rows import TEXT
    from unnaive.scaleout.spark.scoring import transform
    from unnaive.scaleout.spark.spark_session import reading_errors
    from unnaive.workflows.trained_columns import read_as_trained

    if output is None:
        raise UnnaiveError(
            "no output was named; Spark writes a folder of part files: add -o labelled.parquet (or .csv, .jsonl)"
        )
    format = ENDINGS[choose_ending(output, SPARK, "a table of Spark")].format
    taken = UnnaiveError(f"{output} exists; name another folder, or remove it first")
    place, model = place_of(output), place_of(model)
    if isinstance(place, Path) and place.exists():
        raise taken
    fitted = load_model(model) if isinstance(model, Path) else None  # before Spark starts
    with engine.session() as spark:
        from pyspark.sql import functions as F

        if isinstance(place, str) and HadoopFiles(spark).exists(place):
            raise taken
        fitted = fitted or read_model(spark, model)

        documents = _read_documents(spark, read_as_trained(source, fitted), labelled=False, format=format)
        columns = documents.columns
        names = [_new_name(name, documents.kept) for name in ("label", fitted.value_name)]
        rows = documents.rows.withColumnRenamed(TEXT, DOCUMENT)
        out = transform(rows, fitted, text=DOCUMENT, prediction=NEW[0], best=NEW[1]).drop(DOCUMENT)
        if format in DELIMITERS and fitted.multilabel:
            out = out.withColumn(NEW[0], F.concat_ws(columns.separator or ";", NEW[0]))
        out = out.toDF(*documents.kept, *names)
        if WRITERS.get(format) == "json":  # the shape of docs/prediction.schema.json
            label, labels = F.col(f"`{names[0]}`"), _new_name("labels", documents.kept)
            out = out.withColumn(labels, label if fitted.multilabel else F.array(label))
            if fitted.multilabel:
                out = out.withColumn(names[0], F.get(label, F.lit(0)))
        writer = out.write.options(**VALUES_AS_THEY_ARE)
        if format in DELIMITERS:
            writer = writer.option("sep", DELIMITERS[format])
        with reading_errors():
            writer.format(WRITERS.get(format, format)).save(output)
    return columns


def evaluate_on_spark(engine: SparkEngine, model: str | Path, source: DataFile) -> dict[str, Any]:
    """Measures, precision, recall and F1 of each class, and the SHA-256 of the model, as plain values."""
    from unnaive.base.open_files import hash_file
    from unnaive.classifier.model_file import load_model
    from unnaive.scaleout.spark.hadoop_files import model_to_read, place_of

    model = place_of(model)
    fitted = load_model(model) if isinstance(model, Path) else None  # before Spark starts
    with engine.session() as spark, model_to_read(spark, model) as file:
        measures = _measure(spark, source, fitted or load_model(file), classes=True)
        return measures | {"model_sha256": hash_file(file)}


def _measure(spark: Any, source: DataFile, fitted: FittedModel, *, classes: bool = False) -> dict[str, Any]:
    from unnaive.learning.class_spellings import file_spellings
    from unnaive.scaleout.spark.evaluating import tally_on_spark
    from unnaive.workflows.hold_out import describe_tally
    from unnaive.workflows.trained_columns import read_as_trained

    spelling = {name: str(label) for name, label in file_spellings(fitted).items()}
    documents = _read_documents(spark, read_as_trained(source, fitted), labelled=True, spelling=spelling)
    names, tally = tally_on_spark(documents.labelled_rows, fitted, missing="skip")
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

    with engine.session() as spark:
        documents = _read_documents(spark, source, labelled=True)
        fields = documents.columns.fields or None
        return cross_validate(documents.labelled_rows, plan, replace(rule, fields=fields), name=source.name)


def _new_name(name: str, taken: Sequence[str]) -> str:
    """The name of a new column, as predict without Spark names it: predicted_… if the input has it."""
    while name in taken:
        name = f"predicted_{name}"
    return name
