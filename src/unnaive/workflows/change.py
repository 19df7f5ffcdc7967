"""Change a model in a file exactly: update, forget, merge, remake, search again. On an error nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.workflows.feedback import Feedback
from unnaive.workflows.result import Result
from unnaive.workflows.sources import Data, open_data

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.io.datafiles import DataFile
    from unnaive.learning.fitted import FittedModel
    from unnaive.workflows.pending_receipt import PendingReceipt


@dataclass(frozen=True, eq=False)
class ModelSizes:
    """Documents, classes and terms of a model; -1 documents if unknown."""

    documents: int
    classes: int
    terms: int

    @classmethod
    def of(cls, fitted: FittedModel) -> ModelSizes:
        """The sizes of a model."""
        n_docs = -1 if fitted.statistic is None else int(fitted.statistic.n_docs)
        return cls(n_docs, len(fitted.classes), fitted.scorer.n_terms)

    def to_dict(self) -> dict[str, int]:
        """Plain values."""
        return {"documents": self.documents, "classes": self.classes, "terms": self.terms}


@dataclass(frozen=True, eq=False, repr=False)
class ChangeResult(Result):
    """A changed model, its file, and its sizes before and after.

    read    which columns were read, for people; None without data
    notes   remarks for people
    merged  whether it comes from several models
    """

    fitted: FittedModel
    file: Path
    before: ModelSizes
    after: ModelSizes
    read: str | None = None
    notes: tuple[str, ...] = ()
    merged: bool = False

    @lazy_property
    def classifier(self) -> TextClassifier:
        """The changed classifier."""
        from unnaive.classifier.text_classifier import TextClassifier

        return TextClassifier.from_fitted(self.fitted)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the commands print them with --json."""
        values: dict[str, Any] = {
            "file": str(self.file), "before": self.before.to_dict(), "after": self.after.to_dict(),
            "choice_kept": self.fitted.choice_kept,
        }  # fmt: skip
        if not self.merged:
            provenance = self.fitted.provenance
            values |= {"chosen_on": provenance.chosen_on, "approximate": provenance.n_approximate}
        return values | ({} if self.read is None else {"read": self.read})


def update_file(
    model: str | Path,
    data: Data,
    *,
    text: str | Sequence[str] = (),
    label: str | None = None,
    output: str | Path | None = None,
    new_classes: bool = False,
    search: str = "again",
    key: str | Path | None = None,
    progress: ProgressCallback | None = None,
) -> ChangeResult:
    """Train a model in a file further on more documents; it then equals one that was trained on all of them.

    Parameters
    ----------
    model : path
        The model file; it is changed in place unless `output` is given.
    data : path, list of paths or DataFile
        More labelled documents, read like the training data.
    text, label : str, default=()
        Columns, if they are not those of the training data.
    output : path or None, default=None
        File for the changed model, which leaves `model` as it is.
    new_classes : bool, default=False
        Whether to add classes that the model does not have yet.
    search : {"again", "keep", "adjust"}, default="again"
        For auto: search again, keep the selected models, or only adjust the weights.
    key : path or None, default=None
        File with the secret key of the register.
    progress : callable or None, default=None
        Called with the name and the details of each event.

    Examples
    --------
    >>> import tempfile
    >>> from unnaive import train_file, write_tickets
    >>> folder = write_tickets(tempfile.mkdtemp())
    >>> _ = train_file(folder / "train.csv", "multinomial", label="queue", output=folder / "my.model")
    >>> result = update_file(folder / "my.model", folder / "test.csv")
    >>> result.before.documents, result.after.documents
    (651, 926)
    """
    from unnaive.classifier.receipts import check_key_has_effect, read_key, unlock_register
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.workflows.learnt_documents import note_repeated

    source, secret, feedback = open_data(data, text=text, label=label), read_key(key), Feedback(progress)

    def learn(fitted: FittedModel) -> FittedModel:
        check_key_has_effect(fitted, secret)
        classifier = TextClassifier.from_fitted(unlock_register(fitted, secret))
        texts, labels = read_labelled(source, fitted, feedback)
        note_repeated(fitted, texts, source.name, feedback)
        options = _begin("learning", fitted, feedback, search)
        return classifier.partial_fit(texts, labels, new_classes=new_classes, **options).fitted_

    return _change_file(model, output, learn, feedback, source)


