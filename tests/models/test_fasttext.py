"""Imported fastText models: what fastText itself answers, the kernel against its specification, laws, broken files."""

import json
import struct
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.apart import run_apart
from support.fasttext_files import KEPT, KINDS, TEXTS, WORDS, FastTextParts, write_fasttext
from support.model_files import read_parts, rewrite

from unnaive import TextClassifier
from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.classifier.compress import compress_model, file_size
from unnaive.classifier.model_file import load_model, save
from unnaive.models.fasttext import binary_file, score_texts
from unnaive.models.fasttext.binary_file import read_fasttext_file
from unnaive.models.fasttext.compressing import keep_rows, rounded
from unnaive.models.fasttext.features import word_hash
from unnaive.models.fasttext.huffman import huffman_tree
from unnaive.models.fasttext.importing import import_fasttext

# written by `python tools/fasttext_expected.py`, with fastText
EXPECTED = json.loads((Path(__file__).parent / "fasttext_expected.json").read_text(encoding="utf-8"))
ENGINES = [
    pytest.param(True, marks=pytest.mark.skipif(score_texts.kernel is None, reason="built without a compiler")),
    False,
]


@pytest.fixture
def imported(tmp_path):
    """The model of some parts, through a file."""

    def read(parts, **how):
        path = tmp_path / "model.bin"
        path.write_bytes(write_fasttext(parts))
        return import_fasttext(path, **how)

    return read


def reader_of(fitted, native):
    return replace(fitted.reader, native=native)


# What fastText answers.


@pytest.mark.parametrize("native", ENGINES)
@pytest.mark.parametrize("name", sorted(KINDS))
def test_labels_and_probabilities_are_those_of_fasttext(imported, name, native):
    reader = reader_of(imported(KINDS[name], fold=False), native)
    labels, values = reader.top_labels(list(TEXTS), 3, 0.0)
    names = [[label for label, _ in row] for _, row in EXPECTED[name]]
    expected = np.array([p for _, row in EXPECTED[name] for _, p in row], np.float32)
    if native:
        assert labels == names
        assert values.tolist() == expected.tolist()  # to the last bit
        assert reader.top_labels(list(TEXTS), 1, 0.0)[0] == [best for best, _ in EXPECTED[name]]
    else:  # equal ones in another order
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)


@pytest.mark.skipif(score_texts.kernel is None, reason="built without a compiler")
@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_text_is_scored_alone_as_among_others(imported, name):
    """The kernel reads six texts together; known words and n-grams are those of the specification."""
    for fold in (True, False):
        reader = reader_of(imported(KINDS[name], fold=fold), True)
        together, known = reader.scores_and_known(list(TEXTS))
        alone = [reader.scores_and_known([text])[0][0] for text in TEXTS]
        np.testing.assert_array_equal(together, alone)
        assert known.tolist() == replace(reader, native=False).known_terms(list(TEXTS)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("native", ENGINES)
@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_decisions_are_those_of_fasttext_folded_or_not(imported, name, fold, native):
    fitted = imported(KINDS[name], fold=fold)
    scores = np.concatenate(list(reader_of(fitted, native).score_chunks(list(TEXTS))))
    best = reader_of(fitted, native).best_classes(list(TEXTS))
    for row, (answer, _) in enumerate(EXPECTED[name]):
        if answer:  # a text without any feature gets no label from fastText
            expected = answer[0].removeprefix("__label__")
            assert fitted.classes[int(scores[row].argmax())] == expected
            assert best is None or fitted.classes[best[row]] == expected
    assert fitted.predict(list(TEXTS)).tolist() == [fitted.classes[place] for place in scores.argmax(axis=1)]


def test_folded_and_factored_scores_agree(imported):
    for name in ("softmax-subwords", "softmax-subwords-factors", "hs", "quantised-norm-factors", "pruned"):
        one, two = (imported(KINDS[name], fold=fold).scores(list(TEXTS)) for fold in (True, False))
        np.testing.assert_allclose(one, two, atol=2e-5)


# Reading texts.


def test_the_hash_is_that_of_fasttext_with_signed_bytes():
    assert word_hash(b"") == 2166136261
    assert word_hash("é".encode()) == ((2166136261 ^ 0xFFFFFFC3) * 16777619 % 2**32 ^ 0xFFFFFFA9) * 16777619 % 2**32


PIECES = st.sampled_from(
    [*WORDS, "</s>", "__label__c1", "__label__", "#a", " ", "\t", "\0", "\n", "<", ">", "é", "🙂", "x" * 13]
)


@pytest.mark.skipif(score_texts.kernel is None, reason="built without a compiler")
@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES | st.text(max_size=6), max_size=14).map("".join))
def test_the_kernel_reads_texts_as_its_specification(text):
    for name in ("softmax-subwords-factors", "pruned", "other-prefix"):
        reader = _reader(name)
        assert reader._engine.features(text) == [one.row for one in reader.rule.features(text)]


