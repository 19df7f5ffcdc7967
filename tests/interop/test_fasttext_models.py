"""Models of fastText's interface as objects: attributes, vectors, files that change, words that are not UTF-8."""

import os
import pickle
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.fasttext_files import KINDS, FastTextParts, write_fasttext

import unnaive
from unnaive import TextClassifier, fasttext
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.classifier.model_file import save
from unnaive.data.source_section import SourceSection
from unnaive.interop.fasttext import training
from unnaive.interop.fasttext.arguments import loss_name

LINES = [
    "__label__sport good ball game", "__label__sport good ball goal team", "__label__politics fair vote law",
    "__label__politics vote law court", "__label__sport team game ball", "__label__politics court vote",
] * 3  # fmt: skip
VECTORS = FastTextParts(words=("</s>", "good", "ball", "__label__x"), labels=(), model=2, dim=4)


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes, name: str = "train.txt") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.fixture
def trained(write):
    return lambda lines=LINES, **options: fasttext.train_supervised(write("\n".join(lines) + "\n"), **options)


def unit_mean(model, words):
    units = [model.get_word_vector(word) / np.linalg.norm(model.get_word_vector(word)) for word in words]
    return np.mean(units, axis=0)


# Models of fastText.


def test_a_sentence_of_word_vectors_is_the_mean_of_its_words_without_the_end_of_the_line(write):
    model = fasttext.load_model(write(write_fasttext(VECTORS), "vectors.bin"))
    expected = unit_mean(model, ["good", "ball"])
    for sentence in ("good ball", "ball\tgood", "good ball unknown"):  # a zero vector does not count
        np.testing.assert_allclose(model.get_sentence_vector(sentence), expected, atol=1e-6)
    with_end = unit_mean(model, ["good", "</s>", "ball"])  # a word like any other here
    np.testing.assert_allclose(model.get_sentence_vector("good </s> ball"), with_end, atol=1e-6)
    assert model.get_sentence_vector("").tolist() == [0.0] * 4


def test_a_line_ends_at_the_word_for_its_end_and_knows_labels_without_a_prefix(write):
    classifier = fasttext.load_model(write(write_fasttext(KINDS["other-prefix"]), "hash.bin"))
    assert classifier.get_line("the #a </s> of #b") == (["the", "</s>"], ["#a"])
    assert classifier.get_line("#zzz __label__zzz") == (["#zzz", "</s>"], [])  # unknown words, and unknown labels
    assert classifier.get_line(["the </s> of", "of"]) == ([["the", "</s>"], ["of", "</s>"]], [[], []])
    vectors = fasttext.load_model(write(write_fasttext(VECTORS), "vectors.bin"))
    assert vectors.get_line("good __label__x __label__y") == (["good", "__label__x", "</s>"], [])


def test_labels_with_another_prefix_are_found_in_a_test_file(write):
    model = fasttext.load_model(write(write_fasttext(KINDS["other-prefix"]), "hash.bin"))
    n_docs, precision, recall = model.test(write("#a the of\n#b je\nno label\n"), k=3)
    assert (n_docs, precision, recall) == (2, 2 / 6, 1.0)


def test_the_end_word_ends_a_line_of_a_file(write):
    model = fasttext.load_model(write(write_fasttext(FastTextParts()), "model.bin"))
    joined, apart = ("__label__c0 the </s> __label__c1 of\n", "__label__c0 the\n__label__c1 of\n")
    assert model.test(write(joined, "one.txt")) == model.test(write(apart, "two.txt"))
    assert model.test(write(joined, "one.txt"))[0] == 2


def latin_file(parts: FastTextParts) -> bytes:
    """A file whose word "cafX" is "caf\xe9" in Latin-1."""
    content = write_fasttext(parts)
    assert content.count(b"cafX\0") == 1
    return content.replace(b"cafX\0", b"caf\xe9\0")


