"""The input of an audit: texts, labels, row numbers, the part of each row, and the other columns of the table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from unnaive.base.types import Ids
from unnaive.curation.audit.findings import LOOK, Finding
from unnaive.data.corpus import Corpus, Labels
from unnaive.text.sections import shown_record

EXCERPT = 160  # characters of a text shown in a finding


@dataclass(frozen=True, eq=False)
class AuditData:
    """Labelled documents with all columns of the data.

    numbers  the row number of each document in the data, from 1
    split    "train" or "test" for each document; None if the data has no parts
    columns  the other columns of the table by name, one value for each document
    id_columns  those of `columns` that number or name the rows, which differ in copies too
    same     label → its main spelling, for labels that are only another spelling
    """

    texts: Sequence[str]
    labels: Sequence[Labels]
    numbers: Sequence[int]
    ids: Sequence[str]
    name: str = "data"
    split: Sequence[str] | None = None
    columns: dict[str, list[Any]] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    id_columns: Collection[str] = ()

    @classmethod
    def of(cls, corpus: Corpus) -> AuditData:
        """Take a corpus as it is and number its documents from 1.

        >>> AuditData.of(Corpus(["good ball"], [("sport",)])).numbers
        [1]
        """
        numbers = list(range(1, len(corpus) + 1))
        ids = list(corpus.ids) if corpus.ids is not None else [str(number) for number in numbers]
        return cls(corpus.texts, corpus.labels, numbers, ids, corpus.name, corpus.split)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def multilabel(self) -> bool:
        """Whether some document has more than one label."""
        return any(len(names) > 1 for names in self.labels)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted; spellings of one label count once."""
        return tuple(sorted({self.same.get(label, label) for names in self.labels for label in names}))

    @cached_property
    def codes(self) -> Ids:
        """The class of each document (n_docs,), for multilabel documents their first; −1 without a label."""
        code_of = {name: number for number, name in enumerate(self.classes)}
        code_of |= {label: code_of[other] for label, other in self.same.items()}
        return np.fromiter((code_of[names[0]] if names else -1 for names in self.labels), np.int64, len(self.labels))

    def spelt(self, row: Any) -> Labels:
        """The labels of a document, each in its main spelling."""
        return tuple(dict.fromkeys(self.same.get(label, label) for label in self.labels[int(row)]))

    def part(self, row: Any) -> str:
        """The part of a document, "train" or "test"; "" if the data has no parts."""
        return "" if self.split is None else self.split[int(row)]

    def differing_columns(self, first: int, second: int) -> list[str]:
        """The columns, other than text, label and id, in which two documents differ."""
        return [
            name
            for name, values in self.columns.items()
            if name not in self.id_columns and str(values[first]) != str(values[second])
        ]

    def finding(
        self,
        row: Any,
        kind: str,
        reason: str,
        action: str = LOOK,
        *,
        proposed: str = "",
        score: float = 1.0,
        others: Sequence[Any] = (),
        **more: Any,
    ) -> Finding:
        """Make a finding about the document at index `row`; `others` are indices too, `more` are fields of Finding."""
        row = int(row)
        return Finding(
            kind,
            reason,
            action,
            row=self.numbers[row],
            id=self.ids[row],
            label=";".join(self.labels[row]),
            proposed=proposed,
            score=score,
            others=tuple(self.numbers[int(other)] for other in others),
            text=excerpt(self.texts[row]),
            **more,
        )


def excerpt(text: str, width: int = EXCERPT) -> str:
    """The start of a text on one line.

    >>> excerpt("two\\n lines of text", 9)
    'two line…'
    """
    line = " ".join(shown_record(text)[: 4 * width].split())
    return line if len(line) <= width else line[: width - 1] + "…"
