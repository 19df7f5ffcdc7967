"""Folders of static embeddings (model2vec, sentence-transformers' StaticEmbedding) → words and a matrix.

A folder has `model.safetensors`, a table with a row for each token, and `tokenizer.json`, which lists the tokens. A
token that begins a word is taken for the word, if it is one whole word in texts; pieces inside words are left out, so
words that the tokenizer splits have no vector. Lengths of vectors are weights of tokens, which are not used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.types import Ids, Singles

TABLES = ("embeddings", "embedding.weight")  # names of the table, by model2vec and by sentence-transformers
LAYOUTS = ("", "0_StaticEmbedding")  # folders inside that may have the two files
WORD_STARTS = ("▁", "Ġ")  # SentencePiece's and GPT-2's mark of a token that begins a word
BLOCK = 1 << 14  # rows read at a time
SPECIAL = re.compile(r"\[.+\]|<.+>")  # tokens such as [unused3] and <pad>


def static_embedding_files(folder: Path) -> tuple[Path, Path]:
    """The table and the tokenizer of a folder, or an error that says what a folder must have."""
    for layout in LAYOUTS:
        files = folder / layout / "model.safetensors", folder / layout / "tokenizer.json"
        if all(file.is_file() for file in files):
            return files
    raise BadData(
        f"{folder} is a folder without model.safetensors and tokenizer.json; name a file of word vectors, or a folder "
        "that model2vec saved"
    )


def read_static_embeddings(folder: Path, limit: int | None = None) -> tuple[list[str], Singles]:
    """The most frequent words, at most `limit`, and their vectors (n_words, n_dims)."""
    table_file, tokenizer_file = static_embedding_files(folder)
    words, tokens = _find_words(_read_tokenizer(tokenizer_file), tokenizer_file)
    words, tokens = words[:limit], tokens[:limit]
    return words, _read_rows(table_file, tokens)


def _read_tokenizer(file: Path) -> dict[str, Any]:
    try:
        tokenizer = json.loads(file.read_bytes())
    except (ValueError, RecursionError, OSError) as problem:
        raise BadData(f"{file} cannot be read as JSON ({str(problem)[:80]}); copy it again") from problem
    if not isinstance(tokenizer, dict) or not isinstance(tokenizer.get("model"), dict):
        raise _no_tokenizer(file)
    return tokenizer


def _no_tokenizer(file: Path) -> BadData:
    return BadData(f"{file} has no list of tokens; give a tokenizer.json of the kinds WordPiece, Unigram, BPE or "
                   "WordLevel")  # fmt: skip


def _find_words(tokenizer: dict[str, Any], file: Path) -> tuple[list[str], Ids]:
    """The tokens that are whole words, most frequent first, and their numbers (n_words,).

    Vocabularies list frequent tokens first, after single characters, which are moved to the end; those of Unigram have
    log-probabilities.
    """
    tokens = _tokens(tokenizer["model"], file)
    special = {entry.get("content") for entry in tokenizer.get("added_tokens") or () if isinstance(entry, dict)}
    to_word = _word_of_token([token for token, _ in tokens], tokenizer["model"])
    words: dict[str, int] = {}
    for token, number in tokens:
        word = None if token in special or SPECIAL.fullmatch(token) else to_word(token)
        if word and not word.isspace():
            words.setdefault(word, number)
    if not words:
        raise BadData(f"{file} has no token that is a whole word; give a folder of static embeddings of words")
    ordered = sorted(words, key=lambda word: len(word) == 1)  # stable: otherwise as in the file
    return ordered, np.array([words[word] for word in ordered], np.int64)


def _tokens(model: dict[str, Any], file: Path) -> list[tuple[str, int]]:
    """Tokens with their numbers, most frequent first."""
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, dict):  # WordPiece, BPE and WordLevel: token → number
        pairs = list(vocabulary.items())
        if all(type(number) is int and 0 <= number < 2**31 for _, number in pairs):
            return sorted(pairs, key=lambda pair: pair[1])
    elif isinstance(vocabulary, list):  # Unigram: token and log-probability
        try:
            scores = [float(score) for _, score in vocabulary]
            order = np.argsort(-np.array(scores), kind="stable").tolist()
            if all(isinstance(token, str) for token, _ in vocabulary):
                return [(vocabulary[number][0], number) for number in order]
        except (TypeError, ValueError):
            pass
    raise _no_tokenizer(file)


def _word_of_token(tokens: list[str], model: dict[str, Any]) -> Callable[[str], str | None]:
    """The function that gives the word of a token, None for a piece inside a word."""
    marks = () if model.get("type") in ("WordPiece", "WordLevel") else WORD_STARTS
    start = next((mark for mark in marks if any(token.startswith(mark) for token in tokens)), None)
    if start is not None:
        decode = _from_bytes if start == "Ġ" else str
        return lambda token: decode(token[1:]) if token.startswith(start) and start not in token[1:] else None
    inside = model.get("continuing_subword_prefix")
    inside = inside if isinstance(inside, str) and inside else "##"
    return lambda token: None if token.startswith(inside) else token


def _from_bytes(token: str) -> str | None:
    """The text of a token whose characters stand for bytes, as in GPT-2; None if it is no UTF-8.

    >>> _from_bytes("naÃ¯ve"), _from_bytes("Ã")
    ('naïve', None)
    """
    try:
        return bytes(BYTES[character] for character in token).decode()
    except (KeyError, UnicodeDecodeError):
        return None


def _byte_characters() -> dict[str, int]:
    """The byte of each character: printable Latin-1 characters stand for themselves, others follow from U+0100 on."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTES = _byte_characters()


