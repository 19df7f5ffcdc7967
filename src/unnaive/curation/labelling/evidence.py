"""The explanation of a suggestion: the contribution of each term of a text to the score of a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats
from unnaive.learning.explain import Evidence, Explanation
from unnaive.text.sections import is_record, shown_spans
from unnaive.text.tokens import spans

if TYPE_CHECKING:
    from unnaive.curation.labelling.pool import TextPool


def explain_terms(
    pool: TextPool, text: int, label: str, columns: NDArray[np.integer], values: Floats, base: float,
    probability: float | None, fields: Mapping[str, float] | None = None,
) -> Explanation:  # fmt: skip
    """base + Σ values, by term and with positions in the text; `columns` are the terms of `values` (n_terms,).

    `fields` is what vector fields add, as a whole each.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    shown, places = pool.texts[text], spans(pool.texts[text], pool.rule)
    if is_record(shown):
        shown, places = shown_spans(shown, places)
    for start, end, term in places:
        found.setdefault(term, []).append((start, end))
    evidence = [
        Evidence(term, max(1, len(found.get(term, ()))), float(value), tuple(found.get(term, ())))
        for term, value in zip((pool.vocabulary[column] for column in columns), values, strict=True)
    ]
    evidence += [Evidence(name, 1, value, ()) for name, value in (fields or {}).items() if value]
    evidence.sort(key=lambda one: (-abs(one.value), one.term))
    return Explanation(
        shown, label, None, "above the mean of the classes", base + sum(one.value for one in evidence), base,
        probability, tuple(evidence),
    )  # fmt: skip
