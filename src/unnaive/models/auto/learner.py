"""`auto`: the families on each view of the text, chosen on held-out documents, pooled, and trained anew on all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from unnaive.core.linear import Linear
from unnaive.core.scorer import Contributions, Scorer
from unnaive.core.settings import setting
from unnaive.core.targets import single_labels
from unnaive.core.weighting import Weighting, presence, tf_idf
from unnaive.decisions import folds
from unnaive.errors import BadData, BadModel
from unnaive.models.auto.members import BRIEF, THOROUGH, Candidate, Training, fit_member, member_scores
from unnaive.models.auto.pooling import PoolWeights, fit_pool, fit_temperature_scale, log_loss
from unnaive.models.estimator import DocumentsModel, class_weight_setting
from unnaive.models.nbsvm import NBSVM
from unnaive.models.svm import LinearSVM
from unnaive.text.tokens import GRAM
from unnaive.types import Arrays, Floats, Ids, Progress, Sparse

FEW, SOME = 1_500, 4_500  # documents: under the first five folds, under the second three, else one held-out part
MOST_TRAINING, MOST_HELD_OUT = 6_000, 2_500
LARGE = 20_000_000  # cells × classes of a view: above that the brief list of candidates
SHRINK = 20.0  # documents that the pool's equal weights are worth


@dataclass(frozen=True, eq=False)
class View:
    """Some of the columns: words, words and pairs, or character grams."""

    name: str
    columns: Ids


def find_views(X: Sparse, terms: Sequence[str] | None) -> list[View]:
    """The views that the names of the columns tell; one of all columns where they have none.

    Pairs and character grams of a single document are left out: they cost most and say least.
    """
    if terms is None:
        return [View("all", np.arange(X.shape[1]))]
    often = np.bincount(presence(X).indices, minlength=X.shape[1]) > 1
    is_gram = np.fromiter((term.startswith(GRAM) for term in terms), np.bool_, len(terms))
    is_pair = np.fromiter((" " in term for term in terms), np.bool_, len(terms))
    found = {
        "words": ~is_gram & ~is_pair,
        "words and pairs": ~is_gram & (often | ~is_pair) if is_pair.any() else np.zeros(len(terms), np.bool_),
        "characters": is_gram & often,
    }
    return [View(name, np.flatnonzero(mask)) for name, mask in found.items() if mask.any()]


@dataclass(frozen=True, eq=False)
class Pool(Scorer):
    """The sum of linear models, each over its own columns; scores are log-probabilities up to a constant."""

    kind: ClassVar[str] = "pool"

    parts: tuple[tuple[Ids, Linear], ...]
    bias: Floats
    n_terms: int
    link: str = "softmax"

    @property
    def n_classes(self) -> int:
        """How many classes are scored."""
        return len(self.bias)

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        X = csr_array(X)
        total = np.tile(self.bias, (X.shape[0], 1))
        for columns, linear in self.parts:
            total += linear.scores(X[:, columns])
        return total

    def contributions(self, document: Sparse, chosen: int, rival: int | None) -> Contributions:
        """The summands of all parts, term by term."""
        base = float(self.bias[chosen] - (self.bias.mean() if rival is None else self.bias[rival]))
        values = np.zeros(document.shape[1])
        for columns, linear in self.parts:
            row = csr_array(document[:, columns])
            part = linear.contributions(row, chosen, rival)
            base += part.base
            values[columns[row.indices]] += part.values
        return Contributions(base, values[document.indices])

    def strongest_terms(self, chosen: int, frequency: Floats | None, limit: int) -> list[tuple[int, float]]:
        """Those of the first part: words."""
        columns, linear = self.parts[0]
        own = None if frequency is None else frequency[columns]
        return [(int(columns[term]), value) for term, value in linear.strongest_terms(chosen, own, limit)]

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal scorer."""
        arrays: Arrays = {"bias": self.bias}
        settings: dict[str, Any] = {"n_terms": self.n_terms, "link": self.link, "parts": []}
        for number, (columns, linear) in enumerate(self.parts):
            own, about = linear.to_arrays()
            arrays |= {f"{number}.{name}": values for name, values in own.items()} | {f"{number}.columns": columns}
            settings["parts"].append(about)
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        try:
            n_terms, bias, parts = int(settings["n_terms"]), arrays["bias"], []
            for number, about in enumerate(settings["parts"]):
                start = f"{number}."
                own = {name.removeprefix(start): one for name, one in arrays.items() if name.startswith(start)}
                columns = own.pop("columns")
                linear = Linear.from_arrays(own, about)
                if (
                    columns.dtype.kind not in "iu"
                    or columns.shape != (linear.n_terms,)
                    or linear.n_classes != len(bias)
                ):
                    raise BadModel("a part of the pool in this model does not fit; train it again")
                if len(columns) and (int(columns.min()) < 0 or int(columns.max()) >= n_terms):
                    raise BadModel("a part of the pool in this model points outside of its terms; train it again")
                parts.append((columns.astype(np.int64), linear))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise BadModel(f"the pool in this model is damaged ({problem}); train it again") from problem
        if (
            bias.dtype != np.float64
            or bias.ndim != 1
            or not bool(np.all(np.isfinite(bias)))
            or settings["link"] not in ("softmax", "log-odds")
        ):
            raise BadModel("the pool in this model has a bias or a link that does not fit; train it again")
        return cls(tuple(parts), bias, n_terms, settings["link"])

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the fields."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


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
        X, targets = csr_array(X), single_labels(Y)
        if targets is None or not exclusive:
            return _multilabel(X, csr_array(Y), find_views(X, terms)[0], sample_weight, self.random_state)
        if len(np.unique(targets)) < 2:
            raise BadData("every document has one class; auto needs at least two classes to tell apart")
        search = _Search(
            X, targets, Y.shape[1], sample_weight, self.random_state, -1 if self.n_jobs is None else self.n_jobs
        )
        views = find_views(X, terms)
        chosen = []
        for number, view in enumerate(views):
            if progress is not None:
                progress("auto", {"iteration": number, "view": view.name})
            chosen.append(search.choose(view))
        pool = fit_pool([one.scores for one in chosen], search.truth, shrink=SHRINK)
        parts, bias = [], pool.bias.copy()
        for weight, view, one in zip(pool.weights, views, chosen, strict=True):
            if weight:
                linear = search.refit(view, one)
                weights = weight * linear.sparse_weights
                parts.append((view.columns, Linear(weights, np.zeros(len(bias)), weighting=linear.weighting)))
                bias += weight * linear.bias
        return Pool(tuple(parts), bias, X.shape[1])