def _read_rows(file: Path, tokens: Ids) -> Singles:
    """The rows of the table for tokens (n_words,), read in blocks."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(file), framework="numpy") as tensors:
            names = set(tensors.keys())
            name = next((name for name in TABLES if name in names), None)
            if name is None:
                raise BadData(
                    f"{file} has no table of static embeddings, {' or '.join(TABLES)}; a model that computes vectors "
                    "of whole texts is not read: compute them with it, and give them with --vector"
                )
            table = tensors.get_slice(name)
            shape = table.get_shape()
            rows = _rows_of_tokens(tensors.get_tensor("mapping") if "mapping" in names else None, tokens, file)
            if len(shape) != 2 or not shape[1] or int(rows.max()) >= shape[0]:
                raise BadData(f"{file} has a table of the shape {shape}, which does not fit its tokens; copy it again")
            vectors = np.empty((len(rows), shape[1]), np.float32)
            for start in range(0, shape[0], BLOCK):
                inside = np.flatnonzero((rows >= start) & (rows < start + BLOCK))
                if len(inside):
                    vectors[inside] = table[start : min(start + BLOCK, shape[0])][rows[inside] - start]
    except BadData:
        raise
    except (SafetensorError, TypeError, ValueError, OSError) as problem:
        raise BadData(f"{file} is damaged or of a type that is not read ({str(problem)[:80]}); copy it again, or save "
                      "it in float32") from problem  # fmt: skip
    if not bool(np.isfinite(vectors).all()):
        raise BadData(f"{file} has vectors with NaN or infinity; save it again")
    return vectors


def _rows_of_tokens(mapping: Any, tokens: Ids, file: Path) -> Ids:
    """The row of each token (n_words,), by the mapping of a model whose tokens share rows; the token without one."""
    if mapping is None:
        return tokens
    if mapping.ndim != 1 or mapping.dtype.kind not in "iu" or int(tokens.max()) >= len(mapping):
        raise BadData(f"{file} has a mapping of tokens that does not fit its tokens; copy it again")
    rows: Ids = mapping.astype(np.int64)[tokens]
    if int(rows.min()) < 0:
        raise BadData(f"{file} has a mapping of tokens that does not fit its tokens; copy it again")
    return rows
