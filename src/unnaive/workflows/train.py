"""Train a model from files: learn, evaluate, compress, write a model file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError, count_noun
from unnaive.workflows.large_data import LargeDataOptions, open_large_data, open_soft_labels, text_size

if TYPE_CHECKING:
    from unnaive.classifier.compress import Compressed
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.corpus import Corpus
    from unnaive.data.training_data import TrainingData
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel
    from unnaive.learning.learner import TrainingSpec
    from unnaive.workflows.feedback import Feedback

    Finish = Callable[[FittedModel, Corpus], FittedModel]


def train_file(
    classifier: TextClassifier,
    source: DataFile,
    output: Path,
    feedback: Feedback,
    *,
    test: Sequence[str] | None = None,
    holdout: float | None = None,
    frozen: bool = False,
    finish: Finish | None = None,
    max_size: str | None = None,
    soft: Sequence[str] = (),
    limits: LargeDataOptions | None = None,
) -> dict[str, Any]:
    """Train, evaluate if requested, write; returns sizes and measures as plain values.

    finish  applied before writing
    soft    names or patterns of the columns with the probability of each label
    """
    from unnaive.base.byte_sizes import parse_size
    from unnaive.classifier.model_file import check_writable, save
    from unnaive.learning.train import train
    from unnaive.workflows.hold_out import measure_holdout
    from unnaive.workflows.training_summary import describe_training

    limit = None if max_size is None else parse_size(max_size)
    check_writable(output)  # first, because training may take minutes
    label, label_columns = source.label, source.label_columns
    source = _settle_source(classifier, source, soft, feedback)
    spec = classifier.spec()  # also first, since it raises an error if a setting is wrong
    if soft:
        unused = {} if test else {"--label": label, "--label-columns": label_columns or None}
        check_soft_labels(spec, unused | {"--holdout": holdout, "--register": finish, "--max-size": max_size})
    start = time.perf_counter()
    source = replace(
        source, options=replace(source.options, language=classifier.language or "en", threads=classifier.n_jobs)
    )
    needs = {"--holdout": holdout is not None, "--register": finish is not None, "--max-size": limit is not None}
    needs_corpus = next((name for name, requested in needs.items() if requested), None)
    steps = 3 + (holdout is not None) + bool(test)  # reading, learning and writing are always among them
    steps += spec.model.keeps_choice + (0 if limit is None else 2)
    watched = feedback.reading(source, steps=steps)
    with ExitStack() as stack:
        measured: dict[str, Any] = {}
        documents = _open_documents(stack, classifier, spec, watched, soft, limits or LargeDataOptions(), needs_corpus)
        corpus, multilabel = documents.corpus, documents.multilabel
        if holdout is not None and corpus is not None:
            feedback.step(f"measuring {classifier.model} on documents set aside")
            measured["holdout"] = measure_holdout(classifier, corpus, holdout, multilabel, feedback.event)
        feedback.step(f"learning {classifier.model} from {count_noun(documents.n_docs, 'document')}")
        data = documents.count()
        fitted = train(data, spec, progress=feedback.event)
        measured |= {"out_of_core": data.report} if data.report else {}
        if corpus is not None and spec.model.keeps_choice:
            feedback.step("holding out other parts")
            measured["blocks"] = _hold_out_blocks(fitted, data, source)
        read = watched.describe()
        if test:
            feedback.step("measuring")
            tested = replace(source, paths=tuple(test), label=label, label_columns=label_columns)
            measured["test"] = _measure_test(fitted, tested)
        if finish and corpus is not None:
            fitted = finish(fitted, corpus)
        if limit is not None and corpus is not None:
            fitted = replace(fitted, counts=None) if frozen else fitted
            small, measured["size"] = _make_smaller(
                fitted, limit, classifier, corpus, feedback, multilabel=multilabel, registered=finish is not None
            )
            fitted, frozen = small.fitted, frozen or small.frozen
        feedback.step("writing")
        save(fitted, output, frozen=frozen)
    seconds = time.perf_counter() - start
    sizes = watched.options.log.label_sizes()
    summary = describe_training(
        classifier.model, fitted, output, n_docs=documents.n_docs, seconds=seconds, read=read, sizes=sizes
    )  # fmt: skip
    return summary | measured


def _settle_source(classifier: TextClassifier, source: DataFile, soft: Sequence[str], feedback: Feedback) -> DataFile:
    """The source with its fields, which are set in the classifier too; mail and unused columns are noted."""
    from unnaive.models.catalogue import find_model
    from unnaive.workflows.source_fields import note_other_columns, settle_fields

    if soft:  # only --test has labels
        source = replace(source, label=None, label_columns=())
    vectors = find_model(classifier.model).takes_vectors
    source, classifier.fields = settle_fields(source, feedback, labelled=not soft, unused=soft, vectors=vectors)
    if classifier.fields is None:
        recognise_mail(classifier, source, feedback)
        if not soft:
            note_other_columns(source, feedback, vectors=vectors)
    return source


@dataclass(frozen=True, eq=False)
class _Documents:
    """The documents to learn from.

    count   returns them counted
    corpus  their texts and labels; None if they are never all in memory
    """

    n_docs: int
    count: Callable[[], TrainingData]
    corpus: Corpus | None = None
    multilabel: bool = False


def _open_documents(
    stack: ExitStack, classifier: TextClassifier, spec: TrainingSpec, source: DataFile, soft: Sequence[str],
    limits: LargeDataOptions, needs_corpus: str | None,
) -> _Documents:  # fmt: skip
    """Read the documents, or open them as a stream or on disk for as long as the stack is open."""
    if soft:
        data, n_docs = open_soft_labels(stack, classifier, source, soft, limits) or _count_soft_labels(
            classifier, source, soft
        )
        return _Documents(n_docs, lambda: data)
    large = open_large_data(stack, classifier, spec, source, limits, needs_corpus)
    if large is not None:
        return _Documents(large.n_docs, lambda: large)
    corpus, multilabel = _read_corpus(classifier, source)
    return _Documents(
        len(corpus), lambda: _count_corpus(classifier, corpus, source, multilabel), corpus, multilabel
    )  # fmt: skip


def _hold_out_blocks(fitted: FittedModel, data: TrainingData, source: DataFile) -> list[dict[str, Any]]:
    """Accuracy on parts of the data that are held out together, as plain values."""
    from unnaive.workflows.held_out_blocks import find_block_holdouts

    return [asdict(block) | {"sentence": block.sentence()} for block in find_block_holdouts(fitted, data, source)]


def _measure_test(fitted: FittedModel, source: DataFile) -> dict[str, Any]:
    """Measures on the documents of --test; a warning if the model has learnt some of them."""
    from unnaive.workflows.hold_out import measure_model
    from unnaive.workflows.learnt_documents import warn_about_learnt
    from unnaive.workflows.trained_columns import read_as_trained

    corpus = read_as_trained(source, fitted).corpus()
    measured = measure_model(fitted, corpus)
    warn_about_learnt(fitted, corpus)
    return measured


def recognise_mail(classifier: TextClassifier, source: DataFile, feedback: Feedback) -> None:
    """Let the classifier read subject and body if documents are messages and --message was not given.

    The token rule stores it, as with --message, so that updates, predictions and the service do the same.
    """
    from unnaive.text.messages import PARTS, are_messages

    if classifier.message is None and are_messages(source.sample_texts()):
        classifier.message = PARTS
        read = PARTS.replace("-", " and ")
        feedback.note(
            f"{source.name}: the texts are e-mail messages; of each, {read} are read; --message whole reads "
            "the whole message"
        )


def _read_corpus(classifier: TextClassifier, source: DataFile) -> tuple[Corpus, bool]:
    """All documents in memory, and whether they may have any number of labels."""
    from unnaive.models.catalogue import find_model

    takes_unlabelled = find_model(classifier.model).takes_unlabelled
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
    return data.with_reading(columns=columns, text_hashes=TextHashes.of(corpus.texts))


def check_soft_labels(spec: TrainingSpec, others: dict[str, Any]) -> None:
    """Raise an error if the model, or an option, does not support probabilities as labels."""
    option = next((name for name, value in others.items() if value is not None), None)
    if option is not None:
        raise UnnaiveError(
            f"--soft-labels cannot be combined with {option}, which needs one label for each text; leave it out"
        )
    if spec.model.keeps_choice or not spec.model.takes_sample_weight:
        reason = "chooses on held-out texts by their labels" if spec.model.keeps_choice else "takes no weights"
        raise UnnaiveError(f"--soft-labels: the model {spec.model.name} {reason}; use another, such as --model nbsvm")


def _count_soft_labels(classifier: TextClassifier, source: DataFile, soft: Sequence[str]) -> tuple[TrainingData, int]:
    """The training data: each text once for each label, weighted by its probability; and the number of texts."""
    from unnaive.data.soft_labels import soft_labels
    from unnaive.data.text_hashes import TextHashes
    from unnaive.io.soft_columns import read_probabilities

    texts, probabilities = read_probabilities(source, soft)
    copies, labels, weight = soft_labels(texts, probabilities)
    data = classifier.count_texts(copies, labels, weight, n_chars=text_size(source) or None)
    return data.with_reading(columns=source.options.log.columns, text_hashes=TextHashes.of(texts)), len(texts)


def _make_smaller(
    fitted: FittedModel, limit: int, classifier: TextClassifier, corpus: Corpus, feedback: Feedback, *,
    multilabel: bool, registered: bool,
) -> tuple[Compressed, dict[str, Any]]:  # fmt: skip
    """The model in at most `limit` bytes, and the changes and their cost as plain values."""
    from unnaive.classifier.compress import compress_model
    from unnaive.workflows.compress import describe_size, measure_cost

    feedback.step("making it smaller")
    small = compress_model(fitted, limit, texts=corpus.texts)
    if registered and small.frozen:
        raise UnnaiveError(
            f"a model of at most {limit:,} bytes has no room for a register; allow {small.bytes_before:,}, or "
            "leave out --register"
        )
    size = describe_size(small, limit)
    if small.lossy:
        feedback.step("measuring what that costs")
        size |= {"cost": measure_cost(classifier, corpus, limit, multilabel), "set_aside": True}
    return small, size


def registering(register: bool, key: Path | None, frozen: bool) -> Finish | None:
    """A function that adds a register of its documents to a model, if requested."""
    if key is not None and not register:
        raise UnnaiveError("--key is for the register; add --register")
    if not register:
        return None
    if frozen:
        raise UnnaiveError("a frozen model cannot forget, so it has no register; leave one of the two out")
    from unnaive.classifier.receipts import read_key, register_documents

    secret = read_key(key)

    def add_register(fitted: FittedModel, corpus: Corpus) -> FittedModel:
        if secret is not None:  # hashes without a key beside those with one would reveal what the key hides
            fitted = replace(fitted, text_hashes=None)
        return register_documents(fitted, corpus.texts, corpus.labels, secret)

    return add_register