@dataclass(frozen=True, eq=False)
class ChosenView:
    """What was chosen for a view: candidates with their scale, the weights of their pool, and its held-out scores."""

    members: list[tuple[Candidate, float]]
    pool: PoolWeights
    scores: Floats


class _Search:
    """Candidates on shared splits of the training documents."""

    def __init__(
        self, X: Sparse, targets: Ids, n_classes: int, weight: Floats | None, random_state: int, n_jobs: int
    ) -> None:
        self.X, self.targets, self.n_classes, self.weight = X, targets, n_classes, weight
        self.random_state, self.n_jobs = random_state, n_jobs
        self.splits = list(_splits(targets, n_classes, random_state)) or [(np.arange(len(targets)),) * 2]
        self.rows = np.concatenate([held_out for _, held_out in self.splits])
        self.truth = targets[self.rows]

    def choose(self, view: View) -> ChosenView:
        """The best candidate of each family by accuracy − log-loss / 10, scaled, and their pool."""
        X = self.X[:, view.columns]
        candidates = BRIEF if X.nnz * self.n_classes > LARGE else THOROUGH
        scores = {one: np.empty((len(self.rows), self.n_classes)) for one in candidates}
        at = 0
        for train, held_out in self.splits:
            weighting, data = self._training(X[train], train, tol=1e-2)
            Z = _small(weighting.apply(X[held_out]))
            for one in candidates:
                scores[one][at : at + len(held_out)] = member_scores(fit_member(one, data), Z)
            at += len(held_out)
        best: dict[str, tuple[float, Candidate, float]] = {}
        for one, found in scores.items():
            scale = fit_temperature_scale(found, self.truth)
            value = float((found.argmax(axis=1) == self.truth).mean()) - 0.1 * log_loss(scale * found, self.truth)
            if one.family not in best or value > best[one.family][0]:
                best[one.family] = (value, one, scale)
        members = [(one, scale) for _, one, scale in best.values()]
        scaled = [scale * scores[one] for one, scale in members]
        pool = fit_pool(scaled, self.truth, shrink=SHRINK)
        return ChosenView(members, pool, pool.combine(scaled))

    def refit(self, view: View, chosen: ChosenView) -> Linear:
        """The chosen members on all documents, summed into one linear model."""
        X = self.X[:, view.columns]
        weighting, data = self._training(X, np.arange(X.shape[0]), tol=1e-3)
        weights, bias = np.zeros((self.n_classes, X.shape[1])), chosen.pool.bias.copy()
        for share, (one, scale) in zip(chosen.pool.weights, chosen.members, strict=True):
            if share:
                own, offset = fit_member(one, data)
                weights += share * scale * own
                bias += share * scale * offset
        return Linear(weights, bias, weighting=weighting)

    def _training(self, X: Sparse, rows: Ids, tol: float) -> tuple[Weighting, Training]:
        weight = None if self.weight is None else self.weight[rows]
        weighting = tf_idf(X, weight)
        return weighting, Training(
            X,
            _small(weighting.apply(X)),
            self.targets[rows],
            self.n_classes,
            weight,
            tol,
            self.random_state,
            self.n_jobs,
        )


