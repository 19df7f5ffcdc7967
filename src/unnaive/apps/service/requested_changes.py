"""A change that a client asks for, and the answer to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from unnaive.base.types import Label
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.teaching_log import TeachingRecord
from unnaive.learning.fitted import FittedModel

MOST_COMPARED = 100  # documents of a change whose predictions before and after are part of the answer
NOTHING: dict[str, Any] = {  # the answer to a change that is already made
    "taught": 0, "forgotten": 0, "changed": [], "tuning_lost": False, "new_classes": [], "undoes": None,
}  # fmt: skip


@dataclass(frozen=True)
class RequestedChange:
    """Documents to teach and to forget, and how the request is identified.

    new_classes  True to add unknown labels as classes, a list of those to add, or None for any
    key          the idempotency key; a request whose key was used before gets the answer of that one
    request      a digest of the request, so that a key is not used for two
    undoes       the event that the change reverses
    """

    kind: str
    change: Change
    new_classes: bool | Collection[Label] | None = False
    key: str | None = None
    request: str = ""
    undoes: int | None = None

    @property
    def names(self) -> frozenset[str]:
        """What no two changes of one event may share: the key, and the sources of the documents."""
        sources = {document.source for document in self.change.learn}
        return frozenset(name for name in (self.key, *sources) if name is not None)


class ChangesTogether:
    """Changes that one refit can make, with the answers that each would get alone after those before it."""

    def __init__(self, classes: Iterable[Label]) -> None:
        self.requests: list[RequestedChange] = []
        self._classes, self._grows = set(classes), False  # whether one of them adds a class
        self._names: frozenset[str] = frozenset()

    def may_add(self, request: RequestedChange) -> bool:
        """Whether a change can be joined: none that forgets, and none with the key or a source of another one."""
        if not self.requests:
            return True
        forgets = request.change.forget or self.requests[0].change.forget
        return not forgets and not self._names & request.names

    def add(self, request: RequestedChange) -> bool:
        """Add a prepared change; False if it adds classes, as one before it does."""
        labels = (label for document in request.change.learn for label in document.labels)
        adds = not self._classes.issuperset(labels)
        if adds and self._grows:
            return False
        self._grows = self._grows or adds
        self._names |= request.names
        self.requests.append(request)
        return True


def shown_answer(answer: dict[str, Any], number: int, version_id: str, *, repeated: bool) -> dict[str, Any]:
    """The part of a recorded answer that a client gets."""
    shown = {name: value for name, value in answer.items() if name not in ("copies", "base")}
    return shown | {"version": number, "version_id": version_id, "event": number, "repeated": repeated}


def count_copies(fitted: FittedModel, documents: Sequence[Document], record: TeachingRecord) -> dict[str, int]:
    """How often the model had learnt each text before it was taught here; texts it had not are left out.

    A rebase needs these numbers.
    """
    if fitted.text_hashes is None or not documents:
        return {}
    texts = [document.text for document in documents]
    n_learnt = {text: times for text, times in zip(texts, fitted.text_hashes.copies(texts), strict=True) if times}
    others = {text: times - record.count_taught(text) for text, times in n_learnt.items()}
    return {text: times for text, times in others.items() if times > 0}


def compare_versions(old: FittedModel, new: FittedModel, changes: Sequence[Change]) -> list[list[dict[str, Any]]]:
    """For each change, the prediction for each of its texts before and after, as plain values."""
    texts = [[document.text for document in (*change.learn, *change.forget)][:MOST_COMPARED] for change in changes]
    pairs = zip(*(_best(fitted, [text for part in texts for text in part]) for fitted in (old, new)), strict=True)
    compared = iter([{"before": before, "after": after} for before, after in pairs])
    return [[next(compared) for _ in part] for part in texts]


def _best(fitted: FittedModel, texts: Sequence[str]) -> list[dict[str, Any]]:
    if not texts:
        return []
    scores = fitted.scores(list(texts))
    values = fitted.probabilities(scores) if fitted.probabilistic else scores
    best = fitted.first_labels(scores)
    return [
        {"label": fitted.classes[index], fitted.value_name: float(row[index])}
        for index, row in zip(best, values, strict=True)
    ]
