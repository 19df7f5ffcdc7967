"""fastText's text files: each line is a document; its labels are words with a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from unnaive.base.errors import BadData
from unnaive.models.fasttext.features import END, TOKENS


class LabelledLine(NamedTuple):
    """A line of such a file."""

    text: str
    labels: list[str]


def tokenize(text: str) -> list[str]:
    """The tokens of a text as fastText cuts it: at spaces, tabs and the like; every newline is the token </s>.

    >>> tokenize("a  b\\nc")
    ['a', 'b', '</s>', 'c']
    """
    tokens: list[str] = []
    for number, line in enumerate(text.split("\n")):
        tokens += [END] if number else []
        tokens += TOKENS.findall(line)
    return tokens


def split_line(line: str, prefix: str) -> LabelledLine:
    """The text of a line and its labels, with their prefix.

    >>> split_line("__label__a how are you __label__b", "__label__")
    LabelledLine(text='how are you', labels=['__label__a', '__label__b'])
    """
    tokens = TOKENS.findall(line)
    labels = [token for token in tokens if token.startswith(prefix)]
    return LabelledLine(" ".join(token for token in tokens if not token.startswith(prefix)), labels)


def read_labelled_lines(path: str | Path, prefix: str, purpose: str) -> Iterator[LabelledLine]:
    """The lines of a file; an error if it cannot be read or is not UTF-8."""
    try:
        with Path(path).open(encoding="utf-8", newline="\n") as file:
            for line in file:
                yield split_line(line, prefix)
    except OSError as problem:
        raise BadData(f"{path} cannot be opened for {purpose} ({problem.strerror or problem})!") from problem
    except UnicodeDecodeError as problem:
        raise BadData(f"{path} is not UTF-8 (byte {problem.start}); convert it first") from problem
