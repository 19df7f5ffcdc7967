"""Sums of documents that come in batches are those of all documents at once, whichever table they are summed in."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.data import running_sums
from unnaive.data.counts import Counts
from unnaive.data.products import NATIVE
from unnaive.data.running_sums import DenseSums, RunningSums

needs_native = pytest.mark.skipif(NATIVE is None, reason="built without a compiler")


def draw_batches(random, *, several):
    """Some batches of documents, each with the terms and classes that there are by then; and all of them."""
    batches, n_terms, n_classes = [], 1, 1
    for _ in range(6):
        n_terms, n_classes = n_terms + int(random.integers(0, 9)), n_classes + int(random.integers(0, 3))
        X = random.poisson(0.7, (7, n_terms)).astype(np.int32)
        Y = np.eye(n_classes, dtype=np.int64)[random.integers(0, n_classes, 7)]
        if several and random.random() < 0.5:
            Y[3] = random.integers(0, 2, n_classes)
        batches.append((csr_array(X), csr_array(Y)))
    wide = [[np.pad(one.toarray(), ((0, 0), (0, n - one.shape[1]))) for one in part]
            for part, n in zip(zip(*batches, strict=True), (n_terms, n_classes), strict=True)]  # fmt: skip
    return batches, Counts.of(*(csr_array(np.vstack(part)) for part in wide))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [1, 60, 1 << 22])
def test_batches_add_up(seed, most, monkeypatch):
    monkeypatch.setattr(running_sums, "MOST_CELLS", most)
    monkeypatch.setattr(running_sums, "HELD", 20)
    batches, wanted = draw_batches(np.random.default_rng(seed), several=seed % 2 == 0)
    for dense in (False, True):
        running = RunningSums(dense=dense)
        for X, Y in batches:
            running.add(X, Y)
        found = running.total()
        assert found.grown(wanted.n_classes, wanted.n_terms) == wanted
        assert running.total() == found


@needs_native
def test_what_a_dense_table_cannot_hold_is_left_to_others(monkeypatch):
    X, one = csr_array(np.array([[2, 1]], np.int32)), csr_array([[1]])
    table = DenseSums()
    for bad in (
        X.astype(float),
        csr_array((np.array([1, 0], np.int32), [0, 1], [0, 2]), shape=(1, 2)).astype(np.int32),
    ):
        assert not table.add(bad, one)
    for labels in (csr_array([[0]]), csr_array([[1, 1]])):
        assert not table.add(X, labels)
    monkeypatch.setattr(running_sums, "MOST_OCCURRENCES", 5)
    assert table.add(X, one)
    assert not table.add(X, one)  # 3 + 3 occurrences
    assert table.take() == Counts.of(X, one)
    assert table.take() == Counts.zero(0, 0)


@needs_native
def test_broken_matrices_are_refused():
    sound = {"starts": np.array([0, 2]), "columns": np.array([0, 1], np.int32), "values": np.array([2, 1], np.int32),
             "classes": np.array([1], np.int32), "cells": [np.zeros(n, np.uint64) for n in (0, 2)]}  # fmt: skip
    assert NATIVE.add_documents(*sound.values()) == 3
    assert [row.tolist() for row in sound["cells"]] == [[], [(2 << 32) + 1, (1 << 32) + 1]]
    for change in (
        {"starts": np.array([0, 3])},
        {"starts": np.array([0, -1])},
        {"columns": np.array([0, 2], np.int32)},
        {"values": np.array([1], np.int32)},
        {"classes": np.array([0], np.int32)},  # whose row is shorter
        {"classes": np.array([2], np.int32)},
        {"classes": np.array([-1], np.int32)},
        {"classes": np.array([0, 0], np.int32)},
    ):
        with pytest.raises(ValueError, match=r"matrix|class"):
            NATIVE.add_documents(*(sound | change).values())
    with pytest.raises(TypeError):
        NATIVE.add_documents(*(sound | {"cells": [np.zeros(2), np.zeros(2)]}).values())  # would fill a copy
    with pytest.raises(ValueError, match="fewer than 0 terms"):
        NATIVE.list_cells(sound["cells"], -1)
