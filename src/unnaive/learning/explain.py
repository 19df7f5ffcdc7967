"""The contribution of each term of a document to the score of a class: one explanation for every model.

The score of a linear model is a sum over the terms of the document, so the explanation is that sum, term by term.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData
from unnaive.base.types import Label, Sparse
from unnaive.data.fields.fields import one_document
from unnaive.learning.explanation import Evidence as Evidence
from unnaive.learning.explanation import Explanation as Explanation
from unnaive.learning.explanation import percent as percent
from unnaive.learning.field_evidence import find_unknown_fields, name_evidence, sum_by_field
from unnaive.learning.gram_evidence import sum_over_words
from unnaive.linear.score_documents import shown_part
from unnaive.linear.scorer import Scorer
from unnaive.text.sections import is_record, shown_spans
from unnaive.text.tokens import GRAM, Span

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel

Names = Sequence[str] | Mapping[int, str]  # names of the columns of a row


def explain_document(
    fitted: FittedModel, document: Any, label: Label | None = None, *, against: Label | None = None
) -> Explanation:
    """The contribution of each term of a document to the score of `label`, by default the first predicted label.

    The reference is the class `against`, else the mean over exclusive classes, else zero: log-odds, cosines and margins
    have a meaning by themselves. For a text of more than 50,000 characters, the evidence is that of the whole text, but
    `text` and the places of terms are those of its beginning.

    >>> from unnaive import TextClassifier
    >>> model = TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"])
    >>> print(model.explain("a good vote on a good day"))
    sport (67 %): +0.35 above the mean of the classes
       +0.00  prior
       +0.69  good ×2
       -0.35  vote
    """
    if fitted.token_rule is not None:
        document = one_document(document, fitted.token_rule.fields)
    row, spans, names = fitted.reader.read_one(document)
    # scored like `predict`: the kernel adds in another order than a matrix product, and rounding breaks ties
    scores = fitted.scores(row if fitted.token_rule is None else [document])
    chosen = int(fitted.first_labels(scores)[0]) if label is None else fitted.class_index(label)
    rival = None if against is None else fitted.class_index(against)
    if rival == chosen:
        raise BadData(f"{against!r} cannot be explained against itself; name another class")
    parts = fitted.scorer.contributions(row, chosen, rival)
    shown = shown_part(document) if isinstance(document, str) else ""
    fields = None if fitted.token_rule is None else fitted.token_rule.fields
    places = spans
    if is_record(shown):
        shown, places = shown_spans(shown, spans)
    details = {} if rival is not None else _details(fitted, row, chosen, names)
    evidence = _evidence(names, places, row, parts.values.tolist(), details, shown)
    by_field: dict[str, float] = {}
    unknown_fields: tuple[str, ...] = ()
    if fields is not None:
        by_field = sum_by_field(document, evidence, spans, fields)
        unknown_fields = find_unknown_fields(document, by_field, fields)
        evidence = name_evidence(document, evidence, fields)
    return Explanation(
        text=shown,
        label=fitted.classes[chosen],
        against=None if rival is None else fitted.classes[rival],
        reference=_reference(fitted.scorer, against),
        score=parts.base + float(parts.values.sum()),
        base=parts.base,
        probability=float(fitted.probabilities(scores)[0, chosen]) if fitted.probabilistic else None,
        evidence=evidence,
        exact=parts.exact,
        by_field=by_field,
        unknown_fields=unknown_fields,
        shared=parts.shared,
    )


def _evidence(
    names: Names,
    spans: list[Span],
    row: Sparse,
    values: list[float],
    details: dict[int, dict[str, Any]],
    text: str,
) -> tuple[Evidence, ...]:
    """The known terms of the document with their positions in the text, the strongest first."""
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end, term in spans:
        places.setdefault(term, []).append((start, end))
    evidence = []
    for column, count, value in zip(row.indices.tolist(), row.data.tolist(), values, strict=True):
        term = names[column]
        evidence.append(Evidence(term, count, value, tuple(places.get(term, ())), **details.get(column, {})))
    if any(item.term.startswith(GRAM) and item.places for item in evidence):
        evidence = sum_over_words(evidence, spans, text)
    return tuple(sorted(evidence, key=lambda item: (-abs(item.value), item.term)))


def _details(fitted: FittedModel, row: Sparse, chosen: int, names: Names) -> dict[int, dict[str, Any]]:
    """Details of the scorer: for a noisy-OR, what each term forces; for paths, the terms in the middle."""
    details = fitted.scorer.evidence_details(row, chosen)
    without = fitted.scorer.scores_without(row)
    for index, column in enumerate(row.indices.tolist()):
        if column not in details:
            continue
        if without is not None:
            details[column]["without"] = float(fitted.probabilities(without[[index]])[0, chosen])
        if "middles" in details[column]:
            details[column]["middles"] = tuple((names[k], paths) for k, paths in details[column]["middles"])
    return details


def _reference(scorer: Scorer, against: Label | None) -> str:
    if against is not None:
        return f"above {against}"
    return "above the mean of the classes" if scorer.meaning.exclusive else f"({scorer.link})"
