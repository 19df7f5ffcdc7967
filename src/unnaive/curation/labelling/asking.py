"""Choose the next text to ask about.

The first twenty questions are random, since there is no model yet. After that one question in ten is about a reserved
random text: the running accuracy is measured on these (random_sample.py). The others are drawn from the 2 % of texts
with the smallest margin between the two most probable classes of the linear model. With naive Bayes (label_model.py
says when) they are drawn from 10 % of the texts, and scores are divided by √length, since the smallest margins would
otherwise be those of short texts. Texts similar to one of the last ten are skipped. While a class has no text yet,
every second question is the text least similar to all labelled texts. If labelling starts from a model, the first
twenty questions are texts unlike all of its classes, if there are any, since they may belong to a new class.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnknownName, choose
from unnaive.base.types import Ids
from unnaive.curation.labelling.label_model import LinearLearner
from unnaive.curation.labelling.random_sample import RandomTexts, draw_appended_texts, draw_random_texts, find_open
from unnaive.curation.labelling.texts_to_label import TextPool
from unnaive.learning.score_methods import largest_columns

FIRST = 20  # random questions before the model is used
RANDOM_SHARE = 0.1
MOST_RANDOM = 0.5  # of the texts at most may be reserved, since the model learns from the others
ALIKE = 0.8  # Jaccard similarity above which two texts are near duplicates
RECENT = 10  # the next text may not be a near duplicate of the last ten
UNSURE = 50  # questions are drawn from the n/50 texts with the smallest margins
UNSURE_BAYES = 10  # the same for naive Bayes, whose smallest margins are mostly unusual texts
NOVEL = 0.95  # texts less like the classes of a model than 95 % of its held-out texts are asked first, most novel first
SAMPLE = 10_000  # random texts of a larger pool whose margins are computed, the same until the next fit
CANDIDATES = 50  # candidates compared with recent texts, best first


@dataclass(frozen=True)
class Strategy:
    """The query strategy.

    way           "mixed", the default; "random"; "uncertain", margins only
    first         random questions before anything else
    random_share  share of questions after these that measure the model, about random texts; from 0 to 0.5
    seed          random seed: the same answers give the same questions
    sample        random seed of the texts that measure the model, the same for everybody who labels these texts
    """

    way: str = "mixed"
    first: int = FIRST
    random_share: float = RANDOM_SHARE
    seed: int = 0
    sample: int = 0

    def random_texts(self, *ends: int) -> RandomTexts:
        """The random texts to begin with, those reserved for measuring accuracy, and all others.

        ends  the number of texts, at first and after each time that some were appended
        """
        share = self.random_share if self.way == "mixed" else 0.0
        if len(ends) > 1:
            return draw_appended_texts(ends, self.first, share, self.sample)
        return draw_random_texts(ends[0], self.first, share, self.sample)

    def __post_init__(self) -> None:
        choose(["mixed", "random", "uncertain"], self.way, "way of asking")
        if not 0 <= self.random_share <= MOST_RANDOM:
            raise UnknownName(f"the random share is {self.random_share}; give a number from 0 to 0.5, such as 0.1")


@dataclass(frozen=True)
class Question:
    """A text to ask about, and how it was chosen."""

    text: int
    way: str


@dataclass(frozen=True)
class QuestionState:
    """The state of the questions, from which the next one is chosen.

    closed  texts not to ask about: answered, skipped, or shown to another person
    recent  the texts asked last, latest at the end
    number  questions answered so far
    """

    closed: Collection[int] = ()
    recent: Sequence[int] = ()
    number: int = 0
    among: Ids | None = field(default=None, repr=False)  # ask only about these texts, such as search results


def next_question(
    pool: TextPool, state: QuestionState, strategy: Strategy | None = None, learner: LinearLearner | None = None
) -> Question | None:
    """The next question; None if no text is left. `learner` has the linear model; without it naive Bayes is used.

    >>> pool = TextPool(["good ball", "fair vote", "ball game"])
    >>> next_question(pool, QuestionState(closed=[0, 2])), next_question(pool, QuestionState(closed=[0, 1, 2]))
    (Question(text=1, way='random'), None)
    """
    strategy = strategy or Strategy()
    left = open_texts(pool, state)
    if not len(left):
        return None
    if state.among is not None:  # search results are never part of the random sample
        chosen = _pick(pool, left, -pool.ranking().margin[left], state.recent) if _any_known(pool) else int(left[0])
        return Question(chosen, "search")
    draw = np.random.default_rng([strategy.seed, state.number])
    texts, closed = strategy.random_texts(*pool.ends), frozenset(state.closed)
    first, reserved = find_open(texts.first, closed), find_open(texts.reserved, closed)
    begins = state.number < strategy.first and not _has_start(pool)
    if strategy.way == "random" or (begins and first is not None) or not _any_known(pool):
        text = first if first is not None else find_open((*texts.others, *texts.reserved), closed)
        return Question(int(left[0]) if text is None else text, "random")
    if draw.random() < strategy.random_share and reserved is not None:
        return Question(reserved, "measure")
    left = np.setdiff1d(left, texts.reserved, assume_unique=True)
    if not len(left):
        return None if reserved is None else Question(reserved, "measure")
    labelled = sum(size > 0 for size in pool.class_sizes().values())
    novel = _novel_texts(pool, left) if strategy.way == "mixed" and state.number < strategy.first else left[:0]
    if len(novel):
        return Question(_pick(pool, novel, pool.novelty[novel], state.recent), "novel")
    explores = labelled < max(2, len(pool.classes)) and (state.number % 2 == 0 or labelled < 2)
    if strategy.way == "mixed" and explores and not _has_start(pool):
        return Question(_pick(pool, left, -pool.ranking().top[left], state.recent), "explore")
    if learner is None or learner.model is None:
        return Question(_draw(pool, left, pool.ranking().margin[left], UNSURE_BAYES, state.recent, draw), "uncertain")
    margins = None
    if len(left) > SAMPLE:
        sample, sampled = learner.sampled_margins(SAMPLE, strategy.sample)
        is_open = np.isin(sample, left, assume_unique=True)
        left, margins = (sample[is_open], sampled[is_open]) if is_open.any() else (left[:SAMPLE], None)
    margins = learner.margins(left) if margins is None else margins
    return Question(_draw(pool, left, margins, UNSURE, state.recent, draw), "uncertain")


def more_like(pool: TextPool, label: str, state: QuestionState) -> Question | None:
    """The text with the highest score for a class, to find more texts of a rare class; None if no text is left."""
    left = open_texts(pool, state)
    if label not in pool.classes or not len(left):
        return None
    index = pool.classes.index(label)
    scores = pool.scores(index)[left].astype(np.float64)
    others = [pool.scores(other)[left] for other in range(len(pool.classes)) if other != index and pool.known(other)]
    lead = scores if pool.multilabel or not others else scores - np.max(others, axis=0)
    return Question(_pick(pool, left, lead, state.recent), "similar")


def open_texts(pool: TextPool, state: QuestionState) -> Ids:
    """The texts that may be asked about."""
    free = np.ones(len(pool), bool)
    free[np.fromiter(state.closed, np.int64, len(state.closed))] = False
    left = np.flatnonzero(free)
    return left if state.among is None else np.intersect1d(state.among, left)


def _any_known(pool: TextPool) -> bool:
    return any(pool.known(index) for index in range(len(pool.classes)))


def _novel_texts(pool: TextPool, left: Ids) -> Ids:
    """Texts unlike all classes of the model that labelling started from; empty without one."""
    return left[pool.novelty[left] > NOVEL] if len(pool.novelty) else left[:0]


def _has_start(pool: TextPool) -> bool:
    """Whether every class has keywords or comes from a model, before any label."""
    return bool(pool.classes) and all(label in pool.prior_scores or label in pool.hinted for label in pool.classes)


def _draw(
    pool: TextPool, left: Ids, margin: NDArray[np.floating], part: int, recent: Sequence[int], draw: np.random.Generator
) -> int:
    """A random text among the n/part texts with the smallest margins, since the least certain texts are similar."""
    few = max(1, len(left) // part)
    unsure = np.sort(left[largest_columns(-margin[None], few)[0]])
    text = _first_unlike(pool, draw.permutation(unsure)[:CANDIDATES].tolist(), recent)
    return _pick(pool, left, -margin, recent) if text is None else text


def _pick(pool: TextPool, left: Ids, value: np.ndarray, recent: Sequence[int]) -> int:
    """The text with the highest value that is not a near duplicate of a recent text; the first in a tie."""
    few = min(CANDIDATES, len(left))
    best = largest_columns(value[None], few)[0]
    order = best[np.lexsort((left[best], -value[best]))]
    text = _first_unlike(pool, left[order].tolist(), recent)
    return int(left[order[0]]) if text is None else text


def _first_unlike(pool: TextPool, candidates: list[int], recent: Sequence[int]) -> int | None:
    """The first candidate that is not a near duplicate of a recent text; None if all are."""
    near = list(recent)[-RECENT:]
    return next((text for text in candidates if pool.similarity(text, near) < ALIKE), None)