def forget_file(
    model: str | Path,
    data: Data,
    *,
    text: str | Sequence[str] = (),
    label: str | None = None,
    output: str | Path | None = None,
    receipt: str | Path | None = None,
    sign: str | Path | None = None,
    search: str = "again",
    key: str | Path | None = None,
    progress: ProgressCallback | None = None,
) -> ChangeResult:
    """Remove documents from a model in a file; it then equals one that never saw them.

    Parameters
    ----------
    model : path
        The model file; it is changed in place unless `output` is given.
    data : path, list of paths or DataFile
        The documents to forget, with the labels that they were learnt with.
    text, label : str, default=()
        Columns, if they are not those of the training data.
    output : path or None, default=None
        File for the changed model, which leaves `model` as it is.
    receipt : path or None, default=None
        File for a receipt, which `unnaive verify` checks.
    sign : path or None, default=None
        Ed25519 private key (PEM) that signs the receipt.
    search : {"again", "keep", "adjust"}, default="again"
        For auto: search again, keep the selected models, or only adjust the weights.
    key : path or None, default=None
        File with the secret key of the register.
    progress : callable or None, default=None
        Called with the name and the details of each event.
    """
    from unnaive.base.open_files import hash_file
    from unnaive.classifier.receipts import (
        check_key_has_effect,
        complete_receipt,
        make_receipt,
        read_key,
        unlock_register,
    )
    from unnaive.classifier.signatures import check_private_key
    from unnaive.classifier.text_classifier import TextClassifier
    from unnaive.workflows.pending_receipt import PendingReceipt

    if sign is not None and receipt is None:
        raise UnnaiveError("--sign signs the receipt; add --receipt FILE")
    signer = None if sign is None else Path(sign)
    source, secret, feedback = open_data(data, text=text, label=label), read_key(key), Feedback(progress)
    check_private_key(signer)
    pending = PendingReceipt(Path(output or model))
    finished = _finish_forgetting(pending, Path(model), source, receipt, secret, feedback)
    if finished is not None:
        return finished
    draft: dict[str, Any] = {}
    results: list[FittedModel] = []

    def unlearn(fitted: FittedModel) -> FittedModel:
        check_key_has_effect(fitted, secret, receipt=receipt is not None)
        texts, labels = read_labelled(source, fitted, feedback)
        if receipt is not None:
            about: dict[str, Any] = {"file": Path(model).name, "sha256": hash_file(Path(model)), "key": secret}
            draft.update(make_receipt(fitted, texts, labels, **about))
        classifier = TextClassifier.from_fitted(unlock_register(fitted, secret))
        options = _begin("unlearning", fitted, feedback, search)
        results.append(classifier.forget(texts, labels, **options).fitted_)
        return results[0]

    def write_pending(sha256: str) -> None:
        after = {"file": Path(output or model).name, "sha256": sha256}
        pending.write(complete_receipt(draft, results[0], **after, signer=signer, key=secret))

    if receipt is None:
        return _change_file(model, output, unlearn, feedback, source)
    return _change_file(
        model, output, unlearn, feedback, source, placing=write_pending, done=lambda: pending.deliver(Path(receipt))
    )


def _finish_forgetting(
    pending: PendingReceipt,
    model: Path,
    source: DataFile,
    receipt: str | Path | None,
    key: bytes | None,
    feedback: Feedback,
) -> ChangeResult | None:
    """Finish the receipt of the same command, which was interrupted; None if there is nothing to finish."""
    from unnaive.base.system import locked_for_replacing
    from unnaive.classifier.model_file import load_model
    from unnaive.classifier.receipt_checks import check_forgotten

    if not pending.path.exists() or not pending.target.exists():
        return None
    with locked_for_replacing(pending.target):
        done = pending.settle(model)
        if done is None:
            return None
        fitted = load_model(pending.target)
        texts, labels = read_labelled(source, fitted, feedback)
        if receipt is None or not check_forgotten([done], texts, labels, key).holds:
            pending.refuse_others(done)
        else:
            pending.deliver(Path(receipt))
    feedback.note(f"{pending.target} had forgotten these documents already; only the receipt was written")
    sizes = ModelSizes.of(fitted)
    return ChangeResult(fitted, pending.target, sizes, sizes, source.describe(), tuple(feedback.notes))


