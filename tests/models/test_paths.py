"""Closed forms of path counts against enumeration of every path."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.data.weighting import presence
from unnaive.models.higher_order import second_order_paths as paths
from unnaive.models.higher_order.second_order_paths import (
    FirstPass,
    SecondPass,
    TermSums,
    class_paths,
    class_paths_as_published,
    gram_class_sums,
    gram_class_sums_by_blocks,
    gram_row_squares,
    gram_row_squares_by_blocks,
    term_paths,
)


def enumerated_class_paths(X, Y):
    """Σ over i–d–k–e–c, terms and documents distinct, of the weights on the way."""
    found = np.zeros((X.shape[1], Y.shape[1]))
    for d, e in itertools.permutations(range(len(X)), 2):
        for i, k in itertools.permutations(range(X.shape[1]), 2):
            found[i] += X[d, i] * X[d, k] * X[e, k] * Y[e]
    return found


def enumerated_term_paths(B):
    """Paths i–d–k–e–j that contain each term, and all of them; a path and its reverse are one."""
    containing, total = np.zeros(B.shape[1]), 0
    for i, k, j in itertools.permutations(range(B.shape[1]), 3):
        for d, e in itertools.permutations(range(len(B)), 2):
            if i < j and B[d, i] and B[d, k] and B[e, k] and B[e, j]:
                total += 1
                containing[[i, k, j]] += 1
    return containing, total


def published(X, Y):
    """Algorithm 1 of the paper, steps 5 to 8, on the dense matrix; the columns of the classes."""
    whole = np.hstack([X, Y])
    first = whole.T @ whole
    second = first @ first
    for i, j in itertools.product(range(len(first)), repeat=2):
        s = second[i, j] - first[i, j] * (first[i, i] + first[j, j])
        second[i, j] += s
    return second[: X.shape[1], X.shape[1] :]


def counted(X, Y):
    X, Y = csr_array(X), csr_array(Y)
    one = FirstPass.of(X, Y)
    return class_paths(one, SecondPass.of(X, Y, one.first))


def random_case(seed):
    """A few documents; by chance some are empty or have one term, some classes are empty, some documents multilabel."""
    rng = np.random.default_rng(seed)
    n, terms, classes = rng.integers(1, 7), rng.integers(1, 6), rng.integers(1, 4)
    B = (rng.random((n, terms)) < rng.choice([0.2, 0.5, 0.9])).astype(float)
    if seed % 2:
        Y = np.eye(classes)[rng.integers(classes, size=n)]
    else:
        Y = (rng.random((n, classes)) < 0.5).astype(float)
    return rng, B, Y


@pytest.mark.parametrize("seed", range(60))
def test_paths_to_classes_are_those_enumerated(seed):
    _, B, Y = random_case(seed)
    np.testing.assert_array_equal(counted(B, Y), enumerated_class_paths(B, Y))


@pytest.mark.parametrize("seed", range(30))
def test_weighted_paths_are_those_enumerated(seed):
    rng, B, Y = random_case(seed)
    X = B * rng.random(B.shape)
    np.testing.assert_allclose(counted(X, Y), enumerated_class_paths(X, Y), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(60))
def test_paths_through_terms_are_those_enumerated(seed):
    _, B, _ = random_case(seed)
    containing, total = term_paths(csr_array(B))
    expected, all_paths = enumerated_term_paths(B)
    np.testing.assert_array_equal(containing, expected)
    assert total == all_paths


@pytest.mark.parametrize("seed", range(20))
def test_the_published_algorithm_is_followed_to_the_letter(seed):
    _, B, Y = random_case(seed)
    np.testing.assert_array_equal(class_paths_as_published(csr_array(B), csr_array(Y)), published(B, Y))


@pytest.mark.parametrize(
    ("B", "Y"),
    [
        ([[0, 0], [0, 0]], [[1, 0], [0, 1]]),  # empty documents
        ([[1, 0], [0, 1]], [[1, 0], [0, 1]]),  # of one term
        ([[1, 1], [1, 1]], [[1, 0], [1, 0]]),  # a class without documents
        ([[1, 1], [1, 1]], [[0], [0]]),  # no label at all
        ([[1, 1]], [[1]]),  # one document
    ],
)
def test_edges(B, Y):
    B, Y = np.array(B, float), np.array(Y, float)
    np.testing.assert_array_equal(counted(B, Y), enumerated_class_paths(B, Y))
    np.testing.assert_array_equal(term_paths(csr_array(B))[0], enumerated_term_paths(B)[0])


@pytest.mark.parametrize("seed", range(5))
def test_passes_of_shards_add_up(seed):
    rng, B, Y = random_case(100 + seed)
    shards = [rows for rows in np.array_split(rng.permutation(len(B)), 3) if len(rows)]
    parts = [(csr_array(B[rows]), csr_array(Y[rows])) for rows in shards]
    one = FirstPass.of(*parts[0])
    for part in parts[1:]:
        one = one + FirstPass.of(*part)
    two = SecondPass.of(*parts[0], one.first)
    for part in parts[1:]:
        two = two + SecondPass.of(*part, one.first)
    np.testing.assert_array_equal(class_paths(one, two), counted(B, Y))
    assert one.n_docs == two.n_docs == len(B)


def test_passes_over_other_terms_do_not_add():
    one, other = (FirstPass.of(csr_array(np.ones((1, n))), csr_array([[1]])) for n in (2, 3))
    with pytest.raises(BadData, match="use one vocabulary for all shards"):
        one + other


def test_documents_come_in_parts_where_classes_are_many(monkeypatch):
    _, B, Y = random_case(2)
    whole = counted(B, Y)
    monkeypatch.setattr(paths, "CHUNK_CELLS", 2 * Y.shape[1])
    np.testing.assert_array_equal(counted(B, Y), whole)


def test_totals_above_32_bits_are_exact():
    """n equal documents of m terms: each term has (m − 1)·n·(n − 1) paths to the class, terms (m − 1)(m − 2)·… ."""
    n, m = 2000, 60
    B = csr_array(np.ones((n, m)))
    per_term = (m - 1) * n * (n - 1)
    assert per_term * m > 2**32
    found = counted(B, np.ones((n, 1)))
    assert found.tolist() == [[per_term]] * m
    containing, total = term_paths(B)
    # ordered ends i ≠ j, middle k of the other m − 2, ordered documents; a path and its reverse are one
    assert total == m * (m - 1) * (m - 2) * n * (n - 1) // 2 > 2**36
    assert set(containing.tolist()) == {3 * total / m}


@pytest.mark.parametrize("density", [0.02, 0.3])
@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
def test_gram_norms_by_either_walk_are_those_of_the_dense_matrix(shape, density, monkeypatch):
    B = (np.random.default_rng(3).random(shape) < density).astype(float)
    expected = ((B.T @ B) ** 2).sum(axis=1)
    np.testing.assert_array_equal(gram_row_squares(csr_array(B)), expected)
    monkeypatch.setattr(paths, "BLOCK_CELLS", 700)
    np.testing.assert_array_equal(gram_row_squares_by_blocks(csr_array(B)), expected)


@pytest.mark.skipif(paths._gram is None, reason="built without the native walks")
@pytest.mark.parametrize("walk", ["by_term", "by_document"])
def test_native_walks_agree_with_the_specification(walk):
    B = csr_array((np.random.default_rng(4).random((70, 50)) < 0.2).astype(float))
    out = np.empty(50)
    getattr(paths._gram, walk)(*paths._pointers(B), *paths._pointers(B.tocsc()), out)
    np.testing.assert_array_equal(out, gram_row_squares_by_blocks(B))


def test_presence_has_no_stored_zero():
    X = csr_array((np.array([2.0, 0.0, 0.5]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    found = presence(X)
    assert found.nnz == 2
    np.testing.assert_array_equal(found.toarray(), [[1, 0], [0, 1]])


@pytest.mark.parametrize("seed", range(30))
def test_paths_without_a_class_are_those_among_the_other_documents(seed):
    rng = np.random.default_rng(seed)
    B = (rng.random(rng.integers(1, 9, 2)) < rng.random()).astype(float)
    Y = (rng.random((len(B), 3)) < 0.4).astype(float)  # classes overlap; some have no document, or all of them
    X, labels = csr_array(B), csr_array(Y)
    members = [np.flatnonzero(column) for column in Y.T]
    sums = [TermSums.of(X[rows]) for rows in members]
    containing, totals = TermSums.of(X).without_classes(sums, X, labels)
    for c, rows in enumerate(members):
        expected, total = term_paths(X[np.setdiff1d(np.arange(len(B)), rows)])
        np.testing.assert_array_equal(containing[:, c], expected)
        assert totals[c] == total
    np.testing.assert_array_equal(gram_class_sums(X, labels), gram_class_sums_by_blocks(X, labels))
    if paths._gram is not None:
        for walk in (paths._gram.cross_by_term, paths._gram.cross_by_document):
            out = np.zeros((X.shape[1], labels.shape[1]))
            walk(
                *paths._pointers(X),
                *paths._pointers(X.tocsc()),
                *paths._pointers(labels),
                out,
            )
            np.testing.assert_array_equal(out, gram_class_sums_by_blocks(X, labels))
