"""Measures by name: each a value whose printed form is its name, computed from one MeasureInput.

    measure(["micro-f1", "breakeven-micro", "log-loss"], Y, scores=…, predictions=…, probabilities=…)

tally.py, ranking.py, many_labels.py, calibration_measures.py and abstention.py hold the formulas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from unnaive.base.errors import BadData, choose
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.targets import single_labels
from unnaive.evaluation import abstention, calibration_measures, many_labels, ranking
from unnaive.evaluation.ranking import mean_defined, weighted_mean
from unnaive.evaluation.tally import Tally, class_sizes, indicator_matrix


@dataclass(frozen=True, eq=False)
class MeasureInput:
    """True labels Y (n_docs, n_classes) and a classifier's output; values shared by measures are computed once.

    best  some classes of each document, best first (n_docs, k), if there are no scores of all classes
    """

    Y: Sparse
    scores: Any = None
    predictions: Any = None
    probabilities: Any = None
    propensities: Any = None
    best: Any = None

    @lazy_property
    def tally(self) -> Tally:
        """Right and wrong decisions."""
        return Tally.of(self.Y, self.predictions)

    @lazy_property
    def order(self) -> Ids:
        """The classes of each document, best first."""
        return ranking.class_order(ranking.check_scores(self.Y, self.scores)[1])

    @property
    def ranked(self) -> Any:
        """The classes of each document, best first, all or at least those that `best` has; None without any."""
        return self.best if self.scores is None else self.order

    @lazy_property
    def _breakevens(self) -> dict[str, Floats]:
        """The classes' breakeven points for each normalisation requested so far."""
        return {}

    def breakeven(self, normalise: str) -> Floats:
        """The classes' breakeven points."""
        if normalise not in self._breakevens:
            self._breakevens[normalise] = ranking.breakeven(self.Y, self.scores, normalise=normalise)
        return self._breakevens[normalise]


@dataclass(frozen=True)
class Measure:
    """One measure: its required input, and its value from the MeasureInput.

    The input is "predictions", "scores", "ranked" (scores, or only the best classes), "probabilities", or
    "propensities", which come with scores.

    >>> print(MEASURES["micro-f1"])
    micro-f1
    """

    name: str
    needs: str
    value: Callable[[MeasureInput], float] = field(repr=False, compare=False)
    about: str = field(repr=False, compare=False)
    larger_is_better: bool = True

    def __str__(self) -> str:
        return self.name

    def describe(self, *, one_label: bool) -> str:
        """What it measures, in a few words.

        one_label  whether every document has one label: then nothing is said about several

        >>> MEASURES["accuracy"].describe(one_label=True), MEASURES["accuracy"].describe(one_label=False)
        ('share of documents with the right label', 'documents with all labels right')
        """
        return "share of documents with the right label" if one_label and self.name == "accuracy" else self.about

    def __call__(self, inputs: MeasureInput) -> float:
        """The value, or an error that names the missing input."""
        if getattr(inputs, self.needs) is None:
            needed = "scores" if self.needs == "ranked" else self.needs
            raise BadData(f"the measure {self.name!r} needs {needed}; pass {needed}=…")
        return float(self.value(inputs))


def average_measure(average: str, what: str) -> Measure:
    """Precision, recall or F1 under one average."""

    def value(inputs: MeasureInput) -> float:
        return float(getattr(inputs.tally, average)(what))

    return Measure(f"{average}-{what}", "predictions", value, f"{what} of the decisions, {average} average")


def f1_at_k(average: str, k: int, name: str = "") -> Measure:
    """F1 when every document gets its k best classes."""

    def value(inputs: MeasureInput) -> float:
        tally = ranking.tally_at(inputs.Y, inputs.ranked, k)
        return float(getattr(tally, average)("f1"))

    about = f"F1 with the {k} best classes of every document, {average} average"
    return Measure(name or f"{average}-f1@{k}", "ranked", value, about)


def precision_at_k(k: int) -> Measure:
    """The share of the k best classes that are right."""

    def value(inputs: MeasureInput) -> float:
        return many_labels.precision_at(inputs.ranked, inputs.Y, k)

    best = "the best class" if k == 1 else f"the {k} best classes"
    return Measure(f"precision@{k}", "ranked", value, f"share of {best} of every document that are right")


def propensity_scored_at_k(k: int) -> Measure:
    """The same with more weight for rare classes, relative to the best possible value."""

    def value(inputs: MeasureInput) -> float:
        return many_labels.propensity_scored_precision_at(inputs.ranked, inputs.Y, inputs.propensities, k)

    return Measure(
        f"psp@{k}", "propensities", value, f"precision@{k}, propensity-scored: rare classes have more weight"
    )


