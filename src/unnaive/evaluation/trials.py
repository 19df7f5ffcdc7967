"""One trial: a model trained on one side of a split and measured on the other; experiments.py runs many of them.

A trial is a pure function of the data, the plan and its position in the plan, so the same seed gives the same numbers
in any order and with any number of processes. Training, term selection and tuning of multilabel decisions use the
functions of TextClassifier, and a model with its own token rule (`auto`) uses it here too; so the
results are those of a classifier fitted on the same training documents.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unnaive.base.errors import BadData, count_noun
from unnaive.base.lazy import lazy_property
from unnaive.base.settings import parse_settings
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.classifier.compress import file_size
from unnaive.data.counts import Counts
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import Targets, single_labels
from unnaive.data.training_data import DocumentRows, TrainingData
from unnaive.evaluation.material import Material, counts_of_rows
from unnaive.evaluation.measures import MeasureInput, find_measure
from unnaive.evaluation.records import Record, contender_name, versions
from unnaive.evaluation.splits import fixed_split, fold_splits, stratified_split
from unnaive.evaluation.tally import indicator_matrix
from unnaive.learning.decisions import Argmax, Decision
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.make_scorer import make_scorer
from unnaive.learning.train import kept_rows, out_of_fold_scores, train
from unnaive.learning.tuning import TUNINGS
from unnaive.learning.vectors import has_vectors
from unnaive.linear.links import comparable_scores, probabilities
from unnaive.linear.scorer import Scorer
from unnaive.linear.selection import select_terms
from unnaive.models.catalogue import find_model, make_model
from unnaive.text.vocabulary import Vocabulary

TUNING_FOLDS = 5  # multilabel decisions are tuned on out-of-fold scores, with as many folds as in TextClassifier


@dataclass(frozen=True)
class Contender:
    """A model of the catalogue with its settings, as one entry of a comparison.

    >>> str(Contender.parse("multinomial:alpha=0.1:smoothing=laplace"))
    'multinomial alpha=0.1 smoothing=laplace'
    """

    model: str
    settings: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Contender:
        """Parse `name` or `name:setting=value:…`; settings are checked."""
        name, *pairs = text.split(":")
        settings = parse_settings(pairs)
        make_model(name, settings)
        return cls(name, tuple(sorted(settings.items())))

    def spec(self, random_state: int = 0) -> TrainingSpec:
        """The training specification of this model."""
        model = make_model(self.model, dict(self.settings), random_state=random_state)
        return TrainingSpec(model, class_weight=model.get_params().get("class_weight"), random_state=random_state)

    @property
    def token_rule_changes(self) -> dict[str, Any]:
        """The differences of this model's token rule from the default."""
        return find_model(self.model).token_rule_for(dict(self.settings))

    def __str__(self) -> str:
        return contender_name(self.model, dict(self.settings))


def train_scorer(name: str, X: Sparse, Y: Sparse, *, seed: int = 0, **settings: Any) -> Scorer:
    """The model called `name` trained on documents X (n_docs, n_terms) with labels Y (n_docs, n_classes) 0/1.

    If some document does not have exactly one label, the target is multilabel.

    >>> from scipy.sparse import csr_array
    >>> train_scorer("multinomial", csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [1, 1]])).link
    'log-odds'
    """
    target_type = "sparse" if single_labels(Y) is None else "single"
    spec = Contender(name, tuple(settings.items())).spec(seed)
    return train(TrainingData.of_rows(X, Targets(tuple(range(Y.shape[1])), Y, target_type)), spec).scorer


@dataclass(frozen=True)
class ExperimentPlan:
    """Plan of a comparison: contenders × splits × training sizes (shares in %) × vocabulary sizes, and the measures.

    With `folds` the splits are those of k-fold cross-validation, without `train_sizes` that of the collection.
    `vocabularies` are numbers of terms, selected by information gain on the training documents; None is all of them.
    """

    contenders: tuple[Contender, ...]
    measures: tuple[str, ...]
    splits: int = 10
    train_sizes: tuple[float, ...] = ()
    vocabularies: tuple[int | None, ...] = (None,)
    folds: int | None = None
    min_df: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.measures:
            find_measure(name)
        for what, values in (("models to compare", self.contenders), ("measures", self.measures)):
            if not values:
                raise BadData(f"there are no {what}; name at least one")
        if self.folds is not None and self.train_sizes:
            raise BadData("a plan cannot have both folds and training sizes; give one of them")
        for size in self.train_sizes:
            if not 0 < size < 100:
                raise BadData(f"the training size is {size:g}; give a share in % above 0 and below 100")
        for what, number, least in (
            ("number of splits", self.splits, 1),
            ("number of folds", self.folds, 2),
            ("min_df", self.min_df, 1),
            ("seed", self.seed, 0),
            *(("vocabulary size", size, 1) for size in self.vocabularies),
        ):
            if number is not None and (number != int(number) or number < least):
                raise BadData(f"the {what} came as {number:g}; give an integer of at least {least}")

    @property
    def protocol(self) -> str:
        """The kind of split, as records name it."""
        if self.folds is not None:
            return f"{self.folds} folds"
        return "random" if self.train_sizes else "fixed"

    def trials(self) -> list[Trial]:
        """All trials; those that share documents and terms are adjacent."""
        n_splits = self.folds or (self.splits if self.train_sizes else 1)
        return [
            Trial(split, size, terms, contender)
            for split in range(n_splits)
            for size in (self.train_sizes or (None,))
            for terms in self.vocabularies
            for contender in self.contenders
        ]


