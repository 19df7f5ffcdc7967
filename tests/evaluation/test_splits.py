"""Splits are stratified, nested, repeatable, and leave no document out."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.evaluation.splits import fixed_split, fold_splits, strata, stratified_split


def one_label(sizes):
    return csr_array(np.repeat(np.eye(len(sizes), dtype=np.int64), sizes, axis=0))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.floats(0.05, 0.95), st.integers(0, 5))
def test_every_document_is_on_one_side_and_every_class_in_training(sizes, share, split):
    Y = one_label(sizes)
    if sum(sizes) < 2:
        return
    train, test = stratified_split(Y, share, seed=3, split=split)
    assert sorted([*train, *test]) == list(range(sum(sizes)))
    assert (Y[train].sum(axis=0) > 0).all()


@given(st.lists(st.integers(2, 60), min_size=1, max_size=6), st.floats(0.05, 0.95))
def test_classes_have_their_share(sizes, share):
    train, _ = stratified_split(one_label(sizes), share, seed=0)
    got = one_label(sizes)[train].sum(axis=0)
    # one document for systematic sampling, and what classes that must give one first take from the others
    assert (np.abs(got - np.array(sizes) * share) <= 2 + len(sizes)).all()


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_smaller_training_sets_are_in_larger_ones(sizes):
    Y = one_label(sizes)
    if sum(sizes) < 2:
        return
    sets = [set(stratified_split(Y, share, seed=1)[0].tolist()) for share in (0.1, 0.3, 0.6, 0.9)]
    assert all(small <= large for small, large in pairwise(sets))


def test_rare_labels_of_multi_label_data_are_on_both_sides():
    random = np.random.default_rng(0)
    Y = (random.random((200, 6)) < [0.5, 0.3, 0.2, 0.1, 0.05, 0.02]).astype(np.int64)
    for split in range(20):
        train, test = stratified_split(csr_array(Y), 0.5, seed=0, split=split)
        assert (Y[train].sum(axis=0) > 0).all()
        assert (Y[test].sum(axis=0) > 0).all()


def test_seed_and_split_decide():
    Y = one_label([30, 30])
    first, again, other = (stratified_split(Y, 0.5, seed=0, split=split)[0] for split in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_strata_of_documents_without_labels():
    assert strata(csr_array([[1, 1], [1, 0], [0, 0]])).tolist() == [1, 0, 2]


def test_folds_cover_everything_once():
    parts = [test for _, test in fold_splits(one_label([10, 5]), 5, seed=0)]
    assert sorted(np.concatenate(parts)) == list(range(15))
    assert all((part < 10).sum() == 2 for part in parts)


@given(st.lists(st.integers(0, 9), min_size=4, max_size=40), st.integers(0, 3))
def test_documents_of_a_group_are_on_one_side(groups, seed):
    group = np.array(groups)
    Y = csr_array(np.eye(2, dtype=np.int64)[group % 2])
    sides = [stratified_split(Y, share, seed=seed, group=group)[0] for share in (0.3, 0.7)]
    assert set(sides[0]) <= set(sides[1])
    for train in sides:
        assert set(group[train]).isdisjoint(np.delete(group, train))
    n_groups = len(set(groups))
    if n_groups >= 2:
        tests = [test for _, test in fold_splits(Y, 2, seed=seed, group=group)]
        assert set(group[tests[0]]).isdisjoint(group[tests[1]])
        assert sorted(np.concatenate(tests)) == list(range(len(groups)))


def test_without_copies_splits_are_the_same_with_groups():
    Y = one_label([9, 4, 7])
    for one, other in zip(fold_splits(Y, 3, seed=2), fold_splits(Y, 3, seed=2, group=np.arange(20)), strict=True):
        assert one[1].tolist() == other[1].tolist()
    train = stratified_split(Y, 0.6, seed=2)[0]
    assert train.tolist() == stratified_split(Y, 0.6, seed=2, group=np.arange(20)[::-1])[0].tolist()


def test_more_folds_than_documents_that_are_no_copies():
    with pytest.raises(BadData, match="6 documents cannot be split into 5 folds, since copies share a fold and"):
        list(fold_splits(one_label([4, 2]), 5, seed=0, group=np.array([0, 0, 1, 1, 2, 2])))


def test_a_fixed_split_needs_both_parts():
    assert [rows.tolist() for rows in fixed_split(np.array(["test", "train", "other"]))] == [[1], [0]]
    with pytest.raises(BadData, match="the parts dev, train, not train and test; rename them"):
        fixed_split(np.array(["dev", "train"]))
    with pytest.raises(BadData, match=r"a share of 1\.0"):
        stratified_split(one_label([4]), 1.0, seed=0)
