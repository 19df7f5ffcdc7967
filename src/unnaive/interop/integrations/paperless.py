"""The DocumentClassifier of paperless-ngx: it files documents under a correspondent, a type, a storage path and tags.

paperless-ngx trains on the documents in its database that people have filed, and asks for one document at a time.
Nothing of paperless-ngx is imported before one of its methods needs it; docs/guides/paperless.md shows how to mount it.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from unnaive.base.atomic_files import replacing
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.classifier.text_classifier import TextClassifier

NONE = -1  # the label of a document without a correspondent, a type or a storage path
SINGLE = ("correspondent", "document_type", "storage_path")
TAGS = "tags"
ABOUT = "about.json"
MINUTES_50 = 50 * 60  # seconds; as long as paperless-ngx itself keeps what it knows of its classifier


class DocumentClassifier:
    """What paperless-ngx expects of its classifier, with NB-SVM models that can forget a document.

    sure    a correspondent, a type or a storage path of less probability is None
    models  by "correspondent", "document_type", "storage_path" and "tags": a TextClassifier, or the only label that
            there is

    >>> classifier = DocumentClassifier()
    >>> bills, letters = ["invoice total due", "invoice amount due"], ["dear aunt", "dear uncle"]
    >>> classifier.learn(bills + letters, document_type=[1, 1, -1, -1], tags=[[7], [7, 8], [], []])
    >>> classifier.predict_document_type("an invoice"), classifier.predict_document_type("dear friend")
    (1, None)
    """

    # higher than every version of paperless-ngx itself, which deletes files of another version and trains again
    FORMAT_VERSION: ClassVar[int] = 1001

    def __init__(self, sure: float = 0.5) -> None:
        self.sure = sure
        self.models: dict[str, TextClassifier | int] = {}
        self.last_doc_change_time: datetime | None = None
        self.last_auto_type_hash: bytes | None = None

    # what paperless-ngx calls

    def train(self, *_: Any, **__: Any) -> bool:
        """Learn from the documents in the database that are not in the inbox; False if none has changed."""
        documents = import_module("documents.models").Document.objects.exclude(tags__is_inbox_tag=True)
        if not documents.count():
            raise ValueError("No training data available.")
        contents: list[str] = []
        labels: dict[str, list[Any]] = {name: [] for name in (*SINGLE, TAGS)}
        for document in documents:
            contents.append(document.content or "")
            for name, label in labels_of(document).items():
                labels[name].append(label)
        digest = sha256(json.dumps(labels).encode()).digest()
        changed = documents.latest("modified").modified
        last = self.last_doc_change_time
        if last is not None and last >= changed and self.last_auto_type_hash == digest:
            self._tell()
            return False
        self.learn(contents, **labels)
        self.last_doc_change_time, self.last_auto_type_hash = changed, digest
        self._tell()
        return True

    def predict_correspondent(self, content: str) -> int | None:
        """The key of the correspondent, or None."""
        return self._predict("correspondent", content)

    def predict_document_type(self, content: str) -> int | None:
        """The key of the type, or None."""
        return self._predict("document_type", content)

    def predict_storage_path(self, content: str) -> int | None:
        """The key of the storage path, or None."""
        return self._predict("storage_path", content)

    def predict_tags(self, content: str) -> list[int]:
        """The keys of the tags, of which there may be none."""
        model = self.models.get(TAGS)
        return [int(tag) for tag in model.predict([content])[0]] if isinstance(model, TextClassifier) else []

    def save(self) -> None:
        """Write the models to the file that the settings name; an earlier file stays until the new one is complete."""
        write_models(self, _model_file())

    def load(self) -> None:
        """Read the models from the file that the settings name; paperless-ngx deletes a file that cannot be read."""
        paperless = import_module("documents.classifier")
        with _model_file().open("rb") as file:  # if there is none, the error is that of paperless-ngx
            if not zipfile.is_zipfile(file):
                raise paperless.IncompatibleClassifierVersionError("the file is not one of unnaive")
        try:
            about = read_models(self, _model_file())
        except (OSError, UnnaiveError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as problem:
            raise paperless.ClassifierModelCorruptError(str(problem)) from problem
        if about != self.FORMAT_VERSION:
            raise paperless.IncompatibleClassifierVersionError(f"the file has version {about}")

    # beyond it

    def learn(self, contents: Sequence[str], **labels: Sequence[Any]) -> None:
        """Train a model for each of correspondent, document_type, storage_path and tags that is given.

        A label of −1 means none; tags are a list for each document. What has no label at all gets no model.
        """
        models: dict[str, TextClassifier | int] = {}
        for name, of_documents in labels.items():
            if len(of_documents) != len(contents):
                raise BadData(
                    f"{len(contents)} documents came with {len(of_documents)} labels of {name}; give one each"
                )
            model = _tags_model(contents, of_documents) if name == TAGS else _single_model(contents, of_documents)
            if model is not None:
                models[name] = model
        self.models = models

    def forget(self, document: Any) -> bool:
        """Forget a document that was deleted, exactly; False if it was not learnt with its present labels.

        The next training also leaves it out; until then, this does. Call `save` afterwards.
        """
        changed: dict[str, TextClassifier | int] = {}
        for name, label in labels_of(document).items():
            model = self.models.get(name)
            if not isinstance(model, TextClassifier):
                continue
            try:
                copy = TextClassifier(**model.get_params())
                copy.fitted_ = model.fitted_
                changed[name] = copy.forget([document.content or ""], [label])
            except UnnaiveError:
                return False
        self.models = {**self.models, **changed}
        return bool(changed)

    def _predict(self, name: str, content: str) -> int | None:
        model = self.models.get(name)
        if not isinstance(model, TextClassifier):
            return model
        probabilities = model.predict_proba([content])[0]
        best = int(probabilities.argmax())
        label = int(model.classes_[best])
        return None if label == NONE or probabilities[best] < self.sure else label

    def _tell(self) -> None:
        """Tell paperless-ngx's cache which classifier its suggestions are of."""
        keys, cache = import_module("documents.caching"), import_module("django.core.cache").cache
        digest = None if self.last_auto_type_hash is None else self.last_auto_type_hash.hex()
        values = {
            "CLASSIFIER_MODIFIED_KEY": self.last_doc_change_time,
            "CLASSIFIER_HASH_KEY": digest,
            "CLASSIFIER_VERSION_KEY": self.FORMAT_VERSION,
        }
        for key, value in values.items():
            if hasattr(keys, key):  # older versions have none
                cache.set(getattr(keys, key), value, MINUTES_50)


