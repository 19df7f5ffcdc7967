"""FittedModel is the fitted state, one immutable value.

TextClassifier and the estimators predict and explain through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.mapped_file import MappedFile
from unnaive.base.read_only import read_only
from unnaive.base.sparse import csr_array, vstack
from unnaive.base.types import Floats, Ids, Label, Sparse
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.packed_documents import PackedDocuments
from unnaive.data.register import Register
from unnaive.data.sample_weights import check_sample_weight
from unnaive.data.targets import class_codes, label_sets, read_targets
from unnaive.data.text_hashes import TextHashes
from unnaive.io.columns import Columns
from unnaive.learning.calibration import Calibration
from unnaive.learning.conformal import MOST, ConformalScores, Ladder
from unnaive.learning.decisions import Argmax, Decision
from unnaive.learning.explain import explain_document
from unnaive.learning.explanation import Explanation
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.novelty import UNKNOWN, check_unknown_rate, explain_absence, novelty_scores
from unnaive.learning.top_labels import TopLabels, find_top_labels
from unnaive.linear.documents import CountRows, DocumentReader, TextDocuments
from unnaive.linear.links import clear_lead, joint_log_probabilities, log_probabilities, probabilities
from unnaive.linear.scorer import Scorer
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class FittedModel:
    """The fitted state of a model, and every method that predicts.

    TextClassifier, the estimators and the service each hold one and replace it by one assignment; a method that reads
    it once sees one version of the model, whatever other threads do. All its arrays are read-only (base/read_only.py);
    copy an array before you write to it.

    spec           the model with its settings, and how it was trained
    classes        the labels, sorted
    target_type    the type of the labels in training: "single", "sets", "indicator" or "sparse"; predictions have the
                   same
    scorer         documents to scores
    decision       scores to labels
    calibration    scores to calibrated probabilities; None: probabilities are those of the scorer's link
    token_rule     how texts become terms; None if documents are rows of counts
    vocabulary     the terms in use, the columns of the scorer; None if token_rule is None
    feature_names  names of the columns, if rows of counts had names
    counts         the sums it was computed from, for the whole vocabulary; None if they were not kept
    documents      the counted documents it was trained on, for models that learn from documents or were tuned on
                   held-out documents; None if they were not kept
    columns        the columns of the training file, used as defaults for the next file
    register       hashes of the learnt documents, if requested
    text_hashes    short hashes of the learnt texts, if `unnaive train` kept them
    n_jobs         number of threads that read texts; None for all cores. Not stored
    conformal      scores of held-out documents, for prediction sets; None if no documents were held out
    file           the mapped file that contains its arrays; every use checks whether the file was changed
    """

    spec: TrainingSpec
    classes: tuple[Label, ...]
    target_type: str
    scorer: Scorer
    decision: Decision
    calibration: Calibration | None = None
    token_rule: TokenRule | None = None
    vocabulary: Vocabulary | None = None
    feature_names: tuple[str, ...] | None = None
    counts: NamedCounts | None = None
    documents: KeptDocuments | PackedDocuments | None = None
    columns: Columns | None = None
    register: Register | None = None
    text_hashes: TextHashes | None = None
    n_jobs: int | None = None
    conformal: ConformalScores | None = None
    file: MappedFile | None = None

    def __post_init__(self) -> None:
        read_only(self)

    @property
    def multilabel(self) -> bool:
        """Whether a document may have any number of labels."""
        return self.target_type != "single"

    @property
    def takes_best_score(self) -> bool:
        """Whether each document gets only the class with the highest score, so that scores need not be kept."""
        return isinstance(self.decision, Argmax) and not self.multilabel

    @property
    def probabilistic(self) -> bool:
        """Whether the model has probabilities: from the scorer itself, or from a calibration."""
        return self.calibration is not None or self.scorer.probabilistic

    @property
    def value_name(self) -> str:
        """The name of the value of a class: "probability" if the model has probabilities, else "score"."""
        return "probability" if self.probabilistic else "score"

    @property
    def statistic(self) -> NamedCounts | KeptDocuments | PackedDocuments | None:
        """The kept counts or documents, with which it can learn more and forget; None if nothing was kept."""
        if self.file is not None:
            self.file.check()
        return self.documents if self.documents is not None else self.counts

    @property
    def choice_kept(self) -> bool:
        """Whether it was trained with a selection made on other documents, without a new search (`keep_choice`)."""
        return bool(getattr(self.scorer, "choice_kept", False))

    @property
    def chosen_on(self) -> int | None:
        """The number of documents that a kept selection was made on; None if nothing was kept or selected."""
        return getattr(self.scorer, "chosen_on", None)

    @property
    def n_approximate(self) -> int:
        """How many documents it learnt or forgot approximately since it was trained; 0 for an exact model."""
        return int(getattr(self.scorer, "n_approximate", 0))

    @property
    def reading(self) -> dict[str, Any]:
        """The options of reading texts; empty for rows of counts."""
        if self.token_rule is None:
            return {}
        return self.scorer.reading() or self.token_rule.to_dict()

    @lazy_property
    def class_array(self) -> NDArray[Any]:
        """The classes as an array (n_classes,)."""
        return np.array(self.classes)

    @property
    def reader(self) -> DocumentReader:
        """The object that turns documents into scores."""
        if self.file is not None:
            self.file.check()
        return self._reader

    @lazy_property
    def _reader(self) -> DocumentReader:
        if self.token_rule is None or self.vocabulary is None:
            return CountRows(self.scorer, self.feature_names)
        reader: DocumentReader | None = self.scorer.text_reader(self.vocabulary, self.classes, self.n_jobs)
        return reader or TextDocuments(self.scorer, self.token_rule, self.vocabulary, self.n_jobs)

    def scores(self, documents: Any) -> Floats:
        """Raw scores of every class (n_docs, n_classes), also for two classes; `scorer.link` says what they mean."""
        return self._collect(documents, lambda scores: scores)

    def known_terms(self, documents: Any) -> NDArray[np.int64]:
        """The number of known words and pairs of words in each document (n_docs,), with repetitions.

        With none of them, a prediction is a guess by the prior or by character n-grams, which count only if a model has
        no other terms.
        """
        return self.reader.known_terms(documents)

    def scores_and_known(self, documents: Any, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """`scores` and `known_terms` of documents that fit in memory, in one reading.

        If the best class leads every other by more than `clear`, its score may be 0 and the others −∞: this is faster,
        and enough for callers of `clear_lead`.
        """
        return self.reader.scores_and_known(documents, clear)

    def clear_lead(self, p: float) -> float:
        """The lead of the best score over every other that guarantees a probability of at least p.

        ∞ if no lead does.
        """
        if self.multilabel:
            return np.inf
        if self.calibration is not None:
            return self.calibration.clear_lead(self.scorer.link, len(self.classes), p)
        return clear_lead(self.scorer.link, len(self.classes), p)

    def predict(self, documents: Any, *, unknown_rate: float | None = None) -> Any:
        """The labels of each document in the type of the training labels; label sets are sorted by score.

        With `unknown_rate`, novel documents get the label "unknown": those less like the classes than all but this
        share of the held-out documents.
        """
        if unknown_rate is not None:
            return self._predict_or_unknown(documents, unknown_rate)
        if self.takes_best_score:
            best = self.reader.best_classes(documents)
            if best is None:
                chunks = self.reader.score_chunks(documents)
                best = np.concatenate([np.zeros(0, np.int64), *(scores.argmax(axis=1) for scores in chunks)])
            return self.class_array[best]
        if self.decision.per_batch:
            return self.labels_of(self.scores(documents))
        top = self.top_labels(documents)
        if top is not None:
            return self._shaped(top.decisions(), lambda: top.label_sets(self.classes))
        return self._labels(self.reader.score_chunks(documents))

    def top_labels(self, documents: Any, k: int = 1) -> TopLabels | None:
        """The k best classes of each document, computed without the scores of all; None if the model cannot do that."""
        return find_top_labels(self, documents, k)

    def predict_proba(self, documents: Any) -> Floats:
        """p of each class (n_docs, n_classes); rows sum to one unless the target is multilabel."""
        return self._collect(documents, self.probabilities)

    def predict_log_proba(self, documents: Any) -> Floats:
        """log p of each class (n_docs, n_classes), exact also where p underflows."""
        return self._collect(documents, self.log_probabilities)

    def predict_set(
        self, documents: Any, confidence: float = 0.9, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Label, ...]]:
        """For each document, a set of labels that contains the right one with this confidence, the most probable first.

        For documents from the distribution of the training data, this share has its label in the set. For multilabel
        documents, this share has all its labels in the set: of documents with one label, and of those with more.
        `by_class` guarantees it for every class; rare classes are covered together (`conformal.describe_sets` names
        them). A set may be empty: if the model is right more often than the confidence asks, the least certain
        documents get none. With `at_least_one`, a set always contains the first label that `predict` returns.
        """
        label_sets: list[tuple[Label, ...]] = []
        for scores in self.reader.score_chunks(documents):
            label_sets += self.sets_of(scores, confidence, by_class=by_class, at_least_one=at_least_one)
        return label_sets

    def sets_of(
        self, scores: Floats, confidence: float, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Label, ...]]:
        """The sets of `predict_set` from the result of `scores`."""
        log_p = self.log_probabilities(scores)
        inside = self.conformal_scores().accepted(log_p, confidence, by_class=by_class)
        if at_least_one:
            inside[np.arange(len(inside)), self.first_labels(scores)] = True
        order = np.argsort(-log_p, axis=1, kind="stable")
        return [tuple(self.classes[c] for c in row if chosen[c]) for row, chosen in zip(order, inside, strict=True)]

    def conformal_scores(self) -> ConformalScores:
        """The scores of held-out documents, or an error that says how to get them."""
        if self.conformal is None:
            more = "calibrate='temperature' (--calibrate temperature)"
            if self.spec.model.keeps_choice:
                more = "more documents, of which it can hold some out"
            raise UnnaiveError(
                f"this {self.spec.model.title} has no scores of held-out documents, which sets of labels need; "
                f"train it with {more}"
            )
        return self.conformal

    def novelty(self, documents: Any) -> Floats:
        """How unlike all classes each document is (n_docs,): the share of held-out documents that are less unlike.

        Of documents like those of training, 5 % are above 0.95; out-of-scope texts are mostly near 1.
        """
        chunks = [self.novelty_shares(scores) for scores in self.reader.score_chunks(documents)]
        return np.concatenate([np.zeros(0), *chunks])

    def novelty_shares(self, scores: Floats) -> Floats:
        """`novelty` from the result of `scores`."""
        return self._novelty_ladder().share_below(self.novelty_of(scores), MOST)

    def novelty_of(self, scores: Floats) -> Floats:
        """The nonnegative score that novelty is ranked by, from the result of `scores`.

        An error if the model has none.
        """
        novelty = novelty_scores(self, scores)
        if novelty is None:
            raise explain_absence(self)
        return novelty

    def unknown_rows(self, scores: Floats, rate: float) -> NDArray[np.bool_]:
        """Which documents are out of scope (n_docs,), at this rate of false alarms on held-out documents."""
        check_unknown_rate(rate)
        return np.asarray(self.novelty_of(scores) > self._novelty_ladder().threshold(1 - rate, MOST))

    def check_tells_novelty(self, rate: float) -> None:
        """Raise an error, before any document is read, if `unknown_rows` is not possible with this rate."""
        check_unknown_rate(rate)
        self._novelty_ladder()

    @property
    def tells_novelty(self) -> bool:
        """Whether the model supports `novelty` and `unknown_rate`."""
        return self.conformal is not None and self.conformal.novelty is not None

    def _novelty_ladder(self) -> Ladder:
        """Novelty of held-out documents, or an error that says why there is none."""
        if self.conformal is None or self.conformal.novelty is None:
            raise explain_absence(self)
        return self.conformal.novelty

    def _predict_or_unknown(self, documents: Any, rate: float) -> NDArray[Any]:
        self.check_tells_novelty(rate)
        parts: list[NDArray[Any]] = [np.zeros(0, object)]
        for scores in self.reader.score_chunks(documents):
            labels = np.asarray(self.labels_of(scores)).astype(object)
            labels[self.unknown_rows(scores, rate)] = UNKNOWN
            parts.append(labels)
        return np.concatenate(parts)

    @property
    def calibrated(self) -> bool:
        """Whether probabilities were fitted to held-out documents, by a calibration or by a model that selects."""
        return self.calibration is not None or (self.spec.model.keeps_choice and self.conformal is not None)

    def predict_joint_log_proba(self, documents: Any) -> Floats:
        """log p(c, d) up to a constant per document for exclusive classes; else log p of each class."""
        if self.multilabel:
            return self.predict_log_proba(documents)
        return self._collect(documents, lambda scores: joint_log_probabilities(self.scorer.link, scores))

    def decision_function(self, documents: Any) -> Floats:
        """Scores (n_docs, n_classes).

        For two exclusive classes the lead of the second (n_docs,), as in scikit-learn.
        """
        scores = self.scores(documents)
        if self.multilabel or len(self.classes) != 2:
            return scores
        return np.asarray(scores[:, 1] - scores[:, 0])

    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities from the result of `scores`."""
        if self.calibration is not None:
            return self.calibration.probabilities(self.scorer.link, scores)
        return probabilities(self.scorer.link, scores, exclusive=not self.multilabel)

    def log_probabilities(self, scores: Floats) -> Floats:
        """Log-probabilities from the result of `scores`."""
        if self.calibration is not None:
            return self.calibration.log_probabilities(self.scorer.link, scores)
        return log_probabilities(self.scorer.link, scores, exclusive=not self.multilabel)

    def decide(self, scores: Floats) -> Sparse:
        """Predicted labels as a 0/1 matrix (n_docs, n_classes), from the result of `scores`."""
        return self.decision.decide(self.probabilities(scores) if self.decision.on_probabilities else scores)

    def first_labels(self, scores: Floats) -> Ids:
        """The index of the first label that `predict` returns for each document (n_docs,).

        This is the predicted label with the highest score or, if no label is predicted, the class with the highest
        score.
        """
        if isinstance(self.decision, Argmax):
            return np.asarray(scores.argmax(axis=1))
        order = np.argsort(-scores, axis=1, kind="stable")
        decided = np.take_along_axis(self.decide(scores).toarray() > 0, order, axis=1)
        return np.asarray(order[np.arange(len(order)), decided.argmax(axis=1)])

    def best_classes(self, scores: Floats, values: Floats, limit: int) -> Ids:
        """Indices of at most `limit` classes of each document: the first of `first_labels`, then by value.

        scores  the result of `scores` (n_docs, n_classes)
        values  the values to rank by: scores or probabilities
        """
        first = self.first_labels(scores)[:, None]
        if limit == 1:
            return first
        ranked = np.minimum(values, np.finfo(np.float64).max)  # so that no other value is as high as that of the first
        np.put_along_axis(ranked, first, np.inf, axis=1)
        if limit < ranked.shape[1] // 4:
            part = np.sort(np.argpartition(-ranked, limit - 1, axis=1)[:, :limit], axis=1)
            return np.take_along_axis(part, np.argsort(-np.take_along_axis(ranked, part, 1), 1, "stable"), 1)
        return np.argsort(-ranked, axis=1, kind="stable")[:, :limit]

    def label_sets_of(self, scores: Floats) -> list[tuple[Label, ...]]:
        """The labels of each document in the order of the classes, from the result of `scores`."""
        if isinstance(self.decision, Argmax):
            return [(self.classes[best],) for best in scores.argmax(axis=1).tolist()]
        return label_sets(self.decide(scores), self.classes)

    def labels_of(self, scores: Floats) -> Any:
        """The labels that `predict` returns, from the result of `scores`."""
        return self._labels(iter([scores]))

    def subset_accuracy(self, documents: Any, labels: Any, n_docs: int, sample_weight: Any = None) -> float:
        """The weighted share of the `n_docs` documents whose labels are all right."""
        truth, predictions = (
            label_sets(targets.Y, targets.classes)
            for targets in (
                read_targets(labels, n_docs, multilabel=True if self.multilabel else None),
                read_targets(self.predict(documents), n_docs, multilabel=True if self.multilabel else None),
            )
        )
        right = [set(true) == set(predicted) for true, predicted in zip(truth, predictions, strict=True)]
        return float(np.average(right, weights=check_sample_weight(sample_weight, n_docs)))

    def explain(self, document: Any, label: Label | None = None, *, against: Label | None = None) -> Explanation:
        """Evidence for and against a class by term, by default for the first label that `predict` returns."""
        return explain_document(self, document, label, against=against)

    def strongest_terms(self, label: Label, limit: int = 10) -> list[tuple[str, float]]:
        """The strongest terms of a class, with what one occurrence adds to its score; empty if the model cannot say."""
        chosen = self.class_index(label)
        names = self.reader.term_names
        strongest = self.scorer.strongest_terms(chosen, self._mentions(chosen), limit)
        return [(names[column], value) for column, value in strongest]

    def class_index(self, label: Label) -> int:
        """The index of a class, or an error that lists the classes."""
        return int(class_codes([label], self.classes)[0])

    def _mentions(self, chosen: int) -> Floats | None:
        """Occurrences of each term in use per document of the class (n_terms,); None if counts were not kept."""
        if self.counts is None or not self.counts.counts.class_docs[chosen]:
            return None
        row = csr_array(self.counts.counts.class_terms[[chosen], :]).toarray()[0]
        if self.counts.vocabulary is not None and self.vocabulary is not self.counts.vocabulary:
            row = row[self.counts.vocabulary.ids(self.vocabulary or ())]
        return np.asarray(row / self.counts.counts.class_docs[chosen])

    def _collect(self, documents: Any, of_scores: Callable[[Floats], Floats]) -> Floats:
        chunks = [of_scores(scores) for scores in self.reader.score_chunks(documents)]
        return np.concatenate([np.zeros((0, len(self.classes))), *chunks])

    def _labels(self, chunks: Iterator[Floats]) -> Any:
        """The decision on scores (n_docs, n_classes), in the type of the training labels."""
        if self._gives_sets:
            parts = (label_sets(self.decide(scores), self.classes, scores) for scores in chunks)
            return [names for part in parts for names in part]
        rows = [self.decide(scores) for scores in chunks]
        return self._shaped(csr_array(vstack(rows)) if rows else csr_array((0, len(self.classes)), dtype=np.int64))

    @property
    def _gives_sets(self) -> bool:
        """Whether predictions are a tuple of labels for each document."""
        return self.target_type == "sets" or not (self.multilabel or self.decision.exclusive)

    def _shaped(self, Y: Sparse, sets: Callable[[], list[tuple[Label, ...]]] | None = None) -> Any:
        """Labels Y (n_docs, n_classes) in the type of the training labels; `sets` builds label sets."""
        if sets is not None and self._gives_sets:
            return sets()
        if not self.multilabel:
            return self.class_array[Y.indices]
        return Y.toarray() if self.target_type == "indicator" else Y

    def __getstate__(self) -> dict[str, Any]:
        """The fields to pickle, without derived values."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle or copy; arrays come back writeable and are made read-only again."""
        self.__dict__.update(state)
        read_only(self)


def top_terms(model: Any, label: Label, limit: int = 10) -> list[tuple[str, float]]:
    """The strongest terms of a class, with what one occurrence adds to its score.

    `model` is a fitted TextClassifier, estimator or FittedModel. Empty for models that cannot say.

    >>> from unnaive import TextClassifier
    >>> classifier = TextClassifier("multinomial").fit(["ball ball goal", "vote law"], ["sport", "politics"])
    >>> top_terms(classifier, "sport", 1)[0][0]
    'ball'
    """
    fitted: FittedModel = getattr(model, "fitted_", model)
    return fitted.strongest_terms(label, limit)
