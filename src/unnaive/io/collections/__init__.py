"""The benchmark collections, read from their original archives to a Corpus; nothing is unpacked to disk.

    from unnaive.io.collections import load
    corpus = load("reuters", view="modapte-90")        # found in UNNAIVE_DATA or the user's cache
    corpus = load("20newsgroups", data="downloads")    # or in a folder, or in an archive, named here

catalogue.py holds what is known of each collection, fetching.py downloads them.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unnaive.base.errors import BadData, choose, count_noun
from unnaive.io.collections.archives import ArchiveMember, read_members
from unnaive.io.collections.catalogue import COLLECTIONS, Collection
from unnaive.io.corpus import Corpus
from unnaive.io.sources import hash_file

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


def cache_folder() -> Path:
    """The user's cache, where `unnaive collections fetch` puts what it downloads."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "unnaive"


def data_folders(data: CollectionSource = None) -> list[Path]:
    """Where collections are looked for, first to last; `data`, if given, is the only place."""
    if data is not None:
        return [Path(data)]
    named = os.environ.get("UNNAIVE_DATA")
    return [*([Path(named)] if named else []), cache_folder()]


def data_folder(data: CollectionSource = None) -> Path | None:
    """The first place that exists, or None."""
    return next((folder for folder in data_folders(data) if folder.exists()), None)


def collection_path(name: str, data: CollectionSource = None) -> Path:
    """The archive or unpacked folder of a collection; an error that says where to get it if it is nowhere."""
    collection = COLLECTIONS[choose(list(COLLECTIONS), name, "collection")]
    folders = data_folders(data)
    for folder in folders:
        path = find_in_folder(folder, collection)
        if path is not None:
            return path
    places = " nor ".join(str(folder) for folder in folders)
    if data is not None and not Path(data).exists():
        places += ", which does not exist"
    raise BadData(
        f"the collection {name!r} is not in {places}; {collection.origin}, then pass --data DIR or set UNNAIVE_DATA"
        f" to the folder with {collection.file} (or its unpacked files)"
    )


def find_in_folder(place: Path, collection: Collection) -> Path | None:
    """Where a collection lies in a place: the place itself if a file, its archive, its folder, or its files."""
    if place.is_file():
        return place
    archive, unpacked = place / collection.file, place / collection.file.removesuffix(".tar.gz")
    if archive.is_file():
        return archive
    if unpacked.is_dir():
        return unpacked
    return place if (place / collection.marker).exists() else None


def load(name: str, *, view: str | None = None, data: CollectionSource = None) -> Corpus:
    """A collection as a Corpus; `view` is one of the collection's views, the first of them by default.

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
    """What a check of one collection found; `verified` names the checksum that fits, nothing if none does."""

    name: str
    path: Path
    verified: str
    documents: int
    parts: dict[str, int]
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether checksum and counts are what they should be."""
        return not self.problem


def check(name: str, data: CollectionSource = None) -> CollectionCheck:
    """The collection read whole and compared with its known checksums and document counts."""
    path = collection_path(name, data)
    return check_archive(COLLECTIONS[name], path)


def check_archive(collection: Collection, path: Path) -> CollectionCheck:
    """The comparison itself, for a collection that lies at `path`."""
    files = read_members(path, collection.pattern)
    corpus = collection.read(files, collection.views[0])
    whole = collection.read(files, collection.widest)
    parts = dict(sorted(Counter(corpus.split or ()).items()))
    verified = match_checksum(collection, path, files)
    return CollectionCheck(
        collection.name, path, verified, len(whole), parts, describe_problem(collection, verified, len(whole), parts)
    )


def describe_problem(collection: Collection, verified: str, documents: int, parts: dict[str, int]) -> str:
    """What is wrong, in words; nothing if all is well."""
    if documents != collection.documents or parts != collection.parts:
        return (
            f"read {count_noun(documents, 'document')} {parts or ''} where {collection.documents} "
            f"{collection.parts or ''}"
            " were expected; fetch it again"
        )
    return "" if verified or not collection.contents else "no known checksum fits; fetch it again"


def match_checksum(collection: Collection, path: Path, files: Sequence[ArchiveMember]) -> str:
    """ "archive" if the file's sha256 is a known one, else "contents" if its documents' digest is, else nothing."""
    if path.is_file() and hash_file(path) in collection.sha256:
        return "archive"
    return "contents" if hash_contents(files) == collection.contents else ""


def hash_contents(files: Sequence[ArchiveMember]) -> str:
    """The sha256 of the files' names and contents, the same for every way in which they are packed."""
    digest = hashlib.sha256()
    for parts, content in files:
        digest.update("/".join(parts).encode() + b"\0" + str(len(content)).encode() + b"\0" + content)
    return digest.hexdigest()
