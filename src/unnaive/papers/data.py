"""Collections as the papers prepared them: tokens by the paper's rule, counts X, labels Y, the split.

TOKEN_RULES names the token rule of each paper. Collections are cached after reading and counting, so that the tables of
a paper share them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import count_noun
from unnaive.base.types import Sparse
from unnaive.data.targets import label_matrix
from unnaive.papers.paper_run import PaperRun
from unnaive.text.counting import TextCounter
from unnaive.text.languages import stop_list
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

# the thesis removes function words but keeps "s", which is half of "u.s."; the list has it because of "it's"
FUNCTION_WORDS = tuple(sorted(stop_list("en") - {"s"}))

TOKEN_RULES: dict[str, TokenRule] = {
    "or-gate": TokenRule(min_length=2, digits=False, stopwords="smart", stem="porter"),
    "joachims": TokenRule(min_length=1, digits=True, stopwords="smart", stem="porter"),
    "unstemmed": TokenRule(min_length=2, digits=False, stopwords="smart"),
    "maxent-bridge": TokenRule(min_length=1, digits=False, stopwords="smart", message="body"),
    "maxent-bridge-unstopped": TokenRule(min_length=1, digits=True, message="body"),
    "maxent-bridge-letters": TokenRule(min_length=1, digits=False, message="body"),
    "maxent-bridge-pages": TokenRule(min_length=1, digits=False, stopwords="smart", strip_html=True),
    "maxent-bridge-tagged-pages": TokenRule(min_length=1, digits=False, stopwords="smart", strip_html=True),
    "maxent-bridge-prepared": TokenRule(min_length=1, digits=True),
    "higher-order": TokenRule(min_length=2, digits=True, stopwords="smart", stem="snowball"),
    "higher-order-turkish": TokenRule("tr", min_length=2, digits=True, stopwords="tr", stem="snowball"),
    "higher-order-pages": TokenRule(min_length=2, digits=True, stopwords="smart", stem="snowball", strip_html=True),
    "hierarchical": TokenRule(min_length=1, digits=False, stopwords=FUNCTION_WORDS),
    "hierarchical-stemmed": TokenRule(min_length=1, digits=False, stopwords=FUNCTION_WORDS, stem="porter"),
    "words": TokenRule(min_length=2, digits=True),
    "words-pages": TokenRule(min_length=2, digits=True, strip_html=True),
    "words-turkish": TokenRule("tr", min_length=2, digits=True),
}


def tag_digits(text: str) -> str:
    """Every run of digits as a word that says how many there are, so that numbers of a kind are one term.

    >>> tag_digits("CS 101, call 555-1234")
    'CS  digitsXXX , call  digitsXXX - digitsXXXX '
    """
    return re.sub(r"\d+", lambda match: f" digits{'X' * len(match[0])} ", text)


TEXT_EDITS: dict[str, Callable[[str], str]] = {"maxent-bridge-tagged-pages": tag_digits}


@dataclass(frozen=True, eq=False)
class PreparedData:
    """X (n_docs, n_terms) counts, Y (n_docs, n_classes) 0/1, names of both, and the part of each document.

    If the collection has a fixed split, X has only terms that occur in the part "train": unseen terms of
    test documents are ignored, and smoothing uses the vocabulary size of the training documents.
    """

    X: Sparse
    Y: Sparse
    classes: tuple[str, ...]
    vocabulary: Vocabulary
    split: NDArray[Any] | None

    def rows(self, part: str) -> NDArray[np.int64]:
        """Row numbers of one part."""
        return np.flatnonzero(self.split == part)

    def part(self, name: str) -> tuple[Sparse, Sparse]:
        """(X, Y) of one part."""
        rows = self.rows(name)
        return self.X[rows], self.Y[rows]

    def take_terms(self, ids: NDArray[Any]) -> PreparedData:
        """The same documents with only these terms."""
        return PreparedData(self.X[:, ids], self.Y, self.classes, self.vocabulary.take(ids), self.split)

    def take_frequent(self, min_df: int) -> PreparedData:
        """Terms in at least `min_df` documents of the training part, or of all documents if there is none."""
        X = self.X if self.split is None else self.part("train")[0]
        return self.take_terms(np.flatnonzero((X > 0).sum(axis=0) >= min_df))


def prepare(run: PaperRun, collection: str, rule: str, *, view: str | None = None, split: bool = True) -> PreparedData:
    """A collection counted by one of TOKEN_RULES; without `split`, all documents define the vocabulary."""
    return _prepare(run, collection, rule, view, split)


@lru_cache(maxsize=4)
def _prepare(run: PaperRun, collection: str, rule: str, view: str | None, split: bool) -> PreparedData:
    corpus = run.corpus(collection, view)
    run.tell(f"counting the terms of {count_noun(len(corpus), 'document')}")
    classes = corpus.classes
    parts = np.asarray(corpus.split) if split and corpus.split is not None else None
    edit = TEXT_EDITS.get(rule)
    texts = corpus.texts if edit is None else [edit(text) for text in corpus.texts]
    counter = TextCounter(TOKEN_RULES[rule])
    if parts is not None:  # the training documents define the vocabulary; the others are then read with it
        counter.count([text for text, part in zip(texts, parts, strict=True) if part == "train"], grow=True)
    X = counter.count(texts, grow=parts is None)
    return PreparedData(X, label_matrix(corpus.labels, classes), classes, counter.vocabulary, parts)
