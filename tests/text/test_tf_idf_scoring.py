"""Scores over tf-idf without a matrix are the sums that the formula says, however many classes and parts there are."""

import numpy as np
import pytest

from unnaive.text.counting import BACKEND
from unnaive.text.scoring import TfIdfPart, TfIdfTextScorer
from unnaive.text.tokens import TokenRule, tokens
from unnaive.text.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")

WORDS = ["zebra", "ball", "vote", "law", "goal", "zebra ball", "vote law"]  # not in the order of any text
TEXTS = ["zebra ball zebra vote", "law vote law law goal", "", "nothing known", "goal", "vote law zebra ball " * 300]


def by_formula(parts, bias, rule):
    """score(c) = bias[c] + Σ_parts bias_part[c] + Σ_t z_t · weights[place_t, c] / length."""
    rows = []
    for text in TEXTS:
        counts = {term: list(tokens(text, rule)).count(term) for term in WORDS}
        score = bias.copy()
        for place, idf, weights, part_bias, norm in parts:
            z = np.zeros(len(idf))
            for column, term in enumerate(WORDS):
                row = column if place is None else place[column]
                if counts[term] and row >= 0:
                    z[row] = (1 + np.log(counts[term])) * idf[row]
            length = np.sqrt((z * z).sum()) if norm == "l2" else np.abs(z).sum()
            score = score + part_bias + (z @ weights.astype(np.float64) / length if length else 0)
        rows.append(score)
    return np.array(rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 23])
@pytest.mark.parametrize("threads", [1, 2])
def test_scores_are_the_formula(dtype, n_classes, threads):
    rng = np.random.default_rng(n_classes)
    rule = TokenRule(ngrams=(1, 2))
    place = np.array([2, -1, 0, 3, -1, 1, -1], np.int32)
    parts = [
        TfIdfPart(
            None, rng.uniform(1, 3, 7), rng.normal(size=(7, n_classes)).astype(dtype), rng.normal(size=n_classes)
        ),
        TfIdfPart(
            place, rng.uniform(1, 3, 4), rng.normal(size=(4, n_classes)).astype(dtype), rng.normal(size=n_classes)
        ),
        TfIdfPart(
            place, rng.uniform(1, 3, 4), rng.normal(size=(4, n_classes)).astype(dtype), rng.normal(size=n_classes), "l1"
        ),
    ]
    bias = rng.normal(size=n_classes)
    scorer = TfIdfTextScorer(rule, Vocabulary(WORDS), bias, parts, threads=threads)
    assert np.allclose(scorer.scores(TEXTS), by_formula(parts, bias, rule), rtol=1e-12, atol=1e-12)
