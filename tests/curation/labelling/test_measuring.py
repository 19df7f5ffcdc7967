"""What measures the model: texts drawn at random, without suggestions, that no model learns before the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unnaive.apps.labelling.session_progress import Standing
from unnaive.curation.labelling.asking import Strategy
from unnaive.curation.labelling.label_log import IMPORTED, ImportedVote, LabelRecord
from unnaive.curation.labelling.labelling_session import Labelling
from unnaive.curation.labelling.random_sample import draw_random_texts, sampled_texts

from .test_linear import right_label
from .test_pool import random_texts


def begin(path: Path, n: int = 150, *, multilabel: bool = False, **settings: object) -> Labelling:
    record = LabelRecord.create(
        path / "labels.db", random_texts(n, 3), classes=["sport", "politics", "weather"], multilabel=multilabel
    )
    return Labelling(record, **settings)  # type: ignore[arg-type]


def answer_all(session: Labelling, people: list[str], n_labels: int) -> None:
    while session.pool.n_labelled < n_labels:
        for who in people:
            shown = session.show(who)
            if shown is not None:
                session.answer(who, shown.text, "label", [right_label(session.pool, shown.text)], shown.seen)


@pytest.mark.parametrize(
    "people", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)]
)
def test_the_sample_is_random_whoever_answers_and_no_model_learns_it(tmp_path: Path, people: int) -> None:
    session = begin(tmp_path, strategy=Strategy(random_share=0.3))
    answer_all(session, [f"person {number}" for number in range(people)], 100)
    reserved = draw_random_texts(150, 20, 0.3).reserved.tolist()
    sample = session.sample()
    assert len(sample) > 15
    assert sample == reserved[: len(sample)]  # in the random order, whatever else was asked
    assert not session.pool.labels.keys() & set(reserved)
    ways = {answer.text: answer.way for answer in reversed(session.record.standing())}  # how it was asked first
    assert {ways[text] for text in sample} == {"measure"}
    # another process, started with another seed, measures the same texts
    again = Labelling(LabelRecord(session.record.path), strategy=Strategy(random_share=0.3, seed=7))
    assert again.sample() == sample
    assert Standing().look(again)["accuracy"]["texts"] == len(sample)


def test_a_text_that_measures_is_shown_without_a_suggestion_and_its_prediction_is_recorded(tmp_path: Path) -> None:
    session = begin(tmp_path)
    answer_all(session, ["ann"], 60)
    measuring = [answer for answer in session.record.standing() if answer.way == "measure"]
    assert measuring
    assert all(answer.suggested is not None and answer.probability is not None for answer in measuring)
    (text,) = draw_random_texts(150, 20, 0.1).reserved[len(session.sample()) :][:1].tolist()
    session.among["ann"] = np.array([text])  # also if somebody searches for it
    session._open.pop("ann", None)
    shown = session.show("ann")
    assert shown is not None
    assert (shown.text, shown.way, shown.blind) == (text, "search", True)
    assert (shown.suggested, dict(shown.probabilities), session.explain(shown, "sport")) == (None, {}, None)
    assert shown.predicted is not None
    session.among.clear()
    session.follow_queue("ann", [text])  # findings of an audit are about the suggestion
    session._open.pop("ann", None)
    shown = session.show("ann")
    assert shown is not None
    assert (shown.text, shown.blind, shown.suggested is None) == (text, False, False)


def test_a_suggestion_that_was_rejected_was_wrong_also_if_the_next_one_was_accepted(tmp_path: Path) -> None:
    session = begin(tmp_path)
    answer_all(session, ["ann"], 5)
    assert [right for _, right in session.random_predictions()].count(True) < 5
    shown = session.show("ann")
    assert shown is not None
    assert shown.suggested is not None
    session.answer("ann", shown.text, "reject", [shown.suggested], shown.seen)
    following = session.show("ann")
    assert following is not None
    assert following.suggested is not None
    session.answer("ann", shown.text, "label", [following.suggested], shown.seen)
    answer, right = session.random_predictions()[-1]
    assert (answer.text, answer.suggested, answer.labels, right) == (
        shown.text, following.suggested, (following.suggested,), False
    )  # fmt: skip


def test_in_multilabel_data_no_single_prediction_is_compared_with_a_set_of_labels(tmp_path: Path) -> None:
    session = begin(tmp_path, multilabel=True)
    answer_all(session, ["ann"], 70)
    assert session.random_predictions() == []
    assert Standing().look(session)["accuracy"]["texts"] == len(session.sample()) > 0


def test_the_sample_ends_before_the_first_text_without_an_answer() -> None:
    order = np.array([5, 2, 9, 7])
    assert sampled_texts(order, decided={5, 2, 7}, labelled={5, 7}) == [5]  # 2 was skipped, 9 is open
    assert draw_random_texts(3, 20, 0.1).reserved.tolist() == []
    assert len(draw_random_texts(1000, 20, 0.5).reserved) == 490


@pytest.mark.slow
def test_training_on_chosen_texts_does_not_promise_an_accuracy_for_new_documents(tmp_path: Path) -> None:
    from unnaive import train_file

    session = begin(tmp_path)
    assert session.record.count_chosen() == 0
    answer_all(session, ["ann"], 120)
    chosen = [answer for answer in session.record.standing() if answer.way not in ("random", "measure")]
    session.record.add("ann", "label", chosen[0].text, chosen[0].labels, way="chosen")  # labelled again
    vote = ImportedVote(int(draw_random_texts(150, 20, 0.1).others[-1]), IMPORTED, "label", ["sport"])
    session.record.add_many([vote], "import x.csv")
    n_chosen = session.record.count_chosen()
    assert n_chosen == len({answer.text for answer in chosen})
    session.record.close()
    result = train_file(str(tmp_path / "labels.db"), "auto")
    assert result.search is not None
    assert result.search["chosen"] == n_chosen
    from unnaive.models.auto.search_report import accuracy_lines

    lines = [line for line in accuracy_lines(dict(result.search)) if "expected accuracy" in line]
    assert len(lines) == 1
    assert lines[0].startswith("expected accuracy on documents chosen like these: ")
    assert f"{n_chosen} texts were labelled because a model was unsure or somebody searched" in lines[0]
