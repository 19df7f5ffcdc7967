"""JSON objects with a CRC-32 of their content, so that damage is detected."""

from __future__ import annotations

import json
import zlib
from typing import Any

KEY = "crc32"


def seal_json(values: dict[str, Any]) -> bytes:
    """Serialise the object as JSON with its checksum.

    >>> seal_json({"rows": 3})
    b'{"rows": 3, "crc32": 1221473736}'
    """
    return json.dumps(values | {KEY: _checksum(values)}).encode()


def read_sealed(content: bytes) -> dict[str, Any]:
    """Parse what `seal_json` wrote; raise ValueError if the checksum does not match.

    >>> read_sealed(seal_json({"rows": 3})), read_sealed(b'{"rows": 4, "crc32": 1221473736}')
    Traceback (most recent call last):
    ValueError: the checksum does not match
    """
    values = json.loads(content.decode())
    if not isinstance(values, dict) or values.pop(KEY, None) != _checksum(values):
        raise ValueError("the checksum does not match")
    return values


def _checksum(values: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())
