"""The pool: undo leaves no trace, leave-one-out is exact, scores are those of the formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unnaive.base.errors import BadData, UnknownName
from unnaive.curation.labelling.asking import QuestionState, Strategy, more_like, next_question
from unnaive.curation.labelling.texts_to_label import TextPool

WORDS = ["ball", "goal", "game", "vote", "law", "seat", "rain", "snow", "wind", "sun"]


def random_texts(n: int, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, size=draw.integers(1, 7))) for _ in range(n)]


def all_scores(pool: TextPool) -> dict[str, bytes]:
    return {label: pool.scores(place).tobytes() for place, label in enumerate(pool.classes) if pool.known(place)}


def test_scores_by_hand() -> None:
    """Presence of terms: ball and goal in one text each of four; β = 0.7, p(t|D) = 1/4 each."""
    pool = TextPool(["ball", "goal", "vote", "law"], ["sport", "politics"])
    pool.set_labels(0, ["sport"])
    pool.set_labels(2, ["politics"])
    # n_ball,sport / n_sport = 1: log(0.3·1/(1/4) + 0.7) = log 1.9; other terms log 0.7; prior (1 + 1)/(2 + 2)
    expected = [math.log(1.9), math.log(0.7), math.log(0.7), math.log(0.7)]
    np.testing.assert_allclose(pool.scores(0), np.array(expected) + math.log(0.5), rtol=1e-6)
    ranked = pool.ranking()
    assert ranked.best.tolist() == [0, 0, 1, 0]
    np.testing.assert_allclose(ranked.margin, [math.log(1.9 / 0.7), 0, math.log(1.9 / 0.7), 0], atol=1e-6)
    both = math.exp(math.log(1.9)) / (1.9 + 0.7)
    assert pool.probabilities(0)["sport"] == pytest.approx(both, rel=1e-6)


@pytest.mark.parametrize("multilabel", [False, True])
def test_undo_of_any_depth_gives_the_same_scores_bit_for_bit(multilabel: bool) -> None:
    texts, draw = random_texts(60), np.random.default_rng(1)
    pool = TextPool(texts, multilabel=multilabel)
    history, states = [], [all_scores(pool)]
    for _ in range(80):
        text = int(draw.integers(60))
        size = int(draw.integers(0, 3)) if multilabel else 1
        labels = tuple(sorted({f"class {c}" for c in draw.integers(5, size=size)}))
        history.append((text, pool.labels.get(text), list(pool.classes)))
        pool.set_labels(text, labels)
        states.append(all_scores(pool))
    while history:
        text, before, classes = history.pop()
        states.pop()
        pool.set_labels(text, before)
        pool.set_classes(classes)
        assert all_scores(pool) == states[-1]


def test_the_order_of_labels_is_irrelevant() -> None:
    texts = random_texts(40)
    one, two = TextPool(texts, ["a", "b"]), TextPool(texts, ["a", "b"])
    given = {text: ["ab"[text % 3 == 0]] for text in range(20)}
    for text, labels in given.items():
        one.set_labels(text, labels)
    for text, labels in reversed(given.items()):
        two.set_labels(text, labels)
    assert all_scores(one) == all_scores(two)


def test_leaving_one_out_is_taking_its_label_away() -> None:
    texts = random_texts(40, 3)
    pool = TextPool(texts, ["a", "b", "c"])
    for text in range(30):
        pool.set_labels(text, ["abc"[text % 3]])
    left_out = pool.left_out_scores(np.arange(30))
    for text in range(30):
        labels = pool.labels[text]
        pool.set_labels(text, None)
        np.testing.assert_allclose(left_out[text], [pool.scores(c)[text] for c in range(3)], rtol=2e-6, atol=2e-6)
        pool.set_labels(text, labels)


def test_evidence_adds_up_to_the_score_above_the_mean() -> None:
    pool = TextPool(["good ball", "fair vote", "good vote"], ["sport", "politics"])
    pool.set_labels(0, ["sport"])
    pool.set_labels(1, ["politics"])
    why = pool.explain(2, "sport")
    scores = [float(pool.scores(c)[2]) for c in range(2)]
    assert why.base + sum(one.value for one in why.evidence) == pytest.approx(scores[0] - np.mean(scores), abs=1e-6)
    assert {one.term: one.places for one in why.evidence} == {"good": ((0, 4),), "vote": ((5, 9),)}


def test_hints_suggest_before_any_label_and_are_outweighed() -> None:
    pool = TextPool(["a ball", "a vote", "rain"], hints={"sport": ["ball"], "politics": ["vote", "nowhere"]})
    ranked = pool.ranking()
    assert [pool.classes[c] for c in ranked.best[:2]] == ["sport", "politics"]


def test_search_needs_all_words() -> None:
    pool = TextPool(["good ball", "good vote", "ball"])
    assert pool.search("Good ball").tolist() == [0]
    assert pool.search("nowhere").tolist() == []
    assert pool.search("").tolist() == []


def test_a_class_with_texts_stays() -> None:
    pool = TextPool(["ball"], ["sport"])
    pool.set_labels(0, ["sport"])
    with pytest.raises(BadData, match="1 texts have it"):
        pool.remove_class("sport")


def test_no_near_duplicates_in_a_row() -> None:
    pool = TextPool(["ball goal game vote"] * 3 + ["law seat rain snow", "sun wind"], ["a", "b"])
    pool.set_labels(3, ["a"])
    pool.set_labels(4, ["b"])
    question = next_question(pool, QuestionState({3, 4, 0}, [0], 30), Strategy("uncertain"))
    assert question is not None  # only duplicates of the last are left: better than nothing
    pool2 = TextPool(["ball goal game vote"] * 3 + ["law seat rain snow", "sun wind", "ball law"], ["a", "b"])
    pool2.set_labels(3, ["a"])
    pool2.set_labels(4, ["b"])
    found = next_question(pool2, QuestionState({3, 4, 0}, [0], 30), Strategy("uncertain"))
    assert found is not None
    assert found.text == 5


def test_the_first_twenty_questions_are_random_and_one_in_ten_after_them_measures_the_model() -> None:
    pool, strategy = TextPool(random_texts(400, 5), ["a", "b"]), Strategy()
    first, reserved, _ = strategy.random_texts(400)
    for text in first.tolist():
        pool.set_labels(text, ["ab"[text % 2]])
    begin = [next_question(pool, QuestionState(first[:number].tolist(), [], number)) for number in range(20)]
    assert [(one.text, one.way) for one in begin if one] == [(text, "random") for text in first.tolist()]
    later = [next_question(pool, QuestionState(first.tolist(), [], number)) for number in range(20, 400)]
    assert {(one.way, one.text in reserved) for one in later if one} == {("measure", True), ("uncertain", False)}
    # 380 draws of 0.1: 38 expected, standard deviation 5.8
    assert 20 < sum(one.way == "measure" for one in later if one) < 56


def test_a_reserved_text_is_asked_in_turn_only_and_its_label_is_not_learnt() -> None:
    pool = TextPool(["ball game", "ball goal", "vote law", "vote seat", "ball line"], ["sport", "politics"])
    pool.set_labels(0, ["sport"])
    before = pool.left_out_scores(np.array([0, 4])).tobytes()
    pool.reserve([1, 4])
    pool.set_labels(1, ["sport"])
    assert (pool.labels, pool.measured, pool.n_labelled) == ({0: ("sport",)}, {1: ("sport",)}, 2)
    assert pool.class_sizes() == {"sport": 2, "politics": 0}
    assert pool.left_out_scores(np.array([0, 4])).tobytes() == before
    with pytest.raises(BadData, match="2 texts have it"):
        pool.remove_class("sport")
    pool.reserve([])  # in the end, all labels are learnt
    assert (pool.labels, pool.measured) == ({0: ("sport",), 1: ("sport",)}, {})
    pool.reserve([1])
    pool.set_labels(1, None)
    assert (pool.n_labelled, pool.labels_of(1)) == (1, None)


def test_a_text_as_new_has_the_features_that_it_would_have_outside_of_the_pool() -> None:
    pool = TextPool(["ball game chess", "ball goal", "vote law"])
    found = pool.documents_as_new(np.array([0, 1]))
    assert [pool.vocabulary[term] for term in found.indices.tolist()] == ["ball", "ball"]  # others have no other term
    np.testing.assert_allclose(found.data, [1.0, 1.0])
    assert pool.documents_as_new(np.array([2])).nnz == 0


@pytest.mark.parametrize("share", [-0.1, 0.6, 1.0, float("nan")])
def test_at_most_half_of_the_questions_measure_the_model(share: float) -> None:
    with pytest.raises(UnknownName, match=r"from 0 to 0\.5"):
        Strategy(random_share=share)


def test_one_class_is_explored_and_more_like_it_is_found() -> None:
    pool = TextPool(["ball game", "ball goal", "vote law", "vote seat"], ["sport"])
    pool.set_labels(0, ["sport"])
    question = next_question(pool, QuestionState({0}, [0], 25), Strategy(random_share=0))
    assert question is not None
    assert (question.way, question.text in (2, 3)) == ("explore", True)
    like = more_like(pool, "sport", QuestionState({0}))
    assert like is not None
    assert (like.text, like.way) == (1, "similar")


def test_nothing_left() -> None:
    pool = TextPool(["ball"])
    assert next_question(pool, QuestionState({0})) is None
    assert more_like(pool, "sport", QuestionState()) is None


def test_what_a_search_found_is_never_called_random() -> None:
    """Else the sample that accuracy is measured on would be of somebody's choosing."""
    pool = TextPool(random_texts(30))
    found = pool.search("ball")
    for number in range(30):
        question = next_question(pool, QuestionState((), (), number, found))
        assert question is not None
        assert (question.way, question.text in found) == ("search", True)


def test_texts_of_no_class_of_the_model_come_first() -> None:
    pool = TextPool(["ball game", "violin opera", "vote law", "flute chorus", "ball goal"], ["sport", "politics"])
    pool.prior_scores = {"sport": np.zeros(5, np.float32), "politics": np.zeros(5, np.float32)}
    pool.novelty = np.array([0.1, 0.995, 0.2, 0.999, 0.5])
    asked = [
        next_question(pool, QuestionState(closed, [], len(closed)), Strategy(random_share=0))
        for closed in ([], [3], [1, 3])
    ]
    assert [(one.text, one.way) for one in asked[:2] if one] == [(3, "novel"), (1, "novel")]
    assert asked[2] is not None
    assert asked[2].way == "uncertain"
    later = next_question(
        pool, QuestionState([], [], 20), Strategy(random_share=0)
    )  # after twenty the others get their turn
    assert later is not None
    assert later.way == "uncertain"
