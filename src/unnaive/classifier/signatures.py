"""Signatures of receipts: Ed25519 with a key file of the user, or HMAC with the key of the document hashes."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData
from unnaive.base.extras import import_extra
from unnaive.base.open_files import check_exists
from unnaive.data.document_register import key_name


def signed_bytes(receipt: dict[str, Any]) -> bytes:
    """The bytes that are signed: the receipt without its signature, as JSON without spaces, keys in order.

    >>> signed_bytes({"b": 1, "a": "x", "signature": {}})
    b'{"a":"x","b":1}'
    """
    bare = {name: value for name, value in receipt.items() if name != "signature"}
    return json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def sign(receipt: dict[str, Any], private_key: Path | None, secret: bytes | None) -> dict[str, Any]:
    """The receipt with a signature: by the private key if given, else by the secret; unchanged if neither is given."""
    if private_key is not None:
        key = _load(private_key, private=True)
        public = key.public_key()
        value, by, name = key.sign(signed_bytes(receipt)), "ed25519", _public_name(public)
    elif secret is not None:
        value, by, name = _mac(receipt, secret), "hmac-sha256", key_name(secret) or ""
    else:
        return receipt
    return receipt | {"signature": {"by": by, "key": name, "value": value.hex()}}


def check_signature(receipt: dict[str, Any], public_key: Path | None, secret: bytes | None) -> tuple[bool | None, str]:
    """(whether the signature is valid, a sentence); None if it was not checked, and the sentence says why."""
    signature = receipt.get("signature")
    if signature is None:
        if public_key is not None:
            return False, "the receipt has no signature, and --signer requires one"
        return None, "who wrote the receipt: it is not signed"
    if signature["by"] == "hmac-sha256":
        if public_key is not None:
            return False, "the receipt is signed with the key of its hashes (HMAC), and --signer requires Ed25519"
        if secret is None:
            return None, "its signature (HMAC): give the key of the hashes as --key"
        good = hmac.compare_digest(bytes.fromhex(signature["value"]), _mac(receipt, secret))
        return good, f"the signature was {'' if good else 'not '}made with the key of --key (HMAC)"
    if public_key is None:
        return None, "its signature (Ed25519): give the public key of the signer as --signer"
    key = _load(public_key, private=False)
    good = signature["key"] == _public_name(key) and _verifies(
        key, bytes.fromhex(signature["value"]), signed_bytes(receipt)
    )
    return good, f"the signature was {'' if good else 'not '}made with the private key of {public_key} (Ed25519)"


def check_private_key(path: Path | None) -> None:
    """Raise an error if the file has no Ed25519 private key, before any work; None for None."""
    if path is not None:
        _load(path, private=True)


def _mac(receipt: dict[str, Any], secret: bytes) -> bytes:
    return hmac.new(secret, b"unnaive receipt\0" + signed_bytes(receipt), hashlib.sha256).digest()


def _load(path: Path, *, private: bool) -> Any:
    import_extra("cryptography", "an Ed25519 signature")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    raw = check_exists(path).read_bytes()
    what = "private" if private else "public"
    command = "openssl genpkey -algorithm ed25519" if private else "openssl pkey -pubout"
    wanted: type = ed25519.Ed25519PrivateKey if private else ed25519.Ed25519PublicKey
    try:
        key = load_pem_private_key(raw, None) if private else load_pem_public_key(raw)
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        raise BadData(
            f"{path} has no {what} key in PEM format without a password; make one with {command!r}"
        ) from problem
    if not isinstance(key, wanted):
        raise BadData(f"{path} has a {what} key of another kind than Ed25519; make one with {command!r}")
    return key


def _verifies(key: Any, value: bytes, data: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(value, data)
    except InvalidSignature:
        return False
    return True


def _public_name(key: Any) -> str:
    """SHA-256 of the raw public key, which identifies the signer."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()
