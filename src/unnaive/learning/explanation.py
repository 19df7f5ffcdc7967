"""Explanation: evidence for and against a class by term, as a value, text, HTML and JSON; explain.py computes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor, isfinite, log10
from typing import Any

from unnaive.base.palette import LIGHT, TERMINAL
from unnaive.base.types import Label

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
    shared    whether the text has so many terms that, for a model that is not linear, most were removed in groups,
              whose terms share the change
    unknown_fields  for a record, the fields with a value of which the model knows no term, so that it is no evidence
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
    unknown_fields: tuple[str, ...] = ()
    shared: bool = False

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

    def marked(self) -> list[tuple[str, float]]:
        """The text in segments, each with the evidence of the terms that cover it, or 0.

        >>> one = Explanation("so good", "yes", None, "", 2.0, 0.0, None, (Evidence("good", 1, 2.0, ((3, 7),)),))
        >>> one.marked()
        [('so ', 0.0), ('good', 2.0)]
        """
        changes = {0: 0.0, len(self.text): 0.0}
        for item in self.evidence:
            for start, end in item.places:
                changes[start] = changes.get(start, 0.0) + item.value / item.count
                changes[end] = changes.get(end, 0.0) - item.value / item.count
        segments, covered, at = [], 0.0, 0
        for position in sorted(changes):
            if position > at:
                segments.append((self.text[at:position], covered if abs(covered) > 1e-12 else 0.0))
            covered, at = covered + changes[position], position
        return segments

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
            **({"shared": True} if self.shared else {}),
            **({"fields": dict(self.by_field), "text": self.text} if self.by_field else {}),
        }

    def __str__(self) -> str:
        rows = [self.title, f"{self._shown(self.base):>8}  {self.base_name}"]
        rows += [f"{self._shown(item.value):>8}  {_times(item)}" for item in (*self.strongest(1), *self.strongest(-1))]
        return "\n".join([*rows, *self._field_lines()])

    def _field_lines(self) -> list[str]:
        """The contribution of each field, the fields without known terms, and a note; each in one line, if any."""
        sums = ", ".join(f"{name} {self._shown(value)}" for name, value in self.by_field.items())
        unknown = ", ".join(self.unknown_fields)
        note = (
            f"approximate: the text has {len(self.evidence):,} terms, so terms of little effect share that of a group"
        )
        notes = {f"by field: {sums}": bool(sums), f"no evidence, because unknown: {unknown}": bool(unknown)}
        return [line for line, shown in {**notes, note: self.shared}.items() if shown]

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
        return Group(Text(self.title, style="bold"), Text(), text, Text(), below, *map(Text, self._field_lines()))

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
        for sign, colour in ((1, TERMINAL["for"]), (-1, TERMINAL["against"])):
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
            f"<table>{base}{rows}</table>{''.join(f'<p>{_escape(line)}</p>' for line in self._field_lines())}</div>"
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
    colour, ink = (TERMINAL["for"], "white") if share > 0 else (TERMINAL["against"], "black")
    return f"bold {ink} on {colour}" if abs(share) > 0.6 else f"bold {colour}" if abs(share) > 0.25 else colour


def _escape(text: str) -> str:
    from html import escape  # imports a table of all entities, which most programs never need

    return escape(text)


def _mark(stretch: str, share: float) -> str:
    if abs(share) < 0.02:
        return _escape(stretch)
    colour, line = (LIGHT["for"], "solid") if share > 0 else (LIGHT["against"], "dashed")
    shade = f"background:{colour}{round(255 * (0.15 + 0.45 * abs(share))):02x}"  # with an opacity
    return f"<span style='{shade};border-bottom:2px {line} {colour}'>{_escape(stretch)}</span>"


def _escaped(term: str) -> str:
    from rich.markup import escape as plain

    return plain(term)
