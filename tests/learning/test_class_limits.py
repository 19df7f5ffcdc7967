"""A model that takes memory or work for every class refuses more than it can take, before anything is learnt."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.learning import class_limits
from unnaive.learning.class_limits import ClassCost, DataSize, check_class_limit, most_classes
from unnaive.models.catalogue import MODELS, find_model

MILLION = 10**6
# what learns class by class, or holds numbers for every class
LIMITED = (
    "hierarchical", "hierarchical-naive-bayes", "tan", "superparent", "diagnostic", "selective", "svm", "nbsvm",
    "sharded-nbsvm", "maxent", "tree",
)  # fmt: skip
HINGES = ("auto", "svm", "nbsvm", "sharded-nbsvm")
DOCUMENTS_OF_THEIR_OWN = DataSize(MILLION, 50, 3 * MILLION, MILLION)  # a million documents, each of its own class
COLUMNS_OF_FEW_DOCUMENTS = DataSize(20, 50, 500, MILLION)  # a sparse Y with a million columns
NEWSGROUPS, REUTERS = DataSize(18_846, 150_000, 2_500_000, 20), DataSize(10_788, 30_000, 600_000, 90)
RCV1 = DataSize(800_000, 47_000, 60_000_000, 103)


@pytest.mark.parametrize("name", LIMITED)
def test_a_million_documents_each_of_its_own_class_are_refused_in_one_sentence(name):
    with pytest.raises(BadData) as error:
        check_class_limit(find_model(name)(), DOCUMENTS_OF_THEIR_OWN, exclusive=True)
    said = str(error.value)
    assert said.startswith(f"the model {name} can learn at most ")
    assert "and the data has 1,000,000 classes; use label-tree or multinomial, whose memory depends only on" in said


@pytest.mark.parametrize("name", [name for name in LIMITED if name not in HINGES])
def test_a_million_columns_of_few_documents_are_refused_by_what_learns_class_by_class(name):
    """A hinge of few documents is solved in microseconds: models of hinges take a million."""
    with pytest.raises(BadData, match="the data has 1,000,000 classes"):
        check_class_limit(find_model(name)(), COLUMNS_OF_FEW_DOCUMENTS, exclusive=False)


@pytest.mark.parametrize("name", MODELS)
def test_what_people_classify_is_not_refused(name):
    for exclusive in (True, False):
        for size in (NEWSGROUPS, REUTERS):
            check_class_limit(find_model(name)(), size, exclusive=exclusive)
    if name in HINGES or name not in LIMITED:
        check_class_limit(find_model(name)(), RCV1, exclusive=False)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in LIMITED])
def test_the_other_models_take_any_number(name):
    for size in (DOCUMENTS_OF_THEIR_OWN, COLUMNS_OF_FEW_DOCUMENTS):
        assert find_model(name)().class_cost(size, exclusive=True) == ClassCost()


def test_up_to_many_classes_only_memory_is_a_limit():
    assert most_classes(ClassCost(held=1, steps=1e30)) == class_limits.MANY_CLASSES
    assert most_classes(ClassCost(held=class_limits.MOST_NUMBERS / 7, steps=1)) == pytest.approx(7)


@pytest.mark.parametrize("name", LIMITED)
def test_nothing_is_learnt_before_the_refusal(name, monkeypatch):
    def learn(*_, **__):
        raise AssertionError("it began to learn")

    monkeypatch.setattr(class_limits, "MOST_NUMBERS", 1)
    monkeypatch.setattr(find_model(name), "learn", learn)
    X, y = np.eye(4, dtype=int), ["a", "b", "c", "d"]
    with pytest.raises(
        BadData, match=f"model {name} can learn at most [01] classes from 4 documents with 4 terms, and the data has 4"
    ):
        find_model(name)().fit(X, y)
    with pytest.raises(BadData, match=f"the model {name} can learn at most"):
        TextClassifier(name).fit(["good ball", "fair vote", "warm soup", "new law"], y)


@pytest.mark.slow
def test_a_sparse_table_with_a_million_columns():
    Y = csr_array((np.ones(4, int), ([0, 1, 2, 3], [5, 70, 999_999, 5])), shape=(4, MILLION))
    with pytest.raises(BadData, match=r"the model tree can learn at most .* the data has 1,000,000 classes"):
        find_model("tree")().fit(np.eye(4, dtype=int), Y)
    model = find_model("multinomial")().fit(np.eye(4, dtype=int), Y)
    assert model.scores(np.eye(4, dtype=int)[:1]).shape == (1, MILLION)
