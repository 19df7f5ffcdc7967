"""The progress of a labelling session: running accuracy, stability, and whether to stop."""

from __future__ import annotations

import threading
from typing import Any

from unnaive.base.errors import count_noun
from unnaive.curation.labelling import when_to_stop
from unnaive.curation.labelling.agreement import agreement_of_all, agreements
from unnaive.curation.labelling.labelling_session import Labelling

EVERY = 10  # labels between two checks


class Standing:
    """The stopping criteria, checked again every ten labels."""

    def __init__(self) -> None:
        self._stability = when_to_stop.Stability()
        self._looked = -EVERY
        self._found: dict[str, Any] = {}
        self._looking = threading.Lock()

    def look(self, labelling: Labelling) -> dict[str, Any]:
        """The stopping criteria as JSON values (`when_to_stop.to_dict`), and how often suggestions were right.

        Nobody waits for it: predicting all texts holds no lock, and who asks in the meantime gets the previous values.
        """
        if not self._looking.acquire(blocking=not self._found):
            return self._found
        try:
            self._found = self._look(labelling)
            return self._found
        finally:
            self._looking.release()

    def _look(self, labelling: Labelling) -> dict[str, Any]:
        with labelling.lock:
            labelled = labelling.pool.n_labelled
            if self._found and abs(labelled - self._looked) < EVERY:
                return self._found
            self._looked = labelled
            step = self._stability.begin(labelling.learner)
            predict = labelling.learner.predict_later() if step is not None else list
            accuracy = when_to_stop.running_accuracy(labelling.learner, labelling.sample())
            answers, asked = labelling.random_predictions(), labelling.asked_predictions()
            n_before = labels_before([answer.id for answer, _ in answers], labelling)
        if step is not None:
            self._stability.finish(step, predict())
        ahead = when_to_stop.outlook(n_before, [right for _, right in answers], labelled)
        share = {"share": sum(asked) / len(asked), "texts": len(asked)} if asked else None
        found = when_to_stop.to_dict(accuracy, self._stability, ahead) | {"asked": share}
        found["notes"] = found["sentences"][bool(accuracy.n) :]  # without what the page shows as figures
        if share is not None:
            right, noun = 100 * sum(asked) / len(asked), count_noun(len(asked), "suggestion")
            found["sentences"].append(
                f"{right:.0f} % of {noun} for texts that were asked for were right; these are not like new texts"
            )
        return found


def labels_before(ids: list[int], labelling: Labelling) -> list[int]:
    """The number of labels given before each of these decisions."""
    import bisect

    label_ids = labelling.label_ids()
    return [bisect.bisect_left(label_ids, id_) for id_ in ids]


def describe_agreement(labelling: Labelling) -> dict[str, Any]:
    """Cohen's kappa of every two annotators on their common texts, and Krippendorff's alpha of all, as JSON values."""
    with labelling.lock:
        pairs, alpha = agreements(labelling.record), agreement_of_all(labelling.record)
    return {
        "agreement": [
            {"people": list(pair.people), "texts": pair.texts, "same": pair.same, "kappa": pair.kappa} for pair in pairs
        ],
        "alpha": alpha,
    }