def _reader(name, cache={}):  # noqa: B006
    if name not in cache:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.bin"
            path.write_bytes(write_fasttext(KINDS[name]))
            cache[name] = import_fasttext(path).reader
    return cache[name]


def test_features_by_hand(imported):
    """ "ab" with 2-grams: the word is unknown, so <a, ab, b>; then the end of the line, and the pair of both."""
    parts = FastTextParts(words=("</s>", "the"), bucket=1000, minn=2, maxn=2, word_ngrams=2)
    found = imported(parts).reader.rule.features("ab __label__x")
    assert [(one.name, one.start, one.end) for one in found] == [
        ("<a…", 0, 1), ("…ab…", 0, 2), ("…b>", 1, 2), ("</s>", 13, 13), ("ab </s>", 0, 13),
    ]  # fmt: skip
    assert found[1].row == 2 + word_hash(b"ab") % 1000
    assert found[3].row == 0


def test_scores_by_hand(imported):
    """Rows 1, 2 and 4 for </s>, a and b; outputs 1 and −1: of "a b" the mean is 7/3."""
    matrices = {"input": [[1.0], [2.0], [4.0]], "output": [[1.0], [-1.0]]}
    fitted = imported(
        FastTextParts(words=("</s>", "a", "b"), labels=("__label__x", "__label__y"), dim=1, matrices=matrices)
    )
    np.testing.assert_allclose(fitted.scores(["a b", "zzz"]), [[7 / 3, -7 / 3], [1, -1]], rtol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(["zzz"])[0, 0], 1 / (1 + np.exp(-2)))
    assert fitted.known_terms(["a b", "zzz"]).tolist() == [2, 0]


def test_the_huffman_tree_by_hand():
    """Counts 4, 3, 2, 1: 1 and 2 make a node of 3, the label of 3 and that node one of 6, and so on."""
    assert huffman_tree(np.array([4, 3, 2, 1])).tolist() == [[3, 2], [4, 1], [0, 5]]


def test_of_saturated_labels_the_last_wins_as_in_fasttext_and_its_score_is_the_highest(imported):
    matrices = {"input": [[1.0]], "output": [[9.0], [20.0], [8.5], [1.0]]}
    labels = ("__label__d", "__label__c", "__label__b", "__label__a")
    fitted = imported(FastTextParts("ova", words=("</s>",), labels=labels, dim=1, matrices=matrices))
    assert fitted.predict(["x"]).tolist() == ["b"]
    scores = fitted.scores(["x"])[0]
    assert fitted.classes[int(scores.argmax())] == "b"
    assert scores.max() == np.nextafter(20.0, 21)


def test_multilabel_models_give_every_label_of_one_half_and_more(imported):
    matrices = {"input": [[1.0]], "output": [[2.0], [-1.0], [0.5]]}
    parts = FastTextParts(
        "ova", words=("</s>",), labels=("__label__a", "__label__b", "__label__c"), dim=1, matrices=matrices
    )
    fitted = imported(parts, multilabel=True)
    assert fitted.predict(["x"]) == [("a", "c")]
    np.testing.assert_allclose(fitted.predict_proba(["x"])[0], 1 / (1 + np.exp([-2, 1, -0.5])))
    with pytest.raises(BadModel, match="labels exclude each other"):
        imported(parts.with_(loss="softmax"), multilabel=True)


