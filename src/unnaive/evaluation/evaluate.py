"""A model on labelled documents → Evaluation: measures, confusions, mistakes; evaluation_report.py writes it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.lazy import lazy_property
from unnaive.base.setting_words import describe_setting
from unnaive.base.settings import same_value
from unnaive.base.types import Floats, Sparse
from unnaive.classifier.model_file import as_fitted
from unnaive.data.targets import label_matrix, label_sets, read_targets, single_labels
from unnaive.evaluation.abstention import (
    AbstentionChoice,
    RiskCoverage,
    SetCoverage,
    all_right,
    choose_abstention,
    given_confidence,
    risk_coverage,
    set_coverage,
)
from unnaive.evaluation.calibration_measures import Reliability, reliability
from unnaive.evaluation.many_labels import propensities
from unnaive.evaluation.measures import MeasureInput, find_measure
from unnaive.evaluation.mistakes import Mistake, find_mistakes
from unnaive.evaluation.reports.plots import PrecisionRecallCurve
from unnaive.evaluation.tally import Tally, class_sizes, confusion, indicator_matrix
from unnaive.evaluation.training_drift import TrainingDrift, find_training_drift
from unnaive.learning.confidence_interval import wilson_interval
from unnaive.learning.explanation import Explanation
from unnaive.learning.fitted import FittedModel
from unnaive.learning.top_labels import TopLabels, tells_by_best
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.linear.links import comparable_scores
from unnaive.text.counting import as_texts
from unnaive.text.field import describe_fields, read_fields
from unnaive.text.tokens import TokenRule

SINGLE_LABEL = (
    "accuracy", "macro-f1", "weighted-f1", "macro-precision", "macro-recall", "auc", "reciprocal-rank",
    "breakeven-micro", "breakeven-macro", "log-loss", "brier", "ece", "ece-excess",
    "aurc",
)  # fmt: skip
MULTILABEL = (
    "micro-f1", "macro-f1", "micro-precision", "micro-recall", "accuracy", "auc", "11-point", "micro-f1@1",
    "breakeven-micro", "breakeven-macro", "log-loss", "brier", "ece", "ece-excess",
    "aurc",
)  # fmt: skip
MANY_LABELS = ("precision@1", "precision@3", "precision@5", "psp@1", "psp@3", "psp@5")
MOST_CELLS = 1 << 25  # maximum number of scores held, documents × classes: 256 MB
BEST = 100  # best classes kept for each document if there are more
MANY = 100  # with more classes, the best few classes are more informative than decisions


def evaluate(
    model: Any, texts: Any, labels: Any, *, name: str = "texts", ids: Sequence[str] | None = None
) -> Evaluation:
    """Evaluate a trained model on labelled documents that it has not seen.

    Parameters
    ----------
    model : TextClassifier, estimator or FittedModel
        A trained model.
    texts : list of str, or a column of pandas, polars, numpy or Arrow; rows of counts for an estimator
        The documents.
    labels : sequence
        A label for each document, or a collection of labels for each (multilabel).
    name : str, default="texts"
        The name of the data in reports.
    ids : sequence of str or None, default=None
        The names of the documents in reports; None for their numbers.

    Examples
    --------
    >>> from unnaive import TextClassifier
    >>> model = TextClassifier("multinomial").fit(["good ball", "fair vote"], ["sport", "politics"])
    >>> evaluate(model, ["a ball", "a vote", "the ball"], ["sport", "politics", "politics"]).measures["accuracy"]
    0.6666666666666666
    """
    fitted = as_fitted(model)
    documents: Any = csr_array(texts) if fitted.token_rule is None else as_texts(texts)
    n_docs = documents.shape[0] if fitted.token_rule is None else len(documents)
    if not n_docs:
        raise BadData(f"{name} has no documents; give at least one to evaluate on")
    targets = read_targets(labels, n_docs, multilabel=True if fitted.multilabel else None)
    true_labels = label_sets(targets.Y, tuple(map(str, targets.classes)))
    model_classes = tuple(map(str, fitted.classes))
    unknown = tuple(sorted({label for names in true_labels for label in names} - set(model_classes)))
    Y = label_matrix(true_labels, (*model_classes, *unknown))
    if n_docs * len(model_classes) > MOST_CELLS and tells_by_best(fitted):
        return _evaluate_best(fitted, documents, Y, unknown, name=name, ids=ids)
    started = time.perf_counter()
    scores = fitted.scores(documents)
    seconds = time.perf_counter() - started
    raw = None
    if fitted.calibration is not None and fitted.scorer.probabilistic:
        raw = replace(fitted, calibration=None).probabilities(scores)
    assigned = fitted.decide(scores)
    return Evaluation(
        name=name,
        fitted=fitted,
        documents=documents,
        ids=ids,
        classes=(*model_classes, *unknown),
        unknown=unknown,
        Y=Y,
        scores=_add_columns(comparable_scores(fitted.scorer.link, scores), len(unknown), -np.inf),
        log_probabilities=fitted.log_probabilities(scores) if fitted.conformal is not None else None,
        predictions=csr_array(
            (assigned.data, assigned.indices, assigned.indptr), shape=(n_docs, len(model_classes) + len(unknown))
        ),
        probabilities=_add_columns(fitted.probabilities(scores), len(unknown), 0.0) if fitted.probabilistic else None,
        uncalibrated=None if raw is None else _add_columns(raw, len(unknown), 0.0),
        seconds=seconds,
    )


def _evaluate_best(
    fitted: FittedModel, documents: Any, Y: Sparse, unknown: tuple[str, ...], *, name: str, ids: Sequence[str] | None
) -> Evaluation:
    """Evaluate by the best classes of each document only, if the scores of all classes do not fit in memory."""
    started = time.perf_counter()
    top = fitted.top_labels(documents, min(BEST, len(fitted.classes)))
    seconds = time.perf_counter() - started
    if top is None:
        raise RuntimeError("the model cannot find the best classes without scoring all")
    decisions = top.decisions()
    return Evaluation(
        name=name,
        fitted=fitted,
        documents=documents,
        ids=ids,
        classes=(*map(str, fitted.classes), *unknown),
        unknown=unknown,
        Y=Y,
        scores=None,
        predictions=csr_array((decisions.data, decisions.indices, decisions.indptr), shape=Y.shape),
        probabilities=None,
        uncalibrated=None,
        seconds=seconds,
        top=top,
    )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions of a model for documents with known labels; prints as a table of measures.

    Y, predictions: (n_docs, n_classes) 0/1 sparse; scores, probabilities: dense. If these would be too many, they are
    None, `top` has the best classes of each document, and measures that need all scores are omitted. `uncalibrated` are
    the probabilities before calibration, if there was one; `log_probabilities` those of the known classes, if there are
    conformal sets. `unknown` are classes of the documents that the model does not know; they come last, score −∞ and
    are never predicted, so they count as mistakes. `seconds` is the time of scoring.
    """

    name: str
    fitted: FittedModel
    documents: Any
    ids: Sequence[str] | None
    classes: tuple[str, ...]
    unknown: tuple[str, ...]
    Y: Sparse
    scores: Floats | None
    predictions: Sparse
    probabilities: Floats | None
    uncalibrated: Floats | None
    seconds: float
    log_probabilities: Floats | None = None
    top: TopLabels | None = None

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    def __str__(self) -> str:
        return self.render("txt")

    @lazy_property
    def model(self) -> str:
        """The model and its settings that are not default, on one line."""
        return describe_model(self.fitted)

    @property
    def n_terms(self) -> int:
        """The number of terms that the model uses."""
        return self.fitted.scorer.n_terms

    @property
    def exclusive(self) -> bool:
        """Whether every document has exactly one class, and is assigned one."""
        return single_labels(self.Y) is not None and single_labels(self.predictions) is not None

    @lazy_property
    def tally(self) -> Tally:
        """Right and wrong decisions of each class."""
        return Tally.of(self.Y, self.predictions)

    @property
    def absent(self) -> tuple[str, ...]:
        """The classes without a true document or a prediction, which macro averages leave out."""
        return tuple(name for name, present in zip(self.classes, self.tally.present, strict=True) if not present)

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy on new documents like these, by Wilson's score."""
        return wilson_interval(self.tally.exact, self.tally.n)

    @lazy_property
    def measures(self) -> dict[str, float]:
        """The measures that apply, by name; undefined ones are omitted."""
        usual = SINGLE_LABEL if self.exclusive else MULTILABEL
        names = [find_measure(name) for name in (*usual, *(MANY_LABELS if len(self.classes) > MANY else ()))]
        values = {
            measure.name: measure(self._input) for measure in names if getattr(self._input, measure.needs) is not None
        }
        return {name: value for name, value in values.items() if math.isfinite(value)}

    def measure(self, name: str) -> float:
        """A measure by name; an error if the model lacks its input."""
        measure = find_measure(name)
        if measure.needs == "propensities" and self._input.propensities is None:
            raise BadData(
                f"the measure {name!r} needs the number of training documents of each class, which this model "
                "does not have; train it with its counts or documents"
            )
        if self.top is not None and measure.needs in ("scores", "probabilities"):
            raise BadData(
                f"the measure {name!r} needs the scores of {len(self):,} documents for all {len(self.classes):,} "
                "classes, which are too many; evaluate on fewer documents, or ask for precision@5"
            )
        return measure(self._input)

    @lazy_property
    def _input(self) -> MeasureInput:
        propensity = _class_propensities(self.fitted, len(self.unknown))
        best = None if self.top is None else self.top.top.best(min(BEST, self.top.n_classes))
        truth = indicator_matrix(self.Y)
        return MeasureInput(truth, self.scores, self.predictions, self.probabilities, propensity, best)

    @lazy_property
    def confusion(self) -> NDArray[np.int64]:
        """Documents of true class i that were assigned class j (n_classes, n_classes)."""
        return np.asarray(confusion(self.Y, self.predictions).toarray(), np.int64)

    def confused_pairs(self, limit: int = 10) -> list[tuple[str, str, int]]:
        """(true, predicted, documents) of the most confused classes; empty for multilabel documents."""
        if not self.exclusive:
            return []
        pairs = confusion(self.Y, self.predictions).tocoo()
        off = np.flatnonzero((pairs.row != pairs.col) & (pairs.data > 0))
        true, predicted, n = pairs.row[off], pairs.col[off], pairs.data[off]
        order = np.lexsort((predicted, true, -n))[:limit]
        return [(self.classes[true[at]], self.classes[predicted[at]], int(n[at])) for at in order]

    def rankings(self, limit: int = 4) -> list[PrecisionRecallCurve]:
        """Precision and recall pooled over all decisions, and of the largest classes; none without all scores."""
        if self.scores is None:
            return []
        truth = indicator_matrix(self.Y)
        columns = truth.tocsc()
        largest = np.argsort(-class_sizes(truth), kind="stable")[:limit]
        pooled = PrecisionRecallCurve.of("all, pooled", self.scores.ravel(), self.scores[truth.nonzero()])
        each = [
            PrecisionRecallCurve.of(self.classes[c], self.scores[:, c], self.scores[columns[:, [c]].nonzero()[0], c])
            for c in largest
            if class_sizes(truth)[c]
        ]
        return [pooled, *each] if len(self.classes) > 1 else each

    def calibration(self) -> dict[str, Reliability]:
        """The calibration curve, before and after calibration if there was one; empty without probabilities."""
        if self.probabilities is None:
            return {}
        if self.uncalibrated is None:
            return {"as given": reliability(self.Y, self.probabilities)}
        before = reliability(self.Y, self.uncalibrated)
        return {"before calibration": before, "after calibration": reliability(self.Y, self.probabilities)}

    @lazy_property
    def abstention(self) -> RiskCoverage | None:
        """Accuracy as a function of the share labelled, most certain documents first; None without probabilities."""
        if self.probabilities is None:
            return None
        confidence = given_confidence(self.probabilities, self.predictions)
        return risk_coverage(confidence, all_right(self.Y, self.predictions))

    def choose_abstention(self, accuracy: float, sureness: float = 0.9) -> AbstentionChoice | None:
        """A rejection threshold at which the remaining new documents have this accuracy, with this confidence.

        It is chosen on a random half of the documents and reported on the other; None if there is no such threshold.
        """
        if self.probabilities is None:
            return None
        confidence = given_confidence(self.probabilities, self.predictions)
        return choose_abstention(confidence, all_right(self.Y, self.predictions), accuracy, sureness=sureness)

    def coverage(self, confidence: float = 0.9) -> list[SetCoverage]:
        """The performance of prediction sets with this confidence, overall and by class.

        Empty without conformal scores.
        """
        if self.log_probabilities is None:
            return []
        results, scores = [], self.fitted.conformal_scores()
        for by_class in (False, True):
            inside = scores.accepted(self.log_probabilities, confidence, by_class=by_class)
            results.append(set_coverage(inside, self.Y, confidence, by_class=by_class))
        return results

    @lazy_property
    def drift(self) -> TrainingDrift | None:
        """Whether these documents are like the training documents; None if that cannot be tested."""
        return find_training_drift(self.fitted, self.documents, self.Y)

    def mistakes(self, limit: int = 10) -> list[Mistake]:
        """The mistakes with the highest confidence, one for each document."""
        return find_mistakes(self, limit)

    def explain_mistake(self, mistake: Mistake) -> Explanation | None:
        """An explanation of the mistake: the wrong class against the true one, if there is one of each."""
        labels = {str(label): label for label in self.fitted.classes}
        if mistake.wrong not in labels:
            return None
        against = labels.get(mistake.true[0]) if len(mistake.true) == 1 and not mistake.missed else None
        return self.fitted.explain(self._document(mistake.row), labels[mistake.wrong], against=against)

    def text(self, row: int) -> str:
        """The text of a document; empty if documents are rows of counts."""
        document = self._document(row)
        return document if isinstance(document, str) else ""

    def document_name(self, row: int) -> str:
        """The name of a document in reports."""
        return f"document {row + 1}" if self.ids is None else str(self.ids[row])

    def _document(self, row: int) -> Any:
        return self.documents[[row]] if self.fitted.token_rule is None else self.documents[row]

    def top_terms(self, limit: int = 10) -> dict[str, list[tuple[str, float]]]:
        """The strongest terms of each class; empty for models without such terms."""
        return {str(label): self.fitted.strongest_terms(label, limit) for label in self.fitted.classes}

    def render(self, format: str) -> str:
        """The evaluation as "html", "md", "json" or "txt"."""
        from unnaive.evaluation.evaluation_report import RENDERERS

        return RENDERERS[format](self)


