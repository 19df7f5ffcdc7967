"""Drift: the tests against scipy, brute force and arithmetic by hand."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import fisher_exact

from unnaive.evaluation.class_shares import class_shares, estimate_shares, new_priors
from unnaive.evaluation.drift import changed_terms, fisher_p
from unnaive.evaluation.related_documents import find_related, first_of_copies, group_folds
from unnaive.evaluation.two_sample import area, groups_by_size, shuffle_groups, two_sample_test
from unnaive.models.held_out_scores import nbsvm_scores, softmax_scores
from unnaive.text.vocabulary import Vocabulary


def draw(generator, shares, n_docs, shift=0):
    """Documents of two classes, eight words each of the class's own twenty; `shift` moves the words."""
    codes = generator.choice(len(shares), n_docs, p=shares)
    terms = codes[:, None] * 20 + (generator.integers(0, 20, (n_docs, 8)) + shift) % 20
    X = csr_array((np.ones(terms.size), terms.ravel(), np.arange(n_docs + 1) * 8), (n_docs, 20 * len(shares)))
    X.sum_duplicates()
    return X, codes


def test_area_is_the_share_of_pairs_in_order():
    generator = np.random.default_rng(0)
    negative, positive = generator.integers(0, 6, 30).astype(float), generator.integers(1, 8, 20).astype(float)
    pairs = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    scores, is_new = np.concatenate([negative, positive]), np.repeat([0, 1], [30, 20])
    auc, _, high = area(scores, is_new, np.arange(50))
    assert auc == pytest.approx(pairs.mean())
    # DeLong: the variances of the shares by positive and by negative, over their numbers
    variance = pairs.mean(axis=1).var(ddof=1) / 20 + pairs.mean(axis=0).var(ddof=1) / 30
    assert high - auc == pytest.approx(1.959964 * np.sqrt(variance))


def test_area_of_documents_twice_has_the_interval_of_once():
    """Copies are one observation: the interval is that of half as many documents, but for n − 1 in the place of n."""
    rng = np.random.default_rng(1)
    scores, is_new = rng.normal(size=200), rng.integers(0, 2, 200)
    once = area(scores, is_new, np.arange(200))
    twice = area(np.tile(scores, 2), np.tile(is_new, 2), np.tile(np.arange(200), 2))
    assert twice[0] == pytest.approx(once[0])
    assert twice[2] - twice[0] == pytest.approx(once[2] - once[0], rel=0.01)


def test_copies_and_shared_passages_are_found():
    """0 and 1 have the same terms; 2 and 3 all but one of 11; 4 and 5 have 6 rare terms in common, 6 others each."""
    X = np.zeros((6, 60), np.int64)
    X[0, :5], X[1, :5] = 1, 2
    X[2, 10:20] = X[3, 10:20] = 1
    X[2, 58] = X[3, 59] = 1
    X[4, 30:36] = X[5, 30:36] = 1
    X[4, 40:46] = X[5, 46:52] = 1
    found = find_related(csr_array(X))
    assert found.copies.tolist() == [0, 0, 1, 1, 2, 3]
    assert found.related.tolist() == [0, 0, 1, 1, 2, 2]
    assert first_of_copies(csr_array(X)).tolist() == [0, 2, 4, 5]


@pytest.mark.parametrize("n_terms", [0, 4])
def test_documents_of_few_terms_are_not_copies(n_terms):
    assert find_related(csr_array(np.ones((3, n_terms), np.int64))).copies.tolist() == [0, 1, 2]


def test_folds_keep_groups_whole_and_strata_even():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(300), rng.integers(1, 4, 300))
    strata = rng.integers(0, 3, 300)[group]
    fold = group_folds(strata, group, 5, seed=1)
    assert all(len(set(fold[group == number])) == 1 for number in range(300))
    for stratum in range(3):
        sizes = np.bincount(fold[strata == stratum], minlength=5)
        assert sizes.max() - sizes.min() <= 4  # a group of up to 3 may lie over each end


def test_relabelling_keeps_how_many_of_a_group_are_new():
    """Of groups of two, the labels (0, 0), (0, 1) and (1, 1) go to other groups of two, in any order inside."""
    group = np.repeat(np.arange(7), [1, 1, 1, 2, 2, 2, 3])
    labels = np.array([0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0.0])
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(3000):
        shuffled = shuffle_groups(labels, groups_by_size(group), rng)
        assert shuffled[:3].sum() == 2
        assert sorted(shuffled[3:9].reshape(3, 2).sum(axis=1)) == [0, 1, 2]
        assert shuffled[9:].sum() == 1
        seen.add(tuple(shuffled))
    # 3 places of the single old one × 3! orders of the pairs × 2 inside of the mixed one × 3 places in the last
    assert len(seen) == 3 * 6 * 2 * 3


def test_held_out_scores_ignore_terms_that_the_training_documents_lack():
    """A law: the scores of a held-out text are those by a model of the training texts' own vocabulary."""
    rng = np.random.default_rng(3)
    X = csr_array(rng.poisson(0.4, (60, 30)))
    codes = rng.integers(0, 3, 60)
    train, held_out = X[:40].copy(), X[40:]
    train = csr_array(
        np.where(np.arange(30) < 20, train.toarray(), 0)
    )  # the last ten terms are in no training document
    for member in (softmax_scores, nbsvm_scores):
        own = member(csr_array(train.toarray()[:, :20]), codes[:40], 3, csr_array(held_out.toarray()[:, :20]))
        assert member(train, codes[:40], 3, held_out) == pytest.approx(own, abs=1e-12)


