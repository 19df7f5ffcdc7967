"""The baselines equal scikit-learn's, and their scorers survive storage and refuse damage."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from unnaive.base.errors import BadModel, UnknownName, UnnaiveError
from unnaive.data.weighting import document_weighting
from unnaive.linear.linear import Linear
from unnaive.models.neighbours import NearestNeighbours, Neighbours, votes
from unnaive.models.svm.learner import LinearSVM
from unnaive.models.trees import DecisionTree, Trees


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(7)
    topic = random.integers(0, 3, 90)
    rates = random.gamma(0.6, 1.0, (3, 25))
    X = csr_array(random.poisson(rates[topic]))
    return X, csr_array(np.eye(3, dtype=np.int64)[topic]), topic


@pytest.fixture(scope="module")
def multilabel(documents):
    X, Y, _ = documents
    random = np.random.default_rng(8)
    return X, csr_array(np.hstack([Y.toarray(), random.random((90, 1)) < 0.2]).astype(np.int64))


def test_svm_is_that_of_scikit_learn(documents):
    X, Y, topic = documents
    ours = LinearSVM(tol=1e-9).learn(X, Y).scorer
    Z = csr_matrix(document_weighting("tf-idf", X).apply(X))
    theirs = LinearSVC(dual=False, tol=1e-10).fit(Z, topic)
    np.testing.assert_allclose(ours.scores(X), theirs.decision_function(Z), atol=1e-6)  # measured 2e-9
    assert isinstance(ours, Linear)
    assert ours.link == "margin"


def test_svm_of_a_class_that_all_or_none_have_is_a_constant(documents):
    X, Y, _ = documents
    always, never = np.ones((90, 1)), np.zeros((90, 1))
    scores = LinearSVM().learn(X, csr_array(np.hstack([Y.toarray(), always, never]))).scorer.scores(X)
    assert (scores[:, 3] == 1).all()
    assert (scores[:, 4] == -1).all()


def test_neighbours_are_those_of_brute_force(multilabel):
    X, Y = multilabel
    Z = document_weighting("tf-idf", X).apply(X[:60])
    ours = NearestNeighbours(k=7).learn(X[:60], Y[:60]).scorer
    weighting = document_weighting("tf-idf", X[:60])
    similarity = cosine_similarity(csr_matrix(weighting.apply(X[60:])), csr_matrix(weighting.apply(X[:60])))
    expected = np.zeros((30, 4))
    for row, values in enumerate(similarity):
        nearest = np.argsort(-values, kind="stable")[:7]
        expected[row] = values[nearest] @ Y[:60].toarray()[nearest]
    np.testing.assert_allclose(ours.scores(X[60:]), expected, atol=1e-12)
    assert Z.shape[0] == 60


def test_ties_at_the_last_place_are_shared():
    assert votes(np.array([[1.0, 1.0, 1.0]]), 2).tolist() == [[2 / 3, 2 / 3, 2 / 3]]
    assert votes(np.array([[0.3, 0.2]]), 9).tolist() == [[0.3, 0.2]]
    # 0.1 + 0.2 and 0.3 differ in the last bit, and are a tie all the same
    assert votes(np.array([[0.1 + 0.2, 0.3, 0.1]]), 1) == pytest.approx(np.array([[0.15, 0.15, 0.0]]))


@pytest.mark.parametrize("max_depth", [None, 3])
def test_tree_walks_as_scikit_learn_does(documents, max_depth):
    X, Y, topic = documents
    ours = DecisionTree(max_depth=max_depth).learn(X[:60], Y[:60]).scorer
    grown = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, max_depth=max_depth, random_state=0)
    theirs = grown.fit(csr_matrix(X[:60], dtype=np.float32), topic[:60])
    leaves = theirs.apply(csr_matrix(X[60:], dtype=np.float32))
    said = theirs.tree_.value[leaves][:, 0] * theirs.tree_.n_node_samples[leaves][:, None]
    np.testing.assert_allclose(np.exp(ours.scores(X[60:])), (said + 1) / (said.sum(axis=1, keepdims=True) + 3))


def test_trees_of_multilabel_targets_are_one_for_each_class(multilabel):
    X, Y = multilabel
    together = DecisionTree().learn(X[:60], Y[:60], exclusive=False).scorer.scores(X[60:])
    for c in range(4):
        alone = DecisionTree().learn(X[:60], Y[:60][:, [c]], exclusive=False).scorer.scores(X[60:])
        np.testing.assert_array_equal(together[:, [c]], alone)


def test_a_class_without_documents_is_never_the_best(documents):
    X, Y, _ = documents
    wider = csr_array((Y.data, Y.indices, Y.indptr), shape=(90, 4))
    for scheme in ("multiclass", "one-vs-rest"):
        assert 3 not in DecisionTree(scheme=scheme).learn(X, wider).scorer.scores(X).argmax(axis=1)


@pytest.mark.parametrize("learner", [LinearSVM, NearestNeighbours, DecisionTree])
def test_storage_brings_the_same_scores_back(multilabel, learner):
    X, Y = multilabel
    model = learner().learn(X, Y, exclusive=False).scorer
    again = type(model).from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(again.scores(X), model.scores(X))
    assert (again.link, again.n_classes, again.n_terms) == (model.link, model.n_classes, model.n_terms)


def spoiled(model, name, change):
    arrays, settings = model.to_arrays()
    arrays = {key: value.copy() for key, value in arrays.items()}
    if name in settings:
        settings = {**settings, name: change}
    else:
        arrays[name] = change(arrays[name])
    return arrays, settings


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda a: a * 0),  # a walk that never ends
        ("right", lambda a: a + 10**6),
        ("feature", lambda a: a + 1000),
        ("roots", lambda a: a - 5),
        ("threshold", lambda a: a[:-1]),
        ("node_scores", lambda a: a[:, :0] if a.ndim == 1 else a.ravel()),
        ("feature", lambda a: a.astype(float)),
        ("link", "telepathy"),
    ],
)
def test_a_damaged_tree_is_refused(documents, name, change):
    X, Y, _ = documents
    with pytest.raises(BadModel, match="train it again"):
        Trees.from_arrays(*spoiled(DecisionTree().learn(X, Y).scorer, name, change))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("documents.indices", lambda a: a + 10**6),
        ("documents.indptr", lambda a: a[::-1]),
        ("labels.indices", lambda a: a - 9),
        ("idf", lambda a: a[:-1]),
        ("k", 0),
        ("shape", [1, 2]),
        ("tf", "loud"),
    ],
)
def test_damaged_neighbours_are_refused(documents, name, change):
    X, Y, _ = documents
    with pytest.raises(BadModel, match="train it again"):
        Neighbours.from_arrays(*spoiled(NearestNeighbours().learn(X, Y).scorer, name, change))


def test_settings_are_checked(documents):
    X, _, topic = documents
    with pytest.raises(UnnaiveError, match="C of svm came as 0"):
        LinearSVM(C=0).fit(X, topic)
    with pytest.raises(UnnaiveError, match="k of knn came as 0"):
        NearestNeighbours(k=0).fit(X, topic)
    with pytest.raises(UnknownName, match="no weights called 'tfidf'; there are"):
        NearestNeighbours(weights="tfidf").fit(X, topic)
    with pytest.raises(UnknownName, match="no criterion"):
        DecisionTree(criterion="luck").fit(X, topic)


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (LinearSVM(C=float("inf")), "C of svm came as inf; give a number above 0"),
        (DecisionTree(max_depth=0), "max_depth of tree came as 0; give a number from 1"),
        (DecisionTree(min_leaf=-1), "min_leaf of tree came as -1; give a number from 1"),
    ],
)
def test_sizes_that_cannot_be(model, problem):
    with pytest.raises(UnnaiveError, match=problem):
        model.fit([[3, 0], [0, 2]], ["a", "b"])
