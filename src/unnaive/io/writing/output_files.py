"""Results to stdout or atomically to a file; compressed if its name ends in .gz, .zst, .bz2 or .xz."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TextIO, cast

from unnaive.base.atomic_files import replacing
from unnaive.base.extras import import_extra
from unnaive.base.visible_text import visible
from unnaive.io.endings import PACKINGS, split_ending


@contextmanager
def open_output(path: Path | None, *, binary: bool = False, tidy: bool = True) -> Iterator[Any]:
    """A file that appears when the block is done, compressed by its ending; stdout for None or "-".

    Without `tidy`, temporary files of killed writers stay; see `remove_leftovers`.

    Characters that UTF-8 cannot encode, such as half a surrogate pair, are written as escapes; on a terminal, control
    characters too.
    """
    if path is None or str(path) == "-":
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        return
    packing = PACKINGS.get(split_ending(path)[1], "")
    options: dict[str, Any] = {"encoding": "utf-8", "newline": "", "errors": "backslashreplace"}
    try:
        if path.exists() and not path.is_file():  # a device or a pipe: there is nothing to rename
            with _open_device(path, binary, options) as file:
                yield VisibleStream(cast(TextIO, file)) if file.isatty() and not binary else file
        elif binary or packing:
            with replacing(Path(os.path.realpath(path)), "w+b", tidy=tidy) as raw:
                if binary:
                    yield raw
                else:
                    with _open_packed(raw, packing, options) as file:
                        yield file
        else:
            with replacing(Path(os.path.realpath(path)), "w", tidy=tidy, **options) as file:
                yield cast(TextIO, file)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise OSError(problem.errno, f"{problem.strerror}; nothing was written", str(path)) from problem


class VisibleStream(io.TextIOBase):
    """A terminal that shows control characters as escapes."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write the text with visible control characters."""
        return self._file.write(visible(text))

    def flush(self) -> None:
        """Flush the terminal."""
        self._file.flush()

    def isatty(self) -> bool:
        """True: it is a terminal."""
        return True


def _open_device(path: Path, binary: bool, options: dict[str, Any]) -> IO[Any]:
    return path.open("wb") if binary else path.open("w", **options)


def _open_packed(raw: Any, packing: str, options: dict[str, Any]) -> IO[Any]:
    """A text stream that compresses into `raw`, which stays open."""
    if packing != "zstd":
        library = import_module({"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}[packing])
        return cast(IO[Any], library.open(raw, "wt", **options))
    pyarrow = import_extra("pyarrow", "writing .zst files")
    stream = pyarrow.CompressedOutputStream(pyarrow.PythonFile(_Unclosed(raw), mode="w"), "zstd")
    return io.TextIOWrapper(stream, **options)


class _Unclosed(io.RawIOBase):
    """A file that compressors may close without effect; only its owner closes it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        """True: it is for writing."""
        return True

    def write(self, data: Any) -> int:
        """Pass the bytes on."""
        return self._file.write(data)
