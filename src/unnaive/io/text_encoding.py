"""Lines of text of a file or of stdin, in the right encoding; csv_tables.py makes rows of them.

Memory is bounded by one line of at most `max_line` bytes.
"""

from __future__ import annotations

import codecs
import io
import warnings
import zlib
from collections.abc import Iterator
from functools import partial
from typing import IO

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.base.open_files import STDIN, STDIN_NAME, ByteSource
from unnaive.io.read_options import MAX_LINE, ReadOptions

Lines = Iterator[tuple[int, str]]  # numbered from 1

# The likely encoding of a file that is not UTF-8: the Windows code page of the language, Western by default.
CODE_PAGES = {
    "tr": "cp1254", "ru": "cp1251", "uk": "cp1251", "bg": "cp1251", "el": "cp1253", "he": "cp1255", "ar": "cp1256",
    "pl": "cp1250", "cs": "cp1250", "sk": "cp1250", "hu": "cp1250", "ro": "cp1250", "lt": "cp1257", "lv": "cp1257",
    "et": "cp1257", "vi": "cp1258",
}  # fmt: skip
WESTERN = "cp1252"

BYTE_ORDER_MARK = "\ufeff"  # decoded
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def open_source(source: ByteSource, options: ReadOptions) -> IO[bytes]:
    """The decompressed bytes of a file or of stdin; with `options.looking`, they stay there for the next reader."""
    if options.looking:
        return source.look(options.max_ratio)
    return source.open(options.on_read, options.max_ratio)


def read_lines(source: ByteSource, options: ReadOptions) -> Lines:
    """The numbered lines of a file or of stdin, which is closed at the end."""
    return decode_lines(
        open_source(source, options), STDIN_NAME if source.path == STDIN else source.path, encoding=options.encoding,
        language=options.language, max_line=options.max_line, silent=options.looking, before=source.lines_before,
    )  # fmt: skip


def decode_lines(
    stream: IO[bytes], name: str, *, encoding: str | None = None, language: str = "en", max_line: int = MAX_LINE,
    silent: bool = False, before: int = 0,
) -> Lines:  # fmt: skip
    """Numbered lines with their ends, decoded, after `before` earlier ones; a lone carriage return also ends a line.

    The stream is closed at the end. The encoding is the one given, or that of a byte-order mark, or UTF-8; lines that
    are not UTF-8 are read in the code page of `language`, with a warning, unless `silent`. A truncated compressed file
    is an error.

    >>> list(decode_lines(io.BytesIO("çay\\r\\nköfte".encode()), "menu"))
    [(1, 'çay\\r\\n'), (2, 'köfte')]
    """
    number = before
    nuls = False
    try:
        with stream:
            for line in _choose_decoder(stream, name, encoding, language, max_line, silent, before):
                for piece in io.StringIO(line, newline="") if "\r" in line else (line,):
                    number += 1
                    if "\0" in piece and not nuls:
                        nuls = _report_nuls(piece, name, number, silent)
                    yield number, piece
    except (EOFError, zlib.error, OSError) as problem:
        where = f"after line {number}" if number > before else "before its first line"
        raise BadData(f"{name} is truncated or damaged {where} ({problem}); copy it again") from problem


def _check_length(line: str | bytes, number: int, name: str, max_line: int) -> None:
    if len(line) > max_line:
        raise BadData(
            f"line {number} of {name} is longer than {max_line >> 20} MiB; if that is right, use --set max-line=SIZE"
        )


def _choose_decoder(
    stream: IO[bytes], name: str, encoding: str | None, language: str, max_line: int, silent: bool, before: int
) -> Iterator[str]:
    marked = _find_byte_order_mark(stream)
    if marked == "utf-8-sig" and (encoding is None or names_utf8(encoding)):
        stream.read(len(codecs.BOM_UTF8))
    elif encoding is None:
        encoding = marked
    if encoding is None:
        code_page = CODE_PAGES.get(language, WESTERN)
        return _decode_utf8_or_code_page(stream, name, code_page, max_line, silent, before)
    return _decode_as(stream, name, encoding, max_line, before)


