"""The classifier for paperless-ngx against its documented interface, with a database of a few lines."""

import pickle
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from types import ModuleType, SimpleNamespace

import pytest

from unnaive.interop.integrations.paperless import DocumentClassifier

AUTO, BY_WORDS = 6, 1
START = datetime(2026, 1, 1, tzinfo=UTC)


class Query(list):
    """The parts of a Django query that the classifier uses."""

    def exclude(self, *, tags__is_inbox_tag):
        return Query(one for one in self if not any(tag.is_inbox_tag for tag in one.tags))

    def filter(self, *, matching_algorithm):
        return Query(one for one in self if one.matching_algorithm == matching_algorithm)

    def count(self, *value):
        return super().count(*value) if value else len(self)

    def latest(self, name):
        return max(self, key=lambda one: getattr(one, name))


def named(pk, algorithm=AUTO, *, inbox=False):
    return SimpleNamespace(pk=pk, matching_algorithm=algorithm, is_inbox_tag=inbox)


BANK, AUNT, BILL, LETTER, ARCHIVE, BY_HAND = named(1), named(2), named(3), named(4), named(5), named(6, BY_WORDS)
DUE, FAMILY, INBOX = named(7), named(8), named(9, inbox=True)


def document(content, correspondent, document_type, tags, storage_path=ARCHIVE):
    return SimpleNamespace(
        content=content, correspondent=correspondent, document_type=document_type, storage_path=storage_path,
        tags=Query(tags), modified=START,
    )  # fmt: skip


@pytest.fixture
def paperless(tmp_path, monkeypatch):
    """The modules of paperless-ngx and Django that the classifier asks for; returns their state."""
    documents = Query(
        [document(f"invoice {n} total amount due, your bank", BANK, BILL, [DUE]) for n in ("one", "two", "six")]
        + [document(f"dear {n}, love from your aunt", AUNT, LETTER, [FAMILY]) for n in ("ann", "bob", "joe")]
        + [document("recipe for a cake with apples", None, BY_HAND, []) for _ in range(3)]
        + [document("invoice in the inbox", AUNT, LETTER, [INBOX])]
    )
    cached = {}
    modules = {
        "documents": {},
        "documents.models": {
            "Document": SimpleNamespace(objects=documents), "MatchingModel": SimpleNamespace(MATCH_AUTO=AUTO),
        },
        "documents.classifier": {
            name: type(name, (Exception,), {})
            for name in ("IncompatibleClassifierVersionError", "ClassifierModelCorruptError")
        },
        "documents.caching": {
            name: name.lower()
            for name in ("CLASSIFIER_MODIFIED_KEY", "CLASSIFIER_HASH_KEY", "CLASSIFIER_VERSION_KEY")
        },
        "django": {}, "django.core": {},
        "django.conf": {"settings": SimpleNamespace(MODEL_FILE=tmp_path / "classification_model.pickle")},
        "django.core.cache": {
            "cache": SimpleNamespace(set=lambda key, value, time: cached.__setitem__(key, (value, time)))
        },
    }  # fmt: skip
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    file = tmp_path / "classification_model.pickle"
    errors = SimpleNamespace(**modules["documents.classifier"])
    return SimpleNamespace(documents=documents, cached=cached, file=file, errors=errors)


def test_it_files_documents_as_people_did(paperless):
    classifier = DocumentClassifier()
    assert classifier.train() is True
    assert classifier.predict_correspondent("the total amount of this invoice is due") == BANK.pk
    assert classifier.predict_document_type("with love from your aunt") == LETTER.pk
    assert classifier.predict_correspondent("a recipe: apples, cake") is None  # most likely none
    assert classifier.predict_tags("invoice, amount due") == [DUE.pk]
    assert classifier.predict_tags("a cake") == []
    assert classifier.predict_storage_path("anything at all") == ARCHIVE.pk  # the only one that there is
    assert BY_HAND.pk not in classifier.models["document_type"].classes_  # it is assigned by its own words
    classifier.sure = 1.1
    assert classifier.predict_correspondent("the total amount of this invoice is due") is None


def test_without_models_nothing_is_predicted():
    classifier = DocumentClassifier()
    assert classifier.predict_correspondent("a") is classifier.predict_storage_path("a") is None
    assert classifier.predict_document_type("a") is None
    assert classifier.predict_tags("a") == []
    assert classifier.last_doc_change_time is classifier.last_auto_type_hash is None


