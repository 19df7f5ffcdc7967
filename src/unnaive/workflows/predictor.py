"""Predictor: texts → output, as a record for each or as columns of labels, values and known terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.base.types import Floats, RowValues
    from unnaive.learning.fitted import FittedModel
    from unnaive.learning.top_labels import TopLabels

REJECTED = "undecided"  # the label of rejected and of novel documents, unless --undecided names another


@dataclass
class Predictor:
    """Texts → records: labels with values, other requested output, and the number of known terms.

    top_k    number of best classes per document; every: all of them, in the order of the classes
    undecided  the label of documents without a known term; min_probability: minimum probability of the best label
    out_of_scope_rate  share of held-out documents less like the classes than a labelled one; None for any
    coverage  coverage of the prediction set; None for no set
    show_text  whether records have the text, to show its beginning
    """

    fitted: FittedModel
    top_k: int = 1
    every: bool = False
    explain: bool = False
    undecided: str | None = None
    min_probability: float | None = None
    coverage: float | None = None
    by_class: bool = False
    at_least_one: bool = False
    show_text: bool = False
    out_of_scope_rate: float | None = None
    seen: int = 0
    guessed: int = 0

    @property
    def kind(self) -> str:
        """The name of the value of a label: "probability" or "score"."""
        return self.fitted.value_name

    def check(self) -> None:
        """Raise an error if documents are to be rejected by probabilities that the model does not have."""
        from unnaive.base.errors import UnnaiveError

        if self.min_probability is not None and not self.fitted.probabilistic:
            raise UnnaiveError(f"{self.fitted.spec.model.traits.title} gives no probabilities to reject by; "
                               "train it with --calibrate temperature")  # fmt: skip
        if self.out_of_scope_rate is not None:
            self.fitted.check_tells_out_of_scope(self.out_of_scope_rate)
        if self.coverage is None and (self.by_class or self.at_least_one):
            raise UnnaiveError("--by-class and --at-least-one are for sets of labels; add --coverage 0.9")
        if self.coverage is not None:
            from unnaive.learning.conformal import check_coverage

            check_coverage(self.coverage)
            self.fitted.conformal_scores()

    @property
    def one_label(self) -> bool:
        """Whether every document gets only the best class, or a label for none."""
        return self.fitted.takes_best_score

    def predict_columns(self, texts: Sequence[str]) -> tuple[list[str], list[float], list[int]]:
        """(labels, their values, known_terms) of documents with `one_label`, whose scores fit in memory.

        Thread-safe; the caller calls `count_seen`.
        """
        import numpy as np

        top = self._top_labels(texts)
        if top is not None:
            first = top.first_cells()
            best, shown, n_known = top.top.classes[first], top.values[first], top.known
            highest = shown.copy()
        else:
            scores, values, n_known = self._score(texts, self._clear_lead)
            best = scores.argmax(axis=1)
            shown = values[np.arange(len(best)), best]
            highest = values.max(axis=1)
        labels = [self._names[code] for code in best.tolist()]
        rejected = {}
        if self.min_probability is not None:
            rejected = dict.fromkeys(np.flatnonzero(shown < self.min_probability).tolist(), self.undecided or REJECTED)
        if self.out_of_scope_rate is not None:
            novel = self.fitted.out_of_scope_rows(scores, self.out_of_scope_rate)
            rejected |= dict.fromkeys(np.flatnonzero(novel).tolist(), self.undecided or REJECTED)
        if self.undecided is not None:
            rejected |= dict.fromkeys(np.flatnonzero(n_known == 0).tolist(), self.undecided)
        for row, label in rejected.items():
            labels[row], shown[row] = label, highest[row]
        return labels, shown.tolist(), n_known.tolist()

    def _top_labels(self, texts: Sequence[str]) -> TopLabels | None:
        """The output for documents if it does not need the scores of all classes; else None."""
        return self.fitted.top_labels(texts, self.top_k) if self._by_best else None

    @cached_property
    def _by_best(self) -> bool:
        """Whether the output can be computed without the scores of all classes."""
        from unnaive.learning.top_labels import tells_by_best

        needs_all = self.every or self.coverage is not None or self.out_of_scope_rate is not None
        return not needs_all and tells_by_best(self.fitted)

    def chunk_size(self) -> int:
        """The number of documents predicted at a time: scores of many classes are large."""
        from unnaive.linear.score_documents import CHUNK_TEXTS, chunk_size

        return CHUNK_TEXTS if self._by_best else chunk_size(len(self.fitted.classes))

    @cached_property
    def _names(self) -> list[str]:
        return [str(label) for label in self.fitted.classes]

    @cached_property
    def _clear_lead(self) -> float:
        """The lead of the best score from which its probability is 1 to six digits."""
        from unnaive.workflows.prediction_columns import WRITTEN_AS_ONE

        seen = self.kind != "probability" or (
            self.min_probability is not None and self.min_probability > WRITTEN_AS_ONE
        )
        seen = seen or self.out_of_scope_rate is not None
        return float("inf") if seen else self.fitted.clear_lead(WRITTEN_AS_ONE)

    def _score(self, texts: Sequence[str], clear: float = float("inf")) -> tuple[Floats, Floats, Any]:
        """(scores, output values, known_terms) of documents."""
        scores, n_known = self.fitted.scores_and_known(texts, clear)
        return scores, self.fitted.probabilities(scores) if self.kind == "probability" else scores, n_known

    def predict(self, ids: Sequence[str], texts: Sequence[str]) -> list[RowValues]:
        """A record for each document; all scores are in memory."""
        top = self._top_labels(texts)
        if top is not None:
            return self._records_of_top(top, ids, texts)
        scores, values, known_terms = self._score(texts)
        self.count_seen(known_terms.tolist())
        label_sets = self.fitted.label_sets_of(scores)
        shown = min(self.top_k, len(self.fitted.classes))
        order = self.fitted.best_classes(scores, values, shown) if self.top_k > 1 else None
        first = self.fitted.first_labels(scores) if self.explain else ()
        sets, novel = None, [False] * len(scores)
        if self.out_of_scope_rate is not None:
            novel = self.fitted.out_of_scope_rows(scores, self.out_of_scope_rate).tolist()
        if self.coverage is not None:
            sets = self.fitted.sets_of(
                scores, self.coverage, by_class=self.by_class, at_least_one=self.at_least_one
            )  # fmt: skip
        records = []
        for row, (name, n_known) in enumerate(zip(ids, known_terms.tolist(), strict=True)):
            record = self._record(scores[row], values[row], list(label_sets[row]), n_known, novel[row])
            record["id"] = name
            if self.show_text:
                record["text"] = texts[row]
            if sets is not None:
                record["set"] = list(sets[row])
            if order is not None:
                record["top"] = [(self.fitted.classes[c], float(values[row, c])) for c in order[row]]
            if self.explain:
                record["why"] = self.fitted.explain(texts[row], self.fitted.classes[first[row]])
            records.append(record)
        return records

    def _records_of_top(self, top: TopLabels, ids: Sequence[str], texts: Sequence[str]) -> list[RowValues]:
        """The same for documents of which only the best classes were scored."""
        import numpy as np

        self.count_seen(top.known.tolist())
        classes, first, starts = self.fitted.classes, top.first_cells(), top.top.starts.tolist()
        order = top.best_cells(self.top_k) if self.top_k > 1 else None
        records = []
        for row, (name, n_known) in enumerate(zip(ids, top.known.tolist(), strict=True)):
            cells = np.arange(starts[row], starts[row + 1])
            assigned = cells[top.given[cells]]
            labels, shown = [classes[c] for c in top.top.classes[assigned]], top.values[assigned].tolist()
            record = self._decided(labels, shown, n_known, float(top.values[cells].max()))
            record["id"] = name
            if self.show_text:
                record["text"] = texts[row]
            if order is not None:
                record["top"] = [(classes[top.top.classes[cell]], float(top.values[cell])) for cell in order[row]]
            if self.explain:
                record["why"] = self.fitted.explain(texts[row], classes[top.top.classes[first[row]]])
            records.append(record)
        return records

    def _record(self, scores: Floats, values: Floats, labels: list[Any], n_known: int, novel: bool) -> RowValues:
        """Labels, the one with the highest score first, unless rejected."""
        index_of = self._places
        if len(labels) > 1:
            labels.sort(key=lambda label: -scores[index_of[label]])
        shown = [float(values[index_of[label]]) for label in labels]
        record = self._decided(labels, shown, n_known, float(values.max()), novel)
        if self.every:
            record["all"] = values.tolist()
        return record

    def _decided(
        self, labels: list[Any], shown: list[float], n_known: int, highest: float, novel: bool = False
    ) -> RowValues:
        """Labels and their values; if rejected, the highest value of any class. `given` are those before."""
        given = list(zip(labels, shown, strict=True))
        if self.undecided is not None and not n_known:
            labels, shown = [self.undecided], [highest]
        elif novel or (self.min_probability is not None and max(shown, default=0.0) < self.min_probability):
            labels, shown = [self.undecided or REJECTED], [highest]
        return {"labels": labels, "values": shown, "given": given, "kind": self.kind, "known_terms": n_known}

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label: column for column, label in enumerate(self.fitted.classes)}

    def count_seen(self, n_known: list[int]) -> None:
        """Count predicted documents with this number of known terms."""
        self.seen += len(n_known)
        self.guessed += n_known.count(0)

    def describe_unknown(self) -> str | None:
        """A note about documents without a known term, if there are any."""
        from unnaive.base.errors import count_noun

        if not self.guessed:
            return None
        advice = "" if self.undecided is not None else "; --undecided LABEL gives them a label of their own"
        verb = "has" if self.guessed == 1 else "have"
        return (
            f"{self.guessed:,} of {count_noun(self.seen, 'document')} {verb} no word that the model knows "
            f"(known_terms 0){advice}"
        )
