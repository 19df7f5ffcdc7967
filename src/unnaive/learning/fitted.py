"""FittedModel is all that was learnt, one immutable value: every entrance predicts and explains through it."""

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
from unnaive.learning.explain import Explanation, explain_document
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
    """What was learnt, and every method that predicts.

    TextClassifier, the estimators and the service each hold one and replace it whole, by one assignment; a method
    that reads it once sees one version of the model, whatever other threads do meanwhile. All arrays inside it are
    read-only from the moment that it is made (base/read_only.py); what needs to write into one copies it first.

    spec           the model with its settings, and how it was trained
    classes        the labels, sorted
    target_type    the form in which labels came: "single", "sets", "indicator" or "sparse"; predictions leave in it
    scorer         documents to scores
    decision       scores to labels
    calibration    scores to calibrated probabilities; None: probabilities are those of the scorer's link
    token_rule     how texts become terms; None where documents come as rows of counts
    vocabulary     the terms in use, the columns of the scorer; None with token_rule
    feature_names  of columns, where rows of counts had names
    counts         the sums that it was made of, for the whole vocabulary; None where they were not kept
    documents      the counted documents that it was made of, of models that learn from them or were tuned on some that
                   were held out; None where not kept
    columns        of the file that it was trained on: a convenience for reading the next one
    register       hashes of the documents learnt, where that was asked for
    text_hashes    of the texts learnt, short ones, where `unnaive train` kept them
    n_jobs         threads that read texts; None for all cores. Not stored
    conformal      how held-out documents scored, for sets of labels with a confidence; None where none were held out
    file           whose pages its arrays are, where it was mapped; every use looks whether somebody wrote into it
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
        """Whether each document gets the class with the highest score, and no other: scores need not be kept."""
        return isinstance(self.decision, Argmax) and not self.multilabel

    @property
    def probabilistic(self) -> bool:
        """Whether there are probabilities: from the scorer itself, or because it was calibrated."""
        return self.calibration is not None or self.scorer.probabilistic

    @property
    def value_name(self) -> str:
        """What a class is shown with: "probability" if the model has probabilities, else "score"."""
        return "probability" if self.probabilistic else "score"

    @property
    def statistic(self) -> NamedCounts | KeptDocuments | PackedDocuments | None:
        """What it was made of, where that was kept: it can then learn more and forget."""
        if self.file is not None:
            self.file.check()
        return self.documents if self.documents is not None else self.counts

    @property
    def choice_kept(self) -> bool:
        """Whether it was trained with what was selected for other documents, without a search (`keep_choice`)."""
        return bool(getattr(self.scorer, "choice_kept", False))

    @property
    def chosen_on(self) -> int | None:
        """How many documents a choice that was kept was made on; None where nothing was kept or chosen."""
        return getattr(self.scorer, "chosen_on", None)

    @property
    def n_approximate(self) -> int:
        """How many documents it learnt or forgot approximately since it was trained; 0 for an exact model."""
        return int(getattr(self.scorer, "n_approximate", 0))

    @property
    def reading(self) -> dict[str, Any]:
        """How texts are read, by option; empty for rows of counts."""
        if self.token_rule is None:
            return {}
        return self.scorer.reading() or self.token_rule.to_dict()

    @lazy_property
    def class_array(self) -> NDArray[Any]:
        """The classes as an array (n_classes,)."""
        return np.array(self.classes)

    @property
    def reader(self) -> DocumentReader:
        """How documents become scores."""
        if self.file is not None:
            self.file.check()
        return self._reader

    @lazy_property
    def _reader(self) -> DocumentReader:
        if self.token_rule is None or self.vocabulary is None:
            return CountRows(self.scorer, self.feature_names)
        own: DocumentReader | None = self.scorer.text_reader(self.vocabulary, self.classes, self.n_jobs)
        return own or TextDocuments(self.scorer, self.token_rule, self.vocabulary, self.n_jobs)

    def scores(self, documents: Any) -> Floats:
        """Raw scores of every class (n_docs, n_classes), also of two; `scorer.link` tells what they mean."""
        return self._collect(documents, lambda scores: scores)

    def known_terms(self, documents: Any) -> NDArray[np.int64]:
        """How many mentions of words, or pairs of words, that the model knows each document has (n_docs,).

        With none of them a prediction is a guess by the prior, or by pieces of words. Those count only where a model
        has no other terms.
        """
        return self.reader.known_terms(documents)

    def scores_and_known(self, documents: Any, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """What `scores` and `known_terms` give, of documents few enough to be held at once: they are read once.

        Where the best class leads every other by more than `clear`, it may get 0 and the others −∞: sooner found, and
        enough for who asked `clear_lead`.
        """
        return self.reader.scores_and_known(documents, clear)

    def clear_lead(self, p: float) -> float:
        """How far the best score must lead every other for a probability of at least p; ∞ where leads do not tell."""
        if self.multilabel:
            return np.inf
        if self.calibration is not None:
            return self.calibration.clear_lead(self.scorer.link, len(self.classes), p)
        return clear_lead(self.scorer.link, len(self.classes), p)

    def predict(self, documents: Any, *, unknown_rate: float | None = None) -> Any:
        """The labels of each document in the form in which labels came; label sets by score, the highest first.

        With `unknown_rate`, documents that are more unlike all classes than all but this share of held-out documents
        get the label "unknown".
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
        """What is said of documents by their k best classes, without the scores of all; None where that cannot be."""
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
        """The labels of each document that hold the right one with this confidence, the most probable first.

        Of documents drawn like those of training, that share has its label in the set. Of multilabel documents, that
        share has all its labels in the set, of those with one label and of those with several alike. `by_class` holds
        for every class by itself; rare ones are covered together (`conformal.describe_sets` names them). A set may be
        empty: where the model is right more often than the confidence asks, those it is least sure of get none. With
        `at_least_one` a set always holds the first label that `predict` gives.
        """
        found: list[tuple[Label, ...]] = []
        for scores in self.reader.score_chunks(documents):
            found += self.sets_of(scores, confidence, by_class=by_class, at_least_one=at_least_one)
        return found

    def sets_of(
        self, scores: Floats, confidence: float, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Label, ...]]:
        """What `scores` gave, as the sets that `predict_set` gives."""
        log_p = self.log_probabilities(scores)
        inside = self.conformal_scores().accepted(log_p, confidence, by_class=by_class)
        if at_least_one:
            inside[np.arange(len(inside)), self.first_labels(scores)] = True
        order = np.argsort(-log_p, axis=1, kind="stable")
        return [tuple(self.classes[c] for c in row if chosen[c]) for row, chosen in zip(order, inside, strict=True)]

    def conformal_scores(self) -> ConformalScores:
        """How held-out documents scored, or an error that says how to get them."""
        if self.conformal is None:
            more = "calibrate='temperature' (--calibrate temperature)"
            if self.spec.model.keeps_choice:
                more = "more documents, of which it can hold some out"
            raise UnnaiveError(
                f"this {self.spec.model.title} kept no scores of held-out documents, which sets with a confidence "
                f"need; train it with {more}"
            )
        return self.conformal

    def novelty(self, documents: Any) -> Floats:
        """How unlike all classes each document is, from 0 to 1 (n_docs,): the share of held-out documents less so.

        Of documents like those of training, 5 % are above 0.95; texts of no class are mostly near 1.
        """
        chunks = [self.novelty_shares(scores) for scores in self.reader.score_chunks(documents)]
        return np.concatenate([np.zeros(0), *chunks])

    def novelty_shares(self, scores: Floats) -> Floats:
        """What `scores` gave, as `novelty`."""
        return self._novelty_ladder().share_below(self.novelty_of(scores), MOST)

    def novelty_of(self, scores: Floats) -> Floats:
        """What `scores` gave, as the score from 0 on that novelty is ranked by; an error where nobody can tell."""
        found = novelty_scores(self, scores)
        if found is None:
            raise explain_absence(self)
        return found

    def unknown_rows(self, scores: Floats, rate: float) -> NDArray[np.bool_]:
        """Which documents are of no class (n_docs,), where no more than this share of held-out documents would be."""
        check_unknown_rate(rate)
        return np.asarray(self.novelty_of(scores) > self._novelty_ladder().threshold(1 - rate, MOST))

    def check_tells_novelty(self, rate: float) -> None:
        """An error, before any document is read, if `unknown_rows` cannot be told with this rate."""
        check_unknown_rate(rate)
        self._novelty_ladder()

    @property
    def tells_novelty(self) -> bool:
        """Whether `novelty` and `unknown_rate` can be asked of it."""
        return self.conformal is not None and self.conformal.novelty is not None

    def _novelty_ladder(self) -> Ladder:
        """Novelty of held-out documents, or an error that says why there is none."""
        if self.conformal is None or self.conformal.novelty is None:
            raise explain_absence(self)
        return self.conformal.novelty

    def _predict_or_unknown(self, documents: Any, rate: float) -> NDArray[Any]:
        self.check_tells_novelty(rate)
        found: list[NDArray[Any]] = [np.zeros(0, object)]
        for scores in self.reader.score_chunks(documents):
            labels = np.asarray(self.labels_of(scores)).astype(object)
            labels[self.unknown_rows(scores, rate)] = UNKNOWN
            found.append(labels)
        return np.concatenate(found)

    @property
    def calibrated(self) -> bool:
        """Whether probabilities were fitted to held-out documents, by a calibration or by a model that chooses."""
        return self.calibration is not None or (self.spec.model.keeps_choice and self.conformal is not None)

    def predict_joint_log_proba(self, documents: Any) -> Floats:
        """log p(c, d) up to a constant of the document, of exclusive classes; else log p of each class by itself."""
        if self.multilabel:
            return self.predict_log_proba(documents)
        return self._collect(documents, lambda scores: joint_log_probabilities(self.scorer.link, scores))

    def decision_function(self, documents: Any) -> Floats:
        """Scores (n_docs, n_classes); of two exclusive classes the lead of the second (n_docs,), as in scikit-learn."""
        scores = self.scores(documents)
        if self.multilabel or len(self.classes) != 2:
            return scores
        return np.asarray(scores[:, 1] - scores[:, 0])

    def probabilities(self, scores: Floats) -> Floats:
        """What `scores` gave, as probabilities."""
        if self.calibration is not None:
            return self.calibration.probabilities(self.scorer.link, scores)
        return probabilities(self.scorer.link, scores, exclusive=not self.multilabel)

    def log_probabilities(self, scores: Floats) -> Floats:
        """What `scores` gave, as logarithms of probabilities."""
        if self.calibration is not None:
            return self.calibration.log_probabilities(self.scorer.link, scores)
        return log_probabilities(self.scorer.link, scores, exclusive=not self.multilabel)

    def decide(self, scores: Floats) -> Sparse:
        """What `scores` gave, as a 0/1 matrix (n_docs, n_classes)."""
        return self.decision.decide(self.probabilities(scores) if self.decision.on_probabilities else scores)

    def first_labels(self, scores: Floats) -> Ids:
        """The class that stands for each document (n_docs,): the first that `predict` gives, by its place.

        Of the labels that are decided it is the one with the highest score, and where none is decided, the class with
        the highest score of all.
        """
        if isinstance(self.decision, Argmax):
            return np.asarray(scores.argmax(axis=1))
        order = np.argsort(-scores, axis=1, kind="stable")
        decided = np.take_along_axis(self.decide(scores).toarray() > 0, order, axis=1)
        return np.asarray(order[np.arange(len(order)), decided.argmax(axis=1)])

    def best_classes(self, scores: Floats, values: Floats, limit: int) -> Ids:
        """The places of at most `limit` classes of each document, the first of `first_labels` and then by value.

        scores  what `scores` gave (n_docs, n_classes)
        values  what classes are ranked by: the same, or probabilities
        """
        first = self.first_labels(scores)[:, None]
        if limit == 1:
            return first
        ranked = np.minimum(values, np.finfo(np.float64).max)  # so that none is as high as the first
        np.put_along_axis(ranked, first, np.inf, axis=1)
        if limit < ranked.shape[1] // 4:
            part = np.sort(np.argpartition(-ranked, limit - 1, axis=1)[:, :limit], axis=1)
            return np.take_along_axis(part, np.argsort(-np.take_along_axis(ranked, part, 1), 1, "stable"), 1)
        return np.argsort(-ranked, axis=1, kind="stable")[:, :limit]

    def label_sets_of(self, scores: Floats) -> list[tuple[Label, ...]]:
        """What `scores` gave, as the labels of each document in the order of the classes."""
        if isinstance(self.decision, Argmax):
            return [(self.classes[best],) for best in scores.argmax(axis=1).tolist()]
        return label_sets(self.decide(scores), self.classes)

    def labels_of(self, scores: Floats) -> Any:
        """What `scores` gave, as the labels that `predict` gives."""
        return self._labels(iter([scores]))

    def subset_accuracy(self, documents: Any, labels: Any, n_docs: int, sample_weight: Any = None) -> float:
        """The share of the `n_docs` documents whose labels are all right, weighted."""
        truth, given = (
            label_sets(targets.Y, targets.classes)
            for targets in (
                read_targets(labels, n_docs, multilabel=True if self.multilabel else None),
                read_targets(self.predict(documents), n_docs, multilabel=True if self.multilabel else None),
            )
        )
        right = [set(one) == set(two) for one, two in zip(truth, given, strict=True)]
        return float(np.average(right, weights=check_sample_weight(sample_weight, n_docs)))

    def explain(self, document: Any, label: Label | None = None, *, against: Label | None = None) -> Explanation:
        """Which terms spoke for and against a class, by default the first that `predict` gives."""
        return explain_document(self, document, label, against=against)

    def strongest_terms(self, label: Label, limit: int = 10) -> list[tuple[str, float]]:
        """The terms that speak most for a class, with what a mention adds to its score; empty where nobody can tell."""
        chosen = self.class_index(label)
        names = self.reader.term_names
        found = self.scorer.strongest_terms(chosen, self._mentions(chosen), limit)
        return [(names[column], value) for column, value in found]

    def class_index(self, label: Label) -> int:
        """The place of a class, or an error that lists the classes."""
        return int(class_codes([label], self.classes)[0])

    def _mentions(self, chosen: int) -> Floats | None:
        """Mentions of each term in use in a document of the class (n_terms,); None where counts were not kept."""
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
        """What is decided of scores (n_docs, n_classes), in the form in which labels came."""
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
        """Labels Y (n_docs, n_classes) in the form in which labels came; `sets` makes label sets where that is it."""
        if sets is not None and self._gives_sets:
            return sets()
        if not self.multilabel:
            return self.class_array[Y.indices]
        return Y.toarray() if self.target_type == "indicator" else Y

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the fields, not what was derived from them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What is unpickled or copied: arrays come back writeable, and are protected again."""
        self.__dict__.update(state)
        read_only(self)


def top_terms(model: Any, label: Label, limit: int = 10) -> list[tuple[str, float]]:
    """The terms that speak most for a class, with what a mention adds to its score.

    `model` is a fitted TextClassifier, estimator or FittedModel. Empty for models that cannot tell.

    >>> from unnaive import TextClassifier
    >>> classifier = TextClassifier("multinomial").fit(["ball ball goal", "vote law"], ["sport", "politics"])
    >>> top_terms(classifier, "sport", 1)[0][0]
    'ball'
    """
    fitted: FittedModel = getattr(model, "fitted_", model)
    return fitted.strongest_terms(label, limit)
