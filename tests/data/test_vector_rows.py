"""Vectors of kept documents: sums, differences and files are exact, as for words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unnaive.base.errors import BadData, BadModel
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_documents import PackedDocuments, pack_documents
from unnaive.data.targets import read_targets
from unnaive.data.vector_rows import VectorRows, pack_cells, unpack_cells
from unnaive.text.counting import TextCounter
from unnaive.text.fixed_point import ONE, ZERO, to_cells, write_vectors
from unnaive.text.sections import SECTION, UNIT
from unnaive.text.token_rule import TokenRule
from unnaive.text.vocabulary import Vocabulary

FIELDS = ("body:text", "v:vector(3)", "w:vector(12)")
numbers = st.sampled_from([0.0, 0.5, -0.25, 3.0])
documents = st.tuples(
    st.sampled_from(["a b", "ball", "ball game ball", ""]),
    st.none() | st.tuples(numbers, numbers, numbers),
    st.none() | st.tuples(*[numbers] * 12),
    st.sampled_from(["news", "sport"]),
)
collections = st.lists(documents, min_size=1, max_size=12)


def write(text, v, w):
    record = f"{SECTION}body{UNIT}{text}"
    for key, vector in (("v", v), ("w", w)):
        content = f"{UNIT}(missing)"
        if vector is not None:
            content = f"{len(vector)} numbers{UNIT}{write_vectors(to_cells([vector]))[0]}"
        record += f"{SECTION}{key}{UNIT}{content}"
    return record


def keep(rows, **rule):
    counter = TextCounter(TokenRule(fields=FIELDS, min_length=1, **rule))
    X, units = counter.count_with_units([write(*row[:3]) for row in rows])
    return KeptDocuments.of(X, read_targets([row[3] for row in rows], len(rows)), counter.vocabulary, None, units)


def assert_same(first, second):
    assert first == second
    (terms, X), (other_terms, other_X) = first.joined(), second.joined()
    assert terms == other_terms
    assert (other_X != X).nnz == 0
    assert [part is None for part in (first.vectors, second.vectors)] in ([True] * 2, [False] * 2)


@pytest.mark.parametrize("rule", [{}, {"ngrams": (1, 2)}, {"analyzer": "both", "ngrams": (1, 2)}])
@given(old=collections, new=collections)
def test_sums_and_differences_are_exact(rule, old, new):
    both = keep([*old, *new], **rule)
    assert_same(keep(old, **rule) + keep(new, **rule), both)
    assert_same(keep(new, **rule) + keep(old, **rule), both)
    assert both.n_terms == len(both.vocabulary)
    if {row[3] for row in new} <= {row[3] for row in old}:
        assert_same(both - keep(new, **rule), keep(old, **rule))


@pytest.mark.parametrize("rule", [{}, {"analyzer": "both", "ngrams": (1, 2)}])
@given(rows=collections)
def test_a_file_holds_the_same_vectors(rule, rows):
    kept = keep(rows, **rule)
    for in_use in (kept.vocabulary, Vocabulary(), kept.words):
        packed = pack_documents(kept, in_use, exclusive=True)
        read = PackedDocuments.from_file(packed.arrays, packed.about, kept.classes, in_use, exclusive=True)
        assert_same(read.documents, kept)
        assert read.n_terms == kept.n_terms


def test_a_document_with_other_numbers_is_another_document():
    rows = [("ball", (0.5, 0.0, 0.0), None, "sport"), ("ball", (0.0, 0.0, 0.0), None, "sport")]
    kept = keep(rows)
    assert (kept - keep(rows[1:])).vectors.cells.tolist() == [[ONE, ZERO + (ONE - ZERO) // 2, ZERO, ZERO]]
    for other in ((0.5, 0.25, 0.0), None):
        with pytest.raises(BadData, match=r"cannot be removed|has never seen"):
            kept - keep([("ball", other, None, "sport")])
    assert keep([("ball", None, None, "sport")]).vectors is None


def test_rows_without_text_are_not_in_the_order_of_their_classes():
    draw = np.random.default_rng(0)
    rows = [("", tuple(draw.normal(size=3)), None, label) for label in ["news", "sport"] * 20]
    labels = keep(rows).Y.indices
    assert 5 < np.count_nonzero(np.diff(labels)) < 35


def test_cells_are_packed_in_the_order_of_their_size():
    cells = np.array([0, ZERO, ONE, ZERO - 5, 1, 2**31 - 1], np.int32)
    assert unpack_cells(pack_cells(cells)).tolist() == cells.tolist()
    assert (pack_cells(cells) >= 0).all()


def test_a_damaged_file_is_said_to_be_damaged():
    kept = keep([("ball", (0.5, 0.0, 0.0), None, "sport"), ("vote", None, None, "news")])
    packed = pack_documents(kept, Vocabulary(), exclusive=True)
    wrong = [
        packed.about | {"vectors": {"terms": 5, "bytes": packed.about["vectors"]["bytes"]}},
        packed.about | {"vectors": {"terms": 4}},
        {name: value for name, value in packed.about.items() if name != "vectors"},
    ]
    for about in wrong:
        with pytest.raises(BadModel, match="damaged"):
            _ = PackedDocuments.from_file(packed.arrays, about, kept.classes, Vocabulary(), exclusive=True).documents
    renamed = VectorRows(Vocabulary(["a", "b", "c", "d"]), kept.vectors.cells)
    wrong_names = KeptDocuments(kept.classes, kept.words, kept.table, kept.Y, vectors=renamed)
    packed = pack_documents(wrong_names, Vocabulary(), exclusive=True)
    with pytest.raises(BadModel, match="the name of a term"):
        _ = PackedDocuments.from_file(packed.arrays, packed.about, kept.classes, Vocabulary(), exclusive=True).documents
