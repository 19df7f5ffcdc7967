"""Hashes of the texts that a model learnt: a multiset that follows updates exactly."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unnaive import TextClassifier
from unnaive.base.errors import BadModel
from unnaive.classifier.receipts import model_hash
from unnaive.data import text_hashes
from unnaive.data.text_hashes import TextHashes, hash_cells, hash_texts, join_text_hashes
from unnaive.text.buffer import TextBuffer

TEXTS = st.lists(st.sampled_from(["", "ball", "vote", "a vote", "ça"]), max_size=12)


def multiset(hashes):
    return Counter(hashes.values.tolist())


@given(TEXTS, TEXTS)
def test_they_are_a_multiset(one, two):
    here, other = TextHashes.of(one), TextHashes.of(two)
    assert multiset(here.plus(two)) == multiset(here) + multiset(other) == multiset(other.joined(here))
    assert multiset(here.without(two)) == multiset(here) - multiset(other)
    np.testing.assert_array_equal(here.plus(two).without(two).values, here.values)
    assert here.count_learnt(two) == sum(text in one for text in two)


def test_a_buffer_and_a_list_have_the_same():
    texts = ["good ball", "ça va", "", "half \ud800 a pair"]
    np.testing.assert_array_equal(hash_texts(texts), hash_texts(TextBuffer.of(["x", *texts])[1:]))
    # BLAKE2b with a digest of 8 bytes of the empty text, read as a little-endian number
    assert hash_texts([""]).tolist() == [int.from_bytes(bytes.fromhex("e4a6a0577479b2b4"), "little")]


@pytest.mark.skipif(text_hashes.native is None, reason="built without a compiler")
@pytest.mark.parametrize("lanes", [0, 2, 4, 8])
def test_the_native_hashes_are_those_of_the_standard_library(lanes):
    random = np.random.default_rng(lanes)
    # around the ends of blocks of 128 bytes, and lanes of unlike lengths
    sizes = [*range(270), *random.integers(0, 3000, 200)]
    texts = TextBuffer.of(["".join(map(chr, random.integers(1, 0x800, size))) for size in sizes])
    found = text_hashes.native.cell_hashes(texts.blob, texts.offsets, lanes)
    np.testing.assert_array_equal(found, hash_cells(texts))
    np.testing.assert_array_equal(hash_texts(texts[7:]), found[7:])
    assert len(text_hashes.native.cell_hashes(texts.blob, texts.offsets[:1], lanes)) == 0
    for ends in ([], [-1, 2], [3, 2], [0, len(texts.blob) + 1]):
        with pytest.raises(ValueError, match="cells"):
            text_hashes.native.cell_hashes(texts.blob, np.array(ends, np.int64), lanes)


def test_models_whose_texts_are_not_all_known():
    known = TextHashes.of(["a"])
    assert join_text_hashes([known, None]) is None
    assert len(join_text_hashes([known, known])) == 2


def with_hashes(texts, labels):
    from dataclasses import replace

    classifier = TextClassifier("multinomial", multilabel=False).partial_fit(texts, labels)
    return TextClassifier.from_fitted(replace(classifier.fitted_, text_hashes=TextHashes.of(texts)))


def test_the_same_documents_give_the_same_bytes_in_any_order():
    texts, labels = ["good ball", "fair vote", "good ball", "new law"], ["sport", "politics", "sport", "politics"]
    whole = model_hash(with_hashes(texts, labels).fitted_)
    parts = with_hashes(texts[2:], labels[2:]).partial_fit(texts[:2], labels[:2])
    merged = with_hashes(texts[2:], labels[2:]).merge(with_hashes(texts[:2], labels[:2]))
    more = with_hashes([*texts, "late goal"], [*labels, "sport"]).forget(["late goal"], ["sport"])
    assert {model_hash(one.fitted_) for one in (parts, merged, more)} == {whole}


def test_weights_cannot_be_followed():
    classifier = with_hashes(["good ball", "fair vote"], ["sport", "politics"])
    assert classifier.partial_fit(["new law"], ["politics"], sample_weight=[2]).fitted_.text_hashes is None


@pytest.mark.parametrize("values", [np.zeros((2, 2), np.uint64), np.zeros(2, np.uint8)])
def test_damaged_ones_are_refused(values):
    with pytest.raises(BadModel, match="hashes of texts are damaged"):
        TextHashes.from_file(values)