def merge_files(
    models: Sequence[str | Path],
    output: str | Path,
    *,
    search: str = "again",
    progress: ProgressCallback | None = None,
) -> ChangeResult:
    """Merge models that were trained separately; the result equals a model trained on all their documents."""
    from unnaive.classifier.model_file import check_writable, load_model, save
    from unnaive.data.text_hashes import join_text_hashes
    from unnaive.learning.update import merge_models

    if len(models) < 2:
        raise UnnaiveError("there is one model; name two or more to merge")
    feedback = Feedback(progress)
    check_writable(Path(output))
    parts = [load_model(Path(path)) for path in models]
    options = _begin("merging", parts[0], feedback, search)
    hashes = join_text_hashes([part.text_hashes for part in parts])
    merged = replace(merge_models(*parts, **options), text_hashes=hashes)
    save(merged, Path(output))
    sizes = ModelSizes.of(parts[0]), ModelSizes.of(merged)
    return ChangeResult(merged, Path(output), *sizes, notes=tuple(feedback.notes), merged=True)


def remake_file(model: str | Path, /, *, output: str | Path | None = None, **parameters: Any) -> ChangeResult:
    """Change the model type or settings of a model in a file, such as model="nbsvm", without its training data."""
    from unnaive.classifier.text_classifier import TextClassifier

    def remake(fitted: FittedModel) -> FittedModel:
        return TextClassifier.from_fitted(fitted).remake(**parameters).fitted_

    return _change_file(model, output, remake, Feedback())


def search_again(
    model: str | Path, *, output: str | Path | None = None, progress: ProgressCallback | None = None
) -> ChangeResult:
    """Let a model that selects among candidates search again, on the documents in its file."""
    from unnaive.classifier.text_classifier import TextClassifier

    feedback = Feedback(progress)

    def search(fitted: FittedModel) -> FittedModel:
        if not fitted.spec.model.traits.keeps_choice:
            raise UnnaiveError(
                f"{fitted.spec.model.traits.title} does not select among models; leave --search again out, and name "
                "DATA to learn"
            )
        _begin("searching again", fitted, feedback)
        return TextClassifier.from_fitted(fitted).remake().fitted_

    return _change_file(model, output, search, feedback)


def read_labelled(source: DataFile, fitted: FittedModel, feedback: Feedback) -> tuple[Any, list[tuple[Any, ...]]]:
    """The texts of a source, and their labels in the type of the model's classes."""
    from unnaive.learning.class_spellings import parse_class_labels
    from unnaive.workflows.trained_columns import read_as_trained

    corpus = feedback.reading(read_as_trained(source, fitted)).corpus()
    return corpus.texts, parse_class_labels(fitted, corpus)


def _begin(title: str, fitted: FittedModel, feedback: Feedback, search: str = "again") -> dict[str, Any]:
    """Begin a step that trains; returns its options: `search`, and the progress callback.

    A note says that a search takes as long as training; other models refuse to keep or adjust a selection.
    """
    from unnaive.learning.update import AGAIN, check_search

    traits = fitted.spec.model.traits
    if check_search(search) != AGAIN and not traits.keeps_choice:
        raise UnnaiveError(f"{traits.title} does not select among models; leave --search {search} out")
    if traits.keeps_choice and search == AGAIN:
        feedback.note(
            "auto searches again, which takes as long as training; --search keep trains only the selected models"
        )
    feedback.step(title)
    return {"search": search, "progress": feedback.event}


def _change_file(
    model: str | Path,
    output: str | Path | None,
    change: Callable[[FittedModel], FittedModel],
    feedback: Feedback,
    source: DataFile | None = None,
    *,
    placing: Callable[[str], None] | None = None,
    done: Callable[[], None] = lambda: None,
) -> ChangeResult:
    """Change the model in a file, or a copy of it.

    `placing` is called with the hash of the new file before it is put in place, `done` afterwards.
    """
    from unnaive.classifier.model_file import check_writable, load_model, save, update_model_file
    from unnaive.curation.teaching.noting import noting_change

    before: list[ModelSizes] = []

    def change_measured(fitted: FittedModel) -> FittedModel:
        before.append(ModelSizes.of(fitted))
        return change(fitted)

    if output is None:
        with noting_change(Path(model)) as noting:
            changed = update_model_file(Path(model), change_measured, placing=_both(placing, noting), done=done)
    else:
        check_writable(Path(output))
        changed = change_measured(load_model(Path(model)))
        save(changed, Path(output), placing=placing)
        done()
    read = None if source is None else source.describe()
    notes = tuple(feedback.notes)
    return ChangeResult(changed, Path(output or model), before[-1], ModelSizes.of(changed), read, notes)


def _both(first: Callable[[str], None] | None, second: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """One callback that calls both, in this order; None if there is none."""
    calls = [call for call in (first, second) if call is not None]

    def call_all(sha256: str) -> None:
        for call in calls:
            call(sha256)

    return call_all if calls else None
