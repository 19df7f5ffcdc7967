"""A labelling session: the record, the pool that follows it, and the current text of each annotator.

The terminal and the page are thin layers over this module. Answers go to the record first; the pool then reads the
record, including answers of other processes, so that several processes on one record agree.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unnaive.base.errors import BadData, count_noun
from unnaive.curation.labelling.ahead import Ahead, TextsAhead
from unnaive.curation.labelling.asking import Question, QuestionState, Strategy, more_like, next_question
from unnaive.curation.labelling.class_names import ClassNames
from unnaive.curation.labelling.following import FollowedRecord
from unnaive.curation.labelling.label_log import BULK, IMPORTED, RANDOM_WAYS, LabelRecord, RecordedAnswer
from unnaive.curation.labelling.random_sample import sampled_texts
from unnaive.curation.labelling.record_tables import ANSWERS, DECIDED
from unnaive.data.word_vectors import WordVectors
from unnaive.learning.explanation import Explanation
from unnaive.text.sections import shown_record

DOUBLE_SHARE = 0.1  # share of questions that a second annotator answers too
RETEMPER = 10  # labels between two fits of the temperature


@dataclass(frozen=True)
class Shown:
    """A text as shown to an annotator, with the prediction for it and why it was selected.

    probabilities  by class, the highest first; empty without a model
    suggested      the best class that was not rejected; None if there is none
    ticked         the classes that are ticked when the text appears; multilabel data only
    given          the labels that the text has already, if it is shown again
    seen           the last decision on the text when it was shown; an answer is refused if there is a later one
    blind          whether it is shown without a suggestion, which would influence the answer: it measures the model, or
                   whether two people agree
    predicted      the best class and its probability, also of a text that is shown without them; None without a model
    """

    text: int
    name: str
    body: str
    way: str
    probabilities: Mapping[str, float]
    suggested: str | None
    ticked: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    seen: int = 0
    blind: bool = False
    predicted: tuple[str, float] | None = None

    @property
    def probability(self) -> float | None:
        """The probability of the suggested class."""
        return None if self.suggested is None else self.probabilities.get(self.suggested)


class Labelling(FollowedRecord):
    """A record, its pool, and the open questions; safe to use from several threads.

    double   share of questions that another annotator has answered already; agreement is measured on them
    again    ask about skipped texts again
    vectors  word vectors, whose means are further features of the linear model
    """

    def __init__(
        self, record: LabelRecord, *, strategy: Strategy | None = None,
        hints: Mapping[str, Sequence[str]] | None = None, double: float = DOUBLE_SHARE, again: bool = False,
        threads: int | None = None, vectors: WordVectors | None = None,
    ) -> None:  # fmt: skip
        self.double, self.again = double, again
        self._open: dict[str, Question] = {}
        self._shown_to: dict[str, Shown] = {}  # annotator → the text as it was shown last
        self._ahead, self._turned = TextsAhead(), dict[str, Ahead]()  # of an annotator: the next text; it, when open
        self._temperature: tuple[int, float] = (-RETEMPER, 1.0)  # labels at the last fit, of naive Bayes
        self._queues: dict[str, list[int]] = {}
        self.wish: dict[str, str] = {}  # annotator → the class whose texts are shown
        self.among: dict[str, np.ndarray] = {}  # annotator → search results; only these are shown
        super().__init__(record, strategy=strategy, hints=hints, threads=threads, vectors=vectors)

    def follow_queue(self, who: str, texts: Sequence[int]) -> None:
        """Show these texts in this order, labelled or not."""
        self._queues[who] = list(texts)

    # Asking.

    def show(self, who: str) -> Shown | None:
        """The next text of an annotator; None if none is left, and `why_done` says why."""
        with self.lock:
            self.sync()
            question = self._open.get(who)
            turned = self._turned.pop(who, None)  # shown once as it was chosen: that is what the annotator sees
            if question is None or not self._still_open(who, question):
                question = self._choose(who)
                if question is None:
                    self._open.pop(who, None)
                    return None
                self._open[who] = question
            chosen = None
            if turned is not None and turned.question is question and self._is_current(turned):
                chosen = turned.shown
            if chosen is None or not (chosen.probabilities or chosen.blind):
                now = self._shown(who, question)  # the last answer may be the first that allows a prediction
                chosen = now if chosen is None or now.probabilities else chosen
            self._shown_to[who] = chosen
            return chosen

    def show_ahead(self, who: str, after: int) -> Shown | None:
        """The text that follows the present one, `after`; None if there is none, or if `after` is not open.

        It is shown as it is here when the present text was answered. Others get it before, if nothing else is left.
        """
        with self.lock:
            self.sync()
            present, ahead = self._open.get(who), self._ahead.get(who)
            if present is None or present.text != after:
                return None
            taken = set(self.record.leased(who, time.time()))
            if ahead is None or ahead.after != after or ahead.question.text in taken or not self._is_current(ahead):
                self._ahead.drop(who)
                question = self._find(who, taken | self._ahead.of_others(who), after)
                if question is None:
                    return None
                shown = self._shown(who, question)
                ahead = Ahead(after, question, shown, tuple(self.pool.classes), len(self.pool))
                self._ahead.put(who, ahead)
            return ahead.shown

    def _is_current(self, ahead: Ahead) -> bool:
        """Whether neither the text nor the classes changed since a text was chosen ahead."""
        same = ahead.classes == tuple(self.pool.classes) and ahead.n_texts == len(self.pool)
        return same and self.record.last_decision(ahead.question.text) == ahead.shown.seen

    def _close(self, who: str, answered: int | None = None) -> None:
        """End the present question; once it was answered, the text chosen ahead is the next one."""
        self._open.pop(who, None)
        self._turned.pop(who, None)
        if answered is None:
            self._ahead.drop(who)
            return
        ahead = self._ahead.take(who, answered)
        if ahead is not None and ahead.question.way != "second" and self._second_is_due(who):
            return  # others have labelled texts since it was chosen
        if ahead is not None and self._is_current(ahead) and self._holds(who, ahead.question.text):
            self._open[who], self._turned[who] = ahead.question, ahead

    def _second_is_due(self, who: str) -> bool:
        """Whether the next question is one that another annotator has answered."""
        votes = self.votes.get(who, {})
        seed = self._strategy_of(who).seed
        closed = votes.keys() | self.record.leased(who, time.time())
        return who not in self._queues and self._second(who, closed, len(votes), seed) is not None

    def _strategy_of(self, who: str) -> Strategy:
        return replace(self.strategy, seed=self.strategy.seed ^ zlib.crc32(who.encode()))

    def _still_open(self, who: str, question: Question) -> bool:
        again = question.way in ("undone", "chosen", "second", "queue", DECIDED)
        return again or (self.pool.labels_of(question.text) is None and self._holds(who, question.text))

    def _holds(self, who: str, text: int) -> bool:
        return self.record.lease(who, text, time.time())

    def _choose(self, who: str) -> Question | None:
        leased, ahead = set(self.record.leased(who, time.time())), self._ahead.of_others(who)
        while True:  # ends, since `_find` excludes the texts of `leased`, which grows, and `ahead` is emptied once
            question = self._find(who, leased | ahead)
            if question is None and ahead:
                ahead = set()  # nothing else is left
                continue
            if question is None or self._holds(who, question.text):
                return question
            leased.add(question.text)  # another process reserved it in the meantime

    def _find(self, who: str, leased: set[int], after: int | None = None) -> Question | None:
        """The next question; with `after`, the one that follows when that text is answered."""
        votes = self.votes.get(who, {})
        mine = {text for text, answer in votes.items() if not (self.again and answer.kind == "skip")}
        present = set() if after is None else {after}
        mine |= present
        number = len(votes.keys() | present)
        closed = {*self.pool.labels, *self.pool.measured, *mine, *leased}
        recent = [answer.text for answer in list(votes.values())[-10:] if answer.text is not None]
        state = QuestionState(closed, [*recent, *present], number, self.among.get(who))
        strategy = self._strategy_of(who)
        if who in self._queues:
            waiting = (text for text in self._queues[who] if text not in mine and text not in leased)
            return next((Question(text, "queue") for text in waiting), None)
        second = self._second(who, mine | leased, state.number, strategy.seed)
        if second is not None:
            return second
        if who in self.wish:
            return more_like(self.pool, self.wish[who], state)
        return next_question(self.pool, state, strategy, self.learner)

    def _second(self, who: str, closed: set[int], number: int, seed: int) -> Question | None:
        """Sometimes a text that one other annotator has labelled; never one of `closed`."""
        others = [votes for name, votes in self.votes.items() if name != who and name != IMPORTED]
        if not others or who in self.wish or who in self.among:
            return None
        draw = np.random.default_rng([seed, number, 2])
        if draw.random() >= self.double:
            return None
        times: dict[int, int] = {}
        for votes in others:
            for text, answer in votes.items():
                if answer.kind == "label":
                    times[text] = times.get(text, 0) + 1
        once = sorted(text for text, count in times.items() if count == 1 and text not in closed)
        return Question(once[int(draw.integers(len(once)))], "second") if once else None

    def _is_blind(self, question: Question) -> bool:
        """Whether a text is shown without a suggestion: a second answer, or a text that accuracy is measured on."""
        return question.way == "second" or (question.way != "queue" and question.text in self.pool.reserved)

    def _shown(self, who: str, question: Question) -> Shown:
        text, blind = question.text, self._is_blind(question)
        predicted = {} if question.way == "second" else self._probabilities(text)
        probabilities = {} if blind else predicted
        rejected = {
            label for answer in self._standing.values()
            if answer.kind == "reject" and answer.text == text and answer.who == who for label in answer.labels
        }  # fmt: skip
        left = [label for label in probabilities if label not in rejected]
        if not left and not blind:
            left = [label for label in self.pool.classes if label not in rejected][:1] if rejected else []
        before = self.votes.get(who, {}).get(text)
        ticked = tuple(label for label, share in probabilities.items() if share >= 0.5 and label not in rejected)
        if before is not None and before.kind == "label":
            ticked = before.labels
        if len(probabilities) < 2 and not self.pool.multilabel:
            probabilities = {}  # with a single class it is always 100 %
        return Shown(
            text, self.names[text], shown_record(self.pool.texts[text]), question.way, probabilities,
            left[0] if left else None, ticked if self.pool.multilabel else (),
            () if question.way == "second" else self.pool.labels_of(text) or (), self.record.last_decision(text), blind,
            next(iter(predicted.items()), None),
        )  # fmt: skip

    def _probabilities(self, text: int) -> dict[str, float]:
        """The probability of each class, by a model that has not learnt the label of the text."""
        if self.learner.model is not None:
            return self.learner.probabilities(text)
        return self.pool.probabilities(text, self.temperature())

    def temperature(self) -> float:
        """The temperature of naive Bayes, fitted again every few labels."""
        labelled = len(self.pool.labels)
        if abs(labelled - self._temperature[0]) >= RETEMPER:
            self._temperature = (labelled, self.pool.temperature())
        return self._temperature[1]

    def explain(self, shown: Shown, label: str | None = None) -> Explanation | None:
        """The explanation of the suggested class or another; None for an unknown class."""
        with self.lock:
            label = label or shown.suggested
            if label is None or shown.blind or label not in self.pool.classes:
                return None
            if not self.pool.known(self.pool.classes.index(label)):
                return None
            return self.learner.explain(shown.text, label, shown.probabilities.get(label))

    def why_done(self, who: str) -> str:
        """Why there is no text to show, in a sentence."""
        votes = self.votes.get(who, {})
        skipped = sum(answer.kind == "skip" for answer in votes.values())
        if who in self.among or who in self.wish:
            return "no text of this kind is left; leave the search to continue with the others"
        if skipped and not self.again:
            return f"all texts are done but {skipped:,} that you skipped; start with --again to see them"
        leased = len(self.record.leased(who, time.time()))
        if leased:
            return f"all texts are done but {leased} that others are labelling"
        return f"all {count_noun(len(self.pool), 'text')} are done"

    # Answering.

    def answer(
        self, who: str, text: int, kind: str, labels: Sequence[str] = (), seen: int | None = None
    ) -> RecordedAnswer:
        """Record an answer: "label" with labels, "skip", "flag", or "reject" with the label that is wrong.

        seen  the last decision on the text when it was shown; AlreadyDecided is raised if there is a later one
        """
        with self.lock:
            self.sync()
            labels = [self.class_names.current(label) for label in labels]  # as it is called now
            self._check(text, kind, labels)
            last = self._shown_to.get(who)
            shown = last if last is not None and last.text == text else None
            suggested, probability = (None, None) if shown is None else (shown.suggested, shown.probability)
            if shown is not None and shown.blind and shown.predicted is not None:
                suggested, probability = shown.predicted
            decision = self.record.add(
                who, kind, text, labels, suggested=suggested, probability=probability,
                way=shown.way if shown else "chosen", seen=seen,
            )  # fmt: skip
            self.sync()
            if kind != "reject":
                self._close(who, answered=text)
            return decision

    def leave(self, who: str) -> None:
        """Give back the text that is shown to an annotator, so that others can have it."""
        with self.lock:
            self._close(who)
            self.record.release(who)

    def _check_text(self, text: int) -> None:
        if not 0 <= text < len(self.pool):
            raise BadData(f"there is no text number {text}; there are {len(self.pool)}")

    def _check(self, text: int, kind: str, labels: Sequence[str]) -> None:
        self._check_text(text)
        if kind not in (*ANSWERS, "reject"):
            raise BadData(f"no answer is called {kind!r}; there are label, skip, flag and reject")
        if kind == "label" and not self.pool.multilabel and len(set(labels)) != 1:
            raise BadData(f"{len(set(labels))} labels came; one is expected, since the record is not multilabel")
        unknown = [label for label in labels if label not in self.pool.classes]
        if unknown:
            raise BadData(f"no class is called {unknown[0]!r}; add it first")

    def add_class(self, who: str, label: str, *, alike: bool = False) -> None:
        """Add a class; one that is spelt much like another is an AlikeClass error without `alike`."""
        label = label.strip()
        with self.lock:
            self.sync()
            ClassNames(self.pool.classes, self.class_names.renamed).check_new(label, alike=alike)
            self.record.change_class(who, "class", [label])
            self.sync()

    def change_class(self, who: str, kind: str, *names: str, merge: bool = False) -> None:
        """Rename, drop or describe a class, or set the guidelines; with `merge`, a class may get the name of another.

        kind, names  "rename", old and new name; "drop", name; "describe", name and words; "guidelines", words
        """
        with self.lock:
            self.sync()
            names = tuple(name.strip() for name in names)
            if kind == "rename":
                self.class_names.check_rename(*names, merge=merge)
            elif kind in ("drop", "describe") and names[0] not in self.class_names.names:
                raise BadData(f"no class is called {names[0]!r}")
            self.record.change_class(who, kind, names)
            self.sync()

    def undo(self, who: str) -> RecordedAnswer | None:
        """Undo the last decision of an annotator and show that text again; None if there is none."""
        with self.lock:
            self.sync()
            gone = self.record.undo(who)
            self.sync()
            self._ahead.drop(who)
            if gone is not None and gone.text is not None and not (gone.way or "").startswith(BULK):
                self._open[who] = Question(gone.text, gone.way or "undone")
                if gone.way is None or self.pool.labels_of(gone.text) is not None:
                    self._open[who] = Question(gone.text, "undone")
            return gone

    def open_text(self, who: str, text: int, *, decide: bool = False) -> None:
        """Show a text that was answered before, to be corrected, or with `decide`, to be decided by a reviewer."""
        with self.lock:
            self.sync()
            self._check_text(text)
            self._close(who)
            self.record.release(who)
            self._open[who] = Question(text, DECIDED if decide else "chosen")

    def answers_about(self, text: int) -> list[RecordedAnswer]:
        """The current answer of each annotator about a text, in the order of time."""
        with self.lock:
            answers = [votes[text] for votes in self.votes.values() if text in votes]
            return sorted(answers, key=lambda answer: answer.id)

    def label_many(self, who: str, texts: Sequence[int], labels: Sequence[str]) -> int:
        """Label texts at once, all but those that measure the model; one undo takes it back. Return their number."""
        with self.lock:
            self.sync()
            for text in texts:
                self._check(text, "label", labels)
            chosen = [text for text in texts if text not in self.pool.reserved]
            if not chosen:
                raise BadData("none of these texts can be labelled at once: all of them measure the model")
            self.record.label_many(who, chosen, labels)
            self.sync()
            return len(chosen)

    def look_for(self, who: str, label: str | None = None, words: str | None = None) -> int:
        """Show only texts most similar to a class, only texts with these words, or all texts; return their number."""
        with self.lock:
            self.wish.pop(who, None)
            self.among.pop(who, None)
            self._close(who)
            if words:
                self.among[who] = self.pool.search(words)
                return len(self.among[who])
            if label:
                if label not in self.pool.classes or not self.pool.known(self.pool.classes.index(label)):
                    raise BadData(f"no text is labelled {label!r} yet; label one first")
                self.wish[who] = label
            return len(self.pool)

    def summary(self, who: str) -> dict[str, Any]:
        """The progress of the labelling, as JSON values."""
        with self.lock:
            votes = self.votes.get(who, {})
            kinds = [answer.kind for answer in votes.values()]
            return {
                "texts": len(self.pool), "labelled": self.pool.n_labelled, "by_you": kinds.count("label"),
                "skipped": kinds.count("skip"), "flagged": kinds.count("flag"), "classes": self.pool.class_sizes(),
            }  # fmt: skip

    def sample(self) -> list[int]:
        """The labelled texts of the random sample on which accuracy is measured."""
        with self.lock:
            decided = set(self.pool.measured).union(*self.votes.values())
            return sampled_texts(self.random_texts.reserved, decided, self.pool.measured)

    def random_predictions(self) -> list[tuple[RecordedAnswer, bool]]:
        """The answers about random texts, in order, and whether the model had predicted them before.

        Of multilabel data there are none, since one predicted label is not comparable with a set of labels. A
        suggestion that was rejected first was wrong, also if the next one was accepted.
        """
        with self.lock:
            standing = self._standing.values()
            rejected = {(answer.who, answer.text) for answer in standing if answer.kind == "reject"}
            asked = [answer for answer in standing if answer.kind == "label" and answer.way in RANDOM_WAYS]
            return [
                (answer, answer.labels == (answer.suggested,) and (answer.who, answer.text) not in rejected)
                for answer in asked
                if answer.suggested is not None and not self.pool.multilabel
            ]

    def asked_predictions(self) -> list[bool]:
        """Whether the suggestion was right, for each text that was not drawn at random and shown with a suggestion."""
        with self.lock:
            rejected = {(one.who, one.text) for one in self._standing.values() if one.kind == "reject"}
            return [
                answer.labels == (answer.suggested,) and (answer.who, answer.text) not in rejected
                for answer in self._standing.values()
                if answer.kind == "label" and answer.suggested is not None and not self.pool.multilabel
                and answer.way not in (*RANDOM_WAYS, DECIDED) and answer.text not in self.pool.reserved
            ]  # fmt: skip

    def label_ids(self) -> list[int]:
        """The ids of all labelling decisions that were not undone, in order."""
        with self.lock:
            return [answer.id for answer in self._standing.values() if answer.kind == "label"]