# An ordinary model.


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_saved_model_is_the_same(imported, tmp_path, name):
    fitted = imported(KINDS[name])
    save(fitted, tmp_path / "one.model")
    again = load_model(tmp_path / "one.model")
    np.testing.assert_array_equal(fitted.scores(list(TEXTS)), again.scores(list(TEXTS)))
    np.testing.assert_array_equal(
        fitted.scores(TEXTS[:5]), load_model(tmp_path / "one.model", mapped=True).scores(TEXTS[:5])
    )
    save(again, tmp_path / "two.model")
    assert (tmp_path / "one.model").read_bytes() == (tmp_path / "two.model").read_bytes()
    classifier = TextClassifier.load(tmp_path / "one.model")
    assert classifier.predict(list(TEXTS)).tolist() == fitted.predict(list(TEXTS)).tolist()


@pytest.mark.parametrize("name", ["softmax-subwords", "softmax-subwords-factors", "ova", "hs", "pruned"])
def test_an_explanation_adds_up_to_the_score(imported, name):
    fitted = imported(KINDS[name])
    text = "the of unknown привет"
    explanation = fitted.explain(text)
    scores = fitted.scores([text])[0]
    chosen = fitted.class_index(explanation.label)
    assert explanation.label == fitted.predict([text])[0]
    lead = scores[chosen] - (scores.mean() if fitted.scorer.meaning.exclusive else 0.0)
    np.testing.assert_allclose(explanation.score, lead, atol=1e-4)
    np.testing.assert_allclose(explanation.base + sum(one.value for one in explanation.evidence), lead, atol=1e-4)
    assert explanation.exact == (fitted.scorer.loss != "hs")
    for one in explanation.evidence:
        for start, end in one.places:
            inside = text[start:end]
            assert any(inside in name for name in one.term.split(" or ")) or one.term.startswith("</s>")


def test_strongest_terms_are_the_words_with_the_highest_outputs(imported):
    for fold in (True, False):
        fitted = imported(FastTextParts(), fold=fold)
        alone = fitted.scorer.raw(fitted.scorer.dense_rows[: len(WORDS)].astype(float))
        lead = alone[:, 0] - alone.mean(axis=1)
        (word, value), *_ = fitted.strongest_terms("c0", 3)
        assert word == WORDS[int(lead.argmax())]
        assert value == pytest.approx(lead.max(), rel=1e-5)
    assert imported(KINDS["hs"]).strongest_terms("c0") == []


def test_what_it_cannot_do_it_says(imported):
    classifier = TextClassifier.from_fitted(imported(FastTextParts()))
    for change in (lambda: classifier.partial_fit(["the"], ["c0"]), lambda: classifier.forget(["the"], ["c0"])):
        with pytest.raises(UnnaiveError, match="its file has only weights, without counts or documents"):
            change()
    with pytest.raises(UnnaiveError, match="imported with `unnaive import`"):
        TextClassifier("fasttext").fit(["good ball", "fair vote"], [0, 1])


