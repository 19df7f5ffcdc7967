"""Evidence for and against a class by term: one explanation for every model, as a value, text, HTML and JSON.

The score of a linear model is a sum over the terms of the document, so the explanation is that sum, term by term.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData
from unnaive.base.types import Label, Sparse
from unnaive.io.fields import one_document
from unnaive.learning.field_evidence import name_evidence, sum_by_field
from unnaive.linear.documents import shown_part
from unnaive.linear.scorer import Scorer
from unnaive.text.scripts import character_spans, run_pattern
from unnaive.text.sections import is_record, shown_spans
from unnaive.text.tokens import GRAM, Span, word_pattern

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel

Names = Sequence[str] | Mapping[int, str]  # names of the columns of a row
SHOWN = 10  # maximum number of terms for, and of terms against


@dataclass(frozen=True)
class Evidence:
    """One term of the text: its count, its places, and what it adds to the score.

    For the noisy-OR of a network also `alone`, the probability that the term forces the class by itself, and `without`,
    the probability of the class without the term.

    For higher-order smoothing, and a term that never occurred in the class: `paths`, the weight of the second-order
    paths from the class to the term, and the terms in their `middles`, those with most paths first.
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

    against   the class that `score` is compared with; None: the mean of all classes if they are exclusive, else
              nothing
    base      the part that does not depend on the terms: the prior. For a model that is not linear, the evidence of a
              term is the change when it is removed, and `base` is the rest.
    evidence  the known terms of the text, the strongest first
    by_field  for a record, what each field adds, the strongest first
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
    by_field: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The class and its reference, in a line."""
        p = "" if self.probability is None else f" ({percent(self.probability)})"
        return f"{self.label}{p}: {self._shown(self.score)} {self.reference}"

    def _shown(self, value: float) -> str:
        """A number with its sign, rounded to two digits of the largest evidence."""
        largest = max((abs(item.value) for item in self.evidence), default=1.0) or 1.0
        return f"{value:+.{max(2, 1 - floor(log10(largest)))}f}"

    def strongest(self, sign: int, limit: int = SHOWN) -> list[Evidence]:
        """The terms for (sign 1) or against (sign −1) the class, the strongest first."""
        return [item for item in self.evidence if item.value * sign > 0][:limit]

    def marked(self) -> Iterator[tuple[str, float]]:
        """The text in segments, each with the evidence of the terms that cover it, or 0.

        >>> one = Explanation("so good", "yes", None, "", 2.0, 0.0, None, (Evidence("good", 1, 2.0, ((3, 7),)),))
        >>> list(one.marked())
        [('so ', 0.0), ('good', 2.0)]
        """
        changes = {0: 0.0, len(self.text): 0.0}
        for item in self.evidence:
            for start, end in item.places:
                changes[start] = changes.get(start, 0.0) + item.value / item.count
                changes[end] = changes.get(end, 0.0) - item.value / item.count
        covered, at = 0.0, 0
        for position in sorted(changes):
            if position > at:
                yield self.text[at:position], covered if abs(covered) > 1e-12 else 0.0
            covered, at = covered + changes[position], position

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
                    "term": item.term,
                    "count": item.count,
                    "value": item.value,
                    "places": [list(span) for span in item.places],
                    **({} if item.alone is None else {"alone": item.alone, "without": item.without}),
                    **({} if item.paths is None else {"paths": item.paths, "middles": [list(k) for k in item.middles]}),
                }
                for item in self.evidence
            ],
            **({"fields": dict(self.by_field), "text": self.text} if self.by_field else {}),
        }

    def __str__(self) -> str:
        rows = [self.title, f"{self._shown(self.base):>8}  {self.base_name}"]
        rows += [f"{self._shown(item.value):>8}  {_times(item)}" for item in (*self.strongest(1), *self.strongest(-1))]
        return "\n".join([*rows, *self._field_line()])

    def _field_line(self) -> list[str]:
        """What each field adds, in a line, if there are fields."""
        sums = ", ".join(f"{name} {self._shown(value)}" for name, value in self.by_field.items())
        return [f"by field: {sums}"] if sums else []

    @property
    def base_name(self) -> str:
        """The name of `base`."""
        return "prior" if self.exact else "effect of no single term"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        text = self.highlighted()
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name, justify in (("for", "right"), ("", "left"), ("against", "right"), ("", "left")):
            table.add_column(name, justify=justify)  # type: ignore[arg-type]
        for row in self._paired():
            table.add_row(*row)
        below = table if self.evidence else Text("the model knows none of its terms")
        return Group(Text(self.title, style="bold"), Text(), text, Text(), below, *map(Text, self._field_line()))

    def highlighted(self) -> Any:
        """The text for a terminal, with terms coloured by their evidence: a rich Text."""
        from rich.text import Text

        text, largest = Text(), self._largest()
        for stretch, value in self.marked():
            text.append(stretch, style=_style(value / largest))
        return text

    def _paired(self) -> list[tuple[str, str, str, str]]:
        """Rows of the table: value and term for, value and term against, including the base."""
        sides = []
        for sign, colour in ((1, "green"), (-1, "red")):
            side = [(item.value, _escaped(_times(item))) for item in self.strongest(sign)]
            if self.base * sign > 0 and isfinite(self.base):
                side.append((self.base, f"[italic]{self.base_name}[/]"))
            side.sort(key=lambda item: -abs(item[0]))
            sides.append([(f"[{colour}]{self._shown(value)}[/]", name) for value, name in side])
        longest = max(map(len, sides))
        positive, negative = (side + [("", "")] * (longest - len(side)) for side in sides)
        return [(*left, *right) for left, right in zip(positive, negative, strict=True)]

    def _largest(self) -> float:
        return max((abs(value) for _, value in self.marked()), default=0.0) or 1.0

    def _repr_html_(self) -> str:
        largest = self._largest()
        marks = "".join(_mark(stretch, value / largest) for stretch, value in self.marked())
        rows = "".join(
            f"<tr><td style='text-align:right'>{self._shown(item.value)}</td><td style='text-align:left'>"
            f"{_escape(_times(item))}</td></tr>"
            for item in (*self.strongest(1), *self.strongest(-1))
        )
        base = f"<tr><td style='text-align:right'>{self._shown(self.base)}</td><td><i>{self.base_name}</i></td></tr>"
        return (
            f"<div><p><b>{_escape(self.title)}</b></p><p style='white-space:pre-wrap'>{marks}</p>"
            f"<table>{base}{rows}</table>{''.join(f'<p>{_escape(line)}</p>' for line in self._field_line())}</div>"
        )


def percent(share: float) -> str:
    """A share in per cent; never 100 or 0, since no model is certain.

    >>> percent(0.934), percent(0.9912), percent(1.0), percent(0.0001)
    ('93 %', '99.1 %', '>99.9 %', '<0.1 %')
    """
    if not 0.001 <= share <= 0.999:
        return ">99.9 %" if share > 0.5 else "<0.1 %"
    return f"{100 * share:.0f} %" if 0.0995 <= share <= 0.99 else f"{100 * share:.1f} %"


def _times(item: Evidence) -> str:
    name = item.term if item.count == 1 else f"{item.term} ×{item.count}"
    if item.paths is not None:
        return f"{name} (never there; {_traced(item)})"
    if item.alone is None or item.without is None:
        return name
    alone = percent(item.alone) if item.alone >= 0.001 else f"{100 * item.alone:.2g} %"  # relaxed weights are tiny
    return f"{name} (alone {alone}, without it {percent(item.without)})"


def _traced(item: Evidence) -> str:
    """Describe the paths from a class to a term that never occurred in it."""
    if not item.middles:
        return "no path leads there"
    through = ", ".join(f"{term} {_counted(paths)}" for term, paths in item.middles)
    return f"paths that lead there: {_counted(item.paths or 0.0)}, through {through}"


def _counted(paths: float) -> str:
    """A number of paths; with weights it may be a fraction."""
    return f"{paths:,.0f}" if paths >= 1000 else f"{paths:.4g}"


def _style(share: float) -> str:
    """A terminal style for evidence from −1 to 1."""
    if abs(share) < 0.02:
        return ""
    colour = "green" if share > 0 else "red"
    return f"bold black on {colour}" if abs(share) > 0.6 else f"bold {colour}" if abs(share) > 0.25 else colour


def _escape(text: str) -> str:
    from html import escape  # imports a table of all entities, which most programs never need

    return escape(text)


def _mark(stretch: str, share: float) -> str:
    if abs(share) < 0.02:
        return _escape(stretch)
    colour = "46,160,67" if share > 0 else "218,54,51"
    return f"<span style='background:rgba({colour},{0.15 + 0.6 * abs(share):.2f})'>{_escape(stretch)}</span>"


def _escaped(term: str) -> str:
    from rich.markup import escape as plain

    return plain(term)


def explain_document(
    fitted: FittedModel, document: Any, label: Label | None = None, *, against: Label | None = None
) -> Explanation:
    """What each term of a document adds to the score of `label`, by default the first label that `predict` returns.

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
    if fields is not None:
        by_field = sum_by_field(document, evidence, spans, fields)
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
        evidence = _sum_over_words(evidence, spans, text)
    return tuple(sorted(evidence, key=lambda item: (-abs(item.value), item.term)))


