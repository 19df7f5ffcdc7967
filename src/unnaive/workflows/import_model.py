"""Import a classifier of fastText as an ordinary model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.workflows.result import Result

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


@dataclass(frozen=True, eq=False, repr=False)
class ImportResult(Result):
    """The imported model and its file."""

    fitted: FittedModel
    file: Path

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive import --json` prints them."""
        return {
            "file": str(self.file),
            "bytes": self.file.stat().st_size,
            "classes": len(self.fitted.classes),
            "words": self.fitted.scorer.n_terms,
            **self.fitted.reading,
        }


def import_file(file: str | Path, output: str | Path, *, multilabel: bool = False) -> ImportResult:
    """Write a fastText model (.bin or .ftz) as a model file with the same predictions.

    With `multilabel`, the model predicts every label with a probability of at least 0.5 (for the losses ova and ns).
    """
    from unnaive.base.open_files import check_exists
    from unnaive.classifier.model_file import check_writable, save
    from unnaive.models.fasttext.importing import import_fasttext

    path = Path(output)
    check_writable(path)
    fitted = import_fasttext(check_exists(Path(file)), multilabel=multilabel)
    save(fitted, path)
    return ImportResult(fitted, path)
