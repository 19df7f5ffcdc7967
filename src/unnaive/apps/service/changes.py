"""Documents that a model learns and forgets in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unnaive.base.types import Label


@dataclass(frozen=True)
class Document:
    """A text with its labels.

    source  what it came from, such as an annotation of another tool
    undoes  the number of the document in the record that it takes back, or brings back
    """

    text: str
    labels: tuple[Label, ...]
    source: str | None = None
    undoes: int | None = None

    @property
    def same(self) -> tuple[str, frozenset[Label]]:
        """What is equal for two documents that a model cannot tell apart."""
        return self.text, frozenset(self.labels)


@dataclass(frozen=True)
class Change:
    """Documents to learn and documents to forget."""

    learn: tuple[Document, ...] = ()
    forget: tuple[Document, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.learn or self.forget)

    def net(self) -> Change:
        """Without the documents that are in both parts.

        >>> one, two = Document("a", ("x",)), Document("b", ("y",))
        >>> Change((one, two), (one,)).net() == Change((two,))
        True
        """
        both = Counter(one.same for one in self.learn) & Counter(one.same for one in self.forget)
        return Change(_without(self.learn, both.copy()), _without(self.forget, both))


def _without(documents: Sequence[Document], less: Counter[Any]) -> tuple[Document, ...]:
    left = []
    for one in documents:
        if less[one.same]:
            less[one.same] -= 1
        else:
            left.append(one)
    return tuple(left)
