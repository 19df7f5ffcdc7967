"""Word vectors of a fastText file, for get_word_vector, get_nearest_neighbors and similar methods."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csr_array
from unnaive.base.types import Singles
from unnaive.models.fasttext.binary_file import FastTextFile
from unnaive.models.fasttext.features import END, FeatureRule, encoded, word_hash

SPACED = re.compile("[^ \n\r\t\v\f]+")  # the words of a sentence, of which a word vector model takes the mean


class NearestWords(ABC):
    """Vectors of words: single ones, the nearest, and analogies.

    words         the words (n_words,)
    word_vectors  their vectors (n_words, dim)
    """

    words: Sequence[str]

    @property
    @abstractmethod
    def word_vectors(self) -> Singles:
        """The vectors of all words (n_words, dim)."""

    @abstractmethod
    def word(self, word: str) -> Singles:
        """The vector of any word (dim,)."""

    def neighbours(self, query: Singles, k: int, without: set[str]) -> list[tuple[float, str]]:
        """The k words whose vectors have the highest cosine with `query`, and the cosines."""
        length = float(np.linalg.norm(query))
        cosines = self._units @ (query / (length if length > 1e-8 else 1.0))
        order = (row for row in np.argsort(-cosines, kind="stable") if self.words[row] not in without)
        return [(float(cosines[row]), self.words[row]) for row, _ in zip(order, range(k), strict=False)]

    def analogy(self, a: str, b: str, c: str) -> Singles:
        """a − b + c of normalised vectors (dim,)."""
        total: Any = 0.0
        for word, sign in ((a, 1.0), (b, -1.0), (c, 1.0)):
            vector = self.word(word)
            total = total + vector * np.float32(sign / (float(np.linalg.norm(vector)) + 1e-8))
        return np.asarray(total, np.float32)

    @lazy_property
    def _units(self) -> Singles:
        """The normalised vectors of all words (n_words, dim)."""
        lengths = np.linalg.norm(self.word_vectors, axis=1, keepdims=True)
        return np.asarray(self.word_vectors / np.where(lengths > 0, lengths, 1.0), np.float32)


class FastTextVectors(NearestWords):
    """The rows of the input matrix by word; they are read from the file on first use."""

    def __init__(self, file: FastTextFile) -> None:
        self.file = file
        settings = file.settings
        self.rule = FeatureRule(
            tuple(word.decode("utf-8", "surrogateescape") for word in file.words),
            tuple(label.decode("utf-8", "surrogateescape") for label in file.labels), settings["bucket"],
            settings["minn"], settings["maxn"], settings["wordNgrams"] if file.supervised else 1,
            None if file.kept is None else dict(file.kept.tolist()),
        )  # fmt: skip
        self.words = self.rule.words

    @lazy_property
    def rows(self) -> Singles:
        """The input matrix (n_rows, dim)."""
        return self.file.input.dense()

    @lazy_property
    def ids(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.rule.words)}

    def word(self, word: str) -> Singles:
        """The mean of the rows of a word: its own, if it is known, and those of its character n-grams (dim,)."""
        return self._mean(self.subwords(word)[1])

    def table(self, words: Sequence[str]) -> Singles:
        """The vectors of words (n_words, dim), like `word` up to rounding; the matrix is read in blocks, not kept."""
        rows = [self.subwords(word)[1] for word in words]
        lengths = np.array([len(own) for own in rows], np.int64)
        owner, row = np.repeat(np.arange(len(rows)), lengths), np.array([at for own in rows for at in own], np.int64)
        order = np.argsort(row, kind="stable")
        owner, row = owner[order], row[order]
        sums = np.zeros((len(rows), self.file.settings["dim"]), np.float32)
        for start, block in self.file.input.blocks():
            inside = slice(*np.searchsorted(row, [start, start + len(block)]))
            owners, place = np.unique(owner[inside], return_inverse=True)
            ones = np.ones(len(place), np.float32), (place, row[inside] - start)
            sums[owners] += csr_array(ones, shape=(len(owners), len(block))) @ block
        return np.asarray(sums / np.maximum(lengths, 1)[:, None].astype(np.float32))

    def sentence(self, text: str) -> Singles:
        """For a classifier the mean of the features of the line, of which its end is one; else the mean of the
        normalised vectors of the words alone (dim,).
        """
        if self.file.supervised:
            return self._mean([feature.row for feature in self.rule.features(text)])
        vectors = [self.word(token) for token in SPACED.findall(text)]
        lengths = [float(np.linalg.norm(vector)) for vector in vectors]
        units = [vector / length for vector, length in zip(vectors, lengths, strict=True) if length > 0]
        return np.mean(units, axis=0, dtype=np.float32) if units else np.zeros(self.file.settings["dim"], np.float32)

    def subwords(self, word: str) -> tuple[list[str], list[int]]:
        """The word, if it is known, its character n-grams with borders, and their rows; without pruned ones."""
        names, rows = ([word], [self.ids[word]]) if word in self.ids else ([], [])
        if self.rule.maxn and word != END:
            bordered = f"<{word}>"
            for start, n, row in self.rule.hashed_ngrams(word):
                names.append(bordered[start : start + n])
                rows.append(row)
        return names, rows

    def subword_id(self, subword: str) -> int:
        """The row that an n-gram is hashed to, before pruning."""
        return len(self.rule.words) + word_hash(encoded(subword)) % max(self.rule.bucket, 1)

    @lazy_property
    def word_vectors(self) -> Singles:
        """The vectors of all words (n_words, dim)."""
        if self.rule.maxn:
            return np.array([self.word(word) for word in self.rule.words], np.float32)
        return self.rows[: len(self.rule.words)]

    def _mean(self, rows: list[int]) -> Singles:
        if not rows:
            return np.zeros(self.file.settings["dim"], np.float32)
        return np.asarray(np.add.reduce(self.rows[rows], axis=0, dtype=np.float32) * np.float32(1.0 / len(rows)))