@dataclass(frozen=True)
class Trial:
    """One cell of the experiment grid: number of the split, training size in %, number of terms (None: all), model."""

    split: int
    train_size: float | None
    terms: int | None
    contender: Contender


@dataclass(eq=False)
class TrialRunner:
    """Run the trials of a plan; neighbouring trials share the split and its terms."""

    material: Material
    plan: ExperimentPlan
    _last: tuple[Any, SplitData] | None = field(default=None, repr=False)

    def records(self, trial: Trial) -> list[Record]:
        """Train, score and measure."""
        started = time.perf_counter()
        data = self.split_data(trial)
        spec = trial.contender.spec(self.plan.seed)
        began = time.process_time()
        fitted, X_test = data.fit(spec)
        training = data.counting_seconds + time.process_time() - began
        scores = fitted.scorer.scores(X_test)
        seconds = time.perf_counter() - started
        inputs = self._measure_input(data, fitted, scores)
        sizes = {"n_train": len(data.train_rows), "n_test": len(data.test_rows), "n_terms": X_test.shape[1]}
        if fitted.token_rule is not None:
            sizes["n_bytes"] = file_size(fitted, frozen=True)
        common = self.record_fields(
            trial, seconds=_three_digits(seconds), train_seconds=_three_digits(training), right=_right_bits(inputs),
            **sizes,
        )  # fmt: skip
        return [
            Record(**common, measure=name, value=_measure_or_none(name, inputs), versions=versions())
            for name in self.plan.measures
        ]

    def record_fields(self, trial: Trial, **more: Any) -> dict[str, Any]:
        """The fields common to all records of a trial."""
        return {
            "data": self.material.fingerprint,
            "protocol": self.plan.protocol,
            "split": trial.split,
            "seed": self.plan.seed,
            "model": trial.contender.model,
            "parameters": dict(trial.contender.settings),
            "train_size": trial.train_size,
            "terms": trial.terms,
            "min_df": self.plan.min_df,
            "seconds": 0.0,
            **more,
        }

    def split_rows(self, trial: Trial) -> tuple[Ids, Ids]:
        """(train, test) rows of the trial's split."""
        if self.plan.folds is not None:
            return list(fold_splits(self.material.Y, self.plan.folds, seed=self.plan.seed))[trial.split]
        if trial.train_size is not None:
            share = trial.train_size / 100
            return stratified_split(self.material.Y, share, seed=self.plan.seed, split=trial.split)
        if self.material.parts is None:
            raise BadData(f"{self.material.name} has no predefined split; give training sizes or folds")
        return fixed_split(self.material.parts)

    def split_data(self, trial: Trial) -> SplitData:
        """Both sides of the trial's split, with the terms selected on its training documents."""
        weighs = find_model(trial.contender.model).traits.takes_vectors
        material = self.material.read_with(trial.contender.token_rule_changes, vectors=weighs)
        key = (trial.split, trial.train_size, trial.terms, material.rule)
        if self._last is None or self._last[0] != key:
            train_rows, test_rows = self.split_rows(trial)
            if not len(test_rows):
                raise BadData(
                    f"{self.material.name}: none of {count_noun(len(train_rows), 'document')} is left to measure on; "
                    "give more of them, or a smaller training size"
                )
            counts = counts_of_rows(material, train_rows, test_rows)
            try:
                terms = select_terms(counts, material.vocabulary, min_df=self.plan.min_df, select=trial.terms)
            except BadData as problem:
                raise BadData(
                    f"{self.material.name}, {count_noun(len(train_rows), 'training document')}: {problem}"
                ) from problem
            data = SplitData(
                material, train_rows, test_rows, terms, counts.take_terms(terms), self.plan.min_df, trial.terms
            )
            self._last = (key, data)
        return self._last[1]

    def _measure_input(self, data: SplitData, fitted: FittedModel, scores: Floats) -> MeasureInput:
        needs, scorer = {find_measure(name).needs for name in self.plan.measures}, fitted.scorer
        predictions = data.decision(fitted).decide(scores) if "predictions" in needs else None
        p = None
        if scorer.probabilistic:
            p = probabilities(scorer.link, scores, exclusive=self.material.exclusive)
        truth = self.material.Y[data.test_rows]
        return MeasureInput(truth, comparable_scores(scorer.link, scores), predictions, p)


