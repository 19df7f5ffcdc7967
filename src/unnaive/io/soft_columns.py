"""Columns of probabilities, one for each label, from which soft labels are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData
from unnaive.io.batches import concatenate
from unnaive.io.fields.columns import join_names
from unnaive.io.labels import name_flags

if TYPE_CHECKING:
    from unnaive.io.datafiles import Batch, DataFile
    from unnaive.io.read_options import ReadLog

PREFIX = "p_*"  # also removed from columns that are named in full: p_good has the probability of good


class SoftColumns:
    """The columns of a table with the probabilities of labels, found in the first batch.

    patterns  names, or patterns such as p_*
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._labels: dict[str, str] = {}

    def values(self, batch: Batch, source: str) -> dict[str, Sequence[Any]]:
        """The unparsed values of a batch by label; the batch must have all columns."""
        if not self._labels:
            names = [name for name in batch.kept if any(fnmatchcase(name, pattern) for pattern in self._patterns)]
            if not names:
                raise BadData(
                    f"no column of {source} matches {' or '.join(self._patterns)}; it has "
                    f"{join_names(list(batch.kept))}: name some of these, or give another pattern"
                )
            self._labels = dict(zip(names, name_flags(names, [*self._patterns, PREFIX]), strict=True))
        late = [name for name in batch.late if any(fnmatchcase(name, pattern) for pattern in self._patterns)]
        if late:
            raise BadData(
                f"the first rows of {source} have no column {late[0]!r} of soft labels, but a later one has; give the "
                "first row all of them"
            )
        return {label: batch.kept[name] for name, label in self._labels.items()}

    def leave_labels_out(self, log: ReadLog) -> None:
        """Forget the label columns, so that the model does not expect them in the next file."""
        log.columns = log.columns and replace(log.columns, label=None, label_columns=(), flag_labels=())


def read_probabilities(source: DataFile, patterns: Sequence[str]) -> tuple[Any, dict[str, list[Any]]]:
    """(texts, unparsed values by label) of all rows, from the columns that match the patterns."""
    texts, by_label, columns = [], dict[str, list[Any]](), SoftColumns(patterns)
    for batch in source.batches(labelled=False, keep=True):
        for label, values in columns.values(batch, source.name).items():
            by_label.setdefault(label, []).extend(values)
        texts.append(batch.texts)
    columns.leave_labels_out(source.options.log)
    return concatenate(texts), by_label
