"""Results to stdout or to a file that is there whole or not at all; and labels spelt as files spell them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from unnaive.apps.screen import echo, is_quiet, visible
from unnaive.atomic import replacing

if TYPE_CHECKING:
    from unnaive.fitted import FittedModel
    from unnaive.reading.corpus import Corpus
    from unnaive.reading.datafiles import DataFile


@contextmanager
def open_output(path: Path | None, *, binary: bool = False) -> Iterator[Any]:
    """A file that appears when the block is done, packed if its name ends in .gz; stdout for None or "-".

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
            with _open_device(path, binary, options) as file:
                yield VisibleStream(cast(TextIO, file)) if file.isatty() and not binary else file
        elif binary or path.suffix == ".gz":
            with replacing(Path(os.path.realpath(path)), "wb") as raw:
                if binary:
                    yield raw
                else:
                    with _open_packed(raw, options) as file:
                        yield file
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


def _open_device(path: Path, binary: bool, options: dict[str, Any]) -> IO[Any]:
    return path.open("wb") if binary else path.open("w", **options)


def _open_packed(raw: Any, options: dict[str, Any]) -> IO[Any]:
    import gzip

    return cast(IO[Any], gzip.open(raw, "wt", **options))


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all, and tell on stderr; - is stdout."""
    with open_output(path) as file:
        file.write(text)
    if str(path) != "-" and not is_quiet():
        echo(f"wrote {path}", err=True)


def say_what_was_read(source: DataFile) -> None:
    """One line on stderr, unless --quiet: which columns, whether there was a header, how many rows."""
    if not is_quiet():
        echo(f"read {source.describe()}", err=True)


def warn_about_learnt(fitted: FittedModel, corpus: Corpus) -> None:
    """Warn if a model is measured on documents that it was trained on, as far as its file tells."""
    import warnings

    from unnaive.errors import UnnaiveWarning, count_noun

    n = 0 if fitted.text_hashes is None else fitted.text_hashes.count_learnt(corpus.texts)
    if n:
        warnings.warn(
            f"{n:,} of {count_noun(len(corpus), 'document')} of {corpus.name} {'is' if n == 1 else 'are'} among those "
            "that the model learnt from, so the measures flatter it; measure on documents that it never saw",
            UnnaiveWarning,
            stacklevel=2,
        )


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
    >>> class_spellings(TextClassifier("multinomial").fit(["spam", "ham"], [True, False]).fitted_)
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
