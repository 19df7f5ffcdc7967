"""Filter shards by a rule: several threads read, score and compress blocks, which are written in their order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.open_files import STDIN, STDIN_NAME
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats
from unnaive.io.tables.native_parser import map_in_order
from unnaive.io.writing.output_files import open_output
from unnaive.scaleout.filter.blocks import Shard, ShardReading, TextBlock
from unnaive.scaleout.filter.filter_log import FilterRecord, describe_source
from unnaive.scaleout.filter.filter_tally import FilterTally, tally_block
from unnaive.scaleout.filter.keep_rule import KeepRule
from unnaive.scaleout.filter.shards import ShardJob
from unnaive.text.messages import read_message


@dataclass
class FilterOutcome:
    """The result for all shards.

    tally    the tally of all texts
    shards   name, number of texts and number of kept texts of each shard
    resumed  number of shards that an earlier run had finished
    """

    tally: FilterTally = field(default_factory=FilterTally)
    shards: list[tuple[str, int, int]] = field(default_factory=list)
    resumed: int = 0

    def add(self, job: ShardJob, tally: FilterTally) -> None:
        """Add a shard."""
        self.tally.add(tally)
        self.shards.append((job.name, tally.texts, tally.kept))


def filter_shards(
    rule: KeepRule,
    jobs: Iterable[ShardJob],
    reading: ShardReading,
    *,
    record: FilterRecord | None = None,
    outcome: FilterOutcome | None = None,
    threads: int | None = None,
) -> FilterOutcome:
    """Filter each shard into its target, written atomically; shards in the record are skipped.

    `outcome` is updated after every shard, so that it is valid after an interruption.
    """
    outcome = FilterOutcome() if outcome is None else outcome
    n_threads = thread_count(threads)
    rule = rule.on_one_thread()
    for job in jobs:
        done = None if record is None else record.find(job)
        if done is None:
            source = "" if record is None else describe_source(job)
            if record is not None:
                record.begin(job)
            done = filter_file(rule, job, reading, n_threads, recorded=record is not None)
            if record is not None:
                record.note(job, source, done)
        else:
            outcome.resumed += 1
        outcome.add(job, done)
    return outcome


def filter_file(
    rule: KeepRule, job: ShardJob, reading: ShardReading, threads: int, *, recorded: bool = False
) -> FilterTally:
    """Filter one shard into its target; without a record of many shards, one without texts is an error."""
    if job.target is not None:
        job.target.parent.mkdir(parents=True, exist_ok=True)
    with _open_target(job, tidy=not recorded) as file:
        message = job.own_reading(reading).message
        tally = filter_shard(
            rule, job.open(reading), file, name=job.name, packing=job.packing, message=message, threads=threads
        )
        if not (tally.texts or recorded):
            raise BadData(f"{STDIN_NAME if job.source == STDIN else job.source} has no texts; give at least one")
        return tally


@contextmanager
def _open_target(job: ShardJob, *, tidy: bool) -> Iterator[IO[bytes]]:
    if job.target is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open_output(job.target, binary=True, tidy=tidy) as file:
        yield file


class ScoredBlock(NamedTuple):
    """A scored block, with its kept content compressed for the output."""

    texts: Sequence[str]
    scores: Floats
    kept: NDArray[np.bool_]
    packed: Any
    size: int
    skipped: int


def filter_shard(
    rule: KeepRule,
    shard: Shard,
    file: IO[bytes],
    *,
    name: str = "",
    packing: str = "",
    message: str | None = None,
    threads: int = 1,
) -> FilterTally:
    """Write what the rule keeps of a shard to an open file."""
    tally = FilterTally()
    with shard.writing(file, packing) as writer:

        def work(block: TextBlock) -> ScoredBlock:
            content = block.read()
            texts = content.texts if message is None else [read_message(text, message) for text in content.texts]
            scores = rule.scores(texts)
            kept = rule.keeps(scores)
            return ScoredBlock(texts, scores, kept, writer.pack(block.take(kept)), block.size, content.skipped)

        for block in map_blocks(work, shard.blocks(), threads):
            part = tally_block(name, tally.texts, block.texts, block.scores, block.kept)
            part.bytes_read, part.skipped = block.size, block.skipped
            part.bytes_kept = writer.write(block.packed)
            tally.add(part)
    return tally


def map_blocks(
    work: Callable[[TextBlock], ScoredBlock], blocks: Iterator[TextBlock], threads: int
) -> Iterator[ScoredBlock]:
    """The scored blocks in their order; with several threads, blocks are scored in advance."""
    return map(work, blocks) if threads == 1 else map_in_order(work, blocks, threads)
