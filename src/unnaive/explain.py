"""Which terms spoke for and against a class: one explanation for every model, for terminal, notebook and programs.

The score of a linear model is a sum over the terms of the document, so the explanation is that sum, term by term.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.classifier import TextClassifier
from unnaive.core.linear import Linear
from unnaive.core.links import LINKS
from unnaive.core.scorer import Scorer
from unnaive.core.targets import Label, class_codes
from unnaive.errors import BadData
from unnaive.models.gate_view import forces
from unnaive.models.hidden_networks import HiddenNetworks
from unnaive.models.path_scorer import PathScorer
from unnaive.text.tokens import spans

Floats = NDArray[np.float64]
Sparse = Any  # scipy.sparse.csr_array, which ships no types

SHOWN = 10  # terms for and terms against, at most
MIDDLES = 3  # terms in the middle of paths, at most


@dataclass(frozen=True)
class Evidence:
    """One term of the text: how often it is there, where, and what it adds to the score.

    For the noisy-OR of a network also `alone`, the probability that the term forces the class by itself, and `without`,
    what the class's probability would be if the term were not there.

    For higher-order smoothing, of a term that never occurred in the class: `paths`, the weight of the second-order
    paths that lead there, and the terms in their `middles`, those with most paths first.
    """

    term: str
    count: int
    value: float
    places: tuple[tuple[int, int], ...]
    alone: float | None = None
    without: float | None = None
    paths: float | None = None
    middles: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Why a text got a class: `base` + Σ evidence = `score`.

    against   the rival that `score` is measured against; None: the mean of all classes where they exclude each other,
              else nothing
    base      what does not depend on the terms: the prior. For a model that is not linear, evidence is what taking a
              term away would change, and `base` is all the rest.
    evidence  the known terms of the text, the strongest first
    """

    text: str
    label: Label
    against: Label | None
    reference: str
    score: float
    base: float
    probability: float | None
    evidence: tuple[Evidence, ...]
    exact: bool = True

    @property
    def title(self) -> str:
        """What is explained, in a line."""
        p = "" if self.probability is None else f" ({percent(self.probability)})"
        return f"{self.label}{p}: {self.score:+.2f} {self.reference}"

    def strongest(self, sign: int, limit: int = SHOWN) -> list[Evidence]:
        """The terms that spoke for (sign 1) or against (sign −1), the strongest first."""
        return [one for one in self.evidence if one.value * sign > 0][:limit]

    def marked(self) -> Iterator[tuple[str, float]]:
        """The text in stretches, each with the evidence of the terms that cover it; 0 where none does.

        >>> one = Explanation("so good", "yes", None, "", 2.0, 0.0, None, (Evidence("good", 1, 2.0, ((3, 7),)),))
        >>> list(one.marked())
        [('so ', 0.0), ('good', 2.0)]
        """
        changes = {0: 0.0, len(self.text): 0.0}
        for one in self.evidence:
            for start, end in one.places:
                changes[start] = changes.get(start, 0.0) + one.value / one.count
                changes[end] = changes.get(end, 0.0) - one.value / one.count
        covered, at = 0.0, 0
        for place in sorted(changes):
            if place > at:
                yield self.text[at:place], covered if abs(covered) > 1e-12 else 0.0
            covered, at = covered + changes[place], place

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "label": self.label,
            "against": self.against,
            "score": self.score,
            "base": self.base,
            "probability": self.probability,
            "exact": self.exact,
            "evidence": [
                {
                    "term": one.term,
                    "count": one.count,
                    "value": one.value,
                    "places": [list(span) for span in one.places],
                    **({} if one.alone is None else {"alone": one.alone, "without": one.without}),
                    **({} if one.paths is None else {"paths": one.paths, "middles": [list(k) for k in one.middles]}),
                }
                for one in self.evidence
            ],
        }

    def __str__(self) -> str:
        rows = [self.title, f"{self.base:+8.2f}  {self.base_name}"]
        rows += [f"{one.value:+8.2f}  {_times(one)}" for one in (*self.strongest(1), *self.strongest(-1))]
        return "\n".join(rows)

    @property
    def base_name(self) -> str:
        """What `base` stands for."""
        return "prior" if self.exact else "what no single term changes"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        text = Text()
        for stretch, value in self.marked():
            text.append(stretch, style=_style(value / self._largest))
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name, justify in (("for", "right"), ("", "left"), ("against", "right"), ("", "left")):
            table.add_column(name, justify=justify)  # type: ignore[arg-type]
        for row in self._paired():
            table.add_row(*row)
        return Group(Text(self.title, style="bold"), Text(), text, Text(), table)

    def _paired(self) -> list[tuple[str, str, str, str]]:
        """Rows of the table: value and term for, value and term against; the base is among them."""
        sides = []
        for sign, colour in ((1, "green"), (-1, "red")):
            side = [(one.value, _escaped(_times(one))) for one in self.strongest(sign)]
            if self.base * sign > 0 and np.isfinite(self.base):
                side.append((self.base, f"[italic]{self.base_name}[/]"))
            side.sort(key=lambda item: -abs(item[0]))
            sides.append([(f"[{colour}]{value:+.2f}[/]", name) for value, name in side])
        longest = max(map(len, sides))
        one, two = (side + [("", "")] * (longest - len(side)) for side in sides)
        return [(*left, *right) for left, right in zip(one, two, strict=True)]

    @property
    def _largest(self) -> float:
        return max((abs(value) for _, value in self.marked()), default=0.0) or 1.0

    def _repr_html_(self) -> str:
        marks = "".join(_mark(stretch, value / self._largest) for stretch, value in self.marked())
        rows = "".join(
            f"<tr><td style='text-align:right'>{one.value:+.2f}</td><td style='text-align:left'>"
            f"{escape(_times(one))}</td></tr>"
            for one in (*self.strongest(1), *self.strongest(-1))
        )
        base = f"<tr><td style='text-align:right'>{self.base:+.2f}</td><td><i>{self.base_name}</i></td></tr>"
        return (
            f"<div><p><b>{escape(self.title)}</b></p><p style='white-space:pre-wrap'>{marks}</p>"
            f"<table>{base}{rows}</table></div>"
        )


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
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end, term in found:
        places.setdefault(term, []).append((start, end))
    force = {} if rival is not None else _forces(classifier.scorer_, document, chosen)
    bridges = _bridges(classifier, document, chosen)
    evidence = [
        Evidence(
            term,
            int(count),
            float(value),
            tuple(places[term]),
            *force.get(int(column), ()),
            **bridges.get(int(column), {}),
        )
        for column, term, count, value in zip(
            document.indices,
            (classifier.vocabulary_[int(column)] for column in document.indices),
            document.data,
            values,
            strict=True,
        )
    ]
    evidence.sort(key=lambda one: (-abs(one.value), one.term))
    return Explanation(
        text=text,
        label=classifier.classes_[chosen].item(),
        against=None if rival is None else classifier.classes_[rival].item(),
        reference=_reference(classifier.scorer_, against),
        score=base + float(values.sum()),
        base=base,
        probability=_probability(classifier, scores, chosen),
        evidence=tuple(evidence),
        exact=exact,
    )


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


