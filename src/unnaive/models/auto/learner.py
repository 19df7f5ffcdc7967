"""`auto`: the families on each view of the text, chosen on held-out documents, pooled, and trained anew on all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from unnaive.core.settings import setting
from unnaive.core.targets import single_labels
from unnaive.errors import BadData
from unnaive.models.auto.members import Candidate
from unnaive.models.auto.pool import Pool
from unnaive.models.auto.refit import refit
from unnaive.models.auto.search import Search, block_splits, pool_views
from unnaive.models.auto.views import find_views
from unnaive.models.estimator import DocumentsModel, class_weight_setting
from unnaive.types import Floats, Progress, Sparse

FEW, SOME = 1_500, 4_500  # documents: under the first five folds, under the second three, else one held-out part
MOST_TRAINING, MOST_HELD_OUT = 6_000, 2_500
LARGE = 20_000_000  # cells × classes of a view: above that the brief list of candidates

THOROUGH = (
    *(Candidate("complement", (alpha,)) for alpha in (0.03, 0.1, 0.3, 1.0)),
    *(Candidate("maxent", (C, s, alpha)) for alpha in (0.1, 1.0) for C, s in ((1.0, 1.0), (10.0, 1.0), (10.0, 0.5))),
    *(Candidate("nbsvm", (C,)) for C in (0.1, 0.3, 1.0)),
    *(Candidate("svm", (C,)) for C in (0.3, 1.0, 3.0)),
)
BRIEF = (
    *(Candidate("complement", (alpha,)) for alpha in (0.1, 0.3)),
    *(Candidate("maxent", (C, 1.0, 0.1)) for C in (1.0, 10.0)),
    Candidate("nbsvm", (0.3,)),
)


class Auto(DocumentsModel):
    """A pool of models on several views of the text, chosen on held-out training documents by accuracy and log-loss.

    Views of the text (words; words and pairs; character 2–5-grams inside words) × families (complement naive Bayes;
    softmax with a naive Bayes prior; NB-SVM; linear SVM) are fitted on a part of the training documents and judged on
    the rest, the same for all: five folds under 1,500 documents, three under 4,500, else one held-out part. The best of
    each family joins a log-linear pool, then the views do; weights are drawn toward equal ones, and small ones are left
    out. What was chosen is trained anew on all documents. Multilabel targets get the sum of an NB-SVM and a linear SVM
    for each class on words, without a search, whose margins are taken as log-odds uncalibrated; tune thresholds with
    decision="scut".

    >>> texts = ["good ball", "fair vote", "ball game", "vote law"] * 3
    >>> from unnaive import TextClassifier
    >>> TextClassifier("auto").fit(texts, ["sport", "politics"] * 6).predict(["the ball", "a law"]).tolist()
    ['sport', 'politics']
    """

    name = "auto"
    title = "pool of models on several views"
    generative = False
    poor_score = True
    token_rule_changes: ClassVar[dict[str, Any]] = {"analyzer": "both", "ngrams": (1, 2)}
    takes_terms: ClassVar[bool] = True

    random_state: int = setting("Seed of the held-out part and of the solvers.", default=0, at_least=0)
    n_jobs: int | None = setting("Threads; None for all cores. Results do not depend on it.", default=None)
    class_weight: Any = class_weight_setting()

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: Progress | None = None, terms: Sequence[str] | None = None,
    ) -> Pool:  # fmt: skip
        """Choose on held-out documents, then train on all."""
        X, Y, targets = csr_array(X), csr_array(Y), single_labels(Y)
        common: dict[str, Any] = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        views = find_views(X, terms)
        if targets is None or not exclusive:
            members = [
                {"view": views[0].name, "family": family, "settings": [C], "factor": 1.0}
                for family, C in (("nbsvm", 0.3), ("svm", 1.0))
            ]
            recipe = {"kind": "multilabel", "members": members, "bias": [0.0] * Y.shape[1], "report": {}}
            return refit(recipe, X, Y, terms, sample_weight=sample_weight, **common)
        if len(np.unique(targets)) < 2:
            raise BadData("every document has one class; auto needs at least two classes to tell apart")
        n = len(targets)
        splits = list(
            block_splits(
                targets, Y.shape[1], n_folds=5 if n < FEW else 3 if n < SOME else 4, first_alone=n >= SOME,
                most_training=MOST_TRAINING, most_held_out=MOST_HELD_OUT, random_state=self.random_state,
            )
        )  # fmt: skip
        if not splits:
            raise BadData("no class has two documents")

        def told(what: str, work: float) -> None:
            if progress is not None:
                progress("auto", {"view": what})

        search = Search(X, targets, Y.shape[1], splits, weight=sample_weight, told=told, **common)
        chosen = []
        for view in views:
            nnz = np.isin(X.indices, view.columns).sum() if len(views) > 1 else X.nnz
            chosen.append(search.choose(view, BRIEF if nnz * Y.shape[1] > LARGE else THOROUGH))
        recipe, scores = pool_views(chosen, search.truth, Y.shape[1])
        recipe["report"] = {}
        pool = refit(recipe, X, Y, terms, sample_weight=sample_weight, **common)
        return replace(pool, held_out=(search.rows, scores))
