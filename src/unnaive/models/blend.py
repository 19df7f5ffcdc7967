"""The blend of OR gate and Rocchio with log-tf.

Each score is divided by the document's maximum, then they are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel, refuse_damaged
from unnaive.base.settings import setting
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.array_rules import check_keys
from unnaive.data.arrays import is_number
from unnaive.data.counts import Counts
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear
from unnaive.linear.links import relative
from unnaive.linear.scorer import Contributions, Scorer
from unnaive.models.estimator import DocumentsModel, class_weight_setting
from unnaive.models.or_gate import WEIGHTS, NoisyOr, OrGate
from unnaive.models.rocchio import Rocchio


@dataclass(frozen=True, eq=False)
class Blend(Scorer):
    """score = share · relative(gate) + (1 − share) · relative(centroids), relative to the document's maximum.

    Dividing by a maximum is not linear, so this needs its own Scorer; like a cosine, the score is not a probability.
    """

    link = "cosine"  # from 0 to 1, but not a probability
    kind: ClassVar[str] = "blend"

    gate: Linear
    centroids: Linear
    share: float

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.gate.n_classes

    @property
    def n_terms(self) -> int:  # type: ignore[override]  # a field of other scorers
        """The number of terms."""
        return self.gate.n_terms

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        return self.share * relative(self.gate.scores(X)) + (1 - self.share) * relative(self.centroids.scores(X))

    def contributions(self, document: Sparse, chosen: int, rival: int | None) -> Contributions:
        """The contribution of each term of a document (1, n_terms) to the score of a class, or to its lead over a
        rival.

        For a single document the two maxima are constants, so its score is a sum over terms; the base is 0.
        """
        values = np.zeros(document.nnz)
        for part, share in ((self.gate, self.share), (self.centroids, 1 - self.share)):
            features = part.weighting.apply(document)
            adds = part.weights(features.indices) * features.data
            top = adds.sum(axis=1).max(initial=0.0)
            lead = adds[chosen] - (0.0 if rival is None else adds[rival])
            values += share * lead / (top if top > 0 else 1.0)
        return Contributions(0.0, values)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and JSON settings for `from_arrays`."""
        arrays: dict[str, NDArray[Any]] = {}
        settings: dict[str, Any] = {"share": self.share}
        for name, part in (("gate", self.gate), ("centroids", self.centroids)):
            part_arrays, settings[name] = part.to_arrays()
            arrays |= {f"{name}.{key}": value for key, value in part_arrays.items()}
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> Blend:
        """The inverse of `to_arrays`; the input is checked, since it comes from a file."""
        with refuse_damaged("the blend in this model is"):
            check_keys(settings, "share", "gate", "centroids")
            share = settings["share"]
            if not is_number(share) or not 0 <= share <= 1:
                raise ValueError("its share is not a number from 0 to 1")
            if any(not name.startswith(("gate.", "centroids.")) for name in arrays):
                raise ValueError("it has arrays that belong to neither of its parts")
            gate, centroids = _part(NoisyOr, arrays, settings, "gate"), _part(Linear, arrays, settings, "centroids")
        if (gate.n_classes, gate.n_terms) != (centroids.n_classes, centroids.n_terms):
            raise BadModel("the two parts of the blend in this model have different sizes; train it again")
        return cls(gate, centroids, float(share))


class OrBlend(DocumentsModel):
    """OR gate and Rocchio, each relative to the document's maximum; `share` is the weight of the first.

    >>> OrBlend().fit([[2, 0, 1], [0, 3, 1]], ["sport", "politics"]).scores([[1, 0, 0]])
    array([[0., 1.]])
    """

    traits = Traits(
        "or-blend",
        "OR gate blended with Rocchio",
        "documents",
        scorer_kinds=("blend",),
        probabilistic=False,
        generative=False,
        poor_score=True,
    )

    share: float = setting("Weight of the OR gate in the score.", default=0.3, at_least=0, at_most=1)
    weights: str = setting("Estimate of the gate's weights; see OrGate.", default="relaxed", choices=tuple(WEIGHTS))
    tf: str = setting("Term frequency of Rocchio.", default="log", choices=("raw", "log", "binary"))
    class_weight: Any = class_weight_setting()

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Train both on the same documents."""
        gate = OrGate(weights=self.weights).rule(Counts.of(X, Y, sample_weight))
        return Learnt(Blend(gate, Rocchio(tf=self.tf).centroids(X, Y, sample_weight), self.share))


def _part(kind: type[Linear], arrays: dict[str, NDArray[Any]], settings: Any, name: str) -> Linear:
    start = f"{name}."
    part_arrays = {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}
    return kind.from_arrays(part_arrays, settings[name])
