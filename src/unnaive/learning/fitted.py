"""FittedModel is the fitted state, one immutable value.

TextClassifier and the estimators predict and explain through it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.lazy import lazy_property
from unnaive.base.mapped_file import MappedFile
from unnaive.base.read_only import read_only
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Label
from unnaive.data.document_register import Register
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.packed_documents import PackedDocuments
from unnaive.data.sample_weights import check_sample_weight
from unnaive.data.source_section import SourceSection
from unnaive.data.targets import label_sets, read_targets
from unnaive.data.text_hashes import TextHashes
from unnaive.learning.calibration import Calibration
from unnaive.learning.conformal import ConformalScores
from unnaive.learning.decisions import Argmax, Decision
from unnaive.learning.followed import Followed
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.learnt import Learnt, Provenance
from unnaive.learning.novelty import UNDECIDED
from unnaive.learning.score_methods import ScoreMethods
from unnaive.learning.top_labels import TopLabels, find_top_labels
from unnaive.linear.links import LINKS, joint_log_probabilities
from unnaive.linear.score_documents import CountRows, DocumentReader, TextDocuments
from unnaive.linear.scorer import Scorer
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unnaive.learning.explanation import Explanation


@dataclass(frozen=True, eq=False)
class FittedModel(ScoreMethods):
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
    source         what the reader of the training files notes for the next files; kept and passed on, unread
    followed       what it has learnt from growing files with `update --follow`; None if nothing
    register       hashes of the learnt documents, if requested
    text_hashes    short hashes of the learnt texts, if `unnaive train` kept them
    n_jobs         number of threads that read texts; None for all cores. Not stored
    conformal      scores of held-out documents, for prediction sets; None if no documents were held out
    provenance     how the parts of the scorer were selected, for models that select among candidates
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
    source: SourceSection | None = None
    followed: Followed | None = None
    register: Register | None = None
    text_hashes: TextHashes | None = None
    n_jobs: int | None = None
    conformal: ConformalScores | None = None
    provenance: Provenance = field(default_factory=Provenance)
    file: MappedFile | None = None

    def __post_init__(self) -> None:
        read_only(self)

    @property
    def takes_best_score(self) -> bool:
        """Whether each document gets only the class with the highest score, so that scores need not be kept."""
        return isinstance(self.decision, Argmax) and not self.multilabel

    @property
    def statistic(self) -> NamedCounts | KeptDocuments | PackedDocuments | None:
        """The kept counts or documents, with which it can learn more and forget; None if nothing was kept."""
        if self.file is not None:
            self.file.check()
        return self.documents if self.documents is not None else self.counts

    @property
    def learnt(self) -> Learnt:
        """What its model learnt, to train it again with its selection or to adjust it."""
        return Learnt(self.scorer, provenance=self.provenance)

    @property
    def choice_kept(self) -> bool:
        """Whether it was trained with a selection made on other documents, without a new search (`search="keep"`)."""
        return self.provenance.choice_kept

    @property
    def reading(self) -> dict[str, Any]:
        """The options of reading texts; empty for rows of counts."""
        if self.token_rule is None:
            return {}
        return self.scorer.reading() or self.token_rule.to_dict()

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

    def predict(self, documents: Any, *, out_of_scope_rate: float | None = None) -> Any:
        """The labels of each document in the type of the training labels; label sets are sorted by score.

        With `out_of_scope_rate`, a document gets the label "undecided" if its novelty is higher than that of all but
        this share of the held-out documents.
        """
        if out_of_scope_rate is not None:
            return self._predict_or_unknown(documents, out_of_scope_rate)
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

    def predict_label_set(
        self, documents: Any, coverage: float = 0.9, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Label, ...]]:
        """For each document, a set of labels that contains the right one with this coverage, the most probable first.

        If new documents are from the distribution of the training data, this share of them has its label in the set. In
        multilabel data, this share of the documents with one label, and of those with more, has all its labels in the
        set. `by_class` guarantees it for every class; rare classes are covered together (`conformal.describe_sets`
        names them). A set may be empty: if the model is right more often than the coverage asks, the least certain
        documents get none. With `at_least_one`, a set always contains the first label that `predict` returns.
        """
        label_sets: list[tuple[Label, ...]] = []
        for scores in self.reader.score_chunks(documents):
            label_sets += self.sets_of(scores, coverage, by_class=by_class, at_least_one=at_least_one)
        return label_sets

    def out_of_scope_score(self, documents: Any) -> Floats:
        """Novelty of each document (n_docs,): the share of held-out documents that are more like one of the classes.

        For documents like those of training, 5 % of the values are above 0.95; out-of-scope texts are mostly near 1.
        """
        chunks = [self.out_of_scope_scores(scores) for scores in self.reader.score_chunks(documents)]
        return np.concatenate([np.zeros(0), *chunks])

    def _predict_or_unknown(self, documents: Any, rate: float) -> NDArray[Any]:
        self.check_tells_out_of_scope(rate)
        parts: list[NDArray[Any]] = [np.zeros(0, object)]
        for scores in self.reader.score_chunks(documents):
            labels = np.asarray(self.labels_of(scores)).astype(object)
            labels[self.out_of_scope_rows(scores, rate)] = UNDECIDED
            parts.append(labels)
        return np.concatenate(parts)

    def predict_joint_log_proba(self, documents: Any) -> Floats:
        """log p(c, d) up to a constant per document for exclusive classes; else log p of each class."""
        if self.multilabel:
            return self.predict_log_proba(documents)
        return self._collect(documents, lambda scores: joint_log_probabilities(self.scorer.link, scores))

    def decision_function(self, documents: Any) -> Floats:
        """Scores (n_docs, n_classes).

        For two exclusive classes the log-odds of the second (n_docs,); of margins, their difference.
        """
        scores = self.scores(documents)
        if self.multilabel or len(self.classes) != 2:
            return scores
        link = LINKS[self.scorer.link]
        if link.exclusive and link.log_odds is not None:  # so that the lead ranks as the probabilities do
            scores = link.log_odds(scores)
        return np.asarray(scores[:, 1] - scores[:, 0])

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
        from unnaive.learning.explain import explain_document

        return explain_document(self, document, label, against=against)

    def strongest_terms(self, label: Label, limit: int = 10) -> list[tuple[str, float]]:
        """The strongest terms of a class, with what one occurrence adds to its score; empty if the model cannot say."""
        chosen = self.class_index(label)
        names = self.reader.term_names
        strongest = self.scorer.strongest_terms(chosen, self._mentions(chosen), limit)
        return [(names[column], value) for column, value in strongest]

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
