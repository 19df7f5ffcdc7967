"""Download the archive of a collection: resumable, verified, and renamed only then."""

from __future__ import annotations

import http.client
import os
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from unnaive.base.cache_folder import cache_folder
from unnaive.base.errors import BadData, choose
from unnaive.base.open_files import hash_file
from unnaive.papers.collections import check_archive
from unnaive.papers.collections.archives import LARGEST
from unnaive.papers.collections.known_collections import COLLECTIONS, Collection

DownloadProgress = Callable[[int, int | None], None]
"""Called with the bytes so far and, if the server sends it, the total."""


@dataclass(frozen=True)
class Patience:
    """Limits on the time that a download can take."""

    timeout: float = 30.0  # seconds without a byte
    attempts: int = 6  # connections for each address, each resuming the one before
    pause: float = 1.0  # seconds before the second attempt, twice that before the third, and so on
    slowest: float = 2000.0  # bytes a second that must come …
    window: float = 30.0  # … on average over so many seconds


class Stopped(Exception):
    """The connection failed; another attempt may succeed."""


class Unavailable(Exception):
    """This address does not have the file, or is too slow."""


def fetch(
    name: str,
    folder: str | Path | None = None,
    *,
    url: str | None = None,
    progress: DownloadProgress | None = None,
    patience: Patience | None = None,
) -> Path:
    """The path of the verified archive in `folder`, downloaded if it is not there yet.

    Bytes go to NAME.part, which a later call resumes; it becomes NAME once its checksum (or, if it is compressed
    differently, the digest of its contents) and its document counts are right. A wrong part is deleted.
    """
    collection = COLLECTIONS[choose(list(COLLECTIONS), name, "collection")]
    addresses = [url] if url else list(collection.urls)
    if not addresses:
        raise BadData(
            f"there is no known download address of {name!r}; {collection.origin}, then pass --data DIR or"
            f" set UNNAIVE_DATA to the folder with it, or pass --url with the address of a {collection.file}"
        )
    for address in addresses:
        check_scheme(address)
    target = make_writable_folder(folder) / collection.file
    if target.exists() and find_fault(collection, target) == "":
        return target
    part = target.with_name(target.name + ".part")
    reasons = []
    for address in addresses:
        reason = try_address(collection, address, part, progress, patience or Patience())
        if not reason:
            part.replace(target)
            return target
        reasons.append(f"{address}: {reason}")
    outcome = f"{part.name} was kept, and the same command resumes it" if part.exists() else "nothing was kept"
    raise BadData(
        f"{name!r} could not be fetched ({'; '.join(reasons)}); {outcome}; if you have {collection.file} from "
        "elsewhere, pass --data DIR with its folder to the other commands"
    )


def try_address(
    collection: Collection, url: str, part: Path, progress: DownloadProgress | None, patience: Patience
) -> str:
    """Why `part`, downloaded from `url`, is not the archive of the collection; empty if it is.

    A wrong part is deleted. If it was resumed, its beginning may come from another edition of the file, so it is
    downloaded once more from the start.
    """
    resumed = part.exists()
    try:
        download(url, part, progress, patience)
    except Unavailable as reason:
        return str(reason)
    problem = find_fault(collection, part)
    if not problem:
        return ""
    part.unlink()
    return try_address(collection, url, part, progress, patience) if resumed else f"not the collection: {problem}"


def download(url: str, part: Path, progress: DownloadProgress | None, patience: Patience) -> None:
    """All bytes of `url` in `part`, over as many connections as needed and allowed."""
    reason = ""
    for attempt in range(patience.attempts):
        time.sleep(patience.pause * attempt)
        try:
            return download_rest(url, part, progress, patience)
        except Stopped as stop:
            reason = str(stop)
    raise Unavailable(f"{reason}, {patience.attempts} attempts")


