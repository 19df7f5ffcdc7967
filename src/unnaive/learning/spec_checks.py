"""Checks of a training specification, which a model file passes too before its model is made."""

from __future__ import annotations

from unnaive.base.errors import UnnaiveError, choose
from unnaive.base.settings import check_options
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.optimise import read_optimise
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.linear.term_selection import check_select


def check_spec(spec: TrainingSpec) -> None:
    """Raise an error if a setting of the model or of its training is not possible."""
    spec.model.check_settings()
    check_options(spec, TRAINING_OPTIONS, spec.model.traits.name)
    check_select(spec.select)
    if spec.decision is not None and not hasattr(spec.decision, "decide"):
        from unnaive.learning.tuning import TUNINGS

        names = ["argmax", "untuned", *TUNINGS]
        if not isinstance(spec.decision, str):
            raise UnnaiveError(f"decision is {spec.decision!r}; give {', '.join(names)} or a Decision")
        choose(names, spec.decision, "decision")
    if spec.word_vectors is not None and not spec.model.traits.takes_vectors:
        from unnaive.learning.vectors_in_training import TAKERS

        raise UnnaiveError(f"{spec.model.traits.title} cannot use word vectors; {TAKERS} can")
    if read_optimise(spec.optimise) not in (None, "accuracy") and spec.decision not in (None, "argmax"):
        raise UnnaiveError("decision and optimise were both given; leave one of the two out")
