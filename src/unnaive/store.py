"""One model, one file: a safetensors file with the arrays, and JSON with everything else. Nothing in it is run.

Writing is atomic: a temporary file in the same folder, flushed to disk, renamed over the old one. Loading trusts
nothing: a file that is truncated, foreign, hostile or newer gives one sentence.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unnaive import __version__
from unnaive.classifier import TextClassifier
from unnaive.errors import BadModel, UnnaiveError
from unnaive.packing import packed, unpacked
from unnaive.reading.sources import check_exists
from unnaive.types import Arrays

FORMAT = 1
KEY = "unnaive"  # of the JSON in the file's metadata


def save(classifier: TextClassifier, path: str | Path, *, frozen: bool = False) -> None:
    """Write the model; `frozen` leaves out the counts, so that it is smaller and cannot be updated.

    The same model gives the same bytes. A file that is there already is replaced only if it is a model too.
    """
    target = check_writable(path)
    arrays, about = packed(classifier, frozen=frozen)
    about |= {"format": FORMAT, "version": __version__}
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.touch(exist_ok=False)
        mode = (target if target.exists() else temporary).stat().st_mode  # the library makes it private
        save_file(arrays, temporary, metadata={KEY: json.dumps(about, sort_keys=True)})
        temporary.chmod(mode)
        _flush(temporary)
        temporary.replace(target)
        _flush(target.parent)
    except (OSError, SafetensorError) as problem:
        raise UnnaiveError(f"{path} cannot be written ({_reason(problem)}); what was there is untouched") from problem
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def load(path: str | Path) -> TextClassifier:
    """The model in a file that `save` wrote."""
    place = _file(path)
    try:
        return unpacked(*_read(place))
    except BadModel as problem:
        raise BadModel(f"{path}: {problem}") from problem
    except (UnnaiveError, KeyError, TypeError, ValueError, IndexError, OverflowError) as problem:
        raise BadModel(f"{path}: the model in it is damaged ({problem}); train it again") from problem


def _file(path: str | Path) -> Path:
    place = check_exists(path)
    if place.is_dir():
        raise BadModel(f"{path}: this is a folder; name the model file in it")
    return place


def is_model(path: Path) -> bool:
    """Whether the file looks like a model of ours, whole or not: judged by its first bytes."""
    with path.open("rb") as file:
        start = file.read(1 << 16)
    return start[8:9] == b"{" and f'"{KEY}"'.encode() in start


def check_writable(path: str | Path) -> Path:
    """Where to write: links are followed; a folder, a device or somebody's other file is refused."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise UnnaiveError(f"{path} cannot be written: there is no folder {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK):
        raise UnnaiveError(f"{path} cannot be written: you may not write in {target.parent}; choose another folder")
    try:
        kind = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as problem:
        raise UnnaiveError(f"{path} cannot be written ({_reason(problem)})") from problem
    if not stat.S_ISREG(kind):
        raise UnnaiveError(f"{path} is {'a folder' if stat.S_ISDIR(kind) else 'no regular file'}; name a file")
    if target.stat().st_size and not is_model(target):
        raise UnnaiveError(f"{path} is there already and is not a model; name another file, or remove that one")
    return target


@contextmanager
def updating(path: str | Path) -> Iterator[TextClassifier]:
    """The model in a file, to be changed and then written back; others who update the file wait.

    Nothing is written if the block raises.
    """
    with _locked(_file(path)):
        classifier = load(path)
        yield classifier
        save(classifier, path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """An exclusive lock on the file that is at `path` when the lock is there; a writer before us renames a new one."""
    while True:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                yield
                return


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)


def _read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and description of a file; the library checks sizes against the file before it hands out anything."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            about = _description(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
    except SafetensorError as problem:
        raise BadModel(f"this is no model, or a damaged one ({_first_line(problem)})") from problem
    except (OSError, AttributeError, TypeError) as problem:  # unreadable; or a kind of number that numpy has not
        raise BadModel(f"it cannot be read ({_reason(problem)})") from problem
    return arrays, about


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or ["no reason given"])[0][:120]


def _description(metadata: dict[str, str]) -> dict[str, Any]:
    if KEY not in metadata:
        raise BadModel("this is a safetensors file, but no model of unnaive")
    try:
        about = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as problem:
        raise BadModel("its description is damaged; train it again") from problem
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise BadModel("its description is damaged; train it again")
    if about["format"] > FORMAT:
        raise BadModel(
            f"it has format {about['format']}, written by unnaive {about.get('version', 'of later date')}, and this "
            f"unnaive {__version__} reads up to {FORMAT}; update with: pip install --upgrade unnaive"
        )
    return about
