"""Say that a model is evaluated on documents that it has learnt, or learns them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from unnaive.data.corpus import Corpus
    from unnaive.learning.fitted import FittedModel
    from unnaive.workflows.feedback import Feedback

FEWEST_REPEATED = 10  # fewer repeated texts may be short ones, such as a greeting


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


def note_repeated(fitted: FittedModel, texts: Any, name: str, feedback: Feedback) -> None:
    """Say that an update is mostly of documents that the model has learnt, such as a whole export that has grown."""
    n = 0 if fitted.text_hashes is None else fitted.text_hashes.count_learnt(texts)
    if n >= FEWEST_REPEATED and 2 * n > len(texts):
        feedback.note(
            f"the model has learnt {n:,} of the {len(texts):,} documents of {name} before; they now count once more, "
            "which forget undoes: update with new documents only"
        )
