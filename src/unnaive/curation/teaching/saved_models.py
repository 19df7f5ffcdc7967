"""Model files that include events of a record; the record is told about each file before it is written."""

from __future__ import annotations

from pathlib import Path

from unnaive.base.atomic_files import HashingFile, replacing
from unnaive.classifier.model_file import write_arrays
from unnaive.classifier.packing import pack
from unnaive.curation.teaching.teaching_log import TeachingRecord
from unnaive.learning.fitted import FittedModel


def write_saved_model(path: Path, fitted: FittedModel, record: TeachingRecord, event: int) -> str:
    """Write the model with all events up to `event`; return the hash of the file."""
    with replacing(path) as file:
        hashing = HashingFile(file)
        write_arrays(hashing, *pack(fitted, frozen=False))  # type: ignore[arg-type]  # it only writes
        record.note_file(hashing.sha256, event)
    return hashing.sha256
