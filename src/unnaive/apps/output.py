"""Results to stdout or to a file that is there whole or not at all; and labels spelt as files spell them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from unnaive.apps.screen import echo, visible
from unnaive.atomic import replacing

if TYPE_CHECKING:
    from unnaive.fitted import FittedModel
    from unnaive.reading.corpus import Corpus
    from unnaive.reading.datafiles import DataFile


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO]:
    """A text file that appears when the block is done; stdout for None or "-".

    What UTF-8 cannot hold, such as half a surrogate pair, is written as an escape; to a terminal so are control
    characters.
    """
    if path is None or str(path) == "-":
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="backslashreplace")
        yield sys.stdout
        return
    options: dict[str, Any] = {"encoding": "utf-8", "newline": "", "errors": "backslashreplace"}
    try:
        if path.exists() and not path.is_file():  # a device or a pipe: nothing to rename
            with path.open("w", **options) as file:
                yield cast(TextIO, VisibleStream(file) if file.isatty() else file)
        else:
            with replacing(Path(os.path.realpath(path)), "w", **options) as file:
                yield cast(TextIO, file)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise OSError(problem.errno, f"{problem.strerror}; nothing was written", str(path)) from problem


class VisibleStream(io.TextIOBase):
    """A terminal that control characters reach as escapes."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write it, made visible."""
        return self._file.write(visible(text))

    def flush(self) -> None:
        """Write what is held back."""
        self._file.flush()

    def isatty(self) -> bool:
        """It is."""
        return True


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all, and tell on stderr; - is stdout."""

    with open_output(path) as file:
        file.write(text)
    if str(path) != "-":
        echo(f"wrote {path}", err=True)


def read_as_trained(source: DataFile, fitted: FittedModel) -> DataFile:
    """The source, read in the model's language, with the columns and the separator of labels that it was trained on."""
    language = fitted.token_rule.language if fitted.token_rule is not None else None
    how = replace(source.options, language=language or "en")
    usual = fitted.columns
    separator = source.separator or (None if usual is None else usual.separator)
    return replace(source, options=how, default_columns=usual, separator=separator)


def class_spellings(fitted: FittedModel) -> dict[str, Any]:
    """How a file may spell each class → the class.

    >>> from unnaive import TextClassifier
    >>> class_spellings(TextClassifier().fit(["spam", "ham"], [True, False]).fitted_)
    {'False': False, 'True': True, 'false': False, 'true': True}
    """
    spellings = {str(label): label for label in fitted.classes}
    if isinstance(fitted.classes[0], bool):
        spellings |= {str(label).lower(): label for label in fitted.classes}
    return spellings


def find_class(fitted: FittedModel, name: str | None) -> Any:
    """The class that is spelt so, None for None; an error that lists the classes if there is none."""
    from unnaive.errors import choose

    if name is None:
        return None
    classes = class_spellings(fitted)
    return classes[choose(list(classes), name, "class")]


def respell_labels(fitted: FittedModel, corpus: Corpus) -> Corpus:
    """The corpus with its labels spelt as str() spells the model's classes: a file may have "true" for True."""
    classes = class_spellings(fitted)
    return replace(corpus, labels=[tuple(str(classes.get(name, name)) for name in names) for names in corpus.labels])


def parse_labels(fitted: FittedModel, corpus: Corpus) -> list[tuple[Any, ...]]:
    """The corpus's labels as values of the type that the model's classes have."""
    classes = class_spellings(fitted)
    whole = isinstance(next(iter(classes.values())), int)

    def value(name: str) -> Any:
        if name in classes:
            return classes[name]
        return int(name) if whole and name.lstrip("-").isdecimal() else name

    return [tuple(value(name) for name in names) for names in corpus.labels]
