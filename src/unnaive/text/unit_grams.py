"""The character n-grams of many words at once, by NumPy; packed_grams.py recomputes n-grams from words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unnaive.base.types import Ids


def find_grams(words: Sequence[str], shortest: int, longest: int, border: str = "_") -> tuple[Ids, Ids, list[str]]:
    """The character n-grams of each word with marked borders: (word numbers, n-gram numbers, n-grams).

    >>> owner, gram, grams = find_grams(["cat", "at"], 2, 3)
    >>> [[grams[number] for number in gram[owner == word]] for word in (0, 1)]
    [['_c', 'ca', 'at', 't_', '_ca', 'cat', 'at_'], ['_a', 'at', 't_', '_at', 'at_']]
    """
    text = "".join(f"{border}{word}{border}" for word in words)
    sizes = np.array([len(word) + 2 for word in words], np.int64)
    ends = np.cumsum(sizes)
    owner = np.repeat(np.arange(len(words)), sizes)
    left = np.repeat(ends, sizes) - np.arange(len(text))  # characters from here to the end of the word
    at_start = np.arange(len(text)) == np.repeat(ends - sizes, sizes)
    alphabet, letter = np.unique(np.frombuffer(text.encode("utf-32-le"), np.uint32), return_inverse=True)
    rank = letter.astype(np.int64)  # rank of the n-gram that starts here, among all n-grams of this length
    owners, numbers = [], []
    grams: list[str] = []
    for n in range(1, longest + 1):
        if n > 1:
            rank = rank[:-1] * len(alphabet) + letter[n - 1 :]
        whole = (left == n) & at_start & (n < shortest)  # a word too short for any n-gram is one itself
        places = np.flatnonzero((left >= n) & (n >= shortest) | whole)
        places = places[places < len(rank)]
        _, first, number = np.unique(rank[places], return_index=True, return_inverse=True)
        owners.append(owner[places])
        numbers.append(number + len(grams))
        grams += [text[start : start + n] for start in places[first].tolist()]
        _, rank = np.unique(rank, return_inverse=True)
    return np.concatenate(owners), np.concatenate(numbers), grams
