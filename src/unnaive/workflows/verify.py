"""Check whether a model in a file has forgotten what receipts say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, open_data

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.classifier.receipt_checks import ReceiptCheck


@dataclass(frozen=True, repr=False)
class VerificationResult(Result):
    """The checks of receipts; `verified` is None if nothing contradicts them, but nothing shows the forgetting."""

    verified: bool | None
    checks: tuple[ReceiptCheck, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive verify --json` prints them."""
        unchecked = sum(check.holds is None for check in self.checks)
        checks = [asdict(check) for check in self.checks]
        return {"verified": self.verified, "not_checked": unchecked, "checks": checks}


def verify_file(
    model: str | Path,
    receipts: Sequence[str | Path],
    *,
    remaining: Data | None = None,
    forgotten: Data | None = None,
    signer: str | Path | None = None,
    key: str | Path | None = None,
    progress: ProgressCallback | None = None,
) -> VerificationResult:
    """Check receipts of `forget_file` against a model file.

    Parameters
    ----------
    model : path
        The model file.
    receipts : sequence of path
        The receipts, in any order.
    remaining : path, list of paths or DataFile, default=None
        The training data without the forgotten documents: a model trained on it must equal the file byte for byte.
    forgotten : path, list of paths or DataFile, default=None
        The forgotten documents, whose hashes must be those of the receipts.
    signer : path or None, default=None
        Ed25519 public key (PEM) to check the signatures with.
    key : path or None, default=None
        File with the secret key for the hashes.
    progress : callable or None, default=None
        Called with the name and the details of each event.
    """
    from unnaive.base.open_files import hash_file
    from unnaive.classifier.model_file import load_model
    from unnaive.classifier.receipt_checks import (
        check_forgotten,
        check_receipts,
        check_remaining,
        not_checked,
        order_receipts,
        sum_up,
    )
    from unnaive.classifier.receipt_schema import read_receipt
    from unnaive.classifier.receipts import read_key
    from unnaive.workflows.change import read_labelled

    ordered, feedback = order_receipts([read_receipt(Path(path)) for path in receipts]), Feedback(progress)
    fitted, secret = load_model(Path(model)), read_key(key)
    public = None if signer is None else Path(signer)
    checks = check_receipts(fitted, ordered, hash_file(Path(model)), signer=public, key=secret)
    if forgotten is not None:
        documents = read_labelled(open_data(forgotten), fitted, feedback)
        checks.append(check_forgotten(ordered, *documents, secret))
    if remaining is not None:
        checks += check_remaining(fitted, ordered, *read_labelled(open_data(remaining), fitted, feedback), secret)
    checks += not_checked(forgotten=forgotten is not None, remaining=remaining is not None)
    return VerificationResult(sum_up(checks), tuple(checks))
