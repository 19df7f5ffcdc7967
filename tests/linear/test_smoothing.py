"""Smoothing: every estimate against its formula written out cell by cell, and what must sum to one."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import UnknownName, UnnaiveError
from unnaive.data.counts import Counts
from unnaive.linear.smoothing import (
    SMOOTHINGS,
    AbsoluteDiscount,
    JelinekMercer,
    Laplace,
    find_smoothing,
    leave_one_out_discount,
)

MODELS = [Laplace(1.0), Laplace(0.01), JelinekMercer(0.7), JelinekMercer(1.0), AbsoluteDiscount(0.4)]


def some_counts(seed, fractions=False):
    """Multilabel, one class without documents (the last) and one term never counted (the last)."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.8, (25, 9)) * (rng.random((25, 9)) if fractions else 1)
    X[:, -1] = 0
    Y = (rng.random((25, 5)) < 0.35).astype(int)
    Y[:, -1] = 0
    return Counts.of(csr_array(X), csr_array(Y))


def draw_by_formula(model, n, total, corpus, n_terms):
    """p(t) of one class from its counts n (n_terms,), by the definition in the docstring."""
    p_corpus = corpus / corpus.sum()
    match model:
        case Laplace(alpha):
            return (n + alpha) / (total + alpha * n_terms)
        case JelinekMercer(beta):
            return (1 - beta) * n / total + beta * p_corpus if total else p_corpus
        case AbsoluteDiscount(discount):
            reserve = np.minimum(n, discount).sum() / total if total else 1.0
            return (np.maximum(n - discount, 0) / total if total else 0) + reserve * p_corpus


def rest_by_formula(model, n, total, corpus, n_terms):
    if not isinstance(model, AbsoluteDiscount):
        return draw_by_formula(model, n, total, corpus, n_terms)
    share = model.discount * np.count_nonzero(corpus) * corpus / corpus.sum()
    unnormalised = np.maximum(n - model.discount, 0) + share
    return unnormalised / unnormalised.sum()


