"""Random sequences of train, update, forget, merge, remake, calibrate, optimise, compress, save, load and map."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from statemachine.data import ENTRANCES, NAMES
from statemachine.machine import VerbMachine

pytestmark = pytest.mark.filterwarnings("ignore::unnaive.UnnaiveWarning")


def run(machine, examples, steps, **more):
    """As many sequences of so many verbs at most."""
    allowed = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck), **more
    )
    run_state_machine_as_test(machine, settings=allowed)


@pytest.mark.parametrize(("entrance", "examples"), [("texts", 3), ("counts", 3)])
def test_any_verbs_on_any_models(entrance, examples):
    """The same sequences at every run: what only chance finds is found by the long runs below."""
    run(lambda: VerbMachine(entrances=(entrance,)), examples, steps=8, derandomize=True)


@pytest.mark.slow
@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("name", NAMES)
def test_any_verbs_on_models_of_one_name(name, entrance):
    run(lambda: VerbMachine((name,), (entrance,)), examples=8, steps=10)


@pytest.mark.slow
def test_many_verbs_on_any_models():
    run(VerbMachine, examples=30, steps=25)
