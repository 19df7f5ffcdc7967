"""What is wrong with a served model, in one place: for the log, /readyz and the metrics."""

from __future__ import annotations

import logging

log = logging.getLogger("unnaive.service")

LOAD, WRITE, RECORD, MEASURE = "load", "write", "record", "measure"
KINDS = {  # kinds of problems, and whether the service is then not ready
    LOAD: True,  # a new model file cannot be loaded
    WRITE: True,  # the model file cannot be written
    RECORD: True,  # nothing can be taught
    MEASURE: False,  # versions cannot be evaluated
}


class Problems:
    """The current problems of a model by kind; each is logged once, until its sentence changes."""

    def __init__(self) -> None:
        self._sentences: dict[str, str] = {}

    def note(self, kind: str, sentence: str) -> None:
        """There is a problem of this kind now."""
        if self._sentences.get(kind) != sentence:
            log.error("%s", sentence)
        self._sentences[kind] = sentence

    def clear(self, kind: str) -> None:
        """There is no problem of this kind any more."""
        if self._sentences.pop(kind, None) is not None:
            log.warning("the problem is over (%s)", kind)

    def __contains__(self, kind: str) -> bool:
        return kind in self._sentences

    @property
    def sentences(self) -> list[str]:
        """All problems."""
        return [self._sentences[kind] for kind in KINDS if kind in self._sentences]

    @property
    def preventing(self) -> str | None:
        """The first problem with which the service is not ready; None if it is.

        >>> problems = Problems()
        >>> problems.note(MEASURE, "the versions of tickets cannot be evaluated")
        >>> problems.preventing, len(problems.sentences)
        (None, 1)
        """
        return next((self._sentences[kind] for kind, prevents in KINDS.items() if prevents and kind in self), None)
