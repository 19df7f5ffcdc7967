"""What was acknowledged is never lost and never applied twice, whenever the process is killed."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.killing import run_and_kill

from unnaive import TextClassifier
from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.served import ServedModel
from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.types import Label
from unnaive.classifier.receipts import model_hash
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.teaching_log import TeachingRecord

KILLS = 200


def test_net_change(small: Path) -> None:
    record = TeachingRecord(small)
    one, two = Document("a", ("x",)), Document("b", ("y",))
    assert record.add("teach", Change((one, one, two)), {}) == 1
    assert record.add("forget", Change(forget=(one,)), {}) == 2
    assert record.change_since(0) == Change((one, two))
    assert record.change_since(1) == Change(forget=(one,))
    assert record.change_since(2) == Change()


def test_one_service_at_a_time_may_teach(small: Path) -> None:
    first = ServedModel("small", small, teachable=True)
    with pytest.raises(UnnaiveError, match="--read-only"):
        ServedModel("small", small, teachable=True)
    ServedModel("small", small, teachable=False)
    first.close()
    ServedModel("small", small, teachable=True).close()


def test_a_model_changed_by_somebody_else_is_not_overwritten(small: Path) -> None:
    """It is taken over; and when the file of before comes back, so does what could not be carried over."""
    served = ServedModel("small", small, teachable=True)
    served.change("teach", Change((Document("ball", ("sport",)),)))
    served.write_file()
    mine, taught = small.read_bytes(), model_hash(served.version.fitted)
    served.change("teach", Change((Document("vote", ("politics",)),)))
    other = TextClassifier("multinomial").fit(["one two", "three four"], ["x", "y"])
    other.save(small)
    served.write_file()
    assert model_hash(served.version.fitted) == model_hash(other.fitted_)
    small.write_bytes(mine)
    served.write_file()
    served.reload()
    served.undo(2)
    assert model_hash(served.version.fitted) == taught
    served.close()
    again = ServedModel("small", small, teachable=True)
    assert model_hash(again.version.fitted) == taught
    again.close()


@pytest.mark.slow
def test_killed_at_random_moments(small: Path) -> None:
    """Each child teaches, forgets and folds until it is killed; acknowledgements come through a pipe."""
    base = small.with_name("base.model")
    base.write_bytes(small.read_bytes())
    acknowledged: list[str] = []
    for number in range(KILLS):
        acknowledged += run_and_kill(partial(_teach_forever, small, number), number)
    served = ServedModel("small", small, teachable=True)
    assert served.record is not None
    net = served.record.change_since(0)
    counted = _applied(acknowledged)
    texts = [one.text for one in net.learn]
    assert not net.forget
    assert len(texts) == len(set(texts))  # none twice
    # of what was acknowledged last in a life, at most one more event was recorded and not yet said
    assert counted <= set(texts)
    assert len(set(texts) - counted) <= KILLS
    served.close()
    expected = TextClassifier.load(base).partial_fit(texts, [one.labels[0] for one in net.learn], new_classes=True)
    expected.save(base)
    assert small.read_bytes() == base.read_bytes()


def _applied(acknowledged: list[str]) -> set[str]:
    """Texts that were taught and not forgotten since, by the acknowledgements; those that may be in doubt left out."""
    now: set[str] = set()
    for line in acknowledged:
        sign, text = line[0], line[1:]
        if sign == "+":
            now.add(text)
        else:
            now.discard(text)
    return now


def _teach_forever(path: Path, number: int, into: int) -> None:
    served = ServedModel("small", path, teachable=True)
    drawn = random.Random(number)
    at = 0
    while True:
        document = Document(f"life{number} word{at} ball", ("sport",))
        served.change("teach", Change((document,)))
        os.write(into, f"+{document.text}\n".encode())
        if drawn.random() < 0.3:
            os.write(into, f"-{document.text}\n".encode())  # said before it is done: in doubt from here on
            served.change("forget", Change(forget=(document,)))
        if drawn.random() < 0.5:
            served.write_file()
        at += 1


def test_a_version_whose_calibration_is_gone_is_not_said_to_be_restored(tmp_path: Path) -> None:
    """Without documents a calibration ends with any change; taking the change back does not bring it back."""
    path = tmp_path / "tuned.model"
    texts, labels = ["good ball", "fair vote", "ball ball", "vote law"] * 5, ["sport", "politics"] * 10
    TextClassifier("multinomial", calibrate="isotonic", documents_limit=0).fit(texts, labels).save(path)
    served = ServedModel("tuned", path, teachable=True)
    with pytest.warns(UnnaiveWarning, match="the calibration and the held-out scores are lost"):
        assert served.change("teach", Change((Document("ball", ("sport",)),)))["tuning_lost"]
    assert not served.change("teach", Change((Document("soup", ("food",)),)), new_classes=True)["tuning_lost"]
    before = served.version
    served.close()
    served = ServedModel("tuned", path, teachable=True)
    with pytest.raises(Refused, match="version 0 cannot be restored exactly: version 1 dropped what was tuned"):
        served.roll_back(0)
    assert served.version.number == before.number == 2
    served.change("teach", Change((Document("ball vote", ("sport",)),)))
    served.roll_back(2)
    assert model_hash(served.version.fitted) == model_hash(before.fitted)
    served.close()


@pytest.mark.slow
def test_auto_that_is_rolled_back_to_its_first_version_scores_as_at_first(tmp_path: Path) -> None:
    """A request cannot wait for a search: the choice is kept, and the same documents give the same scores again."""
    path = tmp_path / "auto.model"
    texts, labels = ["good ball", "fair vote", "ball ball", "vote law"] * 5, ["sport", "politics"] * 10
    TextClassifier("auto", budget="fast").fit(texts, labels).save(path)
    served = ServedModel("auto", path, teachable=True)
    first = served.version.fitted
    assert not served.change("teach", Change((Document("ball of law", ("sport",)),)))["tuning_lost"]
    taught = served.version.fitted
    assert taught.choice_kept
    assert taught.conformal.overall.n == 21
    served.roll_back(0)
    again = served.version.fitted
    np.testing.assert_array_equal(again.scores(texts), first.scores(texts))
    assert again.conformal.overall.n == first.conformal.overall.n == 20


def test_a_record_of_a_newer_format_is_refused(small: Path) -> None:
    ServedModel("small", small, teachable=True).close()
    with sqlite3.connect(small.with_name("small.model.record")) as data:
        assert data.execute("PRAGMA user_version").fetchone() == (2,)
        data.execute("PRAGMA user_version = 3")
    data.close()
    with pytest.raises(UnnaiveError, match="has format 3, and this version of unnaive reads up to 2; update"):
        ServedModel("small", small, teachable=True)


@pytest.mark.parametrize("seed", range(2))
def test_after_any_sequence_the_model_equals_one_taught_what_was_not_undone(small: Path, seed: int) -> None:
    """Teaching, forgetting by text, undoing and rolling back in random order, against a list of what stands.

    Documents are few, so that the same ones come again; undoing what is undone is refused.
    """
    drawn = random.Random(seed)
    documents = [Document(f"{word} game", (label,)) for word in ("ball", "vote") for label in ("sport", "politics")]
    served = ServedModel("small", small, teachable=True)
    base = TextClassifier.load(small)
    states: list[Counter[tuple[str, Label]]] = [Counter()]  # what stands after each event
    for _ in range(30):
        now, one = states[-1].copy(), drawn.choice(documents)
        kind = drawn.choice(("teach", "teach", "forget", "undo", "roll"))
        event = drawn.randrange(1, len(states)) if len(states) > 1 else 1
        try:
            if kind == "teach":
                served.change("teach", Change((one, one)))
                now[one.text, one.labels[0]] += 2
            elif kind == "forget":
                served.forget([one])
                now[one.text, one.labels[0]] -= 1
            elif kind == "undo":
                answer = served.undo(event)
                assert answer["undoes"] == event
                assert served.record is not None
                changes = served.record.events(1, documents=True)[0]["changes"]
                for row in changes:
                    now[row["text"], row["labels"][0]] += row["sign"]
                with pytest.raises(Refused, match="already been undone"):
                    served.undo(event)
            else:
                event = drawn.randrange(len(states))
                served.roll_back(event)
                now = states[event].copy()
        except Refused:
            assert kind in ("forget", "undo")
            assert kind == "undo" or now[one.text, one.labels[0]] == 0
            continue
        states.append(now)
        assert served.version.number == len(states) - 1
        assert min(now.values(), default=0) >= 0
    texts, labels = zip(*states[-1].elements(), strict=True) if states[-1].total() else ((), ())
    expected = base.partial_fit(list(texts), list(labels)) if texts else base
    assert model_hash(served.version.fitted) == model_hash(expected.fitted_)
    served.close()
    again = ServedModel("small", small, teachable=True)
    assert model_hash(again.version.fitted) == model_hash(expected.fitted_)
    again.close()
