"""Forgotten documents cannot be found out: the attacker's success is chance, for every model."""

import membership
import numpy as np
import pytest

from unnaive.classifier.receipts import model_hash
from unnaive.models.catalogue import MODELS

QUICK = ("multinomial",)
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MODELS]
BY_CHANCE = 33  # of 200 guesses, right ones beyond 100: a coin has more in one of 100,000 cases (4.6 standard errors)


def draw_members(seed):
    return np.random.default_rng(seed).permutation(membership.N_CANDIDATES) < membership.N_CANDIDATES // 2


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_the_same_whoever_was_forgotten_and_guesses_are_chance(name):
    """With any other half forgotten it is the same file, byte for byte: no attacker can do better than a coin."""
    members = draw_members(3)
    model, other = membership.forgotten_file(name, members), membership.forgotten_file(name, ~members)
    assert model_hash(model.fitted_) == model_hash(other.fitted_)
    right = int((membership.guess_members(name, model) == members).sum())
    assert abs(right - 100) <= BY_CHANCE


@pytest.mark.parametrize("name", ["maxent", "svm"])
def test_the_attack_finds_members_that_were_not_forgotten(name):
    """In which direction their scores move he sees on models of his own."""
    members = draw_members(3)
    model = membership.forgotten_file(name, members, forget=False)
    right = int((membership.guess_members(name, model) == members).sum())
    assert abs(right - 100) > BY_CHANCE


@pytest.mark.slow
def test_a_choice_that_was_kept_gives_them_away():
    members = draw_members(3)
    kept = [membership.forgotten_file("auto", half, search="keep") for half in (members, ~members)]
    assert model_hash(kept[0].fitted_) != model_hash(kept[1].fitted_)
