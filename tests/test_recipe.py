"""Recipes: which terms are used, and what a model is given beside its settings."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.errors import BadData, UnnaiveError
from unnaive.models.catalogue import find_model
from unnaive.models.recipe import Recipe

X = csr_array([[2, 0, 1], [1, 1, 0], [0, 3, 1]])
Y = csr_array([[1, 0], [0, 1], [0, 1]])
TERMS = ["ball", "vote", "the"]


def test_all_terms_or_the_ids_of_those_in_use():
    counts = Counts.of(X, Y)
    scorer, active = Recipe(find_model("multinomial"), {}).scorer(counts, TERMS)
    assert (active, scorer.n_terms) == (None, 3)
    scorer, active = Recipe(find_model("multinomial"), {}, select=1).scorer(counts, TERMS)
    assert (active.tolist(), scorer.n_terms) == ([1], 1)


def test_documents_lose_the_terms_that_are_not_in_use():
    scorer, active = Recipe(find_model("maxent"), {}, select=2).scorer(Counts.of(X, Y), TERMS, X, Y)
    alone = find_model("maxent").function(X[:, active], Y)
    np.testing.assert_array_equal(scorer.scores(X[:, active]), alone.scores(X[:, active]))


def test_several_labels_make_it_one_against_the_rest_unless_said_otherwise():
    counts = Counts.of(X, Y)
    assert Recipe(find_model("multinomial"), {}, exclusive=False).scorer(counts, TERMS)[0].link == "log-odds"
    chosen = Recipe(find_model("multinomial"), {"scheme": "multiclass"}, exclusive=False)
    assert chosen.scorer(counts, TERMS)[0].link == "softmax"


def test_no_term_is_left_or_weights_that_cannot_be_used():
    with pytest.raises(BadData, match="no term is in 4 documents or more; lower min_df"):
        Recipe(find_model("multinomial"), {}, min_df=4).scorer(Counts.of(X, Y), TERMS)
    with pytest.raises(UnnaiveError, match="k nearest neighbours takes no sample_weight; fit without it"):
        Recipe(find_model("knn"), {"k": 1}).scorer(Counts.of(X, Y), TERMS, X, Y, sample_weight=np.ones(3))
