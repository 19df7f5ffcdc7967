"""The body of a response in a web archive, without the encodings of its transfer: chunks, gzip, deflate, br and zstd.

Archives store what the server sent, so a page is often compressed inside its record. Some crawlers store the decoded
body under the original header; a body that is not encoded as its header says is used as it is. RFC 9112 (chunks), RFC
9110 (content codings).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from unnaive.base.extras import import_extra

FREELY = 1 << 20  # bytes that any body may decompress to
MAX_RATIO = 100  # a larger body may decompress to this multiple of its size; the rest of the text is not read
MOST_CODINGS = 4  # a body with more is used as it is
ARROW_CODINGS = {"br": "brotli", "zstd": "zstd"}
ZLIB_BITS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}  # some servers send deflate without its header


def decode_body(body: bytes, fields: Mapping[str, str]) -> bytes:
    """The decoded body; `fields` are those of the HTTP header, with names in lower case."""
    if "chunked" in fields.get("transfer-encoding", "").lower():
        body = join_chunks(body)
    limit = max(FREELY, MAX_RATIO * len(body))  # of what was sent: with several codings, ratios would multiply
    codings = fields.get("content-encoding", "").lower().split(",")
    for coding in reversed(codings if len(codings) <= MOST_CODINGS else []):
        body = decompress_body(body, coding.strip(), limit)
    return body


def join_chunks(body: bytes) -> bytes:
    """A chunked body in one piece; a body that is not chunked is returned as it is.

    >>> join_chunks(b"4\\r\\nWiki\\r\\n5;name=x\\r\\npedia\\r\\n0\\r\\n\\r\\n")
    b'Wikipedia'
    """
    parts, start = list[bytes](), 0
    while (end := body.find(b"\r\n", start)) >= 0:
        digits = body[start:end].split(b";")[0].strip()
        if not digits or digits.strip(b"0123456789abcdefABCDEF"):
            return b"".join(parts) if parts else body
        size = int(digits, 16)
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        start = end + 2 + size + 2
    return b"".join(parts) if parts else body


def decompress_body(body: bytes, coding: str, limit: int) -> bytes:
    """The decompressed body, at most `limit` bytes of it; as it is if the coding is unknown or does not fit."""
    for bits in ZLIB_BITS.get(coding, ()):
        try:
            return zlib.decompressobj(bits).decompress(body, limit)
        except zlib.error:
            continue
    if coding in ARROW_CODINGS:
        pyarrow = import_extra("pyarrow", f"decompressing pages in {coding}")
        try:
            return bytes(pyarrow.input_stream(pyarrow.BufferReader(body), ARROW_CODINGS[coding]).read(limit))
        except OSError:
            return body
    return body
