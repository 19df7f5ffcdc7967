"""Convert scores to JSON values, in one place for all protocols."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from unnaive.apps.common.web.refused import refuse_mistake
from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Floats, Label
from unnaive.data.targets import label_sets
from unnaive.learning.fitted import FittedModel
from unnaive.learning.top_labels import TopLabels


@dataclass(frozen=True, eq=False)
class Answers:
    """The results for some texts.

    values  (n_texts, n_classes): probabilities if the model has them, otherwise scores
    """

    fitted: FittedModel
    scores: Floats
    values: Floats

    @classmethod
    def of(cls, fitted: FittedModel, scores: Floats) -> Answers:
        """Results from the scores that `fitted.scores` returned."""
        return cls(fitted, scores, fitted.probabilities(scores) if fitted.probabilistic else scores)

    def labels(self) -> list[list[Label]]:
        """The labels that the model's decision assigns to each text, in the order of `predict`."""
        classes = self.fitted.classes
        chosen = self.fitted.decide(self.scores)
        if not self.fitted.multilabel and self.fitted.decision.exclusive:
            return [[classes[best]] for best in chosen.indices.tolist()]
        return [list(labels) for labels in label_sets(chosen, classes, self.scores)]

    def best(self, limit: int | None) -> tuple[NDArray[np.intp], Floats]:
        """The columns of the best classes of each text, at most `limit`, and their values.

        The first is the class that the model decides for, taking costs and thresholds into account; the others are
        sorted by value.
        """
        n_classes = len(self.fitted.classes)
        order = self.fitted.best_classes(
            self.scores, self.values, n_classes if limit is None else min(limit, n_classes)
        )
        return order, np.take_along_axis(self.values, order, axis=1)

    def ranked(self, limit: int | None) -> Iterator[list[tuple[Label, float]]]:
        """The best classes of each text with their values, at most `limit`."""
        classes = self.fitted.classes
        order, sorted_values = self.best(limit)
        for columns, values in zip(order.tolist(), sorted_values.tolist(), strict=True):
            yield [(classes[column], value) for column, value in zip(columns, values, strict=True)]


@dataclass(frozen=True, eq=False)
class TopAnswers:
    """The results for some texts, for which only the best classes were scored."""

    fitted: FittedModel
    top: TopLabels

    def labels(self) -> list[list[Label]]:
        """The labels that the model's decision assigns to each text, in the order of `predict`."""
        return [list(labels) for labels in self.top.label_sets(self.fitted.classes)]

    def ranked(self, limit: int | None) -> Iterator[list[tuple[Label, float]]]:
        """The best classes of each text with their values, at most `limit`."""
        classes = self.fitted.classes
        cells = self.top.best_cells(len(classes) if limit is None else limit)
        columns, values = self.top.top.classes[cells].tolist(), self.top.values[cells].tolist()
        for row in zip(columns, values, strict=True):
            yield [(classes[c], value) for c, value in zip(*row, strict=True)]


def network_picture(fitted: FittedModel, name: str, terms: int = 12) -> bytes:
    """The network of a class as SVG."""
    from unnaive.workflows.network_views import network_view

    try:
        figure = network_view(fitted, name, terms, "1").figure()
    except UnnaiveError as problem:
        raise refuse_mistake(404, problem) from problem
    out = BytesIO()
    figure.savefig(out, format="svg", bbox_inches="tight")
    return out.getvalue()
