"""Which documents a model has learnt from, as hashes: to warn those who measure it on the same ones.

Hashes are kept as a sorted array in which a document stands as often as it was learnt, so that what was added can be
taken out again and nothing of a forgotten document is left.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def hash_documents(texts: Iterable[str]) -> Hashes:
    """64 bits of each text, sorted (n_docs,)."""
    digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts]
    return np.sort(np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64))


def add_hashes(seen: Hashes, more: Hashes) -> Hashes:
    """Those of both.

    >>> add_hashes(hash_documents(["a"]), hash_documents(["b"])).tolist() == hash_documents(["b", "a"]).tolist()
    True
    """
    return np.sort(np.concatenate([seen, more]))


def remove_hashes(seen: Hashes, gone: Hashes) -> Hashes:
    """Those of `seen`, each of `gone` taken out once.

    >>> remove_hashes(hash_documents(["a", "a", "b"]), hash_documents(["a"])).tolist() == hash_documents("ab").tolist()
    True
    """
    names, counts = np.unique(gone, return_counts=True)
    start = np.searchsorted(seen, names)
    keep = np.ones(len(seen), np.bool_)
    for name, at, n in zip(names, start, counts, strict=True):
        stop = min(at + n, len(seen))
        keep[at:stop] &= seen[at:stop] != name
    return seen[keep]


def count_seen(seen: Hashes, texts: Iterable[str]) -> int:
    """How many of the texts were learnt.

    >>> count_seen(hash_documents(["a", "b"]), ["b", "c", "b"])
    2
    """
    return int(np.isin(hash_documents(texts), seen).sum())


def read_hashes(array: Any) -> Hashes | None:
    """The hashes in a model file; None for anything that is not so, since models come from files."""
    if not isinstance(array, np.ndarray) or array.dtype != np.uint64 or array.ndim != 1:
        return None
    return np.sort(array)
