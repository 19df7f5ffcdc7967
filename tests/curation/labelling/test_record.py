"""The record: what was acknowledged is never lost, undo is exact, several people get different texts."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from functools import partial
from pathlib import Path

import pytest
from support.killing import run_and_kill

from unnaive.base.errors import BadData
from unnaive.curation.labelling.agreement import agreements, cohen_kappa
from unnaive.curation.labelling.label_log import LabelRecord, describe_record
from unnaive.curation.labelling.labelling_session import Labelling
from unnaive.curation.labelling.record_tables import is_label_record
from unnaive.io.datafiles import DataFile

from .test_pool import all_scores, random_texts


@pytest.fixture
def record(tmp_path: Path) -> LabelRecord:
    return LabelRecord.create(tmp_path / "labels.db", random_texts(30), classes=["a", "b"])


def test_decisions_are_kept_with_who_when_and_what_was_suggested(record: LabelRecord) -> None:
    record.add("ann", "label", 3, ["a"], suggested="b", probability=0.75, way="random")
    one = LabelRecord(record.path).decisions()[0]
    assert (one.who, one.kind, one.text, one.labels) == ("ann", "label", 3, ("a",))
    assert (one.suggested, one.probability, one.way) == ("b", 0.75, "random")
    assert one.at.endswith("+00:00")


def test_of_several_people_the_majority_wins_and_of_equals_the_latest(record: LabelRecord) -> None:
    record.add("ann", "label", 0, ["a"])
    record.add("bob", "label", 0, ["b"])
    assert record.final_of(0) == ("b",)
    record.add("cem", "label", 0, ["a"])
    assert record.final_of(0) == ("a",)
    record.add("cem", "label", 0, ["b"])  # changes his mind: only the last of each counts
    assert record.final() == {0: ("b",)}
    record.add("cem", "skip", 0)
    assert record.final_of(0) == ("b",)  # ann a, bob b, the later
    assert record.undo("cem") is not None
    assert record.undo("cem") is not None
    assert record.final_of(0) == ("a",)


def test_undo_takes_back_the_own_last_one_and_is_itself_kept(record: LabelRecord) -> None:
    record.add("ann", "label", 0, ["a"])
    record.add("bob", "label", 1, ["b"])
    gone = record.undo("ann")
    assert gone is not None
    assert gone.text == 0
    assert record.final() == {1: ("b",)}
    assert record.undo("ann") is None
    assert [one.kind for one in record.decisions()] == ["label", "label", "undo"]


def test_train_reads_the_labels_that_stand(record: LabelRecord) -> None:
    record.add("ann", "label", 4, ["a"])
    record.add("ann", "label", 2, ["b"])
    record.add("ann", "label", 5, ["b"])
    record.undo("ann")
    corpus = DataFile(str(record.path), id="id").corpus()
    assert [(corpus.ids[row], corpus.labels[row]) for row in range(2)] == [("3", ("b",)), ("5", ("a",))]  # type: ignore[index]
    assert list(corpus.texts) == [record.texts()[2], record.texts()[4]]


def test_train_reads_sets_of_labels(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "m.db", ["one", "two", "three"], classes=["a", "b"], multilabel=True)
    record.add("ann", "label", 0, ["b", "a"])
    record.add("ann", "label", 1, ["b"])
    record.add("ann", "label", 2, [])
    corpus = DataFile(str(record.path)).corpus()
    assert list(corpus.labels) == [("a", "b"), ("b",), ()]


def test_a_file_that_is_no_record_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    data = sqlite3.connect(other)
    data.execute("CREATE TABLE mine (one)")
    data.commit()
    data.close()
    assert not is_label_record(other)
    for path in (other, tmp_path / "absent.db"):
        with pytest.raises(BadData):
            LabelRecord(path)
    with pytest.raises(BadData, match="no text"):
        LabelRecord.create(tmp_path / "empty.db", [])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other.db"]


def test_a_record_is_not_written_over(record: LabelRecord) -> None:
    with pytest.raises(BadData, match="exists; open it"):
        LabelRecord.create(record.path, ["x"])
    assert len(LabelRecord(record.path)) == 30


def test_a_newer_format_is_refused(record: LabelRecord) -> None:
    record._data.execute("UPDATE labelling SET value = '99' WHERE name = 'format'")
    with pytest.raises(BadData, match="newer"):
        LabelRecord(record.path)


def test_cohen_kappa_by_hand() -> None:
    """20 + 15 of 50 agree: p_o = 0.7; one says yes 25, two 30 times: p_e = 0.5·0.6 + 0.5·0.4 = 0.5; κ = 0.2/0.5."""
    one = ["y"] * 20 + ["y"] * 5 + ["n"] * 10 + ["n"] * 15
    two = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(one, two) == pytest.approx(0.4)
    assert cohen_kappa(["y"], ["y"]) is None
    assert cohen_kappa([], []) is None


def test_agreement_is_measured_on_common_texts(record: LabelRecord) -> None:
    for text, (mine, theirs) in enumerate([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]):
        record.add("ann", "label", text, [mine])
        record.add("bob", "label", text, [theirs])
    record.add("ann", "label", 9, ["a"])
    (found,) = agreements(record)
    assert (found.people, found.texts, found.same, found.kappa) == (("ann", "bob"), 4, 3, pytest.approx(0.5))


def answer_some(labelling: Labelling, who: str, number: int, seed: int = 0) -> list[dict[str, bytes]]:
    """Scores before each of several answers of all kinds."""
    draw, states = random.Random(seed), []
    while len(states) < number:
        states.append(all_scores(labelling.pool))
        shown = labelling.show(who)
        assert shown is not None
        kind = draw.choice(["label", "label", "label", "skip", "flag", "reject", "class"])
        if kind == "class":
            labelling.add_class(who, f"new {len(states)}")
        elif kind == "reject" and shown.suggested:
            labelling.answer(who, shown.text, "reject", [shown.suggested], shown.seen)
        elif kind == "label" or kind == "reject":
            labelling.answer(who, shown.text, "label", [draw.choice(labelling.pool.classes)], shown.seen)
        else:
            labelling.answer(who, shown.text, kind, (), shown.seen)
    return states


def test_undo_of_any_depth_through_a_session(record: LabelRecord) -> None:
    labelling = Labelling(record)
    states = answer_some(labelling, "ann", 25)
    while states:
        assert labelling.undo("ann") is not None
        assert all_scores(labelling.pool) == states.pop()
    assert labelling.undo("ann") is None
    assert labelling.pool.classes == ["a", "b"]


def test_resuming_gives_the_same_scores_and_question(record: LabelRecord) -> None:
    labelling = Labelling(record)
    answer_some(labelling, "ann", 12)
    labelling.undo("ann")
    asked = labelling.show("ann")
    again = Labelling(LabelRecord(record.path))
    assert all_scores(again.pool) == all_scores(labelling.pool)
    assert again.pool.classes == labelling.pool.classes
    found = again.show("ann")
    assert found is not None
    assert asked is not None
    assert found.probabilities == asked.probabilities or found.text != asked.text


def test_several_people_get_different_texts(record: LabelRecord) -> None:
    """Two processes, three people; every text is answered once, but for those answered twice on purpose."""
    one, two = Labelling(record, double=0.0), Labelling(LabelRecord(record.path), double=0.0)
    seen = []
    for _ in range(10):
        shown = {who: side.show(who) for who, side in (("ann", one), ("bob", two), ("cem", two))}
        texts = [found.text for found in shown.values() if found]
        assert len(set(texts)) == 3
        for who, side in (("ann", one), ("bob", two), ("cem", two)):
            found = shown[who]
            assert found is not None
            side.answer(who, found.text, "label", ["a"], found.seen)
            seen.append(found.text)
    assert sorted(seen) == list(range(30))
    assert one.show("ann") is None
    assert one.why_done("ann") == "all 30 texts are done"


def test_a_share_is_labelled_twice_without_a_suggestion(record: LabelRecord) -> None:
    labelling = Labelling(record, double=1.0)
    first = labelling.show("ann")
    assert first is not None
    labelling.answer("ann", first.text, "label", ["a"], first.seen)
    second = labelling.show("bob")
    assert second is not None
    assert (second.text, second.way, second.suggested, dict(second.probabilities)) == (first.text, "second", None, {})


def test_all_skipped(record: LabelRecord) -> None:
    labelling = Labelling(record)
    while (shown := labelling.show("ann")) is not None:
        labelling.answer("ann", shown.text, "skip", (), shown.seen)
    assert labelling.why_done("ann").startswith("all texts are done but 30 that you skipped")
    assert Labelling(record, again=True).show("ann") is not None
    assert describe_record(record)["skipped"] == 30


def test_wrong_answers_are_refused(record: LabelRecord) -> None:
    labelling = Labelling(record)
    for text, kind, labels in ((99, "skip", []), (0, "hug", []), (0, "label", ["nothing"]), (0, "label", ["a", "b"])):
        with pytest.raises(BadData):
            labelling.answer("ann", text, kind, labels)
    for name in ("", "a"):
        with pytest.raises(BadData):
            labelling.add_class("ann", name)
    assert record.decisions() == []


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Each child labels and undoes until it is killed; what it acknowledged through a pipe is in the record."""
    path = tmp_path / "labels.db"
    LabelRecord.create(path, random_texts(200), classes=["a", "b"]).close()
    acknowledged = []
    for number in range(60):
        acknowledged += run_and_kill(partial(_label_forever, path, number), number)
    record = LabelRecord(path)
    assert record._data.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = {one.id: one for one in record.decisions()}
    assert len(acknowledged) > 60
    for line in acknowledged:
        number, who, text, labels = json.loads(line)
        assert (found[number].who, found[number].text, list(found[number].labels)) == (who, text, labels)
    assert len(found) - len(acknowledged) <= 2 * 60 + sum(one.kind == "undo" for one in found.values())
    assert all_scores(Labelling(record).pool) == all_scores(Labelling(record).pool)


def _label_forever(path: Path, number: int, into: int) -> None:
    record, draw = LabelRecord(path), random.Random(number)
    while True:
        done = record.add(f"life {number}", "label", draw.randrange(200), [draw.choice("ab")])
        os.write(into, (json.dumps([done.id, done.who, done.text, done.labels]) + "\n").encode())
        if draw.random() < 0.2:
            record.undo(f"life {number}")
