"""Decode encoded words in message headers, such as =?utf-8?q?caf=C3=A9?= (RFC 2047), in linear time."""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator

NO_TEXT = ("punycode", "idna")  # codecs of host names, which take quadratic time
_ENCODED_WORD = re.compile(r"=\?([^?]*)\?([qQbB])\?")
_HEX_BYTE = re.compile("=[0-9a-fA-F]{2}")


def decode_words(value: str) -> str | None:
    """Decode the encoded words of a field; adjacent words of one charset are decoded together.

    A field without encoded words is unchanged; None if a word has damaged base64.

    The result equals that of the standard library's decode_header, which takes quadratic time.

    >>> decode_words("=?utf-8?q?caf=C3?= =?utf-8?q?=A9_ol=C3=A9?= for two")
    'café olé for two'
    """
    words = [word for line in value.splitlines() for word in _cut_words(line)]
    if all(encoding is None for _, encoding, _ in words):
        return value
    decoded: list[str] = []
    run: list[bytes] = []
    last: str | None = None
    for number, (content, encoding, charset) in enumerate(words):
        between = 0 < number < len(words) - 1 and words[number - 1][1] and words[number + 1][1]
        if between and content.isspace():
            continue  # spaces between encoded words do not belong to the text
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
    """Yield (content, encoding, charset) of each encoded word of a line, and (text, None, None) of text between."""
    at, plain = 0, True
    while plain and (match := _ENCODED_WORD.search(line, at)):
        stop = line.find("?=", match.end())
        plain = stop >= 0  # if this word has no end, no later word has one
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
    """The bytes of a word; None for invalid base64."""
    if encoding == "b":
        try:
            return binascii.a2b_base64((content + "=" * (-len(content) % 4)).encode("raw-unicode-escape"))
        except binascii.Error:
            return None
    if encoding == "q":
        content = _HEX_BYTE.sub(lambda match: chr(int(match[0][1:], 16)), content.replace("_", " "))
    return content.encode("raw-unicode-escape")


def _decode_run(run: list[bytes], charset: str | None) -> str:
    """Join and decode words of one charset; words that are not encoded are lines, joined by spaces."""
    return decode_bytes((b" " if charset is None else b"").join(run), charset)


def decode_bytes(raw: bytes, charset: str | None) -> str:
    """Decode bytes by `charset`; without a known charset by UTF-8, or by cp1252 if they are not UTF-8."""
    text = decode_as(raw, charset or "utf-8", errors="replace" if charset else "strict")
    return raw.decode("cp1252", errors="replace") if text is None else text


def decode_as(raw: bytes, charset: str, *, errors: str = "strict") -> str | None:
    """Decode bytes by the charset that a document states; None if it is not a charset of texts or does not fit.

    >>> decode_as(b"caf\\xe9", "latin-1"), decode_as(b"caf\\xe9", "utf-8"), decode_as(b"caf\\xe9", "-idna")
    ('café', None, None)
    """
    try:
        # the codec's own name, because Python also finds it by other spellings
        return None if codecs.lookup(charset).name in NO_TEXT else raw.decode(charset, errors=errors)
    except (LookupError, ValueError):  # an unknown name, one with a NUL in it, or bytes that do not fit
        return None
