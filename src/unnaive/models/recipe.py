"""A recipe is a model with its settings and its choice of terms; it makes a scorer of counts or of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unnaive.core.active import Terms, active_terms
from unnaive.core.counts import Counts
from unnaive.core.scorer import Scorer
from unnaive.errors import BadData, UnnaiveError
from unnaive.models.catalogue import Model
from unnaive.types import Ids, Sparse


@dataclass(frozen=True)
class Recipe:
    """How a scorer is made.

    settings   of the model; those that it takes and that are not here come from what is known: labels, seed, `offered`
    min_df     and
    select     which terms it uses: see core/active.py
    exclusive  whether each document has one label
    """

    model: Model
    settings: dict[str, Any]
    min_df: int = 1
    select: int | tuple[str, int] | None = None
    exclusive: bool = True
    seed: int = 0

    def scorer(self, counts: Counts, terms: Terms, *documents: Sparse, **offered: Any) -> tuple[Scorer, Ids | None]:
        """The scorer, and the ids of the terms that it uses: None for all of them.

        counts     of all documents, for terms (n_terms,)
        documents  X, Y, where the model learns from them
        offered    sample_weight, progress: for models that learn from documents; counts are weighted already

        >>> from scipy.sparse import csr_array
        >>> from unnaive.models.catalogue import find_model
        >>> counts = Counts.of(csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]]))
        >>> Recipe(find_model("multinomial"), {}, min_df=2).scorer(counts, ["ball", "vote"])[1]
        array([0])
        """
        active = active_terms(counts, terms, min_df=self.min_df, select=self.select)
        if not len(active) and self.min_df == 1:
            raise BadData("there is no term to learn from; check the texts and how they are read")
        if not len(active):
            raise BadData(f"no term is in {self.min_df} documents or more; lower min_df")
        every = len(active) == counts.n_terms
        if self.model.statistic == "counts":
            return self._made(counts if every else counts.take_terms(active)), None if every else active
        X, Y = documents
        return self._made(X if every else X[:, active], Y, **offered), None if every else active

    def _made(self, *data: Any, **offered: Any) -> Scorer:
        known = self.model.settings()
        if offered.get("sample_weight") is not None and "sample_weight" not in known:
            raise UnnaiveError(f"{self.model.title} takes no sample_weight; fit without it")
        offered |= {"seed": self.seed} | ({} if self.exclusive else {"scheme": "one-vs-rest"})
        usable = {name: value for name, value in offered.items() if name in known}
        scorer: Scorer = self.model.function(*data, **(usable | self.model.checked(self.settings)))
        return scorer
