"""Which terms spoke for and against a class: one explanation for every model.

The score of a linear model is a sum over the terms of the document, so the explanation is that sum, term by term.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.classifier import TextClassifier
from unnaive.core.explanation import Evidence, Explanation, percent
from unnaive.core.linear import Linear
from unnaive.core.links import LINKS
from unnaive.core.scorer import Scorer
from unnaive.core.targets import class_codes
from unnaive.errors import BadData
from unnaive.models.gate_view import forces
from unnaive.models.hierarchical.hidden_networks import HiddenNetworks
from unnaive.models.path_scorer import PathScorer
from unnaive.text.tokens import Span, spans
from unnaive.types import Floats, Label, Sparse

__all__ = ["Evidence", "Explanation", "explain", "percent", "strongest_terms"]


MIDDLES = 3  # terms in the middle of paths, at most


def explain(
    classifier: TextClassifier, text: str, label: Label | None = None, *, against: Label | None = None
) -> Explanation:
    """What each term of the text adds to the score of `label`, by default the class with the best score.

    Linear models:  value(t) = z_t · (weight[label, t] − reference[t]),  base = bias[label] − reference of the biases,

    where z is the weighted document and the reference is that of the class `against`, else the mean over the classes
    where they exclude each other, else zero: log-odds, cosines and margins mean something by themselves.

    >>> model = TextClassifier().fit(["good ball", "fair vote"], ["sport", "politics"])
    >>> print(model.explain("a good vote on a good day"))
    sport (67 %): +0.35 above the mean of the classes
       +0.00  prior
       +0.69  good ×2
       -0.35  vote
    """
    if not isinstance(text, str):
        raise BadData(f"the text to explain is {type(text).__name__}; give one str")
    scores = classifier.scores([text])
    chosen = int(scores[0].argmax()) if label is None else _place(label, classifier)
    rival = None if against is None else _place(against, classifier)
    if rival == chosen:
        raise BadData(f"{against!r} cannot be explained against itself; name another class")
    found = spans(text, classifier.rule)
    document = _document([term for _, _, term in found], classifier)
    base, values, exact = _contributions(classifier.scorer_, document, chosen, rival)
    return Explanation(
        text=text,
        label=classifier.classes_[chosen].item(),
        against=None if rival is None else classifier.classes_[rival].item(),
        reference=_reference(classifier.scorer_, against),
        score=base + float(values.sum()),
        base=base,
        probability=_probability(classifier, scores, chosen),
        evidence=_evidence(classifier, found, document, values, chosen, rival),
        exact=exact,
    )


def _evidence(
    classifier: TextClassifier, found: list[Span], document: Sparse, values: Floats, chosen: int, rival: int | None
) -> tuple[Evidence, ...]:
    """The known terms of the document with their places in the text, the strongest first."""
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end, term in found:
        places.setdefault(term, []).append((start, end))
    force = {} if rival is not None else _forces(classifier, document, chosen)
    bridges = _bridges(classifier, document, chosen)
    evidence = []
    for column, count, value in zip(document.indices.tolist(), document.data.tolist(), values.tolist(), strict=True):
        term = classifier.vocabulary_[column]
        extra = bridges.get(column, {})
        evidence.append(Evidence(term, count, value, tuple(places[term]), *force.get(column, ()), **extra))
    return tuple(sorted(evidence, key=lambda one: (-abs(one.value), one.term)))


def strongest_terms(classifier: TextClassifier, label: Label, limit: int = 10) -> list[tuple[str, float]]:
    """The terms that speak most for a class, with what a mention adds to its score.

    Ranked by mentions in a document of the class × value², which puts telling words before both rare and frequent
    ones; by value alone in a frozen model, which has no counts. Of hierarchical networks, by what a term adds when
    nothing else is known. Only these and linear models have them.
    """
    place = _place(label, classifier)
    scorer = classifier.scorer_
    if isinstance(scorer, HiddenNetworks):
        return [(classifier.vocabulary_[term], value) for term, value in scorer.strongest(place, limit)]
    if not isinstance(scorer, Linear):
        return []
    row = csr_array(scorer.arcs[[place], :])
    columns = row.indices if row.nnz else np.arange(0)
    weights = scorer.weights(columns)
    values = weights[place] - (weights.mean(axis=0) if LINKS[scorer.link].exclusive else 0.0)
    rank = np.maximum(values, 0) ** 2 * _mentions(classifier, place, columns)
    best = [int(at) for at in np.lexsort((columns, -rank))[:limit] if values[at] > 0]
    return [(classifier.vocabulary_[int(columns[at])], float(values[at])) for at in best]


def _mentions(classifier: TextClassifier, place: int, columns: NDArray[Any]) -> Any:
    """Mentions of terms per document of the class, or 1 where nobody knows."""
    ledger = classifier.ledger_
    if ledger is None or not ledger.counts.class_docs[place]:
        return 1.0
    ids = ledger.vocabulary.ids(classifier.vocabulary_[int(column)] for column in columns)
    return csr_array(ledger.counts.class_terms[[place], :][:, ids]).toarray()[0] / ledger.counts.class_docs[place]


def _place(label: Label, classifier: TextClassifier) -> int:
    return int(class_codes([label], classifier.classes_.tolist())[0])


def _document(terms: list[str], classifier: TextClassifier) -> Sparse:
    """Counts of the known terms, csr_array (1, n_terms)."""
    ids = classifier.vocabulary_.ids(terms)
    columns, counts = np.unique(ids[ids >= 0], return_counts=True)
    return csr_array((counts, columns, [0, len(columns)]), shape=(1, len(classifier.vocabulary_)))


def _contributions(scorer: Scorer, document: Sparse, chosen: int, rival: int | None) -> tuple[float, Floats, bool]:
    """(base, a value for each term of the document, whether the scorer is a sum of them)."""
    own = getattr(scorer, "contributions", None)
    if own is not None:
        base, values = own(document, chosen, rival)
        return float(base), np.asarray(values, np.float64), True
    if isinstance(scorer, Linear):
        return (*_linear_contributions(scorer, document, chosen, rival), True)
    return (*_removals(scorer, document, chosen, rival), False)


def _linear_contributions(scorer: Linear, document: Sparse, chosen: int, rival: int | None) -> tuple[float, Floats]:
    features = scorer.weighting.apply(document)
    weights = scorer.weights(features.indices)
    bias, arcs = scorer.bias[chosen], weights[chosen]
    if rival is not None:
        bias, arcs = bias - scorer.bias[rival], arcs - weights[rival]
    elif LINKS[scorer.link].exclusive:
        possible = np.isfinite(scorer.bias)  # a class without documents is no reference
        bias, arcs = bias - scorer.bias[possible].mean(), arcs - weights[possible].mean(axis=0)
    return float(bias), features.data * arcs


def _forces(classifier: TextClassifier, document: Sparse, chosen: int) -> dict[int, tuple[float, float]]:
    """(alone, without) of each term with an arc to the class, where the scorer is a noisy-OR.

    `without` is a probability as the classifier gives it: among exclusive classes their share, else the gate's own.
    """
    scorer = classifier.scorer_
    if not isinstance(scorer, Linear) or scorer.link != "noisy-or":
        return {}
    features = scorer.weighting.apply(document)
    pushes = (scorer.weights(features.indices) * features.data).T  # (terms of the document, n_classes)
    left = classifier.probabilities(np.maximum(pushes.sum(axis=0) - pushes, 0.0))[:, chosen]
    without = dict(zip(features.indices.tolist(), left.tolist(), strict=True))
    return {one.term: (one.alone, without[one.term]) for one in forces(scorer, document, chosen)}


def _bridges(classifier: TextClassifier, document: Sparse, chosen: int) -> dict[int, dict[str, Any]]:
    """`paths` and `middles` of each term that the class never had, where the scorer remembers its paths."""
    scorer = classifier.scorer_
    if not isinstance(scorer, PathScorer):
        return {}
    found = {}
    for column in document.indices.tolist():
        evidence = scorer.path_evidence(column, chosen, MIDDLES)
        if not evidence.occurrences:
            middles = tuple((classifier.vocabulary_[k], paths) for k, paths in evidence.middles)
            found[column] = {"paths": evidence.paths, "middles": middles}
    return found


def _removals(scorer: Scorer, document: Sparse, chosen: int, rival: int | None) -> tuple[float, Floats]:
    """What the score loses without each term, for models that are no sum."""
    n = document.nnz
    kept = csr_array(np.vstack([np.ones(n), 1 - np.eye(n)]))  # the whole document, then all terms but one
    terms = csr_array((document.data, (np.arange(n), document.indices)), shape=(n, document.shape[1]))
    scores = scorer.scores(csr_array(kept @ terms))
    lead = scores[:, chosen] - _reference_scores(scorer, scores, rival)
    values: Floats = lead[0] - lead[1:]
    return float(lead[0] - values.sum()), values


def _reference_scores(scorer: Scorer, scores: Floats, rival: int | None) -> Any:
    if rival is not None:
        return scores[:, rival]
    return scores.mean(axis=1) if LINKS[scorer.link].exclusive else 0.0


def _reference(scorer: Scorer, against: Label | None) -> str:
    if against is not None:
        return f"above {against}"
    return "above the mean of the classes" if LINKS[scorer.link].exclusive else f"({scorer.link})"


def _probability(classifier: TextClassifier, scores: Floats, chosen: int) -> float | None:
    if LINKS[classifier.scorer_.link].log_odds is None and classifier.temperature_ is None:
        return None
    return float(classifier.probabilities(scores)[0, chosen])
