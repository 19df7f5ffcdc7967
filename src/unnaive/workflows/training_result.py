"""The result of training: the classifier, sizes, measures and the search of auto."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.lazy import lazy_property
from unnaive.workflows.result import Result

if TYPE_CHECKING:
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.evaluation.evaluate import Evaluation
    from unnaive.learning.fitted import FittedModel

UNEVEN = 10  # times as many documents in the largest class as in the smallest


@dataclass(frozen=True, eq=False, repr=False)
class TrainingResult(Result):
    """A trained model: sizes and measures, the file that was written, and the classifier.

    fitted      the model; None if its documents did not stay in memory, so that it must be read from the file
    file        the model file or its address, with its size and the bytes of documents in it; None if none was written
    documents   number of training documents; None if they were not counted
    seconds     from the first document read to the file
    read        which columns were read, for people
    decides     the aim of the decision, for people; "" for the default
    holdout, test  measures on documents set aside, and on test documents
    report      the whole evaluation behind `test`, or else behind `holdout`
    blocks      accuracy on parts of the data that were held out together
    size        what was changed to reach a maximum size
    out_of_core what happened to data that does not fit in memory
    notes       remarks for people
    """

    fitted: FittedModel | None
    file: Path | str | None
    bytes: int | None
    documents_bytes: int
    model: str
    classes: int
    terms: int
    multilabel: bool
    documents: int | None
    seconds: float
    read: str
    decides: str
    search: Mapping[str, Any] | None = None
    holdout: Mapping[str, Any] | None = None
    out_of_core: Mapping[str, Any] | None = None
    blocks: Sequence[Mapping[str, Any]] | None = None
    test: Mapping[str, Any] | None = None
    size: Mapping[str, Any] | None = None
    report: Evaluation | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, fitted: FittedModel, file: Path | None, *, in_memory: bool = True, seconds: float,
        label_sizes: Mapping[str, int], **more: Any,
    ) -> TrainingResult:  # fmt: skip
        """The result of a training, with what the model and its file tell.

        in_memory    whether the model can be used when its training is over
        label_sizes  documents of each label, if they were counted
        """
        from unnaive.classifier.model_file import documents_bytes

        return cls(
            fitted=fitted if in_memory else None, file=file, bytes=None if file is None else file.stat().st_size,
            documents_bytes=0 if file is None else documents_bytes(file), model=fitted.spec.model.traits.name,
            classes=len(fitted.classes), terms=fitted.scorer.n_terms, multilabel=fitted.multilabel,
            seconds=round(seconds, 3), decides=describe_aim(fitted, label_sizes), search=find_search(fitted), **more,
        )  # fmt: skip

    @lazy_property
    def classifier(self) -> TextClassifier:
        """The trained classifier."""
        from unnaive.classifier.text_classifier import TextClassifier

        if self.fitted is not None:
            return TextClassifier.from_fitted(self.fitted)
        return TextClassifier.load(str(self.file))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `unnaive train --json` prints them."""
        always: dict[str, Any] = {
            "model": self.model, "file": None if self.file is None else str(self.file), "bytes": self.bytes,
            "documents_bytes": self.documents_bytes, "documents": self.documents, "classes": self.classes,
            "terms": self.terms, "multilabel": self.multilabel, "seconds": self.seconds, "read": self.read,
            "decides": self.decides,
        }  # fmt: skip
        optional = ("search", "holdout", "out_of_core", "blocks", "test", "size")
        return always | {name: getattr(self, name) for name in optional if getattr(self, name) is not None}


def describe_aim(fitted: FittedModel, sizes: Mapping[str, int]) -> str:
    """The aim of the decision, and a hint at --set optimise for imbalanced classes; "" for the default."""
    from unnaive.base.errors import count_noun
    from unnaive.learning.decisions import WeightedArgmax

    optimise = fitted.spec.optimise
    if isinstance(optimise, dict):
        return "the decision minimises the expected cost (--set optimise)"
    if optimise == "macro-f1" and isinstance(fitted.decision, WeightedArgmax):
        weights = fitted.decision.weights
        return (
            f"the decision maximises macro F1 (--set optimise), with class weights from {min(weights):.2g} to "
            f"{max(weights):.2g}, tuned on held-out documents"
        )
    if optimise is not None or fitted.multilabel or not sizes:
        return ""
    small, large = min(sizes, key=lambda label: sizes[label]), max(sizes, key=lambda label: sizes[label])
    if sizes[large] < UNEVEN * sizes[small]:
        return ""
    return (
        f"the classes are imbalanced ({large}: {count_noun(sizes[large], 'document')}, {small}: {sizes[small]:,}), "
        "and the decision maximises accuracy; --set optimise=macro-f1 predicts rare classes more often, "
        "--set optimise=COST.csv minimises the cost of mistakes"
    )


def find_search(fitted: FittedModel) -> dict[str, Any] | None:
    """The search of auto, as stored in the model; None for other models."""
    return fitted.provenance.report or None
