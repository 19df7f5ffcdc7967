"""Hashes of the texts that a model learnt, so that it can be told when somebody measures it on one of them.

They are 8 bytes a document in a model file that `unnaive train` writes, and follow updates, forgetting and merging
exactly. They say nothing of labels, and they prove nothing: for that, there is the register (data/register.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel
from unnaive.text.buffer import TextBuffer

try:
    import unnaive.io._rows as native
except ImportError:  # built without a compiler
    native = None

SIZE = 8  # bytes: among a million texts, a new one is taken for one of them once in 18 million million


@dataclass(frozen=True, eq=False)
class TextHashes:
    """BLAKE2b-64 of each text, sorted (n_docs,); a text that was learnt twice is there twice.

    >>> learnt = TextHashes.of(["good ball", "fair vote", "fair vote"])
    >>> learnt.count_learnt(["fair vote", "new text"]), len(learnt.without(["fair vote"]))
    (1, 2)
    >>> learnt.copies(["fair vote", "new text"])
    [2, 0]
    """

    values: NDArray[np.uint64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextHashes:
        """The hashes of these texts."""
        return cls(np.sort(hash_texts(texts)))

    def __len__(self) -> int:
        return len(self.values)

    def plus(self, texts: Sequence[str]) -> TextHashes:
        """With these texts too."""
        return self.joined(TextHashes.of(texts))

    def joined(self, other: TextHashes) -> TextHashes:
        """The texts of both."""
        return TextHashes(np.sort(np.concatenate([self.values, other.values])))

    def without(self, texts: Sequence[str]) -> TextHashes:
        """Without these texts, each once for each time that it comes; those that are not there are passed over."""
        gone = np.sort(hash_texts(texts))
        # the n-th copy of a text takes away the n-th copy that is here
        nth = np.arange(len(gone)) - np.searchsorted(gone, gone)
        place = np.searchsorted(self.values, gone) + nth
        there = place < np.searchsorted(self.values, gone, side="right")
        return TextHashes(np.delete(self.values, place[there]))

    def count_learnt(self, texts: Sequence[str]) -> int:
        """How many of these texts are among those that were learnt."""
        return int(np.isin(hash_texts(texts), self.values).sum())

    def copies(self, texts: Sequence[str]) -> list[int]:
        """How many times each of these texts was learnt (n_texts,)."""
        wanted = hash_texts(texts)
        found = np.searchsorted(self.values, wanted, side="right") - np.searchsorted(self.values, wanted)
        return [int(one) for one in found]

    @classmethod
    def from_file(cls, values: NDArray[Any]) -> TextHashes:
        """The hashes that a model file holds; trusts nothing."""
        if values.dtype != np.uint64 or values.ndim != 1:
            raise BadModel("its hashes of texts are damaged; train it again")
        return cls(np.sort(values))


def join_text_hashes(parts: Sequence[TextHashes | None]) -> TextHashes | None:
    """The texts of all of them; None if one of them does not know its own."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return TextHashes(np.sort(np.concatenate([part.values for part in known])))


def hash_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """BLAKE2b-64 of each text in UTF-8 (n_docs,).

    >>> hash_texts(["fair vote"])
    array([6567827681532652659], dtype=uint64)
    """
    buffer = texts if isinstance(texts, TextBuffer) else TextBuffer.of(texts)
    return (hash_cells if native is None else _hash_natively)(buffer)


def hash_cells(buffer: TextBuffer) -> NDArray[np.uint64]:
    """The same by the standard library, which is the specification."""
    import hashlib

    digests = (hashlib.blake2b(text, digest_size=SIZE).digest() for text in _utf8(buffer))
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _hash_natively(buffer: TextBuffer) -> NDArray[np.uint64]:
    parts = [
        native.cell_hashes(np.ascontiguousarray(chunk.blob), np.ascontiguousarray(chunk.offsets, np.int64))
        for chunk in buffer.chunks
    ]
    return np.concatenate([np.zeros(0, np.uint64), *parts])


def _utf8(buffer: TextBuffer) -> Iterator[Any]:
    blob = np.ascontiguousarray(buffer.blob).data
    return (blob[start:end] for start, end in pairwise(buffer.offsets.tolist()))
