"""One trial: a model trained on one side of a split and measured on the other; experiments.py runs many of them.

A trial is a pure function of the material, the plan and its own place in it, so the same seed gives the same numbers in
any order and in any number of processes.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.core.counts import Counts
from unnaive.core.labels import label_matrix, single_labels
from unnaive.core.links import LINKS, probabilities
from unnaive.core.scorer import Scorer
from unnaive.core.selection import information_gain, top_terms
from unnaive.decisions import Argmax, out_of_fold, scut
from unnaive.errors import BadData, UnnaiveError
from unnaive.evaluation.measures import Evidence, measure_called
from unnaive.evaluation.records import Record, versions
from unnaive.evaluation.splits import Rows, fixed_split, fold_splits, stratified_split
from unnaive.evaluation.training import comparable, filled_settings
from unnaive.models.catalogue import find_model
from unnaive.reading.corpus import Corpus
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.types import Floats, Sparse

THRESHOLD_FOLDS = 3  # multi-label decisions are tuned on training documents, out of fold


@dataclass(frozen=True)
class Contender:
    """A model with settings; its name tells contenders apart.

    >>> str(Contender.parsed("multinomial:alpha=0.1:smoothing=laplace"))
    'multinomial alpha=0.1 smoothing=laplace'
    """

    model: str
    settings: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def parsed(cls, text: str) -> Contender:
        """`name` or `name:setting=value:…`, values as JSON where they are JSON, else as text."""
        name, *pairs = text.split(":")
        settings = {}
        for pair in pairs:
            key, separator, value = pair.partition("=")
            if not separator:
                raise UnnaiveError(f"the setting {pair!r} of {name} has no value; write {name}:{pair}=VALUE")
            settings[key] = _value(value)
        find_model(name).checked(settings)
        return cls(name, tuple(sorted(settings.items())))

    def __str__(self) -> str:
        return " ".join([self.model, *(f"{key}={value}" for key, value in self.settings)])


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class Plan:
    """What to compare: contenders × splits × training sizes (shares in %) × vocabulary sizes, and the measures.

    With `folds` the splits are those of k-fold cross-validation, without `train_sizes` that of the collection.
    `vocabularies` are numbers of terms, best by information gain on the training documents; None is all of them.
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
            measure_called(name)
        for what, given in (("models to compare", self.contenders), ("measures", self.measures)):
            if not given:
                raise BadData(f"no {what} were given; name at least one")
        if self.folds is not None and self.train_sizes:
            raise BadData("folds and training sizes were both given; a plan has one or the other")
        for size in self.train_sizes:
            if not 0 < size < 100:
                raise BadData(f"a training size came as {size:g}; it is a share in %, above 0 and below 100")
        for what, number, least in (
            ("number of splits", self.splits, 1),
            ("number of folds", self.folds, 2),
            ("min_df", self.min_df, 1),
            ("seed", self.seed, 0),
            *(("vocabulary size", size, 1) for size in self.vocabularies),
        ):
            if number is not None and (number != int(number) or number < least):
                raise BadData(f"the {what} came as {number:g}; give a whole number from {least} up")

    @property
    def protocol(self) -> str:
        """The kind of split, as records name it."""
        if self.folds is not None:
            return f"{self.folds} folds"
        return "random" if self.train_sizes else "fixed"

    def trials(self) -> list[Trial]:
        """All trials, those that share documents and terms next to each other."""
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
    """A place in a plan."""

    split: int
    train_size: float | None
    terms: int | None
    contender: Contender


@dataclass(frozen=True, eq=False)
class Material:
    """Documents as matrices: X (n_docs, n_terms) counts, Y (n_docs, n_classes) 0/1, the parts if the data has them."""

    name: str
    X: Sparse
    Y: Sparse
    parts: NDArray[Any] | None = None

    @classmethod
    def of(cls, corpus: Corpus, rule: TokenRule) -> Material:
        """Count the terms of all documents; which of them take part is decided split by split."""
        if len(corpus.classes) < 2 and all(corpus.labels):
            found = f"only the class {corpus.classes[0]!r}" if corpus.classes else "no documents with a label"
            raise BadData(f"{corpus.name} has {found}; there is something to tell apart from two classes up")
        X = TextCounter(rule).count(corpus.texts, grow=True)
        parts = None if corpus.split is None else np.asarray(corpus.split)
        return cls(corpus.name, X, label_matrix(corpus.labels, corpus.classes), parts)

    @property
    def exclusive(self) -> bool:
        """Whether every document has exactly one class."""
        return single_labels(self.Y) is not None

    @cached_property
    def total(self) -> Counts:
        """Sums over all documents, from which those of a split follow by subtraction."""
        return Counts.of(self.X, self.Y)

    @cached_property
    def fingerprint(self) -> str:
        """The name and a digest: records of other data, or of other preprocessing, are never taken for these."""
        digest = hashlib.blake2b(digest_size=6)
        for table in (self.X, self.Y):
            for part in (table.indptr, table.indices, table.data):
                digest.update(np.ascontiguousarray(part.astype(np.float64)).tobytes())
        digest.update(b"" if self.parts is None else "\0".join(map(str, self.parts)).encode())
        return f"{self.name}#{digest.hexdigest()}"


