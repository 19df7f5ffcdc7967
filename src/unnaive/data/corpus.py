"""A Corpus is texts with label sets and, if there is one, a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.text.buffer import TextBuffer

Labels = tuple[str, ...]


def check_some_documents(n_docs: int, name: str = "") -> None:
    """Raise an error if there is no document; `name` is the file, if there is one.

    >>> check_some_documents(0, "tickets.csv")
    Traceback (most recent call last):
    unnaive.base.errors.BadData: tickets.csv: there are no documents; give at least one
    """
    if not n_docs:
        raise BadData(f"{name}{': ' if name else ''}there are no documents; give at least one")


class NoLabels(BadData):
    """Data that was read for its labels has none."""


def check_some_labels(n_labelled: int, name: str = "") -> None:
    """Raise an error if no document has a label, or there is no class; `name` as in `check_some_documents`."""
    if not n_labelled:
        raise NoLabels(
            f"{name}{': ' if name else ''}no document has a label; label some documents, or name another column with "
            "--label"
        )


@dataclass(frozen=True)
class Corpus:
    """Documents, each with a set of labels (one for single-label data, none for unlabelled).

    `texts` is any sequence of str; `labels` has a tuple for each document; `split` names the part of each document
    ("train", "test", …) if the collection has a split; `ids` are the names of the documents in the source.

    >>> corpus = Corpus(["good ball", "fair vote"], [("sport",), ("politics",)], split=["train", "test"])
    >>> corpus.classes, len(corpus.part("train"))
    (('politics', 'sport'), 1)
    """

    texts: Sequence[str]
    labels: Sequence[Labels]
    split: Sequence[str] | None = None
    ids: Sequence[str] | None = None
    name: str = "corpus"

    def __post_init__(self) -> None:
        for what, values in (("label set", self.labels), ("split name", self.split), ("id", self.ids)):
            if values is not None and len(values) != len(self.texts):
                texts = count_noun(len(self.texts), "text")
                raise BadData(f"{texts} came with {count_noun(len(values), what)}; give one for each text")

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(sorted({label for labels in self.labels for label in labels}))

    @property
    def multilabel(self) -> bool:
        """Whether any document has no label or several."""
        return any(len(labels) != 1 for labels in self.labels)

    def class_sizes(self) -> dict[str, int]:
        """Documents of each class, largest first, ties by name."""
        sizes = Counter(label for labels in self.labels for label in set(labels))
        return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))

    def take(self, rows: Iterable[int] | NDArray[Any]) -> Corpus:
        """The documents at `rows`, in that order."""
        index = [int(row) for row in rows]

        def pick(values: Sequence[Any] | None) -> list[Any] | None:
            return None if values is None else [values[row] for row in index]

        texts = self.texts
        return Corpus(
            texts.take(np.asarray(index, np.int64)) if isinstance(texts, TextBuffer) else [texts[row] for row in index],
            [self.labels[row] for row in index],
            pick(self.split),
            pick(self.ids),
            self.name,
        )

    def part(self, name: str) -> Corpus:
        """The documents whose split is `name`."""
        if self.split is None or name not in self.split:
            part_names = ", ".join(sorted(set(self.split))) if self.split is not None else "no split"
            raise BadData(f"{self.name} has no part called {name!r}; it has {part_names}")
        return self.take(np.flatnonzero(np.asarray(self.split) == name))