@pytest.mark.slow
def test_no_drift_is_found_five_times_in_a_hundred_at_most():
    """40 pairs of samples from one source; p < .05 in 2 is expected, 7 or more would happen once in 300 times."""
    found = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        (old, _), (new, _) = draw(generator, [0.5, 0.5], 60), draw(generator, [0.5, 0.5], 60)
        found.append(two_sample_test(old, new, seed=seed).p)
    assert sum(p < 0.05 for p in found) < 7


def test_new_words_are_a_drift():
    generator = np.random.default_rng(0)
    (old, _), (new, _) = draw(generator, [1.0, 0.0], 100), draw(generator, [0.0, 1.0], 80)
    found = two_sample_test(old, new)
    assert found.auc == 1.0
    assert found.differs


def test_shares_by_em_are_those_that_were_drawn():
    """800 new documents, 80 % of class 1 in place of 30 %: standard error .014."""
    generator = np.random.default_rng(1)
    old, codes = draw(generator, [0.7, 0.3], 400)
    new, truth = draw(generator, [0.2, 0.8], 800)
    first, second = class_shares(old, codes, ["a", "b"], new)
    assert (first.name, second.name) == ("a", "b")
    assert second.old == pytest.approx(codes.mean())
    assert second.new == pytest.approx(truth.mean(), abs=0.01)  # the classes are apart, so EM counts them
    assert second.low < second.new < second.high
    assert second.changed
    assert first.new + second.new == pytest.approx(1.0)


def test_rare_classes_are_one_row():
    """Of six classes two have fewer than 20 documents and one fewer than 10: three rows and the sum of the others."""
    rng = np.random.default_rng(4)
    old, codes = draw(rng, [0.4, 0.3, 0.2, 0.06, 0.03, 0.01], 400)
    new, truth = draw(rng, [0.3, 0.3, 0.2, 0.1, 0.08, 0.02], 600)
    sizes = np.bincount(codes, minlength=6)
    assert (sizes[3] >= 20, sizes[4] < 20, sizes[5] < 10) == (True, True, True)
    found = class_shares(old, codes, list("abcdef"), new)
    assert [one.name for one in found] == ["a", "b", "c", "d", "(2 classes of fewer than 20 documents)"]
    assert found[-1].old == pytest.approx((sizes[4] + sizes[5]) / 400)
    assert sum(one.new for one in found) == pytest.approx(1.0)
    assert found[-1].low <= np.mean(truth >= 4) <= found[-1].high
    assert found[-1].p == 1.0  # its classes are those that few old documents have: not tested


def test_shares_of_one_class_that_can_be_learnt_are_not_told():
    old = csr_array(np.eye(30))
    assert class_shares(old, np.zeros(30, np.int64), ["a"], old) == ()


def test_width_of_shares_is_that_of_counting_where_classes_are_certain():
    """p of 0 and 1: nothing is in doubt, and what is left is one document on either side."""
    p = np.eye(2)[np.repeat([0, 1], [50, 50])]
    found = estimate_shares(p, np.repeat([0, 1], [50, 50]), p, np.eye(2))
    assert found.shares == pytest.approx([0.5, 0.5])
    assert found.deviation == pytest.approx(np.hypot(1 / 100, 0.5 / 50), rel=0.01)


def test_em_step_never_lowers_the_likelihood():
    generator = np.random.default_rng(2)
    probabilities = generator.dirichlet(np.ones(4), 200)
    old = np.full(4, 0.25)

    def likelihood(shares):
        return float(np.log(probabilities @ (shares / old)).sum())

    values = [likelihood(new_priors(probabilities, old, max_iter=steps, tol=0)) for steps in range(6)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(values))


def test_classes_that_are_all_too_small_to_be_shown_have_no_shares():
    """Of three classes of 15 documents only the sum could be told, 1 on both sides: rounding called it changed."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), 15)
    old, new = (csr_array(rng.poisson(0.3, (45, 40)) + 3 * (np.arange(40) == codes[:, None])) for _ in range(2))
    assert class_shares(old, codes, ["a", "b", "c"], new) == ()


def test_exact_p_is_twice_the_smaller_tail_of_fisher():
    """Of several terms at once, two of them with the same numbers."""
    before, after = np.array([0, 3, 12, 7, 20, 3]), np.array([5, 9, 2, 7, 0, 9])
    expected = []
    for old, new in zip(before.tolist(), after.tolist(), strict=True):
        table = [[new, 25 - new], [old, 40 - old]]
        tails = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
        expected.append(min(1.0, 2 * min(tails)))
    assert fisher_p(40, 25, before, after) == pytest.approx(expected)


def test_changed_terms_are_named_with_shares_and_corrected_p():
    """'new' is in 0 of 30 old and 15 of 30 new documents: p = 2·C(30,15)/C(60,15) = 5.8e-6, times 3 terms."""
    old = csr_array(np.column_stack([np.ones(30), np.arange(30) % 2, np.zeros(30)]))
    new = csr_array(np.column_stack([np.ones(30), np.arange(30) % 2, np.arange(30) < 15]))
    found, tested = changed_terms(old, new, Vocabulary(["all", "half", "new"]))
    assert tested == 3
    assert [(one.term, one.old, one.new) for one in found] == [("new", 0.0, 0.5)]
    assert found[0].p == pytest.approx(3 * 2 * 155117520 / 53194089192720)
