"""Train a model from files: learn, evaluate, compress, write a model file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError, count_noun
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.large_data import LargeDataOptions
from unnaive.workflows.sources import Data, open_data

SHOWN_UNSEEN = 0.01  # share of new documents of unseen classes from which training tells it

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.classifier.compress import Compressed
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.data.corpus import Corpus
    from unnaive.data.training_data import TrainingData
    from unnaive.evaluation.evaluate import Evaluation
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel
    from unnaive.workflows.training_result import TrainingResult


def train_file(
    data: Data,
    model: str | TextClassifier = "auto",
    *,
    text: str | Sequence[str] = (),
    label: str | None = None,
    output: str | Path | None = None,
    test: Data | None = None,
    holdout: float | None = None,
    frozen: bool = False,
    max_size: str | None = None,
    register: bool = False,
    key: str | Path | None = None,
    soft_labels: Sequence[str] = (),
    large_data: LargeDataOptions | None = None,
    progress: ProgressCallback | None = None,
) -> TrainingResult:
    """Train a classifier on labelled documents in files, evaluate it if requested, and write a model file.

    The same as the command `unnaive train`. If it is interrupted, no file is changed.

    Parameters
    ----------
    data : path, list of paths or DataFile
        A CSV, TSV, JSONL or Parquet file, or a folder with a folder for each class; a DataFile has more options.
    model : str or TextClassifier, default="auto"
        Name of the model, or an unfitted TextClassifier with its options, which is not changed.
    text : str or sequence of str, default=()
        Columns with the text; by default they are guessed.
    label : str or None, default=None
        Column of the labels; None to guess it.
    output : path or None, default=None
        The model file to write; None for none.
    test : path, list of paths or DataFile, default=None
        Labelled documents to evaluate the model on, with the same columns.
    holdout : float or None, default=None
        Share of the documents to evaluate on before training on all.
    frozen : bool, default=False
        Whether to leave counts and documents out of the file, which updates need.
    max_size : str or None, default=None
        Maximum size of the model file, e.g. "5MB".
    register : bool, default=False
        Whether to store a hash of each document, so that only learnt documents can be forgotten.
    key : path or None, default=None
        File with the secret key for the hashes.
    soft_labels : sequence of str, default=()
        Columns, or patterns of columns, with the probability of each label, instead of labels.
    large_data : LargeDataOptions or None, default=None
        Memory limit, checkpoints and cache for large data.
    progress : callable or None, default=None
        Called with the name and the details of each event; see unnaive.workflows.feedback.

    Examples
    --------
    >>> import tempfile
    >>> from unnaive import write_tickets
    >>> folder = write_tickets(tempfile.mkdtemp())
    >>> result = train_file(folder / "train.csv", "multinomial", label="queue", test=folder / "test.csv")
    >>> result.documents, round(result.test["accuracy"], 3)
    (651, 0.822)
    >>> result.classifier.predict(["I was charged twice, please refund me"]).tolist()
    ['billing']
    """
    from unnaive.base.byte_sizes import parse_size
    from unnaive.base.open_files import local_path
    from unnaive.classifier.model_file import check_writable, save
    from unnaive.learning.train import train
    from unnaive.workflows.hold_out import describe_tally, evaluate_holdout
    from unnaive.workflows.training_documents import check_soft_labels, open_documents
    from unnaive.workflows.training_result import TrainingResult

    source, classifier, feedback = open_data(data, text=text, label=label), _copy(model), Feedback(progress)
    path = None if output is None else local_path(output)
    limit = None if max_size is None else parse_size(max_size)
    secret = _read_register_key(register, key, frozen)
    if path is not None:
        check_writable(path)  # first, because training may take minutes
    label, label_columns = source.label, source.label_columns
    source = settle_source(classifier, source, soft_labels, feedback)
    spec = classifier.spec()  # also first, since it raises an error if a setting is wrong
    needs = {"--holdout": holdout is not None, "--register": register, "--max-size": limit is not None}
    if soft_labels:
        unused = {} if test else {"--label": label is not None, "label-columns": bool(label_columns)}
        check_soft_labels(spec, unused | needs)
    start = time.perf_counter()
    source = replace(
        source, options=replace(source.options, language=classifier.language or "en", threads=classifier.n_jobs)
    )
    needs_corpus = next((name for name, requested in needs.items() if requested), None)
    limits = large_data or LargeDataOptions()
    limits = replace(limits, scratch=limits.scratch or (None if path is None else path.absolute().parent))
    steps = 2 + (path is not None) + (holdout is not None) + bool(test)  # reading and learning are always among them
    steps += spec.model.traits.keeps_choice + (0 if limit is None else 2)
    watched = feedback.reading(source, steps=steps)
    measured: dict[str, Any] = {}
    report: Evaluation | None = None
    with ExitStack() as stack:
        documents = open_documents(stack, classifier, spec, watched, soft_labels, limits, needs_corpus)
        corpus = documents.corpus
        if holdout is not None and corpus is not None:
            feedback.step(f"measuring {classifier.model} on documents set aside")
            report = evaluate_holdout(classifier, corpus, holdout, documents.multilabel, feedback.event)
            measured["holdout"] = describe_tally(report.tally)
        feedback.step(f"learning {classifier.model} from {count_noun(documents.n_docs, 'document')}")
        counted = documents.count()
        fitted = _mark_chosen(train(counted, spec, progress=feedback.event), source)
        measured["out_of_core"] = counted.report or None
        _note_unseen_classes(fitted, feedback)
        if corpus is not None and spec.model.traits.keeps_choice:
            feedback.step("holding out other parts")
            measured["blocks"] = _hold_out_blocks(fitted, counted, source)
        read = watched.describe()
        if test:
            feedback.step("measuring")
            report = _evaluate_test(fitted, _test_source(source, test, label, label_columns))
            measured["test"] = describe_tally(report.tally)
        if register and corpus is not None:
            fitted = _register(fitted, corpus, secret)
        if limit is not None and corpus is not None:
            fitted = replace(fitted, counts=None) if frozen else fitted
            small, measured["size"] = _make_smaller(
                fitted, limit, classifier, corpus, feedback, multilabel=documents.multilabel, registered=register
            )
            fitted, frozen = small.fitted, frozen or small.frozen
        if path is not None:
            feedback.step("writing")
            save(fitted, path, frozen=frozen)
    return TrainingResult.of(
        fitted, path, in_memory=corpus is not None or path is None, documents=documents.n_docs,
        seconds=time.perf_counter() - start, read=read, label_sizes=watched.options.log.label_sizes(), report=report,
        notes=tuple(feedback.notes), **measured,
    )  # fmt: skip


def _copy(model: str | TextClassifier) -> TextClassifier:
    """An unfitted classifier, which training may change."""
    from unnaive.classifier.text_classifier import TextClassifier

    return TextClassifier(**model.get_params()) if isinstance(model, TextClassifier) else TextClassifier(model)


def settle_source(
    classifier: TextClassifier, source: DataFile, soft: Sequence[str], feedback: Feedback, *, vectors: bool = True
) -> DataFile:  # fmt: skip
    """The source with its fields, which are set in the classifier too; mail and unused columns are noted.

    vectors  whether vectors are used, by a model that can
    """
    from unnaive.models.catalogue import find_model
    from unnaive.text.field import field_kinds
    from unnaive.workflows.source_fields import note_other_columns, settle_fields

    if soft:  # only --test has labels
        source = replace(source, label=None, label_columns=())
    vectors = vectors and find_model(classifier.model).traits.takes_vectors
    source, fields = settle_fields(source, feedback, labelled=not soft, unused=soft, vectors=vectors)
    classifier.fields = None if fields is None else field_kinds(fields)
    if classifier.fields is None:
        _recognise_mail(classifier, source, feedback)
        if not soft:
            note_other_columns(source, feedback, vectors=vectors)
    return source


def _mark_chosen(fitted: FittedModel, source: DataFile) -> FittedModel:
    """The model, with the number of documents that were chosen to be labelled in its report of held-out documents."""
    from unnaive.workflows.source_fields import count_chosen

    report = fitted.provenance.report
    n_chosen = count_chosen(source) if report else 0
    if not n_chosen:
        return fitted
    recipe = {**fitted.provenance.recipe, "report": {**report, "chosen": n_chosen}}
    return replace(fitted, provenance=replace(fitted.provenance, recipe=recipe))


def _note_unseen_classes(fitted: FittedModel, feedback: Feedback) -> None:
    """Tell which share of new documents is expected to have a class that no training document has."""
    share = 0.0 if fitted.conformal is None else fitted.conformal.unseen
    if share >= SHOWN_UNSEEN:
        feedback.note(
            f"about {100 * share:.0f} % of new documents have a class that no training document has, as many as "
            "training documents are alone in their class; no model predicts these right"
        )


def _hold_out_blocks(fitted: FittedModel, data: TrainingData, source: DataFile) -> list[dict[str, Any]]:
    """Accuracy on parts of the data that are held out together, as plain values."""
    from unnaive.workflows.held_out_blocks import find_block_holdouts

    return [asdict(block) | {"sentence": block.sentence()} for block in find_block_holdouts(fitted, data, source)]


def _test_source(source: DataFile, test: Data, label: str | None, label_columns: tuple[str, ...]) -> DataFile:
    """The test documents, read with the columns and options of the training data unless it is a DataFile itself."""
    opened = open_data(test)
    if opened is test:
        return opened
    return replace(source, paths=opened.paths, label=label, label_columns=label_columns)


def _evaluate_test(fitted: FittedModel, source: DataFile) -> Evaluation:
    """The evaluation on test documents; a warning if the model has learnt some of them."""
    from unnaive.workflows.hold_out import evaluate_corpus
    from unnaive.workflows.learnt_documents import warn_about_learnt
    from unnaive.workflows.trained_columns import read_as_trained

    corpus = read_as_trained(source, fitted).corpus()
    evaluation = evaluate_corpus(fitted, corpus)
    warn_about_learnt(fitted, corpus)
    return evaluation


def _recognise_mail(classifier: TextClassifier, source: DataFile, feedback: Feedback) -> None:
    """Let the classifier read subject and body if documents are messages and --set message was not given.

    The token rule stores it, as with --set message, so that updates, predictions and the service do the same. HTML in
    other texts is only noted.
    """
    from unnaive.text.markup import hold_markup
    from unnaive.text.messages import PARTS, are_messages

    if classifier.message is not None:
        return
    texts = source.sample_texts()
    if are_messages(texts):
        classifier.message = PARTS
        read = PARTS.replace("-", " and ")
        feedback.note(
            f"{source.name}: the texts are e-mail messages; of each, {read} are read; --set message=whole reads "
            "the whole message"
        )
    elif not classifier.strip_html and hold_markup(texts):
        feedback.note(
            f"{source.name}: texts have HTML tags, whose names are learnt like words; --set strip-html=true leaves "
            "tags out"
        )


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


def _read_register_key(register: bool, key: str | Path | None, frozen: bool) -> bytes | None:
    """The secret key of the register, if one is to be made and has one; an error if options contradict each other."""
    if key is not None and not register:
        raise UnnaiveError("--key is for the register; add --register")
    if register and frozen:
        raise UnnaiveError("a frozen model cannot forget, so it has no register; leave one of the two out")
    from unnaive.classifier.receipts import read_key

    return read_key(None if key is None else Path(key))


def _register(fitted: FittedModel, corpus: Corpus, secret: bytes | None) -> FittedModel:
    """The model with a register of its documents."""
    from unnaive.classifier.receipts import register_documents

    if secret is not None:  # hashes without a key beside those with one would reveal what the key hides
        fitted = replace(fitted, text_hashes=None)
    return register_documents(fitted, corpus.texts, corpus.labels, secret)
