"""Results to stdout or to a file that is there whole or not at all; and labels as files have them."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from unnaive.classifier import TextClassifier
    from unnaive.reading.corpus import Corpus
    from unnaive.reading.datafiles import DataFile


@contextmanager
def written(path: Path | None) -> Iterator[TextIO]:
    """A text file that appears when the block is done; stdout for None or "-"."""
    if path is None or str(path) == "-":
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure:
            reconfigure(encoding="utf-8", errors="replace")
        yield sys.stdout
        return
    device = path.exists() and not path.is_file()  # or a pipe: nothing to rename
    temporary = path if device else path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as file:
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


def like_trained(source: DataFile, classifier: TextClassifier) -> DataFile:
    """The source, read in the model's language, with the columns and the separator of labels that it was trained on."""
    how = replace(source.options, language=classifier.language or "en")
    usual = classifier.columns_
    separator = source.separator or (None if usual is None else usual.separator)
    return replace(source, options=how, default_columns=usual, separator=separator)


def as_known(classifier: TextClassifier, corpus: Corpus) -> Corpus:
    """The corpus with labels spelt as the classifier's classes are; in files, numbers and truth values are words."""
    known = spellings(classifier)
    return replace(corpus, labels=[tuple(str(known.get(name, name)) for name in names) for names in corpus.labels])


def spellings(classifier: TextClassifier) -> dict[str, Any]:
    """How a file may spell each class → the class.

    >>> from unnaive import TextClassifier
    >>> spellings(TextClassifier().fit(["spam", "ham"], [True, False]))
    {'False': False, 'True': True, 'false': False, 'true': True}
    """
    classes = classifier.classes_.tolist()
    known = {str(label): label for label in classes}
    if isinstance(classes[0], bool):
        known |= {str(label).lower(): label for label in classes}
    return known


def labels_for(classifier: TextClassifier, corpus: Corpus) -> list[tuple[Any, ...]]:
    """The corpus's labels as values of the kind that the classifier has."""
    known = spellings(classifier)
    whole = isinstance(next(iter(known.values())), int)

    def value(name: str) -> Any:
        if name in known:
            return known[name]
        return int(name) if whole and name.lstrip("-").isdecimal() else name

    return [tuple(value(name) for name in names) for names in corpus.labels]
