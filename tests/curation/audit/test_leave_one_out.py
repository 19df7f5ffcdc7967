"""Exact leave-one-out from counts against models trained anew without each document."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import MultinomialNB
from unnaive.curation.audit.leave_one_out import BETA, LeaveOneOut
from unnaive.data.weighting import presence


def random_data(seed, n_docs=40, n_terms=30, n_classes=4):
    generator = np.random.default_rng(seed)
    X = csr_array(generator.poisson(0.35, (n_docs, n_terms)))
    return X, np.arange(n_docs) % n_classes, n_classes


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_models_trained_without_each_document(seed):
    """Jelinek–Mercer on presence, trained anew n times; the constant γ makes its β = γN′/(1 + γN′) without d."""
    X, codes, n_classes = random_data(seed)
    found = LeaveOneOut.of(X, codes, n_classes).scores(np.arange(X.shape[0]))
    ones = presence(X)
    df = np.bincount(ones.indices, minlength=X.shape[1])
    kept = ones[:, df >= 2]  # a term of one document is unknown without it, and so left out for all
    strength = BETA / ((1 - BETA) * kept.sum())
    for row in range(X.shape[0]):
        others = np.arange(X.shape[0]) != row
        total = kept[others].sum() * strength
        model = MultinomialNB(smoothing="jelinek-mercer", beta=total / (1 + total)).fit(kept[others], codes[others])
        log_joint = model.predict_joint_log_proba(kept[[row]])[0]
        length = max(kept[[row]].nnz, 1)
        ours = found[row] * np.sqrt(length)
        # equal up to what is the same for all classes: the normaliser and γ(n_t − 1)
        np.testing.assert_allclose(ours - ours[0], log_joint - log_joint[0], atol=1e-9)


def test_by_hand():
    """Documents {0,1} {0,2} of class 0, {1,2} {0,2} of class 1; the last without itself.

    n_t = 3, 2, 3, so N = 8 and γ = .7 / (.3 · 8) = .2917. Class 0: 2/4 and 1/4 over γ · 2, log 1.857 + log 1.429 =
    .976, prior log 2/3.
    Class 1 has one document left, {1,2}: term 0 never, term 2 1/2 over γ · 2: log 1.857 = .619, prior
    log 1/3. Over √2: .403 and −.339.
    """
    model = LeaveOneOut.of(csr_array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 1]]), np.array([0, 0, 1, 1]), 2)
    np.testing.assert_allclose(model.scores(np.array([3])), [[0.4033, -0.3391]], atol=1e-4)


def test_blocks_are_the_scores_of_all(monkeypatch):
    X, codes, n_classes = random_data(3)
    model = LeaveOneOut.of(X, codes, n_classes)
    whole = model.scores(np.arange(X.shape[0]))
    monkeypatch.setattr("unnaive.curation.audit.leave_one_out.BLOCK_CELLS", 7 * n_classes)
    monkeypatch.setattr("unnaive.curation.audit.leave_one_out.DENSE_CELLS", 0)  # sparse weights are the same weights
    sparse = LeaveOneOut.of(X, codes, n_classes)
    parts = list(sparse.blocks())
    assert [len(rows) for rows, _ in parts] == [7, 7, 7, 7, 7, 5]
    np.testing.assert_allclose(np.concatenate([scores for _, scores in parts]), whole, atol=1e-12)


def test_a_class_of_one_document_is_unknown_without_it():
    model = LeaveOneOut.of(csr_array([[1, 1], [1, 1], [1, 1]]), np.array([0, 0, 1]), 2)
    assert model.scores(np.array([2]))[0, 1] == -np.inf


def test_term_evidence_sums_to_the_difference_of_scores():
    X, codes, n_classes = random_data(4)
    model = LeaveOneOut.of(X, codes, n_classes)
    for row in range(10):
        terms, evidence = model.term_evidence(row, 1, 2)
        scores = model.scores(np.array([row]))[0] * np.sqrt(max(len(terms), 1))
        docs = model.class_docs - (np.arange(n_classes) == codes[row])
        prior = np.log(docs[1]) - np.log(docs[2])
        assert evidence.sum() + prior == pytest.approx(scores[1] - scores[2])
