"""JSON that knows whether it is what was written: an object with the CRC-32 of the rest of it."""

from __future__ import annotations

import json
import zlib
from typing import Any

KEY = "crc32"


def seal_json(values: dict[str, Any]) -> bytes:
    """The object as JSON, with its checksum.

    >>> seal_json({"rows": 3})
    b'{"rows": 3, "crc32": 1221473736}'
    """
    return json.dumps(values | {KEY: _checksum(values)}).encode()


def read_sealed(content: bytes) -> dict[str, Any]:
    """The object that `seal_json` wrote; a ValueError if it is another.

    >>> read_sealed(seal_json({"rows": 3})), read_sealed(b'{"rows": 4, "crc32": 1221473736}')
    Traceback (most recent call last):
    ValueError: it has another checksum
    """
    values = json.loads(content.decode())
    if not isinstance(values, dict) or values.pop(KEY, None) != _checksum(values):
        raise ValueError("it has another checksum")
    return values


def _checksum(values: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())