def _forces(scorer: Scorer, document: Sparse, chosen: int) -> dict[int, tuple[float, float]]:
    """(alone, without) of each term with an arc to the class, where the scorer is a noisy-OR."""
    if not isinstance(scorer, Linear) or scorer.link != "noisy-or":
        return {}
    return {one.term: (one.alone, one.without) for one in forces(scorer, document, chosen)}


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


def percent(share: float) -> str:
    """A share in per cent; no model is certain, so neither 100 nor 0 is ever shown.

    >>> percent(0.934), percent(0.9912), percent(1.0), percent(0.0001)
    ('93 %', '99.1 %', '>99.9 %', '<0.1 %')
    """
    if not 0.001 <= share <= 0.999:
        return ">99.9 %" if share > 0.5 else "<0.1 %"
    return f"{100 * share:.0f} %" if 0.0995 <= share <= 0.99 else f"{100 * share:.1f} %"


def _times(one: Evidence) -> str:
    name = one.term if one.count == 1 else f"{one.term} ×{one.count}"
    if one.paths is not None:
        return f"{name} (never there; {_traced(one)})"
    if one.alone is None or one.without is None:
        return name
    return f"{name} (alone {percent(one.alone)}, without it {percent(one.without)})"


def _traced(one: Evidence) -> str:
    """The paths that lead to a class from a term that it never had."""
    if not one.middles:
        return "no path leads there"
    through = ", ".join(f"{term} {paths:,.4g}" for term, paths in one.middles)
    return f"paths that lead there: {one.paths:,.4g}, through {through}"


def _style(share: float) -> str:
    """A terminal style for evidence from −1 to 1."""
    if abs(share) < 0.02:
        return ""
    colour = "green" if share > 0 else "red"
    return f"bold black on {colour}" if abs(share) > 0.6 else f"bold {colour}" if abs(share) > 0.25 else colour


def _mark(stretch: str, share: float) -> str:
    if abs(share) < 0.02:
        return escape(stretch)
    colour = "46,160,67" if share > 0 else "218,54,51"
    return f"<span style='background:rgba({colour},{0.15 + 0.6 * abs(share):.2f})'>{escape(stretch)}</span>"


def _escaped(term: str) -> str:
    from rich.markup import escape as plain

    return plain(term)
