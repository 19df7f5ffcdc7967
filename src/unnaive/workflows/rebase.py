"""Teach a retrained model the documents that a served model was taught."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError
from unnaive.workflows.result import Result

if TYPE_CHECKING:
    from unnaive.curation.teaching.rebase import Rebased
    from unnaive.learning.fitted import FittedModel


@dataclass(frozen=True, eq=False, repr=False)
class RebaseResult(Result):
    """The model with the taught documents, its file, and which documents were and were not applied."""

    fitted: FittedModel
    file: Path
    rebased: Rebased

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive rebase --json` prints them."""
        left = [change.to_dict() for change in self.rebased.left]
        return {"file": str(self.file), **self.rebased.to_answer(), "left": left}


def rebase_file(
    model: str | Path, record: str | Path, *, new_classes: bool = False, output: str | Path | None = None
) -> RebaseResult:
    """Apply the documents in the record of a served model to a model that was trained again.

    Parameters
    ----------
    model : path
        The retrained model.
    record : path
        Record of the served model: the file MODEL.record beside it. It can then be used with the new file.
    new_classes : bool, default=False
        Whether to apply documents of classes that the retrained model does not have, too.
    output : path or None, default=None
        The file to write; by default the model is replaced.
    """
    from unnaive.base.open_files import check_exists, hash_file
    from unnaive.classifier.model_file import check_writable, load_model
    from unnaive.curation.teaching.rebase import REBASE, rebase
    from unnaive.curation.teaching.saved_models import write_saved_model
    from unnaive.curation.teaching.teaching_log import TeachingRecord

    retrained = Path(model)
    file = retrained if output is None else Path(output)
    target = check_writable(file)
    fitted = load_model(retrained)
    if fitted.token_rule is None:
        raise UnnaiveError(
            f"{model} was trained on counts, so it cannot be taught texts; name a model trained on texts"
        )
    book = TeachingRecord(retrained, check_exists(Path(record)))
    try:
        if book.event_of_file(hash_file(retrained)) is not None:
            raise UnnaiveError(f"{model} belongs to {record} already; serve it, or name a model that was trained again")
        result = rebase(fitted, book, new_classes=new_classes)
        event = book.add(REBASE, result.to_change(), result.to_answer() | {"base": book.versions().next_base})
        write_saved_model(target, result.fitted, book, event)
    finally:
        book.close()
    return RebaseResult(result.fitted, file, result)
