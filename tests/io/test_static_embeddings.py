"""Folders of static embeddings, with tokenizers of every kind, and those that are none."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save_file

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.data.word_vectors import WordVectors
from unnaive.io.vectors import cached_vectors
from unnaive.io.vectors.cached_vectors import read_vectors
from unnaive.io.vectors.static_embeddings import read_static_embeddings

WORDPIECE = ["[PAD]", "[unused1]", "a", "ş", "##ing", "the", "goal", "naïve", "नमस्ते", "##s", "vote"]
WORDS = ["the", "goal", "naïve", "नमस्ते", "vote", "a", "ş"]  # single characters last
SPECIAL = [{"id": 0, "content": "[PAD]", "special": True}]


def table_of(n_rows, n_dims=6):
    return np.random.default_rng(0).normal(size=(n_rows, n_dims)).astype(np.float32)


def write_folder(folder, model, tensors, added=SPECIAL):
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    tokenizer = {"version": "1.0", "added_tokens": added, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


def wordpiece(folder, **tensors):
    vocabulary = {token: number for number, token in enumerate(WORDPIECE)}
    model = {"type": "WordPiece", "vocab": vocabulary, "continuing_subword_prefix": "##"}
    return write_folder(folder, model, tensors or {"embeddings": table_of(len(WORDPIECE))})


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The user's cache, empty, and nothing remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cached_vectors._read_known.cache_clear()
    yield
    cached_vectors._read_known.cache_clear()


def rows_of(words, table, tokens):
    return np.array([table[tokens.index(word)] for word in words])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_whole_words_of_wordpiece_have_their_rows(dtype, tmp_path):
    table = (20 * table_of(len(WORDPIECE))).astype(dtype)
    words, vectors = read_static_embeddings(wordpiece(tmp_path / "m", embeddings=table))
    assert words == WORDS
    np.testing.assert_array_equal(vectors, rows_of(WORDS, table, WORDPIECE).astype(np.float32))
    assert read_static_embeddings(tmp_path / "m", 2)[0] == WORDS[:2]


def test_unigram_lists_words_by_probability(tmp_path):
    pieces = [["<unk>", 0.0], ["▁vote", -9.5], ["s", -3.0], ["▁the", -2.5], ["▁goal", -8.0], ["▁", -2.0]]
    table = table_of(len(pieces))
    folder = write_folder(tmp_path / "m", {"type": "Unigram", "vocab": pieces}, {"embeddings": table})
    words, vectors = read_static_embeddings(folder)
    assert words == ["the", "goal", "vote"]
    np.testing.assert_array_equal(vectors, table[[3, 4, 1]])


@pytest.mark.parametrize("mark", ["▁", "Ġ"])
def test_bpe_words_begin_with_a_mark(mark, tmp_path):
    naive = "naÃ¯ve" if mark == "Ġ" else "naïve"  # GPT-2 writes bytes as characters
    tokens = ["e", "r", f"{mark}the", "ing", f"{mark}{naive}", f"{mark}goal"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    table = table_of(len(tokens))
    folder = write_folder(tmp_path / "m", {"type": "BPE", "vocab": vocabulary, "merges": []}, {"embeddings": table})
    words, vectors = read_static_embeddings(folder)
    assert words == ["the", "naïve", "goal"]
    np.testing.assert_array_equal(vectors, table[[2, 4, 5]])


def test_a_mapping_says_which_rows_tokens_share(tmp_path):
    table, mapping = table_of(3), np.arange(len(WORDPIECE)) % 3
    words, vectors = read_static_embeddings(wordpiece(tmp_path / "m", embeddings=table, mapping=mapping))
    np.testing.assert_array_equal(vectors, table[[WORDPIECE.index(word) % 3 for word in words]])


def test_folders_of_sentence_transformers(tmp_path):
    wordpiece(tmp_path / "m" / "0_StaticEmbedding", **{"embedding.weight": table_of(len(WORDPIECE))})
    assert read_static_embeddings(tmp_path / "m")[0] == WORDS


def test_large_tables_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("unnaive.io.vectors.static_embeddings.BLOCK", 4)
    table = table_of(len(WORDPIECE))
    words, vectors = read_static_embeddings(wordpiece(tmp_path / "m", embeddings=table))
    np.testing.assert_array_equal(vectors, rows_of(words, table, WORDPIECE))


def test_a_folder_is_the_same_as_its_words_and_vectors(cache, tmp_path):
    folder = wordpiece(tmp_path / "m")
    assert read_vectors(folder) == WordVectors.of(*read_static_embeddings(folder))
    texts, labels = ["the goal", "a vote", "goal goal", "the vote"] * 3, ["sport", "politics"] * 6
    plain = WordVectors.of(*read_static_embeddings(folder))
    by_path, by_value = (TextClassifier("svm", word_vectors=one).fit(texts, labels) for one in (str(folder), plain))
    np.testing.assert_array_equal(by_path.scores(texts), by_value.scores(texts))


def test_another_tokenizer_or_table_is_read_again(cache, tmp_path):
    folder = wordpiece(tmp_path / "m")
    before = read_vectors(folder)
    assert read_vectors(folder) is before
    text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(text.replace('"vote"', '"ballot"'), encoding="utf-8")
    assert "ballot" in read_vectors(folder).words.terms


def test_folders_that_are_none_are_refused_in_a_sentence(cache, tmp_path):
    n = len(WORDPIECE)
    with_nan = table_of(n)
    with_nan[6, 0] = np.nan
    cases = {
        "without model.safetensors and tokenizer.json": None,
        "a model that computes vectors of whole texts is not read": {"embeddings.word_embeddings.weight": table_of(n)},
        "does not fit its tokens": {"embeddings": table_of(n - 3)},
        "which does not fit": {"embeddings": table_of(n).ravel()},
        "mapping of tokens that does not fit": {"embeddings": table_of(n), "mapping": np.arange(3)},
        "mapping of tokens that does": {"embeddings": table_of(n), "mapping": np.arange(n) - 9},
        "NaN or infinity": {"embeddings": with_nan},
    }
    for place, (reason, tensors) in enumerate(cases.items()):
        folder = tmp_path / f"m{place}"
        folder.mkdir()
        if tensors is not None:
            wordpiece(folder, **tensors)
        refused(folder, reason)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "cannot be read as JSON"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("[]", "has no list of tokens"),
        ('{"model": {"type": "BPE"}}', "has no list of tokens"),
        ('{"model": {"vocab": {"a": -1}}}', "has no list of tokens"),
        ('{"model": {"vocab": {"a": true}}}', "has no list of tokens"),
        ('{"model": {"vocab": [["a"]]}}', "has no list of tokens"),
        ('{"model": {"vocab": [["a", "b"]]}}', "has no list of tokens"),
        ('{"model": {"vocab": [[1, 2]]}}', "has no list of tokens"),
        ('{"model": {"vocab": {"##a": 0, "[CLS]": 1}}}', "no token that is a whole word"),
        ('{"model": {"vocab": {}}}', "no token that is a whole word"),
        ('{"model": {"vocab": {"word": 2000000000}}}', "does not fit its tokens"),
    ],
)
def test_tokenizers_that_are_none_are_refused(content, reason, cache, tmp_path):
    folder = wordpiece(tmp_path / "m")
    (folder / "tokenizer.json").write_text(content, encoding="utf-8")
    refused(folder, reason)


def test_damaged_tables_are_refused(cache, tmp_path):
    folder = wordpiece(tmp_path / "m")
    whole = (folder / "model.safetensors").read_bytes()
    brain = json.dumps({"embeddings": {"dtype": "BF16", "shape": [11, 2], "data_offsets": [0, 44]}}).encode()
    for content in (b"", whole[:-9], whole[:20], b"\xff" * 40, struct.pack("<Q", len(brain)) + brain + bytes(44)):
        (folder / "model.safetensors").write_bytes(content)
        refused(folder, "is damaged or of a type that is not read")


def refused(folder, reason):
    """Reading must fail with one sentence."""
    with pytest.raises(BadData, match=reason) as problem:
        read_vectors(folder)
    assert "\n" not in str(problem.value)