def test_compression_rounds_and_then_leaves_rows_out(imported):
    fitted = imported(FastTextParts(**{"bucket": 3000, "minn": 2, "maxn": 4}))
    whole = file_size(fitted)
    small = compress_model(fitted, whole // 3)
    assert (small.bits, small.bytes <= whole // 3, small.terms) == (8, True, len(WORDS))
    step = small.fitted.scorer.step
    np.testing.assert_allclose(small.fitted.scorer.dense_rows, fitted.scorer.dense_rows, atol=0.51 * float(step.max()))
    fewer = compress_model(fitted, whole // 5)
    assert fewer.bytes <= whole // 5
    assert len(fewer.fitted.scorer.dense_rows) < len(fitted.scorer.dense_rows)
    assert "</s>" in fewer.fitted.vocabulary
    with pytest.raises(UnnaiveError, match="with one row; allow more"):
        compress_model(fitted, 100)


@pytest.mark.parametrize("name", ["softmax-subwords", "pruned", "softmax-factors"])
def test_keeping_all_rows_changes_nothing(imported, name):
    fitted = imported(KINDS[name])
    scorer, vocabulary = keep_rows(fitted.scorer, fitted.vocabulary, np.arange(len(fitted.scorer.dense_rows)))
    same = replace(fitted, scorer=scorer, vocabulary=vocabulary)
    np.testing.assert_array_equal(same.scores(list(TEXTS)), fitted.scores(list(TEXTS)))


# Files that are broken or hostile.


@pytest.mark.slow
def test_a_file_that_is_cut_short_anywhere_is_refused(tmp_path):
    content = write_fasttext(KINDS["pruned"].with_(words=("</s>", "the"), dim=2))
    path = tmp_path / "cut.ftz"
    for size in [*range(0, 400, 7), *range(400, len(content), 211), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(BadModel, match=r"cut\.ftz: "):
            import_fasttext(path)
    path.write_bytes(content + b"x")
    with pytest.raises(BadModel, match="1 bytes follow after its end"):
        import_fasttext(path)


CHANGES = {
    "not a fastText model": (0, "<i", 5),
    "version 13": (4, "<i", 13),
    "its dim is 0": (8, "<i", 0),
    "its loss": (32, "<i", 9),
    "word vectors but no classifier": (36, "<i", 1),
    "no buckets": (40, "<i", 0),
    "its maxn is -1": (48, "<i", -1),
    "its maxn is 1000000": (48, "<i", 1_000_000),
    "sizes of its dictionary": (64, "<i", 2_000_000_000),
    "ends in the middle": (84, "<q", 1 << 60),
}


@pytest.mark.parametrize("words", sorted(CHANGES))
def test_what_cannot_be_gets_a_sentence(tmp_path, words):
    place, form, value = CHANGES[words]
    content = bytearray(write_fasttext(KINDS["pruned"]))
    struct.pack_into(form, content, place, value)
    path = tmp_path / "bad.bin"
    path.write_bytes(content)
    with pytest.raises(BadModel, match=words):
        import_fasttext(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(imported, value):
    rows = np.ones((len(WORDS), 8))
    rows[3, 2] = value
    for fold in (True, False):
        with pytest.raises(BadModel, match="weights that are NaN or too large"):
            imported(FastTextParts(matrices={"input": rows}), fold=fold)


@pytest.mark.parametrize("place", ["centroids", "norms"])
@pytest.mark.parametrize("fold", [True, False])
def test_numbers_that_quantised_rows_might_have_are_bounded(tmp_path, place, fold):
    """Each of them, used by a code or not, times any length: else the model cannot be saved, or scores become NaN."""
    content = bytearray(write_fasttext(KINDS["pruned"]))
    flag = content.index(struct.pack("<??2q", True, True, len(WORDS) + len(KEPT), 8))
    start = flag + 22 + (len(WORDS) + len(KEPT)) * 4 + 16
    last = {"centroids": start + 4 * 255, "norms": start + 4 * 8 * 256 + len(WORDS) + len(KEPT) + 16 + 4 * 255}
    path = tmp_path / "a.ftz"
    for value in (np.nan, -np.inf, 1e20):
        struct.pack_into("<f", content, last[place], value)
        path.write_bytes(content)
        with pytest.raises(BadModel, match="weights that are NaN or too large"):
            import_fasttext(path, fold=fold)
    struct.pack_into("<f", content, last[place], 1.0)
    path.write_bytes(content)
    assert import_fasttext(path, fold=fold).classes


def test_a_part_of_a_quantiser_may_be_wider_than_the_matrix(imported, tmp_path):
    """fastText writes its `-dsub 2` beside one dimension, too."""
    fitted = imported(FastTextParts(dim=1, quantised=True, dsub=2))
    save(fitted, tmp_path / "a.model")
    np.testing.assert_array_equal(load_model(tmp_path / "a.model").scores(["the of"]), fitted.scores(["the of"]))


@pytest.mark.parametrize("scale", [3e14, 1e14])
def test_weights_as_large_as_any_that_are_read_can_be_saved_and_compressed(imported, tmp_path, scale):
    for parts in (FastTextParts(), FastTextParts(dim=3)):
        rows = np.full((len(WORDS), parts.dim), scale)
        fitted = imported(parts.with_(matrices={"input": rows, "output": np.full((5, parts.dim), scale)}))
        for one in (fitted, replace(fitted, scorer=rounded(fitted.scorer, 8))):
            save(one, tmp_path / "a.model")
            scores = load_model(tmp_path / "a.model").scores(["the of", ""])
            assert np.isfinite(scores).all()


def test_an_entry_of_the_dictionary_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(binary_file, "READ_AHEAD", 1000)
    (tmp_path / "a.bin").write_bytes(write_fasttext(FastTextParts(words=("</s>", "a" * 900))))
    assert import_fasttext(tmp_path / "a.bin").predict(["a"]).tolist()
    (tmp_path / "a.bin").write_bytes(write_fasttext(FastTextParts(words=("</s>", "a" * 3000))))
    with pytest.raises(BadModel, match="an entry of more than 1,000 bytes"):
        import_fasttext(tmp_path / "a.bin")


def test_labels_that_are_no_labels_are_refused(imported):
    with pytest.raises(BadModel, match="a repeated or an empty label"):
        imported(FastTextParts(labels=("__label__a", "__label__a")))
    with pytest.raises(BadModel, match="no labels"):
        imported(FastTextParts(labels=()))


def test_a_word_that_comes_twice_is_its_last_row(imported):
    matrices = {"input": [[0.0], [5.0], [-5.0]], "output": [[1.0], [0.0]]}
    labels = ("__label__x", "__label__y")
    fitted = imported(FastTextParts(words=("</s>", "a", "a"), labels=labels, dim=1, matrices=matrices))
    assert fitted.predict(["a"]).tolist() == ["y"]


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_a_damaged_file_is_refused_or_scores_texts(tmp_path_factory, name, changes):
    content = bytearray(write_fasttext(KINDS[name]))
    for share, value in changes:
        head = min(len(content) - 1, 2000)  # where a byte decides most
        content[int(share * head)] = value
    path = tmp_path_factory.getbasetemp() / "damaged.bin"
    path.write_bytes(content)
    with suppress(BadModel), np.errstate(all="ignore"):
        fitted = import_fasttext(path)
        assert fitted.scores(list(TEXTS)).shape == (len(TEXTS), len(fitted.classes))


DAMAGES = {
    "it has no rows": lambda arrays, about: arrays.pop("scorer.rows"),
    "rows has the type": lambda arrays, about: arrays.update({"scorer.rows": arrays["scorer.rows"].astype(np.int32)}),
    "its places has values": lambda arrays, about: arrays["scorer.places"].fill(9),
    "labels and classes do not match": lambda arrays, about: arrays["scorer.places"].fill(1),
    "fewer rows than words and n-grams": lambda arrays, about: about["scorer"]["settings"].update(bucket=10**6),
    "its maxn is": lambda arrays, about: about["scorer"]["settings"].update(maxn=10**6),
    "its loss": lambda arrays, about: about["scorer"]["settings"].update(loss="l2"),
    "settings have more": lambda arrays, about: about["scorer"]["settings"].update(more=1),
    "its rows has values": lambda arrays, about: arrays["scorer.rows"].fill(np.nan),
    "does not fit its vocabulary": lambda arrays, about: about["scorer"]["settings"].update(n_words=3),
}


@pytest.mark.parametrize("words", sorted(DAMAGES))
def test_a_model_file_with_something_else_in_it_is_refused(imported, tmp_path, words):
    path = tmp_path / "damaged.model"
    save(imported(KINDS["softmax-subwords"]), path)
    rewrite(path, DAMAGES[words])
    with pytest.raises(BadModel, match=words):
        load_model(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax-subwords-factors", "pruned-hs-factors", "output-quantised"])
def test_every_array_is_known_by_its_type_and_shape(imported, tmp_path, name):
    path, copy = tmp_path / "whole.model", tmp_path / "copy.model"
    save(imported(KINDS[name]), path)
    for array in read_parts(path)[0]:
        for change in (
            lambda parts, about, n=array: parts.update({n: parts[n].astype(np.float16)}),
            lambda parts, about, n=array: parts.update({n: parts[n][None]}),
        ):
            copy.write_bytes(path.read_bytes())
            rewrite(copy, change)
            with pytest.raises(BadModel):
                load_model(copy)


def test_version_11_has_no_character_ngrams(tmp_path):
    path = tmp_path / "old.bin"
    path.write_bytes(write_fasttext(KINDS["version-11"]))
    assert read_fasttext_file(path).settings["maxn"] == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_folded_word_whose_grams_add_up_to_infinity_is_refused(imported, tmp_path, sign):
    """Infinities of both signs add up to NaN, of which no label is the largest."""
    words = ("</s>", "a" * 999, "b" * 999)
    parts = FastTextParts(words=words, labels=("__label__a", "__label__b"), dim=2, bucket=50, minn=1, maxn=6)
    fitted = imported(parts, fold=True)
    save(fitted, tmp_path / "a.model")
    (name,) = (name for name in read_parts(tmp_path / "a.model")[0] if name.endswith(".rows"))
    rewrite(tmp_path / "a.model", lambda arrays, _: arrays[name].fill(sign * 9e34))
    with pytest.raises(BadModel, match="weights that are NaN or too large"):
        load_model(tmp_path / "a.model")
    huge = {"input": np.full((52, 2), 9e14 * sign), "output": np.full((2, 2), 9e14)}
    with pytest.raises(BadModel, match="weights that are NaN or too large"):
        imported(parts.with_(words=("</s>", "a" * 1_000_000), matrices=huge), fold=True)


NO_NUMBERS = """
import numpy as np
from unnaive.models.fasttext.score_texts import kernel

n_labels = int(sys.argv[1])
for loss in (1, 2, 3, 4):
    for value in (np.nan, np.inf, -np.inf):
        for place in range(-1, n_labels):
            rows = np.zeros((2, n_labels), np.float32)
            rows[:, slice(None) if place < 0 else place] = value
            children = np.array([[0, 1]] + [[n + 1, n_labels + n - 1] for n in range(1, n_labels - 1)], np.int32)
            blob = np.frombuffer(b"ab", np.uint8)
            engine = kernel.Engine(
                blob, np.array([0, 1, 2]), 2, 0, 0, 0, 1, None, rows, None, None, loss,
                children if loss == 1 else np.zeros((0, 2), np.int32), np.arange(n_labels),
            )
            texts, best, scores = ["a b", "a", ""], np.empty(3, np.int64), np.empty((3, n_labels))
            engine.best(texts, best, 1)
            assert ((best >= 0) & (best < n_labels)).all(), (loss, value, place, best)
            engine.scores(texts, scores, np.empty(3, np.int64), 1)
            for k in (1, 2, -1):
                engine.top(texts, k, 0.0, [str(label) for label in range(n_labels)])
            for k in (0, -2):
                try:
                    engine.top(texts, k, 0.0, [str(label) for label in range(n_labels)])
                except ValueError as problem:
                    assert "at least 1" in str(problem)
                else:
                    raise AssertionError(k)
"""


@pytest.mark.skipif(score_texts.kernel is None, reason="built without a compiler")
@pytest.mark.parametrize("n_labels", ["2", "3", "9", "40"])
def test_the_decision_is_a_label_even_if_outputs_are_no_numbers(n_labels):
    run_apart("import sys\n" + NO_NUMBERS, n_labels)
