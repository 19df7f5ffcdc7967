"""One to five people in several processes on one record: answers, leases, reloads, kills, classes, appended texts.

After every step: nobody waits, two people never have the same text by its turn, every acknowledged answer is in the
record, and every process has the labels that the record defines.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from unnaive.base.errors import BadData
from unnaive.curation.labelling import labelling_session
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.labelling_session import Labelling, Shown

from .test_pool import random_texts

PEOPLE = st.integers(0, 4)
PROCESSES = st.integers(0, 1)
OWN_TURN = ("undone", "chosen", "review", "second")  # ways in which a text may be before two people
MOST_FINDS = 50  # of one question, of a record with 14 texts


class SeveralPeople(RuleBasedStateMachine):
    """What people and processes do, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "labels.db"
        self.shown: dict[str, Shown] = {}  # by person, as it is on the screen
        self.ahead: dict[str, Labelling] = {}  # by person, the process that chose the next text
        self.acknowledged: dict[int, tuple[str, str, int | None]] = {}
        self.sessions: list[Labelling] = []

    def teardown(self) -> None:
        for session in self.sessions:
            session.record.close()
        self._folder.cleanup()

    @initialize(
        people=st.integers(1, 5), double=st.sampled_from([0.0, 0.1, 1.0]), again=st.booleans(), multilabel=st.booleans()
    )
    def begin(self, people: int, double: float, again: bool, multilabel: bool) -> None:
        self.names = [f"person {number}" for number in range(people)]
        self.double, self.again = double, again
        LabelRecord.create(self.path, random_texts(14), classes=["a", "b"], multilabel=multilabel).close()
        self.sessions = [self._open(), self._open()]

    def _open(self) -> Labelling:
        strategy = labelling_session.Strategy(first=4, random_share=0.3)
        return Labelling(LabelRecord(self.path), strategy=strategy, double=self.double, again=self.again)

    def _of(self, person: int, process: int) -> tuple[str, Labelling]:
        """A person, and a process: each person stays with one page, but a reload may reach another process."""
        return self.names[person % len(self.names)], self.sessions[process]

    @rule(person=PEOPLE, process=PROCESSES)
    def reload(self, person: int, process: int) -> None:
        who, session = self._of(person, process)
        finds, find = 0, session._find

        def count(*values: object) -> object:
            nonlocal finds
            finds += 1
            assert finds < MOST_FINDS, "the next question is drawn for ever"
            return find(*values)  # type: ignore[arg-type]

        session._find = count  # type: ignore[method-assign,assignment]
        shown = session.show(who)
        session._find = find  # type: ignore[method-assign]
        self.shown.pop(who, None)
        if shown is None:
            assert session.why_done(who)
            return
        self.shown[who] = shown
        others = {one.text for name, one in self.shown.items() if name != who and one.way not in OWN_TURN}
        if shown.way not in OWN_TURN:
            assert shown.text not in others & set(session.record.leased(who, labelling_session.time.time()))
            assert session.pool.labels_of(shown.text) is None

    @rule(
        person=PEOPLE, process=PROCESSES, kind=st.sampled_from(["label", "label", "label", "skip", "flag", "reject"]),
        label=st.integers(0, 9),
    )  # fmt: skip
    def answer(self, person: int, process: int, kind: str, label: int) -> None:
        who, session = self._of(person, process)
        shown = self.shown.get(who)
        if shown is None:
            return
        classes = session.pool.classes
        labels = [classes[label % len(classes)]] if kind in ("label", "reject") else []
        newer = session.record.last_decision(shown.text) > shown.seen
        try:
            answer = session.answer(who, shown.text, kind, labels, shown.seen)
        except labelling_session.BadData:
            assert newer
            self.shown.pop(who)
            return
        assert not newer
        self.acknowledged[answer.id] = (who, kind, shown.text)
        if kind == "reject":
            return
        self.shown.pop(who)
        self.ahead.pop(who, None)

    @rule(person=PEOPLE, process=PROCESSES)
    def fetch_ahead(self, person: int, process: int) -> None:
        """The next text is never the present one, nor one that is before another person, nor one that was answered."""
        who, session = self._of(person, process)
        present = session.show(who)
        self.shown.pop(who, None)
        self.ahead.pop(who, None)
        if present is None:
            return
        self.shown[who] = present
        leases = session.record.leased("nobody", labelling_session.time.time())
        ahead = session.show_ahead(who, present.text)
        assert session.record.leased("nobody", labelling_session.time.time()) == leases
        assert session.show_ahead(who, present.text) is ahead
        assert session.show_ahead(who, present.text + 100) is None
        if ahead is None:
            return
        assert ahead.text != present.text
        assert ahead.text not in session.record.leased(who, labelling_session.time.time())
        if ahead.way not in OWN_TURN:
            assert session.pool.labels_of(ahead.text) is None
        assert ahead.blind == (ahead.way == "second" or ahead.text in session.random_texts.reserved)
        self.ahead[who] = session

    @rule(person=PEOPLE, kind=st.sampled_from(["label", "skip", "flag"]))
    def answer_and_see_the_next(self, person: int, kind: str) -> None:
        """The text that follows is the one fetched ahead, as it was fetched, unless something happened to it."""
        who = self.names[person % len(self.names)]
        if who not in self.ahead or who not in self.shown:
            return
        session, shown = self.ahead.pop(who), self.shown.pop(who)
        if session not in self.sessions:  # it was killed
            return
        known = session.show_ahead(who, shown.text)
        labels = [session.pool.classes[0]] if kind == "label" else []
        try:
            answer = session.answer(who, shown.text, kind, labels, shown.seen)
        except BadData:
            return
        self.acknowledged[answer.id] = (who, kind, shown.text)
        taken = known is not None and known.text in session.record.leased(who, labelling_session.time.time())
        following = session.show(who)
        if (
            known is not None
            and not taken
            and (known.way == "second" or following is None or following.way != "second")
        ):
            assert following is not None
            assert following.text == known.text
            assert following == known or not (known.probabilities or known.blind)  # else with its first prediction
        if following is None:
            assert session.why_done(who)
        else:
            self.shown[who] = following

    @rule(person=PEOPLE, process=PROCESSES)
    def undo(self, person: int, process: int) -> None:
        who, session = self._of(person, process)
        gone = session.undo(who)
        if gone is not None:
            assert session._ahead.get(who) is None
        assert gone is None or gone.who == who

    @rule(person=PEOPLE, process=PROCESSES)
    def change_name(self, person: int, process: int) -> None:
        who, session = self._of(person, process)
        session.leave(who)
        assert session._ahead.get(who) is None
        self.shown.pop(who, None)

    @rule(process=PROCESSES)
    def kill(self, process: int) -> None:
        """What was not on disk is gone; the file is not closed."""
        self.sessions[process].record._data.close()
        self.sessions[process] = self._open()

    @rule(seconds=st.sampled_from([1, 601]))
    def wait(self, seconds: int) -> None:
        """Reservations expire."""
        self.sessions[0].record._data.execute("UPDATE leases SET until = until - ?", (seconds,))

    @rule(person=PEOPLE, process=PROCESSES, old=st.integers(0, 9), new=st.sampled_from(["a", "b", "c", "d"]))
    def rename(self, person: int, process: int, old: int, new: str) -> None:
        who, session = self._of(person, process)
        session.sync()
        with suppress(BadData):
            session.change_class(who, "rename", session.pool.classes[old % len(session.pool.classes)], new, merge=True)

    @rule(person=PEOPLE, process=PROCESSES, label=st.sampled_from(["c", "d", "C"]))
    def add_class(self, person: int, process: int, label: str) -> None:
        who, session = self._of(person, process)
        with suppress(BadData):
            session.add_class(who, label)

    @rule(person=PEOPLE, process=PROCESSES, texts=st.sets(st.integers(0, 13), min_size=1))
    def label_many(self, person: int, process: int, texts: set[int]) -> None:
        who, session = self._of(person, process)
        session.sync()
        with suppress(BadData):  # all of them measure the model
            session.label_many(who, sorted(texts), [session.pool.classes[0]])

    @rule(person=PEOPLE, process=PROCESSES, number=st.integers(0, 13), decide=st.booleans())
    def open_text(self, person: int, process: int, number: int, decide: bool) -> None:
        who, session = self._of(person, process)
        session.open_text(who, number, decide=decide)
        shown = session.show(who)
        assert shown is not None
        assert shown.text == number
        self.shown[who] = shown

    @rule(process=PROCESSES)
    def append(self, process: int) -> None:
        record = self.sessions[process].record
        if len(record) < 20:
            record.append("ann", [f"more of it {len(record)}"], [str(len(record) + 1)])

    @invariant()
    def nothing_is_lost_and_all_agree(self) -> None:
        if not self.sessions:
            return
        record = self.sessions[0].record
        stored = {one.id: (one.who, one.kind, one.text) for one in record.decisions()}
        assert all(stored.get(number) == one for number, one in self.acknowledged.items())
        final = record.final()
        for session in self.sessions:
            session.sync()
            assert {**session.pool.labels, **session.pool.measured} == final
            assert session.pool.classes == record.classes()
            assert set(session.pool.measured) <= set(session.random_texts.reserved.tolist())
            by_person = {
                (who, text): (one.kind, one.labels)
                for who, votes in session.votes.items()
                for text, one in votes.items()
            }
            assert by_person == {(who, text): (kind, labels) for text, who, kind, labels in record.votes()}


TestSeveralPeople = SeveralPeople.TestCase
