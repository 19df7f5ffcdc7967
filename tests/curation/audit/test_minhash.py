"""Near duplicates by MinHash against brute force."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.curation.audit.minhash import BANDS, ROWS, band_keys, jaccard, signatures, similar_pairs


def brute_force(X, threshold):
    sets = [set(X.indices[X.indptr[d] : X.indptr[d + 1]].tolist()) for d in range(X.shape[0])]
    return {
        (one, other)
        for other in range(len(sets))
        for one in range(other)
        if sets[one] and sets[other] and len(sets[one] & sets[other]) >= threshold * len(sets[one] | sets[other])
    }


def documents(seed, n_docs=150, n_terms=400, length=40):
    """Random documents, and after each third one a copy of it with up to six terms exchanged."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(n_docs):
        if number % 3 == 2:
            row = rows[-1].copy()
            exchanged = generator.choice(length, number % 7, replace=False)
            row[exchanged] = generator.integers(0, n_terms, len(exchanged))
        else:
            row = generator.choice(n_terms, length, replace=False)
        rows.append(row)
    X = np.zeros((n_docs, n_terms), np.int32)
    for number, row in enumerate(rows):
        X[number, row] += 1
    return csr_array(X)


@pytest.mark.parametrize("seed", range(5))
def test_finds_what_brute_force_finds(seed):
    """At .8 a pair is missed once in 5,000; there are fewer than 100 pairs here, most of them nearer."""
    X = documents(seed)
    found = similar_pairs(X, threshold=0.8)
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == brute_force(X, 0.8)
    assert (found.similarity >= 0.8).all()
    assert (found.first < found.second).all()


def test_the_share_of_equal_hashes_estimates_the_similarity():
    """Two sets of 100 terms that share 50: similarity 50/150; 4,000 hashes have a standard deviation of .0075."""
    row = np.zeros((2, 200), np.int32)
    row[0, :100] = 1
    row[1, 50:150] = 1
    found = signatures(csr_array(row), n_hashes=4_000)
    assert np.mean(found[:, 0] == found[:, 1]) == pytest.approx(1 / 3, abs=4 * 0.0075)


def test_a_band_key_depends_on_its_rows_and_their_order():
    found = np.random.default_rng(0).integers(0, 2**32, (BANDS * ROWS, 50), dtype=np.uint32)
    keys = band_keys(found)
    assert keys.shape == (BANDS, 50)
    assert len(np.unique(keys)) == BANDS * 50
    changed = found.copy()
    changed[5] += 1  # row 1 of the second band
    assert (band_keys(changed) != keys).any(axis=1).tolist() == [band == 1 for band in range(BANDS)]


def test_many_copies_of_one_document_are_all_reached():
    """A bucket of 300 equal documents: each is paired with its neighbours, so that all hang together."""
    X = csr_array(np.ones((300, 6), np.int32))
    found = similar_pairs(X)
    assert set(found.second.tolist()) == set(range(1, 300))
    assert len(found) < 300 * 64


def test_empty_documents_are_near_nothing():
    assert len(similar_pairs(csr_array((3, 5), dtype=np.int32))) == 0
    assert len(similar_pairs(csr_array(np.array([[0, 0], [1, 1], [0, 0]])))) == 0


def test_jaccard_is_of_sets_whatever_the_counts():
    X = csr_array(np.array([[5, 1, 0, 0], [1, 1, 7, 1]]))
    np.testing.assert_allclose(jaccard(X, np.array([0]), np.array([1])), [2 / 4])
