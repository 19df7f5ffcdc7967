"""What only Spark can open → documents: tables by name, ORC, and files at addresses such as hdfs:// and s3a://.

Columns are chosen as for local files. Spark's readers are told to refuse what they would change: broken lines of JSON,
ragged rows of CSV, and files of CSV whose columns are in another order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unnaive.base.errors import BadData, UnnaiveWarning, choose
from unnaive.base.open_files import is_address
from unnaive.data.corpus import check_some_documents
from unnaive.data.fields.field_choice import LOOKED_AT
from unnaive.io.datafiles import DataFile
from unnaive.io.endings import spark_format
from unnaive.io.fields.columns import Columns, choose_columns
from unnaive.io.fields.evident_fields import add_evident_fields
from unnaive.io.inspection import Inspection
from unnaive.io.labels import NO, YES
from unnaive.io.tables.binary_tables import SQLITE
from unnaive.scaleout.spark.files import SparkDocuments
from unnaive.scaleout.spark.rows import LABEL, TEXT, quote_name, record_column
from unnaive.scaleout.spark.soft_rows import soft_rows
from unnaive.scaleout.spark.spark_session import default_file_system, is_remote, reading_errors

FORMATS = ("parquet", "csv", "tsv", "jsonl", "orc", "table")
SAMPLE = 200  # rows read to choose the columns
EDGES = r"(?U)^\s+|\s+$"


def only_spark_opens(spark: Any, source: DataFile) -> bool:
    """Whether the source is a table, ORC or at an address; if the cluster has a file system, all paths are in it."""
    if source.format in ("table", "orc"):
        return True
    home = "file:///" if is_remote(spark) else default_file_system(spark)
    paths = [path for path in source.paths if not path.startswith(SQLITE)]
    if paths and not home.startswith("file:"):
        return True
    return any(is_address(path) or spark_format(path) == "orc" for path in paths)


def read_tables(
    spark: Any, source: DataFile, *, labelled: bool, soft: Sequence[str] = (), keep: bool = False
) -> SparkDocuments:  # fmt: skip
    """The documents of a table or of files that only Spark opens, with the columns to use.

    labelled  whether label sets are read
    soft      names or patterns of columns with the probability of each label
    keep      whether the other columns are kept
    """
    df, columns = _open(spark, source, labelled=labelled)
    texts = text_column(df, columns)
    if soft:
        rows, read = soft_rows(df, texts, soft)
        return SparkDocuments(rows, columns, soft_labels=read.labels)
    kept = tuple(df.columns) if keep else ()
    cells = [df[quote_name(name)].alias(f"kept{number}") for number, name in enumerate(kept)]
    return SparkDocuments(df.select(*cells, texts, *([label_column(df, columns)] if labelled else [])), columns, kept)


def _open(spark: Any, source: DataFile, *, labelled: bool) -> tuple[Any, Columns]:
    """The DataFrame of files or of a table, and the columns to use."""
    if source.spelling:
        raise BadData(
            "what Spark opens itself is read without --set ignore-label, label-prefix and lower-labels; change the "
            "labels in the data, or copy the files to this machine"
        )
    df = _read(spark, source)
    with reading_errors():
        looked_at = LOOKED_AT if source.fields == "auto" else SAMPLE
        sample = [row.asDict(recursive=True) for row in df.limit(looked_at).collect()]
    check_some_documents(len(sample), source.name)
    values = {name: [row[name] for row in sample] for name in df.columns}
    inspection = Inspection(source.name, find_spark_format(source), tuple(df.columns), values)
    columns = choose_columns(inspection, source, labelled=labelled, default=source.default_columns)
    if source.fields == "auto" and source.default_columns is None:
        columns, line = add_evident_fields(columns, values, vectors=False)
        warnings.warn(f"{source.name}: {line}", UnnaiveWarning, stacklevel=2)
    return df, replace(columns, separator=source.separator)


def find_spark_format(source: DataFile) -> str:
    """The format given with --format, or the one that the file's ending implies.

    >>> find_spark_format(DataFile("s3a://bucket/tickets.parquet"))
    'parquet'
    """
    if source.format is not None:
        return choose(list(FORMATS), source.format, "format that Spark reads here")
    format_name = spark_format(source.paths[0])
    if format_name is None:
        raise BadData(
            f"the format of {source.paths[0]} is not known; add --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
    return format_name


def _read(spark: Any, source: DataFile) -> Any:
    kind, paths = find_spark_format(source), list(source.paths)
    try:
        if kind == "table":
            return spark.table(paths[0])
        reader = spark.read
        if kind in ("csv", "tsv"):
            header = source.options.header is not False
            options = {"header": header, "sep": source.options.delimiter or ("\t" if kind == "tsv" else ",")}
            options |= {"quote": '"', "escape": '"', "multiLine": True, "encoding": source.options.encoding or "UTF-8"}
            options |= {"mode": "FAILFAST", "enforceSchema": False}
            return reader.options(**options).csv(paths)
        if kind == "jsonl":
            return reader.option("mode", "FAILFAST").json(paths)
        return getattr(reader, kind)(paths) if kind == "json" else reader.format(kind).load(paths)
    except Exception as problem:
        reason = str(problem).strip().splitlines()[0][:160]
        raise BadData(f"Spark cannot read {source.name} ({reason}); check the path and the format") from problem


def text_column(df: Any, columns: Columns) -> Any:
    """The column of texts: several columns joined by newlines, or encoded records; a null becomes an empty text."""
    from pyspark.sql import functions as F

    if columns.fields:
        return record_column(df, columns.fields).alias(TEXT)
    parts = [F.coalesce(df[quote_name(name)].cast("string"), F.lit("")) for name in columns.texts]
    return (parts[0] if len(parts) == 1 else F.concat_ws("\n", *parts)).alias(TEXT)


def label_column(df: Any, columns: Columns) -> Any:
    """The column of labels, as in local reading: trimmed strings, or arrays of them for multilabel data."""
    from pyspark.sql import functions as F

    if columns.label_columns:
        flags = [_flag(df, name, label) for name, label in zip(columns.label_columns, columns.flag_labels, strict=True)]
        return F.filter(F.array(*flags), lambda flag: flag.isNotNull()).alias(LABEL)
    cell = df[quote_name(str(columns.label))]
    if df.schema[columns.label].dataType.typeName() == "array":
        return _tidy(cell.cast("array<string>")).alias(LABEL)
    if columns.separator is not None:
        return _tidy(F.split(cell.cast("string"), f"\\Q{columns.separator}\\E")).alias(LABEL)
    word = F.regexp_replace(cell.cast("string"), EDGES, "")
    return F.when(word != "", word).alias(LABEL)


def _tidy(names: Any) -> Any:
    """Arrays of trimmed, distinct labels without empty ones."""
    from pyspark.sql import functions as F

    trimmed = F.transform(names, lambda label: F.regexp_replace(label, EDGES, ""))
    return F.array_distinct(F.filter(trimmed, lambda label: label.isNotNull() & (label != "")))


def _flag(df: Any, name: str, label: str) -> Any:
    """The label in rows where its column says yes, null where it says no; other values are an error."""
    from pyspark.sql import functions as F

    word = F.lower(F.regexp_replace(F.coalesce(df[quote_name(name)].cast("string"), F.lit("")), EDGES, ""))
    problem = F.raise_error(
        F.concat(
            F.lit(f"unnaive.base.errors.BadData: the column of label {label!r} has '"),
            F.substring(word, 1, 40),
            F.lit("'; expected 0 or 1, yes or no, true or false"),
        )
    ).cast("string")
    return F.when(word.isin(*YES), F.lit(label)).when(word.isin(*NO), F.lit(None).cast("string")).otherwise(problem)