def describe_model(fitted: FittedModel) -> str:
    """The model and all its settings that are not default, on one line.

    >>> from unnaive import TextClassifier
    >>> model = TextClassifier("multinomial", alpha=0.5, stem="porter").fit(["good ball", "fair vote"], [0, 1])
    >>> describe_model(model.fitted_)
    'multinomial naive Bayes, alpha 0.5, stem porter'
    """
    spec = fitted.spec
    changed = {
        name: value
        for name, value in spec.parameters().items()
        if name not in ("multilabel", "n_jobs") and not same_value(value, TRAINING_OPTIONS[name].default)
    }
    if isinstance(changed.get("optimise"), dict):
        changed["optimise"] = "costs"
    usual = TokenRule().to_dict()
    reading = {name: value for name, value in fitted.reading.items() if value != usual.get(name)}
    kinds = read_fields(reading.pop("fields", None))
    shown = spec.model.changed_settings() | reading | changed
    described = [spec.model.traits.title, *(describe_setting(name, value) for name, value in shown.items())]
    return ", ".join([*described, *([f"fields: {describe_fields(kinds)}"] if kinds else [])])


def _class_propensities(fitted: FittedModel, n_unknown: int) -> Floats | None:
    """The propensities from the training documents of each class; None if the model has not kept their numbers."""
    if fitted.counts is not None:
        sizes, n_docs = fitted.counts.counts.class_docs, fitted.counts.counts.n_docs
    elif fitted.documents is not None:
        sizes, n_docs = fitted.documents.class_docs, fitted.documents.n_docs
    else:
        return None
    return propensities(np.concatenate([sizes, np.zeros(n_unknown)]), int(n_docs))


def _add_columns(table: Floats, columns: int, value: float) -> Floats:
    """The table with columns of a constant value appended."""
    return table if not columns else np.hstack([table, np.full((len(table), columns), value)])
