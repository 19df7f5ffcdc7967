"""Sequences by their number: the same each time, and they find what is broken on purpose."""

import pytest

from statemachine import sequences, service
from statemachine.sequences import run_sequence, sequence_names
from unnaive import TextClassifier
from unnaive.apps.service.answers import Answers


def run_all(run, numbers):
    for number in numbers:
        run(number)


def test_a_number_is_always_the_same_sequence():
    def notes(number):
        told = []
        return run_sequence(number, lambda model: told.append(repr(model))), told

    assert notes(3) == notes(3)
    assert notes(3) != notes(4)


def test_auto_is_in_one_sequence_of_ten_and_every_model_in_some():
    names = [sequence_names(number) for number in range(1_000)]
    assert sum("auto" in one for one in names) == 100
    assert {name for one in names for name in one} == set(sequences.data.NAMES)


@pytest.mark.slow
def test_a_verb_that_does_nothing_is_found(monkeypatch):
    monkeypatch.setattr(TextClassifier, "forget", lambda self, texts, labels: self)
    with pytest.raises(AssertionError, match=r"not what training on|receipt"):
        run_all(run_sequence, range(1, 60))


@pytest.mark.slow
def test_a_service_that_ranks_otherwise_is_found(monkeypatch):
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    first = Answers.best
    monkeypatch.setattr(Answers, "best", lambda self, limit: tuple(part[:, ::-1] for part in first(self, limit)))
    with pytest.raises(AssertionError, match="first of the service"):
        run_all(service.run_service_sequence, range(1, 9))
