"""Pieces of a text with their spans in the original, and the removal of HTML tags and entities.

A Piece knows its span in the original, so that a word found in the cleaned text can be shown in the original.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Piece(NamedTuple):
    """`text` is read instead of original[start:end]; the two differ only for entities, tags and encodings."""

    text: str
    start: int
    end: int


# an unclosed comment, script or style extends to the end of the text, as in a browser
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<element>script|style)\b.*?(?:</(?P=element)\s*>|\Z)"
    r"|<[!/?a-z][^<>]*>"
    r"|(?P<entity>&(?:\#x[0-9a-f]{1,8}|\#[0-9]{1,8}|[a-z][a-z0-9]{0,40});?)",
    re.DOTALL | re.IGNORECASE | re.ASCII,
)

_USUAL_TAG = re.compile(
    r"</?(?:html|head|body|p|div|span|br|a|b|i|u|em|strong|font|img|table|tr|td|th|ul|ol|li|h[1-6]|pre|blockquote)\b[^<>]*>",
    re.IGNORECASE | re.ASCII,
)


def hold_markup(texts: Iterable[str]) -> bool:
    """Whether at least half of the non-empty texts have a common HTML tag; False if all are empty.

    >>> hold_markup(["<p>four doors</p>", "a < b and c > d"]), hold_markup(["a <b", "x <y> z"])
    (True, False)
    """
    filled = [text for text in texts if text.strip()]
    return bool(filled) and 2 * sum(_USUAL_TAG.search(text) is not None for text in filled) >= len(filled)


def _unescape(entity: str) -> str:
    from html import unescape  # a table of 2,231 names, which is rarely needed

    return unescape(entity)


def visible_pieces(text: str, start: int, end: int) -> Iterator[Piece]:
    """Yield the pieces of text[start:end] without tags, comments, scripts and styles, with entities decoded.

    >>> "".join(piece.text for piece in visible_pieces("<p>caf&eacute;<br>bar", 0, 21))
    ' café bar'
    """
    at = start
    for match in _MARKUP.finditer(text, start, end):
        if match.start() > at:
            yield Piece(text[at : match.start()], at, match.start())
        yield Piece(_unescape(match[0]) if match["entity"] else " ", *match.span())
        at = match.end()
    if at < end:
        yield Piece(text[at:end], at, end)


class OffsetMap:
    """Offsets in the cleaned text → offsets in the original.

    >>> places = OffsetMap(list(visible_pieces("<b>caf&eacute;s", 0, 15)))
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
        """The span in the original of cleaned[start:end]; an empty one lies before a character, or behind the last."""
        if start == end:
            behind = start == self.starts[-1]
            place = self.original(start - behind, start - behind + 1)[behind]
            return place, place
        first, skip = self._at(start)
        last, length = self._at(end - 1)
        verbatim = len(first.text) == first.end - first.start
        begin = first.start + skip if verbatim else first.start
        verbatim = len(last.text) == last.end - last.start
        return begin, last.start + length + 1 if verbatim else last.end

    def cut(self, ranges: Iterable[tuple[int, int]]) -> Iterator[Piece]:
        """Yield the pieces of some ranges of the cleaned text."""
        for start, end in ranges:
            while start < end:
                piece, skip = self._at(start)
                size = min(end - start, len(piece.text) - skip)
                yield Piece(piece.text[skip : skip + size], *self.original(start, start + size))
                start += size


def strip_markup(parts: list[Piece]) -> list[Piece]:
    """The pieces without tags; a tag may extend over several pieces.

    >>> strip_markup([Piece("a <", 0, 3), Piece("b> c", 9, 13)])
    [Piece(text='a ', start=0, end=2), Piece(text=' ', start=2, end=11), Piece(text=' c', start=11, end=13)]
    """
    places = OffsetMap(parts)
    joined = "".join(piece.text for piece in parts)
    return [
        Piece(piece.text, *places.original(piece.start, piece.end)) for piece in visible_pieces(joined, 0, len(joined))
    ]
