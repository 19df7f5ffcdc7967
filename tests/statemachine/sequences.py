"""Random sequences of verbs by their number: what fails is run again by `python tests/statemachine/sequences.py N`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from statemachine import data
from statemachine.data import Model
from statemachine.data_verbs import DataVerbs
from statemachine.draws import SeededDraws
from statemachine.verbs import File
from unnaive import UnnaiveWarning

STEPS = 6  # verbs after the first training, at most
AUTO = "auto"
OTHERS = tuple(name for name in data.NAMES if name != AUTO)


def sequence_names(number: int) -> tuple[str, ...]:
    """The models of a sequence: `auto` in one of ten, of the others three, so that models meet that can be merged."""
    if number % 10 == 0:
        return (AUTO, OTHERS[number // 10 % len(OTHERS)])
    return tuple(OTHERS[(number + step * step) % len(OTHERS)] for step in range(3))


def run_sequence(number: int, tell: Callable[[Model], object] | None = None) -> int:
    """Run a sequence; how many verbs refused, each with a sentence. An AssertionError is an invariant that failed."""
    draws = SeededDraws(number)
    entrances = ("texts",) if draws.random.random() < 0.7 else data.ENTRANCES
    verbs = DataVerbs(sequence_names(number), entrances)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnnaiveWarning)
            _run(verbs, draws, tell or (lambda model: None))
    finally:
        verbs.close()
    return verbs.refused


def _run(verbs: DataVerbs, draws: SeededDraws, tell: Callable[[Model], object]) -> None:
    models: list[Model] = []
    files: list[File] = []
    for step in range(draws.random.randint(1, STEPS)):
        made: Any = verbs.start(draws) if not models else _step(verbs, draws, models, files, step)
        if isinstance(made, tuple):
            files.append(made)
        elif made is not None:
            models.append(made)
            tell(made)


def _step(verbs: DataVerbs, draws: SeededDraws, models: list[Model], files: list[File], step: int) -> Any:
    """A verb on one of the models, mostly the newest."""
    model = models[-1] if draws.random.random() < 0.7 else draws.choose(models)
    usual: list[Callable[[], Any]] = [
        lambda: verbs.train(draws),
        lambda: verbs.merge(model, draws.choose(models)),
        lambda: verbs.clean(draws),
        *(lambda act=act: act(draws, model) for act in (
            verbs.update, verbs.update, verbs.forget, verbs.forget, verbs.forget_strangers, verbs.remake,
            verbs.calibrate, verbs.optimise, verbs.compress, verbs.save, verbs.label,
        )),
    ]  # fmt: skip
    if verbs.records:
        usual += [lambda: verbs.export(draws)] * 2
    if files:
        usual += [lambda: verbs.load(draws, draws.choose(files))] * 2
    return draws.choose(usual)()


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        run_sequence(int(argument), print)
