"""Evaluate each version of a model on labelled documents that are held out from teaching."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unnaive.learning.fitted import FittedModel


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labelled documents for evaluating versions; labels are compared as strings."""

    texts: Sequence[str]
    labels: Sequence[tuple[str, ...]]


def read_held_out(path: str, fitted: FittedModel) -> HeldOut:
    """Read a file of documents like the training data of the model."""
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.class_spellings import respell_labels
    from unnaive.workflows.trained_columns import read_as_trained

    corpus = respell_labels(fitted, read_as_trained(DataFile(path), fitted).corpus())
    return HeldOut(list(corpus.texts), [tuple(map(str, names)) for names in corpus.labels])


def measure_version(fitted: FittedModel, held_out: HeldOut) -> dict[str, Any]:
    """The measures that `unnaive evaluate` prints, as plain values, and the number of documents."""
    from unnaive.evaluation.evaluate import evaluate

    labels = [list(names) if fitted.multilabel else names[0] for names in held_out.labels]
    evaluation = evaluate(fitted, list(held_out.texts), labels)
    values = {name: float(value) for name, value in evaluation.measures.items()}
    return {"documents": len(held_out.texts), **{name: value for name, value in values.items() if math.isfinite(value)}}
