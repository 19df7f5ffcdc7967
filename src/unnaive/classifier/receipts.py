"""Receipts of unlearning: what was forgotten, and the model before and after."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unnaive import __version__
from unnaive.base.errors import UnnaiveError
from unnaive.base.open_files import check_exists
from unnaive.classifier.model_file import write_arrays
from unnaive.classifier.packing import pack
from unnaive.classifier.receipt_schema import CHOICE, FORMAT, KIND, STATEMENTS, WEIGHTS
from unnaive.classifier.signatures import sign
from unnaive.data.document_register import HASH, LabelSets, Register, as_bytes, document_hashes, key_name, make_key
from unnaive.data.named_counts import NamedCounts
from unnaive.learning.fitted import FittedModel


def read_key(path: str | Path | None) -> bytes | None:
    """The key of a key file; None for None."""
    return None if path is None else make_key(check_exists(path).read_bytes())


def register_documents(
    fitted: FittedModel, texts: Sequence[str], labels: LabelSets, key: bytes | None = None
) -> FittedModel:
    """The model with a register of the documents that it was trained on."""
    if fitted.statistic is None:
        raise UnnaiveError("this model keeps neither counts nor documents and cannot forget, so it has no register")
    return replace(fitted, register=Register.of(texts, labels, key))


def unlock_register(fitted: FittedModel, key: bytes | None) -> FittedModel:
    """The model with the key of its register, which changes need; a model without a register needs no key."""
    return fitted if fitted.register is None else replace(fitted, register=fitted.register.unlocked(key))


def check_key_has_effect(fitted: FittedModel, key: bytes | None, *, receipt: bool = False) -> None:
    """Raise UnnaiveError for a key with neither a register nor a receipt, whose hashes it makes secret."""
    if key is not None and fitted.register is None and not receipt:
        raise UnnaiveError("the model has no register of documents, so a key has no effect; leave --key out")


def model_hash(fitted: FittedModel) -> str:
    """SHA-256 of the model file that `save` would write."""
    file = io.BytesIO()
    write_arrays(file, *pack(fitted))
    return hashlib.sha256(file.getvalue()).hexdigest()


def make_receipt(
    before: FittedModel, texts: Sequence[str], labels: LabelSets, *, file: str, sha256: str, key: bytes | None
) -> dict[str, Any]:
    """The receipt for forgetting these documents, without the model after; `complete_receipt` adds it."""
    times = Counter(digest.hex() for digest in as_bytes(document_hashes(texts, labels, key)))
    return {
        "receipt": KIND,
        "format": FORMAT,
        "version": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "statement": STATEMENTS[statistic_name(before)],
        "registered": before.register is not None,
        "before": {"file": file, "sha256": sha256, "documents": n_documents(before)},
        "documents": len(labels),
        "hash": {"name": HASH, "key": key_name(key)},
        "document_hashes": sorted(times),
        "repeated": {digest: n for digest, n in sorted(times.items()) if n > 1},
    }


def complete_receipt(
    receipt: dict[str, Any], after: FittedModel, *, file: str, sha256: str, signer: Path | None = None,
    key: bytes | None = None,
) -> str:  # fmt: skip
    """The receipt as JSON, with the model `after`, which has this file, and signed if there is a key.

    signer  file of an Ed25519 private key; without one, the key of the document hashes signs (HMAC)
    """
    completed = receipt | {
        "statement": find_statement(after),
        "kept_from_before": kept_from_before(after),
        "after": {"file": file, "sha256": sha256, "documents": n_documents(after)},
    }
    return json.dumps(sign(completed, signer, key), indent=2) + "\n"


def kept_from_before(fitted: FittedModel) -> list[str]:
    """The parts that may depend on forgotten documents, because of --search keep or --search adjust."""
    return [CHOICE] * fitted.choice_kept + [WEIGHTS] * bool(fitted.provenance.n_approximate)


def find_statement(fitted: FittedModel) -> str:
    """The statement of a receipt about the model after forgetting."""
    return STATEMENTS["approximate" if fitted.provenance.n_approximate else statistic_name(fitted)]


def n_documents(fitted: FittedModel) -> int:
    """The number of documents of the model."""
    return 0 if fitted.statistic is None else int(fitted.statistic.n_docs)


def statistic_name(fitted: FittedModel) -> str:
    """Whether the model keeps "counts" or "documents"."""
    return "counts" if isinstance(fitted.statistic, NamedCounts) else "documents"