def _sum_over_words(evidence: list[Evidence], spans: list[Span], text: str) -> list[Evidence]:
    """Add the evidence of character n-grams to the words that contain them; the sum stays the same.

    The evidence of an n-gram is split equally among its occurrences, and among several words, as in scripts without
    spaces, by the number of characters. A word that is not a term is shown by its letters if the model knows n-grams of
    it; punctuation belongs to the word that it touches.
    """
    single_words = {(start, end): term for start, end, term in spans if not term.startswith(GRAM) and " " not in term}
    runs = _covered((start, end) for start, end, term in spans if term.startswith(GRAM))
    words = _words_in_runs(runs, list(single_words), text)
    starts = [start for start, _ in runs]
    names = {word: single_words.get(word, text[word[0] : word[1]].lower()) for inside in words for word in inside}
    places: dict[str, list[tuple[int, int]]] = {}
    for word, name in names.items():
        places.setdefault(name, []).append(word)
    totals: dict[str, float] = {}
    others = []
    for item in evidence:
        if not item.term.startswith(GRAM) or not item.places:
            others.append(item)
            continue
        for start, end in item.places:
            inside = words[bisect_right(starts, start) - 1]
            for word, share in _shares((start, end), inside):
                totals[names[word]] = totals.get(names[word], 0.0) + share * item.value / len(item.places)
    summed = [replace(item, value=item.value + totals.pop(item.term, 0.0)) for item in others]
    return summed + [Evidence(term, len(places[term]), value, tuple(places[term])) for term, value in totals.items()]


