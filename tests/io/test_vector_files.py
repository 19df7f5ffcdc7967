"""Files of word vectors in every format, packed or not, and those that are none; the cache of what was read."""

import gzip
import struct
import tracemalloc

import numpy as np
import pyarrow
import pytest
from support.fasttext_files import FastTextParts, write_fasttext

from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.data.word_vectors import WordVectors
from unnaive.io.vectors import cached_vectors
from unnaive.io.vectors.cached_vectors import read_vectors
from unnaive.io.vectors.word_vector_files import read_named_vectors
from unnaive.models.fasttext.binary_file import read_fasttext_file
from unnaive.models.fasttext.fasttext_vectors import FastTextVectors

WORDS = ["the", "ball", "naïve", "ελλάδα", '"', "#", "vote"]
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32)


def lines(end=""):
    rows = (" ".join([word, *(f"{value:.9g}" for value in row)]) for word, row in zip(WORDS, TABLE, strict=True))
    return "".join(f"{row}{end}\n" for row in rows).encode()


def binary(newline=b"\n"):
    rows = (
        word.encode() + b" " + row.astype("<f4").tobytes() + newline for word, row in zip(WORDS, TABLE, strict=True)
    )
    return b"7 5\n" + b"".join(rows)


def zstd(content):
    return pyarrow.compress(content, codec="zstd", asbytes=True)


FORMATS = {
    "glove.txt": lines(),
    "windows.txt": lines("\r"),
    "tabs.tsv": lines().replace(b" ", b"\t"),
    "no-line-end.txt": lines()[:-1],
    "word2vec.txt": b"7 5\n" + lines(),
    "fasttext.vec": b"7 5\n" + lines(" "),
    "word2vec.bin": binary(),
    "without-newlines.bin": binary(b""),
    "glove.txt.gz": gzip.compress(lines()),
    "word2vec.bin.gz": gzip.compress(binary()),
    "glove.txt.zst": zstd(lines()),
    "byte-order-mark.txt": b"\xef\xbb\xbf" + lines(),
    "first-word-with-a-space.txt": b"new york 1 2 3 4 5\n" + lines(),
    "header-and-a-space.txt": b"8 5\nnew york 1 2 3 4 5\n" + lines(),
}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The user's cache, empty, and nothing remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cached_vectors._read_known.cache_clear()
    yield tmp_path / "cache" / "unnaive" / "vectors"
    cached_vectors._read_known.cache_clear()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_words_and_their_vectors(name, tmp_path):
    (tmp_path / name).write_bytes(FORMATS[name])
    words, table = read_named_vectors(tmp_path / name)
    assert words == WORDS
    np.testing.assert_array_equal(table, TABLE)
    words, table = read_named_vectors(tmp_path / name, limit=3)
    assert words == WORDS[:3]
    np.testing.assert_array_equal(table, TABLE[:3])


def test_a_header_with_more_words_than_the_file_is_named(tmp_path, recwarn):
    (tmp_path / "short.vec").write_bytes(b"1000 5\n" + lines())
    assert read_named_vectors(tmp_path / "short.vec")[0] == WORDS
    assert "short.vec ends after 7 of the 1,000 word vectors that its header names" in str(recwarn.pop().message)
    read_named_vectors(tmp_path / "short.vec", limit=7)
    assert not recwarn


def test_a_file_that_ends_within_a_line_is_named(tmp_path, recwarn):
    (tmp_path / "cut.txt").write_bytes(lines()[:-25])
    assert read_named_vectors(tmp_path / "cut.txt")[0] == WORDS[:-1]
    assert "cut.txt ends within a line; if it was cut short, copy it again" in str(recwarn.pop().message)
    read_named_vectors(tmp_path / "cut.txt", limit=3)
    (tmp_path / "cut.vec").write_bytes(b"7 5\n" + lines()[:-25])
    assert read_named_vectors(tmp_path / "cut.vec")[0] == WORDS[:-1]
    assert "cut.vec ends after 6 of the 7 word vectors" in str(recwarn.pop().message)


def test_vectors_that_know_no_word_of_the_texts_are_named():
    vectors = WordVectors.of(["chat", "chien"], np.eye(2))
    with pytest.warns(UnnaiveWarning, match="no word of the training texts has a word vector"):
        TextClassifier("svm", word_vectors=vectors).fit(["good ball", "fair vote"], ["sport", "politics"])


def test_npz_of_any_names(tmp_path):
    np.savez(tmp_path / "one.npz", index=np.array(WORDS), matrix=TABLE)
    words, table = read_named_vectors(tmp_path / "one.npz", limit=4)
    assert words == WORDS[:4]
    np.testing.assert_array_equal(table, TABLE[:4])