def labels_of(document: Any) -> dict[str, Any]:
    """The labels of a document that paperless-ngx assigns automatically: keys, −1 for none, a list for tags."""
    automatic = import_module("documents.models").MatchingModel.MATCH_AUTO
    values = {name: getattr(document, name, None) for name in SINGLE}
    labels: dict[str, Any] = {
        name: value.pk if value and value.matching_algorithm == automatic else NONE for name, value in values.items()
    }
    labels[TAGS] = sorted(tag.pk for tag in document.tags.filter(matching_algorithm=automatic))
    return labels


def write_models(classifier: DocumentClassifier, path: str | Path) -> None:
    """Write the models of a classifier to one file, an archive of model files without code."""
    last, digest = classifier.last_doc_change_time, classifier.last_auto_type_hash
    about = {
        "version": classifier.FORMAT_VERSION,
        "changed": None if last is None else last.isoformat(),
        "hash": None if digest is None else digest.hex(),
        "labels": {name: model for name, model in classifier.models.items() if isinstance(model, int)},
    }
    with tempfile.TemporaryDirectory() as folder, replacing(Path(path)) as file, zipfile.ZipFile(file, "w") as archive:
        for name, model in classifier.models.items():
            if isinstance(model, TextClassifier):
                model.save(Path(folder) / name)
                archive.write(Path(folder) / name, name)
        archive.writestr(ABOUT, json.dumps(about))


def read_models(classifier: DocumentClassifier, path: str | Path) -> int:
    """Read the models of a file into a classifier, which changes only if all can be read; returns its version."""
    models: dict[str, TextClassifier | int] = {}
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
        about = json.loads(archive.read(ABOUT))
        if about["version"] != classifier.FORMAT_VERSION:
            return int(about["version"])
        for name in {*SINGLE, TAGS} & set(archive.namelist()):
            models[name] = TextClassifier.load(archive.extract(name, folder))
        models |= {name: int(label) for name, label in about["labels"].items() if name in SINGLE}
        changed = about["changed"]
        last = None if changed is None else datetime.fromisoformat(changed)
        digest = None if about["hash"] is None else bytes.fromhex(about["hash"])
    classifier.models, classifier.last_doc_change_time, classifier.last_auto_type_hash = models, last, digest
    return classifier.FORMAT_VERSION


def _single_model(contents: Sequence[str], labels: Sequence[int]) -> TextClassifier | int | None:
    """The model of one label each; the label itself if it is the only one, None if no document has one."""
    counts = Counter(labels)
    if set(counts) <= {NONE}:
        return None
    if len(counts) == 1:
        return int(labels[0])
    few = max(counts.values()) < 2  # no document can be held out for a calibration
    model = TextClassifier("multinomial") if few else TextClassifier("nbsvm", calibrate="temperature")
    return _fitted(model, contents, list(map(int, labels)))


def _tags_model(contents: Sequence[str], tags: Sequence[Iterable[int]]) -> TextClassifier | None:
    labels = [sorted(map(int, of_document)) for of_document in tags]
    return _fitted(TextClassifier("nbsvm"), contents, labels) if any(labels) else None


def _fitted(model: TextClassifier, contents: Sequence[str], labels: Sequence[Any]) -> TextClassifier | None:
    """The model trained on these documents; None if they have no words."""
    try:
        return model.fit(list(contents), labels)
    except BadData:
        if any(content.strip() for content in contents):
            raise
        return None


def _model_file() -> Path:
    return Path(import_module("django.conf").settings.MODEL_FILE)
