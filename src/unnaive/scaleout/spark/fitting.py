"""`fit`: a DataFrame of texts and labels in, a trained TextClassifier out, which is saved as any other is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unnaive.base.errors import BadData, UnnaiveError, count_noun
from unnaive.base.types import Progress
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.named_counts import NamedCounts
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import make_fitted, train_from_counts
from unnaive.learning.tuning import TUNINGS
from unnaive.linear.selection import select_terms
from unnaive.models.catalogue import MODELS, find_model
from unnaive.scaleout.spark.counting import count_rows
from unnaive.scaleout.spark.rows import check_missing, has_label_arrays, labelled_rows
from unnaive.scaleout.spark.session import require_pyspark
from unnaive.text.tokens import TokenRule

PASSES = ("maxent", "hos")  # models that take several passes over the documents


def fit(
    df: Any,
    *,
    text: str = "text",
    label: str = "label",
    model: str = "multinomial",
    multilabel: bool | None = None,
    missing: str = "error",
    progress: Progress | None = None,
    **parameters: Any,
) -> TextClassifier:
    """Train a model on a Spark DataFrame.

    Counts are sums, so the model is the one that local training gives, bit for bit, whatever the partitions, the order
    of rows and the tasks that had to be run again; MaxEnt, whose sums are fractions, is the same up to rounding.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        What Spark reads: Parquet, tables, a query; any with a column of texts and one of labels.
    text, label : str
        The two columns. Labels are strings, whole numbers or truth values; arrays of them for multilabel documents.
    model : str, default="multinomial"
        A model that learns from counts, "maxent" or "hos".
    multilabel : bool or None, default=None
        Whether a document may have any number of labels; None: where the label column holds arrays.
    missing : {"error", "skip"}, default="error"
        What to do with rows without a text or a label.
    progress : callable or None, default=None
        Told of every pass of "maxent".
    **parameters
        The parameters of TextClassifier and the settings of the model.

    Returns
    -------
    TextClassifier
        Trained; `save` writes the model file.
    """
    require_pyspark()
    classifier = TextClassifier(model, multilabel=multilabel, **parameters)
    spec, rule = classifier.spec(), classifier.token_rule
    check_missing(missing)
    check_trainable(spec)
    rows = labelled_rows(df, text, label)
    arrays = has_label_arrays(rows)
    if arrays and multilabel is False:
        raise BadData(
            f"the column {label!r} holds arrays of labels; leave out multilabel=False, or give one label each"
        )
    target_type = "sets" if arrays or multilabel else "single"
    named = count_rows(rows, rule, missing=missing)
    _check_counts(named, target_type)
    if spec.model.statistic == "counts":
        fitted = train_from_counts(spec, named, target_type, token_rule=rule, n_jobs=classifier.n_jobs)
    else:
        fitted = _fit_in_passes(spec, rows, named, target_type, rule, progress)
    return TextClassifier.from_fitted(replace(fitted, n_jobs=classifier.n_jobs))


def trainable_models() -> list[str]:
    """The models that Spark can train."""
    return [name for name in MODELS if name in PASSES or find_model(name).statistic == "counts"]


def check_trainable(spec: TrainingSpec) -> None:
    """An error of one sentence if the model, or how it is to be trained, needs all documents in one place."""
    if spec.model.name not in trainable_models():
        raise UnnaiveError(
            f"{spec.model.title} needs all documents in one place; Spark trains {', '.join(trainable_models())}"
        )
    if spec.decision in tuple(TUNINGS) or spec.calibration:
        what = "calibration" if spec.calibration else f"decision {spec.decision!r}"
        raise UnnaiveError(
            f"the {what} is tuned on held-out documents in one place, which Spark training has not; train without it"
        )
    if spec.class_weight is not None:
        raise UnnaiveError("class_weight makes fractions of counts, whose sums depend on the order; train without it")


def _check_counts(named: NamedCounts, target_type: str) -> None:
    if not named.classes:
        raise BadData("no document has a label; a classifier needs labels to learn from")
    if target_type == "single" and len(named.classes) < 2:
        raise BadData(f"every document has the label {named.classes[0]!r}; a classifier needs at least two classes")
    if not named.counts.n_terms:
        raise BadData(
            f"none of the {count_noun(int(named.counts.n_docs), 'text')} has a term to learn from; check the column "
            "and the settings"
        )


def _fit_in_passes(
    spec: TrainingSpec, rows: Any, named: NamedCounts, target_type: str, rule: TokenRule, progress: Progress | None
) -> FittedModel:
    """The model whose learner needs further passes over the documents, which are kept counted in between."""
    from unnaive.scaleout.spark.passes import CountedDocuments
    from unnaive.scaleout.spark.solvers import LEARNERS

    chosen = select_terms(named.counts, named.vocabulary, min_df=spec.min_df, select=spec.select)
    active = None if len(chosen) == named.counts.n_terms else chosen
    vocabulary = named.vocabulary if active is None or named.vocabulary is None else named.vocabulary.take(active)
    counts = named.counts if active is None else named.counts.take_terms(active)
    learner = LEARNERS[spec.model.name](spec.model, counts, exclusive=target_type == "single", progress=progress)
    with CountedDocuments.of(rows, rule, vocabulary, named.classes, learner.weighting) as documents:
        scorer = learner.learn(documents)
    return make_fitted(replace(spec, model=learner.model), named, target_type, scorer, active, token_rule=rule)
