"""The pool of a record, kept up to date with the decisions of this and of other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from unnaive.curation.labelling.asking import Strategy
from unnaive.curation.labelling.label_log import LabelRecord, RecordedAnswer
from unnaive.curation.labelling.label_model import LinearLearner
from unnaive.curation.labelling.record_tables import ANSWERS, CLASS_CHANGES
from unnaive.curation.labelling.texts_to_label import Floats32, TextPool
from unnaive.data.word_vectors import WordVectors
from unnaive.text.tokens import TokenRule


class FollowedRecord:
    """A record and the pool that follows it; safe to use from several threads, each with the lock.

    hints    the keywords of each class
    vectors  word vectors, whose means are further features of the linear model
    """

    pool: TextPool
    learner: LinearLearner

    def __init__(
        self, record: LabelRecord, *, strategy: Strategy | None = None,
        hints: Mapping[str, Sequence[str]] | None = None, threads: int | None = None,
        vectors: WordVectors | None = None,
    ) -> None:  # fmt: skip
        self.record, self.strategy = record, strategy or Strategy()
        self._hints, self._threads, self._vectors = dict(hints or {}), threads, vectors
        self._begin: Callable[[TextPool], Mapping[str, Floats32]] = lambda pool: {}  # scores of a model to start from
        self._begun: Mapping[str, Floats32] = {}
        self.lock = threading.RLock()
        self._seen = 0
        self._standing: dict[int, RecordedAnswer] = {}
        self.votes: dict[str, dict[int, RecordedAnswer]] = {}  # annotator → text → last answer that was not undone
        self.class_names = record.class_names()
        self._count_texts()
        self.sync()

    def _count_texts(self) -> None:
        """Count the texts of the record; their labels follow with `sync`."""
        record = self.record
        rule = TokenRule(language=record.setting("language") or "en", fields=record.fields())
        self.pool = TextPool(
            record.texts(), self.class_names.names, rule=rule, multilabel=record.multilabel, threads=self._threads,
            vectors=self._vectors,
        )  # fmt: skip
        self.pool.ends = record.text_ends()
        self.names = record.names()
        self.random_texts = self.strategy.random_texts(*self.pool.ends)
        self.pool.reserve(self.random_texts.reserved.tolist())
        self.learner = LinearLearner(self.pool)
        self._begun = self._begin(self.pool)
        self._name_classes()

    def _name_classes(self) -> None:
        """Give the classes of the pool their present names, with the keywords and the model that they start from."""
        names = self.class_names
        hints: dict[str, list[str]] = {}
        for label, words in self._hints.items():
            hints.setdefault(names.current(label), []).extend(words)
        start: dict[str, Floats32] = {}
        for label, scores in self._begun.items():
            name = names.current(label)
            start[name] = np.logaddexp(start[name], scores) if name in start else scores
        self.pool.set_hints(hints)
        self.pool.prior_scores = start
        self.pool.set_classes(list(dict.fromkeys([*names.names, *hints, *start])))

    def sync(self) -> None:
        """Read new decisions from the record, of this or another process."""
        with self.lock:
            new = self.record.decisions(self._seen)
            if not new:
                return
            if any(self._changes_all(answer) for answer in new):
                new = self._reread()
            self._seen = new[-1].id
            first_time = not self._standing
            classes_changed = self._follow(new)
            texts = dict.fromkeys(answer.text for answer in new if answer.text is not None)
            final = self.record.final() if first_time or len(texts) > 100 else None
            for text in texts:
                labels = self.record.final_of(text) if final is None else final.get(text)
                if labels != self.pool.labels_of(text):
                    self.pool.set_labels(text, labels)
            if classes_changed:
                self.class_names = self.record.class_names()
                self._name_classes()

    def _changes_all(self, answer: RecordedAnswer) -> bool:
        """Whether a decision changes the names of labels in earlier decisions, or the number of texts."""
        if answer.kind == "texts":
            return len(self.record) != len(self.pool)
        changed = self._standing.get(answer.undoes or 0, answer)
        return changed.kind == "rename" and bool(self._standing)

    def _reread(self) -> list[RecordedAnswer]:
        """Forget all decisions, count the texts again if there are more, and return all decisions."""
        self._standing, self.votes = {}, {}
        self.class_names = self.record.class_names()
        if len(self.record) != len(self.pool):
            self._count_texts()
        else:
            for text in [*self.pool.labels, *self.pool.measured]:
                self.pool.set_labels(text, None)
            self._name_classes()
        return self.record.decisions()

    def _follow(self, new: Sequence[RecordedAnswer]) -> bool:
        """Keep what stands after these decisions; return whether they change classes."""
        known_classes, changed = set(self.pool.classes), False
        lost: set[tuple[str, int]] = set()  # annotators and texts whose last answer was undone
        for answer in new:
            changed |= answer.kind == "undo" or answer.kind in CLASS_CHANGES
            if answer.kind == "undo":
                gone = self._standing.pop(answer.undoes or 0, None)
                if gone is not None and gone.text is not None and gone.kind in ANSWERS:
                    self.votes.get(gone.who, {}).pop(gone.text, None)
                    lost.add((gone.who, gone.text))
                continue
            self._standing[answer.id] = answer
            if answer.kind in ANSWERS and answer.text is not None:
                changed |= not known_classes.issuperset(answer.labels)
                self.votes.setdefault(answer.who, {})[answer.text] = answer
        for answer in self._standing.values() if lost else ():
            if answer.text is not None and answer.kind in ANSWERS and (answer.who, answer.text) in lost:
                self.votes.setdefault(answer.who, {})[answer.text] = answer
        return changed

    def start_from(self, begin: Callable[[TextPool], Mapping[str, Floats32]]) -> None:
        """Add the scores of a model, by class, to those of the pool; `begin` computes them for a pool."""
        with self.lock:
            self._begin, self._begun = begin, begin(self.pool)
            self._name_classes()
