"""Clean a raw text before tokens.py splits it: headers, encodings, UU-encoded blocks and markup are removed."""

from __future__ import annotations

from unnaive.text.mail import MESSAGE_PARTS, decode_mime, message_parts, message_pieces, mime_rows, needs_mime
from unnaive.text.markup import OffsetMap, Piece, strip_markup, visible_pieces

__all__ = [
    "MESSAGE_PARTS",
    "OffsetMap",
    "Piece",
    "decode_mime",
    "message_parts",
    "mime_rows",
    "needs_mime",
    "pieces",
    "visible_pieces",
]  # fmt: skip


def pieces(text: str, *, message: str | None, markup: bool) -> list[Piece]:
    """The pieces of a raw text that are read: the wanted parts of a message, decoded, without markup.

    >>> "".join(piece.text for piece in pieces("Subject: hi\\n\\n<b>body</b>", message="body", markup=True))
    ' body '
    """
    if message is None:
        return list(visible_pieces(text, 0, len(text))) if markup else [Piece(text, 0, len(text))]
    if needs_mime(text):
        stretches = message_pieces(text, message)
        return [piece for stretch in stretches for piece in (strip_markup(stretch) if markup else stretch)]
    parts = message_parts(text, message)
    if markup:
        return [piece for start, end in parts for piece in visible_pieces(text, start, end)]
    return [Piece(text[start:end], start, end) for start, end in parts]
