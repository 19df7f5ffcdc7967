"""Word vectors from a file; later reads use a small file in the user's cache.

The cache has a safetensors file of the words and their 8-bit vectors for each path, size and time of a file. Its values
are checked, and if it cannot be written, the vectors are read again.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.base.atomic_files import replacing
from unnaive.base.cache_folder import cache_folder
from unnaive.base.errors import BadData, BadModel, UnnaiveError
from unnaive.base.open_files import check_exists
from unnaive.base.types import Arrays
from unnaive.data.word_vectors import KEPT_WORDS, WordVectors
from unnaive.io.vectors.static_embeddings import read_static_embeddings, static_embedding_files
from unnaive.io.vectors.word_vector_files import read_named_vectors
from unnaive.models.fasttext.binary_file import is_fasttext_file, read_fasttext_file
from unnaive.models.fasttext.fasttext_vectors import FastTextVectors

VERSION = 2  # version of the cache, raised when the same file would give other vectors
REMEMBERED = 4  # files whose vectors are kept in memory


def read_vectors(vectors: Any, *, limit: int | None = KEPT_WORDS) -> WordVectors | None:
    """The vectors of the first words of a file or folder, or the WordVectors passed in; None for None."""
    if vectors is None or isinstance(vectors, WordVectors):
        return vectors
    if not isinstance(vectors, (str, os.PathLike)):
        raise UnnaiveError(f"vectors came as {type(vectors).__name__}; give the path of a file, or a WordVectors")
    file_path = check_exists(os.fspath(vectors))
    parts = static_embedding_files(file_path) if file_path.is_dir() else (file_path,)
    about = tuple((part.stat().st_size, part.stat().st_mtime_ns) for part in parts)
    return _read_known(str(file_path.resolve()), about, limit)


@lru_cache(maxsize=REMEMBERED)
def _read_known(path: str, about: tuple[tuple[int, int], ...], limit: int | None) -> WordVectors:
    """The vectors of files of these sizes and times, from the cache if it has them."""
    key = hashlib.blake2b(repr((VERSION, path, about, limit)).encode(), digest_size=16).hexdigest()
    cached = cache_folder() / "vectors" / f"{key}.safetensors"
    with suppress(OSError, ValueError, BadModel, KeyError):
        return WordVectors.from_arrays(_load(cached))
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        vectors = _read_file(Path(path), limit)
    for remark in remarks:
        warnings.warn(remark.message, stacklevel=3)
    if remarks:
        return vectors  # a file that seems cut short is read again, so that every command says so
    with suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        with replacing(cached) as file:
            file.write(_packed(vectors.to_arrays()))
    return vectors


def _load(path: Path) -> Arrays:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(path.read_bytes())
    except SafetensorError as problem:
        raise ValueError("a damaged cache") from problem


def _packed(arrays: Arrays) -> bytes:
    from safetensors.numpy import save

    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def _read_file(path: Path, limit: int | None) -> WordVectors:
    if path.is_dir() or not is_fasttext_file(path):
        words, table = (read_static_embeddings if path.is_dir() else read_named_vectors)(path, limit)
        if not table.any():
            raise BadData(f"the word vectors of {path} are all zero; give a file with other vectors")
        return WordVectors.of(words, table, limit=limit)
    file = read_fasttext_file(path)
    vectors = FastTextVectors(file)
    words = [word for word in vectors.rule.words[:limit] if _is_text(word)]
    if not words:
        raise BadData(f"{path} has no words with vectors; give a file of word vectors")
    return WordVectors.of(words, vectors.table(words), limit=limit)


def _is_text(word: str) -> bool:
    """Whether a word of a fastText file is UTF-8, and not the end of a line."""
    return word != "</s>" and not any("\ud800" <= character <= "\udfff" for character in word)
