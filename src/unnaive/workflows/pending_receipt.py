"""The receipt of a forgetting under way: it is on disk, beside the model file, before the model is replaced.

A command that is stopped, or cannot write the receipt where it belongs, thus leaves it there. The same command finishes
it; a forgetting of other documents is refused until then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unnaive.base.atomic_files import replacing
from unnaive.base.errors import UnnaiveError, count_noun
from unnaive.base.open_files import hash_file
from unnaive.classifier.receipt_schema import read_receipt
from unnaive.io.writing.output_files import open_output

SUFFIX = ".pending-receipt"  # appended to the name of the model file


class PendingReceipt:
    """The pending receipt of the model file that a forgetting writes."""

    def __init__(self, target: Path) -> None:
        self.target = target
        place = target.resolve() if target.is_symlink() else target
        self.path = place.with_name(place.name + SUFFIX)

    def write(self, receipt: str) -> None:
        """Write the receipt before the model is replaced; it is on disk when this returns."""
        try:
            with replacing(self.path, "w", encoding="utf-8") as file:
                file.write(receipt)
        except OSError as problem:
            raise UnnaiveError(f"{self.path} cannot be written ({problem.strerror}); nothing was changed") from problem

    def deliver(self, output: Path) -> None:
        """Write the receipt where it belongs, and remove this one; if that fails, an error says where it is."""
        try:
            with open_output(output) as file:
                file.write(self.path.read_text(encoding="utf-8"))
        except OSError as problem:
            reason = (problem.strerror or str(problem)).partition(";")[0]
            raise UnnaiveError(
                f"{self.target} has forgotten the documents, but the receipt {output} cannot be written ({reason}); it "
                f"is in {self.path}; run the same command again, or move it"
            ) from problem
        self.path.unlink(missing_ok=True)

    def settle(self, model: Path) -> dict[str, Any] | None:
        """The receipt of an interrupted command, if it forgot; None if it forgot nothing, or there is none.

        model  the file that the command read, which is also the target unless there is another output
        """
        if not self.path.exists():
            return None
        receipt = read_receipt(self.path)
        if self.target.exists() and hash_file(self.target) == receipt["after"]["sha256"]:
            return receipt
        if hash_file(model) == receipt["before"]["sha256"]:
            self.path.unlink(missing_ok=True)
            return None
        raise UnnaiveError(
            f"{self.path} is the receipt of an interrupted command, and {self.target} was changed since; keep it if "
            f"{count_noun(receipt['documents'], 'document')} had been forgotten before that, and move it away"
        )

    def refuse_others(self, receipt: dict[str, Any]) -> None:
        """Raise an error: the interrupted command forgot other documents, or no place for its receipt is named."""
        forgotten = count_noun(receipt["documents"], "document")
        raise UnnaiveError(
            f"{self.target} has forgotten {forgotten} by a command that was interrupted, and {self.path} is the "
            "receipt; run that command again, with --receipt, or move the receipt away"
        )
