"""The benchmark collections, read from their original archives to a Corpus; nothing is unpacked to disk.

    from unnaive.papers.collections import load
    corpus = load("reuters", view="modapte-90")        # found in UNNAIVE_DATA or the user's cache
    corpus = load("20newsgroups", data="downloads")    # or in a folder, or in an archive, named here

known_collections.py describes the collections, fetching.py downloads them.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unnaive.base.cache_folder import cache_folder
from unnaive.base.errors import BadData, choose, count_noun
from unnaive.base.open_files import hash_file
from unnaive.data.corpus import Corpus
from unnaive.papers.collections.archives import ArchiveMember, read_members
from unnaive.papers.collections.known_collections import COLLECTIONS, Collection

__all__ = [
    "COLLECTIONS",
    "Collection",
    "CollectionCheck",
    "check",
    "collection_path",
    "data_folder",
    "data_folders",
    "load",
]

CollectionSource = str | Path | None


def data_folders(data: CollectionSource = None) -> list[Path]:
    """The folders in which collections are searched, in order; only `data` if it is given."""
    if data is not None:
        return [Path(data)]
    named = os.environ.get("UNNAIVE_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


def data_folder(data: CollectionSource = None) -> Path | None:
    """The first of these folders that exists; None if there is none."""
    return next((folder for folder in data_folders(data) if folder.exists()), None)


def collection_path(name: str, data: CollectionSource = None) -> Path:
    """The archive or unpacked folder of a collection; if it is missing, an error says where to get it."""
    collection = COLLECTIONS[choose(list(COLLECTIONS), name, "collection")]
    folders = data_folders(data)
    for folder in folders:
        path = find_in_folder(folder, collection)
        if path is not None:
            return path
    places = " or ".join(str(folder) for folder in folders)
    if data is not None and not Path(data).exists():
        places += ", which does not exist"
    raise BadData(
        f"the collection {name!r} is not in {places}; {collection.origin}, then pass --data DIR or set UNNAIVE_DATA"
        f" to the folder with {collection.file} (or its unpacked files)"
    )


def find_in_folder(folder: Path, collection: Collection) -> Path | None:
    """The path of a collection in a folder: its archive, its unpacked folder, or the folder; a file is returned."""
    if folder.is_file():
        return folder
    archive, unpacked = folder / collection.file, folder / collection.file.removesuffix(".tar.gz")
    if archive.is_file():
        return archive
    if unpacked.is_dir():
        return unpacked
    return folder if (folder / collection.marker).exists() else None


def load(name: str, *, view: str | None = None, data: CollectionSource = None) -> Corpus:
    """A collection as a Corpus; `view` is one of its views, by default the first.

    >>> load("reuters-21578")
    Traceback (most recent call last):
    ...
    unnaive.base.errors.UnknownName: no collection called 'reuters-21578'; there are ...; did you mean 'reuters'?
    """
    collection = COLLECTIONS[choose(list(COLLECTIONS), name, "collection")]
    shown = choose(list(collection.views), view or collection.views[0], f"view of {name}")
    return collection.read(read_members(collection_path(name, data), collection.pattern), shown)


@dataclass(frozen=True)
class CollectionCheck:
    """The result of a check of a collection; `verified` names the matching checksum, empty if there is none."""

    name: str
    path: Path
    verified: str
    documents: int
    parts: dict[str, int]
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether checksum and counts are right."""
        return not self.problem


def check(name: str, data: CollectionSource = None) -> CollectionCheck:
    """Read the whole collection and compare it with its known checksums and document counts."""
    path = collection_path(name, data)
    return check_archive(COLLECTIONS[name], path)


def check_archive(collection: Collection, path: Path) -> CollectionCheck:
    """Check the collection at `path`."""
    files = read_members(path, collection.pattern)
    corpus = collection.read(files, collection.views[0])
    whole = collection.read(files, collection.widest)
    parts = dict(sorted(Counter(corpus.split or ()).items()))
    verified = match_checksum(collection, path, files)
    return CollectionCheck(
        collection.name, path, verified, len(whole), parts, describe_problem(collection, verified, len(whole), parts)
    )


def describe_problem(collection: Collection, verified: str, documents: int, parts: dict[str, int]) -> str:
    """The problem in words; empty if there is none."""
    if documents != collection.documents or parts != collection.parts:
        return (
            f"it has {count_noun(documents, 'document')}{f' {parts}' if parts else ''}, but {collection.documents}"
            f"{f' {collection.parts}' if collection.parts else ''} were expected; fetch it again"
        )
    return "" if verified or not collection.contents else "its checksum is not a known one; fetch it again"


def match_checksum(collection: Collection, path: Path, files: Sequence[ArchiveMember]) -> str:
    """ "archive" if the SHA-256 of the file is known, "contents" if that of its documents is, otherwise empty."""
    if path.is_file() and hash_file(path) in collection.sha256:
        return "archive"
    return "contents" if hash_contents(files) == collection.contents else ""


def hash_contents(files: Sequence[ArchiveMember]) -> str:
    """The SHA-256 of the names and contents of the files, independent of how they are packed."""
    digest = hashlib.sha256()
    for parts, content in files:
        digest.update("/".join(parts).encode() + b"\0" + str(len(content)).encode() + b"\0" + content)
    return digest.hexdigest()