def _multilabel(X: Sparse, Y: Sparse, view: View, weight: Floats | None, random_state: int) -> Pool:
    """The sum of the margins of NB-SVM and linear SVM for each class by itself, taken as log-odds."""
    words = X[:, view.columns]
    members = (NBSVM(C=0.3, random_state=random_state), LinearSVM(C=1.0, random_state=random_state))
    found = [model.learn(words, Y, exclusive=False, sample_weight=weight) for model in members]
    total = Linear(
        sum(one.weights() for one in found), np.zeros(Y.shape[1]), weighting=found[0].weighting, link="log-odds"
    )
    return Pool(((view.columns, total),), np.asarray(sum(one.bias for one in found)), X.shape[1], "log-odds")


def _small(Z: Sparse) -> Sparse:
    """The weighted documents in float32, which the solvers read twice as fast; their sums are in float64."""
    return csr_array((Z.data.astype(np.float32), Z.indices, Z.indptr), shape=Z.shape)


def _splits(targets: Ids, n_classes: int, random_state: int) -> Iterator[tuple[Ids, Ids]]:
    """(training rows, held-out rows); documents of a class that training would lack are in no held-out part."""
    n = len(targets)
    Y = csr_array((np.ones(n), targets, np.arange(n + 1)), shape=(n, n_classes))
    n_folds = min(n, 5 if n < FEW else 3 if n < SOME else max(2, round(n / MOST_HELD_OUT)))
    if n_folds < 2:
        return
    fold = folds(Y, n_folds, seed=random_state)
    alone = np.bincount(targets, minlength=n_classes)[targets] < 2
    for number in range(n_folds if n < SOME else 1):
        held_out = np.flatnonzero((fold == number) & ~alone)[:MOST_HELD_OUT]
        train = np.flatnonzero((fold != number) | alone)
        if len(train) > MOST_TRAINING:
            train = np.sort(np.random.default_rng(random_state).choice(train, MOST_TRAINING, replace=False))
        if len(held_out):
            yield train, held_out