@dataclass(frozen=True, eq=False)
class SplitData:
    """Both sides of a split; `terms` were selected on the training documents, and `counts` are their sums."""

    material: Material
    train_rows: Ids
    test_rows: Ids
    terms: Ids
    counts: Counts
    min_df: int = 1
    select: int | None = None

    @lazy_property
    def targets(self) -> Targets:
        """The labels of the training documents."""
        return self.material.targets(self.train_rows)

    @lazy_property
    def X_train(self) -> Sparse:
        """Training documents, with the selected terms only."""
        return self.material.X[self.train_rows][:, self.terms]

    @lazy_property
    def X_test(self) -> Sparse:
        """Test documents; terms that no training document has are ignored."""
        return self.material.X[self.test_rows][:, self.terms]

    @property
    def counting_seconds(self) -> float:
        """Processor seconds of counting the training texts, as their share of the time for all texts."""
        return self.material.seconds * len(self.train_rows) / len(self.material)

    def fit(self, spec: TrainingSpec) -> tuple[FittedModel, Sparse]:
        """The model trained on all training documents, and the test documents with its terms."""
        names = None if self.material.vocabulary is None else self.material.vocabulary.take(self.terms)
        if self.material.vectors is not None and spec.model.traits.takes_vectors:
            spec = replace(spec, vectors=self.material.vectors)
        whole = spec.model.traits.takes_terms or has_vectors(spec, self.material.rule)
        if whole and names is not None and self.material.vocabulary is not None:
            fitted = train(
                TrainingData.of_rows(self.X_train, self.targets, names, token_rule=self.material.rule), spec
            )  # fmt: skip
            used = self.material.vocabulary.ids(fitted.vocabulary or ())
            return fitted, _take_known_columns(self.material.X[self.test_rows], used)
        fitted = FittedModel(
            spec, self.targets.classes, self.targets.target_type, self.train(spec), Argmax(),
            token_rule=self.material.rule, vocabulary=names,
        )  # fmt: skip
        return fitted, self.X_test

    def train(self, spec: TrainingSpec) -> Scorer:
        """The scorer trained on all training documents."""
        exclusive = not self.targets.multilabel
        if spec.model.traits.statistic == "counts" and spec.class_weight is None:  # the documents are not needed
            return make_scorer(spec, NamedCounts(self.targets.classes, None, self.counts), exclusive=exclusive)[
                0
            ].scorer
        rows = DocumentRows(self.X_train, self.targets).weighted(spec.class_weight)
        counts = self.counts if rows.weight is None else Counts.of(rows.X, rows.targets.Y, rows.weight)
        return make_scorer(spec, NamedCounts(self.targets.classes, None, counts), rows, exclusive=exclusive)[0].scorer

    def decision(self, fitted: FittedModel) -> Decision:
        """The best class; for multilabel targets scut or rcut, tuned on out-of-fold scores of training documents.

        Each fold selects its own terms, as in TextClassifier(select=…, decision="best").
        """
        spec = fitted.spec
        if self.material.exclusive or spec.model.traits.takes_terms:
            return fitted.decision
        # a tuned model keeps its documents in its own order, by which they are divided into folds
        X, vocabulary = self._seen_terms
        rows = kept_rows(KeptDocuments.of(X, self.targets, vocabulary), self.targets.target_type)
        scores = out_of_fold_scores(
            replace(spec, min_df=self.min_df, select=self.select), rows,
            n_folds=min(TUNING_FOLDS, len(self.train_rows)),
        )  # fmt: skip
        return TUNINGS["best"](scores, rows.targets.Y, fitted.scorer.link)

    @lazy_property
    def _seen_terms(self) -> tuple[Sparse, Vocabulary | None]:
        """Training documents with every term that occurs in one of them, selected or not, and the terms' names."""
        X = self.material.X[self.train_rows]
        seen = np.flatnonzero(X.sum(axis=0))
        vocabulary = self.material.vocabulary
        return X[:, seen], None if vocabulary is None else vocabulary.take(seen)


def _three_digits(seconds: float) -> float:
    return float(f"{seconds:.3g}")


def _right_bits(inputs: MeasureInput) -> str:
    """A bit for each document with all labels right, as hexadecimal digits; empty without decisions."""
    if inputs.predictions is None:
        return ""
    wrong = np.asarray(abs(indicator_matrix(inputs.Y) - indicator_matrix(inputs.predictions)).sum(axis=1))
    return np.packbits(wrong == 0).tobytes().hex()


def _measure_or_none(name: str, inputs: MeasureInput) -> float | None:
    """The value, or None if the model lacks the input (probabilities of a margin) or the value is undefined."""
    measure = find_measure(name)
    if getattr(inputs, measure.needs) is None:
        return None
    value = measure(inputs)
    return value if math.isfinite(value) else None


def _take_known_columns(X: Sparse, columns: Ids) -> Sparse:
    """X[:, columns], with nothing where a column is −1: a term with a vector that no document has."""
    if not len(columns) or int(columns.min()) >= 0:
        return X[:, columns]
    terms = np.flatnonzero(columns >= 0)
    cells = X[:, columns[terms]].tocoo()
    return csr_array((cells.data, (cells.row, terms[cells.col])), shape=(X.shape[0], len(columns)))