def names_utf8(encoding: str) -> bool:
    """Whether the name is one of UTF-8.

    >>> names_utf8("UTF_8"), names_utf8("utf-16")
    (True, False)
    """
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def _find_byte_order_mark(stream: IO[bytes]) -> str | None:
    peek = getattr(stream, "peek", None)
    start = peek(4)[:4] if peek else stream.read(4)
    if not peek:
        stream.seek(0)
    return next((encoding for mark, encoding in BYTE_ORDER_MARKS if start.startswith(mark)), None)


def _decode_as(stream: IO[bytes], name: str, encoding: str, max_line: int, before: int) -> Iterator[str]:
    try:
        wrapped = io.TextIOWrapper(stream, encoding=encoding, newline="")
    except LookupError as unknown:
        raise BadData(f"no encoding called {encoding!r}; common ones are utf-8, utf-16, cp1252, cp1254") from unknown
    try:
        for number, line in enumerate(iter(partial(wrapped.readline, max_line + 1), ""), start=before + 1):
            _check_length(line, number, name, max_line)
            yield line
    except UnicodeError as problem:
        raise BadData(
            f"{name} is not {encoding} ({_describe_unicode_error(problem)}); use another --set encoding=NAME"
        ) from problem
    finally:
        if not wrapped.closed:
            wrapped.detach()


def _describe_unicode_error(problem: UnicodeError) -> str:
    if isinstance(problem, UnicodeDecodeError):
        return f"byte 0x{problem.object[problem.start]:02x}"
    return str(problem)


def _decode_utf8_or_code_page(
    stream: IO[bytes], name: str, code_page: str, max_line: int, silent: bool, before: int
) -> Iterator[str]:
    """Decode each line as UTF-8 if it is valid, else by the code page, whose text is hardly ever valid UTF-8."""
    warned = silent
    for number, raw in enumerate(iter(partial(stream.readline, max_line + 1), b""), start=before + 1):
        if len(raw) > max_line:
            _check_length(raw, number, name, max_line)
        try:
            yield raw.decode()
        except UnicodeDecodeError as problem:
            if not warned:
                warned = _warn_about_code_page(name, f"byte 0x{raw[problem.start]:02x} on line {number}", code_page)
            yield decode_code_page(raw, code_page)


def _warn_about_code_page(name: str, where: str, code_page: str) -> bool:
    warnings.warn(
        f"{name} is not UTF-8 ({where}): such lines are read as {code_page}; if that is wrong, use --set encoding=NAME",
        UnnaiveWarning,
        stacklevel=3,
    )
    return True


def decode_code_page(raw: bytes, code_page: str) -> str:
    """The bytes as text; bytes that a Windows code page does not define are control characters, as in browsers.

    >>> decode_code_page(b"caf\\xe9\\x81", "cp1252")
    'café\\x81'
    """
    return raw.decode(code_page, errors="unnaive-control")


def _keep_control_bytes(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeDecodeError):
        raise problem
    return problem.object[problem.start : problem.end].decode("latin-1"), problem.end


codecs.register_error("unnaive-control", _keep_control_bytes)


def _guess_byte_order(piece: str) -> str:
    """The encoding of a UTF-16 line without a byte-order mark: by which byte of each two is NUL.

    >>> _guess_byte_order("t\\0e\\0x\\0t\\0"), _guess_byte_order("\\0t\\0e\\0x\\0t")
    ('--set encoding=utf-16-le', '--set encoding=utf-16-be')
    """
    first, second = piece[::2].count("\0"), piece[1::2].count("\0")
    if abs(first - second) <= len(piece) // 8:
        return "--set encoding=utf-16-le, or utf-16-be"
    return f"--set encoding=utf-16-{'be' if first > second else 'le'}"


def _report_nuls(piece: str, name: str, number: int, silent: bool) -> bool:
    if piece.count("\0") * 4 > len(piece):
        raise BadData(f"line {number} of {name} is mostly NULs; if the file is UTF-16, use {_guess_byte_order(piece)}")
    if not silent:
        warnings.warn(
            f"{name} contains NULs (line {number}); they are read as word borders", UnnaiveWarning, stacklevel=3
        )
    return True
