"""Read fastText's model files, .bin and .ftz: bytes → FastTextFile. Nothing in them is trusted.

Files are little-endian: a magic number, the version and the settings; the dictionary (words, then labels, each with its
count); the kept hashed n-grams, if the model was pruned; the input matrix, a row for each word and hashed n-gram; the
output matrix, a row for each label. Either matrix may be quantised (matrices.py).
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from unnaive.base.atomic_files import replacing
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.base.mapped_file import MappedFile
from unnaive.base.system import read_at
from unnaive.models.fasttext.matrices import DenseMatrix, Matrix, QuantisedMatrix

MAGIC = 793712314
VERSIONS = (11, 12)
LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
KINDS = {1: "cbow", 2: "skipgram", 3: "supervised"}
SETTINGS = (
    "dim", "ws", "epoch", "minCount", "neg", "wordNgrams", "loss", "model", "bucket", "minn", "maxn", "lrUpdateRate",
)  # fmt: skip
LONGEST_GRAM = 100  # characters or words: with longer n-grams, reading a text would take too long
LARGEST_DIM = 1 << 16
READ_AHEAD = 1 << 24  # bytes of the dictionary that are read at a time
LARGEST_COUNT = 10**15  # from here on fastText's own Huffman tree is undefined


@dataclass(frozen=True, eq=False)
class FastTextFile:
    """The content of a fastText model file.

    version      11 or 12
    settings     the numbers of its header by fastText's names, dim to lrUpdateRate
    words        the words of the dictionary as bytes, in the order of their rows
    word_counts  occurrences of each word in training (n_words,)
    labels       the labels as bytes, with their prefix
    label_counts occurrences of each label in training (n_labels,)
    n_tokens     tokens seen in training
    kept         kept hashed n-grams, each with its row after the words (n_kept, 2); None if not pruned
    input        a row for each word and hashed n-gram (n_rows, dim)
    output       a row for each label (n_labels, dim)
    opened       the open file, from which dense matrices and copies are read
    """

    path: Path
    version: int
    settings: dict[str, int]
    words: list[bytes]
    word_counts: NDArray[np.int64]
    labels: list[bytes]
    label_counts: NDArray[np.int64]
    n_tokens: int
    kept: NDArray[np.int32] | None
    input: Matrix
    output: Matrix
    opened: MappedFile | None = None

    @property
    def supervised(self) -> bool:
        """Whether the file has a classifier; otherwise it has word vectors."""
        return KINDS[self.settings["model"]] == "supervised"

    @property
    def loss(self) -> str:
        """The training loss, by fastText's name."""
        return LOSSES[self.settings["loss"]]

    @property
    def quantised(self) -> bool:
        """Whether the input matrix is quantised: a .ftz file."""
        return isinstance(self.input, QuantisedMatrix)


def is_fasttext_file(path: str | Path) -> bool:
    """Whether a file begins with the magic number of fastText's models."""
    with Path(path).open("rb") as file:
        return file.read(4) == struct.pack("<i", MAGIC)


def read_fasttext_file(path: str | Path) -> FastTextFile:
    """Read a .bin or .ftz file of fastText; a damaged or malicious file raises an error.

    Dense matrices stay in the file until their rows are needed.
    """
    model_path = Path(path)
    try:
        with model_path.open("rb") as file:
            return _Reader(file, model_path).whole()
    except BadModel as problem:
        raise BadModel(f"{path}: {problem}") from None
    except OSError as problem:
        raise BadModel(f"{path}: it cannot be read ({problem.strerror or problem}); check its permissions") from problem
    except MemoryError as problem:
        raise BadModel(f"{path}: there is not enough memory to read it; quantise it with fastText first") from problem


def copy_fasttext_file(file: FastTextFile, target: Path) -> None:
    """Write the bytes of a file that was read to `target`, which may be the same path or the same file."""
    try:
        with replacing(target) as copy:
            for part in _content(file):
                copy.write(part)
    except OSError as problem:
        reason = problem.strerror or problem
        raise UnnaiveError(f"{target} cannot be written ({reason}); nothing was changed") from problem


def _content(file: FastTextFile) -> Iterator[bytes]:
    handle = None if file.opened is None else file.opened.handle
    if file.opened is None or handle is None:
        yield file.path.read_bytes()
        return
    file.opened.check()
    start = 0
    while part := read_at(handle, start, READ_AHEAD):
        yield part
        start += len(part)


