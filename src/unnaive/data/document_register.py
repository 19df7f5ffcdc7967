"""The register: a hash of every document that a model has learnt, so that it can refuse to forget one it never saw.

`train --register` stores it with the model, 16 bytes per document. Hashes of short texts can be found by guessing; with
a secret key, only by those who have the key. The key itself is never stored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, BadModel, UnnaiveError, count_noun

if TYPE_CHECKING:
    from hashlib import blake2b

HASH = "blake2b-128"
SIZE = 16  # bytes of a hash
SHORTEST_KEY = 16  # bytes of a key file

LabelSets = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Register:
    """Hashes of documents with their labels, sorted (n_docs, 16); a document learnt twice has two entries.

    >>> register = Register.of(["good ball", "fair vote"], [("sport",), ("politics",)])
    >>> len(register), len(register.without(["good ball"], [("sport",)]))
    (2, 1)
    >>> register.without(["good ball"], [("politics",)])
    Traceback (most recent call last):
    unnaive.base.errors.BadData: 1 of 1 document is not in the model's register: ...
    """

    hashes: NDArray[np.uint8]
    key_id: str | None = None
    key: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, texts: Sequence[str], labels: LabelSets, key: bytes | None = None) -> Register:
        """The register of these documents."""
        return cls(_sorted(document_hashes(texts, labels, key)), key_name(key), key)

    def __len__(self) -> int:
        return len(self.hashes)

    def unlocked(self, key: bytes | None) -> Register:
        """The register with its key, which is needed to add and remove documents; a wrong key is an error."""
        if key_name(key) != self.key_id:
            need = (
                "has no key; leave --key out" if self.key_id is None else "was made with a key; give that file as --key"
            )
            raise UnnaiveError(f"the model's register {need}")
        return replace(self, key=key)

    def plus(self, texts: Sequence[str], labels: LabelSets) -> Register:
        """Add these documents."""
        return replace(self, hashes=_sorted(np.concatenate([self.hashes, self._hashes(texts, labels)])))

    def without(self, texts: Sequence[str], labels: LabelSets) -> Register:
        """Remove these documents; an error if one is missing, or occurs fewer times."""
        removed = as_bytes(self._hashes(texts, labels))
        remaining = Counter(as_bytes(self.hashes))
        remaining.subtract(removed)
        if min(remaining.values(), default=0) < 0:
            raise BadData(_missing(Counter(as_bytes(self.hashes)), removed))
        hashes = b"".join(sorted(remaining.elements()))
        return replace(self, hashes=np.frombuffer(hashes, np.uint8).reshape(-1, SIZE))

    def joined(self, other: Register) -> Register:
        """The union of both registers."""
        if self.key_id != other.key_id:
            raise UnnaiveError("the registers of these models were made with different keys; they cannot be merged")
        return replace(self, hashes=_sorted(np.concatenate([self.hashes, other.hashes])))

    def count(self, hashes: Sequence[bytes]) -> int:
        """The number of these hashes that are in the register."""
        return len(set(as_bytes(self.hashes)) & set(hashes))

    def _hashes(self, texts: Sequence[str], labels: LabelSets) -> NDArray[np.uint8]:
        self.unlocked(self.key)
        return document_hashes(texts, labels, self.key)

    def to_dict(self) -> dict[str, Any]:
        """The metadata stored with the hashes."""
        return {"hash": HASH, "key": self.key_id}

    @classmethod
    def from_file(cls, hashes: NDArray[Any], about: dict[str, Any], n_docs: Any) -> Register:
        """Read and check the register of a model file."""
        key_id = about["key"]
        if about["hash"] != HASH or not (key_id is None or isinstance(key_id, str)):
            raise BadModel("its register has a format that this version cannot read; update unnaive")
        if hashes.dtype != np.uint8 or hashes.shape != (int(n_docs), SIZE):
            raise BadModel(f"its register does not match its {count_noun(int(n_docs), 'document')}; train it again")
        return cls(_sorted(hashes), key_id)


def document_hashes(texts: Sequence[str], labels: LabelSets, key: bytes | None = None) -> NDArray[np.uint8]:
    """A hash of each document and its labels, independent of their order (n_docs, 16)."""
    hashes = bytearray()
    for number, names in enumerate(labels):
        words = json.dumps(sorted(set(names), key=str), ensure_ascii=True).encode()
        digest = _blake2b(words + b"\0", digest_size=SIZE, key=key or b"")
        digest.update(_utf8(texts[number]))
        hashes += digest.digest()
    return np.frombuffer(bytes(hashes), np.uint8).reshape(-1, SIZE)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate: encode it as a text buffer does
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def make_key(secret: bytes) -> bytes:
    """The key from a key file: at least 16 secret random bytes, such as `openssl rand -out key 32` makes."""
    if len(secret) < SHORTEST_KEY:
        raise UnnaiveError(f"the key has {len(secret)} bytes; give a file of at least {SHORTEST_KEY} random bytes")
    return _blake2b(secret, digest_size=32, person=b"unnaive key").digest()


def key_name(key: bytes | None) -> str | None:
    """An identifier of the key that does not reveal it."""
    return None if key is None else _blake2b(b"", digest_size=8, key=key, person=b"unnaive key id").hexdigest()


def _blake2b(data: bytes, **options: Any) -> blake2b:
    import hashlib  # loads OpenSSL; few models have a register

    return hashlib.blake2b(data, **options)


def as_bytes(hashes: NDArray[np.uint8]) -> list[bytes]:
    """The hashes as a list of bytes."""
    blob = hashes.tobytes()
    return [blob[start : start + SIZE] for start in range(0, len(blob), SIZE)]


def _sorted(hashes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Sort the hashes, so that the same documents give the same bytes."""
    return np.frombuffer(b"".join(sorted(as_bytes(hashes))), np.uint8).reshape(-1, SIZE)


def _missing(counts: Counter[bytes], removed: list[bytes]) -> str:
    missing = []
    for position, digest in enumerate(removed):
        counts[digest] -= 1
        if counts[digest] < 0:
            missing.append(position)
    first, verb = (f" (the first is number {missing[0]})", "are") if len(missing) > 1 else ("", "is")
    return (
        f"{len(missing):,} of {count_noun(len(removed), 'document')}{first} {verb} not in the model's register: not "
        "learnt with these labels, or already forgotten; the model was not changed"
    )
