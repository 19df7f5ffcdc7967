"""Requests that cannot be served: the HTTP status and a sentence that says why."""

from __future__ import annotations

from typing import Any

from unnaive.base.errors import UnnaiveError


class Refused(UnnaiveError):
    """A request that cannot be served, with its HTTP status and details for programs."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.more = status, more


# advice in messages for Python or the command line, and what a REST client can do instead
REST_WORDS = {
    "reject by probability (--min-probability)": "reject by probability (threshold)",
    "train it with calibrate='temperature' (--calibrate temperature)": "train it with --calibrate temperature",
    "use decision_function, or calibrate the model first": "train it with --calibrate temperature to have them",
    "convert them to one type, for instance with str": "give labels of the same type as the classes",
    "pass new_classes=True, or --new-classes, to add it": "allow it with new_classes",
}


def refuse_mistake(status: int, problem: UnnaiveError) -> Refused:
    """Turn an error into a refused request, with advice for REST clients instead of advice for commands or functions.

    >>> str(refuse_mistake(409, UnnaiveError("class 'x' is new; pass new_classes=True, or --new-classes, to add it")))
    "class 'x' is new; allow it with new_classes"
    """
    sentence = str(problem)
    for words, instead in REST_WORDS.items():
        sentence = sentence.replace(words, instead)
    return Refused(status, sentence)
