"""FastText: the model class of imported fastText models, which are not trained here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.models.estimator import DocumentsModel


class FastText(DocumentsModel):
    """A classifier that fastText trained, imported with `unnaive import`.

    It predicts, explains and is served like any other model. It has weights but no training documents, so it cannot
    learn more, forget or be merged.
    """

    traits = Traits(
        "fasttext", "imported fastText model", "documents", scorer_kinds=("fasttext",), generative=False, imported=True
    )

    def shrink(
        self, fitted: FittedModel, limit: int, size: Callable[[FittedModel], int], bits: Sequence[int]
    ) -> tuple[FittedModel, int] | None:
        """Fewer bits, then fewer rows."""
        from unnaive.models.fasttext.compressing import shrink_fasttext

        return shrink_fasttext(fitted, limit, size, bits)

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Imported models are not trained here."""
        raise UnnaiveError(
            "the model fasttext cannot be trained, only imported with `unnaive import`; choose another model, such as "
            "auto, or use unnaive.fasttext.train_supervised"
        )
