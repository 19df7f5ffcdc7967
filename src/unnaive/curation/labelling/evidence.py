"""The explanation of a suggestion: the contribution of each term of a text to the score of a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats
from unnaive.learning.explanation import Evidence, Explanation
from unnaive.text.sections import is_record, shown_spans
from unnaive.text.tokens import spans

if TYPE_CHECKING:
    from unnaive.curation.labelling.texts_to_label import TextPool


def explain_terms(
    pool: TextPool, text: int, label: str, columns: NDArray[np.integer], values: Floats, base: float,
    probability: float | None, fields: Mapping[str, float] | None = None,
) -> Explanation:  # fmt: skip
    """Explain the score base + Σ values of a class by the terms of a text and their positions.

    columns, values  the terms and their contributions (n_terms,)
    fields           the contribution of each vector field, by name
    """
    positions: dict[str, list[tuple[int, int]]] = {}
    shown, places = pool.texts[text], spans(pool.texts[text], pool.rule)
    if is_record(shown):
        shown, places = shown_spans(shown, places)
    for start, end, term in places:
        positions.setdefault(term, []).append((start, end))
    evidence = [
        Evidence(term, max(1, len(positions.get(term, ()))), float(value), tuple(positions.get(term, ())))
        for term, value in zip((pool.vocabulary[column] for column in columns), values, strict=True)
    ]
    evidence += [Evidence(name, 1, value, ()) for name, value in (fields or {}).items() if value]
    evidence.sort(key=lambda item: (-abs(item.value), item.term))
    return Explanation(
        shown, label, None, "above the mean of the classes", base + sum(item.value for item in evidence), base,
        probability, tuple(evidence),
    )  # fmt: skip
