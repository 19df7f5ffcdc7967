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
from unnaive.data.register import LabelSets, Register, as_bytes, document_hashes, key_name
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
    left = sorted(receipts, key=lambda one: str(one["time"]))
    after = {one["after"]["sha256"] for one in left}
    ordered: list[Receipt] = []
    while left:
        linked = [one for one in left if ordered and one["before"]["sha256"] == ordered[-1]["after"]["sha256"]]
        starts = [one for one in left if one["before"]["sha256"] not in after]
        following = (linked or starts or left)[0]
        ordered.append(following)
        left = [one for one in left if one is not following]
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
    checks += [_check_signature(one, signer, key) for one in receipts]
    checks += [_check_model(fitted, last), _check_register(fitted, receipts)]
    if fitted.choice_kept:
        sentence = f"that the {CHOICE} does not depend on the documents: it was made while they were there"
        checks.append(ReceiptCheck("choice", None, f"{sentence} (--keep-choice)"))
    if fitted.n_approximate:
        words = "that the weights do not depend on the documents: they were changed approximately (--approximate)"
        checks.append(ReceiptCheck("weights", None, words))
    return checks


def not_checked(*, forgotten: bool, against: bool) -> list[ReceiptCheck]:
    """The checks that were not made because their documents were not given."""
    found = []
    if not forgotten:
        words = "that the hashes are of the documents that were to be forgotten: give these as --forgotten"
        found.append(ReceiptCheck("documents", None, words))
    if not against:
        words = "that the model is that of the other documents, byte for byte: give these as --against"
        found.append(ReceiptCheck("bytes", None, words))
    return found


def sum_up(checks: Sequence[ReceiptCheck]) -> bool | None:
    """Whether the receipts are valid; None if no check failed, but none shows that the documents are gone.

    Only the register, or the counts of a model trained without the documents, show that.
    """
    if any(one.holds is False for one in checks):
        return False
    if any(one.name == "weights" for one in checks):
        return None
    return True if any(one.holds and one.name in ("register", "counts") for one in checks) else None


def _check_chain(receipts: Sequence[Receipt]) -> ReceiptCheck:
    """Check that the file after each receipt is the file before the next, and the numbers of documents."""
    for number, (one, two) in enumerate(pairwise(receipts), 1):
        if one["after"] | {"file": ""} != two["before"] | {"file": ""}:
            return ReceiptCheck(
                "chain", False,
                f"the file after receipt {number} is not the file before receipt {number + 1}: one is missing, or the "
                "model was changed in between",
            )  # fmt: skip
        kinds = {one["statement"], two["statement"]} - {STATEMENTS["approximate"]}
        if len(kinds) > 1 or one["registered"] != two["registered"]:
            return ReceiptCheck(
                "chain", False,
                f"receipts {number} and {number + 1} speak of one file and say other things of it: their statement, or "
                "whether there is a register",
            )  # fmt: skip
    if len(receipts) == 1:
        return ReceiptCheck("chain", None, "other receipts of the model: name each with --receipt to check the chain")
    return ReceiptCheck("chain", True, f"the {len(receipts)} receipts follow one another, after to before")


def _check_signature(receipt: Receipt, signer: Path | None, key: bytes | None) -> ReceiptCheck:
    return ReceiptCheck("signature", *check_signature(receipt, signer, key))


def _check_model(fitted: FittedModel, receipt: Receipt) -> ReceiptCheck:
    """Check what the receipt says about the model after."""
    wrong = [
        words
        for words, told, found in (
            ("its statement", receipt["statement"], find_statement(fitted)),
            ("its number of documents", receipt["after"]["documents"], n_documents(fitted)),
            ("whether there is a register", receipt["registered"], fitted.register is not None),
            ("what was kept from before", receipt["kept_from_before"], kept_from_before(fitted)),
        )
        if told != found
    ]
    if wrong:
        return ReceiptCheck("model", False, f"the receipt says otherwise than the model: {', '.join(wrong)}")
    return ReceiptCheck("model", True, "what the receipt says of the model after is what the model is")


