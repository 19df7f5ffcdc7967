"""Model files with something else in them: arrays of any kind and any description, with or without checksums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.classifier.checksums import checksums_of, seal_header

# documents that the models of many tests have learnt, their labels, sets of labels, and texts that are new to them
TEXTS = ["good ball, good game", "fair vote in a fair law", "warm soup with bread", "the ball is lost", "a new law"] * 3
LABELS = ["sport", "politics", "food", "sport", "politics"] * 3
SETS = [(label,) if label != "food" else ("food", "politics") for label in LABELS]
NEW = ["a ball in the soup", "vote", ""]
KINDS = {"f": "F", "i": "I", "u": "U", "b": "BOOL"}


def description(path: Path) -> dict[str, Any]:
    """The JSON of a model file."""
    return json.loads(_header(path.read_bytes())[0]["__metadata__"]["unnaive"])


def read_parts(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of a model file, which can be written to, and its description without checksums."""
    raw = path.read_bytes()
    header, start = _header(raw)
    about = json.loads(header.pop("__metadata__")["unnaive"])
    about.pop("checksums", None)
    arrays = {}
    for name, entry in header.items():
        first, last = (start + offset for offset in entry["data_offsets"])
        kind = np.dtype(f"<{entry['dtype'][0].lower()}{int(entry['dtype'][1:]) // 8}")
        arrays[name] = np.frombuffer(raw[first:last], kind).reshape(entry["shape"]).copy()
    return arrays, about


def _header(raw: bytes) -> tuple[dict[str, Any], int]:
    start = 8 + int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:start]), start


def file_bytes(arrays: dict[str, Any], about: dict[str, Any], *, entries: dict[str, Any] | None = None) -> bytes:
    """A model file of these parts; `entries` take the place of those of the header.

    With checksums that fit what is in it, unless the description says that it is of format 2, which had none.
    """
    header, end, content = {}, 0, b""
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = np.ascontiguousarray(arrays[name]).reshape(np.shape(arrays[name]))
        start, end = end, end + array.nbytes
        content += array.tobytes()
        letter = KINDS[array.dtype.kind]
        kind = letter if letter == "BOOL" else f"{letter}{8 * array.dtype.itemsize}"
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    header |= entries or {}
    if about.get("format") == 2:
        words = json.dumps({"__metadata__": {"unnaive": json.dumps(about)}, **header}).encode()
    else:
        words = seal_header(header, {"unnaive": json.dumps({"checksums": checksums_of(arrays)} | about)})
    return len(words).to_bytes(8, "little") + words + content


def rewrite(path: Path, change: Any) -> None:
    """Change the arrays and the description of a model file; its checksums are those of what is in it then."""
    arrays, about = read_parts(path)
    change(arrays, about)
    path.write_bytes(file_bytes(arrays, about))


def without_checksums(path: Path) -> None:
    """Make a model file one of format 2."""
    rewrite(path, lambda arrays, about: about.update(format=2))
