"""The model file: a safetensors file with the arrays, and JSON with everything else. It contains no code.

Writing is atomic: a temporary file in the same folder is flushed to disk and renamed over the old one. Loading checks
everything: a truncated, foreign, hostile or newer file is an error, and so is one with a flipped bit, since the header
and every array have a checksum.
"""

from __future__ import annotations

import json
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from unnaive import __version__
from unnaive.base.atomic_files import HashingFile, replacing
from unnaive.base.decompression import FOREIGN_FORMATS, PACKED_FORMATS
from unnaive.base.errors import BadModel, PluginError, UnnaiveError, UnnaiveWarning
from unnaive.base.open_files import check_exists, file_signature, local_path
from unnaive.base.system import locked_for_replacing
from unnaive.base.types import Arrays
from unnaive.classifier.checksums import (
    UNKNOWN,
    check_arrays,
    check_header,
    checksums_of,
    copy_checked,
    read_checksums,
    seal_header,
)
from unnaive.classifier.mapped_arrays import MappedArrays, map_arrays
from unnaive.classifier.packing import pack, unpack
from unnaive.learning.fitted import FittedModel

FORMAT = 3  # version of the format, raised when older versions cannot read it
KINDS = {"f": "F", "i": "I", "u": "U"}  # kinds of numbers in safetensors
KEY = "unnaive"  # key of the JSON in the metadata of the file
EARLIEST = 2  # oldest format that is still read, without checksums
SEALED = 3  # first format with checksums
START = 1 << 16  # bytes by which a model is recognised
LAZY = "documents."  # arrays that only updates need; for a mapped model they are checked then


def save(
    fitted: FittedModel, path: str | Path, *, frozen: bool = False, placing: Callable[[str], None] | None = None,
    may_replace: Callable[[Path], bool] | None = None,
) -> None:  # fmt: skip
    """Write the model; `frozen` leaves out counts, documents and hashes, so that it cannot be updated.

    The same model gives the same bytes. An existing file is replaced only if it is a model, or if `may_replace` allows
    it, and after all changes of it that are under way. `placing` is called with the SHA-256 of the new file before it
    replaces the old one.
    """
    target = check_writable(path, may_replace or is_model)
    with ExitStack() as stack:
        with suppress(OSError):  # a new file, or a file system without locks
            stack.enter_context(_locked(target))
        _write(fitted, path, target, frozen=frozen, placing=placing)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a model file; a warning says that another process holds it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked_for_replacing(path, wait=False))
        except BlockingIOError:
            warnings.warn(f"another process changes {path}; this one waits for it", UnnaiveWarning, stacklevel=6)
            stack.enter_context(locked_for_replacing(path))
        yield


