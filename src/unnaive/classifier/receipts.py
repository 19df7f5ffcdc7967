"""Unlearning that can be shown: a receipt says what was forgotten and what the model was before and after."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unnaive import __version__
from unnaive.base.errors import BadData, UnnaiveError, count_noun
from unnaive.classifier.model_file import write_arrays
from unnaive.classifier.packing import pack
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.register import HASH, LabelSets, Register, as_bytes, document_hashes, key_name, make_key
from unnaive.data.text_hashes import TextHashes
from unnaive.data.training_data import TrainingData
from unnaive.io.sources import check_exists, hash_file
from unnaive.learning.fitted import FittedModel
from unnaive.learning.train import train
from unnaive.learning.update import Statistic, kept_statistic
from unnaive.text.buffer import as_texts

KIND = "unnaive unlearning"
FORMAT = 1
STATEMENTS = {
    "counts": "The counts of the model after equal those of a model trained without these documents.",
    "documents": "The counted documents that the model after keeps and was trained on are those before, without these.",
}


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
    """The model with the key of its register, which changing it needs; models without a register stay as they are."""
    return fitted if fitted.register is None else replace(fitted, register=fitted.register.unlocked(key))


def model_hash(fitted: FittedModel) -> str:
    """SHA-256 of the file that the model would be saved as."""
    file = io.BytesIO()
    write_arrays(file, *pack(fitted))
    return hashlib.sha256(file.getvalue()).hexdigest()


def kept_from_before(fitted: FittedModel) -> list[str]:
    """What was chosen while other documents were there, and is not chosen anew: only where `keep_choice` was given."""
    return ["choice of models"] if fitted.choice_kept else []


def make_receipt(
    before: FittedModel, texts: Sequence[str], labels: LabelSets, *, file: str, sha256: str, key: bytes | None
) -> dict[str, Any]:
    """The receipt for forgetting these documents, but for the model after; `complete_receipt` adds that."""
    return {
        "receipt": KIND,
        "format": FORMAT,
        "version": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "statement": STATEMENTS[before.spec.model.statistic],
        "kept_from_before": kept_from_before(before),
        "registered": before.register is not None,
        "before": {"file": file, "sha256": sha256},
        "documents": len(labels),
        "hash": {"name": HASH, "key": key_name(key)},
        "document_hashes": [one.hex() for one in as_bytes(document_hashes(texts, labels, key))],
    }


def complete_receipt(receipt: dict[str, Any], path: Path) -> str:
    """The receipt as JSON, with the hash of the model file that is now at `path`."""
    return json.dumps(receipt | {"after": {"file": path.name, "sha256": hash_file(path)}}, indent=2) + "\n"


def read_receipt(path: str | Path) -> dict[str, Any]:
    """A receipt from a file; anything else is an error of one sentence."""
    try:
        found = json.loads(check_exists(path).read_text(encoding="utf-8"))
        sound = found["receipt"] == KIND and found["format"] == FORMAT and found["hash"]["name"] == HASH
        hashes = [bytes.fromhex(one) for one in found["document_hashes"]]
        hex_only = isinstance(found["after"]["sha256"], str) and isinstance(found["before"]["sha256"], str)
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise BadData(f"{path} is no receipt of unlearning ({str(problem).splitlines()[0][:80]})") from problem
    if not (sound and hex_only and len(hashes) == found["documents"]):
        raise BadData(f"{path} is no receipt of unlearning that this version can read")
    receipt: dict[str, Any] = found | {"document_hashes": hashes}
    return receipt


@dataclass(frozen=True)
class ReceiptCheck:
    """One thing that was verified: whether it holds, and a sentence."""

    name: str
    holds: bool
    sentence: str


def check_receipt(fitted: FittedModel, receipt: dict[str, Any], sha256: str) -> list[ReceiptCheck]:
    """What can be said from the model file and the receipt alone."""
    same = sha256 == receipt["after"]["sha256"]
    words = "the file is the one that the receipt names" if same else "the file is not the one that the receipt names"
    checks = [ReceiptCheck("file", same, f"{words} (SHA-256 {sha256[:16]}…)")]
    if fitted.register is not None:
        left = fitted.register.count(receipt["document_hashes"])
        gone = f"none of the {count_noun(receipt['documents'], 'document')} is in the model's register"
        still = f"{left:,} of the documents {_is(left)} in the model's register: learnt more than once, or again"
        checks.append(ReceiptCheck("register", not left, still if left else gone))
    return checks


def check_against(
    fitted: FittedModel, receipt: dict[str, Any], texts: Any, labels: LabelSets, key: bytes | None
) -> list[ReceiptCheck]:
    """The same by training anew on documents without those that were forgotten."""
    if key_name(key) != receipt["hash"]["key"]:
        raise UnnaiveError("the receipt was made with another key, or with none; give the same --key")
    found = set(as_bytes(document_hashes(texts, labels, key))) & set(receipt["document_hashes"])
    inside = f"{len(found):,} of the forgotten documents {_is(len(found))} in the data"
    apart = inside if found else "none of them is in the data"
    again = _count_again(fitted, texts, labels)
    same = again == kept_statistic(fitted, "be verified")
    what = "counts" if fitted.spec.model.statistic == "counts" else "counted documents"
    checks = [ReceiptCheck("data", not found, apart), ReceiptCheck("counts", same, _counts_sentence(what, same))]
    if same:
        checks.append(_same_bytes(fitted, again, texts, labels, key))
    return checks


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _count_again(fitted: FittedModel, texts: Any, labels: LabelSets) -> Statistic:
    return TextClassifier.from_fitted(fitted).count_labelled(texts, list(labels))


def _counts_sentence(what: str, equal: bool) -> str:
    if equal:
        return f"the {what} equal those of a model trained on the data, every one of them"
    return (
        f"the {what} differ from those of a model trained on the data: it is not what is left, or not all was forgotten"
    )


def _same_bytes(
    fitted: FittedModel, again: Statistic, texts: Any, labels: LabelSets, key: bytes | None
) -> ReceiptCheck:
    """Whether the whole file is that of a model trained on the data, with what was kept from before."""
    register = None if fitted.register is None else Register.of(texts, labels, key)
    data = TrainingData.of_kept(
        again, fitted.target_type, token_rule=fitted.token_rule, columns=fitted.columns, register=register,
        text_hashes=None if fitted.text_hashes is None else TextHashes.of(as_texts(texts)),
    )  # fmt: skip
    same = model_hash(train(data, fitted.spec, before=fitted if fitted.choice_kept else None)) == model_hash(fitted)
    return ReceiptCheck("bytes", same, f"the file is {'' if same else 'not '}that of such a model, byte for byte")
