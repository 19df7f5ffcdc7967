"""Kept documents: a value that adds and subtracts, its packed form, and files in which it is damaged."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.model_files import file_bytes, read_parts

from unnaive import TextClassifier
from unnaive.base.errors import BadData, BadModel, UnnaiveError, UnnaiveWarning
from unnaive.classifier.model_file import load_model
from unnaive.classifier.receipts import model_hash
from unnaive.data.byte_planes import NUMBER
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_documents import PackedDocuments, pack_documents
from unnaive.data.targets import read_targets
from unnaive.text.counting import BACKEND, TextCounter
from unnaive.text.tokens import BORDERS, TokenRule
from unnaive.text.vocabulary import Vocabulary

TEXTS = ["good ball, good game", "fair vote in a fair law", "warm soup with bread", "the ball is lost", "a new law"] * 3
TEXTS = [f"{text} {'very ' * number}" for number, text in enumerate(TEXTS)]
LABELS = ["sport", "politics", "food", "sport", "politics"] * 3
SETS = [(label,) if label != "food" else ("food", "politics") for label in LABELS]
SETS[4] = ()


def random_documents(seed=0, n=40, terms=15, multilabel=False, weighted=False):
    rng = np.random.default_rng(seed)
    X = csr_array(rng.poisson(0.4, (n, terms)))
    Y = rng.random((n, 3)) < 0.4 if multilabel else np.eye(3, dtype=bool)[rng.integers(0, 3, n)]
    labels = [tuple(np.array(["a", "b", "c"])[row].tolist()) for row in Y]
    weight = rng.integers(1, 4, n) / 2 if weighted else None
    words = Vocabulary([f"w{number}" for number in rng.permutation(terms)])
    return X, labels, words, weight


def kept(X, labels, words, weight=None):
    return KeptDocuments.of(X, read_targets(labels, X.shape[0], multilabel=True), words, weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("multilabel", [False, True])
def test_order_grouping_and_taking_back_leave_the_same_arrays(multilabel, weighted):
    X, labels, words, weight = random_documents(1, multilabel=multilabel, weighted=weighted)
    whole = kept(X, labels, words, weight)

    def part(rows):
        return kept(X[rows], [labels[row] for row in rows], words, None if weight is None else weight[rows])

    rows = np.random.default_rng(2).permutation(40)
    built = part(rows[:7]) + part(rows[7:30]) + part(rows[30:])
    unpacked = pack_documents(built, words, exclusive=False)
    del unpacked.__dict__["documents"]
    pairs = [(other, whole) for other in (built, unpacked.documents)]
    for one, other in [(mine.X, its.X) for mine, its in pairs] + [(mine.Y, its.Y) for mine, its in pairs]:
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype
    assert built.vocabulary == whole.vocabulary
    assert whole.vocabulary.terms == sorted(whole.vocabulary.terms)
    assert (built.weight is None) == (whole.weight is None)
    assert whole - part(rows[30:]) == part(rows[:30])
    assert built != part(rows[:30])


def test_documents_of_weight_zero_are_absent_and_weights_of_one_are_none():
    """By hand: of "ball", "vote" and "soup" the second has weight 0, so its term is gone; its class stays, as named."""
    X, labels = csr_array(np.eye(3, dtype=int)), [("sport",), ("news",), ("food",)]
    found = kept(X, labels, Vocabulary(["ball", "vote", "soup"]), np.array([1.0, 0.0, 1.0]))
    assert (found.n_docs, found.weight, found.vocabulary.terms) == (2, None, ["ball", "soup"])
    assert found.classes == ("food", "news", "sport")
    assert found.class_docs.tolist() == [1, 0, 1]


def test_what_is_taken_away_must_be_there_with_its_labels_and_weight_and_as_often():
    X, words = csr_array([[2, 0], [2, 0], [0, 1]]), Vocabulary(["ball", "vote"])
    documents = kept(X, [("sport",), ("sport",), ("news",)], words)
    one = kept(X[:1], [("sport",)], words)
    assert (documents - one - one).class_docs.tolist() == [1]  # the class of both is gone, and their term too
    assert (documents - one - one).vocabulary.terms == ["vote"]
    with pytest.raises(BadData, match="has no class 'sport', only news"):
        documents - one - one - one
    for gone in (
        kept(X[:1], [("news",)], words),
        kept(X[:1], [("sport", "news")], words),
        kept(csr_array([[1, 0]]), [("sport",)], words),
        kept(X[:1], [("sport",)], words, np.array([2.0])),
        one + one + one,
    ):
        with pytest.raises(BadData, match=r"1 of . documents? cannot be removed.*; forget only documents that"):
            documents - gone
    with pytest.raises(BadData, match="has never seen the term 'soup'"):
        documents - kept(X[:1], [("sport",)], Vocabulary(["soup", "vote"]))


def test_fractions_are_kept_as_they_are_and_whole_floats_are_counts():
    words = Vocabulary(["ball", "vote"])
    whole = kept(csr_array([[2.0, 0.0], [0.0, 3.0]]), [("a",), ("b",)], words)
    assert whole.X.dtype == np.int32
    fraction = kept(csr_array([[0.5, 0.0]]), [("a",)], words)
    both = whole + fraction
    assert both.X.dtype == np.float64
    assert both - fraction == whole


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("multilabel", [False, True])
def test_packing_is_undone_by_unpacking(multilabel, weighted):
    X, labels, words, weight = random_documents(3, multilabel=multilabel, weighted=weighted)
    documents = kept(X, labels, words, weight)
    for in_use in (documents.vocabulary, words.take([0, 1])):
        packed = pack_documents(documents, in_use, exclusive=not multilabel)
        again = PackedDocuments(packed.arrays, json.loads(json.dumps(packed.about)), *opened(packed))
        assert again.documents == documents
        assert again.class_docs.tolist() == documents.class_docs.tolist()
        assert (again.n_docs, again.n_terms) == (documents.n_docs, documents.n_terms)
        every, rows = again.take_words(np.arange(documents.n_docs)), np.array([0, 2, 5])
        assert every.in_order() == replace(documents, weight=None).in_order()
        assert (again.take_words(rows).table != every.table[rows]).nnz == 0
        same = pack_documents(again.documents, in_use, exclusive=not multilabel)
        assert {name: one.tobytes() for name, one in same.arrays.items()} == {
            name: one.tobytes() for name, one in packed.arrays.items()
        }


def opened(packed):
    return packed.classes, packed.in_use, packed.exclusive


def packed_with_grams(texts, *, units=False, **rule):
    token_rule = TokenRule(**{"analyzer": "both", "char_ngrams": (2, 4)} | rule)
    counter = TextCounter(token_rule)
    X, found = counter.count_with_units(texts)
    documents = KeptDocuments.of(X, read_targets(LABELS, 15), counter.vocabulary, units=found if units else None)
    kind = (*token_rule.char_ngrams, BORDERS[token_rule.char_borders])
    return documents, pack_documents(documents, Vocabulary(), exclusive=True, grams=kind)


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("borders", ["spaces", "words"])
@pytest.mark.parametrize(
    "rule",
    [{}, {"stem": "porter"}, {"stopwords": "smart", "ngrams": (1, 2)}, {"min_length": 5}, {"analyzer": "char"}],
)
def test_character_grams_come_back_from_units_or_words(rule, borders, units):
    """Single letters, stop words, stems and punctuation are in no word column; what words do not tell is stored."""
    for texts in (TEXTS, [f"{text}! (a 7)" for text in TEXTS], ["..." for _ in TEXTS]):
        documents, packed = packed_with_grams(texts, units=units, **rule, char_borders=borders)
        again = PackedDocuments(packed.arrays, packed.about, *opened(packed))
        assert again.documents == documents
        assert again.documents.n_terms == documents.X.shape[1]
        if BACKEND == "native" and units:
            assert packed.about["cells"] + packed.about["units"]["cells"] <= documents.X.nnz / 3
            assert again.documents.units.vocabulary == documents.units.vocabulary
            assert (again.documents.units.X != documents.units.X).nnz == 0
        elif not rule and texts is TEXTS:
            assert packed.about["cells"] < documents.X.nnz / 3


def documents_with_pairs(rows, *, units=False):
    rule = TokenRule(ngrams=(1, 2), **({"analyzer": "both", "char_ngrams": (2, 4)} if units else {}))
    counter = TextCounter(rule)
    X, found = counter.count_with_units([TEXTS[row] for row in rows])
    targets = read_targets([LABELS[row] for row in rows], len(rows))
    return KeptDocuments.of(X, targets, counter.vocabulary, units=found), X, counter.vocabulary


@pytest.mark.parametrize("units", [False, True])
def test_words_pairs_and_character_grams_are_what_was_counted(units):
    """Of words, followers and units come the cells that texts have, however documents were put together."""
    rows = range(15)
    whole, X, vocabulary = documents_with_pairs(rows, units=units)
    if BACKEND == "native" or not units:
        assert not any(" " in word for word in whole.words)
    assert whole.vocabulary.terms == sorted(vocabulary.terms)
    counted = X[:, vocabulary.ids(whole.vocabulary)].toarray()
    assert sorted(counted.tolist()) == sorted(whole.X.toarray().tolist())
    one, two = (
        documents_with_pairs(part, units=units)[0] for part in ([3, 9, 1, 14], [0, 2, *range(4, 9), *range(10, 14)])
    )
    total = two + one
    assert total.n_terms == whole.X.shape[1]  # counted before anything is joined
    assert total == whole
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(total.X, name), getattr(whole.X, name))
    assert total - one == two
    assert total.vocabulary == whole.vocabulary
    assert (total - one).vocabulary == two.vocabulary


def test_pairs_that_words_do_not_tell_of_stay_as_they_are():
    """By hand: a document with "go now" twice and "go" once is no text; beside others all pairs stay in the table."""
    words = Vocabulary(["go", "go now", "now"])
    text, odd, alone = csr_array([[2, 1, 1]]), csr_array([[1, 2, 1]]), csr_array([[0, 0, 3]])
    told, strange, single = (kept(X, [("a",)], words) for X in (text, odd, alone))
    assert told.words.terms == ["go", "now"]
    assert told.followers.data.tolist() == [2, 0, 0]  # one "go" is before the second word, one before none, so is "now"
    assert strange.words.terms == ["go", "go now", "now"]
    assert strange.followers is None
    assert single.followers is None
    mixed = told + strange
    assert mixed.followers is None
    assert sorted(mixed.X.toarray().tolist()) == [[1, 2, 1], [2, 1, 1]]
    assert mixed - strange == told
    assert (mixed - strange).followers.data.tolist() == [2, 0, 0]
    assert (told + single - told) == single
    assert (told + single).followers.shape[0] == 2
    for documents in (told, strange, mixed, told + single):
        packed = pack_documents(documents, Vocabulary(), exclusive=True)
        assert PackedDocuments(packed.arrays, packed.about, *opened(packed)).documents == documents


def test_followers_that_cannot_be_are_refused():
    told = kept(csr_array([[2, 1, 1]]), [("a",)], Vocabulary(["go", "go now", "now"]))
    packed = pack_documents(told, Vocabulary(), exclusive=True)
    for values in ([3, 0, 0], [2, 0], [2, 0, 0, 0]):
        arrays = packed.arrays | {"followers": np.frombuffer(zlib.compress(bytes(values)), np.uint8)}
        with pytest.raises(BadModel, match="the documents kept in this model are damaged"):
            _ = PackedDocuments(arrays, packed.about, *opened(packed)).documents


@pytest.mark.skipif(BACKEND != "native", reason="units are counted by the kernel")
def test_units_follow_their_documents():
    """Units of a sum, of a difference and of all at once are the same arrays; without those of one there are none."""
    whole, _ = packed_with_grams(TEXTS, units=True)
    rule, labels = TokenRule(analyzer="both", char_ngrams=(2, 4)), np.array(LABELS)
    parts = []
    for rows in (range(0, 15, 2), range(1, 15, 2)):
        counter = TextCounter(rule)
        X, units = counter.count_with_units([TEXTS[row] for row in rows])
        targets = read_targets(labels[list(rows)].tolist(), len(rows))
        parts.append(KeptDocuments.of(X, targets, counter.vocabulary, units=units))
    total = parts[1] + parts[0]
    left = total - parts[1]
    for found, expected in ((total, whole), (left, parts[0]), (KeptDocuments.empty() + whole, whole)):
        assert found == expected
        assert found.units.vocabulary == expected.units.vocabulary
        for name in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(found.units.X, name), getattr(expected.units.X, name))
    terms, X = whole.units._join_by_numpy(whole.words, whole.table, 1)
    assert terms == whole.vocabulary
    assert (whole.X != X).nnz == 0
    assert (parts[0] + replace(parts[1], units=None)).units is None


@pytest.mark.skipif(BACKEND != "native", reason="units are counted by the kernel")
@pytest.mark.parametrize(
    "change",
    [{"units": 3}, {"units": {}}, {"units": {"cells": 1, "terms": 1, "bytes": 1}}, {"units": None}, {"border": None},
     {"border": []}, {"grams": [5, 2]}],
)  # fmt: skip
def test_damaged_units_are_refused(change):
    _, packed = packed_with_grams(TEXTS, units=True)
    with pytest.raises(BadModel, match="the documents kept in this model are damaged"):
        _ = PackedDocuments(packed.arrays, packed.about | change, *opened(packed)).documents


def test_documents_of_earlier_files_are_read():
    """There counts are as they are, none is below 0, and character grams lie inside words."""
    documents, packed = packed_with_grams(TEXTS, char_borders="words")
    signed = zlib.decompress(packed.arrays["counts"].tobytes())
    assert packed.about["widths"]["counts"] == 1
    assert not any(count % 2 for count in signed)
    plain = np.frombuffer(zlib.compress(bytes(count // 2 for count in signed)), np.uint8)
    about = {name: value for name, value in packed.about.items() if name != "border"}
    assert PackedDocuments(packed.arrays | {"counts": plain}, about, *opened(packed)).documents == documents


def test_documents_of_files_with_terms_in_their_own_order_are_read():
    """By hand: "ball" is in documents 0 and 2, once and three times; "vote" in 1 and 2, twice and once."""
    numbers = {"df": [2, 2], "gaps": [0, 2, 1, 1], "counts": [1, 3, 2, 1], "labels": [1, 1, 1], "codes": [0, 0, 0]}
    arrays = {name: np.frombuffer(zlib.compress(bytes(values)), np.uint8) for name, values in numbers.items()}
    about = {"documents": 3, "cells": 4, "codes": 3, "terms": 2, "all_terms": 2, "bytes": 8, "grams": None}
    about |= {"border": None, "units": None, "widths": dict.fromkeys(numbers, 1)}
    words = Vocabulary(["ball", "vote"])
    expected = kept(csr_array([[1, 0], [0, 2], [3, 1]]), [("a",)] * 3, words)
    assert PackedDocuments(arrays, about, ("a",), words, exclusive=True).documents == expected


# In model files.


def save_svm(path, **more):
    model = TextClassifier("svm", **more).fit(TEXTS, LABELS)
    model.save(path)
    return model


def test_a_file_that_was_updated_is_that_of_a_fit_byte_for_byte(tmp_path):
    save_svm(tmp_path / "whole.model")
    rows = np.random.default_rng(0).permutation(15)
    first, second = rows[:9], rows[9:]
    TextClassifier("svm").fit([TEXTS[i] for i in first], [LABELS[i] for i in first]).save(tmp_path / "m.model")
    more = [TEXTS[i] for i in second], [LABELS[i] for i in second]
    loaded = TextClassifier.load(tmp_path / "m.model").partial_fit(*more)
    loaded.save(tmp_path / "more.model")
    assert (tmp_path / "more.model").read_bytes() == (tmp_path / "whole.model").read_bytes()
    TextClassifier.load(tmp_path / "more.model").forget(*more).save(tmp_path / "less.model")
    assert (tmp_path / "less.model").read_bytes() == (tmp_path / "m.model").read_bytes()
    TextClassifier.load(tmp_path / "m.model").save(tmp_path / "same.model")
    assert (tmp_path / "same.model").read_bytes() == (tmp_path / "m.model").read_bytes()


def test_tuned_thresholds_and_temperature_are_those_of_the_documents_that_are_there():
    texts, labels = [f"{text} {number}" for number in range(4) for text in TEXTS], SETS * 4
    settings = {"calibrate": True, "decision": "scut"}
    whole = TextClassifier("svm", **settings).fit(texts, labels)
    parts = TextClassifier("svm", **settings).fit(texts[20:], labels[20:]).partial_fit(texts[:20], labels[:20])
    assert parts.fitted_.decision == whole.fitted_.decision
    assert parts.fitted_.calibration == whole.fitted_.calibration
    assert model_hash(parts.fitted_) == model_hash(whole.fitted_)


@pytest.mark.slow
def test_auto_holds_to_its_choice_byte_for_byte(tmp_path):
    """What was chosen on 60 documents is trained on 75 and on 60 again; a class that comes later is learnt."""
    texts, labels = [f"{text} {number}" for number in range(4) for text in TEXTS], LABELS * 4
    more = TEXTS, [*LABELS[:12], "weather", "weather", "weather"]
    TextClassifier("auto").fit(texts, labels).save(tmp_path / "m.model")
    before = (tmp_path / "m.model").read_bytes()
    updated = TextClassifier.load(tmp_path / "m.model").partial_fit(*more, new_classes=True)
    updated.save(tmp_path / "more.model")
    assert updated.classes_.tolist() == ["food", "politics", "sport", "weather"]
    loaded = TextClassifier.load(tmp_path / "m.model")
    for row in (14, 3):
        loaded.partial_fit(more[0][row:], more[1][row:], new_classes=True)
        more = more[0][:row], more[1][:row]
    loaded.partial_fit(*more, new_classes=True).save(tmp_path / "other.model")
    assert (tmp_path / "other.model").read_bytes() == (tmp_path / "more.model").read_bytes()
    loaded.forget(TEXTS, [*LABELS[:12], "weather", "weather", "weather"]).save(tmp_path / "less.model")
    assert (tmp_path / "less.model").read_bytes() == before


def test_other_models_from_the_same_documents():
    model = TextClassifier("svm").fit(TEXTS, LABELS)
    model.remake(model="knn", k=3)
    np.testing.assert_array_equal(model.scores(TEXTS), TextClassifier("knn", k=3).fit(TEXTS, LABELS).scores(TEXTS))
    model.remake(model="multinomial", alpha=0.5)
    fresh = TextClassifier("multinomial", alpha=0.5).fit(TEXTS, LABELS)
    assert model.fitted_.counts == fresh.fitted_.counts
    with pytest.raises(
        UnnaiveError, match="linear support vector machine learns from documents, and this model keeps only counts"
    ):
        model.remake(model="svm")


def test_without_documents_a_model_cannot_be_updated_and_says_why(tmp_path):
    model = TextClassifier("svm", documents_limit=0).fit(TEXTS, LABELS)
    with pytest.raises(UnnaiveError, match="cannot be updated: it was saved without its documents, frozen or over"):
        model.partial_fit(TEXTS, LABELS)
    save_svm(tmp_path / "m.model").save(tmp_path / "frozen.model", frozen=True)
    assert (tmp_path / "frozen.model").stat().st_size < (tmp_path / "m.model").stat().st_size
    with pytest.raises(UnnaiveError, match="cannot forget: it was saved without its documents, frozen or over"):
        TextClassifier.load(tmp_path / "frozen.model").forget(TEXTS, LABELS)
    sharded = TextClassifier("sharded-nbsvm", documents_limit=0).fit(TEXTS, LABELS)
    with pytest.raises(
        UnnaiveError, match="over their limit, or trained from files larger than memory; train it again"
    ):
        sharded.partial_fit(TEXTS, LABELS)
    with pytest.raises(UnnaiveError, match="documents_limit of svm came as -1; give a number from 0"):
        TextClassifier("svm", documents_limit=-1).fit(TEXTS, LABELS)


def test_a_limit_that_is_passed_says_so_in_one_sentence_and_leaves_documents_out(tmp_path):
    model = TextClassifier("svm", documents_limit=50).fit(TEXTS, LABELS)
    with pytest.warns(
        UnnaiveWarning, match=r"^the 15 counted documents need \d+ bytes .* the limit of 50; the model is saved without"
    ):
        model.save(tmp_path / "m.model")
    assert load_model(tmp_path / "m.model").documents is None
    assert model.partial_fit(TEXTS[:2], LABELS[:2]).fitted_.documents.n_docs == 17  # in memory they are there


def test_no_text_is_in_the_file_but_terms(tmp_path):
    save_svm(tmp_path / "m.model")
    assert b"good ball" not in (tmp_path / "m.model").read_bytes()


@pytest.mark.parametrize("how", ["truncated", "flipped", "longer", "empty", "other type", "absent"])
@pytest.mark.parametrize("name", ["steps", "counts", "df", "labels", "codes", "weight"])
def test_damaged_documents_are_refused_in_one_sentence_when_they_are_needed(tmp_path, name, how):
    path = tmp_path / "m.model"
    TextClassifier("svm").fit(TEXTS, LABELS, sample_weight=np.arange(15) % 3 + 0.5).save(path)
    arrays, about = read_parts(path)
    packed = arrays[f"documents.{name}"]
    plain = zlib.decompress(packed.tobytes())
    damaged = {
        "truncated": packed[: len(packed) // 2],
        "flipped": np.frombuffer(zlib.compress(bytes(255 - byte for byte in plain)), np.uint8),
        "longer": np.frombuffer(zlib.compress(plain + b"\1"), np.uint8),
        "empty": packed[:0],
        "other type": packed.astype(np.float32),
    }.get(how)
    arrays = {key: one for key, one in arrays.items() if key != f"documents.{name}"}
    path.write_bytes(file_bytes(arrays | ({} if damaged is None else {f"documents.{name}": damaged}), about))
    if how == "other type" or (
        how == "absent" and name != "weight"
    ):  # which arrays there are is looked at when the file is loaded
        with pytest.raises(BadModel, match=r"the documents kept in this model are damaged \(.*\); train it again$"):
            TextClassifier.load(path)
        return
    model = TextClassifier.load(path)
    assert model.predict(TEXTS[:1]).shape == (1,)  # which needs no documents
    if (name, how) in (("weight", "absent"), ("counts", "flipped")):  # other documents, but sound ones
        return
    with pytest.raises(BadModel, match=r"^the documents kept in this model are damaged \(.*\); train it again$"):
        model.partial_fit(["a ball"], ["sport"])


@pytest.mark.parametrize(
    "change",
    [
        {"documents": 10**9}, {"documents": 14}, {"documents": 16}, {"cells": 10**11}, {"cells": 3}, {"codes": 14},
        {"terms": 2}, {"terms": 10**9}, {"widths": {}}, {"widths": None}, {"grams": [2, 99]}, {"grams": 3},
        {"grams": ["a", "b"]}, {"grams": [0, 0]}, {"grams": [2, 4]}, {"bytes": -1}, {"widths": {"df": 3}},
        {"widths": {"df": "a"}},
    ],
)  # fmt: skip
def test_damaged_descriptions_of_documents_are_refused(tmp_path, change):
    path = tmp_path / "m.model"
    save_svm(path, min_df=4)  # so that the documents have a vocabulary of their own
    arrays, about = read_parts(path)
    about["documents"] |= change
    path.write_bytes(file_bytes(arrays, about))
    with pytest.raises(BadModel) as problem:
        TextClassifier.load(path).partial_fit(["a ball"], ["sport"])
    assert "\n" not in str(problem.value)


def test_a_description_that_inflates_without_end_is_refused_before_memory_is_taken(tmp_path):
    """A million zeros deflate to a thousand bytes; asked for more than their numbers, nothing more is inflated."""
    path = tmp_path / "m.model"
    save_svm(path)
    arrays, about = read_parts(path)
    arrays["documents.steps"] = np.frombuffer(zlib.compress(bytes(1_000_000)), np.uint8)
    path.write_bytes(file_bytes(arrays, about))
    with pytest.raises(BadModel, match="their steps have a wrong length"):
        TextClassifier.load(path).forget(TEXTS[:1], LABELS[:1])


def copies(n):
    """n documents of one class with the same two words."""
    X = csr_array(np.ones((n, 2), np.int32))
    Y = csr_array((np.ones(n, np.int64), np.zeros(n, np.int32), np.arange(n + 1)), shape=(n, 1))
    return KeptDocuments(("ham",), Vocabulary(["ball", "vote"]), X, Y, None)


@pytest.mark.parametrize("name", ["labels", "codes", "counts", "steps", "df"])
def test_a_small_file_does_not_unpack_to_a_large_one(name):
    """Zeros deflate a thousandfold, so a number that the file states is compared with the size of the file."""
    packed = pack_documents(copies(30), Vocabulary(["ball", "vote"]), exclusive=True)
    n = 3_000_000
    sizes = {"labels": "documents", "codes": "codes", "counts": "cells", "steps": "cells", "df": "terms"}
    about = {**packed.about, sizes[name]: n, "widths": {**packed.about["widths"], name: 1}}
    arrays = {**packed.arrays, name: np.frombuffer(zlib.compress(bytes(n)), np.uint8)}
    changed = PackedDocuments(arrays, about, packed.classes, packed.in_use, packed.exclusive)
    assert changed.nbytes < 10_000
    with pytest.raises(BadModel, match="damaged"):
        _ = changed.documents
    if name == "labels":
        with pytest.raises(BadModel, match=r"bytes cannot hold 3000000 labels"):
            _ = changed.class_docs


@pytest.mark.slow
def test_millions_of_copies_of_a_text_are_read_back():
    """They would deflate so well that the file were refused, so they are packed without runs."""
    documents = copies(2_200_000)
    packed = pack_documents(documents, Vocabulary(["ball", "vote"]), exclusive=True)
    assert packed.most_unpacked >= NUMBER * 2 * 2_200_000
    again = PackedDocuments(packed.arrays, packed.about, packed.classes, packed.in_use, packed.exclusive)
    assert again.class_docs.tolist() == [2_200_000]
    assert again.documents == documents.in_order()
