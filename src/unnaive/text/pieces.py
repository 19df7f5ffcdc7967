"""What is read of a raw text: headers, UU blocks and markup fall away before tokens.py splits it.

A Piece is a stretch of the original with the text it stands for, so that a word found in the cleaned text can be
shown where it was written.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """`text` is what is read for original[start:end]; the same characters, but for entities and tags."""

    text: str
    start: int
    end: int


# comments, scripts and styles run to their end or, unclosed, to the end of the text, as in a browser
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<element>script|style)\b.*?(?:</(?P=element)\s*>|\Z)"
    r"|<[!/?a-z][^<>]*>"
    r"|(?P<entity>&(?:\#x[0-9a-f]{1,8}|\#[0-9]{1,8}|[a-z][a-z0-9]{0,40});?)",
    re.DOTALL | re.IGNORECASE | re.ASCII,
)


def visible(text: str, start: int, end: int) -> Iterator[Piece]:
    """The pieces of text[start:end] without tags, comments, scripts and styles, its entities decoded.

    >>> "".join(piece.text for piece in visible("<p>caf&eacute;<br>bar", 0, 21))
    ' café bar'
    """
    at = start
    for match in _MARKUP.finditer(text, start, end):
        if match.start() > at:
            yield Piece(text[at : match.start()], at, match.start())
        yield Piece(html.unescape(match[0]) if match["entity"] else " ", *match.span())
        at = match.end()
    if at < end:
        yield Piece(text[at:end], at, end)


_FIELD = re.compile(r"([!-9;-~]+):")
_PARTS = {"whole": None, "body": (), "subject-body": ("subject",), "from-subject-body": ("from", "subject")}
MESSAGE_PARTS = tuple(_PARTS)


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end with its newline, the line without it) of every line."""
    start = 0
    while start < len(text):
        stop = text.find("\n", start)
        end = len(text) if stop < 0 else stop + 1
        yield start, end, text[start:end].removesuffix("\n").removesuffix("\r")
        start = end


def _header(text: str, wanted: tuple[str, ...]) -> tuple[list[tuple[int, int]], int]:
    """(where the values of the wanted fields are, where the body starts).

    A header is fields and their indented continuations up to an empty line or the end; a text that does not
    begin so has none. An mbox "From " line, or the rest of a line that was cut, may come first.
    """
    values: list[tuple[int, int]] = []
    in_field = keep = False
    for start, end, line in _lines(text):
        field = _FIELD.match(line)
        if field:
            in_field, keep = True, field[1].lower() in wanted
            if keep:
                values.append((start + field.end(), end))
        elif in_field and line[:1] in (" ", "\t"):
            if keep:
                values.append((start, end))
        elif in_field and not line:
            return values, end
        elif not (start == 0 and line.startswith(("From ", " ", "\t"))):
            return [], 0
    return (values, len(text)) if in_field else ([], 0)


_UU_BEGIN = re.compile(r"begin [0-7]{3,4} ")
_UU_FULL = re.compile(r"M[ -`]{60,61}\Z")
_UU_CHARACTERS = re.compile(r"[!-L][ -`]*\Z")


def _uu_last(line: str) -> bool:
    """Whether the line is the short last one of a block: its first character gives its length."""
    if not line.strip(" `"):
        return True
    return bool(_UU_CHARACTERS.match(line)) and len(line) == 1 + (ord(line[0]) - 32 + 2) // 3 * 4


def _without_uu(text: str, body: int) -> Iterator[tuple[int, int]]:
    """The lines of text[body:] that are not in a UU-encoded block, neighbours joined."""
    inside, kept = False, body
    for start, end, line in _lines(text[body:]):
        if _UU_BEGIN.match(line) or _UU_FULL.match(line):
            inside = skip = True
        else:
            skip = inside and (line == "end" or _uu_last(line))
            inside = skip and line != "end"
        if skip:
            yield kept, body + start
            kept = body + end
    yield kept, len(text)


def message_parts(text: str, message: str) -> list[tuple[int, int]]:
    """Where the wanted parts of a message are, in the order of the text, without UU-encoded blocks.

    >>> text = "From: ann\\nSubject: hi\\nDate: today\\n\\nbody"
    >>> [text[start:end] for start, end in message_parts(text, "subject-body")]
    [' hi\\n', 'body']
    """
    wanted = _PARTS[message]
    values, body = ([], 0) if wanted is None else _header(text, wanted)
    return [part for part in [*values, *_without_uu(text, body)] if part[0] < part[1]]


def pieces(text: str, *, message: str | None, markup: bool) -> list[Piece]:
    """What is read of a raw text: the wanted parts of a message, without its markup."""
    parts: Iterable[tuple[int, int]] = [(0, len(text))] if message is None else message_parts(text, message)
    if markup:
        return [piece for start, end in parts for piece in visible(text, start, end)]
    return [Piece(text[start:end], start, end) for start, end in parts]


class Places:
    """Offsets in the cleaned text → offsets in the original.

    >>> places = Places(list(visible("<b>caf&eacute;s", 0, 15)))
    >>> places.original(1, 6)   # "cafés" is written in 3..15
    (3, 15)
    """

    def __init__(self, parts: list[Piece]) -> None:
        self.parts = parts
        self.starts = [0]
        for piece in parts:
            self.starts.append(self.starts[-1] + len(piece.text))

    def _at(self, offset: int) -> tuple[Piece, int]:
        index = bisect_right(self.starts, offset) - 1
        return self.parts[index], offset - self.starts[index]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the original that cleaned[start:end] was read from."""
        first, skip = self._at(start)
        last, length = self._at(end - 1)
        verbatim = len(first.text) == first.end - first.start
        begin = first.start + skip if verbatim else first.start
        verbatim = len(last.text) == last.end - last.start
        return begin, last.start + length + 1 if verbatim else last.end
