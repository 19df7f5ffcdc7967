"""Text files without columns as tables: each line is a document, plain or with fastText's labels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unnaive.base.errors import BadData
from unnaive.base.open_files import ByteSource
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.tables import Table, split_into_batches
from unnaive.io.text_encoding import BYTE_ORDER_MARK, read_lines


class LineTable(Table):
    """Plain text: every line that is not blank is a document; the one column is called text."""

    reusable = True
    names: tuple[str, ...] = ("text",)
    roles: Mapping[str, str] = {"text": "text"}

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        self.source, self.options = source, options

    def kept_names(self) -> tuple[str, ...]:
        """Empty: a line is a document, not a row of a table."""
        return ()

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The lines without their ends, a batch at a time."""
        documents = (line.rstrip("\r\n") for line in _unmarked_lines(self.source, self.options))
        for batch in split_into_batches(documents, self.options.rows, size=len):
            yield [batch for _ in names]


def _unmarked_lines(source: ByteSource, options: ReadOptions) -> Iterator[str]:
    """The lines that are not blank, without the byte-order marks of files that were joined."""
    unmarked = (line.removeprefix(BYTE_ORDER_MARK) for _, line in read_lines(source, options))
    return (line for line in unmarked if line.strip())


FASTTEXT_PREFIX = "__label__"
# like fastText, words end at ASCII spaces only: a label may contain a no-break space
_FASTTEXT = re.compile(rf"(?:^|(?<=\s)){FASTTEXT_PREFIX}(\S*)\s*", re.ASCII)


class FastTextTable(LineTable):
    """fastText's lines: every word that begins with __label__ is a label, the rest is the text."""

    names: tuple[str, ...] = ("text", "label")
    roles: Mapping[str, str] = {"text": "text", "label": "label"}

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """Texts and lists of labels, a batch at a time."""
        documents = (self.split(line) for line in _unmarked_lines(self.source, self.options))
        for batch in split_into_batches(documents, self.options.rows, size=lambda pair: len(pair[0])):
            columns = dict(zip(self.names, map(list, zip(*batch, strict=True)), strict=True))
            yield [columns[name] for name in names]

    def split(self, line: str) -> tuple[str, list[str]]:
        """The text and the labels of a line."""
        return split_fasttext(line)


class AnnifTable(FastTextTable):
    """Annif's corpora: `text⇥<uri> <uri>`, or JSON lines with `text` and `subjects`; the URIs are the labels."""

    def split(self, line: str) -> tuple[str, list[str]]:
        """The text and the URIs of a line."""
        try:
            return split_annif(line)
        except ValueError as problem:
            raise BadData(f"{self.source.name}: {problem}") from None


def split_annif(line: str) -> tuple[str, list[str]]:
    """(text, URIs) of one line of a corpus of Annif; of a subject without a URI its label.

    >>> split_annif("how are you\\t<http://a.org/1> http://a.org/2\\n")
    ('how are you', ['http://a.org/1', 'http://a.org/2'])
    >>> split_annif('{"text": "how are you", "subjects": [{"uri": "http://a.org/1"}, {"label": "cats"}]}')
    ('how are you', ['http://a.org/1', 'cats'])
    """
    if line.lstrip().startswith("{"):
        return _split_annif_json(line)
    text, _, uris = line.rstrip("\r\n").partition("\t")
    return text, [uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri for uri in uris.split()]


def _split_annif_json(line: str) -> tuple[str, list[str]]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = {"subjects": 0}
    text, subjects = None, None
    if isinstance(document, dict):
        text, subjects = document.get("text", ""), document.get("subjects", [])
    if not isinstance(subjects, list) or not isinstance(text, str):
        raise ValueError(f"{line.strip()[:60]!r} is no document of Annif; it has a text and a list of subjects")
    given = [subject.get("uri", subject.get("label")) if isinstance(subject, dict) else None for subject in subjects]
    labels = [label for label in given if isinstance(label, str)]
    if len(labels) < len(given):
        raise ValueError(f"a subject of {line.strip()[:60]!r} has no uri and no label")
    return text, labels


def split_fasttext(line: str) -> tuple[str, list[str]]:
    """(text, labels) of one line.

    >>> split_fasttext("__label__a __label__b how are you\\n")
    ('how are you', ['a', 'b'])
    """
    return _FASTTEXT.sub("", line).strip(), _FASTTEXT.findall(line)
