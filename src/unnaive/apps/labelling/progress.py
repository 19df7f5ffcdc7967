"""How a labelling stands: running accuracy, stability and outlook, taken together from a session."""

from __future__ import annotations

from typing import Any

from unnaive.curation.labelling import stopping
from unnaive.curation.labelling.agreement import agreements
from unnaive.curation.labelling.session import Labelling

EVERY = 10  # labels between two looks


class Standing:
    """When to stop, looked at again every ten labels."""

    def __init__(self) -> None:
        self._stability = stopping.Stability()
        self._looked = -EVERY
        self._found: dict[str, Any] = {}

    def look(self, labelling: Labelling) -> dict[str, Any]:
        """What `stopping` says now, as plain values."""
        labelled = len(labelling.pool.labels)
        if self._found and abs(labelled - self._looked) < EVERY:
            return self._found
        self._looked = labelled
        self._stability.look(labelling.learner)
        answers = labelling.random_answers()
        texts = [one.text for one in answers if one.text is not None]
        accuracy = stopping.running_accuracy(labelling.learner, texts)
        suggested = [(place, one) for place, one in enumerate(answers) if one.suggested is not None]
        given = labels_before([one.id for _, one in suggested], labelling)
        right = [one.labels == (one.suggested,) for _, one in suggested]
        ahead = stopping.outlook(given, right, labelled)
        self._found = stopping.to_dict(accuracy, self._stability, ahead)
        return self._found


def labels_before(ids: list[int], labelling: Labelling) -> list[int]:
    """How many labels had been given before each of these decisions."""
    import bisect

    given = labelling.label_ids()
    return [bisect.bisect_left(given, one) for one in ids]


def describe_agreement(labelling: Labelling) -> list[dict[str, Any]]:
    """Of every two people: texts in common, and kappa."""
    return [
        {"people": list(one.people), "texts": one.texts, "same": one.same, "kappa": one.kappa}
        for one in agreements(labelling.record)
    ]
