"""Files inside an archive or a folder, read into memory."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from unnaive.base.errors import BadData

LARGEST = 1 << 30  # bytes after decompression; the largest collection has 50 MB, more is a mistake or an attack


class ArchiveMember(NamedTuple):
    """One file: the groups of the pattern in its name, and its content."""

    parts: tuple[str, ...]
    content: bytes


def read_members(path: Path, pattern: str) -> list[ArchiveMember]:
    """The files of the archive or folder at `path` whose names match `pattern`, sorted by the groups of the match.

    Nothing is written to disk. The order depends only on the groups, so an archive and the folder that it unpacks to
    give the same list, whatever comes before the matched part.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "spor").mkdir() and None
    >>> (folder / "spor" / "2.txt").write_bytes(b"gol")
    3
    >>> read_members(folder, r"(\\w+)/(\\d+)[.]txt$")
    [ArchiveMember(parts=('spor', '2'), content=b'gol')]
    """
    compiled = re.compile("(?:^|/)" + pattern)
    files = walk_folder(path, compiled) if path.is_dir() else walk_archive(path, compiled)
    members = sorted(ArchiveMember(match.groups(), content) for match, content in files)
    if not members:
        raise BadData(f"{path} has no file whose name matches {pattern}; give the collection in its original layout")
    return members


def walk_archive(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    """The matching regular files of a tar archive, gzipped or not."""
    try:
        # "r:" is an uncompressed tar: another layer of compression inside would escape the limit
        with tarfile.open(fileobj=io.BytesIO(decompress(path)), mode="r:") as archive:
            for info in archive:
                name = check_member(info, path)
                match = pattern.search(name)
                if match and info.isreg():
                    yield match, read_member(archive, info, path)
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise BadData(f"{path} is not a complete tar archive ({error}); fetch it again") from error


def decompress(path: Path) -> bytes:
    """The bytes of a file, decompressed if they are gzip; refused beyond LARGEST."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        data = gzip.GzipFile(fileobj=file).read(LARGEST + 1) if zipped else file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise BadData(f"{path} unpacks to more than {LARGEST >> 20} MB, far more than any collection; fetch it again")
    return data


def check_member(info: tarfile.TarInfo, path: Path) -> str:
    """The name of a member; an error unless it is a plain file or folder inside the archive."""
    name = PurePosixPath(info.name)
    if name.is_absolute() or ".." in name.parts:
        raise BadData(f"{path} has a member {info.name!r} that leads outside the archive; fetch it again")
    if not (info.isreg() or info.isdir()):
        raise BadData(f"{path} has a link or device named {info.name!r}; give an archive of regular files")
    return str(name)


def read_member(archive: tarfile.TarFile, info: tarfile.TarInfo, path: Path) -> bytes:
    """The content of one member; a header that claims more bytes than there are is an error."""
    if info.size > LARGEST:
        raise BadData(
            f"{path} has a member {info.name!r} of {info.size} bytes, far more than any collection; fetch it again"
        )
    file = archive.extractfile(info)
    return file.read() if file is not None else b""


def walk_folder(folder: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    """The matching files below a folder; a link that leads out of it is refused."""
    inside = folder.resolve()
    for path in folder.rglob("*"):
        match = pattern.search(path.relative_to(folder).as_posix())
        if match and path.is_file():
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise BadData(f"{path} is a link that leads outside {folder}; copy the file itself there")
            yield match, path.read_bytes()
