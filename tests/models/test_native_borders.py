"""The native modules of core refuse whatever they would read or write out of bounds: a ValueError, never a crash."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.data import products
from unnaive.models.higher_order import second_order_paths as paths

pytestmark = pytest.mark.skipif(products.NATIVE is None, reason="built without a compiler")

HUGE = 2_000_000_000


def ints(*values):
    return np.array(values, np.int32)


def longs(*values):
    return np.array(values, np.int64)


PRODUCT = {"starts": longs(0, 1, 2), "columns": ints(0, 2), "values": np.ones(2), "dense": np.ones((3, 4)),
           "out": np.zeros((2, 4))}  # fmt: skip
TRANSPOSED = PRODUCT | {"dense": np.ones((2, 4)), "out": np.zeros((3, 4))}
TF_IDF = {"starts": longs(0, 1, 2), "columns": ints(0, 2), "values": np.ones(2), "place": ints(1, -1, 0),
          "idf": np.ones(2), "weights": np.ones((2, 4)), "out": np.zeros((2, 4))}  # fmt: skip
GRAM = {"starts": longs(0, 2, 4), "terms": ints(0, 1, 1, 2), "term_starts": longs(0, 1, 3, 4),
        "docs": ints(0, 0, 1, 1), "out": np.zeros(3)}  # fmt: skip
# two documents, one full row of two classes, one listed term
SCALING = {
    "row_starts": longs(0, 1, 2), "row_terms": ints(0, 0), "row_values": np.ones(2),
    "list_starts": longs(0, 0, 1), "list_terms": ints(0), "list_values": np.ones(1),
    "starts": longs(0, 1), "classes": ints(1), "n_rows": 1, "n_classes": 2, "chunk": 8,
}  # fmt: skip
PASS = {
    "targets": ints(0, 1), "weight": np.ones(2), "offset": np.zeros(2), "weights": np.zeros(3),
    "expected": np.zeros(3), "threads": 1,
}  # fmt: skip

# two documents of three terms, the second of class 1
CLASS_SUMS = {
    "starts": longs(0, 1, 2), "columns": ints(0, 2), "values": ints(1, 1), "class_starts": longs(0, 0, 1),
    "documents": ints(1), "n_terms": 3, "place": ints(), "threads": 2,
}  # fmt: skip

SPARSE_CHANGES = [
    {"starts": longs(0, HUGE, 2)},
    {"starts": longs(0, -HUGE, 2)},
    {"starts": longs(-5, 1, 2)},
    {"starts": longs(0, 1, HUGE)},
    {"starts": longs()},
    {"columns": ints(0, HUGE)},
    {"columns": ints(0, -1)},
    {"columns": ints(0)},
    {"values": np.ones(1)},
    {"out": np.zeros((1, 4))},
    {"out": np.zeros((2, 1))},
]


@pytest.mark.parametrize(
    "change",
    [*SPARSE_CHANGES, {"place": ints(1, -1)}, {"place": ints(2, -1, 0)}, {"place": ints(0, HUGE, 0)},
     {"idf": np.ones(1)}, {"weights": np.ones((1, 4))}, {"weights": np.ones((2, 3), np.float32)}],
)  # fmt: skip
def test_scores_of_broken_matrices_are_refused(change):
    products.NATIVE.add_tf_idf(*TF_IDF.values(), False)
    with pytest.raises(ValueError, match=r"matrix|weights|scores"):
        products.NATIVE.add_tf_idf(*(TF_IDF | change).values(), False)


@pytest.mark.parametrize("change", [*SPARSE_CHANGES[:9], {"place": ints(1, -1)}, {"place": ints()}])
def test_columns_of_broken_matrices_are_refused(change):
    whole = {name: TF_IDF[name] for name in ("starts", "columns", "values", "place")}
    found = products.NATIVE.take_columns(*whole.values())
    assert [part.tolist() for part in found] == [[0, 1, 2], [1, 0], [1.0, 1.0]]
    with pytest.raises(ValueError, match=r"matrix"):
        products.NATIVE.take_columns(*(whole | change).values())


@pytest.mark.parametrize("change", [*SPARSE_CHANGES, {"dense": np.ones((2, 4))}, {"dense": np.ones((0, 4))}])
def test_products_of_broken_matrices_are_refused(change):
    with pytest.raises(ValueError, match=r"matrix|product"):
        products.NATIVE.product(*(PRODUCT | change).values())


def test_class_sums_of_broken_matrices_are_refused():
    assert [part.tolist() for part in products.NATIVE.class_sums(*CLASS_SUMS.values())][1:4] == [[2], [1], [1]]
    changes = [
        *({"starts": broken} for broken in (longs(0, HUGE, 2), longs(0, -HUGE, 2), longs(0, 1, HUGE), longs())),
        *({"columns": broken} for broken in (ints(0, 3), ints(0, -1), ints(0))),
        *({"class_starts": broken} for broken in (longs(0, HUGE, 1), longs(-1, 0, 1), longs(0, 0, 2), longs())),
        *({"documents": broken} for broken in (ints(2), ints(-1))),
        *({"n_terms": broken} for broken in (2, -1)),
        *({"place": broken} for broken in (ints(0, 1), ints(0, 1, 3), ints(0, -1, 2))),
    ]
    for change in changes:
        with pytest.raises(ValueError, match=r"matrix|class|place"):
            products.NATIVE.class_sums(*(CLASS_SUMS | change).values())
    assert products.NATIVE.class_sums(*(CLASS_SUMS | {"values": ints(1, 0)}).values()) is None


@pytest.mark.parametrize("change", [*SPARSE_CHANGES, {"dense": np.ones((1, 4))}, {"dense": np.ones((2, 9))}])
def test_transposed_products_of_broken_matrices_are_refused(change):
    with pytest.raises(ValueError, match=r"matrix|product"):
        products.NATIVE.transposed(*(TRANSPOSED | change).values())


@pytest.mark.parametrize("walk", ["by_term", "by_document"])
@pytest.mark.parametrize(
    "change",
    [
        {"starts": longs(0, HUGE, 4)},
        {"starts": longs(0, -1, 4)},
        {"starts": longs()},
        {"terms": ints(0, 1, 1, HUGE)},
        {"terms": ints(0, 1, -1, 2)},
        {"term_starts": longs(0, HUGE, 3, 4)},
        {"docs": ints(0, 0, 1, 7)},
        {"docs": ints(0, -9, 1, 1)},
        {"out": np.zeros(2)},
    ],
)
def test_gram_sums_of_broken_matrices_are_refused(walk, change):
    with pytest.raises(ValueError, match=r"matrix|sum"):
        getattr(paths._gram, walk)(*(GRAM | change).values())


@pytest.mark.parametrize(
    "change",
    [
        {"row_starts": longs(0, HUGE, 2)},
        {"row_starts": longs(0, 2)},
        {"row_starts": longs(1, 1, 2)},
        {"row_starts": longs(0, 3, 2)},
        {"row_terms": ints(0, 5)},
        {"row_terms": ints(0, -1)},
        {"row_values": np.ones(1)},
        {"list_terms": ints(1)},
        {"list_starts": longs(0, 0, 7)},
        {"chunk": 0},
        {"chunk": -3},
        {"starts": longs(0, HUGE)},
        {"classes": ints(2)},
        {"n_rows": -1},
        {"n_rows": 0},
        {"n_classes": 0},
    ],
)
def test_documents_of_a_broken_matrix_are_not_laid_out(change):
    with pytest.raises(ValueError, match=r"\w"):
        products.NATIVE.ScalingDocuments(*(SCALING | change).values())


@pytest.mark.parametrize(
    "change",
    [
        {"targets": ints(0, 2)},
        {"targets": ints(-1, 0)},
        {"targets": ints(0)},
        {"weight": np.ones(1)},
        {"offset": np.zeros(0)},
        {"offset": np.zeros(3)},
        {"weights": np.zeros(0), "expected": np.zeros(0)},
        {"expected": np.zeros(1)},
        {"threads": 0},
    ],
)
def test_a_pass_that_does_not_fit_the_documents_is_refused(change):
    documents = products.NATIVE.ScalingDocuments(*SCALING.values())
    with pytest.raises(ValueError, match=r"\w"):
        documents.expectations(*(PASS | change).values())


def test_what_is_sound_is_computed():
    products.NATIVE.product(*PRODUCT.values())
    np.testing.assert_array_equal(PRODUCT["out"], np.ones((2, 4)))
    for change in ({}, {"chunk": 2**62}, {"list_values": np.full(1, np.pi)}):
        documents = products.NATIVE.ScalingDocuments(*(SCALING | change).values())
        assert documents.expectations(*PASS.values()) == pytest.approx(2 * np.log(0.5))


@pytest.mark.parametrize("name", ["out"])
def test_a_result_of_another_kind_is_refused_and_not_filled_as_a_copy(name):
    with pytest.raises(TypeError):
        products.NATIVE.product(*(PRODUCT | {name: np.zeros((2, 4), np.float32)}).values())


def test_gram_sums_by_document_do_not_depend_on_the_number_of_documents():
    """Documents that share nothing: each clears what it touched, not a counter for every document."""
    n = 150_000
    B = csr_array((np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1)), shape=(n, n))
    out = np.empty(n)
    paths._gram.by_document(*paths._pointers(B), *paths._pointers(B.tocsc()), out)  # n² would be minutes
    np.testing.assert_array_equal(out, np.ones(n))
