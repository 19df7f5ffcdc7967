"""UnnaiveFilter: a step of datatrove's pipelines that keeps what a model takes for some classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unnaive.base.errors import MissingExtra
from unnaive.base.types import Label
from unnaive.classifier.model_file import as_fitted, load_model
from unnaive.scaleout.filter.keep_rule import KeepRule, choose_keep_rule

try:
    from datatrove.pipeline.filters.base_filter import BaseFilter
except ImportError as absent:
    raise MissingExtra(
        f"datatrove's filters cannot be imported ({absent}); install them with: pip install 'datatrove[processing]'"
    ) from absent


class UnnaiveFilter(BaseFilter):  # type: ignore[misc]
    """Keep documents as `unnaive filter` keeps texts; to be put where FastTextClassifierFilter stands.

    Parameters
    ----------
    model : str, Path, TextClassifier or FittedModel
        A model file, which each task opens itself, or a trained model, which is sent to it.
    keep : label or list of labels
        The classes of the documents to keep.
    above : float or None, default=None
        Keep documents of which the classes have at least this probability.
    recall : float or None, default=None
        In its place: keep at least this share of the good documents, by a threshold found on `held_out`.
    held_out : (texts, labels) or None, default=None
        Labelled texts that the model has not learnt from.
    confidence : float, default=0.9
        How probable it shall be that new documents reach the recall.
    save_score : str or None, default=None
        The name under which the score is put into the metadata: log p / (1 − p) where the model has probabilities.
    exclusion_writer : datatrove.pipeline.writers.disk_base.DiskWriter or None, default=None
        Where documents that are dropped are written.
    batch_size : int, default=1000
        Documents that are scored at a time.
    """

    name = "📐 unnaive"

    def __init__(
        self,
        model: Any,
        keep: Label | Sequence[Label],
        *,
        above: float | None = None,
        recall: float | None = None,
        held_out: tuple[Any, Any] | None = None,
        confidence: float = 0.9,
        save_score: str | None = None,
        exclusion_writer: Any = None,
        batch_size: int = 1000,
    ) -> None:
        super().__init__(exclusion_writer, batch_size)
        self.save_score = save_score
        path = Path(model) if isinstance(model, (str, Path)) else None
        rule, self.choice = choose_keep_rule(
            as_fitted(model), keep, above=above, recall=recall, held_out=held_out, confidence=confidence
        )  # fmt: skip
        self._path, self._keep, self._threshold = path, rule.keep, rule.threshold
        self._rule: KeepRule | None = rule.on_one_thread()  # a task has one core

    @property
    def rule(self) -> KeepRule:
        """What is kept; a task that was sent here opens its model file first."""
        if self._rule is None:
            self._rule = KeepRule(load_model(self._path or ""), self._keep, self._threshold).on_one_thread()
        return self._rule

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to a task: not the model itself, where it is a file."""
        return self.__dict__ | ({"_rule": None} if self._path is not None else {})

    def filter(self, doc: Any) -> bool:
        """Whether one document is kept."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Any]) -> list[bool]:
        """Whether each document is kept."""
        scores = self.rule.scores([doc.text for doc in batch])
        if self.save_score is not None:
            for doc, score in zip(batch, scores.tolist(), strict=True):
                doc.metadata[self.save_score] = score
        kept: list[bool] = self.rule.keeps(scores).tolist()
        return kept
