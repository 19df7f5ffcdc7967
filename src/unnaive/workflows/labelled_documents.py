"""Read labelled documents for a model, or find that the data has no labels of its classes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from unnaive.base.errors import BadData

if TYPE_CHECKING:
    from unnaive.data.corpus import Corpus
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel

TEXT_FORMATS = ("lines", "message", "files", "folder")  # formats that have texts and nothing else


def read_labelled_corpus(source: DataFile, fitted: FittedModel) -> Corpus:
    """The documents with labels, spelt like the classes of the model; NoLabels if the data has none.

    A column that was guessed to have the labels, but has none of a class of the model, is not one of labels. A text
    file is a table if labels are looked for; if it cannot be read as one, its lines are texts without labels.
    """
    from unnaive.data.corpus import NoLabels
    from unnaive.learning.class_spellings import respell_labels

    remarks: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            corpus = respell_labels(fitted, source.corpus())
        if not names_labels(source):
            _check_known(source, fitted, corpus)
    except NoLabels:
        remarks.clear()  # they are about labels, which are none
        raise
    except BadData:
        if not names_labels(source) and _has_texts_only(source, fitted):
            remarks.clear()
            raise NoLabels(f"{source.name} has texts without labels") from None
        raise
    finally:
        for remark in remarks:
            warnings.warn(remark.message, stacklevel=3)
    return corpus


def names_labels(source: DataFile) -> bool:
    """Whether options say where the labels are."""
    return source.label is not None or bool(source.label_columns) or source.separator is not None


def _has_texts_only(source: DataFile, fitted: FittedModel) -> bool:
    """Whether a file that cannot be read as a table has plain texts; not if its first line names the labels.

    A folder has plain texts if it has no subfolders, which would be its classes.
    """
    from unnaive.io.formats import split_row
    from unnaive.workflows.trained_columns import trained_columns

    inspection = next(source.inspections(labelled=False))
    if inspection.format == "folder" and any(path.is_dir() for path in Path(source.path).iterdir()):
        return False
    first = next(iter(source.sample_texts()), "")
    trained = trained_columns(fitted)
    names_label = trained is not None and trained.label is not None and trained.label in split_row(first)
    return inspection.format in TEXT_FORMATS and not names_label


def _check_known(source: DataFile, fitted: FittedModel, corpus: Corpus) -> None:
    """Raise NoLabels if no label is a class of the model and their column is not that of its training."""
    from unnaive.data.corpus import NoLabels
    from unnaive.io.fields.columns import join_names
    from unnaive.workflows.trained_columns import trained_columns

    found = {label for labels in corpus.labels for label in labels}
    trained = trained_columns(fitted)
    if trained is None or trained.label is None or found & set(map(str, fitted.classes)):
        return
    inspection = next(source.inspections(labelled=True))
    if trained.label not in inspection.names and "label" not in inspection.roles:
        raise NoLabels(
            f"{source.name} has no column {trained.label!r}, and no class of the model among "
            f"{join_names(sorted(found), 3)}"
        )
