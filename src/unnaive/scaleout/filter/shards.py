"""The files to filter and their targets: a file to a file, a folder or several files to a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.open_files import STDIN, check_exists
from unnaive.io.endings import PACKINGS, check_packing, list_endings, split_ending
from unnaive.io.source_paths import expand_pattern
from unnaive.scaleout.filter.blocks import Shard, ShardReading
from unnaive.scaleout.filter.line_shards import LineShard
from unnaive.scaleout.filter.parquet_shards import ParquetShard
from unnaive.scaleout.filter.warc_shards import WarcShard

SHARD_ENDINGS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".txt": "lines", ".parquet": "parquet", ".pq": "parquet",
    ".warc": "warc", ".wet": "warc",
}  # fmt: skip
SHARD_KINDS: dict[str, type[LineShard] | type[ParquetShard] | type[WarcShard]] = {
    "jsonl": LineShard, "lines": LineShard, "parquet": ParquetShard, "warc": WarcShard,
}  # fmt: skip


@dataclass(frozen=True)
class ShardJob:
    """A file to filter.

    source  its path, or - for stdin
    target  the file to write; None for stdout
    name    its name in the output folder
    kind    one of SHARD_KINDS
    """

    source: str
    target: Path | None
    name: str
    kind: str

    @property
    def packing(self) -> str:
        """The compression of the target, one of PACKINGS, or "" for none."""
        return "" if self.target is None else PACKINGS.get(split_ending(self.target)[1], "")

    def open(self, reading: ShardReading) -> Shard:
        """Open the file for reading."""
        return SHARD_KINDS[self.kind](self.source, self.own_reading(reading))

    def own_reading(self, reading: ShardReading) -> ShardReading:
        """How to read this file: `reading`, without columns and message parts if the file is not a table."""
        return reading if self.kind in ("jsonl", "parquet") else replace(reading, columns=None, message=None)


@dataclass(frozen=True)
class ShardPlan:
    """All files to filter, in their order; `folder` is the output folder, None for a single file.

    left_out  files in folders whose format cannot be filtered
    """

    jobs: tuple[ShardJob, ...]
    folder: Path | None
    left_out: tuple[str, ...] = ()


def plan_shards(
    paths: Sequence[str], output: Path | None, *, format: str | None = None, follow_links: bool = False
) -> ShardPlan:
    """The files to read and write. A folder keeps its names; several folders get one folder each."""
    sources = [path for pattern in paths for path in expand_pattern(pattern)]
    named: list[tuple[str, str]] = []
    left_out: list[str] = []
    for path in sources:
        if path != STDIN and check_exists(path).is_dir():
            prefix = "" if len(sources) == 1 else f"{Path(path).name}/"
            for inside in list_shard_files(Path(path), follow_links):
                is_shard = format is not None or split_ending(inside)[0] in SHARD_ENDINGS
                if is_shard:
                    named.append((str(inside), prefix + str(inside.relative_to(path))))
                else:
                    left_out.append(str(inside))
        else:
            named.append((path, "stdin" if path == STDIN else Path(path).name))
    if not named:
        raise BadData(
            f"{sources[0]} has no file to filter; give files that end in {list_endings(SHARD_ENDINGS)}, "
            "compressed or not"
        )
    several = len(sources) > 1 or len(named) > 1 or (sources[0] != STDIN and Path(sources[0]).is_dir())
    folder = output if output is not None and (several or output.is_dir()) else None
    if several and folder is None:
        raise UnnaiveError("several files are filtered into a folder; name the folder with --output FOLDER")
    if folder is not None and not folder.exists() and split_ending(folder)[0] in SHARD_ENDINGS:
        raise UnnaiveError(
            f"several files are filtered into a folder, but {folder} looks like a file; give a name without "
            f"{split_ending(folder)[0]}"
        )
    if folder is not None and STDIN in sources:
        raise UnnaiveError(
            "stdin can only be filtered into one file, without other inputs; name a file with --output, or "
            "leave --output out"
        )
    if folder is not None and folder.exists() and not folder.is_dir():
        raise UnnaiveError(f"several files are to be written, but {folder} is a file; name a folder")
    jobs = tuple(
        ShardJob(source, output if folder is None else folder / name, name, _shard_kind(source, format))
        for source, name in named
    )
    _check_jobs(jobs, folder, [Path(path) for path in sources if path != STDIN])
    return ShardPlan(jobs, folder, tuple(left_out))


def list_shard_files(folder: Path, follow_links: bool) -> Iterator[Path]:
    """All files of a folder and its subfolders, sorted, without hidden files."""
    for root, folders, files in os.walk(folder, followlinks=follow_links):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(root, name)
            if not name.startswith((".", "_")) and (follow_links or not path.is_symlink()):
                yield path


def _shard_kind(path: str, format: str | None) -> str:
    """One of SHARD_KINDS: as requested, or by the file name; stdin is JSON lines."""
    if format is not None:
        if format not in SHARD_KINDS:
            raise UnnaiveError(f"--format {format} cannot be filtered; there are {', '.join(SHARD_KINDS)}")
        return format
    if path == STDIN:
        return "jsonl"
    ending, packing = split_ending(path)
    if ending not in SHARD_ENDINGS:
        raise BadData(f"{path} has a format that cannot be filtered; give files that end in "
                      f"{list_endings(SHARD_ENDINGS)}, compressed or not, or add --format jsonl")  # fmt: skip
    if packing and SHARD_ENDINGS[ending] == "parquet":
        check_packing(path)
    return SHARD_ENDINGS[ending]


def _check_jobs(jobs: Sequence[ShardJob], folder: Path | None, sources: Sequence[Path]) -> None:
    """Raise an error if a file would overwrite another or an input, be among the inputs, or have another format."""
    seen: dict[Path, str] = {}
    for job in jobs:
        if job.target is None:
            continue
        if seen.setdefault(job.target, job.source) != job.source:
            raise UnnaiveError(f"{seen[job.target]} and {job.source} would both be written to {job.target}; rename one")
        if job.source != STDIN and job.target.exists() and job.target.samefile(job.source):
            raise UnnaiveError(f"{job.target} is read by this command; name another file or folder to write")
        ending = split_ending(job.target)[0]
        if folder is None and ending and SHARD_ENDINGS.get(ending, "") != job.kind:
            raise UnnaiveError(
                f"{job.target} ends in {ending}, but the texts keep their format, {job.kind}; name a file with "
                "that ending"
            )
    for source in sources:
        if folder is not None and source.is_dir() and folder.resolve().is_relative_to(source.resolve()):
            raise UnnaiveError(f"{folder} is inside {source}, which is read; name a folder outside it")
