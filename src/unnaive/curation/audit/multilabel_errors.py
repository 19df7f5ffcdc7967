"""Find label errors in multilabel data: labels that a document should not have, and labels that it lacks.

Each class is a binary problem. Support vector machines on tf-idf and on naive Bayes ratios are cross-validated, and
their scores are calibrated for each class (Platt); p(c|d) is the mean of both. The doubt about a document is that about
its least probable cell of the label matrix Y:

    doubt(d) = 1 − min_c p(Y_dc),   p(Y_dc) = p(c|d) if d has the label c, else 1 − p(c|d)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.findings import LOOK, RELABEL, Finding
from unnaive.curation.audit.label_errors import ErrorEstimate, FoldProgress, count_errors, fold_groups
from unnaive.curation.audit.unfinished import Unfinished
from unnaive.data.folds import folds, out_of_fold, rarest_classes
from unnaive.learning.explanation import percent
from unnaive.learning.fit_calibration import fit_platt
from unnaive.models.held_out_scores import multilabel_hinge_scores, multilabel_nbsvm_scores

MultilabelFoldScorer = Callable[[Sparse, Sparse, Sparse], Floats]

FEWEST = 2  # minimum number of documents of a class for checking its labels


@dataclass(frozen=True, eq=False)
class MultilabelEvidence:
    """The labels of each document, and their probabilities by models that have not seen it; all (n_docs, n_classes).

    Y              whether the document has the label
    probabilities  p(c|d) by the models
    judged         whether the cell can be checked: the document has known terms, and the class enough documents
    """

    Y: NDArray[np.bool_]
    probabilities: Floats
    judged: NDArray[np.bool_]

    @property
    def answers(self) -> Floats:
        """The probability of each cell of Y (n_docs, n_classes); 1 where it cannot be checked."""
        return np.where(self.judged, np.where(self.Y, self.probabilities, 1 - self.probabilities), 1.0)

    @property
    def doubt(self) -> Floats:
        """1 − the probability of the least probable cell of each document (n_docs,)."""
        return np.asarray(1 - self.answers.min(axis=1))

    def ranking(self) -> Ids:
        """Documents with a cell of probability below 1/2, least probable first."""
        doubt = self.doubt
        rows = np.flatnonzero(doubt > 0.5)
        return rows[np.argsort(-doubt[rows], kind="stable")]


def multilabel_evidence(
    X: Sparse, Y: Sparse, *, seed: int = 0, progress: FoldProgress | None = None, kept: Unfinished | None = None
) -> MultilabelEvidence:
    """Calibrated out-of-fold probabilities of every class for every document.

    X (n_docs, n_terms) counts, Y (n_docs, n_classes) sparse. `kept` stores finished folds across runs.

    >>> X = csr_array(np.tile([[1, 0, 1], [0, 1, 0], [1, 1, 1]], (20, 1)))
    >>> Y = np.tile([[1, 0], [0, 1], [1, 1]], (20, 1))
    >>> Y[59] = [1, 0]                              # has the words of both classes, and the label of one
    >>> found = multilabel_evidence(X, csr_array(Y))
    >>> int(found.ranking()[0]), (found.probabilities[59] > 0.5).tolist()
    (59, [True, True])
    """
    Y = csr_array(Y)
    group, n_folds = fold_groups(X, rarest_classes(Y))
    done = 0
    fold = folds(Y, n_folds, seed=seed, group=group)
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

        scores = out_of_fold(score, Y, n_folds=n_folds, fold=fold)
        total += fit_platt("margin", scores, Y, exclusive=False).probabilities("margin", scores)
    has_label = Y.toarray() != 0
    can_judge = (np.diff(X.indptr) > 0)[:, None] & (has_label.sum(axis=0) >= FEWEST)[None, :]
    return MultilabelEvidence(has_label, total / len(MEMBERS), can_judge)


MEMBERS: tuple[MultilabelFoldScorer, ...] = (multilabel_hinge_scores, multilabel_nbsvm_scores)


def estimate_label_errors(evidence: MultilabelEvidence) -> ErrorEstimate:
    """Estimate how many labels are wrong or missing: `count_errors` of predicted plus that of other labels."""
    says_yes = evidence.probabilities >= 0.5
    sure = np.maximum(evidence.probabilities, 1 - evidence.probabilities)
    parts = []
    for answer in (True, False):
        cells = evidence.judged & (says_yes == answer)
        parts.append(count_errors(sure[cells], evidence.Y[cells] != answer))
    return ErrorEstimate(*(sum(getattr(part, name) for part in parts) for name in ("number", "low", "high", "most")))


def multilabel_findings(data: AuditData, rows: Ids, evidence: MultilabelEvidence, most: int) -> Iterator[Finding]:
    """Yield a finding for each document with doubtful labels, most doubtful first; it proposes the corrected labels."""
    doubt, answers = evidence.doubt, evidence.answers
    for index in evidence.ranking()[:most].tolist():
        wrong = np.flatnonzero(answers[index] < 0.5)
        wrong = wrong[np.argsort(answers[index][wrong], kind="stable")]
        labels = data.spelt(rows[index])
        proposed = _proposed(labels, [data.classes[c] for c in wrong])
        statements = []
        for c in wrong.tolist():
            p = percent(float(evidence.probabilities[index, c]))
            statements.append(f"{data.classes[c]!r} {p} and it {'has' if evidence.Y[index, c] else 'lacks'} the label")
        yield data.finding(
            rows[index], "label-error", f"models that have not seen it give {'; '.join(statements)}",
            RELABEL if proposed else LOOK, proposed=";".join(proposed), score=float(doubt[index]),
            probability=float(1 - answers[index][wrong].max()),  # of the least certain of the proposed changes
        )  # fmt: skip


def _proposed(labels: Sequence[str], wrong: Sequence[str]) -> list[str]:
    """The corrected labels: each class in `wrong` is removed if it is in `labels`, and added if it is not.

    >>> _proposed(("oil", "trade"), ["trade", "gas"])
    ['oil', 'gas']
    """
    return [label for label in labels if label not in wrong] + [label for label in wrong if label not in labels]


def label_table(data: AuditData, rows: Ids) -> Sparse:
    """The label matrix Y of these documents (n_rows, n_classes)."""
    code_of = {name: number for number, name in enumerate(data.classes)}
    pairs = [(row, code_of[label]) for row, at in enumerate(rows.tolist()) for label in data.spelt(at)]
    cells = np.array(pairs, np.int64).reshape(-1, 2)
    return csr_array((np.ones(len(cells)), (cells[:, 0], cells[:, 1])), shape=(len(rows), len(data.classes)))
