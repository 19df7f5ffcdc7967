"""A text → its features, rows of the input matrix: words, character n-grams, word n-grams.

This is the specification in Python; the kernel (_fasttext.cpp) does the same on bytes. Explanations use it, because it
gives the position of each feature in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from unnaive.base.lazy import lazy_property

END = "</s>"  # the token that ends every line; as a word of a text it ends the text
PREFIX = "__label__"  # prefix of labels: files do not store it, and this is fastText's default
TOKENS = re.compile("[^ \n\r\t\v\f\0]+")
MASK = 0xFFFFFFFF


class Feature(NamedTuple):
    """One feature of a text: its row in the input matrix, its name and its position."""

    row: int
    name: str
    start: int
    end: int


def word_hash(token: bytes, start: int = 2166136261) -> int:
    """FNV-1a of 32 bits over bytes that are sign-extended first, as fastText has it.

    >>> word_hash(b"a"), word_hash(b"\\xc3")
    (3826002220, 3321057138)
    """
    value = start
    for byte in token:
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & MASK
    return value


def encoded(text: str) -> bytes:
    """The text in UTF-8; lone surrogates are encoded too."""
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, eq=False)
class FeatureRule:
    """How a fastText model reads texts.

    words        the words of its dictionary, by row
    labels       its labels with their prefix, which are ignored as words of a text
    bucket       number of rows for hashed n-grams, before pruning
    minn, maxn   length of character n-grams; maxn 0 for none
    word_ngrams  length of the longest word n-grams; 0 or 1 for none
    kept         for each hashed n-gram that pruning kept, its row after the words; None if not pruned
    """

    words: tuple[str, ...]
    labels: tuple[str, ...]
    bucket: int
    minn: int
    maxn: int
    word_ngrams: int
    kept: dict[int, int] | None

    @lazy_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @lazy_property
    def _labels(self) -> frozenset[str]:
        return frozenset(self.labels)

    def features(self, text: str) -> list[Feature]:
        """The features of a text in fastText's order: its words with their character n-grams, then word n-grams."""
        features: list[Feature] = []
        hashes: list[int] = []
        spans: list[tuple[int, int]] = []
        for start, end, token in self.tokens(text):
            row = self._rows.get(token)
            if row is None and (token in self._labels or token.startswith(PREFIX)):
                continue
            if row is not None:
                features.append(Feature(row, token, start, end))
            if self.maxn and token != END:
                features += self._character_ngrams(token, start)
            hashes.append(word_hash(encoded(token)))
            spans.append((start, end))
        return features + list(self._word_ngrams(text, hashes, spans))

    def tokens(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The spans of the tokens of a text, and the tokens; the last token is the end of the line."""
        for match in TOKENS.finditer(text):
            yield match.start(), match.end(), match.group()
            if match.group() == END:
                return
        yield len(text), len(text), END

    def _row_of(self, value: int) -> int | None:
        """The row of a hashed n-gram; None if it was pruned."""
        slot = value % self.bucket
        if self.kept is not None:
            row = self.kept.get(slot)
            return None if row is None else len(self.words) + row
        return len(self.words) + slot

    def hashed_ngrams(self, token: str) -> Iterator[tuple[int, int, int]]:
        """Start, length and row of the n-grams of `<token>`, minn to maxn characters long, without a single border."""
        bordered = f"<{token}>"
        last = len(bordered)
        for i in range(last):
            value = 2166136261
            for n in range(1, min(self.maxn, last - i) + 1):
                value = word_hash(encoded(bordered[i + n - 1]), value)
                if n < self.minn or (n == 1 and (i == 0 or i + n == last)):
                    continue
                row = self._row_of(value)
                if row is not None:
                    yield i, n, row

    def _character_ngrams(self, token: str, start: int) -> Iterator[Feature]:
        bordered = f"<{token}>"
        for i, n, row in self.hashed_ngrams(token):
            name = f"{'…' if i else ''}{bordered[i : i + n]}{'…' if i + n < len(bordered) else ''}"
            yield Feature(row, name, start + max(i - 1, 0), start + min(i + n - 1, len(token)))

    def _word_ngrams(self, text: str, hashes: list[int], spans: list[tuple[int, int]]) -> Iterator[Feature]:
        signed = [value - (1 << 32) if value >> 31 else value for value in hashes]
        for i, first in enumerate(signed):
            value = first
            for j in range(i + 1, min(len(signed), i + self.word_ngrams)):
                value = (value * 116049371 + signed[j]) & 0xFFFFFFFFFFFFFFFF
                row = self._row_of(value)
                if row is not None:
                    start, end = spans[i][0], spans[j][1]
                    tokens = [text[left:right] or END for left, right in spans[i : j + 1]]
                    yield Feature(row, " ".join(tokens), start, end)
