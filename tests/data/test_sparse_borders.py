"""Broken sparse matrices, of documents or of labels, are a sentence at every entrance and never a crash of SciPy."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

import unnaive
from unnaive import TextClassifier
from unnaive.base.errors import BadData

TABLE = np.random.default_rng(0).poisson(1.0, (6, 4)) + np.eye(6, 4, dtype=int)
LABELS = [0, 1] * 3
FAR = 10**8


def broken_csr(change):
    X = csr_array(TABLE)
    change(X)
    return X


def far(X, place=0):
    X.indices[place] = FAR


def negative(X):
    X.indices[0] = -FAR


def wrapping(X):
    X.indptr[1:3] = 2_000_000_000, -2_000_000_000


def beyond(X):
    X.indptr[-1] = FAR


def shorter(X):
    X.data = X.data[:3]


BROKEN = [broken_csr(change) for change in (far, negative, wrapping, beyond, shorter)]
for name in ("csc", "bsr"):
    BROKEN.append(csr_array(TABLE).asformat(name))
    BROKEN[-1].indices[0] = FAR
BROKEN.append(csr_array(TABLE).tocoo())
BROKEN[-1].coords[0][0] = FAR
BROKEN.append(csr_matrix(TABLE))
BROKEN[-1].indices[0] = FAR


@pytest.mark.parametrize("X", BROKEN)
@pytest.mark.parametrize("model", [unnaive.MultinomialNB, unnaive.MaxEnt, unnaive.NearestNeighbours])
def test_documents(X, model):
    with pytest.raises(BadData, match="build the matrix again"):
        model().fit(X, LABELS)
    fitted = model().fit(TABLE, LABELS)
    with pytest.raises(BadData, match="build the matrix again"):
        fitted.predict(X)


@pytest.mark.parametrize("change", [far, negative, wrapping, beyond, shorter])
def test_labels(change):
    Y = csr_array(np.ones((6, 3), np.int64))
    change(Y)
    with pytest.raises(BadData, match=r"the matrix of labels .*; build it again"):
        unnaive.MultinomialNB().fit(TABLE, Y)
    with pytest.raises(BadData, match=r"the matrix of labels .*; build it again"):
        TextClassifier("multinomial").fit(["some words"] * 6, Y)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sound_matrices_of_every_format_are_taken(form):
    X = csr_array(TABLE).asformat(form)
    assert unnaive.MultinomialNB().fit(X, LABELS).predict(X).shape == (6,)
