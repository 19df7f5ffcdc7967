"""Naive Bayes and SVM rows of the papers that average over splits or classes fall in their bands."""

import pytest

from unnaive.papers.comparison import reproduce
from unnaive.papers.paper_run import PaperRun


@pytest.mark.parametrize(
    ("paper", "table", "models"),
    [("hierarchical", "4.10", ("naive-bayes", "svm")), ("maxent-bridge", "2", ("naive-bayes",))],
)
def test_rows_are_in_their_bands(paper, table, models):
    found = list(reproduce(paper, PaperRun(quick=True, models=models), table=table))
    assert any(cell.band and cell.ours is not None for one in found for cell in one.cells)
    assert not [cell for one in found for cell in one.outside]


# What is measured on one quarter of the training documents, as the thesis does, is known no better than this: standard
# deviation of the average over 200 bootstrap samples of that quarter, the larger of 30 and 60 features. The models and
# the split are fixed: four seeds gave the same figures to the last digit, and other quarters, which are easier, up to
# 5 points more. The support vector machine is libsvm's, as in the thesis; LIBLINEAR's gave 83.43 and 86.25.
SPREAD = {"4.8": 0.89, "4.9": 0.76}


@pytest.mark.parametrize(("table", "expected"), [("4.8", (77.4, 78.0)), ("4.9", (83.1, 85.8))])
def test_validation_tables_of_the_thesis_are_near(table, expected):
    """Within two standard deviations of the thesis (measured: −0.9, −1.1; −0.2, +0.7), and where they were before."""
    (found,) = reproduce("hierarchical", PaperRun(quick=True, models=("naive-bayes", "svm")), table=table)
    measured = [cell for cell in found.cells if cell.ours is not None and cell.theirs is not None]
    assert max(abs(cell.difference) for cell in measured) < 2 * SPREAD[table]
    assert [cell.ours for cell in measured] == pytest.approx(expected, abs=0.1)
