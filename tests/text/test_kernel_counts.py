"""The kernel's tables that change their form: counts above a byte, the table of pairs, rows of idf and weights."""

import numpy as np
import pytest

from unnaive.text.backend import BACKEND, kernel
from unnaive.text.counting import TextCounter
from unnaive.text.scoring import TfIdfPart, TfIdfTextScorer
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")


@pytest.fixture(params=[False, True], ids=["any processor", "this processor"])
def either_loops(request):
    """Run with the portable loops, then with those for this processor."""
    before = kernel.use_wide(request.param)
    yield
    kernel.use_wide(before)


def counts_of(X, counter):
    """{term: count} for each document."""
    terms = counter.vocabulary.terms
    return [
        {terms[t]: int(n) for t, n in zip(row.indices, row.data, strict=True)}
        for row in (X[[i]] for i in range(len(X.indptr) - 1))
    ]


@pytest.mark.parametrize("times", [1, 254, 255, 256, 510, 511, 70_000])
def test_counts_above_a_byte(times, either_loops):
    counter = TextCounter(TokenRule())
    X = counter.count(["rare " + "often " * times + "last rare", "often", "zero " * 300 + "often"], grow=True)
    assert counts_of(X, counter) == [{"rare": 2, "often": times, "last": 1}, {"often": 1}, {"zero": 300, "often": 1}]


@pytest.mark.parametrize("times", [100, 255, 256, 600])
def test_counts_of_character_grams_above_a_byte(times):
    rule = TokenRule(analyzer="char", char_ngrams=(2, 2))
    texts = ["abab " * times, "ba"]
    native, reference = (TextCounter(rule, backend=backend) for backend in ("native", "reference"))
    found, expected = (
        dict(zip(counter.vocabulary.terms, X.toarray().T.tolist(), strict=True))
        for counter in (native, reference)
        for X in [counter.count(texts, grow=True)]
    )
    assert found == expected


@pytest.mark.parametrize("rule", [TokenRule(), TokenRule(ngrams=(1, 2)), TokenRule(stem="porter")])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("backend", ["native", "reference"])
def test_rows_in_any_order_have_the_same_cells(rule, threads, backend, monkeypatch):
    monkeypatch.setattr("unnaive.text.native.WORTH_A_THREAD", 1 << 10)
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in rng.geometric(0.01, rng.integers(0, 300))) for _ in range(60)] + ["often " * 700]
    ordered, quick = (TextCounter(rule, backend=backend, threads=threads) for _ in range(2))
    expected, found = ordered.count(texts, grow=True), quick.count(texts, grow=True, ordered=False)
    assert quick.vocabulary == ordered.vocabulary
    assert found.shape == expected.shape
    assert found.nnz == expected.nnz
    assert (found != expected).nnz == 0


@pytest.mark.slow
@pytest.mark.parametrize("ngrams", [(1, 2), (2, 2)])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_fast_table_of_pairs_counts_alike(ngrams, threads):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)] + ["the", "unknown1"]
    texts = [" ".join(rng.choice(words, rng.integers(0, 400))) for _ in range(200)]
    rule = TokenRule(ngrams=ngrams, stopwords=("the",))
    native, reference = (TextCounter(rule, backend=backend, threads=threads) for backend in ("native", "reference"))
    for counter in (native, reference):
        counter.count(texts[:60], grow=True)
    assert native.vocabulary == reference.vocabulary
    for _ in range(2):  # the first call may be too early for the table, the second has it
        assert (native.count(texts) != reference.count(texts)).nnz == 0


def test_the_fast_table_of_pairs_knows_words_that_came_without_terms():
    counter = TextCounter(TokenRule(ngrams=(2, 2)))
    counter.count(["one two"], grow=True)
    before = counter.count(["one two"] * 9)  # the table is for two words
    counter.count([f"word{i}" for i in range(40)], grow=True)  # words that are in no pair
    again = counter.count(["one two", *(f"word{i} word{j}" for i in range(40) for j in range(40)), "two one"])
    assert before.toarray().tolist() == [[1]] * 9
    assert again.toarray()[:, 0].tolist() == [1] + [0] * 1601


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_scores_are_the_same_before_and_after_the_rows_are_made(n_classes, mirrored):
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(rng.choice(words, 30)) for _ in range(50)]
    counter = TextCounter(TokenRule(ngrams=(1, 2)))
    counter.count(texts, grow=True)
    n = len(counter.vocabulary)
    weights = rng.normal(size=(n, n_classes))
    if mirrored:
        weights[:, 1] = -weights[:, 0]
    part = TfIdfPart(None, rng.uniform(1, 3, n), weights, rng.normal(size=n_classes))
    scorer = TfIdfTextScorer(counter.rule, counter.vocabulary, np.zeros(n_classes), [part], threads=1)
    before = np.concatenate([scorer.scores(texts[:1]) for _ in range(2)])  # too little text for rows
    scores, known = scorer.scores_and_known(texts * 3)
    assert np.array_equal(before, scores[[0, 0]])
    assert np.array_equal(scores[:50], scores[100:])
    assert known.tolist() == counter.count(texts * 3).sum(axis=1).tolist() == [59] * 150


def test_a_scorer_needs_weights_for_every_term():
    part = TfIdfPart(None, np.ones(2), np.ones((2, 2)), np.zeros(2))
    scorer = TfIdfTextScorer(TokenRule(), Vocabulary(["one", "two"]), np.zeros(2), [part])
    scorer._engine.count(["three"], True)
    with pytest.raises(ValueError, match="weights for every term"):
        scorer.scores(["one"])
