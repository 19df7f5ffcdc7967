"""FilterTally: counts, a histogram of scores and samples of kept and dropped texts, which add up over shards."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats

LOWEST, BIN_WIDTH, N_BINS = -30.0, 0.1, 600  # range of the histogram; scores outside are in the first and last bin
SAMPLED = 30  # number of texts in a sample
SHOWN_CHARS = 1000  # maximum characters of a sampled text


@dataclass(frozen=True, order=True)
class SampledText:
    """A text of a sample; the sample keeps the texts with the lowest `rank`."""

    rank: float
    shard: str
    row: int
    score: float
    text: str


@dataclass
class FilterTally:
    """The result for some texts.

    texts, kept              number of texts, and of kept ones
    bytes_read, bytes_kept   of the lines, rows or records, decompressed
    skipped                  lines that could not be read
    histogram                texts by score (N_BINS,)
    dropped                  a random sample of dropped texts
    nearly                   dropped texts with the highest scores
    barely                   kept texts with the lowest scores
    """

    texts: int = 0
    kept: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    skipped: int = 0
    histogram: NDArray[np.int64] = field(default_factory=lambda: np.zeros(N_BINS, np.int64))
    dropped: list[SampledText] = field(default_factory=list)
    nearly: list[SampledText] = field(default_factory=list)
    barely: list[SampledText] = field(default_factory=list)

    def add(self, other: FilterTally) -> None:
        """Add the result for other texts."""
        self.texts += other.texts
        self.kept += other.kept
        self.bytes_read += other.bytes_read
        self.bytes_kept += other.bytes_kept
        self.skipped += other.skipped
        self.histogram += other.histogram
        self.dropped = _lowest([*self.dropped, *other.dropped])
        self.nearly = _lowest([*self.nearly, *other.nearly])
        self.barely = _lowest([*self.barely, *other.barely])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self) | {"histogram": self.histogram.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> FilterTally:
        """The inverse of `to_dict`."""
        samples = {name: [SampledText(**fields) for fields in values[name]] for name in ("dropped", "nearly", "barely")}
        return cls(**values | samples | {"histogram": np.array(values["histogram"], np.int64)})


def _lowest(texts: list[SampledText]) -> list[SampledText]:
    return sorted(texts)[:SAMPLED]


def tally_block(shard: str, first: int, texts: Sequence[str], scores: Floats, kept: NDArray[np.bool_]) -> FilterTally:
    """The tally of the texts of a block; `first` is the row of its first text in the shard.

    A hash of shard and row decides whether a text is in the random sample, so that the sample does not depend on the
    size of blocks.
    """
    where = np.clip((scores - LOWEST) / BIN_WIDTH, 0, N_BINS - 1).astype(np.int64)
    tally = FilterTally(len(scores), int(np.count_nonzero(kept)), histogram=np.bincount(where, minlength=N_BINS))
    chance = row_chances(shard, first, len(scores))

    def sample(rows: NDArray[np.int64], ranks: Floats) -> list[SampledText]:
        chosen = rows[np.argsort(ranks[rows], kind="stable")[:SAMPLED]]
        return [
            SampledText(float(ranks[row]), shard, first + row, float(scores[row]), texts[row][:SHOWN_CHARS])
            for row in chosen.tolist()
        ]

    out, inside = np.flatnonzero(~kept), np.flatnonzero(kept)
    tally.dropped, tally.nearly, tally.barely = sample(out, chance), sample(out, -scores), sample(inside, scores)
    return tally


def row_chances(shard: str, first: int, n_rows: int) -> Floats:
    """A reproducible pseudo-random number from 0 to 1 for each of these rows of a shard (n_rows,)."""
    seed = int.from_bytes(hashlib.sha256(shard.encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):  # splitmix64
        mixed = np.arange(first, first + n_rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return np.asarray(mixed / 2.0**64)
