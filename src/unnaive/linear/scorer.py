"""Scorer is the interface of every trained model, linear or not: documents in, scores out, storable as arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from unnaive.base.errors import BadData, BadModel
from unnaive.base.sparse import csr_array
from unnaive.base.types import Arrays, Floats, Ids, Label, Sparse
from unnaive.linear.links import LINKS, Link
from unnaive.linear.network import Network
from unnaive.linear.top_scores import TopScores
from unnaive.text.scoring import TfIdfPart

MOST_CELLS = 1 << 22  # scores of an explanation in memory at a time: 32 MB
MOST_LEFT_OUT = 3_000  # documents without a term that are scored for an explanation
NEVER = -2  # the group of terms that are never left out


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions of the terms of one document to the score of a class, or to its lead over another.

    base    the part of the score without any term
    values  one for each stored cell of the document, in its order (n_terms_of_document,)
    exact   whether base + Σ values is the score; otherwise a value is the loss of the score without the term
    shared  whether the document has so many terms that most were left out in groups, whose terms share the loss
    """

    base: float
    values: Floats
    exact: bool = True
    shared: bool = False


class Scorer(ABC):
    """Scores of documents for classes; Linear is the usual one, networks, trees and neighbours have others.

    A class without documents scores −∞, so that it is never predicted; probabilities, calibrations and explanations
    leave it out. A scorer says whether its scores are probabilities, what each term contributes, which terms are
    strongest, its Bayesian network if it has one, and its form without training documents.
    """

    kind: ClassVar[str]  # its name in model files
    link: str  # the name of the link, which defines the meaning of scores (links.py)
    n_terms: int

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @abstractmethod
    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""

    def top_scores(
        self, X: Sparse, k: int, *, above: Floats | None = None, scale: float | None = None
    ) -> TopScores | None:
        """The k best classes of each document, and those whose score reaches `above` (n_classes,), with their scores.

        With `scale` also log Σ e^(scale · score) over all classes. None if all classes are scored anyway; use `scores`
        then.
        """
        return None

    @abstractmethod
    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and JSON settings from which `from_arrays` makes an equal scorer."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; it must check every value, since models come from files."""

    @property
    def meaning(self) -> Link:
        """The meaning of a score."""
        return LINKS[self.link]

    @property
    def probabilistic(self) -> bool:
        """Whether scores can be turned into probabilities without calibration."""
        return self.meaning.log_odds is not None

    def contributions(self, document: Sparse, chosen: int, rival: int | None) -> Contributions:
        """The contributions of the terms of a document (1, n_terms) to the score of `chosen`, or its lead over `rival`.

        The default, for scores that are not sums over terms, is the loss of the lead without each term. Of more terms
        than MOST_LEFT_OUT, half as many groups are left out first, and then each term of the groups with most effect.
        """
        n = document.nnz
        if n <= MOST_LEFT_OUT:
            lead, values = self._losses(document, np.arange(n), chosen, rival)
            return Contributions(float(lead - values.sum()), values, exact=False)
        n_groups = MOST_LEFT_OUT // 2
        group = np.arange(n) * n_groups // n
        lead, losses = self._losses(document, group, chosen, rival)
        values = (losses / np.bincount(group))[group]
        strongest = np.argsort(-np.abs(losses), kind="stable")[: n_groups * n_groups // n]
        alone = np.flatnonzero(np.isin(group, strongest))
        single = np.full(n, NEVER)
        single[alone] = np.arange(len(alone))
        values[alone] = self._losses(document, single, chosen, rival)[1]
        return Contributions(float(lead - values.sum()), values, exact=False, shared=True)

    def _losses(self, document: Sparse, group: Ids, chosen: int, rival: int | None) -> tuple[float, Floats]:
        """The lead of a document, and its loss without each group of terms but the group NEVER."""
        n = document.nnz
        terms = csr_array((document.data, (np.arange(n), document.indices)), shape=(n, document.shape[1]))
        leads, step = [], max(1, MOST_CELLS // max(1, self.n_classes, 8 * n))
        end = int(group.max(initial=-1)) + 1
        for start in range(-1, end, step):  # no term is in group −1: the whole document comes first
            left_out = np.arange(start, min(start + step, end))
            rows = csr_array((group != left_out[:, None]).astype(np.float64)) @ terms
            scores = self.scores(csr_array(rows))
            leads.append(scores[:, chosen] - self._reference(scores, rival))
        lead = np.concatenate(leads)
        if not np.isfinite(lead[0]):  # a class without documents: no term changes its score
            return float(lead[0]), np.zeros(end)
        return float(lead[0]), lead[0] - lead[1:]

    def _reference(self, scores: Floats, rival: int | None) -> Any:
        """The reference of a score: the rival's, the mean of exclusive classes, or zero."""
        if rival is not None:
            return scores[:, rival]
        if not self.meaning.exclusive:
            return 0.0
        possible = np.isfinite(scores)  # classes without documents are not a reference
        return np.where(possible, scores, 0.0).sum(axis=1) / np.maximum(possible.sum(axis=1), 1)

    def evidence_details(self, document: Sparse, chosen: int) -> dict[int, dict[str, Any]]:
        """Further details about terms of a document, by column; keywords of `Evidence`."""
        return {}

    def scores_without(self, document: Sparse) -> Floats | None:
        """Scores of a document without each of its terms, if explanations show them."""
        return None

    def strongest_terms(self, chosen: int, frequency: Floats | None, limit: int) -> list[tuple[int, float]]:
        """Columns of the strongest terms of a class, with what one occurrence adds; empty if the model cannot say.

        `frequency` (n_terms,): occurrences of each term per document of the class, if counts were kept.
        """
        return []

    def tf_idf_parts(self) -> tuple[Floats, list[TfIdfPart]] | None:
        """(bias, models over tf-idf) whose sum is the score; None if it is not such a sum.

        Texts are then scored as they are read, without a matrix.
        """
        return None

    def used_terms(self) -> Ids | None:
        """The columns that scores depend on, for scorers that ignore some; None for all."""
        return None

    def take_terms(self, columns: Ids) -> Scorer:
        """The same scores from these columns only, which include all used ones."""
        return self

    def network(self, chosen: int, terms: Sequence[str], classes: Sequence[str], member: int = 0) -> Network:
        """The Bayesian network of a class as a value; `terms` names the columns, `classes` the classes."""
        raise BadData("this model is not a Bayesian network; train or-gate, hierarchical, tan or diagnostic instead")

    def text_reader(self, vocabulary: Any, classes: tuple[Label, ...], n_jobs: int | None) -> Any:
        """The DocumentReader of scorers with their own way to read texts; None: by token rule and vocabulary."""
        return None

    def check_vocabulary(self, vocabulary: Any) -> None:
        """Raise an error if the scorer, which was read from a file, does not fit the terms that are its columns."""
        if self.n_terms != len(vocabulary):
            raise BadModel("its scorer does not fit its vocabulary; train it again")

    def reading(self) -> dict[str, Any]:
        """The reading options of a scorer with its own text reader; empty for other scorers."""
        return {}

    def frozen(self) -> Scorer:
        """The same scores without training documents, for scorers that keep them only to explain."""
        return self
