"""Where chance comes from: Hypothesis, which shrinks what fails, or a seed, by which a sequence is run again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

from statemachine import data
from statemachine.data import CLASSES, WORDS, Document

Choice = TypeVar("Choice")


class Draws(Protocol):
    """What verbs need of chance."""

    def choose(self, options: Sequence[Choice]) -> Choice:
        """One of some."""

    def some(self, options: Sequence[Choice]) -> list[Choice]:
        """One to three of some, each once."""

    def documents(self, *, multilabel: bool) -> list[Document]:
        """One to eight texts with labels."""


class HypothesisDraws:
    """Draws of `st.data()`."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def choose(self, options: Sequence[Choice]) -> Choice:
        """One of some."""
        chosen: Choice = self.draw.draw(st.sampled_from(options))
        return chosen

    def some(self, options: Sequence[Choice]) -> list[Choice]:
        """One to three of some, each once."""
        chosen: list[Choice] = self.draw.draw(st.lists(st.sampled_from(options), min_size=1, max_size=3, unique=True))
        return chosen

    def documents(self, *, multilabel: bool) -> list[Document]:
        """One to eight texts with labels."""
        rows: list[Document] = self.draw.draw(data.documents(multilabel=multilabel))
        return rows


class SeededDraws:
    """Draws of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def choose(self, options: Sequence[Choice]) -> Choice:
        """One of some."""
        return self.random.choice(options)

    def some(self, options: Sequence[Choice]) -> list[Choice]:
        """One to three of some, each once."""
        distinct = list(dict.fromkeys(options))
        return self.random.sample(distinct, min(self.random.randint(1, 3), len(distinct)))

    def documents(self, *, multilabel: bool) -> list[Document]:
        """One to eight texts with labels."""
        return [
            (" ".join(self.random.choices(WORDS, k=self.random.randint(0, 6))), self._labels(multilabel))
            for _ in range(self.random.randint(1, 8))
        ]

    def _labels(self, multilabel: bool) -> tuple[str, ...]:
        return tuple(self.random.sample(CLASSES, self.random.randint(0, 3) if multilabel else 1))
