"""Classes that are renamed, merged, described and deleted, and texts that are appended, while people label."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unnaive.base.errors import BadData
from unnaive.curation.labelling.class_names import AlikeClass, ClassNames
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.labelling_session import Labelling
from unnaive.curation.labelling.recover import recover_record
from unnaive.io.datafiles import DataFile

from .test_pool import all_scores, random_texts


@pytest.fixture
def record(tmp_path: Path) -> LabelRecord:
    return LabelRecord.create(tmp_path / "labels.db", random_texts(30), classes=["a", "b", "c"])


def label_some(record: LabelRecord) -> None:
    for text, label in enumerate("aabbcc"):
        record.add("ann", "label", text, [label], suggested="a", way="uncertain")
    record.add("bob", "label", 0, ["b"])


def test_a_renamed_class_has_its_new_name_everywhere(record: LabelRecord) -> None:
    label_some(record)
    here, there = Labelling(record), Labelling(LabelRecord(record.path))
    before = list(all_scores(here.pool).values())
    here.change_class("ann", "rename", "a", "first")
    for session in (here, there, Labelling(LabelRecord(record.path))):
        session.sync()
        assert session.pool.classes == ["first", "b", "c"]
        assert list(all_scores(session.pool).values()) == before
    assert record.final()[1] == ("first",)
    assert [one.suggested for one in record.standing() if one.kind == "label"][:2] == ["first", "first"]
    assert set(DataFile(str(record.path)).corpus().labels) == {("first",), ("b",), ("c",)}
    shown = there.show("cem")
    assert shown is not None
    there.answer("cem", shown.text, "label", ["a"], shown.seen)  # from a page that does not know yet
    assert record.final_of(shown.text) == ("first",)


def test_a_merge_is_undone_exactly(record: LabelRecord) -> None:
    label_some(record)
    session = Labelling(record)
    before, final = all_scores(session.pool), record.final()
    session.change_class("ann", "rename", "a", "b", merge=True)
    assert session.pool.classes == ["b", "c"]
    assert record.final_of(0) == ("b",)  # both votes are the same now
    assert session.pool.class_sizes() == {"b": 4, "c": 2}
    assert session.undo("bob") is not None  # only the own answer
    assert session.pool.classes == ["b", "c"]
    record.add("bob", "label", 0, ["b"])
    assert session.undo("ann") is not None
    assert (all_scores(session.pool), record.final()) == (before, final)
    assert session.pool.classes == ["a", "b", "c"]


def test_names_that_cannot_be(record: LabelRecord) -> None:
    label_some(record)
    session = Labelling(record)
    session.change_class("ann", "rename", "a", "first")
    for old, new, sentence in (
        ("first", "b", "merge 'first' into it"), ("b", "", "needs another name"), ("x", "y", "no class is called 'x'"),
        ("b", "a", "was renamed to 'first'"),
    ):  # fmt: skip
        with pytest.raises(BadData, match=sentence):
            session.change_class("ann", "rename", old, new)
    with pytest.raises(BadData, match="'a' was renamed to 'first'"):
        session.add_class("ann", "a")
    session.change_class("ann", "rename", "first", "a")  # back again
    assert session.pool.classes == ["a", "b", "c"]
    assert record.class_names().renamed == {"first": "a"}


def test_only_a_class_that_nobody_gave_is_deleted(record: LabelRecord) -> None:
    label_some(record)
    session = Labelling(record)
    with pytest.raises(BadData, match=r"2 answers gave the class 'c'.*merge it"):
        session.change_class("ann", "drop", "c")
    session.add_class("ann", "d")
    session.change_class("ann", "drop", "d")
    assert session.pool.classes == ["a", "b", "c"]
    session.undo("ann")
    assert session.pool.classes == ["a", "b", "c", "d"]


def test_a_class_spelt_like_another_is_asked_about(record: LabelRecord) -> None:
    session = Labelling(record)
    with pytest.raises(AlikeClass, match="'A' is spelt much like the class 'a'"):
        session.add_class("ann", "A")
    session.add_class("ann", "A", alike=True)
    assert session.pool.classes == ["a", "b", "c", "A"]


def test_descriptions_and_guidelines(record: LabelRecord) -> None:
    session = Labelling(record)
    session.change_class("ann", "describe", "a", "What is red.")
    session.change_class("ann", "guidelines", "Read the whole text.")
    session.change_class("ann", "rename", "a", "red")
    names = LabelRecord(record.path).class_names()
    assert (names.descriptions, names.guidelines) == ({"red": "What is red."}, "Read the whole text.")
    session.change_class("ann", "describe", "red", "")
    assert record.class_names().descriptions == {}


def test_renames_in_a_row() -> None:
    names = ClassNames(["a", "b"])
    for old, new in (("a", "x"), ("b", "y"), ("x", "y"), ("y", "a")):
        names.follow("rename", [old, new])
    assert names.names == ["a"]
    assert [names.current(name) for name in "abxy"] == ["a", "a", "a", "a"]


def test_keywords_follow_their_class(record: LabelRecord) -> None:
    word = record.texts()[0].split()[0]
    session = Labelling(record, hints={"a": [word]})
    session.change_class("ann", "rename", "a", "first")
    assert list(session.pool.hinted) == ["first"]
    assert session.pool.known(session.pool.classes.index("first"))
    session.undo("ann")
    assert list(session.pool.hinted) == ["a"]


def test_appended_texts_are_asked_and_the_sample_stays_random(record: LabelRecord) -> None:
    here, there = Labelling(record), Labelling(LabelRecord(record.path))
    for _ in range(30):
        shown = here.show("ann")
        assert shown is not None
        here.answer("ann", shown.text, "label", ["a"], shown.seen)
    reserved = here.random_texts.reserved.tolist()
    assert here.show("ann") is None
    record.append("ann", [f"more {number}" for number in range(100)], [str(number + 1) for number in range(100)])
    for session in (here, there):
        session.sync()
        assert (len(session.pool), session.pool.n_labelled) == (130, 30)
        texts = session.random_texts
        assert sorted([*texts.first, *texts.reserved, *texts.others]) == list(range(130))
        assert [text for text in texts.reserved.tolist() if text < 30] == reserved  # none that was learnt
        assert len(texts.reserved) == len(reserved) + 10
    again = there.show("ann")
    assert again is not None
    assert again.text >= 30
    assert len(set(record.names())) == 130
    assert record.text_ends() == (30, 130)
    assert here.undo("ann") is not None  # the last answer; appended texts stay
    assert len(record) == 130


def test_random_places_of_appended_texts_are_uniform() -> None:
    """A reserved text of the second part is as often in each place as one of the first."""
    from unnaive.curation.labelling.random_sample import draw_appended_texts

    first_half = 0
    for seed in range(200):
        reserved = draw_appended_texts((220, 420), 20, 0.1, seed).reserved
        first_half += int((reserved[:20] >= 220).sum())
    # 20 of 40 reserved texts are of the second part: 10 expected among the first 20, sd √(20·¼·20/39) = 1.6
    assert abs(first_half / 200 - 10) < 4 * 1.6 / 200**0.5


def test_recovered_records_keep_renames_and_parts(record: LabelRecord, tmp_path: Path) -> None:
    label_some(record)
    record.append("ann", ["more"], ["31"])
    record.change_class("ann", "rename", ["a", "first"])
    record.close()
    found = recover_record(record.path, tmp_path / "new.db")
    assert (found.texts, found.lost_texts) == (31, 0)
    new = LabelRecord(tmp_path / "new.db")
    assert new.text_ends() == (30, 31)
    assert new.final()[1] == ("first",)


def test_many_labels_at_once_are_undone_at_once(record: LabelRecord) -> None:
    session = Labelling(record)
    reserved = set(session.random_texts.reserved.tolist())
    before = all_scores(session.pool)
    assert session.label_many("ann", range(30), ["b"]) == 30 - len(reserved)
    assert session.record.final() == {text: ("b",) for text in range(30) if text not in reserved}
    assert session.undo("bob") is None
    gone = session.undo("ann")
    assert gone is not None
    assert (record.final(), all_scores(session.pool)) == ({}, before)
    assert session.undo("ann") is None
    with pytest.raises(BadData, match="no class is called 'x'"):
        session.label_many("ann", [0], ["x"])


def test_a_reviewer_decides_against_two(record: LabelRecord) -> None:
    session = Labelling(record)
    for who, label in (("ann", "a"), ("bob", "a"), ("cem", "b")):
        record.add(who, "label", 3, [label])
    session.open_text("deniz", 3, decide=True)
    shown = session.show("deniz")
    assert shown is not None
    assert (shown.text, shown.way, shown.given) == (3, "review", ("a",))
    session.answer("deniz", 3, "label", ["c"], shown.seen)
    assert record.final_of(3) == ("c",)
    record.add("bob", "label", 3, ["b"])
    assert record.final_of(3) == ("c",)  # it stays decided
    session.undo("deniz")
    assert record.final_of(3) == ("b",)
    assert json.loads(json.dumps([one.who for one in session.answers_about(3)])) == ["ann", "cem", "bob"]
