"""Parts of a training file that are held out as a whole: its end, the latest documents, other groups."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unnaive.base.types import Ids
    from unnaive.data.training_data import TrainingData
    from unnaive.evaluation.block_holdout import BlockHoldout
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel

ISO_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}.*)?)?$")
GROUP_NAMES = (
    "account", "author", "channel", "conversation", "customer", "group", "patient", "sender", "session", "source",
    "speaker", "thread", "user",
)  # fmt: skip
FEWEST_VALUES = 10  # distinct values of a column of dates or groups: fewer are a class, a part or a language
LARGEST_FILE = 100_000_000  # bytes: larger files are not read a second time for their other columns


def find_block_holdouts(fitted: FittedModel, data: TrainingData, source: DataFile) -> list[BlockHoldout]:
    """The parts of the training documents on which a model is worse than on random held-out documents.

    `data` has the documents in the order of the files of `source`. Nothing is computed if the time is limited.
    """
    import numpy as np

    from unnaive.data.targets import single_labels
    from unnaive.evaluation.block_holdout import hold_out_block, last_block

    rows, budget = data.rows, fitted.spec.model.get_params().get("budget")
    if rows is None or data.multilabel or not fitted.spec.model.traits.keeps_choice or not isinstance(budget, str):
        return []
    codes = single_labels(rows.targets.Y)
    if codes is None:
        return []
    blocks = [("the last fifth of the file", last_block(np.asarray(codes)))]
    blocks += list(_column_blocks(read_other_columns(source, len(codes)), np.asarray(codes)))
    holdouts = (hold_out_block(fitted, rows, block, by) for by, block in blocks)
    return [holdout for holdout in holdouts if holdout is not None]


def _column_blocks(columns: dict[str, list[Any]], codes: Ids) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """(description, documents) of the block of each column of dates or groups."""
    import numpy as np

    from unnaive.evaluation.block_holdout import group_block, last_block

    for name, values in columns.items():
        dates = as_dates(values)
        if dates is not None:
            yield f"the latest fifth by {name}", last_block(codes, np.array(dates))
        elif are_groups(name, values):
            yield (
                f"a fifth of all values of {name}",
                group_block(["" if value is None else str(value) for value in values]),
            )


def as_dates(values: Sequence[Any]) -> list[str] | None:
    """The dates of a column in a sortable form; None if it has other values, or hardly any distinct ones.

    >>> as_dates(["2024-01-05", "2023-11-30 12:00"] * 9), as_dates([f"2024-01-{day:02}" for day in range(1, 12)])[:2]
    (None, ['2024-01-01', '2024-01-02'])
    """
    words = ["" if value is None else str(value).strip() for value in values]
    filled = [word for word in words if word]
    if len(set(filled)) < FEWEST_VALUES or len(filled) < 0.9 * len(words):
        return None
    return words if all(ISO_DATE.match(word) for word in filled) else None


def are_groups(name: str, values: Sequence[Any]) -> bool:
    """Whether a column names the author or group of a document: by its name, and by repeated values.

    >>> are_groups("author_id", list("abcdefghijk") * 3), are_groups("author_id", list("abcdefghijk"))
    (True, False)
    """
    parts = re.split(r"[^a-z]+", name.lower())
    return any(part in GROUP_NAMES for part in parts) and FEWEST_VALUES <= len(set(map(str, values))) <= len(values) / 2


def read_other_columns(source: DataFile, n_docs: int) -> dict[str, list[Any]]:
    """Columns of a table that are neither text nor label, a value for each labelled document; none for other data."""
    from unnaive.base.errors import UnnaiveError
    from unnaive.io.read_options import ReadLog

    files = [Path(path) for path in source.files()]
    if not all(path.is_file() for path in files) or sum(path.stat().st_size for path in files) > LARGEST_FILE:
        return {}
    log = ReadLog()
    again = replace(source, options=replace(source.options, log=log, on_read=None))
    columns: dict[str, list[Any]] = {}
    first = True
    try:
        with warnings.catch_warnings():  # the same warnings came when it was read first
            warnings.simplefilter("ignore")
            for batch in again.batches(labelled=True, keep=True):
                used = () if log.columns is None else (*log.columns.inputs, log.columns.label, log.columns.id)
                labelled = [row for row, labels in enumerate(batch.labels) if labels]
                for name, values in batch.kept.items():
                    if name not in used and (first or name in columns):
                        cells = list(values)
                        columns.setdefault(name, []).extend(cells[row] for row in labelled)
                first = False
    except UnnaiveError:
        return {}
    return {name: values for name, values in columns.items() if len(values) == n_docs}
