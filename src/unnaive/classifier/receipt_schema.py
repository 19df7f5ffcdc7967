"""The schema of a receipt of unlearning: its fields, their values, and how it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData
from unnaive.base.open_files import check_exists
from unnaive.classifier.field_rules import FieldRule, find_field_problem
from unnaive.data.document_register import HASH, SIZE

KIND = "unnaive unlearning"
FORMAT = 2
STATEMENTS = {
    "counts": "The counts of the model after equal those of a model trained without these documents.",
    "documents": "The counted documents that the model after keeps and was trained on are those before, without these.",
    "approximate": "The counted documents that the model after keeps are those before, without these; its weights were "
    "changed approximately; they, its vocabulary and its calibration may still depend on them.",
}
CHOICE = "choice of models"  # kept by --search keep, for a model that selects among candidates
WEIGHTS = "weights, approximately"  # changed by --search adjust
KEPT: tuple[list[str], ...] = ([], [CHOICE], [WEIGHTS], [CHOICE, WEIGHTS])
SIGNATURES = {"ed25519": 64, "hmac-sha256": 32}  # bytes of the value
CLOCKS = timedelta(days=1)  # a receipt from further in the future than clocks may differ is invalid


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 1000


def _is_count(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value < 2**53


def _is_hex(size: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{2 * size}}}", value) is not None


def _is_time(value: Any) -> bool:
    try:
        time = datetime.fromisoformat(value)
        return time.tzinfo is not None and time - datetime.now(UTC) < CLOCKS
    except (TypeError, ValueError, OverflowError):
        return False


def _are_hashes(value: Any) -> bool:
    """Distinct sorted hashes; `repeated` has the number of times if a document was forgotten more than once."""
    is_hash = _is_hex(SIZE)
    return isinstance(value, list) and bool(value) and all(map(is_hash, value)) and sorted(set(value)) == value


def _are_times(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_hex(SIZE)(key) and _is_count(2)(times) for key, times in value.items())


FIELDS = {
    "receipt": FieldRule(f"{KIND!r}", lambda value: value == KIND),
    "format": FieldRule(f"{FORMAT}", lambda value: type(value) is int and value == FORMAT),
    "version": FieldRule("a version", _is_text),
    "time": FieldRule("a time with its zone, not in the future", _is_time),
    "statement": FieldRule("one of the statements that unnaive makes", lambda value: value in STATEMENTS.values()),
    "kept_from_before": FieldRule(f"[] or a list of {CHOICE!r} and {WEIGHTS!r}", lambda value: value in KEPT),
    "registered": FieldRule("true or false", lambda value: isinstance(value, bool)),
    "before": FieldRule("a table", lambda value: isinstance(value, dict)),
    "after": FieldRule("a table", lambda value: isinstance(value, dict)),
    "documents": FieldRule("a whole number from 1 on", _is_count(1)),
    "hash": FieldRule("a table", lambda value: isinstance(value, dict)),
    "document_hashes": FieldRule(f"distinct hashes of {SIZE} bytes in hexadecimal, sorted", _are_hashes),
    "repeated": FieldRule("a table from hashes to whole numbers from 2 on", _are_times),
    "signature": FieldRule("a table", lambda value: isinstance(value, dict), optional=True),
}
MODEL = {
    "file": FieldRule("a name", _is_text),
    "sha256": FieldRule("a SHA-256 in hexadecimal", _is_hex(32)),
    "documents": FieldRule("a whole number from 1 on", _is_count(1)),
}
PARTS = {
    "before": MODEL,
    "after": MODEL,
    "hash": {
        "name": FieldRule(f"{HASH!r}", lambda value: value == HASH),
        "key": FieldRule("the name of a key or null", lambda value: value is None or _is_hex(8)(value)),
    },
    "signature": {
        "by": FieldRule(f"one of {', '.join(SIGNATURES)}", lambda value: value in list(SIGNATURES)),
        "key": FieldRule("the name of a key", lambda value: _is_hex(8)(value) or _is_hex(32)(value)),
        "value": FieldRule("a signature in hexadecimal", lambda value: _is_hex(64)(value) or _is_hex(32)(value)),
    },
}


REMEDY = "name a file that unnaive forget --receipt wrote"


def read_receipt(path: str | Path) -> dict[str, Any]:
    """A receipt from a file; an error for any other file or an invalid value."""
    try:
        content = json.loads(check_exists(path).read_text(encoding="utf-8"), object_pairs_hook=_read_table)
    except (ValueError, RecursionError) as problem:
        raise BadData(
            f"{path} is not a receipt of unlearning ({str(problem).splitlines()[0][:80]}); {REMEDY}"
        ) from problem
    problem_found = find_problem(content)
    if problem_found is not None:
        raise BadData(f"{path} is not a receipt of unlearning that this version can read: {problem_found}; {REMEDY}")
    receipt: dict[str, Any] = content
    return receipt


def _read_table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a repeated field is an error, since readers may use either value."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a field occurs twice")
    return table


def find_problem(receipt: Any) -> str | None:
    """What is wrong with a receipt, in words; None if every value is valid.

    >>> find_problem({"receipt": "unnaive unlearning"})
    'it has no format'
    >>> find_problem([])
    'it is not a JSON object'
    """
    if not isinstance(receipt, dict):
        return "it is not a JSON object"
    problem = _find_field_problem(receipt, FIELDS, "")
    if problem is not None:
        return problem
    for name, rules in PARTS.items():
        if name in receipt:
            problem = _find_field_problem(receipt[name], rules, f"{name}.")
            if problem is not None:
                return problem
    return _find_contradiction(receipt)


def _find_field_problem(values: dict[str, Any], rules: dict[str, FieldRule], prefix: str) -> str | None:
    return find_field_problem(
        values,
        rules,
        missing=f"it has no {prefix}{{name}}",
        unknown=f"it has a field {prefix}{{name!r}}, which receipts do not have",
        refused=f"its {prefix}{{name}} is not {{words}}",
    )


def _find_contradiction(receipt: dict[str, Any]) -> str | None:
    """The first contradiction between fields, in words; None if there is none."""
    before, after, times = receipt["before"], receipt["after"], receipt["repeated"]
    if before["sha256"] == after["sha256"]:
        return "the file before and the file after are the same"
    if not set(times) <= set(receipt["document_hashes"]):
        return "a repeated hash is not among its document hashes"
    n_hashes = len(receipt["document_hashes"]) + sum(times.values()) - len(times)
    if n_hashes != receipt["documents"]:
        return f"it names {receipt['documents']:,} documents but has hashes of {n_hashes:,}"
    if before["documents"] - receipt["documents"] != after["documents"]:
        return (
            f"{before['documents']:,} documents before minus {receipt['documents']:,} forgotten are not "
            f"{after['documents']:,} after"
        )
    return _find_signature_problem(receipt.get("signature"), receipt["hash"]["key"])


def _find_signature_problem(signature: dict[str, str] | None, key: str | None) -> str | None:
    """A problem of the signature in words; None if there is none. Hashes with a key must at least be signed with it."""
    if signature is None:
        return None if key is None else "its hashes were made with a key, and it is not signed"
    if len(signature["value"]) != 2 * SIGNATURES[signature["by"]]:
        return f"its signature does not have the size of {signature['by']} signatures"
    if signature["by"] == "hmac-sha256" and signature["key"] != key:
        return "it is signed with another key than that of its hashes"
    return None
