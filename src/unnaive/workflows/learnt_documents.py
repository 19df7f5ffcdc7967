"""Warn if a model is evaluated on documents that it has learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unnaive.data.corpus import Corpus
    from unnaive.learning.fitted import FittedModel


def warn_about_learnt(fitted: FittedModel, corpus: Corpus) -> None:
    """Warn if a model is evaluated on documents that it was trained on, if its file shows it."""
    import warnings

    from unnaive.base.errors import UnnaiveWarning, count_noun

    n = 0 if fitted.text_hashes is None else fitted.text_hashes.count_learnt(corpus.texts)
    if n:
        warnings.warn(
            f"{n:,} of {count_noun(len(corpus), 'document')} of {corpus.name} {'is' if n == 1 else 'are'} "
            "in the training data of the model, so the measures are too high; use documents that the model has not "
            "learnt",
            UnnaiveWarning,
            stacklevel=2,
        )
