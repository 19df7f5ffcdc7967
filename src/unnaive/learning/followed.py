"""What a model has learnt from growing files and streams: it stands in the model, so that one rename commits both.

A file is known by its content: the length and the SHA-256 of the part that was learnt. So a file that was renamed or
copied continues, and a new file at an old path begins at its start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

MOST_SOURCES = 1_000  # the latest ones are kept
MOST_BATCHES = 100_000
Place = tuple[int, str]  # the length of the learnt part of a file, and its SHA-256
START: Place = (0, hashlib.sha256().hexdigest())


@dataclass(frozen=True)
class Followed:
    """The learnt parts of files, and the hashes of the ids of learnt batches, both in the order of learning."""

    places: tuple[Place, ...] = ()
    batches: tuple[str, ...] = ()

    def advance(self, start: Place | None, end: Place | None, ids: Iterable[str]) -> Followed:
        """Replace the place where a source stood, and add batches; None for a source that cannot be read again.

        >>> Followed(((2, "aa"), (5, "bb"))).advance((2, "aa"), (7, "cc"), [])
        Followed(places=((5, 'bb'), (7, 'cc')), batches=())
        """
        places = tuple(place for place in self.places if place not in (start, end))
        batches = (*self.batches, *map(hash_batch, ids))[-MOST_BATCHES:]
        return replace(self, places=(*places, *([] if end is None else [end]))[-MOST_SOURCES:], batches=batches)

    def joined(self, other: Followed) -> Followed:
        """What a model knows that was merged from two."""
        return Followed(
            tuple(dict.fromkeys((*self.places, *other.places))), tuple(dict.fromkeys((*self.batches, *other.batches)))
        )

    def to_dict(self) -> dict[str, Any]:
        """The values for the model file."""
        return {"places": [list(place) for place in self.places], "batches": "".join(self.batches)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any] | None) -> Followed | None:
        """The inverse of `to_dict`; None for None."""
        if stored is None:
            return None
        batches = str(stored["batches"])
        places = tuple((int(offset), str(sha256)) for offset, sha256 in stored["places"])
        return cls(places, tuple(batches[start : start + 16] for start in range(0, len(batches), 16)))


def hash_batch(batch: str) -> str:
    """The hash of a batch id, 16 hexadecimal digits.

    >>> hash_batch("2026-01-01")
    'c8c9cd9a108050e8'
    """
    return hashlib.blake2b(batch.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
