"""Good and bad texts, and a model of them, for the tests of the filter."""

from __future__ import annotations

from unnaive import TextClassifier
from unnaive.learning.fitted import FittedModel

GOOD = ["clear and useful prose about rivers", "a useful guide to rivers and lakes", "clear notes on lakes"]
BAD = ["buy cheap pills now", "cheap cheap watches buy", "now buy the watches"]


def train_filter() -> FittedModel:
    """A model that separates the good from the bad texts."""
    return TextClassifier("multinomial").fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3).fitted_
