"""Character n-grams inside words, counted through the words: a document's grams are the sum of its words' grams.

X_grams = X_words · G, where row w of G holds the grams of word w. So the kernel counts words, each distinct word is
taken apart once, and the rest is one sparse product. tokens.py is the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.sparse import csr_array
from unnaive.text.buffer import Texts
from unnaive.text.locks import fork_safe_lock
from unnaive.text.tokens import GRAM, TokenRule
from unnaive.text.vocabulary import Vocabulary

NOT_KNOWN = -1  # the id of a gram that is not in the vocabulary
REMEMBERED = 1 << 20  # distinct words whose grams are kept from call to call
Ints = NDArray[np.int64]


def find_grams(words: Sequence[str], shortest: int, longest: int) -> tuple[Ints, Ints, list[str]]:
    """The grams of each word, a word's neighbours marked by "_": (word numbers, gram numbers, grams).

    >>> owner, gram, grams = find_grams(["cat", "at"], 2, 3)
    >>> [[grams[number] for number in gram[owner == word]] for word in (0, 1)]
    [['_c', 'ca', 'at', 't_', '_ca', 'cat', 'at_'], ['_a', 'at', 't_', '_at', 'at_']]
    """
    text = "".join(f"_{word}_" for word in words)
    sizes = np.array([len(word) + 2 for word in words], np.int64)
    ends = np.cumsum(sizes)
    owner = np.repeat(np.arange(len(words)), sizes)
    left = np.repeat(ends, sizes) - np.arange(len(text))  # characters from here to the end of the word
    at_start = np.arange(len(text)) == np.repeat(ends - sizes, sizes)
    alphabet, letter = np.unique(np.frombuffer(text.encode("utf-32-le"), np.uint32), return_inverse=True)
    rank = letter.astype(np.int64)  # of the gram of n characters that starts here, among all such
    owners, numbers = [], []
    grams: list[str] = []
    for n in range(1, longest + 1):
        if n > 1:
            rank = rank[:-1] * len(alphabet) + letter[n - 1 :]
        whole = (left == n) & at_start & (n < shortest)  # a word too short for any gram is one itself
        places = np.flatnonzero((left >= n) & (n >= shortest) | whole)
        places = places[places < len(rank)]
        _, first, number = np.unique(rank[places], return_index=True, return_inverse=True)
        owners.append(owner[places])
        numbers.append(number + len(grams))
        grams += [text[place : place + n] for place in places[first].tolist()]
        _, rank = np.unique(rank, return_inverse=True)
    return np.concatenate(owners), np.concatenate(numbers), grams


class CharacterEngine:
    """Term ids of character grams, and with analyzer "both" of words too, in the order in which they joined.

    `make` builds the engine that counts words by a rule: the kernel's or the reference's.
    """

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary, make: Callable[[TokenRule, Vocabulary], Any]) -> None:
        self.rule = rule
        self._make = make
        self._terms = list(vocabulary)
        self._ids = {term: place for place, term in enumerate(self._terms)}
        self._term_rule = replace(rule, analyzer="word")
        known = [term for term in self._terms if not term.startswith(GRAM)]
        self._term_engine: Any = make(self._term_rule, Vocabulary(known)) if rule.analyzer == "both" else None
        self._term_ids = [self._ids[term] for term in known]
        self._lock = fork_safe_lock()  # words are remembered while counting, also when the vocabulary is fixed
        self._word_engine: Any = None
        self._gram_columns: dict[str, int] = {}
        self._gram_ids: Ints = np.zeros(0, np.int64)
        self._grams: Any = None
        self._forget_words()

    def __len__(self) -> int:
        return len(self._terms)

    def vocabulary(self) -> Vocabulary:
        """The terms so far."""
        return Vocabulary(self._terms)

    def count(self, texts: Texts, grow: bool) -> tuple[Any, Any, Any]:
        """(counts, ids, where rows end) of the texts; ids ascend in each row."""
        with self._lock:
            parts = [] if self._term_engine is None else [self._count_terms(texts, grow)]
            parts.append(self._count_grams(texts, grow))
        for part in parts:
            part.sort_indices()  # before they are added: sorted rows are merged, others are gathered and sorted whole
        table = csr_array(parts[0] if len(parts) == 1 else self._widen(parts[0]) + self._widen(parts[1]))
        table.sort_indices()
        return table.data.astype(np.int32), table.indices.astype(np.int32), table.indptr

    def _widen(self, table: csr_array) -> csr_array:
        return csr_array((table.data, table.indices, table.indptr), shape=(table.shape[0], len(self)))

    def _count_terms(self, texts: Texts, grow: bool) -> csr_array:
        engine = self._term_engine
        before = len(engine)
        data, indices, indptr = engine.count(texts, grow)
        for term in engine.vocabulary().terms[before:] if len(engine) > before else ():
            self._term_ids.append(self._add(term))
        ids = np.asarray(self._term_ids, np.int64)
        return csr_array((data, ids[indices], indptr), shape=(len(indptr) - 1, len(self)))

    def _count_grams(self, texts: Texts, grow: bool) -> csr_array:
        if len(self._word_engine) > REMEMBERED:
            self._forget_words()
        before = len(self._word_engine)
        data, indices, indptr = self._word_engine.count(texts, True)
        if len(self._word_engine) > before:
            self._learn_words(self._word_engine.vocabulary().terms[before:])
        if grow:
            self._admit(np.unique(self._grams.indices[self._rows_of(np.unique(indices))]))
        words = csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(self._word_engine)))
        table = csr_array(words @ self._grams)
        ids = self._gram_ids[table.indices]
        known = csr_array(
            (np.where(ids >= 0, table.data, 0), np.maximum(ids, 0), table.indptr), (len(indptr) - 1, len(self))
        )
        known.eliminate_zeros()
        return known

    def _rows_of(self, words: Ints) -> NDArray[np.bool_]:
        """Which cells of the grams' table belong to some words."""
        chosen = np.zeros(self._grams.shape[0], np.bool_)
        chosen[words] = True
        return np.repeat(chosen, np.diff(self._grams.indptr))

    def _learn_words(self, words: Sequence[str]) -> None:
        """Rows of G for words that were not met before; a gram's column is its number among those met."""
        owner, number, grams = find_grams(words, *self.rule.char_ngrams)
        columns = np.array([self._gram_columns.setdefault(gram, len(self._gram_columns)) for gram in grams], np.int64)
        ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(words)))])
        order = np.argsort(owner, kind="stable")
        added = list(self._gram_columns)[len(self._gram_ids) :]
        ids = np.array([self._ids.get(GRAM + gram, NOT_KNOWN) for gram in added], np.int64)
        self._gram_ids = np.concatenate([self._gram_ids, ids])
        old = self._grams
        self._grams = csr_array(
            (
                np.concatenate([old.data, np.ones(len(owner), np.int32)]),
                np.concatenate([old.indices, columns[number[order]].astype(np.int32)]),
                np.concatenate([old.indptr, old.indptr[-1] + ends[1:]]),
            ),
            shape=(old.shape[0] + len(words), len(self._gram_columns)),
        )

    def _admit(self, columns: Ints) -> None:
        """Let grams into the vocabulary, in the order in which they were met."""
        names = None
        for column in columns[self._gram_ids[columns] < 0].tolist():
            names = list(self._gram_columns) if names is None else names
            self._gram_ids[column] = self._add(GRAM + names[column])

    def _add(self, term: str) -> int:
        place = self._ids.setdefault(term, len(self._terms))
        if place == len(self._terms):
            self._terms.append(term)
        return place

    def _forget_words(self) -> None:
        words = replace(
            self._term_rule, ngrams=(1, 1), min_length=1, stopwords=None, stem=None, unspaced="whole", segmenter=None
        )
        self._word_engine = self._make(words, Vocabulary())
        self._gram_columns, self._gram_ids = {}, np.zeros(0, np.int64)
        self._grams = csr_array((0, 0), dtype=np.int32)
