"""Drift: the tests against scipy, brute force and arithmetic by hand."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import fisher_exact

from unnaive.evaluation.drift import area_test, changed_terms, class_shares, fisher_p, new_priors, two_sample_test
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
    found = area_test(negative, positive)
    assert found.auc == pytest.approx(pairs.mean())
    # DeLong: the variances of the shares by positive and by negative, over their numbers
    variance = pairs.mean(axis=1).var(ddof=1) / 20 + pairs.mean(axis=0).var(ddof=1) / 30
    assert found.high - found.auc == pytest.approx(1.959964 * np.sqrt(variance))


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
    assert second.old == pytest.approx(codes.mean())
    assert second.new == pytest.approx(truth.mean(), abs=0.01)  # the classes are apart, so EM counts them
    assert second.low < second.new < second.high
    assert second.changed
    assert first.new + second.new == pytest.approx(1.0)


def test_em_step_never_lowers_the_likelihood():
    generator = np.random.default_rng(2)
    probabilities = generator.dirichlet(np.ones(4), 200)
    old = np.full(4, 0.25)

    def likelihood(shares):
        return float(np.log(probabilities @ (shares / old)).sum())

    values = [likelihood(new_priors(probabilities, old, max_iter=steps, tol=0)) for steps in range(6)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(values))


@pytest.mark.parametrize(("before", "after"), [(0, 5), (3, 9), (12, 2), (7, 7), (20, 0)])
def test_exact_p_is_twice_the_smaller_tail_of_fisher(before, after):
    table = [[after, 25 - after], [before, 40 - before]]
    tails = [fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")]
    assert fisher_p(40, 25)(before, after) == pytest.approx(min(1.0, 2 * min(tails)))


def test_changed_terms_are_named_with_shares_and_corrected_p():
    """'new' is in 0 of 30 old and 15 of 30 new documents: p = 2·C(30,15)/C(60,15) = 5.8e-6, times 3 terms."""
    old = csr_array(np.column_stack([np.ones(30), np.arange(30) % 2, np.zeros(30)]))
    new = csr_array(np.column_stack([np.ones(30), np.arange(30) % 2, np.arange(30) < 15]))
    found, tested = changed_terms(old, new, Vocabulary(["all", "half", "new"]))
    assert tested == 3
    assert [(one.term, one.old, one.new) for one in found] == [("new", 0.0, 0.5)]
    assert found[0].p == pytest.approx(3 * 2 * 155117520 / 53194089192720)
