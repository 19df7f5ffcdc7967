"""Mail and news: which parts of an RFC 822 message are read, and how MIME parts are decoded.

A plain message is split by its lines, which the kernel does too. A message that needs MIME decoding (`needs_mime`) is
decoded here by the standard library's email package, for the kernel and the reference alike: transfer encodings,
charsets, nested parts, HTML. Of an attachment only the name is read; of alternatives the plain text is taken.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveWarning
from unnaive.text.backend import kernel
from unnaive.text.encoded_words import NO_TEXT, decode_bytes, decode_words
from unnaive.text.markup import OffsetMap, Piece, strip_markup
from unnaive.text.token_rule import MESSAGE_HEADERS

if TYPE_CHECKING:
    from email.message import Message

_FIELD = re.compile(r"([!-9;-~]+):")
MESSAGE_PARTS = tuple(MESSAGE_HEADERS)


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end including the newline, the line without it) of every line."""
    start = 0
    while start < len(text):
        stop = text.find("\n", start)
        end = len(text) if stop < 0 else stop + 1
        yield start, end, text[start:end].removesuffix("\n").removesuffix("\r")
        start = end


def _header(text: str, field_names: tuple[str, ...]) -> tuple[list[tuple[int, int]], int]:
    """(spans of the values of the wanted fields, start of the body).

    A header is a sequence of fields with indented continuation lines, up to an empty line or the end; a text that
    begins otherwise has no header. An mbox "From " line, or the rest of a truncated line, may come first.
    """
    values: list[tuple[int, int]] = []
    in_field = keep = False
    for start, end, line in _lines(text):
        field = _FIELD.match(line)
        if field:
            in_field, keep = True, field[1].lower() in field_names
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
    """Whether the line is the last, shorter line of a block; its first character encodes its length."""
    if not line.strip(" `"):
        return True
    return bool(_UU_CHARACTERS.match(line)) and len(line) == 1 + (ord(line[0]) - 32 + 2) // 3 * 4


