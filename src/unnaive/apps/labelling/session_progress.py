"""The progress of a labelling session: running accuracy, stability, and whether to stop."""

from __future__ import annotations

from typing import Any

from unnaive.curation.labelling import when_to_stop
from unnaive.curation.labelling.agreement import agreements
from unnaive.curation.labelling.labelling_session import Labelling

EVERY = 10  # labels between two checks


class Standing:
    """The stopping criteria, checked again every ten labels."""

    def __init__(self) -> None:
        self._stability = when_to_stop.Stability()
        self._looked = -EVERY
        self._found: dict[str, Any] = {}

    def look(self, labelling: Labelling) -> dict[str, Any]:
        """The stopping criteria as JSON values (`when_to_stop.to_dict`)."""
        labelled = labelling.pool.n_labelled
        if self._found and abs(labelled - self._looked) < EVERY:
            return self._found
        self._looked = labelled
        self._stability.look(labelling.learner)
        accuracy = when_to_stop.running_accuracy(labelling.learner, labelling.sample())
        answers = labelling.random_predictions()
        n_before = labels_before([answer.id for answer, _ in answers], labelling)
        ahead = when_to_stop.outlook(n_before, [right for _, right in answers], labelled)
        self._found = when_to_stop.to_dict(accuracy, self._stability, ahead)
        return self._found


def labels_before(ids: list[int], labelling: Labelling) -> list[int]:
    """The number of labels given before each of these decisions."""
    import bisect

    label_ids = labelling.label_ids()
    return [bisect.bisect_left(label_ids, id_) for id_ in ids]


def describe_agreement(labelling: Labelling) -> list[dict[str, Any]]:
    """The number of common texts and Cohen's kappa of every two annotators, as JSON values."""
    return [
        {"people": list(agreement.people), "texts": agreement.texts, "same": agreement.same, "kappa": agreement.kappa}
        for agreement in agreements(labelling.record)
    ]
