"""One to five people on one record: nobody waits for anybody, nothing is overwritten in silence."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from unnaive.curation.labelling.label_log import AlreadyDecided, LabelRecord
from unnaive.curation.labelling.labelling_session import Labelling

from .test_pool import random_texts


@pytest.mark.slow
@pytest.mark.parametrize("people", [1, 2, 3, 5])
@pytest.mark.parametrize("double", [0.1, 1.0])
def test_any_number_of_people_reach_the_end(tmp_path: Path, people: int, double: float) -> None:
    """Random answers, undos, reloads and restarts; every text gets an answer, and two people never have the same one.

    In a thread, since the fault that this finds is a loop that does not end.
    """
    path = tmp_path / "labels.db"
    LabelRecord.create(path, random_texts(40), classes=["a", "b"]).close()
    reached: list[int] = []
    worker = threading.Thread(target=lambda: reached.append(label_everything(path, people, double)), daemon=True)
    worker.start()
    worker.join(60)
    assert not worker.is_alive(), "somebody waits for ever"
    assert reached == [40]


def label_everything(path: Path, people: int, double: float) -> int:
    """Answer until nobody has a text, and return the number of labelled texts."""
    draw = random.Random(people)
    names = [f"person {number}" for number in range(people)]
    session = Labelling(LabelRecord(path), double=double)
    while True:
        if draw.random() < 0.02:
            session = Labelling(LabelRecord(path), double=double)
        shown = {who: found for who in names if (found := session.show(who)) is not None}
        if not shown:
            return len(session.record.final())
        fresh = [found.text for found in shown.values() if found.way != "undone"]
        assert len(set(fresh)) == len(fresh)
        who = draw.choice(list(shown))
        if draw.random() < 0.1:
            session.undo(who)
            continue
        with suppress(AlreadyDecided):  # an undone text may be before two people
            session.answer(who, shown[who].text, "label", [draw.choice("ab")], shown[who].seen)


def test_a_text_that_was_decided_since_it_was_shown_is_not_overwritten(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(9), classes=["a", "b"])
    here, there = Labelling(record), Labelling(LabelRecord(record.path))
    first, second = here.show("ann"), there.show("ann")
    assert first is not None
    assert second is not None
    assert first.text == second.text
    here.answer("ann", first.text, "label", ["a"], first.seen)
    with pytest.raises(AlreadyDecided, match="ann labelled this text 'a' after it was shown here"):
        there.answer("ann", second.text, "label", ["b"], second.seen)
    assert record.final() == {first.text: ("a",)}
    following = there.show("ann")
    assert following is not None
    assert following.text != first.text


def test_a_text_is_released_when_the_name_changes(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", ["one", "two"], classes=["a", "b"])
    session = Labelling(record)
    assert session.show("default user") is not None
    session.leave("default user")
    texts = []
    while (shown := session.show("ann")) is not None:
        session.answer("ann", shown.text, "label", ["a"], shown.seen)
        texts.append(shown.text)
    assert sorted(texts) == [0, 1]


def test_the_next_text_is_chosen_ahead_and_blocks_nobody(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(4), classes=["a", "b"])
    session = Labelling(record, double=0)
    first = session.show("ann")
    assert first is not None
    ahead = session.show_ahead("ann", first.text)
    assert ahead is not None
    assert record.leased("nobody", time.time()) == [first.text]  # the next text is not reserved
    assert session.show_ahead("ann", ahead.text) is None  # it is not the present text
    others = [shown.text for who in ("bob", "cem") if (shown := session.show(who)) is not None]
    assert {first.text, ahead.text, *others} == {0, 1, 2, 3}  # others get other texts first
    last = session.show("deniz")  # and this one if nothing else is left
    assert last is not None
    assert last.text == ahead.text
    session.answer("ann", first.text, "label", ["a"], first.seen)
    assert session.show("ann") is None
    assert session.why_done("ann") == "all texts are done but 3 that others are labelling"


def test_the_text_chosen_ahead_is_shown_and_recorded_as_it_was_chosen(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(40), classes=["a", "b"])
    session = Labelling(record, double=0)
    for label in "abab":
        shown = session.show("ann")
        assert shown is not None
        session.answer("ann", shown.text, "label", [label], shown.seen)
    present = session.show("ann")
    assert present is not None
    ahead = session.show_ahead("ann", present.text)
    session.answer("ann", present.text, "label", ["b"], present.seen)
    assert ahead is not None
    assert session.show("ann") is ahead
    assert record.leased("nobody", time.time()) == [ahead.text]
    answer = session.answer("ann", ahead.text, "label", ["a"], ahead.seen)
    suggested, probability = (
        ahead.predicted if ahead.blind and ahead.predicted else (ahead.suggested, ahead.probability)
    )
    assert (answer.way, answer.suggested, answer.probability) == (ahead.way, suggested, probability)


def test_the_answer_that_allows_the_first_prediction_shows_it_beside_the_text_chosen_ahead(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(40), classes=["a", "b"])
    session = Labelling(record, double=0)
    for label in "ab":
        present = session.show("ann")
        assert present is not None
        ahead = session.show_ahead("ann", present.text)
        assert ahead is not None
        assert ahead.probabilities == {}  # of one class at most
        session.answer("ann", present.text, "label", [label], present.seen)
    following = session.show("ann")
    assert following is not None
    assert following.text == ahead.text
    assert not following.blind
    assert set(following.probabilities) == {"a", "b"}


@pytest.mark.parametrize("change", ["undo", "leave", "look", "class", "labelled", "appended"])
def test_a_text_chosen_ahead_is_given_up_when_something_changes(tmp_path: Path, change: str) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(12), classes=["a", "b"])
    session = Labelling(record, double=0)
    shown = session.show("ann")
    assert shown is not None
    session.answer("ann", shown.text, "label", ["a"], shown.seen)
    present = session.show("ann")
    assert present is not None
    ahead = session.show_ahead("ann", present.text)
    assert ahead is not None
    changes: dict[str, Callable[[], object]] = {
        "undo": lambda: session.undo("ann"), "leave": lambda: session.leave("ann"),
        "look": lambda: session.look_for("ann", "a"), "class": lambda: session.add_class("bob", "c"),
        "labelled": lambda: session.answer("bob", ahead.text, "label", ["b"], ahead.seen),
        "appended": lambda: record.append("bob", ["one more"], ["13"]),
    }  # fmt: skip
    changes[change]()
    if change in ("undo", "leave", "look"):
        assert session.show_ahead("ann", present.text) is None
        return
    session.answer("ann", present.text, "label", ["b"], present.seen)
    following = session.show("ann")
    assert following is not None
    assert following is not ahead
    if change == "labelled":
        assert following.text != ahead.text


def test_a_renaming_of_a_class_whose_name_was_undone_renames_nothing(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(9), classes=["a", "b"])
    session = Labelling(record)
    session.change_class("ann", "rename", "a", "b", merge=True)
    shown = session.show("ann")
    assert shown is not None
    session.answer("ann", shown.text, "label", ["b"], shown.seen)
    session.change_class("ann", "rename", "b", "a")
    session.change_class("ann", "rename", "a", "b")
    session.change_class("bob", "rename", "b", "c")
    session.undo("ann")
    assert (session.pool.classes, record.final()) == (["a"], {shown.text: ("a",)})
    assert {**session.pool.labels, **session.pool.measured} == record.final()


def test_a_text_chosen_ahead_that_another_process_shows_is_replaced(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(9), classes=["a", "b"])
    session = Labelling(record, double=0)
    present = session.show("ann")
    assert present is not None
    ahead = session.show_ahead("ann", present.text)
    assert ahead is not None
    assert record.lease("bob", ahead.text, time.time())
    other = session.show_ahead("ann", present.text)
    assert other is not None
    assert other.text not in (present.text, ahead.text)


def test_a_second_answer_that_is_due_comes_before_the_text_chosen_ahead(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "labels.db", random_texts(9), classes=["a", "b"])
    session = Labelling(record, double=1)
    ann, bob = session.show("ann"), session.show("bob")
    assert ann is not None
    assert bob is not None
    assert session.show_ahead("bob", bob.text) is not None  # nobody has labelled anything yet
    session.answer("ann", ann.text, "label", ["a"], ann.seen)
    session.answer("bob", bob.text, "label", ["b"], bob.seen)
    following = session.show("bob")
    assert following is not None
    assert (following.text, following.way) == (ann.text, "second")
