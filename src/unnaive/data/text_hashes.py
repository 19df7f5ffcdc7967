"""Hashes of the texts that a model has learnt, so that evaluating on training texts can be detected.

`unnaive train` stores 8 bytes per document in the model file; updates, forgetting and merging keep them exact. The
hashes do not cover labels and prove nothing; the register (data/document_register.py) is for proofs.
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
    import unnaive.base._rows as native
except ImportError:  # built without a compiler
    native = None

SIZE = 8  # bytes: with a million texts, a new text collides with probability 5 · 10⁻¹⁴


@dataclass(frozen=True, eq=False)
class TextHashes:
    """BLAKE2b-64 of each text, sorted (n_docs,); a text learnt twice has two entries.

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
        """Add these texts."""
        return self.joined(TextHashes.of(texts))

    def joined(self, other: TextHashes) -> TextHashes:
        """The hashes of both."""
        return TextHashes(np.sort(np.concatenate([self.values, other.values])))

    def without(self, texts: Sequence[str]) -> TextHashes:
        """Remove these texts, one entry for each occurrence; texts that are not there are ignored."""
        removed = np.sort(hash_texts(texts))
        # the n-th copy of a text removes its n-th entry
        nth = np.arange(len(removed)) - np.searchsorted(removed, removed)
        position = np.searchsorted(self.values, removed) + nth
        is_stored = position < np.searchsorted(self.values, removed, side="right")
        return TextHashes(np.delete(self.values, position[is_stored]))

    def count_learnt(self, texts: Sequence[str]) -> int:
        """The number of these texts that were learnt."""
        return int(np.isin(hash_texts(texts), self.values).sum())

    def copies(self, texts: Sequence[str]) -> list[int]:
        """How often each of these texts was learnt (n_texts,)."""
        hashes = hash_texts(texts)
        counts = np.searchsorted(self.values, hashes, side="right") - np.searchsorted(self.values, hashes)
        return [int(count) for count in counts]

    @classmethod
    def from_file(cls, values: NDArray[Any]) -> TextHashes:
        """Read and check the hashes of a model file."""
        if values.dtype != np.uint64 or values.ndim != 1:
            raise BadModel("its hashes of texts are damaged; train it again")
        return cls(np.sort(values))


def join_text_hashes(parts: Sequence[TextHashes | None]) -> TextHashes | None:
    """The hashes of all parts; None if a part has none."""
    hashes = [part for part in parts if part is not None]
    if not hashes or len(hashes) < len(parts):
        return None
    return TextHashes(np.sort(np.concatenate([part.values for part in hashes])))


def hash_texts(texts: Sequence[str]) -> NDArray[np.uint64]:
    """BLAKE2b-64 of each text in UTF-8 (n_docs,).

    >>> hash_texts(["fair vote"])
    array([6567827681532652659], dtype=uint64)
    """
    buffer = texts if isinstance(texts, TextBuffer) else TextBuffer.of(texts)
    return (hash_cells if native is None else _hash_natively)(buffer)


def hash_cells(buffer: TextBuffer) -> NDArray[np.uint64]:
    """The same with the standard library; this is the specification."""
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
