"""Encoded words in the header of a message, such as =?utf-8?q?caf=C3=A9?= (RFC 2047), in time that is linear."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

NO_TEXT = ("punycode", "idna")  # codecs of host names, whose time grows with the square of the length
_ENCODED_WORD = re.compile(r"=\?([^?]*)\?([qQbB])\?")
_HEX_BYTE = re.compile("=[0-9a-fA-F]{2}")


def decode_words(value: str) -> str | None:
    """A field with its encoded words decoded, those of one charset that follow each other together.

    A field without any stays as it is; None if one is in damaged base64.

    Gives what the standard library's decode_header gives, whose time grows with the square of the number of words.

    >>> decode_words("=?utf-8?q?caf=C3?= =?utf-8?q?=A9_ol=C3=A9?= for two")
    'café olé for two'
    """
    words = [word for line in value.splitlines() for word in _cut_words(line)]
    if all(encoding is None for _, encoding, _ in words):
        return value
    decoded: list[str] = []
    run: list[bytes] = []
    last: str | None = None
    for place, (content, encoding, charset) in enumerate(words):
        between = 0 < place < len(words) - 1 and words[place - 1][1] and words[place + 1][1]
        if between and content.isspace():
            continue  # spaces between encoded words are no part of the text
        if run and charset != last:
            decoded.append(_decode_run(run, last))
            run = []
        last = charset
        raw = _decode_word(content, encoding)
        if raw is None:
            return None
        run.append(raw)
    return "".join([*decoded, _decode_run(run, last)])


def _cut_words(line: str) -> Iterator[tuple[str, str | None, str | None]]:
    """(content, encoding, charset) of the encoded words of a line and of what is between them, whose two are None."""
    at, plain = 0, True
    while plain and (match := _ENCODED_WORD.search(line, at)):
        stop = line.find("?=", match.end())
        plain = stop >= 0  # else no word after it ends either
        if plain:
            before = line[at : match.start()] if at else line[: match.start()].lstrip()
            if before:
                yield before, None, None
            yield line[match.end() : stop], match[2].lower(), match[1].lower()
            at = stop + 2
    rest = line[at:] if at else line.lstrip()
    if rest:
        yield rest, None, None


def _decode_word(content: str, encoding: str | None) -> bytes | None:
    """The bytes of a word; None for base64 that is none."""
    if encoding == "b":
        try:
            return binascii.a2b_base64((content + "=" * (-len(content) % 4)).encode("raw-unicode-escape"))
        except binascii.Error:
            return None
    if encoding == "q":
        content = _HEX_BYTE.sub(lambda found: chr(int(found[0][1:], 16)), content.replace("_", " "))
    return content.encode("raw-unicode-escape")


def _decode_run(run: list[bytes], charset: str | None) -> str:
    """Words of one charset; those that are not encoded stand on lines of their own, which become one."""
    return decode_bytes((b" " if charset is None else b"").join(run), charset)


def decode_bytes(raw: bytes, charset: str | None) -> str:
    """Bytes by the charset that is named; by UTF-8, else as Western, where none is or it is unknown."""
    if charset is not None and charset.lower() in NO_TEXT:
        charset = "cp1252"
    try:
        return raw.decode(charset or "utf-8", errors="replace" if charset else "strict")
    except (LookupError, UnicodeError):
        return raw.decode("cp1252", errors="replace")
