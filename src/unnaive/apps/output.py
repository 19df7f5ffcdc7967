"""Results to stdout or to a file that is there whole or not at all; and labels spelt as files spell them."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.fitted import FittedModel
    from unnaive.reading.corpus import Corpus
    from unnaive.reading.datafiles import DataFile


@contextmanager
def open_output(path: Path | None, *, binary: bool = False) -> Iterator[Any]:
    """A file that appears when the block is done, packed if its name ends in .gz; stdout for None or "-"."""
    if path is None or str(path) == "-":
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="replace")
        yield sys.stdout
        return
    device = path.exists() and not path.is_file()  # or a pipe: nothing to rename
    temporary = path if device else path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _open_file(temporary, path.suffix == ".gz", binary) as file:
            yield file
        if not device:
            temporary.replace(path)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise OSError(problem.errno, f"{problem.strerror}; nothing was written", str(path)) from problem
    finally:
        if not device:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _open_file(path: Path, packed: bool, binary: bool) -> IO[Any]:
    if binary:
        return path.open("wb")
    if not packed:
        return path.open("w", encoding="utf-8", newline="")
    import gzip

    return gzip.open(path, "wt", encoding="utf-8", newline="")


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all, and tell on stderr; - is stdout."""
    import typer

    from unnaive.apps.screen import is_quiet

    with open_output(path) as file:
        file.write(text)
    if str(path) != "-" and not is_quiet():
        typer.echo(f"wrote {path}", err=True)


def say_what_was_read(source: DataFile) -> None:
    """One line on stderr, unless --quiet: which columns, whether there was a header, how many rows."""
    import typer

    from unnaive.apps.screen import is_quiet

    if not is_quiet():
        typer.echo(f"read {source.describe()}", err=True)


def warn_about_overlap(fitted: FittedModel, corpus: Corpus) -> None:
    """Warn if documents to measure on are among those that the model was trained on."""
    import warnings

    from unnaive.errors import UnnaiveWarning, count_noun
    from unnaive.reading.seen import count_seen

    n = 0 if fitted.seen is None else count_seen(fitted.seen, corpus.texts)
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