def test_lines_that_are_no_word_and_numbers_are_left_out(tmp_path):
    odd = b". . 1 2 3 4 5\n\xff\xfe 1 2 3 4 5\nshort 1 2\ntext a b c d e\ninfinite inf 1 1 1 1\n"
    (tmp_path / "one.txt").write_bytes(lines() + odd)
    words, table = read_named_vectors(tmp_path / "one.txt")
    assert words == WORDS
    np.testing.assert_allclose(table, TABLE)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"\n\n", "its first line is empty"),
        (b"subject,body\nhello,world\n", "not a word and numbers"),
        (b"word\n", "not a word and numbers"),
        (b"7 5\n", "no word vectors|cut short"),
        (b"0 5\n" + lines(), "its header says 0 words with 5 numbers each"),
        (b"7 0\n" + lines(), "its header says 7 words with 0 numbers each"),
        (gzip.compress(lines(), mtime=0)[:90], "is truncated or damaged"),
        (zstd(lines() * 9)[:150], "is truncated or damaged"),
        (b"big" + b" 1e300" * 5, "only 0 of 1 lines have a word and 5 numbers"),
        (binary()[:-30], "cut short"),
        (b"the 1 2 3\n" + b"a b\n" * 50, "only 1 of 51 lines have"),
        (b"PK\x03\x04 no archive", "cannot be read as .npz"),
        (b"3 99999999\n" + bytes(100), "a vector has 99,999,999 numbers"),
    ],
)
def test_what_is_no_file_of_vectors_is_refused_in_a_sentence(content, reason, tmp_path):
    (tmp_path / "one.txt").write_bytes(content)
    with pytest.raises(BadData, match=reason) as found:
        read_named_vectors(tmp_path / "one.txt")
    assert "\n" not in str(found.value)


def test_a_file_of_zeros_is_named(cache, tmp_path):
    (tmp_path / "zero.txt").write_bytes(b"the 0 0\nball 0 0\n")
    with pytest.raises(BadData, match=r"the word vectors of .*zero\.txt are all zero"):
        read_vectors(tmp_path / "zero.txt")


def test_an_archive_of_objects_is_not_unpickled(tmp_path):
    np.savez(tmp_path / "one.npz", words=np.array(WORDS, object), vectors=TABLE)
    with pytest.raises(BadData, match=r"cannot be read as \.npz"):
        read_named_vectors(tmp_path / "one.npz")


def test_a_file_is_read_once_and_again_when_it_has_changed(cache, tmp_path, monkeypatch):
    path = tmp_path / "glove.txt"
    path.write_bytes(lines())
    first = read_vectors(path)
    assert first == WordVectors.of(WORDS, TABLE)
    assert len(list(cache.iterdir())) == 1
    cached_vectors._read_known.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(cached_vectors, "_read_file", lambda *about: pytest.fail("the cache was not used"))
        assert read_vectors(str(path)) == first
    path.write_bytes(lines() + b"more 1 2 3 4 5\n")
    assert read_vectors(path).words.terms == [*WORDS, "more"]


def test_a_file_that_was_cut_short_is_named_by_every_command(cache, tmp_path):
    (tmp_path / "cut.vec").write_bytes(b"7 5\n" + lines()[:-25])
    for _ in range(2):
        with pytest.warns(UnnaiveWarning, match="ends after 6 of the 7 word vectors"):
            assert read_vectors(tmp_path / "cut.vec").words.terms == WORDS[:-1]
        cached_vectors._read_known.cache_clear()
    assert not cache.exists()


def test_a_damaged_cache_is_not_believed(cache, tmp_path):
    path = tmp_path / "glove.txt"
    path.write_bytes(lines())
    first = read_vectors(path)
    (kept,) = cache.iterdir()
    for content in (b"", kept.read_bytes()[:-3], struct.pack("<Q", 1 << 60)):
        kept.write_bytes(content)
        cached_vectors._read_known.cache_clear()
        assert read_vectors(path) == first


def test_word_vectors_of_a_fasttext_file(cache, tmp_path):
    path = tmp_path / "cc.bin"
    path.write_bytes(write_fasttext(FastTextParts(model=2, labels=(), bucket=50, minn=2, maxn=3)))
    expected = FastTextVectors(read_fasttext_file(path))
    found = read_vectors(path)
    assert "</s>" not in found.words.terms
    assert {"the", "привет", "extraordinarily"} <= set(found.words.terms)
    for word, unit in zip(found.words, found.units, strict=True):
        wanted = expected.word(word)
        assert unit @ wanted / np.linalg.norm(wanted) > 0.9995


@pytest.mark.parametrize(
    "parts",
    [
        FastTextParts(model=2, labels=(), bucket=50, minn=2, maxn=3),
        FastTextParts(model=2, labels=(), bucket=0, minn=0, maxn=0),
        FastTextParts(bucket=50, minn=2, maxn=3, quantised=True),
    ],
)
def test_the_table_of_a_fasttext_file_has_the_vectors_of_single_words(parts, tmp_path, monkeypatch):
    monkeypatch.setattr("unnaive.models.fasttext.matrices.BLOCK", 7 * parts.dim)
    (tmp_path / "cc.bin").write_bytes(write_fasttext(parts))
    vectors = FastTextVectors(read_fasttext_file(tmp_path / "cc.bin"))
    words = [*vectors.words, "unknown", ""]
    expected = np.array([vectors.word(word) for word in words])
    np.testing.assert_allclose(vectors.table(words), expected, rtol=1e-5, atol=1e-6)


def test_a_large_fasttext_file_is_not_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("unnaive.models.fasttext.matrices.BLOCK", 1 << 16)
    parts = FastTextParts(model=2, labels=(), bucket=40_000, minn=3, maxn=4, dim=50)
    (tmp_path / "cc.bin").write_bytes(write_fasttext(parts))
    vectors = FastTextVectors(read_fasttext_file(tmp_path / "cc.bin"))
    tracemalloc.start()
    try:
        vectors.table(vectors.words)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (tmp_path / "cc.bin").stat().st_size / 4  # of 8 MB


def test_folders_absent_files_and_other_things_are_refused(tmp_path):
    for wrong in (tmp_path, tmp_path / "absent.txt", 3):
        with pytest.raises(UnnaiveError):
            read_vectors(wrong)
