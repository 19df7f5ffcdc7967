"""Which labels of multilabel documents are probably wrong: one given that should not be, or one that is missing.

Each class is a question of its own, has it or not. Support vector machines on tf-idf and on naive Bayes ratios are
trained on folds, their scores calibrated class by class (Platt), and the mean of both is p(c|d) by models that have not
seen d. A document is as doubtful as the least probable of its answers:

    doubt(d) = 1 − min_c p(answer of d to c),   p(answer) = p(c|d) if d has the label c, else 1 − p(c|d)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.curation.audit.findings import LOOK, RELABEL, Finding
from unnaive.curation.audit.label_errors import N_FOLDS, ErrorEstimate, FoldProgress, count_errors
from unnaive.curation.audit.material import AuditData
from unnaive.curation.audit.unfinished import Unfinished
from unnaive.data.folds import out_of_fold
from unnaive.learning.explain import percent
from unnaive.learning.fit_calibration import fit_platt
from unnaive.models.held_out_scores import multilabel_hinge_scores, multilabel_nbsvm_scores

MultilabelFoldScorer = Callable[[Sparse, Sparse, Sparse], Floats]

FEWEST = 2  # documents of a class, without which nothing is said of it


@dataclass(frozen=True, eq=False)
class MultilabelEvidence:
    """What models that have not seen a document say of each of its labels.

    Y              (n_docs, n_classes), 1 where a document has a class
    probabilities  (n_docs, n_classes) of having it
    judged         classes and documents of which anything can be said (n_docs, n_classes)
    """

    Y: NDArray[np.bool_]
    probabilities: Floats
    judged: NDArray[np.bool_]

    @property
    def answers(self) -> Floats:
        """p of what is given, label or none (n_docs, n_classes); 1 where nothing can be said."""
        return np.where(self.judged, np.where(self.Y, self.probabilities, 1 - self.probabilities), 1.0)

    @property
    def doubt(self) -> Floats:
        """1 − the least probable answer of each document (n_docs,)."""
        return np.asarray(1 - self.answers.min(axis=1))

    def ranking(self) -> Ids:
        """Documents with an answer that is less probable than its opposite, the least probable first."""
        doubt = self.doubt
        rows = np.flatnonzero(doubt > 0.5)
        return rows[np.argsort(-doubt[rows], kind="stable")]


def multilabel_evidence(
    X: Sparse, Y: Sparse, *, seed: int = 0, progress: FoldProgress | None = None, kept: Unfinished | None = None
) -> MultilabelEvidence:
    """Calibrated out-of-fold probabilities of every class for every document.

    X (n_docs, n_terms) counts, Y (n_docs, n_classes) sparse. `kept` has the folds that an earlier run finished.

    >>> X = csr_array(np.tile([[1, 0, 1], [0, 1, 0], [1, 1, 1]], (20, 1)))
    >>> Y = np.tile([[1, 0], [0, 1], [1, 1]], (20, 1))
    >>> Y[59] = [1, 0]                              # has the words of both classes, and the label of one
    >>> found = multilabel_evidence(X, csr_array(Y))
    >>> int(found.ranking()[0]), (found.probabilities[59] > 0.5).tolist()
    (59, [True, True])
    """
    Y = csr_array(Y)
    n_folds, done = min(N_FOLDS, X.shape[0]), 0
    if kept is not None:
        kept.begin(X, Y, seed)
    total = np.zeros(Y.shape)
    for member in MEMBERS:

        def score(train: Ids, held_out: Ids, member: MultilabelFoldScorer = member) -> Floats:
            nonlocal done
            shape = (len(held_out), Y.shape[1])

            def compute() -> Floats:
                return member(X[train], Y[train], X[held_out])

            scores = compute() if kept is None else kept.scores(str(done), shape, compute)
            done += 1
            if progress is not None:
                progress(done, n_folds * len(MEMBERS))
            return scores

        scores = out_of_fold(score, Y, n_folds=n_folds, seed=seed)
        total += fit_platt("margin", scores, Y, exclusive=False).probabilities("margin", scores)
    given = Y.toarray() != 0
    known = (np.diff(X.indptr) > 0)[:, None] & (given.sum(axis=0) >= FEWEST)[None, :]
    return MultilabelEvidence(given, total / len(MEMBERS), known)


MEMBERS: tuple[MultilabelFoldScorer, ...] = (multilabel_hinge_scores, multilabel_nbsvm_scores)


def estimate_label_errors(evidence: MultilabelEvidence) -> ErrorEstimate:
    """How many labels are missing or too much: errors among the surest answers of each kind, times their number."""
    says_yes = evidence.probabilities >= 0.5
    sure = np.maximum(evidence.probabilities, 1 - evidence.probabilities)
    parts = []
    for answer in (True, False):
        cells = evidence.judged & (says_yes == answer)
        parts.append(count_errors(sure[cells], evidence.Y[cells] != answer))
    return ErrorEstimate(*(sum(getattr(one, name) for one in parts) for name in ("number", "low", "high")))


def multilabel_findings(data: AuditData, rows: Ids, evidence: MultilabelEvidence, most: int) -> Iterator[Finding]:
    """A finding for each document with a doubtful answer, the most doubtful first; all of its changes are proposed."""
    doubt, answers = evidence.doubt, evidence.answers
    for place in evidence.ranking()[:most].tolist():
        wrong = np.flatnonzero(answers[place] < 0.5)
        wrong = wrong[np.argsort(answers[place][wrong], kind="stable")]
        labels = data.spelt(rows[place])
        proposed = _proposed(labels, [data.classes[c] for c in wrong])
        said = []
        for c in wrong.tolist():
            p = percent(float(evidence.probabilities[place, c]))
            said.append(f"{data.classes[c]!r} {p} and it {'has' if evidence.Y[place, c] else 'lacks'} the label")
        yield data.finding(
            rows[place], "label-error", f"models that have not seen it give {'; '.join(said)}",
            RELABEL if proposed else LOOK, proposed=";".join(proposed), score=float(doubt[place]),
        )  # fmt: skip


def _proposed(labels: Sequence[str], wrong: Sequence[str]) -> list[str]:
    """The labels with those that are wrong exchanged: taken out where they are, put in where they are not.

    >>> _proposed(("oil", "trade"), ["trade", "gas"])
    ['oil', 'gas']
    """
    return [one for one in labels if one not in wrong] + [one for one in wrong if one not in labels]


def label_table(data: AuditData, rows: Ids) -> Sparse:
    """Y (n_rows, n_classes) of these documents, all of their labels in it."""
    place = {name: number for number, name in enumerate(data.classes)}
    pairs = [(row, place[label]) for row, at in enumerate(rows.tolist()) for label in data.spelt(at)]
    cells = np.array(pairs, np.int64).reshape(-1, 2)
    return csr_array((np.ones(len(cells)), (cells[:, 0], cells[:, 1])), shape=(len(rows), len(data.classes)))