class _Reader:
    """Reads a file from its beginning to its end; every number is checked against the size of the file."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path = file, path
        self.size = os.fstat(file.fileno()).st_size
        self.opened = MappedFile(path, file.fileno())

    def whole(self) -> FastTextFile:
        """The file."""
        if self.left < 4 or self._numbers("<i")[0] != MAGIC:
            raise BadModel("this is not a fastText model; give a .bin or .ftz file that fastText saved")
        version = self._numbers("<i")[0]
        if version not in VERSIONS:
            raise BadModel(f"it has version {version} of fastText's format, not 11 or 12; save it with fastText 0.9")
        settings = self._settings(version)
        words, word_counts, labels, label_counts, n_tokens, n_kept = self._dictionary()
        kept = None if n_kept < 0 else self._array("<i4", (n_kept, 2), "list of kept n-grams")
        quantised = self._flag()
        if kept is not None and not quantised:
            raise BadModel("it is pruned but not quantised, which fastText does not support; quantise it again")
        inputs = self._matrix(quantised)
        quantised_output = self._flag() and quantised
        outputs = self._matrix(quantised_output)
        if self.left:
            raise BadModel(f"{self.left:,} bytes follow after its end; it is damaged, save it again")
        result = FastTextFile(
            self.path, version, settings, words, word_counts, labels, label_counts, n_tokens, kept, inputs, outputs,
            self.opened,
        )  # fmt: skip
        _check_sizes(result)
        return result

    @property
    def left(self) -> int:
        """Bytes that follow."""
        return self.size - self.file.tell()

    def _bytes(self, size: int, what: str) -> bytes:
        if not 0 <= size <= self.left:
            raise BadModel(f"it ends in the middle of its {what}; it is damaged or cut short, copy it again")
        return self.file.read(size)

    def _numbers(self, form: str, what: str = "header") -> tuple[int, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form), what))

    def _array(self, dtype: str, shape: tuple[int, ...], what: str) -> NDArray[Any]:
        kind = np.dtype(dtype)
        content = self._bytes(kind.itemsize * math.prod(shape), what)
        return np.frombuffer(content, kind).reshape(shape).astype(kind.newbyteorder("="))

    def _flag(self) -> bool:
        flag = self._bytes(1, "matrices")[0]
        if flag > 1:
            raise BadModel(f"it has {flag} where 0 or 1 is expected; it is damaged, save it again")
        return bool(flag)

    def _settings(self, version: int) -> dict[str, int]:
        settings = dict(zip(SETTINGS, self._numbers("<12i"), strict=True))
        self._bytes(8, "header")  # the threshold of subsampling, which only training needs
        if settings["model"] not in KINDS or settings["loss"] not in LOSSES:
            raise BadModel("its kind of model or its loss is unknown; it is damaged, save it again")
        if version == 11 and KINDS[settings["model"]] == "supervised":
            settings["maxn"] = 0  # such files were written before classifiers had character n-grams
        ranges = {
            "dim": (1, LARGEST_DIM), "bucket": (0, 2**31 - 1), "minn": (0, LONGEST_GRAM), "maxn": (0, LONGEST_GRAM),
            "wordNgrams": (0, LONGEST_GRAM),
        }  # fmt: skip
        for name, (least, most) in ranges.items():
            if not least <= settings[name] <= most:
                raise BadModel(
                    f"its {name} is {settings[name]}, not from {least} to {most}; it is damaged, save it again"
                )
        if (settings["maxn"] or settings["wordNgrams"] > 1) and not settings["bucket"]:
            raise BadModel("it has n-grams but no buckets for their hashes; it is damaged, save it again")
        return settings

    def _dictionary(
        self,
    ) -> tuple[list[bytes], NDArray[np.int64], list[bytes], NDArray[np.int64], int, int]:
        size, n_words, n_labels, n_tokens, n_kept = self._numbers("<3i2q", "dictionary")
        if min(n_words, n_labels) < 0 or size != n_words + n_labels or size * 10 > self.left or n_kept < -1:
            raise BadModel("the sizes of its dictionary do not match; it is damaged, save it again")
        entries: list[bytes] = []
        counts = np.zeros(size, np.int64)
        content, at = b"", 0
        for row in range(size):
            end = content.find(b"\0", at)
            while end < 0 or end + 10 > len(content):
                more = self.file.read(READ_AHEAD)
                if not more:
                    raise BadModel("it ends in the middle of its dictionary; it is damaged or cut short, copy it again")
                content, at = content[at:] + more, 0
                end = content.find(b"\0")
                if end < 0 and len(content) > READ_AHEAD:
                    raise BadModel(f"its dictionary has an entry of more than {READ_AHEAD:,} bytes; it is damaged")
            entries.append(content[at:end])
            counts[row], kind = struct.unpack_from("<qb", content, end + 1)
            if kind != (row >= n_words):
                raise BadModel("its dictionary does not list words first, then labels; it is damaged")
            at = end + 10
        self.file.seek(at - len(content), os.SEEK_CUR)
        if counts.min(initial=0) < 0 or counts.max(initial=0) >= LARGEST_COUNT:
            raise BadModel("its dictionary has an impossible count; it is damaged, save it again")
        return entries[:n_words], counts[:n_words], entries[n_words:], counts[n_words:], n_tokens, n_kept

    def _matrix(self, quantised: bool) -> Matrix:
        return self._quantised() if quantised else self._dense()

    def _dense(self) -> DenseMatrix:
        rows, columns = self._shape()
        offset, size = self.file.tell(), 4 * rows * columns
        if size > self.left:
            raise BadModel("it ends in the middle of its matrices; it is damaged or cut short, copy it again")
        self.file.seek(size, os.SEEK_CUR)
        return DenseMatrix(self.path, offset, (rows, columns), self.opened)

    def _shape(self) -> tuple[int, int]:
        rows, columns = self._numbers("<2q", "matrices")
        if not (0 <= rows < 2**31 and 1 <= columns <= LARGEST_DIM):
            raise BadModel(f"it has a matrix of {rows} × {columns}, which is impossible; it is damaged, save it again")
        return rows, columns

    def _quantised(self) -> QuantisedMatrix:
        has_norms = self._flag()
        rows, columns = self._shape()
        (code_size,) = self._numbers("<i", "matrices")
        n_parts = -(-code_size // rows) if rows else 0
        if code_size < 0 or n_parts * rows != code_size:
            raise BadModel("the sizes of a quantised matrix do not match; it is damaged, save it again")
        codes = self._array("u1", (rows, n_parts), "matrices")
        centroids, width = self._quantiser(columns, n_parts)
        norm_codes, norms = None, None
        if has_norms:
            norm_codes = self._array("u1", (rows,), "matrices")
            norms = self._quantiser(1, 1)[0]
        return QuantisedMatrix(codes, centroids, width, columns, norm_codes, norms)

    def _quantiser(self, columns: int, n_parts: int) -> tuple[NDArray[np.float32], int]:
        """The centroids of a product quantiser and how many columns each of its parts has."""
        dim, parts, width, last = self._numbers("<4i", "matrices")
        sound = dim == columns and width > 0 and 0 < last <= width and parts == -(-dim // width)
        if not sound or (parts - 1) * width + last != dim or (n_parts and parts != n_parts):
            raise BadModel("the sizes of a quantiser do not match; it is damaged, save it again")
        return self._array("<f4", (dim * 256,), "matrices"), min(width, dim)


def _check_sizes(file: FastTextFile) -> None:
    """Raise an error if the shapes of the matrices do not match the dictionary and the settings."""
    settings, n_words = file.settings, len(file.words)
    grams = settings["bucket"] if settings["maxn"] or settings["wordNgrams"] > 1 else 0
    if file.kept is not None:
        grams = 0 if not len(file.kept) else int(file.kept[:, 1].max()) + 1
        if len(file.kept) and (file.kept.min() < 0 or int(file.kept[:, 0].max()) >= settings["bucket"]):
            raise BadModel("its list of kept n-grams is invalid; it is damaged, save it again")
    n_outputs = len(file.labels) if file.supervised else 0
    checks: list[tuple[Callable[[], bool], str]] = [
        (lambda: file.input.shape[1] == file.output.shape[1] == settings["dim"], "columns"),
        (lambda: file.input.shape[0] >= n_words + grams, "rows of its input"),
        (lambda: not file.supervised or file.output.shape[0] == n_outputs, "rows of its output"),
    ]
    for fits, what in checks:
        if not fits():
            raise BadModel(f"the {what} do not match its dictionary and settings; it is damaged, save it again")
    if file.supervised and not file.labels:
        raise BadModel("it has no labels; it is damaged, or was trained on a file without labels")