def _write(
    fitted: FittedModel, path: str | Path, target: Path, *, frozen: bool = False,
    placing: Callable[[str], None] | None = None, check: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Write the model to `target`, whose lock is held; `check` is called before the old file is replaced."""
    arrays, about = pack(fitted, frozen=frozen)
    _check_loadable(arrays, about)
    try:
        with replacing(target) as file:
            if placing is None:
                write_arrays(file, arrays, about)
            else:
                hashing = HashingFile(file)
                write_arrays(hashing, arrays, about)  # type: ignore[arg-type]  # it only writes
                placing(hashing.sha256)
            check()
    except OSError as problem:
        raise UnnaiveError(f"{path} cannot be written ({_reason(problem)}); nothing was changed") from problem


def _check_loadable(arrays: Arrays, about: dict[str, Any]) -> None:
    """Raise an error if the model would be refused when loaded, for instance because weights are not finite."""
    plain = json.loads(json.dumps(about)) | {"format": FORMAT, "version": __version__}
    try:
        unpack(arrays, plain)
    except UnnaiveError as problem:
        raise UnnaiveError(f"this model cannot be saved, because it could not be loaded again: {problem}") from problem


def write_arrays(file: IO[bytes], arrays: Arrays, about: dict[str, Any]) -> None:
    """Write a safetensors file: the length of the header, the header, the arrays, without copying them."""
    file.write(_header(arrays, about, checksums_of(arrays)))
    for name in _order(arrays):
        file.write(arrays[name].astype(arrays[name].dtype.newbyteorder("<"), copy=False).data)


def count_bytes(arrays: Arrays, about: dict[str, Any]) -> int:
    """The number of bytes that `write_arrays` would write."""
    header = _header(arrays, about, dict.fromkeys(arrays, UNKNOWN))
    return len(header) + sum(array.nbytes for array in arrays.values())


def _header(arrays: Arrays, about: dict[str, Any], checksums: dict[str, str]) -> bytes:
    """The length of the header and the header itself, with the description in its metadata."""
    about = about | {"format": FORMAT, "version": __version__, "checksums": checksums}
    header, end = {}, 0
    for name in _order(arrays):
        start, end = end, end + arrays[name].nbytes
        kind = f"{KINDS[arrays[name].dtype.kind]}{8 * arrays[name].dtype.itemsize}"
        header[name] = {"dtype": kind, "shape": list(arrays[name].shape), "data_offsets": [start, end]}
    words = seal_header(header, {KEY: json.dumps(about, sort_keys=True)})
    return len(words).to_bytes(8, "little") + words


def _order(arrays: Arrays) -> list[str]:
    # wide ones first, so that all are aligned
    return sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))


def load_model(path: str | Path, *, mapped: bool = False) -> FittedModel:
    """Load the model in a file; `mapped`: read-only, with arrays shared with other processes."""
    file_path = _file(path)
    try:
        return _load(file_path, mapped)
    except BadModel as problem:
        raise BadModel(f"{path}: {' '.join(str(problem).splitlines())}") from problem
    except PluginError as problem:
        raise PluginError(f"{path}: {problem}") from problem
    except MemoryError as problem:
        raise BadModel(f"{path}: there is not enough memory to load this model; load a compressed one") from problem
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
        raise BadModel(f"{path}: the model in it is damaged ({_first_line(problem)}); train it again") from problem


def as_fitted(model: Any) -> FittedModel:
    """The FittedModel of a file or of a TextClassifier, or the argument itself."""
    if isinstance(model, (str, Path)):
        return load_model(model)
    fitted = getattr(model, "fitted_", model)
    if not isinstance(fitted, FittedModel):
        raise UnnaiveError(f"the model is a {type(model).__name__}; give a model file or a trained TextClassifier")
    return fitted


def _load(path: Path, mapped: bool) -> FittedModel:
    """Load the model; every array is compared with its checksum, for mapped models on first use."""
    mapped_arrays = _map(path)
    about = _description(mapped_arrays)
    checksums = read_checksums(about, mapped_arrays.arrays, required=about["format"] >= SEALED)
    if not mapped:
        return unpack(copy_checked(mapped_arrays.arrays, checksums), about)
    if checksums is None:
        return unpack(mapped_arrays.arrays, about, file=mapped_arrays.file)
    lazy = {name: array for name, array in mapped_arrays.arrays.items() if name.startswith(LAZY)}
    others = {name: array for name, array in mapped_arrays.arrays.items() if name not in lazy}
    mapped_arrays.file.verify = partial(check_arrays, others, checksums)
    return unpack(
        mapped_arrays.arrays, about, file=mapped_arrays.file, verify_documents=partial(check_arrays, lazy, checksums)
    )


def _file(path: str | Path) -> Path:
    file_path = check_exists(path)
    if file_path.is_dir():
        raise BadModel(f"{path}: this is a folder; name the model file in it")
    return file_path


def is_model(path: Path) -> bool:
    """Whether the file looks like a model, complete or not, by its first bytes."""
    with path.open("rb") as file:
        return starts_as_model(file.read(START))


def starts_as_model(start: bytes) -> bool:
    """Whether the first START bytes of a file are those of a model."""
    return start[8:9] == b"{" and f'"{KEY}"'.encode() in start


def documents_bytes(path: Path) -> int:
    """The bytes of a model file that are counted documents, which only updates need."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    spans = [entry["data_offsets"] for name, entry in header.items() if name.startswith("documents.")]
    return sum(end - start for start, end in spans)


def check_writable(path: str | Path, may_replace: Callable[[Path], bool] = is_model) -> Path:
    """The path to write to, after following links; a folder, a device or a file that is no model is refused.

    A link to a write-protected file leads into a content-addressed cache, such as DVC's.
    """
    target = Path(os.path.realpath(local_path(path)))
    if not target.parent.is_dir():
        raise UnnaiveError(f"{path} cannot be written: there is no folder {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK):
        raise UnnaiveError(f"{path} cannot be written: you may not write in {target.parent}; choose another folder")
    try:
        kind = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as problem:
        raise UnnaiveError(f"{path} cannot be written ({_reason(problem)}); name another file") from problem
    if not stat.S_ISREG(kind):
        raise UnnaiveError(f"{path} is {'a folder' if stat.S_ISDIR(kind) else 'not a regular file'}; name a file")
    if not kind & 0o222 and Path(path).is_symlink():
        raise UnnaiveError(f"{path} is a link to a write-protected file, {target}; put a copy in its place first")
    if target.stat().st_size and not may_replace(target):
        raise UnnaiveError(f"{path} exists and is not a model; name another file, or remove that one")
    return target


def update_model_file(
    path: str | Path,
    change: Callable[[FittedModel], FittedModel],
    *,
    placing: Callable[[str], None] | None = None,
    done: Callable[[], None] = lambda: None,
) -> FittedModel:
    """Replace the model in a file by the result of `change`; other writers of the file wait.

    Nothing is written if `change` raises, or if a program that knows no locks replaced the file meanwhile. `placing` is
    called with the hash of the new file before it replaces the old one, `done` afterwards, while others still wait.
    """
    target = _file(path)
    with _locked(target):
        before = file_signature(target)

        def check() -> None:
            if file_signature(target) != before:
                raise UnnaiveError(
                    f"{path} was replaced by another program while it was changed; nothing was written; run the "
                    "command again"
                )

        changed = change(load_model(target))
        _write(changed, path, check_writable(path), placing=placing, check=check)
        done()
        return changed


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)


def _map(path: Path) -> MappedArrays:
    """The content of the file, mapped."""
    try:
        return map_arrays(path)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        if _is_data(path):
            raise BadModel(
                "this is data, not a model; the model comes first, as in: unnaive predict MODEL DATA"
            ) from None
        raise BadModel(
            f"this is not a model, or it is damaged ({_first_line(problem)}); name a model file"
        ) from problem
    except OSError as problem:
        raise BadModel(f"it cannot be read ({_reason(problem)}); check its permissions") from problem


def _is_data(path: Path) -> bool:
    """Whether a file that is not a model is text or of another known format, unless it has the name of a model.

    A model begins with a small number.
    """
    if path.suffix.lower() in ("", ".model", ".safetensors"):
        return False
    with path.open("rb") as file:
        start = file.read(8)
    return start.startswith((*FOREIGN_FORMATS, *PACKED_FORMATS)) or 0 not in start


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or ["no reason given"])[0][:120]


def _description(mapped_arrays: MappedArrays) -> dict[str, Any]:
    """The JSON of a model file, if its format is supported and its header undamaged."""
    if KEY not in mapped_arrays.metadata:
        raise BadModel("this is a safetensors file, but not a model of unnaive; name a model file")
    try:
        about = json.loads(mapped_arrays.metadata[KEY])
    except (ValueError, RecursionError) as problem:
        raise BadModel("its description is damaged; train it again") from problem
    if not isinstance(about, dict) or type(about.get("format")) is not int:
        raise BadModel("its description is damaged; train it again")
    if about["format"] < EARLIEST:
        raise BadModel(
            f"it has format {about['format']}, written by unnaive {about.get('version', 'of an earlier version')}, and "
            f"this unnaive {__version__} reads format {EARLIEST} to {FORMAT}; train it again"
        )
    if about["format"] > FORMAT:
        raise BadModel(
            f"it has format {about['format']}, written by unnaive {about.get('version', 'of a later version')}, and "
            f"this unnaive {__version__} reads up to {FORMAT}; update with: pip install --upgrade unnaive"
        )
    check_header(mapped_arrays.header, mapped_arrays.metadata, required=about["format"] >= SEALED)
    return about
