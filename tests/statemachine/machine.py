"""The machine: every verb of verbs.py is a rule, and Hypothesis shrinks the sequence that fails."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, multiple, precondition, rule

from statemachine import data
from statemachine.data import Model
from statemachine.data_verbs import DataVerbs
from statemachine.draws import HypothesisDraws
from statemachine.verbs import File


def reads_texts(machine: VerbMachine) -> bool:
    """Whether there are models that read texts, which alone can be remade, compressed and saved."""
    return "texts" in machine.verbs.entrances


def or_nothing(made: Any) -> Any:
    """What goes into a bundle."""
    return multiple() if made is None else made


class VerbMachine(RuleBasedStateMachine):
    """Models of some names by some entrances, and all verbs on them."""

    models = Bundle("models")
    files = Bundle("files")

    def __init__(self, names: tuple[str, ...] = data.NAMES, entrances: tuple[str, ...] = data.ENTRANCES) -> None:
        super().__init__()
        self.verbs = DataVerbs(names, entrances)

    def teardown(self) -> None:
        """Nothing is left on disk."""
        self.verbs.close()

    @initialize(target=models, draw=st.data())
    def start(self, draw: Any) -> Any:
        return or_nothing(self.verbs.start(HypothesisDraws(draw)))

    @rule(target=models, draw=st.data())
    def train(self, draw: Any) -> Any:
        return or_nothing(self.verbs.train(HypothesisDraws(draw)))

    @rule(target=models, model=models, draw=st.data())
    def update(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.update(HypothesisDraws(draw), model))

    @rule(target=models, model=models, draw=st.data())
    def forget(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.forget(HypothesisDraws(draw), model))

    @rule(model=models, draw=st.data())
    def forget_strangers(self, model: Model, draw: Any) -> None:
        self.verbs.forget_strangers(HypothesisDraws(draw), model)

    @rule(target=models, one=models, other=models)
    def merge(self, one: Model, other: Model) -> Any:
        return or_nothing(self.verbs.merge(one, other))

    @precondition(reads_texts)
    @rule(target=models, model=models, draw=st.data())
    def remake(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.remake(HypothesisDraws(draw), model))

    @precondition(reads_texts)
    @rule(target=models, model=models, draw=st.data())
    def calibrate(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.calibrate(HypothesisDraws(draw), model))

    @precondition(reads_texts)
    @rule(target=models, model=models, draw=st.data())
    def optimise(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.optimise(HypothesisDraws(draw), model))

    @precondition(reads_texts)
    @rule(target=models, model=models, draw=st.data())
    def compress(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.compress(HypothesisDraws(draw), model))

    @precondition(reads_texts)
    @rule(target=files, model=models, draw=st.data())
    def save(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.save(HypothesisDraws(draw), model))

    @precondition(reads_texts)
    @rule(target=models, file=files, draw=st.data())
    def load(self, file: File, draw: Any) -> Any:
        return or_nothing(self.verbs.load(HypothesisDraws(draw), file))

    @rule(target=models, model=models, draw=st.data())
    def label(self, model: Model, draw: Any) -> Any:
        return or_nothing(self.verbs.label(HypothesisDraws(draw), model))

    @precondition(lambda machine: machine.verbs.records)
    @rule(target=models, draw=st.data())
    def export(self, draw: Any) -> Any:
        return or_nothing(self.verbs.export(HypothesisDraws(draw)))

    @rule(target=models, draw=st.data())
    def clean(self, draw: Any) -> Any:
        return or_nothing(self.verbs.clean(HypothesisDraws(draw)))
