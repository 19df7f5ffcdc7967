"""The checks of `verify`: each passes, fails, or was not made, with a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, count_noun
from unnaive.classifier.receipt_schema import CHOICE, STATEMENTS
from unnaive.classifier.receipts import find_statement, kept_from_before, model_hash, n_documents, statistic_name
from unnaive.classifier.signatures import check_signature
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.document_register import LabelSets, Register, as_bytes, document_hashes, key_name
from unnaive.data.text_hashes import TextHashes
from unnaive.data.training_data import TrainingData
from unnaive.learning.fitted import FittedModel
from unnaive.learning.train import train
from unnaive.learning.update import Statistic, kept_statistic
from unnaive.text.buffer import as_texts

Receipt = dict[str, Any]


@dataclass(frozen=True)
class ReceiptCheck:
    """One check: whether it passed, None if it was not made, and a sentence."""

    name: str
    holds: bool | None
    sentence: str


def order_receipts(receipts: Sequence[Receipt]) -> list[Receipt]:
    """Receipts of one model in order: the file after one is the file before the next.

    Receipts without a link stay in the order of their times.
    """
    left = sorted(receipts, key=lambda receipt: str(receipt["time"]))
    after = {receipt["after"]["sha256"] for receipt in left}
    ordered: list[Receipt] = []
    while left:
        linked = [
            receipt for receipt in left if ordered and receipt["before"]["sha256"] == ordered[-1]["after"]["sha256"]
        ]
        starts = [receipt for receipt in left if receipt["before"]["sha256"] not in after]
        following = (linked or starts or left)[0]
        ordered.append(following)
        left = [receipt for receipt in left if receipt is not following]
    return ordered


def check_receipts(
    fitted: FittedModel, receipts: Sequence[Receipt], sha256: str, *, signer: Path | None = None,
    key: bytes | None = None,
) -> list[ReceiptCheck]:  # fmt: skip
    """The checks that need only the model file and its receipts, in the order of `order_receipts`."""
    last = receipts[-1]
    same = sha256 == last["after"]["sha256"]
    words = "the file is the one that the receipt names" if same else "the file is not the one that the receipt names"
    checks = [ReceiptCheck("file", same, f"{words} (SHA-256 {sha256[:16]}…)")]
    checks.append(_check_chain(receipts))
    checks += [_check_signature(receipt, signer, key) for receipt in receipts]
    checks += [_check_model(fitted, last), _check_register(fitted, receipts)]
    if fitted.choice_kept:
        sentence = f"that the {CHOICE} does not depend on the documents: it was made before they were forgotten"
        checks.append(ReceiptCheck("choice", None, f"{sentence} (--search keep)"))
    if fitted.provenance.n_approximate:
        words = (
            "that weights, vocabulary and calibration do not depend on the documents: the weights were changed "
            "approximately (--search adjust)"
        )
        checks.append(ReceiptCheck("weights", None, words))
    return checks


def not_checked(*, forgotten: bool, remaining: bool) -> list[ReceiptCheck]:
    """The checks that were not made because their documents were not given."""
    checks = []
    if not forgotten:
        words = "that the hashes are those of the documents to forget: give these documents as --forgotten"
        checks.append(ReceiptCheck("documents", None, words))
    if not remaining:
        words = "that the model equals one trained on the remaining documents, byte for byte: give these as --remaining"
        checks.append(ReceiptCheck("bytes", None, words))
    return checks


def sum_up(checks: Sequence[ReceiptCheck]) -> bool | None:
    """Whether the receipts are valid; None if no check failed, but none shows that the documents are gone.

    Only the counts of a model trained without the documents show that. Whoever writes the file can edit its register.
    """
    if any(check.holds is False for check in checks):
        return False
    if any(check.name == "weights" for check in checks):
        return None
    return True if any(check.holds and check.name == "counts" for check in checks) else None


def _check_chain(receipts: Sequence[Receipt]) -> ReceiptCheck:
    """Check that the file after each receipt is the file before the next, and the numbers of documents."""
    for number, (first, second) in enumerate(pairwise(receipts), 1):
        if first["after"] | {"file": ""} != second["before"] | {"file": ""}:
            return ReceiptCheck(
                "chain", False,
                f"the file after receipt {number} is not the file before receipt {number + 1}: a receipt is "
                "missing, or the model was changed in between",
            )  # fmt: skip
        kinds = {first["statement"], second["statement"]} - {STATEMENTS["approximate"]}
        if len(kinds) > 1 or first["registered"] != second["registered"]:
            return ReceiptCheck(
                "chain", False,
                f"receipts {number} and {number + 1} describe the same file differently: the statement or the "
                "register",
            )  # fmt: skip
    if len(receipts) == 1:
        return ReceiptCheck("chain", None, "other receipts of the model: name each with --receipt to check the chain")
    return ReceiptCheck(
        "chain", True, f"the {len(receipts)} receipts form a chain: the file after each is the file before the next"
    )


def _check_signature(receipt: Receipt, signer: Path | None, key: bytes | None) -> ReceiptCheck:
    return ReceiptCheck("signature", *check_signature(receipt, signer, key))


def _check_model(fitted: FittedModel, receipt: Receipt) -> ReceiptCheck:
    """Check what the receipt says about the model after."""
    wrong = [
        words
        for words, stated, actual in (
            ("its statement", receipt["statement"], find_statement(fitted)),
            ("its number of documents", receipt["after"]["documents"], n_documents(fitted)),
            ("whether there is a register", receipt["registered"], fitted.register is not None),
            ("what was kept from before", receipt["kept_from_before"], kept_from_before(fitted)),
        )
        if stated != actual
    ]
    if wrong:
        return ReceiptCheck("model", False, f"the receipt and the model differ: {', '.join(wrong)}")
    return ReceiptCheck("model", True, "the model is as the receipt describes it")


def _check_register(fitted: FittedModel, receipts: Sequence[Receipt]) -> ReceiptCheck:
    """Check that the register has none of the documents; hashes with another key cannot be compared and fail."""
    if fitted.register is None:
        return ReceiptCheck("register", None, "that the documents are not in the register: the model has none")
    if any(receipt["hash"]["key"] != fitted.register.key_id for receipt in receipts):
        return ReceiptCheck(
            "register", False,
            "the hashes of a receipt were made with another key than those of the register, or without a "
            "key, so they cannot be compared",
        )  # fmt: skip
    hashes = {bytes.fromhex(digest) for receipt in receipts for digest in receipt["document_hashes"]}
    left = fitted.register.count(list(hashes))
    gone = (
        f"none of the {count_noun(sum(past['documents'] for past in receipts), 'document')} is in the model's register"
    )
    still = (
        f"{left:,} of the documents {_is(left)} in the model's register; such a document was learnt "
        "more than once, or again"
    )
    return ReceiptCheck("register", not left, still if left else gone)


def check_forgotten(receipts: Sequence[Receipt], texts: Any, labels: LabelSets, key: bytes | None) -> ReceiptCheck:
    """Check that the hashes of the receipts are exactly those of these documents."""
    if any(receipt["hash"]["key"] != key_name(key) for receipt in receipts):
        return ReceiptCheck(
            "documents", False, "the hashes were made with another key, or without a key; give the same --key"
        )
    stated: Counter[str] = Counter()
    for receipt in receipts:
        stated.update({value: receipt["repeated"].get(value, 1) for value in receipt["document_hashes"]})
    counted = Counter(digest.hex() for digest in as_bytes(document_hashes(texts, labels, key)))
    if stated == counted:
        return ReceiptCheck("documents", True, "the hashes match the documents of --forgotten exactly")
    lacking, more = (stated - counted).total(), (counted - stated).total()
    return ReceiptCheck(
        "documents", False,
        f"{count_noun(lacking, 'hash', 'hashes')} that match no document of --forgotten, and "
        f"{count_noun(more, 'document')} of it without a hash",
    )  # fmt: skip


def check_remaining(
    fitted: FittedModel, receipts: Sequence[Receipt], texts: Any, labels: LabelSets, key: bytes | None
) -> list[ReceiptCheck]:
    """Check by training again on the data without the forgotten documents."""
    if any(receipt["hash"]["key"] != key_name(key) for receipt in receipts):
        raise BadData("the receipt was made with another key, or without a key; give the same --key")
    stated = {bytes.fromhex(digest) for receipt in receipts for digest in receipt["document_hashes"]}
    left = set(as_bytes(document_hashes(texts, labels, key))) & stated
    inside = f"{len(left):,} of the forgotten documents {_is(len(left))} in the data"
    apart = inside if left else "none of them is in the data"
    again = TextClassifier.from_fitted(fitted).count_labelled(texts, list(labels))
    same = again == kept_statistic(fitted, "be verified")
    what = "counts" if statistic_name(fitted) == "counts" else "counted documents"
    checks = [ReceiptCheck("data", not left, apart), ReceiptCheck("counts", same, _counts_sentence(what, same))]
    return [*checks, _check_bytes(fitted, again, texts, labels, key)] if same else checks


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _counts_sentence(what: str, equal: bool) -> str:
    if equal:
        return f"all {what} equal those of a model trained on the data"
    return (
        f"the {what} differ from those of a model trained on the data: the data is not the remaining "
        "documents, or not all documents were forgotten"
    )


def _check_bytes(
    fitted: FittedModel, again: Statistic, texts: Any, labels: LabelSets, key: bytes | None
) -> ReceiptCheck:
    """Check that the whole file equals a model trained on the data, with its selection if that was kept."""
    register = None if fitted.register is None else Register.of(texts, labels, key)
    data = TrainingData.of_kept(
        again, fitted.target_type, token_rule=fitted.token_rule, source=fitted.source, followed=fitted.followed,
        register=register, text_hashes=None if fitted.text_hashes is None else TextHashes.of(as_texts(texts)),
    )  # fmt: skip
    if fitted.provenance.n_approximate:
        return ReceiptCheck(
            "bytes", None, "that the file is equal byte for byte: its weights were changed approximately"
        )
    selection = fitted if fitted.choice_kept else None
    same = model_hash(train(data, fitted.spec, before=selection)) == model_hash(fitted)
    how = "with its kept choice of models" if fitted.choice_kept else "tuned and chosen again"
    words = f"the file is {'' if same else 'not '}equal to that of such a model, {how}, byte for byte"
    return ReceiptCheck("bytes", same, words)
