"""UnnaiveFilter: a step of datatrove's pipelines that keeps the documents that a model assigns to given classes."""

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
    """Keep documents by the rule of `unnaive filter`; replaces FastTextClassifierFilter.

    Parameters
    ----------
    model : str, Path, TextClassifier or FittedModel
        A model file, which each task opens, or a trained model, which is sent to each task.
    keep : label or list of labels
        The classes of the documents to keep.
    above : float or None, default=None
        Keep documents whose probability of the classes in `keep` is at least this.
    recall : float or None, default=None
        Instead of `above`: keep at least this share of the documents of these classes; `held_out` sets the threshold.
    held_out : (texts, labels) or None, default=None
        Labelled texts that the model was not trained on.
    confidence : float, default=0.9
        The probability that new documents reach the recall.
    save_score : str or None, default=None
        The metadata key for the score, log p / (1 − p) if the model gives probabilities; None to omit it.
    exclusion_writer : datatrove.pipeline.writers.disk_base.DiskWriter or None, default=None
        The writer for dropped documents; None to discard them.
    batch_size : int, default=1000
        Number of documents scored at a time.
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
        """The rule that decides which documents are kept; the first use in a task opens the model file."""
        if self._rule is None:
            self._rule = KeepRule(load_model(self._path or ""), self._keep, self._threshold).on_one_thread()
        return self._rule

    def __getstate__(self) -> dict[str, Any]:
        """The state sent to a task, without the model if it is in a file."""
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
        decisions: list[bool] = self.rule.keeps(scores).tolist()
        return decisions