def _shares(gram: tuple[int, int], words: list[tuple[int, int]]) -> list[tuple[tuple[int, int], float]]:
    """The words that an n-gram overlaps with their shares of it; the nearest word if it overlaps none.

    >>> _shares((0, 3), [(0, 1), (1, 3), (3, 4)])
    [((0, 1), 0.333...), ((1, 3), 0.666...)]
    """
    common = [min(gram[1], end) - max(gram[0], start) for start, end in words]
    total = sum(max(0, n) for n in common)
    if not total:
        return [(words[common.index(max(common))], 1.0)]
    return [(word, n / total) for word, n in zip(words, common, strict=True) if n > 0]


def _covered(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The maximal segments that the spans cover without a gap; empty spans cover nothing.

    >>> _covered([(0, 2), (5, 7), (1, 3), (7, 8)])
    [(0, 3), (5, 7), (7, 8)]
    """
    runs: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if runs and start < runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    return runs


def _shortest(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The sorted spans that contain no other span: characters rather than pairs of them.

    >>> _shortest([(0, 1), (0, 2), (1, 2), (1, 3), (5, 8)])
    [(0, 1), (1, 2), (5, 8)]
    """
    kept: list[tuple[int, int]] = []
    for start, end in sorted(set(spans), key=lambda span: (span[1], -span[0])):
        if start < end and (not kept or start > kept[-1][0]):
            kept.append((start, end))
    return kept


def _parts(text: str, word: tuple[int, int]) -> list[tuple[int, int]]:
    """The characters of runs in a script without spaces, and the text between these runs."""
    pieces, at = [], word[0]
    for run in run_pattern().finditer(text, *word):
        pieces += [(at, run.start())] if at < run.start() else []
        pieces += [(run.start() + start, run.start() + end) for start, end in character_spans(run.group())]
        at = run.end()
    return pieces + ([(at, word[1])] if at < word[1] else [])


def _words_in_runs(
    runs: list[tuple[int, int]], word_spans: list[tuple[int, int]], text: str
) -> list[list[tuple[int, int]]]:
    """The positions of the words of each run: terms and other words; a run without words is one word.

    In scripts without spaces, a word is a character or the shortest terms.

    >>> _words_in_runs([(0, 6), (7, 9)], [(1, 2)], "(I'm), :)")
    [[(1, 2), (3, 4)], [(7, 9)]]
    >>> _words_in_runs([(0, 4)], [], "很好ok")
    [[(0, 1), (1, 2), (2, 4)]]
    """
    terms = _shortest(word_spans)
    groups = []
    for run in runs:
        inside = terms[bisect_left(terms, run[:1]) : bisect_left(terms, (run[1],))]
        letters = [
            part for word in word_pattern(digits=True).finditer(text, *run) for part in _parts(text, word.span())
        ]
        inside += [word for word in letters if not any(word[0] < end and start < word[1] for start, end in inside)]
        groups.append(sorted(inside) or [run])
    return groups


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
