"""Columns of probabilities, one for each label, from which soft labels are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData
from unnaive.io.batches import concatenate
from unnaive.io.columns import join_names
from unnaive.io.labels import name_flags

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile

PREFIX = "p_*"  # of a column that is named in full: p_good has the probability of good


def read_probabilities(source: DataFile, patterns: Sequence[str]) -> tuple[Any, dict[str, list[Any]]]:
    """(texts, values by label) of all rows, from the columns that match the patterns."""
    texts, found = [], dict[str, list[Any]]()
    names: list[str] = []
    for batch in source.batches(labelled=False, keep=True):
        if not names:
            names = [name for name in batch.kept if any(fnmatchcase(name, pattern) for pattern in patterns)]
            if not names:
                raise BadData(
                    f"no column of {source.name} is called like {' or '.join(patterns)}; it has "
                    f"{join_names(list(batch.kept))}"
                )
        for name, label in zip(names, name_flags(names, [*patterns, PREFIX]), strict=True):
            found.setdefault(label, []).extend(batch.kept[name])
        texts.append(batch.texts)
    log = source.options.log
    log.columns = log.columns and replace(log.columns, label=None, label_columns=(), flag_labels=())
    return concatenate(texts), found
