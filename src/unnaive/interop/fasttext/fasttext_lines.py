"""fastText's text files: each line is a document; its labels are words with a prefix."""

from __future__ import annotations

from collections.abc import Container, Iterator
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


def split_line(line: str, prefix: str, known_labels: Container[str] = ()) -> LabelledLine:
    """The text of a line and its labels, with their prefix; a label that the model knows needs no prefix.

    >>> split_line("__label__a how are you __label__b", "__label__")
    LabelledLine(text='how are you', labels=['__label__a', '__label__b'])
    >>> split_line("#a how are you", "__label__", {"#a"})
    LabelledLine(text='how are you', labels=['#a'])
    """
    words: list[str] = []
    labels: list[str] = []
    for token in TOKENS.findall(line):
        (labels if token.startswith(prefix) or token in known_labels else words).append(token)
    return LabelledLine(" ".join(words), labels)


def read_labelled_lines(
    path: str | Path, prefix: str, purpose: str, known_labels: Container[str] = (), *, any_bytes: bool = False
) -> Iterator[LabelledLine]:
    """The lines of a file; the word </s> ends a line too. An error if the file cannot be read or is not UTF-8.

    With `any_bytes`, bytes that are not UTF-8 become lone surrogates ("surrogateescape") and are no error.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="\n", errors="surrogateescape" if any_bytes else None) as file:
            for line in file:
                for part in _split_at_end_words(line):
                    yield split_line(part, prefix, known_labels)
    except OSError as problem:
        raise BadData(f"{path} cannot be opened for {purpose} ({problem.strerror or problem})!") from problem
    except UnicodeDecodeError as problem:
        raise BadData(f"{path} is not UTF-8 (byte {problem.start}); convert it first") from problem


def _split_at_end_words(line: str) -> list[str]:
    """The parts of a line between the words </s>.

    >>> _split_at_end_words("a </s> b</s> c")
    ['a', 'b</s> c']
    """
    if END not in line:
        return [line]
    parts: list[list[str]] = [[]]
    for token in TOKENS.findall(line):
        parts.append([]) if token == END else parts[-1].append(token)
    return [" ".join(tokens) for tokens in parts if tokens]
