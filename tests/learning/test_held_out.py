"""Held-out scores are those of a classifier that was trained on the fold's texts alone: unseen terms are not there."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import TextClassifier
from unnaive.data.counts import Counts
from unnaive.data.folds import block_folds, folds, split_folds
from unnaive.data.targets import one_label_matrix, read_targets
from unnaive.data.training_data import TrainingData
from unnaive.data.weighted_rows import weight_rows
from unnaive.data.weighting import tf_idf
from unnaive.io.tickets import load_tickets
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import _hold_out, kept_rows, out_of_fold_scores
from unnaive.linear.term_selection import select_terms
from unnaive.models import held_out_scores
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.members import Training, fit_family, member_scores
from unnaive.models.auto.multilabel import TOL as MULTILABEL_TOL
from unnaive.models.auto.multilabel import _out_of_fold
from unnaive.models.auto.plan import Size, multilabel_members
from unnaive.models.auto.search import CandidateSearch, block_splits
from unnaive.models.auto.steps import Steps
from unnaive.models.auto.views import find_views
from unnaive.models.catalogue import MODELS
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

# solvers: how far scores may be apart, and a tolerance that reaches it; all others are closed forms, or draw nothing
SOLVED = {"svm": 1e-8, "nbsvm": 1e-8, "label-tree": 1e-6, "maxent": 1e-8}
SETTINGS = {
    "svm": {"tol": 1e-12}, "nbsvm": {"tol": 1e-12}, "label-tree": {"tol": 1e-11}, "maxent": {"tol": 1e-12},
    "hierarchical": {"restarts": 4, "average": 1}, "hierarchical-naive-bayes": {"restarts": 4, "average": 1},
    "word-clusters": {"clusters": 4}, "tree": {}, "superparent": {"folds": 2},
}  # fmt: skip
N_CLASSES = 8  # of the tickets
SLOW = {"hierarchical", "hierarchical-naive-bayes", "tree", "superparent", "selective", "word-clusters", "or-gate"}


@pytest.fixture(scope="module")
def tickets():
    corpus = load_tickets().part("train").take(np.arange(0, 651, 8))
    return corpus.texts, [labels[0] for labels in corpus.labels]


def in_their_order(made, texts, labels):
    """The rows that training holds out, and the place in `texts` of each."""
    data = made.count_texts(texts, labels)
    if made.spec().model.traits.statistic == "counts":
        return data.rows, np.arange(len(texts))
    kept = kept_rows(data.documents(), data.target_type)
    names = [
        tuple(sorted((data.rows.vocabulary[t], n) for t, n in _cells(data.rows.X, row))) for row in range(len(texts))
    ]
    place = {name: row for row, name in enumerate(names)}
    assert len(place) == len(texts)  # no two texts are the same
    order = [place[tuple(sorted((kept.vocabulary[t], n) for t, n in _cells(kept.X, row)))] for row in range(len(texts))]
    return kept, np.array(order)


def _cells(X, row):
    inside = slice(X.indptr[row], X.indptr[row + 1])
    return zip(X.indices[inside].tolist(), X.data[inside].tolist(), strict=True)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in MODELS if name != "auto"]
)
def test_a_fold_scores_as_a_classifier_of_its_texts_alone(name, tickets):
    """auto holds out by itself: see the tests of its views."""
    texts, labels = tickets
    settings = SETTINGS.get(name, {})
    made = TextClassifier(name, ngrams=(1, 2), **settings)
    rows, order = in_their_order(made, texts, labels)
    found = _hold_out(made.spec(), rows, None)
    assert found.rows.tolist() == list(range(len(texts)))
    train, aside = next(split_folds(folds(rows.targets.Y, 5), 5))
    alone = TextClassifier(name, ngrams=(1, 2), **settings)
    alone.fit([texts[row] for row in order[train]], [labels[row] for row in order[train]])
    expected = alone.fitted_.scores([texts[row] for row in order[aside]])
    assert set(alone.fitted_.vocabulary) < set(rows.vocabulary)
    scale = np.abs(expected[np.isfinite(expected)]).max()
    np.testing.assert_allclose(found.scores[aside], expected, rtol=0, atol=scale * SOLVED.get(name, 1e-12))


@pytest.mark.parametrize("settings", [{"select": 60}, {"min_df": 3}, {"select": ("chi2-per-class", 20)}])
def test_terms_are_selected_inside_of_the_fold(settings, tickets):
    texts, labels = tickets
    made = TextClassifier("multinomial", **settings)
    rows, _ = in_their_order(made, texts, labels)
    found = _hold_out(made.spec(), rows, None)
    for train, aside in split_folds(folds(rows.targets.Y, 5), 5):
        alone = TextClassifier("multinomial", **settings).fit(
            [texts[row] for row in train], [labels[row] for row in train]
        )
        expected = alone.fitted_.scores([texts[row] for row in aside])
        np.testing.assert_allclose(found.scores[aside], expected, rtol=1e-12)


def test_columns_without_names_that_a_fold_has_not_seen_are_not_there():
    """By hand: with α = 1 documents 0 and 1 have two columns, of which class 0 has one: p is 2/3 and 1/3, not 2/4."""
    X, codes = csr_array([[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]]), np.array([0, 1, 0, 1])
    rows = TrainingData.of_rows(X, read_targets(codes, 4)).rows
    fold = folds(rows.targets.Y, 2, seed=1)
    assert fold[0] == fold[1] != fold[2] == fold[3]
    scores = out_of_fold_scores(TrainingSpec(MultinomialNB(), random_state=1), rows, n_folds=2)
    np.testing.assert_allclose(np.exp(scores[2]), [0.5 * 2 / 3, 0.5 * 1 / 3], rtol=1e-12)
    for train, aside in split_folds(fold, 2):
        seen = np.flatnonzero(X[train].sum(axis=0))
        alone = MultinomialNB().fit(X[train][:, seen], codes[train])
        np.testing.assert_allclose(scores[aside], alone.fitted_.scores(X[aside][:, seen]), rtol=1e-12)


CANDIDATES = (
    Candidate("complement", (0.1,)), Candidate("power", (0.1,)), Candidate("maxent", (10.0, 1.0, 0.1)),
    Candidate("nbsvm", (0.3,)), Candidate("svm", (1.0,)),
)  # fmt: skip
CLOSED = ("complement", "power", "rocchio")
STRICT = 1e-6  # of solvers: where they stop earlier depends on the order of the columns


class TestAuto:
    """Each candidate on each view scores held-out documents as it does where only the fold's texts were ever read."""

    rule = TokenRule(analyzer="both", ngrams=(1, 2))

    def read(self, texts, codes):
        counter = TextCounter(self.rule)
        X, fold = counter.count(texts, grow=True), block_folds(codes, 3)
        splits = list(
            block_splits(codes, N_CLASSES, fold, n_judged=3, most_training=40, most_held_out=99, random_state=0)
        )
        return X, counter.vocabulary, splits

    def expected(self, texts, codes, split, view, one, select=None, tol=STRICT):
        """Only texts of the fold are counted; then the held-out ones, by its terms."""
        counter = TextCounter(self.rule)
        X = counter.count([texts[row] for row in split.train], grow=True)
        aside = counter.count([texts[row] for row in split.held_out], grow=False)
        Y = one_label_matrix(codes[split.train], N_CLASSES)
        names = counter.vocabulary
        if select is not None:
            chosen = select_terms_of(X, Y, names, select)
            X, aside, names = X[:, chosen], aside[:, chosen], names.take(chosen)
        columns = next(found.columns for found in find_views(X, names, N_CLASSES) if found.name == view)
        weighting = tf_idf(X[:, columns])
        data = Training.of(X[:, columns], weighting, Y, None, tol=tol, random_state=0, n_jobs=1)
        return member_scores(fit_family(one.family, one.settings, data), weight_rows(weighting, aside[:, columns]))

    @pytest.mark.parametrize("view", ["words", "words and pairs", "characters"])
    @pytest.mark.parametrize("select", [None, 300])
    def test_views_of_a_fold(self, tickets, view, select, monkeypatch):
        monkeypatch.setattr("unnaive.models.auto.search.TOL", STRICT)
        texts, labels = tickets
        codes = np.unique(labels, return_inverse=True)[1]
        X, terms, splits = self.read(texts, codes)

        def choose(X, Y, weight):
            return select_terms_of(X, Y, terms, select)

        search = CandidateSearch(
            X, codes, N_CLASSES, splits, weight=None, random_state=0, n_jobs=1, on_candidate=lambda view, family: None,
            terms=terms, select=None if select is None else choose,
        )  # fmt: skip
        whole = next(one for one in find_views(X, terms, N_CLASSES) if one.name == view)
        assert all(len(views[view].columns) < len(whole.columns) for views in search.fold_views)
        scores = {one: np.empty((len(splits[1].held_out), N_CLASSES)) for one in CANDIDATES}
        search._score_split(whole, 1, scores)
        for one in CANDIDATES:
            expected = self.expected(texts, codes, splits[1], view, one, select)
            close = 1e-12 if one.family in CLOSED else 1e-5  # solvers have columns in another order
            close *= np.abs(expected).max()
            np.testing.assert_allclose(scores[one], expected, rtol=0, atol=close, err_msg=str(one))

    def test_multilabel(self, tickets):
        texts, labels = tickets
        codes = np.unique(labels, return_inverse=True)[1]
        X, terms, _ = self.read(texts, codes)
        Y = csr_array(one_label_matrix(codes, N_CLASSES))
        fold = np.arange(len(codes)) % 3
        views = find_views(X, terms, N_CLASSES)
        size = Size(len(codes), N_CLASSES, {view.name: int(view.df.sum()) for view in views})
        members = multilabel_members(list(size.cells))
        found = _out_of_fold(X, Y, size, members, None, fold, 0, 1, Steps(), terms, None)
        split = type("Split", (), {"train": np.flatnonzero(fold != 1), "held_out": np.flatnonzero(fold == 1)})
        for (view, one), scores in zip(members, found, strict=True):
            if view == "words and characters":
                continue
            expected = self.expected(texts, codes, split, view, one, tol=MULTILABEL_TOL)
            close = 1e-12 if one.family in CLOSED else 1e-4
            np.testing.assert_allclose(
                scores[fold == 1], expected, rtol=0, atol=close * np.abs(expected).max(), err_msg=f"{view} {one}"
            )

    def test_a_view_that_a_fold_lacks_adds_nothing(self):
        """No character gram is in two documents of the training part, so that part has no such view."""
        X = csr_array(np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 0]]))
        codes = np.array([0, 1, 0, 1])
        splits = list(
            block_splits(codes, 2, block_folds(codes, 2), n_judged=2, most_training=9, most_held_out=9, random_state=0)
        )
        terms = ["good", "vote", "#go"]
        search = CandidateSearch(
            X,
            codes,
            2,
            splits,
            weight=None,
            random_state=0,
            n_jobs=1,
            on_candidate=lambda view, family: None,
            terms=terms,
        )
        view = next(one for one in find_views(X, terms, 2) if one.name == "characters")
        assert not any("characters" in views for views in search.fold_views)
        scores = np.ones((len(splits[0].held_out), 2))
        search._score_split(view, 0, {CANDIDATES[0]: scores})
        assert not scores.any()


def select_terms_of(X, Y, names, k):
    return select_terms(Counts.of(X, Y), names, select=k)


@pytest.mark.parametrize("scorer", ["softmax_scores", "nbsvm_scores"])
def test_audits_and_drift_tests_likewise(scorer, tickets):
    texts, labels = tickets
    codes = np.unique(labels, return_inverse=True)[1]
    X = TextCounter(TokenRule()).count(texts, grow=True)
    train, aside = np.arange(0, 60), np.arange(60, len(codes))
    counter = TextCounter(TokenRule())
    alone = counter.count([texts[row] for row in train], grow=True)
    others = counter.count([texts[row] for row in aside], grow=False)
    score = getattr(held_out_scores, scorer)
    np.testing.assert_allclose(
        score(X[train], codes[train], N_CLASSES, X[aside]),
        score(alone, codes[train], N_CLASSES, others),
        rtol=0,
        atol=1e-10,
    )