def test_it_trains_again_only_if_something_changed(paperless):
    classifier = DocumentClassifier()
    assert (classifier.train(), classifier.train()) == (True, False)
    before = classifier.models
    classifier.save()
    again = DocumentClassifier()
    again.load()
    assert again.train() is False
    assert paperless.cached["classifier_version_key"] == (DocumentClassifier.FORMAT_VERSION, 3000)
    assert paperless.cached["classifier_modified_key"][0] == START
    assert paperless.cached["classifier_hash_key"][0] == classifier.last_auto_type_hash.hex()
    paperless.documents[0].modified += timedelta(hours=1)
    assert again.train() is True
    paperless.documents[0].tags = Query([])
    assert again.train() is True  # labels changed, the time did not
    assert classifier.models is before


def test_no_document_is_the_error_that_paperless_expects(paperless):
    paperless.documents[:-1] = []  # one is left, in the inbox
    with pytest.raises(ValueError, match="No training data available"):
        DocumentClassifier().train()


def test_what_is_saved_is_loaded_and_has_no_code(paperless):
    classifier = DocumentClassifier()
    classifier.train()
    classifier.save()
    with zipfile.ZipFile(paperless.file) as archive:
        assert sorted(archive.namelist()) == ["about.json", "correspondent", "document_type", "tags"]
    again = DocumentClassifier()
    again.load()
    for text in ("the invoice is due", "love, your aunt", "", "zzz"):
        for name in ("correspondent", "document_type", "storage_path", "tags"):
            ask = f"predict_{name}"
            assert getattr(again, ask)(text) == getattr(classifier, ask)(text)
    assert (again.last_doc_change_time, again.last_auto_type_hash) == (START, classifier.last_auto_type_hash)


def test_other_and_damaged_files_are_the_errors_that_paperless_handles(paperless, monkeypatch):
    classifier = DocumentClassifier()
    with pytest.raises(OSError, match="classification_model"):
        classifier.load()
    with paperless.file.open("wb") as file:  # a file of paperless-ngx itself
        pickle.dump(9, file)
    with pytest.raises(paperless.errors.IncompatibleClassifierVersionError):
        classifier.load()
    classifier.train()
    classifier.save()
    sound = paperless.file.read_bytes()
    damaged = bytearray(sound)
    damaged[len(damaged) // 2 : len(damaged) // 2 + 400] = b"x" * 400
    paperless.file.write_bytes(bytes(damaged))
    fresh = DocumentClassifier()
    with pytest.raises(paperless.errors.ClassifierModelCorruptError):
        fresh.load()
    assert fresh.models == {}
    paperless.file.write_bytes(sound)
    monkeypatch.setattr(DocumentClassifier, "FORMAT_VERSION", 1002)
    with pytest.raises(paperless.errors.IncompatibleClassifierVersionError, match="has version 1001"):
        fresh.load()


def test_a_deleted_document_is_forgotten_exactly(paperless):
    classifier, never = DocumentClassifier(), DocumentClassifier()
    gone = document("invoice for a garden fence", AUNT, BILL, [DUE])
    never.train()
    paperless.documents.insert(0, gone)
    classifier.train()
    before = classifier.predict_correspondent("garden fence")
    assert classifier.forget(gone) is True
    assert before == AUNT.pk
    for text in ("garden fence", "invoice due", "your aunt"):
        for name in ("correspondent", "document_type", "tags"):
            one, other = classifier.models[name], never.models[name]
            assert one.scores([text]).tolist() == other.scores([text]).tolist()
    models = classifier.models
    assert classifier.forget(document("never seen", BANK, BILL, [])) is False
    assert classifier.models is models


@pytest.mark.parametrize(
    ("contents", "labels", "predicted"),
    [
        (["bill one", "letter two"], [1, 2], 1),  # one document each: no calibration
        (["bill", "bill"], [4, 4], 4),
        (["bill", "letter"], [-1, -1], None),
        (["", " "], [1, 2], None),
    ],
)
def test_few_documents(contents, labels, predicted):
    classifier = DocumentClassifier()
    classifier.learn(contents, document_type=labels)
    assert classifier.predict_document_type("bill") == predicted
