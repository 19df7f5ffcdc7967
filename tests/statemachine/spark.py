"""Sequences with Spark: what it trains is what is trained here, and it labels as `predict` does."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from statemachine.data import OPTIONS, SETTINGS, labels_of, refusal
from statemachine.draws import SeededDraws
from statemachine.invariants import PROBES
from statemachine.sequences import OTHERS, sequence_names
from statemachine.verbs import Verbs
from unnaive import TextClassifier, UnnaiveError, UnnaiveWarning
from unnaive.classifier.receipts import model_hash
from unnaive.models.catalogue import find_model

STEPS = 2


@cache
def session() -> Any:
    """The session of this process."""
    from unnaive.scaleout.spark.spark_session import start_session

    spark = start_session("local[1]")
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    return spark


def run_spark_sequence(number: int) -> int:
    """Run a sequence; how many steps were refused, each with a sentence."""
    draws = SeededDraws(number)
    verbs = Verbs(sequence_names(number), ("texts",))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnnaiveWarning)
            warnings.simplefilter("ignore", FutureWarning)  # of pyspark, about pandas
            refused = train_on_spark(draws)
            model = verbs.start(draws)
            for _ in range(STEPS):
                if model is not None:
                    check_transform(model.fitted)
                    model = draws.choose((verbs.update, verbs.forget, verbs.calibrate, verbs.compress))(draws, model)
            return refused + verbs.refused
    finally:
        verbs.close()


def train_on_spark(draws: SeededDraws) -> int:
    """Train a model on Spark and here: the same bytes, and of learners in passes the same scores up to rounding."""
    import unnaive.spark
    from unnaive.scaleout.spark.fitting import trainable_models

    name = draws.choose([one for one in OTHERS if one in trainable_models()])
    multilabel = draws.choose((False, True))
    options = {**SETTINGS.get(name, {}), **draws.choose([one for one in OPTIONS if "documents_limit" not in one])}
    if multilabel:  # thresholds are tuned on documents, which models trained on Spark do not keep
        options = {"decision": "untuned", **options}
    rows = [("ball goal", ("east",)), ("ball vote law", ("north",)), *draws.documents(multilabel=multilabel)]
    texts, labels = [text for text, _ in rows], labels_of(rows, multilabel=multilabel)
    schema = f"text string, label {'array<string>' if multilabel else 'string'}"
    pairs = [(text, list(label) if multilabel else label) for text, label in zip(texts, labels, strict=True)]
    df = session().createDataFrame(pairs, schema).repartition(draws.choose((1, 2, 3)))
    try:
        trained = unnaive.spark.fit(df, model=name, **options).fitted_
    except UnnaiveError as error:
        refusal(error)
        return 1
    local = TextClassifier(name, **options).fit(texts, labels).fitted_
    if find_model(name).traits.statistic == "counts":
        assert model_hash(trained) == model_hash(local), f"{name} {options} {rows}: another model on Spark"
    else:
        expected = local.scores(PROBES)
        np.testing.assert_allclose(trained.scores(PROBES), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    check_transform(trained)
    return 0


def check_transform(fitted: Any) -> None:
    """`transform` gives the labels and the scores that the model gives here."""
    import unnaive.spark

    df = session().createDataFrame([(text,) for text in PROBES], "text string").coalesce(1)
    rows = unnaive.spark.transform(df, fitted, score="s").collect()
    given = [tuple(row.prediction) if fitted.multilabel else row.prediction for row in rows]
    predicted = fitted.predict(PROBES)
    assert given == (predicted if fitted.multilabel else predicted.tolist())
    np.testing.assert_array_equal([row.s for row in rows], fitted.scores(PROBES))