@dataclass(eq=False)
class Bench:
    """Runs the trials of a plan on a material, and keeps what the last one shares with its neighbours."""

    material: Material
    plan: Plan
    _kept: dict[str, tuple[Any, Any]] = field(default_factory=dict, repr=False)

    def records(self, trial: Trial) -> list[Record]:
        """Train, score and measure."""
        started = time.perf_counter()
        sides = self._keep("sides", (trial.split, trial.train_size, trial.terms), lambda: self._sides(trial))
        scorer = sides.trained(trial.contender, self.plan.seed)
        scores = scorer.scores(sides.X_test)
        seconds = time.perf_counter() - started
        evidence = self._evidence(sides, trial, scorer, scores)
        sizes = {"n_train": len(sides.train), "n_test": len(sides.test), "n_terms": len(sides.terms)}
        common = self.blank(trial, seconds=round(seconds, 4), **sizes)
        return [
            Record(**common, measure=name, value=_measured(name, evidence), versions=versions())
            for name in self.plan.measures
        ]

    def blank(self, trial: Trial, **more: Any) -> dict[str, Any]:
        """What all records of a trial have in common."""
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

    def _keep(self, name: str, key: Any, make: Any) -> Any:
        if name not in self._kept or self._kept[name][0] != key:
            self._kept[name] = (key, make())
        return self._kept[name][1]

    def _rows(self, trial: Trial) -> tuple[Rows, Rows]:
        if self.plan.folds is not None:
            return list(fold_splits(self.material.Y, self.plan.folds, seed=self.plan.seed))[trial.split]
        if trial.train_size is not None:
            share = trial.train_size / 100
            return stratified_split(self.material.Y, share, seed=self.plan.seed, split=trial.split)
        if self.material.parts is None:
            raise BadData(f"{self.material.name} has no split of its own; give training sizes or folds")
        return fixed_split(self.material.parts)

    def _sides(self, trial: Trial) -> Sides:
        train, test = self._rows(trial)
        counts = counts_of_rows(self.material, train, test)
        terms = np.flatnonzero(counts.df >= self.plan.min_df)
        if not len(terms):
            fewest = f"no term is in {self.plan.min_df} of the {len(train)} training documents"
            raise BadData(f"{fewest} of {self.material.name}; lower min_df, or look whether the texts are empty")
        if trial.terms is not None:
            best = top_terms(information_gain(counts.take_terms(terms)), trial.terms)
            terms = np.sort(terms[best])
        return Sides(self.material, train, test, terms, counts.take_terms(terms))

    def _evidence(self, sides: Sides, trial: Trial, scorer: Scorer, scores: Floats) -> Evidence:
        exclusive = self.material.exclusive
        known = LINKS[scorer.link].log_odds is not None
        needs = {measure_called(name).needs for name in self.plan.measures}
        predicted = None
        if "predictions" in needs:
            predicted = sides.decision(trial.contender, self.plan.seed).decide(scores)
        chances = probabilities(scorer.link, scores, exclusive=exclusive) if known else None
        return Evidence(self.material.Y[sides.test], comparable(scorer.link, scores), predicted, chances)


def counts_of_rows(material: Material, rows: Rows, others: Rows) -> Counts:
    """Sums over `rows`: counted, or the total minus the `others` where these are all the rest, and fewer."""
    covers = len(rows) + len(others) == material.X.shape[0]
    if covers and len(others) < len(rows):
        return material.total - Counts.of(material.X[others], material.Y[others])
    return Counts.of(material.X[rows], material.Y[rows])


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides of a split, cut to the terms that take part."""

    material: Material
    train: Rows
    test: Rows
    terms: Rows
    counts: Counts

    @cached_property
    def X_train(self) -> Sparse:
        """Training documents."""
        return self.material.X[self.train][:, self.terms]

    @cached_property
    def Y_train(self) -> Sparse:
        """Their labels."""
        return self.material.Y[self.train]

    @cached_property
    def X_test(self) -> Sparse:
        """Test documents; terms that no training document has are ignored."""
        return self.material.X[self.test][:, self.terms]

    def trained(self, contender: Contender, seed: int) -> Scorer:
        """The contender on all training documents."""
        return self._trained(contender, seed, None)

    def decision(self, contender: Contender, seed: int) -> Any:
        """The best class; or, with several labels, thresholds from scores of training documents out of fold."""
        if self.material.exclusive:
            return Argmax()

        def held_out(inside: Rows, outside: Rows) -> Floats:
            return self._trained(contender, seed, (inside, outside)).scores(self.X_train[outside])

        return scut(out_of_fold(held_out, self.Y_train, n_folds=THRESHOLD_FOLDS, seed=seed), self.Y_train)

    def _trained(self, contender: Contender, seed: int, part: tuple[Rows, Rows] | None) -> Scorer:
        """On all training documents, or on the first of two parts of them; a rule takes the second off the sums."""
        model = find_model(contender.model)
        settings = filled_settings(contender.model, self.material.Y, seed, dict(contender.settings))
        if model.statistic == "counts":
            less = Counts.of(self.X_train[part[1]], self.Y_train[part[1]]) if part else None
            scorer: Scorer = model.function(self.counts if less is None else self.counts - less, **settings)
            return scorer
        inside = slice(None) if part is None else part[0]
        learned: Scorer = model.function(self.X_train[inside], self.Y_train[inside], **settings)
        return learned


def _measured(name: str, evidence: Evidence) -> float | None:
    """The value, or None where the model has nothing to measure (probabilities of a margin) or it is undefined."""
    measure = measure_called(name)
    if getattr(evidence, measure.needs) is None:
        return None
    value = measure(evidence)
    return value if math.isfinite(value) else None
