"""Requests that cannot be done: the HTTP status and the sentence that say why."""

from __future__ import annotations

from typing import Any

from unnaive.base.errors import UnnaiveError


class Refused(UnnaiveError):
    """A request that cannot be done, with the HTTP status that says why, and what a program may want to know."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.more = status, more


# what a sentence for Python or the command line says, and what a client of REST can do instead
REST_WORDS = {
    "reject by probability (--reject-below)": "reject by probability (threshold)",
    "train it with calibrate='temperature' (--calibrate temperature)": "train it with --calibrate temperature",
    "use decision_function, or calibrate the model first": "train it with --calibrate temperature to have them",
    "make them all one kind, for instance with str": "give labels of the kind that the classes have",
    "say grow=True, or --grow, to add it": "allow it with new_classes",
}


def refuse_mistake(status: int, problem: UnnaiveError) -> Refused:
    """A mistake as a refused request; its sentence names what a request has, and not what a command or function has.

    >>> str(refuse_mistake(409, UnnaiveError("class 'x' is new; say grow=True, or --grow, to add it")))
    "class 'x' is new; allow it with new_classes"
    """
    sentence = str(problem)
    for words, instead in REST_WORDS.items():
        sentence = sentence.replace(words, instead)
    return Refused(status, sentence)
