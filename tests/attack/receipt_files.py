"""Receipts of unlearning that somebody altered: refused in one sentence, or a check of `verify` tells.

Those that were signed hold for nothing but what was signed: whoever changes a value is found out. Those without a
signature are held against the model, the forgotten documents and the rest; only what none of these tell (times, names
of files, the version, the file before) can be changed.
"""

import copy
import json
import os
import random
import warnings
from pathlib import Path

import model_verbs
from model_files import change_value

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.base.open_files import hash_file
from unnaive.classifier.model_file import save
from unnaive.classifier.receipt_checks import check_forgotten, check_receipts, check_remaining, order_receipts
from unnaive.classifier.receipt_schema import read_receipt
from unnaive.classifier.receipts import complete_receipt, make_receipt, register_documents, unlock_register

ROWS = [(f"{text} name{number}", (label,)) for number, (text, label) in enumerate(
    zip(model_verbs.TEXTS, model_verbs.LABELS, strict=True)
)]  # fmt: skip
STEPS = [ROWS[3:5] + ROWS[3:4], ROWS[7:8]]  # what is forgotten first and then; one was learnt twice
LEFT = ROWS[:3] + ROWS[5:7] + ROWS[8:]
KEY = b"k" * 32
# what only a signature vouches for; of the models before and after also the name of the file and its hash
FREE = ("time", "version", "signature")
KINDS = [
    {"name": name, "registered": registered, "key": key, "signed": signed}
    for name in ("multinomial", "svm")
    for registered in (False, True)
    for key, signed in ((None, False), (KEY, False), (None, True))
]


class Case:
    """A model that forgot documents twice, with receipts, and everything that `verify` can be given."""

    def __init__(self, folder, number, name, *, registered, key, signed):
        self.key, self.signed, self.signer, private = key, signed or key is not None, None, None
        if signed:
            private, self.signer = (Path(folder) / f"{number}-{kind}.pem" for kind in ("private", "public"))
            make_keys(private, self.signer)
        rows = LEFT + STEPS[0] + STEPS[1]
        fitted = TextClassifier(name).fit(*texts_and_labels(rows)).fitted_
        if registered:
            fitted = register_documents(fitted, *split(rows), key)
        path, self.receipts = Path(folder) / f"{number}.model", []
        save(fitted, path)
        for gone in STEPS:
            receipt = make_receipt(fitted, *split(gone), file=path.name, sha256=hash_file(path), key=key)
            classifier = TextClassifier.from_fitted(unlock_register(fitted, key))
            fitted = classifier.forget(*texts_and_labels(gone)).fitted_
            save(fitted, path)
            after = {"file": path.name, "sha256": hash_file(path)}
            self.receipts.append(json.loads(complete_receipt(receipt, fitted, **after, signer=private, key=key)))
        self.fitted, self.sha256 = fitted, hash_file(path)

    def checks(self, receipts):
        """What `verify` says of receipts in their order; training anew, which takes longest, where nothing said no."""
        found = check_receipts(self.fitted, receipts, self.sha256, signer=self.signer, key=self.key)
        found.append(check_forgotten(receipts, *split(STEPS[0] + STEPS[1]), self.key))
        if all(one.holds is not False for one in found):
            found += check_remaining(self.fitted, receipts, *split(LEFT), self.key)
        return found


def split(rows):
    return [text for text, _ in rows], [labels for _, labels in rows]


def texts_and_labels(rows):
    return [text for text, _ in rows], [labels[0] for _, labels in rows]


def make_keys(private, public):
    """A pair of Ed25519 keys."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def make_cases(folder):
    """One of each kind; without the library for signatures, those that need none."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        kinds = [one for one in KINDS if not one["signed"]]
    else:
        kinds = KINDS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [Case(folder, number, **kind) for number, kind in enumerate(kinds)]


def altered(case, other, rng):
    """The bytes of the receipts' files after somebody was at them."""
    receipts = copy.deepcopy(case.receipts)
    kind = rng.random()
    if kind < 0.1:
        receipts = rng.choices(receipts, k=rng.randrange(1, 4))
    elif kind < 0.2:
        receipts[rng.randrange(2)] = copy.deepcopy(rng.choice(other.receipts))
    elif kind < 0.35:
        one, two = rng.choice(receipts), rng.choice([*receipts, *copy.deepcopy(other.receipts)])
        key = rng.choice(sorted(two))
        one[key] = two[key]
    elif kind < 0.85:
        for _ in range(rng.choice([1, 1, 2])):
            change_value(rng.choice(receipts), rng)
    files = [bytearray(json.dumps(one, indent=rng.choice([None, 2])).encode()) for one in receipts]
    if kind >= 0.85:
        content = rng.choice(files)
        for _ in range(rng.randrange(1, 5)):
            content[rng.randrange(len(content))] = rng.choice(b'0123456789abcdef{}[]",: \\\0\xff')
        del content[rng.choice([len(content), rng.randrange(len(content))]) :]
    return files


def is_true(case, receipts, vouched):
    """Whether receipts say what happened; those that no signature vouches for, in all that other checks can tell."""
    if vouched:
        return [one | {"signature": ""} for one in receipts] == [one | {"signature": ""} for one in case.receipts]
    return [bare(one) for one in receipts] == [bare(one) for one in case.receipts]


def bare(receipt):
    """A receipt without what only a signature vouches for."""
    kept = {name: value for name, value in receipt.items() if name not in FREE}
    for name in ("before", "after"):
        kept[name] = {key: value for key, value in kept[name].items() if key == "documents"}
    return kept


def attack_with(cases, folder):
    """A function of a seed: alter receipts, verify them."""

    def attack(seed):
        warnings.simplefilter("ignore")
        rng = random.Random(seed)
        case = cases[seed % len(cases)]
        paths = []
        for number, content in enumerate(altered(case, rng.choice(cases), rng)):
            paths.append(Path(folder) / f"{os.getpid()}-{number}.json")
            paths[-1].write_bytes(content)
        try:
            receipts = order_receipts([read_receipt(path) for path in paths])
            checks = case.checks(receipts)
        except BadData as problem:
            return ("refused", "") if "\n" not in str(problem) else ("crashed", f"seed {seed}: not one sentence")
        if any(one.holds is False for one in checks):
            return "refused", ""
        vouched = all(one.holds for one in checks if one.name == "signature")
        if is_true(case, receipts, vouched):
            return "survived", ""
        return "wrong", f"seed {seed}: a receipt that was altered holds"

    return attack
