"""Label sets to Y and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.data.targets import label_matrix, label_sets, single_labels

CLASSES = ("a", "b", "c", "d")


@given(st.lists(st.sets(st.sampled_from(CLASSES)).map(lambda names: tuple(sorted(names)))))
def test_label_sets_undo_label_matrix(labels):
    assert label_sets(label_matrix(labels, CLASSES), CLASSES) == labels


def test_by_hand():
    Y = label_matrix([("b", "a"), (), ("d",)], CLASSES)
    np.testing.assert_array_equal(Y.toarray(), [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    assert Y.nnz == 3
    assert Y.dtype == np.int64
    assert Y.has_sorted_indices


def test_a_repeated_label_counts_once():
    assert label_matrix([("a", "a")], CLASSES).toarray().tolist() == [[1, 0, 0, 0]]


def test_no_documents_and_no_classes():
    assert label_matrix([], CLASSES).shape == (0, 4)
    assert label_matrix([(), ()], []).shape == (2, 0)
    assert label_sets(label_matrix([(), ()], []), []) == [(), ()]


def test_an_unknown_label_is_refused_unless_ignored():
    labels = [("a", "zoo"), ("b",)]
    with pytest.raises(BadData, match=r"label 'zoo' is not among the 4 classes"):
        label_matrix(labels, CLASSES)
    assert label_sets(label_matrix(labels, CLASSES, ignore_unknown=True), CLASSES) == [("a",), ("b",)]


def test_many_unknown_labels_are_summed_up():
    with pytest.raises(BadData, match=r"'p', 'q', 'r' and 2 more"):
        label_matrix([("p", "q", "r", "s", "t")], CLASSES)


def test_a_bare_string_is_refused():
    with pytest.raises(BadData, match="came as the string 'ab'"):
        label_matrix(["ab"], CLASSES)


def test_double_class_names_are_refused():
    with pytest.raises(BadData, match="name each class once"):
        label_matrix([("a",)], ["a", "a"])


def test_explicit_zeros_are_no_labels_and_the_input_is_left_alone():
    Y = csr_array((np.array([1, 0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 4))
    assert label_sets(Y, CLASSES) == [("a",)]
    np.testing.assert_array_equal(single_labels(Y), [0])
    assert Y.data.tolist() == [1, 0]


def test_columns_must_match_the_classes():
    with pytest.raises(BadData, match="2 columns for 4 classes"):
        label_sets(np.ones((1, 2)), CLASSES)


def test_single_labels_only_when_all_are_single():
    assert single_labels(label_matrix([("a",), ("a", "b")], CLASSES)) is None
    assert single_labels(label_matrix([("a",), ()], CLASSES)) is None
    np.testing.assert_array_equal(single_labels(label_matrix([("c",), ("a",)], CLASSES)), [2, 0])
