"""One to five people on one record: nobody waits for anybody, nothing is overwritten in silence."""

from __future__ import annotations

import random
import threading
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
