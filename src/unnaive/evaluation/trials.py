"""One trial: a model trained on one side of a split and measured on the other; experiments.py runs many of them.

A trial is a pure function of the data, the plan and its position in the plan, so the same seed gives the same numbers
in any order and with any number of processes. `learning.train.train` trains, as for TextClassifier, and a model with
its own token rule (`auto`) uses it here too; so the results are those of a classifier fitted on the same training
documents. Texts are counted once for all models, and documents are sorted once for all models on the same split.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
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
from unnaive.data.training_data import TrainingData
from unnaive.evaluation.experiment_documents import Material, counts_of_rows
from unnaive.evaluation.measures import MeasureInput, find_measure
from unnaive.evaluation.results import Record, contender_name, versions
from unnaive.evaluation.splits import fixed_split, fold_splits, stratified_split
from unnaive.evaluation.tally import indicator_matrix
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import train
from unnaive.learning.tuned_models import keeps_documents
from unnaive.linear.links import comparable_scores
from unnaive.linear.scorer import Scorer
from unnaive.linear.term_selection import select_terms
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

    def token_rule_changes(self, count_chars: Callable[[], float] = lambda: 0) -> dict[str, Any]:
        """The differences of this model's token rule from the default, for texts with this number of characters."""
        changes, settings = find_model(self.model).token_rule_for, dict(self.settings)
        shortest = changes(settings, 0)
        return shortest if shortest == changes(settings, math.inf) else changes(settings, count_chars())

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
    Documents that copy or quote each other are on the same side of a split, unless the plan `divides_copies`, as the
    published experiments do.
    """

    contenders: tuple[Contender, ...]
    measures: tuple[str, ...]
    splits: int = 10
    train_sizes: tuple[float, ...] = ()
    vocabularies: tuple[int | None, ...] = (None,)
    folds: int | None = None
    min_df: int = 1
    seed: int = 0
    divides_copies: bool = False

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
        began = time.process_time()
        fitted, X_test = data.fit(self.spec(trial))
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
            splits = fold_splits(self.material.Y, self.plan.folds, seed=self.plan.seed, group=self._groups)
            return list(splits)[trial.split]
        if trial.train_size is not None:
            share = trial.train_size / 100
            return stratified_split(self.material.Y, share, seed=self.plan.seed, split=trial.split, group=self._groups)
        if self.material.parts is None:
            raise BadData(f"{self.material.name} has no predefined split; give training sizes or folds")
        return fixed_split(self.material.parts)

    @property
    def _groups(self) -> Ids | None:
        """The documents that are on the same side of every split; None if each is drawn by itself."""
        return None if self.plan.divides_copies else self.material.groups

    def spec(self, trial: Trial) -> TrainingSpec:
        """The training specification of the trial's model, with the options of the plan."""
        return replace(trial.contender.spec(self.plan.seed), min_df=self.plan.min_df, select=trial.terms)

    def split_data(self, trial: Trial) -> SplitData:
        """Both sides of the trial's split, as its model reads them."""
        train_rows, test_rows = self.split_rows(trial)
        changes = trial.contender.token_rule_changes(lambda: self.material.count_chars(train_rows))
        weighs = find_model(trial.contender.model).traits.takes_vectors
        material = self.material.read_with(changes, vectors=weighs)
        key = (trial.split, trial.train_size, material.rule)
        if self._last is None or self._last[0] != key:
            if not len(test_rows):
                raise BadData(
                    f"{self.material.name}: none of {count_noun(len(train_rows), 'document')} is left to measure on; "
                    "give more of them, or a smaller training size"
                )
            self._last = (key, SplitData(material, train_rows, test_rows))
        return self._last[1]

    def _measure_input(self, data: SplitData, fitted: FittedModel, scores: Floats) -> MeasureInput:
        """Truth, scores, decisions and probabilities over all classes; a class without training documents is last."""
        needs = {find_measure(name).needs for name in self.plan.measures}
        truth = self.material.Y[data.test_rows]
        columns = data.columns_of(fitted)
        shown = _over_classes(comparable_scores(fitted.scorer.link, scores), columns, truth.shape[1], -np.inf)
        predictions = p = None
        if "predictions" in needs:
            assigned = fitted.decide(scores).tocoo()
            predictions = csr_array((assigned.data, (assigned.row, columns[assigned.col])), shape=truth.shape)
        if fitted.probabilistic:
            p = _over_classes(fitted.probabilities(scores), columns, truth.shape[1], 0.0)
        return MeasureInput(truth, shown, predictions, p)