def breakeven_measures(normalise: str) -> list[Measure]:
    """Breakeven: pooled, mean over classes, and mean weighted by true documents."""
    ending = "" if normalise == "none" else f"-{normalise}"
    note = "" if normalise == "none" else ", scores divided by the document's maximum"

    def micro(inputs: MeasureInput) -> float:
        return ranking.breakeven_micro(inputs.Y, inputs.scores, normalise=normalise)

    def macro(inputs: MeasureInput) -> float:
        return mean_defined(inputs.breakeven(normalise))

    # the thesis on hierarchical networks calls this mean micro-averaged
    def weighted(inputs: MeasureInput) -> float:
        return weighted_mean(inputs.breakeven(normalise), class_sizes(inputs.Y))

    return [
        Measure(f"breakeven-micro{ending}", "scores", micro, f"precision = recall of all decisions pooled{note}"),
        Measure(f"breakeven-macro{ending}", "scores", macro, f"mean over classes of precision = recall{note}"),
        Measure(
            f"breakeven-weighted{ending}", "scores", weighted, f"mean over classes, weighted by true documents{note}"
        ),
    ]


def all_measures() -> Iterable[Measure]:
    """Every measure that has a fixed name."""
    yield Measure("accuracy", "predictions", lambda e: e.tally.accuracy, "documents with all labels right")
    for average in ("micro", "macro", "weighted"):
        for what in ("precision", "recall", "f1"):
            yield average_measure(average, what)
    for normalise in ranking.NORMALISATIONS:
        yield from breakeven_measures(normalise)
    for k in (1, 3, 5):
        yield f1_at_k("micro", k)
        yield f1_at_k("macro", k)
        yield precision_at_k(k)
        yield propensity_scored_at_k(k)
    yield Measure(
        "11-point",
        "scores",
        lambda e: mean_defined(ranking.eleven_point(e.Y, e.order)),
        "11-point precision by document",
    )
    yield Measure(
        "reciprocal-rank",
        "scores",
        lambda e: mean_defined(ranking.reciprocal_ranks(e.Y, e.order)),
        "1 / rank of the best true class",
    )
    yield Measure(
        "auc", "scores", lambda e: mean_defined(ranking.auc(e.Y, e.scores)), "ROC area, each class against the rest"
    )
    for name, function, about in (
        ("log-loss", calibration_measures.log_loss, "−log probability of the truth"),
        ("brier", calibration_measures.brier, "squared error of the probabilities"),
        ("ece", calibration_measures.calibration_error, "expected calibration error, 15 bins"),
        (
            "ece-excess",
            calibration_measures.excess_calibration_error,
            "ece minus that of a calibrated model by chance",
        ),
    ):
        yield Measure(name, "probabilities", from_probabilities(function), about, larger_is_better=False)
    about = "mean error rate as uncertain documents are rejected"
    yield Measure("aurc", "probabilities", area_under_risk, about, larger_is_better=False)


def area_under_risk(inputs: MeasureInput) -> float:
    """The area under the risk–coverage curve of the decisions or, without them, of the best class."""
    if inputs.predictions is None:
        best = inputs.probabilities.argmax(axis=1)
        return abstention.risk_coverage(inputs.probabilities.max(axis=1), best == single_labels(inputs.Y)).area
    confidence = abstention.given_confidence(inputs.probabilities, inputs.predictions)
    return abstention.risk_coverage(confidence, abstention.all_right(inputs.Y, inputs.predictions)).area


def from_probabilities(function: Callable[[Any, Any], float]) -> Callable[[MeasureInput], float]:
    """Adapt a function of Y and probabilities to the MeasureInput."""
    return lambda evaluated: function(evaluated.Y, evaluated.probabilities)


MEASURES: dict[str, Measure] = {entry.name: entry for entry in all_measures()}

AT_K = re.compile(r"(?:(micro|macro|weighted)-)?f1@([1-9]\d*)")
BEST_K = re.compile(r"(precision|psp)@([1-9]\d{0,3})")


def find_measure(name: str) -> Measure:
    """The measure of that name: one of MEASURES, or with any k `micro-f1@k`, `macro-f1@k`, `weighted-f1@k`, `f1@k`
    (micro), `precision@k`, `psp@k`.

    >>> find_measure("f1@7").about
    'F1 with the 7 best classes of every document, micro average'
    """
    match = AT_K.fullmatch(name)
    if match and name not in MEASURES:
        return f1_at_k(match[1] or "micro", int(match[2]), name)
    match = BEST_K.fullmatch(name)
    if match:
        return (precision_at_k if match[1] == "precision" else propensity_scored_at_k)(int(match[2]))
    return MEASURES[choose(list(MEASURES), name, "measure")]


def measure(
    names: Iterable[str | Measure],
    Y: Any,
    *,
    scores: Any = None,
    predictions: Any = None,
    probabilities: Any = None,
    propensities: Any = None,
) -> dict[str, float]:
    """The value of each measure by name, in the requested order.

    Y, predictions: (n_docs, n_classes) 0/1, sparse or dense; scores, probabilities: (n_docs, n_classes) dense;
    propensities: (n_classes,), see `many_labels.propensities`.

    >>> measure(["accuracy", "f1@1"], [[1, 0], [0, 1]], scores=[[3, 1], [2, 1]], predictions=[[1, 0], [1, 0]])
    {'accuracy': 0.5, 'f1@1': 0.5}
    """
    chosen = [name if isinstance(name, Measure) else find_measure(name) for name in names]
    inputs = MeasureInput(indicator_matrix(Y), scores, predictions, probabilities, propensities)
    return {measure_.name: measure_(inputs) for measure_ in chosen}