def _check_register(fitted: FittedModel, receipts: Sequence[Receipt]) -> ReceiptCheck:
    """Check that the register has none of the documents; hashes with another key cannot be compared and fail."""
    if fitted.register is None:
        return ReceiptCheck(
            "register", None, "that the documents are gone: the model has no register; check it with --against"
        )
    if any(one["hash"]["key"] != fitted.register.key_id for one in receipts):
        return ReceiptCheck(
            "register", False,
            "the hashes of a receipt were made with another key than those of the register, or with none, so that "
            "they cannot be looked up",
        )  # fmt: skip
    hashes = {bytes.fromhex(one) for receipt in receipts for one in receipt["document_hashes"]}
    left = fitted.register.count(list(hashes))
    gone = f"none of the {count_noun(sum(one['documents'] for one in receipts), 'document')} is in the model's register"
    still = f"{left:,} of the documents {_is(left)} in the model's register: learnt more than once, or again"
    return ReceiptCheck("register", not left, still if left else gone)


def check_forgotten(receipts: Sequence[Receipt], texts: Any, labels: LabelSets, key: bytes | None) -> ReceiptCheck:
    """Check that the hashes of the receipts are exactly those of these documents."""
    if any(one["hash"]["key"] != key_name(key) for one in receipts):
        return ReceiptCheck(
            "documents", False, "the hashes were made with another key, or with none; give the same --key"
        )
    told: Counter[str] = Counter()
    for one in receipts:
        told.update({value: one["repeated"].get(value, 1) for value in one["document_hashes"]})
    given = Counter(one.hex() for one in as_bytes(document_hashes(texts, labels, key)))
    if told == given:
        return ReceiptCheck("documents", True, "the hashes are those of the documents of --forgotten, each as often")
    lacking, more = (told - given).total(), (given - told).total()
    return ReceiptCheck(
        "documents", False,
        f"{count_noun(lacking, 'hash', 'hashes')} of no document of --forgotten, and "
        f"{count_noun(more, 'document')} there without a hash",
    )  # fmt: skip


def check_against(
    fitted: FittedModel, receipts: Sequence[Receipt], texts: Any, labels: LabelSets, key: bytes | None
) -> list[ReceiptCheck]:
    """Check by training again on the data without the forgotten documents."""
    if any(one["hash"]["key"] != key_name(key) for one in receipts):
        raise BadData("the receipt was made with another key, or with none; give the same --key")
    told = {bytes.fromhex(one) for receipt in receipts for one in receipt["document_hashes"]}
    found = set(as_bytes(document_hashes(texts, labels, key))) & told
    inside = f"{len(found):,} of the forgotten documents {_is(len(found))} in the data"
    apart = inside if found else "none of them is in the data"
    again = TextClassifier.from_fitted(fitted).count_labelled(texts, list(labels))
    same = again == kept_statistic(fitted, "be verified")
    what = "counts" if statistic_name(fitted) == "counts" else "counted documents"
    checks = [ReceiptCheck("data", not found, apart), ReceiptCheck("counts", same, _counts_sentence(what, same))]
    return [*checks, _check_bytes(fitted, again, texts, labels, key)] if same else checks


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _counts_sentence(what: str, equal: bool) -> str:
    if equal:
        return f"the {what} equal those of a model trained on the data, every one of them"
    return (
        f"the {what} differ from those of a model trained on the data: it is not what is left, or not all was forgotten"
    )


def _check_bytes(
    fitted: FittedModel, again: Statistic, texts: Any, labels: LabelSets, key: bytes | None
) -> ReceiptCheck:
    """Check that the whole file equals a model trained on the data, with its selection if that was kept."""
    register = None if fitted.register is None else Register.of(texts, labels, key)
    data = TrainingData.of_kept(
        again, fitted.target_type, token_rule=fitted.token_rule, columns=fitted.columns, register=register,
        text_hashes=None if fitted.text_hashes is None else TextHashes.of(as_texts(texts)),
    )  # fmt: skip
    if fitted.n_approximate:
        return ReceiptCheck("bytes", None, "the file byte for byte: its weights were changed approximately")
    kept = fitted if fitted.choice_kept else None
    same = model_hash(train(data, fitted.spec, before=kept)) == model_hash(fitted)
    how = "with the choice that it kept" if fitted.choice_kept else "with everything tuned and chosen anew"
    words = f"the file is {'' if same else 'not '}that of such a model, {how}, byte for byte"
    return ReceiptCheck("bytes", same, words)
