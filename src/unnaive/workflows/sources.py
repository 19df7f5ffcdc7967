"""The arguments of workflows: data as paths or a DataFile, a model as a file or in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from unnaive.base.errors import BadData

if TYPE_CHECKING:
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel

Data: TypeAlias = Union[str, Path, Sequence[str | Path], "DataFile"]
ModelSource: TypeAlias = Union[str, Path, "TextClassifier", "FittedModel"]


def open_data(data: Data, *, text: str | Sequence[str] = (), label: str | None = None) -> DataFile:
    """The data file for a path or several, with these columns; a DataFile is returned, with the columns if given."""
    from unnaive.io.datafiles import DataFile

    columns: dict[str, Any] = {"text": (text,) if isinstance(text, str) else tuple(text), "label": label}
    columns = {name: value for name, value in columns.items() if value}
    if isinstance(data, DataFile):
        return replace(data, **columns) if columns else data
    paths = (data,) if isinstance(data, (str, Path)) else data
    if not isinstance(paths, Sequence) or not paths or not all(isinstance(path, (str, Path)) for path in paths):
        came = "an empty list" if isinstance(paths, Sequence) and not paths else f"of type {type(data).__name__}"
        raise BadData(
            f"data is {came}; expected the path of a file or folder, or a list of paths; "
            "TextClassifier.fit takes texts and labels in memory"
        )
    return DataFile(tuple(map(str, paths)), **columns)


def open_model(model: ModelSource) -> FittedModel:
    """The fitted model in a file, in a classifier, or as it is."""
    from unnaive.learning.fitted import FittedModel

    if isinstance(model, FittedModel):
        return model
    if isinstance(model, (str, Path)):
        from unnaive.classifier.model_file import load_model

        return load_model(model)
    return model.fitted_
