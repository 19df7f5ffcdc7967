"""Training by name on matrices, term selection, and scores that can be ranked over documents."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax

from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import Targets, read_targets
from unnaive.data.training_data import DocumentRows, TrainingData
from unnaive.evaluation.trials import train_scorer
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.make_scorer import make_scorer
from unnaive.learning.train import train
from unnaive.linear.links import comparable_scores
from unnaive.models.catalogue import make_model
from unnaive.text.vocabulary import Vocabulary

X = csr_array([[2, 0, 1], [1, 1, 0], [0, 3, 1]])
Y = csr_array([[1, 0], [0, 1], [0, 1]])
TERMS = Vocabulary(["ball", "vote", "the"])
SINGLE = Targets(("a", "b"), Y, "single")


def scorer_of(name, targets=SINGLE, sample_weight=None, settings=None, **training):
    spec = TrainingSpec(make_model(name, settings or {}), **training)
    rows = DocumentRows(X, targets, TERMS, sample_weight)
    learnt, active = make_scorer(spec, NamedCounts.of(X, targets, TERMS), rows, exclusive=not targets.multilabel)
    return learnt.scorer, active


def test_all_terms_or_the_ids_of_those_in_use():
    scorer, active = scorer_of("multinomial")
    assert (active, scorer.n_terms) == (None, 3)
    scorer, active = scorer_of("multinomial", select=1)
    assert (active.tolist(), scorer.n_terms) == ([1], 1)


def test_documents_lose_the_terms_that_are_not_in_use():
    scorer, active = scorer_of("maxent", select=2)
    alone = make_model("maxent", {}).learn(X[:, active], Y).scorer
    np.testing.assert_array_equal(scorer.scores(X[:, active]), alone.scores(X[:, active]))


def test_multilabel_targets_make_it_one_against_the_rest_unless_a_scheme_is_set():
    multilabel = Targets(("a", "b"), Y, "sparse")
    assert scorer_of("multinomial", multilabel)[0].link == "log-odds"
    assert scorer_of("multinomial", multilabel, settings={"scheme": "multiclass"})[0].link == "softmax"
    assert train_scorer("multinomial", X, Y).link == "softmax"
    assert train_scorer("multinomial", X, csr_array([[1, 1], [0, 0], [0, 1]])).link == "log-odds"
    assert train_scorer("multinomial", X, Y, scheme="one-vs-rest").link == "log-odds"


def test_no_term_is_left_or_weights_that_cannot_be_used():
    with pytest.raises(BadData, match="no term is in at least 4 documents; lower min_df"):
        scorer_of("multinomial", min_df=4)
    with pytest.raises(UnnaiveError, match="k nearest neighbours takes no sample_weight; fit without it"):
        scorer_of("knn", sample_weight=np.ones(3), settings={"k": 1})


def test_unknown_settings_are_refused():
    with pytest.raises(UnknownName, match="svm: no setting called 'alpha'"):
        train_scorer("svm", csr_array([[1]]), csr_array([[1]]), alpha=1)


def test_selected_terms_are_those_of_the_fitted_model_s_vocabulary():
    data = TrainingData.of_rows(X, read_targets(["a", "b", "b"], 3), TERMS)
    fitted = train(data, TrainingSpec(make_model("multinomial", {}), select=2))
    assert fitted.vocabulary.terms == ["ball", "vote"]
    assert fitted.counts.vocabulary.terms == sorted(TERMS)


def test_posterior_log_odds_are_exact_and_do_not_saturate():
    scores = np.random.default_rng(0).normal(0, 3, (50, 4)) - 1000  # log joint: posteriors are their softmax
    p = softmax(scores, axis=1)
    np.testing.assert_allclose(comparable_scores("softmax", scores), np.log(p) - np.log1p(-p), atol=1e-9)
    sure = comparable_scores("softmax", np.array([[0.0, -800.0], [0.0, -900.0]]))
    np.testing.assert_allclose(sure, [[800, -800], [900, -900]])
    absent = comparable_scores("softmax", np.array([[0.0, -np.inf, -np.inf], [1.0, 0.0, -np.inf]]))
    np.testing.assert_array_equal(absent, [[np.inf, -np.inf, -np.inf], [1.0, -1.0, -np.inf]])


def test_other_scores_stay():
    scores = np.array([[0.3, -0.2]])
    assert comparable_scores("margin", scores) is scores
    assert comparable_scores("softmax", scores[:, :1]).tolist() == [[0.3]]
