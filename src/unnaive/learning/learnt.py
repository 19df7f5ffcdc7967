"""Learnt is what a model returns when it has learnt from documents: its scorer, held-out scores, and provenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unnaive.base.types import Floats, Ids
from unnaive.linear.scorer import Scorer


class HeldOutScores(NamedTuple):
    """Scores of documents by models that were not trained on them.

    rows    indices of the documents in X (n_rows,)
    scores  on the scale of the scorer (n_rows, n_classes)
    weight  sample weight of each document, without that of its class (n_rows,); None if all are 1
    """

    rows: Ids
    scores: Floats
    weight: Floats | None = None


@dataclass(frozen=True, eq=False)
class Provenance:
    """How the parts of a scorer were selected among candidates, and on which documents.

    recipe  the selection as plain values, with which it is trained again without a search; empty if nothing was
            selected. Its "report" says what was tried, and what happened to the model since

    >>> Provenance().choice_kept, Provenance({"report": {"kept-choice": True, "chosen-on": 20}}).chosen_on
    (False, 20)
    """

    recipe: dict[str, Any] = field(default_factory=dict)

    @property
    def report(self) -> dict[str, Any]:
        """The report of the search; empty if nothing was selected."""
        report: dict[str, Any] = self.recipe.get("report", {})
        return report

    @property
    def choice_kept(self) -> bool:
        """Whether the selection was made on other documents than the scorer was trained on."""
        return bool(self.report.get("kept-choice"))

    @property
    def chosen_on(self) -> int | None:
        """The number of documents that a kept selection was made on; None if it was made on the model's documents."""
        n_docs = self.report.get("chosen-on")
        return n_docs if isinstance(n_docs, int) else None

    @property
    def n_approximate(self) -> int:
        """The number of documents that were learnt or forgotten approximately since the scorer was trained."""
        n_docs = self.report.get("approximate")
        return n_docs if isinstance(n_docs, int) else 0


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a model learnt from documents.

    scorer      documents to scores
    held_out    rows that the model held out while it learnt, and their scores; None if it held out none. Calibration,
                decisions and conformal sets then need no further fits
    provenance  how the parts of the scorer were selected
    """

    scorer: Scorer
    held_out: HeldOutScores | None = None
    provenance: Provenance = field(default_factory=Provenance)
