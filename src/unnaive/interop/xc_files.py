"""Files of extreme classification: sparse text files of the XC repository, and texts beside a file of their labels.

An XC file begins with "documents features labels". Each further line is a document: its labels i,j,… and its features
as number:value pairs. Matrices of this format, whose first line is "rows columns", have pairs only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.open_files import check_exists, open_bytes
from unnaive.base.types import Sparse

FEATURES, LABELS = "feature", "label"


@dataclass(frozen=True, eq=False)
class XCDocuments:
    """Documents in the XC format.

    X  the values of the features (n_docs, n_features)
    Y  1 for each label of a document (n_docs, n_labels)
    """

    X: Sparse
    Y: Sparse

    @property
    def labels(self) -> list[tuple[int, ...]]:
        """The numbers of the labels of each document."""
        ends = self.Y.indptr.tolist()
        return [tuple(self.Y.indices[a:b].tolist()) for a, b in pairwise(ends)]


def read_xc(path: str | Path, labels: str | Path | None = None) -> XCDocuments:
    """Read a file of the XC repository; compressed ones too.

    Parameters
    ----------
    path : str or Path
        A file with labels and features, or a matrix of features.
    labels : str or Path or None, default=None
        The matrix of labels that belongs to a matrix of features.

    Returns
    -------
    XCDocuments
        Sparse matrices `X` of features and `Y` of labels, as `LabelTree().fit(X, Y)` takes them.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = file.write_text("3 4 2\\n0,1 0:2 3:1.5\\n 1:1\\n1\\n")
    >>> read_xc(file).X.toarray().tolist(), read_xc(file).labels
    ([[2.0, 0.0, 0.0, 1.5], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]], [(0, 1), (), (1,)])
    """
    if labels is not None:
        X, Y = _read_matrix(path, FEATURES), _read_matrix(labels, LABELS)
        if X.shape[0] != Y.shape[0]:
            raise BadData(f"{path} has {X.shape[0]:,} rows and {labels} has {Y.shape[0]:,}; give files of one part")
        return XCDocuments(X, csr_array((np.ones(Y.nnz), Y.indices, Y.indptr), Y.shape))
    shape, lines = _read_lines(path, 3)
    parts = [_split_labels(line) for line in lines]
    numbers = [_read_numbers(path, row, words) for row, (words, _) in enumerate(parts)]
    Y = _matrix(path, numbers, [np.ones(len(found)) for found in numbers], (shape[0], shape[2]), LABELS)
    return XCDocuments(_read_pairs(path, [pairs for _, pairs in parts], shape[:2], FEATURES), Y)


def read_texts_and_labels(
    texts: str | Path, labels: str | Path, *, separator: str | None = None
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Read a file with a text in each line, and one with the labels of each, as data sets of many labels have them.

    Parameters
    ----------
    texts, labels : str or Path
        Two files of UTF-8 with as many lines; compressed ones too.
    separator : str or None, default=None
        What separates the labels of a line; None for white space.

    Returns
    -------
    list of str, list of tuples of str
        The texts and their label sets, as `TextClassifier("label-tree").fit(texts, labels)` takes them.
    """
    lines, named = _text_lines(texts), _text_lines(labels)
    if len(lines) != len(named):
        raise BadData(f"{texts} has {len(lines):,} lines and {labels} has {len(named):,}; each text needs a line")
    sets = [tuple(dict.fromkeys(name.strip() for name in line.split(separator) if name.strip())) for line in named]
    return lines, sets


def _text_lines(path: str | Path) -> list[str]:
    with open_bytes(check_exists(path)) as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig").removesuffix("\n").replace("\r\n", "\n").split("\n") if content else []
    except UnicodeDecodeError as problem:
        raise BadData(f"{path} is not UTF-8 (byte {problem.start:,}); convert it first") from problem


def _read_matrix(path: str | Path, what: str) -> Sparse:
    shape, lines = _read_lines(path, 2)
    return _read_pairs(path, lines, shape, what)


def _read_lines(path: str | Path, n_sizes: int) -> tuple[tuple[int, ...], list[bytes]]:
    """The sizes in the first line, and the other lines, as many as the first line says."""
    with open_bytes(check_exists(path)) as file:
        first, *lines = file.read().split(b"\n")
    sizes = first.split()
    if len(sizes) != n_sizes or not all(size.isdigit() for size in sizes):
        expected = "documents features labels" if n_sizes == 3 else "rows columns"
        shown = first[:40].decode("utf-8", "replace").strip()
        raise BadData(f"{path} begins with {shown!r}; an XC file begins with three or two sizes, here {expected}")
    if lines and not lines[-1].strip(b"\r"):
        lines.pop()
    if len(lines) != int(sizes[0]):
        raise BadData(f"{path} has {len(lines):,} documents, and its first line says {int(sizes[0]):,}; copy it again")
    return tuple(map(int, sizes)), lines


def _split_labels(line: bytes) -> tuple[bytes, bytes]:
    """(the labels of a line, its pairs): a line without labels begins with a space or with a pair."""
    first, _, rest = line.partition(b" ")
    return (b"", line) if b":" in first else (first.strip(b"\r"), rest)


def _read_numbers(path: str | Path, row: int, words: bytes) -> np.ndarray:
    try:
        return np.unique(np.array([int(word) for word in words.split(b",") if word], np.int64))
    except (ValueError, OverflowError) as problem:
        shown = words[:40].decode("utf-8", "replace")
        raise BadData(f"{path}: line {row + 2} has the labels {shown!r}; labels are whole numbers") from problem


def _read_pairs(path: str | Path, lines: Sequence[bytes], shape: Sequence[int], what: str) -> Sparse:
    """The matrix of lines of number:value pairs."""
    numbers, values = [], []
    for row, line in enumerate(lines):
        pairs = [pair.split(b":") for pair in line.split()]
        try:
            found = np.array([int(number) for number, _ in pairs], np.int64)
            weights = np.array([float(value) for _, value in pairs], np.float64)
        except (ValueError, OverflowError) as problem:
            raise BadData(f"{path}: line {row + 2} has a pair that is not number:value; correct it") from problem
        if not np.isfinite(weights).all():
            raise BadData(f"{path}: line {row + 2} has a value that is not a finite number; correct it")
        numbers.append(found)
        values.append(weights)
    return _matrix(path, numbers, values, shape, what)


def _matrix(
    path: str | Path, numbers: Sequence[np.ndarray], values: Sequence[np.ndarray], shape: Sequence[int], what: str
) -> Sparse:
    sizes = np.array([len(row) for row in numbers], np.int64)
    columns = np.concatenate([np.zeros(0, np.int64), *numbers])
    outside = np.flatnonzero((columns < 0) | (columns >= shape[1]))
    if len(outside):
        row = int(np.searchsorted(np.cumsum(sizes), outside[0], side="right"))
        raise BadData(
            f"{path}: line {row + 2} has {what} {columns[outside[0]]}, and its first line says that {what}s have "
            f"numbers from 0 to {shape[1] - 1}; correct it"
        )
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    matrix = csr_array((np.concatenate([np.zeros(0), *values]), columns, ends), (len(numbers), shape[1]))
    matrix.sum_duplicates()
    return matrix