@dataclass(frozen=True, eq=False)
class SplitData:
    """Both sides of a split, from which models are trained as TextClassifier trains them."""

    material: Material
    train_rows: Ids
    test_rows: Ids

    @lazy_property
    def targets(self) -> Targets:
        """The labels of the training documents, without classes that none of them has."""
        whole = self.material.targets(self.train_rows)
        present = np.flatnonzero(whole.Y.sum(axis=0))
        return replace(whole, classes=tuple(whole.classes[c] for c in present), Y=csr_array(whole.Y[:, present]))

    def columns_of(self, fitted: FittedModel) -> Ids:
        """The column of each class of a model among all classes of the data."""
        classes = self.material.targets(self.test_rows[:0]).classes
        position_of = {label: column for column, label in enumerate(classes)}
        return np.array([position_of[label] for label in fitted.classes], np.int64)

    @lazy_property
    def seen_terms(self) -> Ids:
        """The columns of the terms that a training document has."""
        return np.flatnonzero(self._all_counts.df)

    @lazy_property
    def counts(self) -> Counts:
        """Sums over the training documents, columns as in `seen_terms`."""
        present = np.flatnonzero(self._all_counts.class_docs)
        return self._all_counts.take(present, self.seen_terms)

    @lazy_property
    def _all_counts(self) -> Counts:
        return counts_of_rows(self.material, self.train_rows, self.test_rows)

    @lazy_property
    def documents(self) -> KeptDocuments:
        """The training documents as models keep them, sorted by their content."""
        X = csr_array(self.material.X[self.train_rows])
        units = None if self.material.units is None else self.material.units.take(self.train_rows)
        if self.vocabulary is None:
            return KeptDocuments.of(csr_array(X[:, self.seen_terms]), self.targets)
        return KeptDocuments.of(X, self.targets, self.material.vocabulary, None, units)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The names of the `seen_terms`."""
        return None if self.material.vocabulary is None else self.material.vocabulary.take(self.seen_terms)

    @property
    def counting_seconds(self) -> float:
        """Processor seconds of counting the training texts, as their share of the time for all texts."""
        return self.material.seconds * len(self.train_rows) / len(self.material)

    def fit(self, spec: TrainingSpec) -> tuple[FittedModel, Sparse]:
        """The model trained on all training documents, and the test documents with its terms."""
        rule = self.material.rule
        if self.material.vectors is not None and spec.model.traits.takes_vectors:
            spec = replace(spec, word_vectors=self.material.vectors)
        if rule is None and self.targets.multilabel and not spec.model.traits.takes_terms:
            spec = replace(spec, decision="best")  # what texts get by default
        statistic: NamedCounts | KeptDocuments
        if keeps_documents(spec, multilabel=self.targets.multilabel, texts=rule is not None):
            statistic = self.documents
        else:  # the documents are not needed
            statistic = NamedCounts(self.targets.classes, self.vocabulary, self.counts)
        try:
            fitted = train(TrainingData.of_kept(statistic, self.targets.target_type, token_rule=rule), spec)
        except BadData as problem:
            raise BadData(
                f"{self.material.name}, {count_noun(len(self.train_rows), 'training document')}: {problem}"
            ) from problem
        return fitted, self._read_test(fitted)

    def _read_test(self, fitted: FittedModel) -> Sparse:
        """The test documents with the terms of the model; those that it does not know are ignored."""
        X = csr_array(self.material.X[self.test_rows])
        if fitted.vocabulary is not None and self.material.vocabulary is not None:
            return _take_known_columns(X, self.material.vocabulary.ids(fitted.vocabulary))
        terms = select_terms(self.counts, None, min_df=fitted.spec.min_df, select=fitted.spec.select)
        return csr_array(X[:, self.seen_terms[terms]])


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


def _over_classes(table: Floats, columns: Ids, n_classes: int, rest: float) -> Floats:
    """The table with its columns moved to `columns` of `n_classes`; the others have the value `rest`."""
    if table.shape[1] == n_classes:
        return table
    wide = np.full((len(table), n_classes), rest)
    wide[:, columns] = table
    return wide
