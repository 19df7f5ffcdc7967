"""A classifier on a corpus → Evaluation, the values of a report; here as text, Markdown, JSON; report_page has HTML.

evaluation = Evaluation.of(classifier, corpus)
print(as_text(evaluation))
Path("report.html").write_text(evaluation_page(classifier, corpus), encoding="utf-8")
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.classifier import TextClassifier
from unnaive.core.labels import label_matrix, single_labels
from unnaive.core.links import LINKS, probabilities
from unnaive.errors import BadData
from unnaive.evaluation.calibration import Reliability, reliability
from unnaive.evaluation.measures import Evidence, measure_called
from unnaive.evaluation.plots import Ranking
from unnaive.evaluation.tally import Tally, class_sizes, confusion, membership
from unnaive.evaluation.training import comparable
from unnaive.explain import Explanation, explain, strongest_terms
from unnaive.models.catalogue import find_model
from unnaive.reading.corpus import Corpus
from unnaive.types import Floats, Sparse

ONE_LABEL = (
    "accuracy", "macro-f1", "weighted-f1", "macro-precision", "macro-recall", "auc", "reciprocal-rank",
    "breakeven-micro", "breakeven-macro", "log-loss", "brier", "ece",
)  # fmt: skip
MANY_LABELS = (
    "micro-f1", "macro-f1", "micro-precision", "micro-recall", "accuracy", "auc", "11-point", "micro-f1@1",
    "breakeven-micro", "breakeven-macro", "log-loss", "brier", "ece",
)  # fmt: skip


@dataclass(frozen=True)
class Mistake:
    """A document that got a class it does not have, or missed one that it has.

    `confidence` is the probability of being wrong so, or where there are no probabilities the lead of the wrong score.
    """

    row: int
    given: tuple[str, ...]
    true: tuple[str, ...]
    wrong: str
    missed: bool
    confidence: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a classifier said of a corpus, and what is true.

    Y, predictions: (n_docs, n_classes) 0/1 sparse; scores, probabilities: dense. `uncalibrated` are the probabilities
    before calibration, if there was one. Classes of the corpus that the classifier does not know come last, score −∞,
    and are never given: they count as the mistakes that they are.
    """

    name: str
    model: str
    classes: tuple[str, ...]
    unknown: tuple[str, ...]
    Y: Sparse
    scores: Floats
    predictions: Sparse
    probabilities: Floats | None
    uncalibrated: Floats | None
    seconds: float
    n_terms: int

    @classmethod
    def of(cls, classifier: TextClassifier, corpus: Corpus) -> Evaluation:
        """Let the classifier read the corpus."""
        if not len(corpus):
            raise BadData(f"{corpus.name} has no documents; give at least one to evaluate on")
        known = [str(label) for label in classifier.classes_.tolist()]
        unknown = tuple(sorted(set(corpus.classes) - set(known)))
        started = time.perf_counter()
        scores = classifier.scores(corpus.texts)
        seconds = time.perf_counter() - started
        probable = LINKS[classifier.scorer_.link].log_odds is not None or classifier.temperature_ is not None
        raw = None
        if classifier.temperature_ is not None and LINKS[classifier.scorer_.link].log_odds is not None:
            raw = probabilities(classifier.scorer_.link, scores, exclusive=classifier.form_ == "single")
        classes = (*known, *unknown)
        return cls(
            name=corpus.name,
            model=describe(classifier),
            classes=classes,
            unknown=unknown,
            Y=label_matrix(corpus.labels, classes),
            scores=_padded(comparable(classifier.scorer_.link, scores), len(unknown), -np.inf),
            predictions=_given(classifier.labels_of(scores), known, len(classes)),
            probabilities=_padded(classifier.probabilities(scores), len(unknown), 0.0) if probable else None,
            uncalibrated=None if raw is None else _padded(raw, len(unknown), 0.0),
            seconds=seconds,
            n_terms=len(classifier.vocabulary_),
        )

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    @property
    def exclusive(self) -> bool:
        """Whether every document has exactly one class, and is given one."""
        return single_labels(self.Y) is not None and single_labels(self.predictions) is not None

    @cached_property
    def tally(self) -> Tally:
        """Right and wrong decisions."""
        return Tally.of(self.Y, self.predictions)

    @cached_property
    def measures(self) -> dict[str, float]:
        """The measures that apply, by name; those that are undefined here are left out."""
        evidence = Evidence(membership(self.Y), self.scores, self.predictions, self.probabilities)
        names = [measure_called(name) for name in (ONE_LABEL if self.exclusive else MANY_LABELS)]
        values = {one.name: one(evidence) for one in names if getattr(evidence, one.needs) is not None}
        return {name: value for name, value in values.items() if math.isfinite(value)}

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Documents of true class i that were given class j (n_classes, n_classes)."""
        return np.asarray(confusion(self.Y, self.predictions).toarray(), np.int64)

    def confused(self, limit: int = 10) -> list[tuple[str, str, int]]:
        """(true, given, documents) of the pairs that are confused most; with one label each, or none otherwise."""
        if not self.exclusive:
            return []
        off = self.confusion - np.diag(np.diag(self.confusion))
        order = np.argsort(-off, axis=None, kind="stable")[:limit]
        pairs = [divmod(int(at), len(self.classes)) for at in order]
        return [(self.classes[i], self.classes[j], int(off[i, j])) for i, j in pairs if off[i, j]]

    def rankings(self, limit: int = 4) -> list[Ranking]:
        """Precision and recall pooled over all decisions, and of the largest classes."""
        truth = membership(self.Y)
        columns = truth.tocsc()
        largest = np.argsort(-class_sizes(truth), kind="stable")[:limit]
        pooled = Ranking.of("all, pooled", self.scores.ravel(), self.scores[truth.nonzero()])
        each = [
            Ranking.of(self.classes[c], self.scores[:, c], self.scores[columns[:, [c]].nonzero()[0], c])
            for c in largest
            if class_sizes(truth)[c]
        ]
        return [pooled, *each] if len(self.classes) > 1 else each

    def calibration(self) -> dict[str, Reliability]:
        """The calibration curve, before and after calibration if there was one; none without probabilities."""
        if self.probabilities is None:
            return {}
        if self.uncalibrated is None:
            return {"as given": reliability(self.Y, self.probabilities)}
        before = reliability(self.Y, self.uncalibrated)
        return {"before calibration": before, "after calibration": reliability(self.Y, self.probabilities)}

    def mistakes(self, limit: int = 10) -> list[Mistake]:
        """The mistakes made with most confidence, one for each document."""
        truth, given = membership(self.Y), membership(self.predictions)
        surprise = self._surprise(truth)
        off = csr_array(abs(truth - given))
        off.eliminate_zeros()
        rows, columns = off.nonzero()
        order = np.lexsort((columns, rows, -surprise[rows, columns]))
        best = {int(rows[at]): int(columns[at]) for at in reversed(order)}  # the last one in is the worst of its row
        ranked = sorted(best.items(), key=lambda item: -surprise[item])[:limit]
        return [self._mistake(row, column, float(surprise[row, column])) for row, column in ranked]

    def _surprise(self, truth: Sparse) -> Floats:
        """How sure the classifier was of each decision, were it wrong (n_docs, n_classes)."""
        said = self.probabilities if self.probabilities is not None else self.scores
        true = truth.toarray() != 0
        if self.exclusive:  # the lead of a wrong class over the true one; a missed class is the same mistake
            of_truth = np.where(true, said, -np.inf).max(axis=1, keepdims=True)
            lead = said if self.probabilities is not None else said - of_truth
            return np.where(true, -np.inf, lead)
        return np.where(true, 1 - said if self.probabilities is not None else -said, said)

    def _mistake(self, row: int, column: int, confidence: float) -> Mistake:
        def names(table: Sparse) -> tuple[str, ...]:
            return tuple(self.classes[c] for c in table[[row]].indices)

        true = names(membership(self.Y))
        missed = self.classes[column] in true
        return Mistake(row, names(membership(self.predictions)), true, self.classes[column], missed, confidence)


def describe(classifier: TextClassifier) -> str:
    """The model and what it was told, on one line."""
    model = find_model(classifier.model)
    settings = {**classifier.get_params(), **classifier.__dict__.get("_settings", {})}
    defaults = TextClassifier(classifier.model).get_params()
    told = [f"{name}={value}" for name, value in settings.items() if name in defaults and value != defaults[name]]
    return ", ".join([model.title, *told])


def explained(classifier: TextClassifier, corpus: Corpus, mistake: Mistake) -> Explanation | None:
    """Why the mistake was made: the wrong class against the true one where there is just one of each."""
    known = {str(label): label for label in classifier.classes_.tolist()}
    if mistake.wrong not in known:
        return None
    against = known.get(mistake.true[0]) if len(mistake.true) == 1 and not mistake.missed else None
    return explain(classifier, corpus.texts[mistake.row], known[mistake.wrong], against=against)


def top_terms(classifier: TextClassifier, limit: int = 10) -> dict[str, list[tuple[str, float]]]:
    """The terms that speak most for each class; none for models that are not linear."""
    return {str(label): strongest_terms(classifier, label, limit) for label in classifier.classes_.tolist()}


def by_size(evaluation: Evaluation) -> list[int]:
    """Class numbers, largest first."""
    return [int(c) for c in np.argsort(-evaluation.tally.support, kind="stable")]


def class_rows(evaluation: Evaluation) -> Iterator[tuple[str, float, float, float, int]]:
    """Name, precision, recall, F1 and true documents of each class, the largest first."""
    tally = evaluation.tally
    for c in by_size(evaluation):
        yield (
            evaluation.classes[c],
            float(tally.precision[c]),
            float(tally.recall[c]),
            float(tally.f1[c]),
            int(tally.support[c]),
        )


def as_text(evaluation: Evaluation) -> str:
    """The measures and the classes, for a terminal."""
    wide = max(len(name) for name in ("class", *evaluation.classes, *evaluation.measures))
    lines = [
        f"{evaluation.name}: {len(evaluation):,} documents, {len(evaluation.classes)} classes",
        evaluation.model,
        "",
    ]
    lines += [f"{name:<{wide}}  {value:.4f}" for name, value in evaluation.measures.items()]
    lines += ["", f"{'class':<{wide}}  precision  recall      F1  documents"]
    for name, precision, recall, f1, size in class_rows(evaluation):
        lines.append(f"{name:<{wide}}     {precision:.4f}  {recall:.4f}  {f1:.4f}  {size:>9,}")
    return "\n".join(lines)


def as_markdown(evaluation: Evaluation) -> str:
    """The measures and the classes as Markdown tables."""
    head = (
        f"# {evaluation.name}\n\n{evaluation.model}; {len(evaluation):,} documents, {len(evaluation.classes)} classes."
    )
    measures = _markdown(("measure", "value"), [(name, f"{value:.4f}") for name, value in evaluation.measures.items()])
    rows = [(name, *(f"{x:.4f}" for x in values), f"{size}") for name, *values, size in class_rows(evaluation)]
    classes = _markdown(("class", "precision", "recall", "F1", "documents"), rows)
    pairs = [(true, given, str(n)) for true, given, n in evaluation.confused()]
    confused = "\n\n" + _markdown(("true", "given", "documents"), pairs) if pairs else ""
    return f"{head}\n\n{measures}\n\n{classes}{confused}\n"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Plain values, for JSON."""
    return {
        "data": evaluation.name,
        "model": evaluation.model,
        "documents": len(evaluation),
        "unknown_classes": list(evaluation.unknown),
        "measures": evaluation.measures,
        "classes": [
            {"class": name, "precision": precision, "recall": recall, "f1": f1, "documents": size}
            for name, precision, recall, f1, size in class_rows(evaluation)
        ],
        "confused": [{"true": true, "given": given, "documents": n} for true, given, n in evaluation.confused()],
    }


def evaluation_page(classifier: TextClassifier, corpus: Corpus, **settings: Any) -> str:
    """The report as one self-contained HTML page; see report_page.evaluation_page for the settings."""
    from unnaive.evaluation import report_page

    return report_page.evaluation_page(classifier, corpus, **settings)


def _padded(table: Floats, columns: int, value: float) -> Floats:
    return table if not columns else np.hstack([table, np.full((len(table), columns), value)])


def _given(labels: Any, classes: Sequence[str], n_classes: int) -> Sparse:
    """What `predict` gave, in whatever form, as 0/1 (n_docs, n_classes)."""
    if issparse(labels) or (isinstance(labels, np.ndarray) and labels.ndim == 2):
        Y = csr_array(labels)
    else:
        sets = [(str(one),) if not isinstance(one, tuple) else tuple(map(str, one)) for one in labels]
        Y = label_matrix(sets, classes)
    return csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n_classes))
