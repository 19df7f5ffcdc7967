"""How shards are read: the text columns of the first shard with any texts are used for all shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unnaive.base.errors import BadData
from unnaive.base.open_files import STDIN, open_bytes
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.columns import Columns
from unnaive.io.read_options import ReadLog
from unnaive.learning.fitted import FittedModel
from unnaive.scaleout.filter.blocks import ShardReading
from unnaive.scaleout.filter.shards import ShardJob


def choose_reading(jobs: Sequence[ShardJob], source: DataFile, fitted: FittedModel) -> ShardReading:
    """Choose how to read all shards; `source` has the options, and the columns that the model was trained on."""
    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    tables = [job for job in jobs if job.kind in ("jsonl", "parquet")]
    if fields is not None and len(tables) < len(jobs):
        other = next(job for job in jobs if job not in tables)
        raise BadData(f"{other.source} has only texts, but the model reads records with fields; give JSONL or Parquet")
    first = next((job for job in tables if job.source == STDIN or has_bytes(job)), None)
    columns, message = None, None
    if first is not None and first.source == STDIN:
        default_texts = source.default_columns.texts if source.default_columns is not None else ("text",)
        columns = Columns(source.text or default_texts, fields=fields or ())
    elif first is not None:
        how = replace(source.options, log=ReadLog(), on_read=None)
        alone = replace(source, paths=(first.source,), options=how, format=first.kind, label=None, id=None)
        columns = next(columns for _, columns in alone.tables(labelled=False))
        message = alone.message if alone.message is not None and alone.is_mail(alone.sample_texts()) else None
    elif tables:
        columns = Columns(source.text or ("text",))
    strip = fitted.token_rule is None or not fitted.token_rule.strip_html
    return ShardReading(columns, message, source.options, strip)


def has_bytes(job: ShardJob) -> bool:
    """Whether a shard is not empty."""
    with open_bytes(job.source) if job.kind != "parquet" else open(job.source, "rb") as file:  # noqa: PTH123
        try:
            return bool(file.read(1))
        except (EOFError, OSError) as problem:
            raise BadData(f"{job.source} is truncated or damaged ({problem}); copy it again") from problem
