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

    source  where it came from, such as an annotation in another tool
    undoes  the number of the recorded document that it reverses
    """

    text: str
    labels: tuple[Label, ...]
    source: str | None = None
    undoes: int | None = None

    @property
    def same(self) -> tuple[str, frozenset[Label]]:
        """A key that is equal for two documents which a model cannot distinguish."""
        return self.text, frozenset(self.labels)


@dataclass(frozen=True)
class Change:
    """Documents to learn and documents to forget."""

    learn: tuple[Document, ...] = ()
    forget: tuple[Document, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.learn or self.forget)

    def net(self) -> Change:
        """Remove the documents that are in both parts.

        >>> one, two = Document("a", ("x",)), Document("b", ("y",))
        >>> Change((one, two), (one,)).net() == Change((two,))
        True
        """
        both = Counter(document.same for document in self.learn) & Counter(document.same for document in self.forget)
        return Change(_without(self.learn, both.copy()), _without(self.forget, both))


def _without(documents: Sequence[Document], less: Counter[Any]) -> tuple[Document, ...]:
    left = []
    for document in documents:
        if less[document.same]:
            less[document.same] -= 1
        else:
            left.append(document)
    return tuple(left)
