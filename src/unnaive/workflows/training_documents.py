"""The documents of a training: in memory, as a stream or as a matrix on disk; labelled, or with probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError
from unnaive.workflows.large_data import LargeDataOptions, open_large_data, open_soft_labels, text_size

if TYPE_CHECKING:
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.corpus import Corpus
    from unnaive.data.training_data import TrainingData
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.learner import TrainingSpec


@dataclass(frozen=True, eq=False)
class TrainingDocuments:
    """The documents to learn from.

    count   returns them counted
    corpus  their texts and labels; None if they are never all in memory
    """

    n_docs: int
    count: Callable[[], TrainingData]
    corpus: Corpus | None = None
    multilabel: bool = False


def open_documents(
    stack: ExitStack, classifier: TextClassifier, spec: TrainingSpec, source: DataFile, soft: Sequence[str],
    limits: LargeDataOptions, needs_corpus: str | None,
) -> TrainingDocuments:  # fmt: skip
    """Read the documents, or open them as a stream or on disk for as long as the stack is open."""
    if soft:
        data, n_docs = open_soft_labels(stack, classifier, source, soft, limits) or _count_soft_labels(
            classifier, source, soft
        )
        return TrainingDocuments(n_docs, lambda: data)
    large = open_large_data(stack, classifier, spec, source, limits, needs_corpus)
    if large is not None:
        return TrainingDocuments(large.n_docs, lambda: large)
    corpus, multilabel = _read_corpus(classifier, source)
    return TrainingDocuments(
        len(corpus), lambda: _count_corpus(classifier, corpus, source, multilabel), corpus, multilabel
    )  # fmt: skip


def _read_corpus(classifier: TextClassifier, source: DataFile) -> tuple[Corpus, bool]:
    """All documents in memory, and whether they may have any number of labels."""
    from unnaive.models.catalogue import find_model

    takes_unlabelled = find_model(classifier.model).traits.takes_unlabelled
    corpus = source.corpus(unlabelled=takes_unlabelled)
    multilabel = bool(source.multilabel) or any(len(names) > 1 for names in corpus.labels)
    return corpus, multilabel or (corpus.multilabel and not takes_unlabelled)


def _count_corpus(classifier: TextClassifier, corpus: Corpus, source: DataFile, multilabel: bool) -> TrainingData:
    """The training data: the counted documents, and what the model stores about the files."""
    from unnaive.data.text_hashes import TextHashes
    from unnaive.workflows.hold_out import as_targets

    columns = source.options.log.columns
    columns = columns and replace(columns, separator=source.separator)
    # by the size of the files, as for a matrix on disk; for stdin the text is counted
    data = classifier.count_texts(corpus.texts, as_targets(corpus, multilabel), n_chars=text_size(source) or None)
    return data.with_reading(source=columns and columns.section(), text_hashes=TextHashes.of(corpus.texts))


def check_soft_labels(spec: TrainingSpec, others: dict[str, Any]) -> None:
    """Raise an error if the model, or an option, does not support probabilities as labels."""
    option = next((name for name, value in others.items() if value), None)
    if option is not None:
        raise UnnaiveError(
            f"--soft-labels cannot be combined with {option}, which needs one label for each text; leave it out"
        )
    if not spec.model.traits.takes_sample_weight:
        raise UnnaiveError(
            f"--soft-labels: the model {spec.model.traits.name} takes no weights; use another, such as --model nbsvm"
        )


def _count_soft_labels(classifier: TextClassifier, source: DataFile, soft: Sequence[str]) -> tuple[TrainingData, int]:
    """The training data: each text once for each label, weighted by its probability; and the number of texts."""
    from unnaive.data.soft_labels import soft_labels
    from unnaive.data.text_hashes import TextHashes
    from unnaive.io.soft_columns import read_probabilities

    texts, probabilities = read_probabilities(source, soft)
    copies, labels, weight = soft_labels(texts, probabilities)
    data = classifier.count_texts(copies, labels, weight, n_chars=text_size(source) or None)
    columns = source.options.log.columns
    return data.with_reading(source=columns and columns.section(), text_hashes=TextHashes.of(texts)), len(texts)