def _without_uu(text: str, body: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of text[body:] that are outside UU-encoded blocks."""
    inside, span_start = False, body
    for start, end, line in _lines(text[body:]):
        if _UU_BEGIN.match(line) or _UU_FULL.match(line):
            inside = skip = True
        else:
            skip = inside and (line == "end" or _uu_last(line))
            inside = skip and line != "end"
        if skip:
            yield span_start, body + start
            span_start = body + end
    yield span_start, len(text)


def message_parts(text: str, message: str) -> list[tuple[int, int]]:
    """The spans of the wanted parts of a plain message, in order, without UU-encoded blocks.

    >>> text = "From: ann\\nSubject: hi\\nDate: today\\n\\nbody"
    >>> [text[start:end] for start, end in message_parts(text, "subject-body")]
    [' hi\\n', 'body']
    """
    field_names = MESSAGE_HEADERS[message]
    values, body = ([], 0) if field_names is None else _header(text, field_names)
    return [part for part in [*values, *_without_uu(text, body)] if part[0] < part[1]]


# MIME

LONGEST_HEADER = 1 << 16  # characters that are searched for the fields below
_ENCODED = re.compile(
    r"^content-transfer-encoding:\s*[\"']?(?:base64|quoted-printable|x-uu|uu)"
    r"|^content-type:\s*[\"']?(?:multipart|message|application|image|audio|video)/"
    r"|^content-type:\s*[\"']?text/html"
    r"|=\?[!->@-~]+\?[bq]\?",
    re.MULTILINE | re.ASCII,  # the same in characters as in bytes: no other spaces
)


def needs_mime(text: str) -> bool:
    """Whether a text is a message whose header requires MIME decoding; the check is fast for other texts.

    >>> needs_mime("Subject: hi\\nContent-Type: multipart/mixed; boundary=x\\n\\n--x"), needs_mime("multipart/mixed")
    (True, False)
    """
    start = text[:LONGEST_HEADER]
    end = start.find("\n\n")
    lowered = (start if end < 0 else start[:end]).lower()
    if "content-t" not in lowered and "=?" not in lowered:
        return False
    head = start[: _header(start, ())[1]].lower()
    return _ENCODED.search(head) is not None


def mime_rows(texts: Sequence[str]) -> list[int]:
    """The row numbers of the texts that need MIME decoding; the kernel leaves out most others.

    >>> mime_rows(["plain", "Content-Type: text/html\\n\\n<b>bold</b>"])
    [1]
    """
    rows = range(len(texts)) if kernel is None else kernel.mime_rows(texts, LONGEST_HEADER)
    return [row for row in rows if needs_mime(texts[row])]


def decode_mime(text: str, message: str) -> str:
    """The decoded message as plain text, for code that does not know MIME; plain texts are unchanged.

    >>> decode_mime("Subject: =?utf-8?q?caf=C3=A9?=\\n\\nbody", "subject-body")
    '\\n café\\nbody\\n'
    """
    if not needs_mime(text):
        return text
    # the empty first line prevents decoded text from being read as a header
    return "\n" + "".join(piece.text for piece in mime_pieces(text, message))


def message_pieces(text: str, message: str) -> list[list[Piece]]:
    """The wanted parts of a MIME message, decoded: the stretches between UU-encoded blocks, which no tag spans."""
    places = OffsetMap(mime_pieces(text, message))
    joined = "".join(piece.text for piece in places.parts)
    return [list(places.cut([stretch])) for stretch in _without_uu(joined, 0)]


def mime_pieces(text: str, message: str) -> list[Piece]:
    """The wanted header fields and all readable parts of the body, decoded.

    If the email package fails on a message, or would take too long, its body is read undecoded.
    """
    field_names = MESSAGE_HEADERS[message]
    values, body = _header(text, field_names or ())
    fields = _joined(values) if field_names is not None else list(_without_mime_fields(text, body))
    head = [piece for start, end in fields for piece in _decode_field(text, start, end)]
    problem = _find_excess(text)
    if problem is not None:
        warnings.warn(f"a message has {problem}; its body is read without decoding", UnnaiveWarning, stacklevel=2)
        return [*head, Piece(text[body:], body, len(text))]
    from email import message_from_string  # takes 15 ms, so it is imported only for mail

    first = 0 if _FIELD.match(text) else text.find("\n") + 1
    try:
        return head + list(_decode_body(message_from_string(text[first:]), text, body))
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError):
        return [*head, Piece(text[body:], body, len(text))]


# The email package takes time quadratic in the parameters of a field, and in the nesting depth of parts.
LONGEST_FIELD = 1 << 12  # characters of a Content-Type or Content-Disposition field
DEEPEST_PART = 50  # nesting depth of multiparts
_CONTENT_FIELD = re.compile(
    r"^content-(?:type|disposition)[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE
)
_BOUNDARY = re.compile(r"boundary[ \t]*=[ \t]*(?:\"([^\"]*)\"|([^\s;\"]+))", re.IGNORECASE)


def _has_no_text_charset(field: str) -> bool:
    """Whether a parameter of a field is a charset for host names.

    >>> _has_no_text_charset("Content-Type: text/plain; Charset=IDNA"), _has_no_text_charset("text/plain; name=idna")
    (True, False)
    """
    values = [part.partition("charset")[2] for part in re.split("[;\n]", field.lower())]
    return any(name in value for value in values for name in NO_TEXT)


def _find_excess(text: str) -> str | None:
    """Why a message is too expensive to decode, in words; None for normal messages."""
    open_parts: list[str] = []
    at = 0
    for field in _CONTENT_FIELD.finditer(text):
        if field.end() - field.start() > LONGEST_FIELD:
            return f"a Content-Type or Content-Disposition field of more than {LONGEST_FIELD:,} characters"
        if _has_no_text_charset(field[0]):
            return "a charset for host names"
        boundary = _BOUNDARY.search(field[0])
        if boundary is None:
            continue
        _close_parts(open_parts, text, at, field.start())
        at = field.end()
        open_parts.append(boundary[1] or boundary[2] or "")
        if len(open_parts) > DEEPEST_PART:
            return f"parts nested more than {DEEPEST_PART} deep"
    return None


def _close_parts(open_parts: list[str], text: str, start: int, end: int) -> None:
    """Remove the multiparts that boundary lines in text[start:end] close, with the parts nested in them."""
    depths = {f"--{boundary}": depth for depth, boundary in enumerate(open_parts)}
    for _, _, line in _lines(text[start:end]):
        if line.startswith("--"):
            line = line.rstrip(" \t")
            depth = depths.get(line.removesuffix("--") if line not in depths else line)
            if depth is not None:
                del open_parts[depth if line not in depths else depth + 1 :]


def _joined(values: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join the adjacent lines of a field, because an encoded word may continue on the next line."""
    spans: list[tuple[int, int]] = []
    for start, end in values:
        if spans and spans[-1][1] == start:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _without_mime_fields(text: str, body: int) -> Iterator[tuple[int, int]]:
    """Yield the lines of the header without MIME fields, whose boundaries are not words."""
    keep = True
    for start, end, line in _lines(text[:body]):
        if line[:1] not in (" ", "\t"):
            keep = not line.lower().startswith(("content-", "mime-version"))
        if keep:
            yield start, end


def _decode_field(text: str, start: int, end: int) -> list[Piece]:
    value = text[start:end]
    if "=?" not in value:
        return [Piece(value, start, end)]
    words = decode_words(value)
    return [Piece(value if words is None else f" {words.strip()}\n", start, end)]


def _decode_body(message: Message, text: str, at: int) -> Iterator[Piece]:
    """Yield the pieces of every readable part, each followed by a newline; `at` is the start of the body."""
    searched = 0  # characters searched in vain for payloads that the email package changed
    for part in _readable_parts(message):
        payload = part.get_payload()
        if not isinstance(payload, str):
            continue
        found_at = text.find(payload, at) if searched <= 4 * len(text) else -1
        searched += len(text) - at if found_at < 0 else 0
        start = max(found_at, at)
        end = min(start + len(payload), len(text))
        if _is_attachment(part):
            yield from _name_attachment(part, start)
        else:
            pieces = list(_decode_part(part, payload, start, end))
            yield from strip_markup(pieces) if part.get_content_type() == "text/html" and pieces else pieces
        yield Piece("\n", end, end)
        at = end


def _readable_parts(part: Message) -> Iterator[Message]:
    children: Any = part.get_payload()
    if not isinstance(children, list):
        yield part
    elif part.get_content_subtype() == "alternative":
        plain = [child for child in children if child.get_content_type() == "text/plain" and _has_words(child)]
        for child in (plain or children[-1:])[:1]:
            yield from _readable_parts(child)
    else:
        for child in children:
            yield from _readable_parts(child)


def _has_words(part: Message) -> bool:
    payload = part.get_payload()
    return isinstance(payload, str) and bool(payload.strip())


def _is_attachment(part: Message) -> bool:
    return part.get_content_maintype() != "text" or part.get_content_disposition() == "attachment"


def _name_attachment(part: Message, start: int) -> Iterator[Piece]:
    name = part.get_filename()
    if name:
        yield Piece(f" {name} ", start, start)


def _decode_part(part: Message, payload: str, start: int, end: int) -> Iterator[Piece]:
    encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
    charset = part.get_content_charset()
    if encoding == "quoted-printable" and _ASCII_CHARSET.fullmatch(charset or "utf-8"):
        yield from _decode_quoted(payload, start, charset)
    elif encoding in ("base64", "quoted-printable", "x-uuencode", "uuencode", "uue", "x-uue"):
        raw = part.get_payload(decode=True)
        yield Piece(decode_bytes(raw if isinstance(raw, bytes) else b"", charset), start, end)
    else:
        yield Piece(payload, start, end)


# charsets in which an ASCII byte always is that character, so that runs of escapes can be decoded separately
_ASCII_CHARSET = re.compile(
    r"utf-?8|us-ascii|ascii|latin-?1|iso-?8859-?\w+|(?:windows|cp)-?12\d\d|koi8-?\w", re.IGNORECASE
)
_QUOTED = re.compile(r"(?P<escapes>(?:=[0-9A-Fa-f]{2})+)|=[ \t]*\r?\n|(?<![ \t])[ \t]++(?=\r?\n)")


def _decode_quoted(payload: str, start: int, charset: str | None) -> Iterator[Piece]:
    """Decode quoted-printable; every run of escapes is a piece, so that words keep their positions."""
    at = 0
    for match in _QUOTED.finditer(payload):
        if match.start() > at:
            yield Piece(payload[at : match.start()], start + at, start + match.start())
        escapes = match["escapes"]
        if escapes:
            decoded = decode_bytes(bytes.fromhex(escapes.replace("=", "")), charset)
            yield Piece(decoded, start + match.start(), start + match.end())
        at = match.end()
    if at < len(payload):
        yield Piece(payload[at:], start + at, start + len(payload))
