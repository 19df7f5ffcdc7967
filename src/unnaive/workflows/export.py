"""Export a model to another language, with a conformance file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.workflows.result import Result
from unnaive.workflows.sources import ModelSource, open_model

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


@dataclass(frozen=True, repr=False)
class ExportResult(Result):
    """The files of an export."""

    folder: Path
    target: str
    files: tuple[Path, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive export --json` prints them."""
        sizes = {path.name: path.stat().st_size for path in self.files}
        return {"folder": str(self.folder), "target": self.target, "files": sizes}


def export_file(
    model: ModelSource,
    to: str,
    output: str | Path,
    *,
    more: Callable[[FittedModel], Mapping[str, bytes]] | None = None,
) -> ExportResult:
    """Write a linear model for another language into a folder: to "js", "onnx", "c", "sql" or "clickhouse".

    `more` makes further files for the folder, by name. `unnaive.interop.export.export_folder.check_export` compares an
    export with its conformance file, as `unnaive export --check` does.

    >>> import tempfile
    >>> from unnaive import TextClassifier
    >>> model = TextClassifier("multinomial").fit(["fine film", "a fine day", "bad film", "bad day"], [1, 1, 0, 0])
    >>> export_file(model, "js", tempfile.mkdtemp() + "/out").files[0].name
    'model.js'
    """
    from unnaive.interop.export.export_folder import check_folder_writable, export_model, find_target

    folder = Path(output)
    find_target(to)
    check_folder_writable(folder)
    fitted = open_model(model)
    return ExportResult(folder, to, tuple(export_model(fitted, to, folder, more=more and more(fitted))))