def download_rest(url: str, part: Path, progress: DownloadProgress | None, patience: Patience) -> None:
    """One connection: download the missing bytes of `part`, or raise Stopped or Unavailable."""
    have = part.stat().st_size if part.exists() else 0
    try:
        with open_url(url, have, patience.timeout) as response:
            start, total = read_extent(response, have)
            with part.open("r+b" if part.exists() else "wb") as file:
                file.truncate(start)
                file.seek(start)
                copy_stream(response, file, total, progress, patience)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # no more bytes: complete, or from another edition; the checksum decides
            return
        kind = Stopped if error.code >= 500 or error.code == 429 else Unavailable
        raise kind(f"the server answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, socket.gaierror) and error.reason.errno != socket.EAI_AGAIN:
            raise Unavailable(
                "no server of that name was found; check the address and the network"
            ) from error  # retrying would not help
        raise Stopped(f"no connection ({error.reason})") from error
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
        raise Stopped(f"the connection broke ({type(error).__name__})") from error


def open_url(url: str, have: int, timeout: float) -> Any:
    """The response to a request for all but the first `have` bytes."""
    headers = {"User-Agent": "unnaive", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    # an opener without handlers for file: and ftp:, so that no address or redirect reaches the disk
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener.open(urllib.request.Request(url, headers=headers), timeout=timeout)  # noqa: S310  # no file: handler


def read_extent(response: Any, have: int) -> tuple[int, int | None]:
    """The offset of the response in the file, and the total length if the server sends it."""
    length = response.headers.get("Content-Length")
    start = 0
    if response.status == 206:
        sent = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        start = int(sent[1]) if sent else -1
        if start != have:
            raise Unavailable("the server resumed the file at the wrong position")
    total = start + int(length) if length and length.isdecimal() else None
    if total is not None and total > LARGEST:
        raise Unavailable(f"the file has {total} bytes, far more than any collection")
    return start, total


def copy_stream(
    response: Any, file: BinaryIO, total: int | None, progress: DownloadProgress | None, patience: Patience
) -> None:
    """Copy the response to the file; too slow is Unavailable, too short is Stopped."""
    n_bytes = file.tell()
    since, then = time.monotonic(), n_bytes
    while chunk := response.read1(1 << 16):
        file.write(chunk)
        n_bytes += len(chunk)
        if n_bytes > LARGEST:
            raise Unavailable("the file is longer than any collection")
        if progress is not None:
            progress(n_bytes, total)
        if time.monotonic() - since > patience.window:
            if n_bytes - then < patience.slowest * patience.window:
                raise Unavailable(f"the download was slower than {patience.slowest:.0f} bytes a second")
            since, then = time.monotonic(), n_bytes
    file.flush()
    os.fsync(file.fileno())
    if total is not None and n_bytes < total:
        raise Stopped(f"the connection broke after {n_bytes} of {total} bytes")


def find_fault(collection: Collection, path: Path) -> str:
    """What is wrong with a downloaded archive; empty if checksum and counts are right."""
    try:
        problem = check_archive(collection, path).problem
    except BadData as error:
        problem = str(error)
    return f"{problem} (its sha256 is {hash_file(path)})" if problem else ""


def make_writable_folder(folder: str | Path | None) -> Path:
    """The folder to download to, created if needed: the one given, else UNNAIVE_DATA, else the user's cache."""
    path = Path(folder or os.environ.get("UNNAIVE_DATA") or cache_folder())
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadData(
            f"the folder {path} cannot be created ({error.strerror}); pass another folder with --data DIR"
        ) from error
    if not os.access(path, os.W_OK):
        raise BadData(f"the folder {path} is not writable; pass another folder with --data DIR")
    return path


def check_scheme(url: str) -> None:
    """Raise an error for an address that is not http or https."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # reading the port raises ValueError if it is not a number
    except ValueError as problem:
        raise BadData(f"the address {url!r} is malformed ({problem}); check it") from problem
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadData(
            f"the address {url!r} is neither http nor https; give such an address, or the folder of a "
            "local copy with --data"
        )
