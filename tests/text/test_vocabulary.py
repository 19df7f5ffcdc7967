"""Vocabularies: both forms, and arrays that are not to be trusted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unnaive.base.errors import BadData, BadModel
from unnaive.text import vocabulary
from unnaive.text.vocabulary import Vocabulary

TERMS = ["ball", "çay", "ball game", "वोट", "𝔘"]


def test_terms_and_ids():
    terms = Vocabulary(TERMS)
    assert len(terms) == 5
    assert list(terms) == terms.terms == TERMS
    assert [terms.id(term) for term in TERMS] == [0, 1, 2, 3, 4]
    assert terms.ids(["वोट", "goal", "ball"]).tolist() == [3, -1, 0]
    assert terms.ids([]).dtype == np.int64
    assert "ball" in terms
    assert "goal" not in terms
    assert repr(terms) == "Vocabulary(5 terms: 'ball', 'çay', 'ball game', …)"
    with pytest.raises(BadData, match="'goal'"):
        terms.id("goal")


@pytest.mark.parametrize("terms", [TERMS, [], ["one"]])
def test_arrays_and_back(terms):
    blob, offsets = Vocabulary(terms).to_arrays()
    assert blob.dtype == np.uint8
    assert offsets.dtype == np.int64
    again = Vocabulary.from_arrays(blob, offsets)
    assert again == Vocabulary(terms)
    assert again.terms == terms
    assert hash(again) == hash(Vocabulary(terms))
    assert len(Vocabulary.trusted(blob, offsets)) == len(terms)


def test_vocabularies_with_the_same_bytes_differ_by_where_they_are_cut():
    assert Vocabulary(["ab", "c"]) != Vocabulary(["a", "bc"])
    assert Vocabulary(["ab"]) != "ab"


def test_union_keeps_ids_and_take_chooses():
    left, right = Vocabulary(["a", "b"]), Vocabulary(["c", "b", "d"])
    both, ids = left.union(right)
    assert both.terms == ["a", "b", "c", "d"]
    assert ids.tolist() == [2, 1, 3]
    assert left.union(Vocabulary(["b"]))[0] is left
    assert both.take(np.array([3, 0])).terms == ["d", "a"]
    with pytest.raises(BadData, match="4 terms"):
        both.take([4])


def test_terms_must_be_distinct_text():
    with pytest.raises(BadData, match="'a' twice"):
        Vocabulary(["a", "b", "a"])
    with pytest.raises(BadData, match="give only str"):
        Vocabulary(["a", 3])
    with pytest.raises(BadData, match="give a list"):
        Vocabulary("abc")
    with pytest.raises(BadData, match="UTF-8"):
        Vocabulary(["\ud800"]).to_arrays()


def bytes_of(text):
    return np.frombuffer(text, dtype=np.uint8)


@pytest.mark.parametrize(
    ("blob", "offsets", "part"),
    [
        (bytes_of(b"ab\xff"), [0, 1, 3], "UTF-8"),
        (bytes_of("é".encode()), [0, 1, 2], "UTF-8"),
        (bytes_of(b"aab"), [0, 1, 2, 3], "'a' twice"),
        (bytes_of(b"abc"), [0, 2, 1, 3], "offsets"),
        (bytes_of(b"abc"), [0, 2], "offsets"),
        (bytes_of(b"abc"), [1, 3], "offsets"),
        (bytes_of(b"abc"), [0, 4], "offsets"),
        (bytes_of(b"abc"), [], "offsets"),
        (bytes_of(b"abc"), [0.0, 3.0], "offsets"),
        (bytes_of(b"abc"), [[0, 3]], "offsets"),
        (np.zeros((2, 2), dtype=np.uint8), [0, 4], "uint8"),
        (np.zeros(3, dtype=np.int64), [0, 3], "uint8"),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_damaged_arrays_are_refused_in_one_sentence(blob, offsets, part, native, monkeypatch):
    if not native:
        monkeypatch.setattr(vocabulary, "kernel", None)
    with pytest.raises(BadModel, match=part) as caught:
        Vocabulary.from_arrays(blob, np.array(offsets))
    assert "\n" not in str(caught.value)


@given(
    st.lists(st.text("abcü\0ж𝔘", max_size=20), max_size=30, unique=True),
    st.lists(st.sampled_from("ab\0é"), max_size=30),
)
def test_order_is_that_of_python(terms, tail):
    """Also of terms that are alike in 8 bytes, in 16, or but for trailing NULs."""
    alike = ["".join(tail[:length]) for length in range(len(tail) + 1)]
    vocabulary = Vocabulary(dict.fromkeys([*terms, *alike, *(f"sixteen letters {term}" for term in terms)]))
    assert vocabulary.in_order().terms == sorted(vocabulary.terms)
    order = vocabulary.order()
    assert order is None or [vocabulary[place] for place in order] == sorted(vocabulary.terms)
