"""Labels as people have them: every container and kind, and what is wrong with one."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, csr_matrix

from unnaive.base.errors import BadData
from unnaive.data.partly_labelled import read_partly_labelled
from unnaive.data.sample_weights import check_sample_weight, class_sample_weight
from unnaive.data.soft_labels import soft_labels
from unnaive.data.targets import class_codes, read_targets, sorted_classes
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.models.nb_em import NaiveBayesEM

NAMES = ["b", "a", "b"]


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series, pl.Series, pa.array, iter, pd.Categorical])
def test_containers_of_single_labels(container):
    found = read_targets(container(NAMES), 3)
    assert (found.classes, found.target_type, found.multilabel) == (("a", "b"), "single", False)
    np.testing.assert_array_equal(found.Y.toarray(), [[0, 1], [1, 0], [0, 1]])


@pytest.mark.parametrize("collection", [list, tuple, set, frozenset, np.array])
def test_collections_of_labels(collection):
    found = read_targets([collection(["b", "a"]), collection(["b"]), collection([])], 3)
    assert (found.classes, found.target_type) == (("a", "b"), "sets")
    np.testing.assert_array_equal(found.Y.toarray(), [[1, 1], [0, 1], [0, 0]])
    assert found.Y.has_sorted_indices


def test_a_label_twice_counts_once():
    assert read_targets([["a", "a"]], 1).Y.data.tolist() == [1]


@pytest.mark.parametrize("kind", [np.array, csr_array, csr_matrix])
def test_indicators(kind):
    found = read_targets(kind([[1, 0], [0, 0]]), 2)
    assert (found.classes, found.target_type) == ((0, 1), "indicator" if kind is np.array else "sparse")
    np.testing.assert_array_equal(found.Y.toarray(), [[1, 0], [0, 0]])


def test_the_form_can_be_told():
    assert read_targets(NAMES, 3, multilabel=True).target_type == "sets"
    assert read_targets([("b",), ("a",)], 2, multilabel=False).target_type == "single"
    with pytest.raises(BadData, match="document 1 has 0 labels; with multilabel=False every document has one"):
        read_targets([("b",), ()], 2, multilabel=False)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ({3, 1}, (1, 3)),
        ({np.int32(3), 1.0}, (1.0, 3.0)),
        ({True, False}, (False, True)),
        ({np.str_("x"), "y"}, ("x", "y")),
        ({"10", "9"}, ("10", "9")),
    ],
)
def test_classes_are_plain_and_sorted(values, classes):
    found = sorted_classes(values)
    assert found == classes
    assert all(type(label) in (str, int, float, bool) for label in found)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("abc", "labels came as one str"),
        (7, "labels came as int"),
        (["a", "b"], "3 documents came with 2 labels"),
        (["a", 1, "b"], "labels mix int and str"),
        (["a", True, "b"], "labels mix bool and str"),
        (["a", None, "b"], r"a label is missing \(None\)"),
        ([1.0, float("nan"), 2.0], r"a label is missing \(nan\)"),
        ([0.5, 1, 2], "Unknown label type: continuous. A label is 0.5, a quantity, not a class"),
        ([b"a", b"b", b"c"], "a label is b'.' of type bytes"),
        (np.array([[1, 0], [0, 1]]), "3 documents came with an indicator matrix of 2 rows"),
        (np.array([[1, 0], [0, 2], [0, 0]]), "values other than 0 and 1"),
    ],
)
def test_labels_that_cannot_be_used(labels, problem):
    with pytest.raises(BadData, match=problem):
        read_targets(labels, 3)


@pytest.mark.parametrize("labels", [[[0, 1], [1, 0]], [(0, 1), (1, 0)], [np.array([0, 1]), np.array([1, 0])]])
def test_nested_zeros_and_ones_are_an_indicator_as_in_scikit_learn(labels):
    found = read_targets(labels, 2)
    assert (found.classes, found.target_type) == ((0, 1), "indicator")
    np.testing.assert_array_equal(found.Y.toarray(), [[0, 1], [1, 0]])


def test_other_nested_numbers_are_label_sets_and_one_column_is_a_label_each():
    assert read_targets([[3, 5], [1, 3]], 2).target_type == "sets"
    assert read_targets(np.array([[3], [5]]), 2).target_type == "single"


def test_float_labels_come_back_as_they_went_in():
    classes = read_targets(np.array([1.0, 2.0]), 2).classes
    assert classes == (1.0, 2.0)
    assert all(isinstance(label, float) for label in classes)


def test_balanced_class_weights_by_hand():
    """3 of a, 1 of b, 4 documents: 4 / (2 · 3) and 4 / (2 · 1)."""
    targets = read_targets(["a", "a", "b", "a"], 4)
    np.testing.assert_allclose(class_sample_weight("balanced", targets, None), [2 / 3, 2 / 3, 2, 2 / 3])
    np.testing.assert_allclose(class_sample_weight({"b": 5}, targets, np.arange(1.0, 5)), [1, 2, 15, 4])
    with pytest.raises(BadData, match="label 'c' is not among the 2 classes"):
        class_sample_weight({"c": 1}, targets, None)


def test_codes_name_the_label_that_is_unknown():
    assert class_codes(["b", "a"], ("a", "b")).tolist() == [1, 0]
    with pytest.raises(BadData, match="label 'c' is not among the 2 classes a, b; give one of them"):
        class_codes(["c"], ("a", "b"))


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        ([1, 2], r"sample_weight.shape == \(2,\), expected \(3,\)"),
        ([[1], [2], [3]], r"sample_weight.shape == \(3, 1\), expected \(3,\)"),
        ([1, -1, 2], "document 1 has -1.0; give numbers from 0"),
        ([1, 2, float("nan")], "document 2 has nan"),
        ([float("inf"), 2, 1], "document 0 has inf"),
        ([0, 0, 0], "at least one non-zero number; all of them are 0"),
        ([1e308, 1e308, 1e308], "weight of document 0 is 1e.308; give 0, or a number from 1e-09 to 1e.09"),
        (["a", "b", "c"], "is not a list of numbers .*; give one number for each document"),
    ],
)
def test_weights_are_one_for_each_document_and_not_negative(weight, problem):
    with pytest.raises(BadData, match=problem):
        check_sample_weight(weight, 3)


def test_a_cell_that_is_given_twice_is_one_label():
    """CSR allows repeated cells; they counted the document twice."""
    Y = csr_array((np.array([1, 1, 0]), np.array([0, 0, 1]), np.array([0, 0, 3])), shape=(2, 2))
    found = read_targets(Y, 2)
    assert (found.Y.toarray().tolist(), found.Y.nnz) == ([[0, 0], [1, 0]], 1)
    assert Y.nnz == 3  # the caller's matrix is as it was


@pytest.mark.parametrize(
    ("n_docs", "share", "told"),
    [(19, 1 / 19, ""), (20, 1 / 20, "20 documents sum to 1, so models smooth and regularise as for a single document"),
     (600, 0.01, "600 documents sum to 6, so models smooth and regularise as for 6 documents"), (600, 0.2, "")],
)  # fmt: skip
def test_weights_far_below_one_are_told(n_docs, share, told):
    """With 1/100 each `auto` fell from .898 to .516 on the tickets, without a word."""
    X, y = np.eye(n_docs, dtype=int), [row % 2 for row in range(n_docs)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MultinomialNB().fit(X, y, sample_weight=np.full(n_docs, share))
    mean = f"; divide the weights by their mean, {share:.3g}, unless that is meant"
    assert [str(warning.message) for warning in caught] == ["the sample weights of " + told + mean] * bool(told)


def test_weights_of_zero_and_soft_labels_are_not_small():
    """Soft labels of 25 classes have a mean weight of .04, but each text counts once."""
    X, y = np.repeat(np.eye(40, dtype=int), 25, axis=0), np.tile(np.arange(25), 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultinomialNB().fit(X, y, sample_weight=np.full(1000, 0.04))
        MultinomialNB().fit(X, y, sample_weight=np.arange(1000) % 10 == 0)


def test_generators_are_read_once():
    """The second reading was empty: "0 labels", "0 classes", or a TypeError."""
    X, both = [[1, 0], [0, 1]], ["x", "y"]
    assert NaiveBayesEM().fit(X, iter(both)).predict(X).tolist() == both
    assert read_partly_labelled(iter(["x", None, "y"]), 3).classes == ("x", "y")
    assert MultinomialNB().partial_fit(X[:1], ["x"], classes=iter(both)).classes_.tolist() == both
    assert soft_labels(["a"], {"good": (p for p in [0.5])})[2].tolist() == [0.5, 0.5]