def test_words_that_are_not_utf8_are_found_in_a_test_file(write):
    """The word decides: its row is for the second label, and the end of the line for the first."""
    rows = np.array([[1, 0], [0, 5], [0, 0]])
    parts = FastTextParts(
        words=("</s>", "cafX", "the"), labels=("__label__a", "__label__b"), dim=2,
        matrices={"input": rows, "output": np.eye(2)},
    )  # fmt: skip
    model = fasttext.load_model(write(latin_file(parts), "latin.bin"))
    assert model.test(write(b"__label__b caf\xe9\n")) == (1, 1.0, 1.0)
    assert model.test(write(b"__label__a caf\xe9\n")) == (1, 0.0, 0.0)
    assert model.test(write(b"__label__a caf\xe8\n")) == (1, 1.0, 1.0)  # another byte is another word
    assert model.get_words(on_unicode_error="replace") == ["</s>", "caf�", "the"]
    with pytest.raises(UnicodeDecodeError):
        model.get_words()
    with pytest.raises(ValueError, match="not UTF-8"):  # training reads UTF-8
        fasttext.train_supervised(write(b"__label__a caf\xe9\n__label__b x\n"))


@pytest.mark.parametrize("method", ["get_input_matrix", "get_output_matrix", "get_words"])
def test_a_file_that_is_replaced_leaves_a_loaded_model_alone(write, tmp_path, method):
    path = Path(write(write_fasttext(FastTextParts(seed=1)), "model.bin"))
    expected = getattr(fasttext.load_model(path), method)()
    model = fasttext.load_model(path)
    other = FastTextParts(seed=2, words=tuple(f"w{i}" for i in range(31)))
    Path(write(write_fasttext(other), "new.bin")).replace(path)
    np.testing.assert_array_equal(getattr(model, method)(), expected)
    assert not np.array_equal(getattr(fasttext.load_model(path), method)(), expected)


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be overwritten on Windows")
def test_a_file_that_is_overwritten_in_place_is_noticed(write):
    path = Path(write(write_fasttext(VECTORS), "model.bin"))
    model = fasttext.load_model(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(BadModel, match="overwritten while its model was in use; load it again"):
        model.get_word_vector("good")


def test_a_loaded_model_goes_to_another_process(write):
    model = fasttext.load_model(write(write_fasttext(KINDS["softmax-subwords"]), "model.bin"))
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # its own
    assert again.predict("the of", k=-1)[0] == model.predict("the of", k=-1)[0]
    np.testing.assert_array_equal(again.get_word_vector("the"), model.get_word_vector("the"))


@pytest.mark.parametrize("name", ["softmax-subwords", "pruned", "ova", "vectors"])
def test_a_model_of_fasttext_is_saved_as_its_file_also_over_itself(write, tmp_path, name):
    content = write_fasttext(VECTORS if name == "vectors" else KINDS[name])
    path = Path(write(content, "model.bin"))
    model = fasttext.load_model(path)
    for target in (tmp_path / "copy.bin", path):
        model.save_model(target)
        assert target.read_bytes() == content
    Path(write(write_fasttext(FastTextParts(seed=9)), "new.bin")).replace(path)
    model.save_model(str(path))  # what was loaded, not what is there
    assert path.read_bytes() == content


def test_a_model_replaces_a_model_of_fasttext_and_nothing_else(write, trained):
    path = Path(write(write_fasttext(FastTextParts()), "model.bin"))
    model = trained()
    model.save_model(path)
    assert fasttext.load_model(path).predict("ball")[0] == ("__label__sport",)
    notes = Path(write("notes\n", "notes.txt"))
    for saved in (model, fasttext.load_model(write(write_fasttext(VECTORS), "vectors.bin"))):
        with pytest.raises(UnnaiveError, match="exists and is not a model"):
            saved.save_model(notes)
    with pytest.raises(UnnaiveError, match="exists and is not a model"):  # as ever through our own entrance
        TextClassifier("multinomial").fit(["ball", "vote"], ["x", "y"]).save(write(write_fasttext(VECTORS), "v.bin"))
    assert notes.read_text() == "notes\n"


def test_quantize_takes_positions(write, trained):
    train = write("\n".join(LINES))
    for model in (trained(), fasttext.load_model(write(write_fasttext(KINDS["softmax-subwords"]), "m.bin"))):
        model.quantize(train, True, 20, False, 5, 0.1, 1, 0, 2, True)
        assert model.is_quantized()
        with pytest.raises(ValueError, match="Need input file path if retraining"):
            model.quantize(None, False, 0, True)


def test_a_quantized_model_is_saved_in_our_format(write, tmp_path):
    model = fasttext.load_model(write(write_fasttext(KINDS["softmax-subwords"]), "m.bin"))
    model.quantize(cutoff=20)
    model.save_model(tmp_path / "small.ftz")
    again = fasttext.load_model(tmp_path / "small.ftz")
    assert again.predict("je da", k=2)[0] == model.predict("je da", k=2)[0]
    assert again.is_quantized()


def test_word_vectors_have_no_classifier_but_everything_else(write):
    model = fasttext.load_model(write(write_fasttext(VECTORS), "vectors.bin"))
    lines = write("__label__x good\n")
    for call in (lambda: model.predict("good"), lambda: model.test(lines), lambda: model.test_label(lines)):
        with pytest.raises(ValueError, match="supervised for prediction! This file has word vectors alone"):
            call()
    with pytest.raises(ValueError, match="only support quantization of supervised models"):
        model.quantize()
    assert model.get_label_id("__label__x") == -1
    assert (model.get_dimension(), model.loss, model.f.getArgs().model.name) == (4, loss_name.softmax, "skipgram")
    assert model.get_nearest_neighbors("unknown", k=2)[0][0] == 0.0
    for wrong, match in ((9, "no row 9"), (-1, "no row -1")):
        with pytest.raises(ValueError, match=match):
            model.get_input_vector(wrong)
    for call in (lambda: model.get_word_vector(b"good"), lambda: model[3], lambda: model.get_word_id(None)):
        with pytest.raises(ValueError, match="a word is"):
            call()
    assert 3 not in model
    with pytest.raises(UnnaiveError, match="does not replace the matrices"):
        model.set_matrices(np.zeros((4, 2)), np.zeros((4, 2)))


def test_the_arguments_of_a_file_are_attributes(write):
    parts = FastTextParts("ova", dim=3, word_ngrams=2, bucket=60, minn=2, maxn=4)
    model = fasttext.load_model(write(write_fasttext(parts), "model.bin"))
    names = ("dim", "epoch", "loss", "wordNgrams", "minn", "maxn", "bucket", "ws", "minCount", "label")
    expected = [3, 5, loss_name.ova, 2, 2, 4, 60, 5, 1, "__label__"]
    assert [getattr(model, name) for name in names] == expected
    assert [getattr(model.f.getArgs(), name) for name in names] == expected


def test_the_compiled_methods_are_there(write):
    model = fasttext.load_model(write(write_fasttext(FastTextParts()), "model.bin"))
    labels, values = model.predict("the of", k=2)
    assert model.f.predict("the of\n", 2, 0.0, "strict") == list(zip(values.tolist(), labels, strict=True))
    all_labels, all_values = model.f.multilinePredict(["the\n", "of\n"], 1, 0.0, "strict")
    assert all_labels == [list(model.predict(text)[0]) for text in ("the", "of")]
    assert [value.tolist() for value in all_values] == [model.predict(text)[1].tolist() for text in ("the", "of")]
    assert model.f.getLine("the __label__c1 of\n", "strict") == (["the", "of", "</s>"], ["__label__c1"])
    assert model.f.multilineGetLine(["the\n"], "strict") == ([["the", "</s>"]], [[]])
    assert (model.f.getWordId("of"), model.f.isQuant(), model.f.tokenize("a b\n")) == (2, False, ["a", "b", "</s>"])
    assert model.f.getVocab("strict")[1][0] == 1000
    assert model.f.getLabels("strict")[1][0] == 200
    assert model.f.getInputMatrix().shape == (31, 8)
    with pytest.raises(AttributeError, match=r"no trainThread here; there are getAnalogies"):
        model.f.trainThread  # noqa: B018


# Models that were trained here.


def test_the_arguments_of_a_training_are_attributes_and_stay_in_the_file(trained, tmp_path):
    with pytest.warns(unnaive.UnnaiveWarning, match="have no lr, epoch"):
        model = trained(dim=7, lr=0.5, epoch=9, wordNgrams=2, minn=2, maxn=3, bucket=50, loss="ova", thread=1)
    model.save_model(tmp_path / "model.bin")
    for found in (model, fasttext.load_model(tmp_path / "model.bin")):
        names = ("dim", "lr", "epoch", "wordNgrams", "minn", "maxn", "bucket", "loss", "label", "thread")
        assert [getattr(found, name) for name in names] == [
            7, 0.5, 9, 2, 2, 3, 50, loss_name.ova, "__label__", 1
        ]  # fmt: skip
        assert found.get_dimension() == len(found.get_word_vector("ball")) == 7
    assert trained(dim=7).bucket == 0  # nothing is hashed


def test_a_model_of_another_entrance_is_a_model_here(tmp_path):
    TextClassifier("multinomial", ngrams=(1, 2)).fit(["good ball", "vote"], ["sport", "news"]).save(tmp_path / "m")
    model = fasttext.load_model(tmp_path / "m")
    assert (model.dim, model.wordNgrams, model.label, model.labels[0]) == (2, 2, "__label__", "__label__news")
    assert sorted(model.get_words()) == ["ball", "good", "vote"]
    assert model.get_words(include_freq=True)[1].tolist() == [1, 1, 1]


def test_damaged_arguments_are_one_sentence(trained, tmp_path):
    model = trained()
    path = tmp_path / "model.bin"
    good = model.fitted.source.content()["fasttext"]
    for damage in (
        {"dim": 0},
        {"dim": "7"},
        {"loss": "x"},
        {"loss": [1]},
        {"label": None},
        {"more": 1},
        {"dim": 1 << 40},
    ):
        source = SourceSection.of({"fasttext": good | damage})
        replaced = replace(model.fitted, source=source)
        save(replaced, path)
        with pytest.raises(BadModel, match="the arguments of train_supervised in this model are damaged"):
            fasttext.load_model(path)


def test_a_custom_prefix_stays_in_the_file(trained, write, tmp_path):
    lines = [line.replace("__label__", "#") for line in LINES]
    model = trained(lines, label="#")
    model.save_model(tmp_path / "model.bin")
    again = fasttext.load_model(tmp_path / "model.bin")
    file = write("\n".join(lines), "test.txt")
    assert again.labels == ["#politics", "#sport"]
    assert again.test(file) == model.test(file) == (18, 1.0, 1.0)
    assert again.test_label(file)["#sport"]["f1score"] == 1.0
    assert again.get_line("#sport good #zzz") == (["good", "</s>"], ["#sport"])


def test_products_of_vectors_are_the_weights(trained):
    for dim in (2, 5):
        model = trained(dim=dim, wordNgrams=2, minn=2, maxn=3)
        inputs, outputs = model.get_input_matrix(), model.get_output_matrix()
        assert (inputs.shape[1], outputs.shape) == (dim, (2, dim))
        np.testing.assert_allclose(outputs @ inputs.T, model.fitted.scorer.weights(), atol=1e-5)
    row = model.get_word_id("ball")
    assert model.fitted.vocabulary.terms[row] == "ball"
    names, rows = model.get_subwords("ball")
    np.testing.assert_allclose(model.get_word_vector("ball"), inputs[rows].mean(axis=0), atol=1e-6)
    assert row in rows
    assert {"ball", "bal", "all"} <= set(names)
    assert model.get_subword_id("bal") in rows
    np.testing.assert_array_equal(model.get_input_vector(row), inputs[row])
    assert (model.get_word_id("zzz"), model.get_subword_id("zzz")) == (-1, -1)
    assert "ball" in model
    assert "good ball" not in model


def test_a_line_is_the_mean_of_its_terms_and_neighbours_share_a_class(trained):
    model = trained(dim=3)
    assert model.get_dimension() == 3
    ball, game = (model.get_word_vector(word) for word in ("ball", "game"))
    np.testing.assert_allclose(model.get_sentence_vector("ball game ball unknown"), (2 * ball + game) / 3, atol=1e-6)
    assert model.get_sentence_vector("unknown").tolist() == [0.0] * 3
    with pytest.raises(ValueError, match="one line at a time"):
        model.get_sentence_vector("ball\n")
    sport = {"good", "ball", "game", "goal", "team"}
    assert {word for _, word in model.get_nearest_neighbors("ball", k=4)} == sport - {"ball"}
    assert model.get_analogies("ball", "vote", "game", k=1)[0][1] in sport


def test_words_of_a_trained_model_come_with_their_counts(trained, tmp_path):
    model = trained(wordNgrams=2, minn=2, maxn=3)
    words, counts = model.get_words(include_freq=True)
    assert dict(zip(words, counts.tolist(), strict=True)) == {
        "ball": 9, "vote": 9, "good": 6, "game": 6, "team": 6, "law": 6, "court": 6, "goal": 3, "fair": 3,
    }  # fmt: skip
    assert counts.tolist() == sorted(counts.tolist(), reverse=True)
    assert model.words == words
    model.quantize()
    assert model.get_words(include_freq=True)[1].tolist() == counts.tolist()
    model.save_model(tmp_path / "small.ftz")
    small = fasttext.load_model(tmp_path / "small.ftz")
    assert sorted(small.words) == sorted(words)
    with pytest.raises(UnnaiveError, match="does not know how often"):
        small.get_words(include_freq=True)


def test_a_file_with_one_label_gives_a_model_that_always_predicts_it(write, tmp_path):
    model = fasttext.train_supervised(write("__label__only good ball\n__label__only vote\n"))
    model.save_model(tmp_path / "one.bin")
    for found in (model, fasttext.load_model(tmp_path / "one.bin")):
        labels, values = found.predict("anything at all", k=5)
        assert (labels, values.tolist()) == (("__label__only",), [1.0])
        assert found.test(write("__label__only x\n__label__other y\n", "test.txt")) == (1, 1.0, 1.0)
        assert found.get_words(include_freq=True)[1].tolist() == [1, 1, 1]
        assert found.get_labels(include_freq=True)[1].tolist() == [2]
    assert fasttext.train_supervised(write("__label__a __label__b x\n__label__a y\n"), minCountLabel=2).labels == [
        "__label__a"
    ]


def test_pretrained_vectors_must_have_the_dimension(trained, write, tmp_path):
    vectors = write("2 3\nball 1 2 3\nvote 3 2 1\n", "vectors.vec")
    with pytest.raises(ValueError, match=r"pretrained vectors \(3\) does not match dimension \(100\)! Give dim=3"):
        trained(pretrainedVectors=vectors)
    with pytest.warns(unnaive.UnnaiveWarning, match="have no pretrainedVectors"):
        assert trained(pretrainedVectors=vectors, dim=3).get_dimension() == 3
    for wrong in (write("", "empty.vec"), write("ball 1 2 3\n", "headless.vec"), write(b"\xff\xfe\x00", "odd.vec")):
        with pytest.raises(ValueError, match="is no file of vectors"):
            trained(pretrainedVectors=wrong)
    with pytest.raises(ValueError, match="cannot be opened for loading"):
        trained(pretrainedVectors=str(tmp_path / "missing.vec"))


@pytest.mark.parametrize("dim", [0, -1, 1.5, "x", True, 1 << 20])
def test_a_dimension_is_a_whole_number(trained, dim):
    with pytest.raises(ValueError, match="give a whole number from 1 to 65536"):
        trained(dim=dim)


def test_many_labels_are_a_tree_and_few_are_regressions(write):
    """Each document has the label of its word, and every second one the label of its parity too."""
    n = training.MANY_LABELS
    lines = [f"__label__l{i % n} __label__{'odd' if i % 2 else 'even'} word{i % n} x\n" for i in range(6 * n)]
    model = fasttext.train_supervised(write("".join(lines)))
    assert model.fitted.spec.model.traits.name == "label-tree"
    assert set(model.predict("word3 x", k=2)[0]) == {"__label__l3", "__label__odd"}
    assert model.test(write("".join(lines)), k=2) == (6 * n, 1.0, 1.0)
    with pytest.raises(UnnaiveError, match="no single weight for each word and class, so its words have no vectors"):
        model.get_word_vector("word3")
    few = [f"__label__l{i % 4} __label__{'odd' if i % 2 else 'even'} word{i % 4} x\n" for i in range(40)]
    assert fasttext.train_supervised(write("".join(few))).fitted.spec.model.traits.name == "maxent"
    assert fasttext.train_supervised(write("".join(lines)), autotuneDuration=1).fitted.spec.model.traits.name == "auto"


def test_a_cut_file_is_noticed_when_its_rows_are_read(write):
    content = write_fasttext(VECTORS)
    path = Path(write(content, "model.bin"))
    model = fasttext.load_model(path)
    with path.open("r+b") as file:
        file.truncate(len(content) - struct.calcsize("<8f"))
    with pytest.raises(BadModel, match=r"overwritten|became shorter"):
        model.get_output_matrix()
