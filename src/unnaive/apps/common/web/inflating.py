"""Decompress request bodies (Content-Encoding: gzip) piece by piece, within the same limits."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from unnaive.apps.common.web.limits import Limits
from unnaive.apps.common.web.refused import Refused

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

PIECE = 1 << 18  # bytes decompressed at a time
FREE_MEMBERS, MEMBER = 100, 256  # gzip members allowed however small, and mean size (bytes) required of further ones
GZIP = 16 + zlib.MAX_WBITS  # tells zlib to expect a gzip header


def check_encoding(header: bytes) -> bool:
    """Whether a body is gzip-compressed according to its Content-Encoding; other encodings are refused."""
    name = header.decode("latin-1").strip().lower()
    if name in ("", "identity"):
        return False
    if name in ("gzip", "x-gzip"):
        return True
    raise Refused(415, f"the body has Content-Encoding {name[:40]!r}; send it uncompressed or with gzip")


class InflatedBody:
    """A `receive` that returns the decompressed body; each call decompresses a piece and waits for at most one part.

    `limits` apply to the compressed bytes, None for a stream; the caller limits the decompressed bytes.
    """

    def __init__(self, receive: Receive, limits: Limits | None) -> None:
        self._receive, self._limits = receive, limits
        self._inflater = zlib.decompressobj(GZIP)
        self._rest, self._size, self._more = b"", 0, True
        self._members, self._inflated = 1, 0

    async def __call__(self) -> Message:
        """The next part of the body; it may be empty although more follows."""
        if not self._rest:
            if not self._more:
                return await self._receive()  # waits for the client to disconnect
            message = await self._receive()
            if message["type"] != "http.request":
                return message
            self._rest, self._more = message.get("body", b""), message.get("more_body", False)
            self._size += len(self._rest)
            if self._limits is not None:
                self._limits.check_compressed(self._size)
        else:
            await asyncio.sleep(0)  # other requests are read and answered between two pieces
        piece = self._inflate()
        complete = not self._more and not self._rest
        if complete and not self._inflater.eof:
            raise Refused(400, "the gzip data of the body is incomplete; send all of it")
        return {"type": "http.request", "body": piece, "more_body": not complete}

    def _inflate(self) -> bytes:
        if self._inflater.eof and self._rest:
            self._inflater = zlib.decompressobj(GZIP)  # several gzip members may follow each other
            self._members += 1
            if self._members > FREE_MEMBERS + self._inflated // MEMBER:
                raise Refused(400, f"the body has {self._members} gzip members with little in them; compress it as one")
        try:
            piece = self._inflater.decompress(self._rest, PIECE)
        except zlib.error as problem:
            raise Refused(400, "the body is not gzip data; compress it, or leave Content-Encoding out") from problem
        self._inflated += len(piece)
        self._rest = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
        return piece