@pytest.mark.parametrize("fractions", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_draws_follow_the_formula(model, seed, fractions):
    counts = some_counts(seed, fractions)
    own, rest = model.multinomial_log_prob(counts), model.rest_log_prob(counts)
    counted = (counts.terms > 0) | model.reserves
    for c in range(5):
        n, total = counts.class_terms.toarray()[c], counts.class_totals[c]
        expected = draw_by_formula(model, n, total, counts.terms, 9)
        np.testing.assert_allclose(np.exp(own.dense()[c])[counted], expected[counted], rtol=1e-12)
        expected = rest_by_formula(model, counts.terms - n, counts.total - total, counts.terms, 9)
        np.testing.assert_allclose(np.exp(rest.dense()[c])[counted], expected[counted], rtol=1e-11)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_draws_sum_to_one_over_the_terms(model):
    counts = some_counts(7)
    counted = (counts.terms > 0) | model.reserves
    for table in (model.multinomial_log_prob(counts), model.rest_log_prob(counts)):
        np.testing.assert_allclose(np.exp(table.dense())[:, counted].sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_only_seen_cells_are_stored(model):
    counts = some_counts(0)
    for table in (model.multinomial_log_prob(counts), model.rest_log_prob(counts)):
        assert table.cells.nnz == counts.class_terms.nnz
        assert np.isfinite(table.dense()).all()


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_class_of_all_documents_has_a_rest_and_is_finite(model):
    counts = Counts.of(csr_array([[2, 1], [0, 3]]), csr_array([[1], [1]]))
    rest = np.exp(model.rest_log_prob(counts).dense())
    np.testing.assert_allclose(rest.sum(axis=1), 1, rtol=1e-12)


def test_draws_of_nothing_are_finite():
    for model in MODELS:
        for table in (model.multinomial_log_prob(Counts.zero(2, 3)), model.rest_log_prob(Counts.zero(2, 3))):
            assert np.isfinite(table.dense()).all()


def presence_by_formula(model, df, docs, corpus_df, corpus_docs):
    q = corpus_df / corpus_docs
    match model:
        case Laplace(alpha):
            return (df + alpha) / (docs + 2 * alpha)
        case JelinekMercer(beta):
            return (1 - beta) * (df / docs if docs else 0) + beta * q
        case AbsoluteDiscount(discount):
            seen_outcomes = int(df > 0) + int(docs - df > 0)
            return max(df - discount, 0) / docs + discount * seen_outcomes / docs * q if docs else q


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_presence_follows_the_formula(model):
    counts = some_counts(2)
    df = counts.class_df.toarray()
    unseen = np.broadcast_to(model.unseen_bernoulli_prob(counts), df.shape)
    for c in range(5):
        docs = counts.class_docs[c]
        for t in range(9):
            expected = presence_by_formula(model, df[c, t], docs, counts.df[t], counts.n_docs)
            found = model.bernoulli_prob(df[c, t], docs, counts.df[t], counts.n_docs)
            assert found == pytest.approx(expected, rel=1e-13)
            assert 0 <= found <= 1 + 1e-15
            if df[c, t] == 0:
                assert unseen[c, t] == pytest.approx(expected, rel=1e-13)


def test_absolute_presence_and_absence_share_what_was_taken():
    """Presence and absence are the two outcomes of one distribution: discounted alike, they sum to one."""
    model = AbsoluteDiscount(0.6)
    for df, docs, corpus_df, corpus_docs in ((0, 5, 3, 20), (2, 5, 6, 20), (5, 5, 9, 20)):
        absent = model.bernoulli_prob(docs - df, docs, corpus_docs - corpus_df, corpus_docs)
        assert model.bernoulli_prob(df, docs, corpus_df, corpus_docs) + absent == pytest.approx(1, rel=1e-14)


def test_the_shape_of_unseen_presence_says_on_what_it_depends():
    counts = some_counts(0)
    assert Laplace(1.0).unseen_bernoulli_prob(counts).shape == (5, 1)
    assert JelinekMercer(0.1).unseen_bernoulli_prob(counts).shape == (1, 9)
    assert AbsoluteDiscount(0.5).unseen_bernoulli_prob(counts).shape == (5, 9)


def test_the_discount_is_estimated_from_cells_seen_once_and_twice():
    assert leave_one_out_discount(np.array([1, 1, 1, 2, 5])) == 3 / 5
    assert leave_one_out_discount(np.array([1, 1])) == 0.9, "else nothing would be left of a class"
    assert leave_one_out_discount(np.array([3, 4])) == 0.1
    counts = some_counts(1)
    auto = find_smoothing("absolute", counts.class_terms, alpha=1, beta=0.5, discount="auto")
    assert auto == AbsoluteDiscount(leave_one_out_discount(counts.class_terms.data))


def test_names_choose_a_smoothing_with_its_own_setting():
    cells = csr_array((1, 1))
    found = {name: find_smoothing(name, cells, alpha=0.5, beta=0.6, discount=0.3) for name in SMOOTHINGS}
    assert found == {"laplace": Laplace(0.5), "jelinek-mercer": JelinekMercer(0.6), "absolute": AbsoluteDiscount(0.3)}
    with pytest.raises(UnknownName, match="there are absolute, jelinek-mercer, laplace"):
        find_smoothing("kneser-ney", cells, alpha=1, beta=1, discount=0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Laplace(-1), "alpha came as -1; give a number from 0"),
        (lambda: Laplace(float("nan")), "alpha came as nan"),
        (lambda: Laplace(float("inf")), "alpha came as inf"),
        (lambda: JelinekMercer(0), "beta came as 0"),
        (lambda: JelinekMercer(1.2), "beta came as 1.2"),
        (lambda: AbsoluteDiscount(1), "discount came as 1; give a number between 0 and 1, or 'auto'"),
        (lambda: AbsoluteDiscount("some"), "discount came as 'some'"),
    ],
)
def test_settings_out_of_range_are_refused(make, message):
    with pytest.raises(UnnaiveError, match=message):
        make()


@pytest.mark.parametrize("alpha", [1e-290, 1e-307, 1e-310, 5e-324])
def test_laplace_with_the_smallest_alpha_is_finite(alpha):
    """n/α is above the largest double from α = 1e-308 on; log α is −745 at the least."""
    counts = some_counts(3)
    found = Laplace(alpha).multinomial_log_prob(counts).dense()
    n, totals = counts.class_terms.toarray(), counts.class_totals[:, None]
    expected = np.log(n + alpha) - np.log(totals + alpha * counts.n_terms)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
