"""Cross-validation on Spark: each fold is counted once; models that learn from counts subtract the held-out fold."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError
from unnaive.data.named_counts import NamedCounts
from unnaive.data.training_data import TrainingData
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.results import Record, versions
from unnaive.learning.fitted import FittedModel
from unnaive.learning.train import train
from unnaive.scaleout.spark.counting import count_rows
from unnaive.scaleout.spark.evaluating import tally_on_spark
from unnaive.scaleout.spark.fitting import check_trainable, fit
from unnaive.scaleout.spark.rows import LABEL, TEXT, has_label_arrays, labelled_rows

if TYPE_CHECKING:
    from unnaive.evaluation.trials import Contender, ExperimentPlan
    from unnaive.learning.learner import TrainingSpec
    from unnaive.text.tokens import TokenRule

FOLDS = 5
MEASURES = {
    "accuracy": lambda tally: tally.accuracy,
    "micro-f1": lambda tally: tally.micro("f1"),
    "macro-f1": lambda tally: tally.macro("f1"),
    "weighted-f1": lambda tally: tally.weighted("f1"),
    "micro-precision": lambda tally: tally.micro("precision"),
    "micro-recall": lambda tally: tally.micro("recall"),
    "macro-precision": lambda tally: tally.macro("precision"),
    "macro-recall": lambda tally: tally.macro("recall"),
}


def check_plan(plan: ExperimentPlan) -> None:
    """Raise an error if the plan has a measure, training size, vocabulary or model that Spark does not support."""
    for name in plan.measures:
        find_measure(name)
        if name not in MEASURES:
            raise UnnaiveError(f"{name} needs all scores on one machine; Spark supports {', '.join(MEASURES)}")
    if plan.train_sizes or plan.vocabularies != (None,):
        raise UnnaiveError("Spark compares by cross-validation on all terms; leave out --train-sizes and --vocabulary")
    for contender in plan.contenders:
        check_trainable(contender.spec(plan.seed))


def cross_validate(df: Any, plan: ExperimentPlan, rule: TokenRule, *, name: str = "data") -> list[Record]:
    """One record for each model, fold and measure; a hash of the text assigns each document to its fold."""
    from pyspark.sql import functions as F

    check_plan(plan)
    n_folds = plan.folds or FOLDS
    rows = labelled_rows(df, TEXT, LABEL)
    kind = "sets" if has_label_arrays(rows) else "single"
    fold = F.pmod(F.xxhash64(F.lit(plan.seed), F.col(TEXT)), F.lit(n_folds))
    folded = rows.withColumn("fold", fold).persist()
    try:
        parts = [folded.where(F.col("fold") == number).drop("fold") for number in range(n_folds)]
        counts = [count_rows(part, rule, missing="skip") for part in parts]
        total = sum(counts[1:], start=counts[0])
        records = []
        for number, part in enumerate(parts):
            others = folded.where(F.col("fold") != number).drop("fold")
            rest = total - counts[number]
            for contender in plan.contenders:
                started = time.perf_counter()
                fitted = _train(contender, plan, rest, others, rule, kind)
                _, tally = tally_on_spark(part, fitted, missing="skip")
                common = _record_fields(contender, plan, number, n_folds, name, time.perf_counter() - started)
                sizes: dict[str, Any] = {
                    "n_train": int(rest.counts.n_docs),
                    "n_test": tally.n,
                    "n_terms": fitted.scorer.n_terms,
                }
                records += [
                    Record(**common, **sizes, measure=measure, value=float(MEASURES[measure](tally)))
                    for measure in plan.measures
                ]
        return records
    finally:
        folded.unpersist()


def _train(
    contender: Contender, plan: ExperimentPlan, counts: NamedCounts, others: Any, rule: TokenRule, kind: str
) -> FittedModel:
    spec: TrainingSpec = contender.spec(plan.seed)
    if spec.model.traits.statistic == "counts":
        from dataclasses import replace

        return train(TrainingData.of_kept(counts, kind, token_rule=rule), replace(spec, min_df=plan.min_df))
    words: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in rule.to_dict().items()
    }
    return fit(
        others, model=contender.model, min_df=plan.min_df, missing="skip", **words, **dict(contender.settings)
    ).fitted_


def _record_fields(
    contender: Contender, plan: ExperimentPlan, number: int, n_folds: int, name: str, seconds: float
) -> dict[str, Any]:
    """The fields shared by all records of one model on one fold."""
    return {
        "data": f"{name}#spark",
        "protocol": f"{n_folds} folds",
        "split": number,
        "seed": plan.seed,
        "model": contender.model,
        "parameters": dict(contender.settings),
        "seconds": float(f"{seconds:.3g}"),
        "min_df": plan.min_df,
        "versions": versions(),
    }
