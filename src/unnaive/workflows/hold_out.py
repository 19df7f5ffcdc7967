"""Measures of a new model on a test file, or on documents that are held out (--holdout)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.base.types import Ids, ProgressCallback
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.corpus import Corpus
    from unnaive.evaluation.evaluate import Evaluation
    from unnaive.evaluation.tally import Tally
    from unnaive.learning.fitted import FittedModel


def evaluate_corpus(fitted: FittedModel, corpus: Corpus) -> Evaluation:
    """The evaluation of a model on a corpus."""
    from unnaive.evaluation.evaluate import evaluate

    return evaluate(fitted, corpus.texts, corpus.labels, name=corpus.name, ids=corpus.ids)


def measure_model(fitted: FittedModel, corpus: Corpus) -> dict[str, Any]:
    """Documents, accuracy and F1 of a model on a corpus."""
    return describe_tally(evaluate_corpus(fitted, corpus).tally)


def describe_tally(tally: Tally) -> dict[str, Any]:
    """Documents, accuracy with its 95 % interval, and F1, as plain values."""
    from unnaive.learning.confidence_interval import wilson_interval

    return {
        "documents": tally.n,
        "accuracy": tally.accuracy,
        "accuracy_interval": wilson_interval(tally.exact, tally.n),
        "micro-f1": tally.micro("f1"),
        "macro-f1": tally.macro("f1"),
    }


def evaluate_holdout(
    classifier: TextClassifier, corpus: Corpus, share: float, multilabel: bool, progress: ProgressCallback | None = None
) -> Evaluation:
    """The evaluation of the same model on held-out documents, chosen at random by `parts_of_corpus`."""
    import warnings

    import numpy as np

    from unnaive.base.errors import UnnaiveError, UnnaiveWarning, count_noun

    if not 0 < share < 1 or round(share * len(corpus)) < 1:
        raise UnnaiveError(
            f"the holdout is {share} of {count_noun(len(corpus), 'document')}; give a share of at least "
            "one document, such as 0.2"
        )
    n_parts = max(2, round(1 / min(share, 1 - share)))
    aside = parts_of_corpus(classifier, corpus, n_parts, multilabel) == 0
    if share > 0.5:
        aside = ~aside
    if not multilabel:
        # documents without a label cannot be evaluated
        aside &= np.fromiter(map(bool, corpus.labels), bool, len(corpus))
    rest, held_out = corpus.take(np.flatnonzero(~aside)), corpus.take(np.flatnonzero(aside))
    copy = type(classifier)(**classifier.get_params())
    with warnings.catch_warnings():  # the same warnings come for all documents
        warnings.simplefilter("ignore", UnnaiveWarning)
        copy.fit(rest.texts, as_targets(rest, multilabel), progress=progress)
    return evaluate_corpus(copy.fitted_, held_out)


def parts_of_corpus(classifier: TextClassifier, corpus: Corpus, n_parts: int, multilabel: bool) -> Ids:
    """The part of each document (n_docs,), from 0 to n_parts − 1, at random within each class.

    Copies and documents that share passages are in the same part, as when a model is tuned: the accuracy on a part
    would otherwise be that on known documents.
    """
    import warnings
    from dataclasses import replace

    import numpy as np

    from unnaive.base.errors import UnnaiveWarning
    from unnaive.data.held_out_parts import parts_like_new
    from unnaive.learning.vectors_in_training import word_columns
    from unnaive.text.fixed_point import vector_keys

    copy = type(classifier)(**classifier.get_params())
    with warnings.catch_warnings():  # training gives the same warnings
        warnings.simplefilter("ignore", UnnaiveWarning)
        data = copy.count_texts(corpus.texts, as_targets(corpus, multilabel))
    rows, rule = data.rows, data.token_rule
    if rows is None or rule is None:
        raise RuntimeError("texts were counted without their rows")
    spec = replace(copy.spec(), vector_keys=vector_keys(rule.fields))
    order = np.random.default_rng(classifier.random_state).permutation(len(corpus))
    part = np.empty(len(corpus), np.int64)
    part[order] = parts_like_new(rows.take(order), n_parts, words=word_columns(spec, rows))
    return part


def as_targets(corpus: Corpus, multilabel: bool) -> list[Any]:
    """A label for each document, None if it has none, or a tuple of labels for multilabel data."""
    return list(corpus.labels) if multilabel else [names[0] if names else None for names in corpus.labels]
