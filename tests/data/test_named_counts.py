"""Ledgers: counts with names add, subtract and compare by name, whatever the order of classes and terms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import read_targets
from unnaive.linear.term_selection import check_select, select_terms
from unnaive.text.counting import TextCounter

DOCUMENTS = st.lists(
    st.tuples(st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij", "kl"]), max_size=5), st.sampled_from("xyz")),
    min_size=1,
    max_size=8,
)


def ledger(documents):
    texts, labels = [" ".join(words) for words, _ in documents], [label for _, label in documents]
    counter = TextCounter()
    X = counter.count(texts, grow=True)
    return NamedCounts.of(X, read_targets(labels, len(texts)), counter.vocabulary)


@settings(deadline=None)
@given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_they_add_like_numbers(one, two, three):
    a, b, c = ledger(one), ledger(two), ledger(three)
    assert a + b == ledger([*one, *two]) == b + a
    assert (a + b) + c == a + (b + c)
    assert a + NamedCounts.empty() == a


@settings(deadline=None)
@given(DOCUMENTS, DOCUMENTS)
def test_taking_away_undoes_adding(one, two):
    a, b = ledger(one), ledger(two)
    back = (a + b) - b
    assert back == a
    assert set(back.vocabulary) == set(a.vocabulary)


def test_different_ledgers_are_not_equal():
    a = ledger([(["ab"], "x"), (["cd"], "y")])
    assert a != ledger([(["ab"], "x"), (["cd"], "z")])
    assert a != ledger([(["ab"], "x"), (["ef"], "y")])
    assert a != ledger([(["ab", "ab"], "x"), (["cd"], "y")])
    assert a != "a ledger"


def test_classes_of_two_kinds_do_not_add():
    counter = TextCounter()
    X = counter.count(["ab"], grow=True)
    numbers = NamedCounts.of(X, read_targets([1], 1), counter.vocabulary)
    with pytest.raises(BadData, match="labels mix int and str"):
        numbers + ledger([(["ab"], "x")])


def test_terms_in_use_do_not_depend_on_the_order_of_documents():
    documents = [(["ab", "cd"], "x"), (["ab", "cd"], "x"), (["ef", "gh"], "y"), (["ef", "ij"], "y"), (["kl"], "z")]
    for select in (None, 2, ("chi2", 3), ("mutual-information", 2), ("information-gain-per-class", 1)):
        chosen = []
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
            one = ledger([documents[place] for place in order])
            ids = select_terms(one.counts, one.vocabulary, min_df=1, select=select)
            assert (np.diff(ids) > 0).all()
            chosen.append(sorted(one.vocabulary[int(place)] for place in ids))
        assert chosen[0] == chosen[1] == chosen[2]


def test_ties_go_by_the_alphabet():
    one = ledger([(["cd", "ab"], "x"), (["ef", "gh"], "y")])
    ids = select_terms(one.counts, one.vocabulary, select=3)
    assert [one.vocabulary[int(place)] for place in sorted(ids)] == ["cd", "ab", "ef"]


def test_few_documents_leave_a_term_out():
    one = ledger([(["ab", "cd"], "x"), (["ab"], "y")])
    assert select_terms(one.counts, one.vocabulary, min_df=2).tolist() == [0]
    with pytest.raises(BadData, match="no term is in at least 3 documents"):
        select_terms(one.counts, one.vocabulary, min_df=3)


@pytest.mark.parametrize("select", [0, -1, True, "chi2", ("chi2",), ("chi2", 0), ("chi2", 1.5), 2.5])
def test_selections_that_make_no_sense(select):
    with pytest.raises(UnnaiveError, match=r"select is|no selection called"):
        check_select(select)
    with pytest.raises(UnknownName, match=r"no selection called 'chi3'; .*did you mean 'chi2'"):
        check_select(("chi3", 5))
