"""The vectorizers give scikit-learn's matrix, bit for bit: on drawn texts of all scripts, settings and collections."""

import io
import logging
import pickle
import random
import subprocess
import sys
import unicodedata
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import text as theirs

import unnaive
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.interop.vectorizers import kernel_rule as rules
from unnaive.papers.collections import load
from unnaive.text import python_text
from unnaive.text.backend import BACKEND

pytestmark = pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")

# what lower-casing, accents, word characters, spaces and surrogates get wrong
FRAGMENTS = [
    *"abcABCzZ09 _-.'  \n\t\x00\x01\x1c\x85\xa0ıİğŞςσΣ",
    *"\u0345\u0301\u0307½²℡℃KÅﷺﬁ\ud800\udfff\u200d\u200b\u2028\u3000\ufeff中国한글กา𝔘😀\U0010ffffÉßẞǄևŉ٣Ⅷⅷ",
    "ΟΔΟΣ", "ΑΣ.", "हिन्दी", "e\u0301", "the", "and", "word", "Words", "x" * 13, "é" * 40, "__", "İSTANBUL",
]  # fmt: skip
FOOD = ["the pizza burger", "the salad, the SALAD!", "", "a_b x naïve Straße", "ΟΔΟΣ"]


def assert_same(ours, wanted, *about):
    """The same type, shape, dtypes and bytes."""
    assert type(ours) is type(wanted), about
    assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype), about
    for part in ("indptr", "indices", "data"):
        mine, his = getattr(ours, part), getattr(wanted, part)
        assert mine.dtype == his.dtype, (part, *about)
        assert mine.tobytes() == his.tobytes(), (part, *about)


def outcome(call):
    """The result of the call, or the type and sentence of its error."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def assert_alike(name, texts, others, **options):
    """Both sides fit `texts` and transform `others`, or fail with the same sentence."""
    ours, peer = getattr(unnaive, name)(**options), getattr(theirs, name)(**options)
    for method, documents in (("fit_transform", texts), ("transform", others)):
        found, wanted = (outcome(partial(getattr(side, method), documents)) for side in (ours, peer))
        if isinstance(wanted, tuple):
            assert found == wanted, options
            return
        assert_same(found, wanted, name, method, options)
    if name != "HashingVectorizer":
        assert np.array_equal(ours.get_feature_names_out(), peer.get_feature_names_out())
        assert list(ours.vocabulary_.items()) == list(peer.vocabulary_.items())


def drawn_text(rng):
    if rng.random() < 0.3:
        limits = (0x300, 0x3000, 0x20000, sys.maxunicode + 1)
        return "".join(chr(rng.randrange(rng.choice(limits))) for _ in range(rng.randrange(40)))
    return "".join(rng.choice(FRAGMENTS) for _ in range(rng.randrange(40)))


def drawn_options(rng):
    shortest = rng.choice([1, 1, 1, 2, 3])
    options = {
        "analyzer": rng.choice(["word", "word", "char", "char_wb"]),
        "ngram_range": (shortest, shortest + rng.choice([0, 0, 1, 2])),
        "lowercase": rng.random() < 0.7,
        "strip_accents": rng.choice([None, None, "unicode", "ascii"]),
        "binary": rng.random() < 0.2,
    }
    if options["analyzer"] == "word":
        options["stop_words"] = rng.choice([None, None, "english", ["word", "the", "zz", "ab"]])
        options["token_pattern"] = rng.choice([r"(?u)\b\w\w+\b"] * 4 + [r"\w+"])
    return options


def compare_drawn(seed, rounds, n_texts):
    rng = random.Random(seed)
    for number in range(rounds):
        texts, others = ([drawn_text(rng) for _ in range(n)] for n in (rng.randrange(1, 2 * n_texts), 4))
        options = drawn_options(rng)
        limits = {
            "min_df": rng.choice([1, 1, 2, 0.3]),
            "max_df": rng.choice([1.0, 1.0, 0.5, 3]),
            "max_features": rng.choice([None, None, 1, 5, 50]),
            "dtype": rng.choice([np.int64, np.float32, np.float64]),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # stop words, dtypes: both sides warn
            assert_alike("CountVectorizer", texts, others, **options, **limits)
            if number % 4 and rounds > 100:  # the others count through the same code
                continue
            tfidf = {"sublinear_tf": rng.random() < 0.3, "smooth_idf": rng.random() < 0.7}
            assert_alike("TfidfVectorizer", texts, others, **options, **limits | tfidf)
            hashing = {"n_features": rng.choice([7, 64, 1 << 20]), "alternate_sign": rng.random() < 0.5}
            assert_alike(
                "HashingVectorizer", texts, others, **options, **hashing, norm=rng.choice([None, "l1", "l2"])
            )  # a lone surrogate in characters is an error of both sides


def test_drawn_texts_and_settings_give_the_same_matrix():
    compare_drawn(seed=0, rounds=60, n_texts=6)


@pytest.mark.slow
def test_a_hundred_thousand_drawn_texts_give_the_same_matrix():
    compare_drawn(seed=1, rounds=500, n_texts=200)  # 200 in the mean, 100,000 in all


def test_tables_of_characters_are_those_of_this_python():
    """Only İ has a lower-case form of several characters, and no block with decompositions is left out."""
    several = [c for c in range(sys.maxunicode + 1) if len(chr(c).lower()) > 1]
    assert several == [python_text.DOTTED_I]
    rest = set(range(0, sys.maxunicode + 1, 256)) - set(python_text.DECOMPOSED)
    for block in sorted(rest):
        characters = "\n".join(map(chr, range(block, block + 256)))
        assert unicodedata.normalize("NFKD", characters.lower()) == characters.lower()
        assert not any(map(unicodedata.combining, characters.lower()))


ASSIGNED = (*range(0x3400), *range(0x4DC0, 0x4E10), *range(0xA000, 0xAC10), *range(0xD7A0, 0x20000),
            *range(0x2F800, 0x2FA40), *range(0xE0000, 0xE0200), *range(0x3400, sys.maxunicode, 997))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"strip_accents": "unicode"},
        {"strip_accents": "ascii"},
        {"strip_accents": "ascii", "lowercase": False},
        {"analyzer": "char_wb"},
    ],
)
def test_every_character_is_read_as_python_reads_it(settings):
    """All characters but most of the ideographs and of the syllables of Hangul."""
    texts = [f"ab{chr(c)}cd {chr(c)}e" for c in ASSIGNED]
    wanted = theirs.CountVectorizer(**settings).fit_transform(texts)
    assert_same(unnaive.CountVectorizer(**settings).fit_transform(texts), wanted, settings)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["20newsgroups", "1150haber", "reuters", "ohsumed", "webkb4", "banking77"])
def test_collections_give_the_same_matrix(name):
    texts = list(load(name).texts)
    texts = texts[:: 1 + len(texts) // 700]
    for options in ({}, {"ngram_range": (1, 2), "stop_words": "english"}, {"strip_accents": "unicode", "min_df": 3}):
        assert_alike("CountVectorizer", texts, texts[:50], **options)
    assert_alike("TfidfVectorizer", texts, texts[:50], sublinear_tf=True)
    assert_alike("HashingVectorizer", texts, texts[:50])
    assert_alike("CountVectorizer", texts[::10], texts[:50], analyzer="char_wb", ngram_range=(2, 4))


@pytest.mark.parametrize("analyzer", ["word", "char_wb", "char"])
def test_hostile_texts(analyzer):
    texts = ["x" * (1 << 20), "é" * 200_000, "", " ", "\u200d", "a\u0301" * 3000, "\x00\x00", "Σ" * 1000, "aΣ" * 9000]
    assert_alike("CountVectorizer", texts, texts, analyzer=analyzer, ngram_range=(1, 2))


@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (2, 4)}])
def test_any_number_of_threads_gives_the_same_bytes(options):
    rng = random.Random(2)
    texts = [drawn_text(rng) for _ in range(4000)]  # several times the text that is worth a thread
    for name in ("CountVectorizer", "HashingVectorizer"):
        settings = dict(options, norm=None) if name == "HashingVectorizer" else options
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
        one, many = (getattr(unnaive, name)(**settings, n_jobs=n) for n in (1, 3))
        assert_same(many.fit_transform(texts), one.fit_transform(texts))
        assert_same(many.transform(texts[::-1]), one.transform(texts[::-1]))


@pytest.mark.parametrize(
    "settings", [{}, {"decode_error": "ignore"}, {"encoding": "cp1252"}, {"decode_error": "replace"}]
)
def test_bytes_and_files_are_decoded_as_scikit_learn_does(tmp_path, settings):
    contents = ["naïve Straße".encode("cp1252"), b"plain", "ΟΔΟΣ naïve".encode()]
    paths = [tmp_path / str(i) for i in range(3)]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    for options, documents in (
        (settings, lambda: contents),
        ({**settings, "input": "filename"}, lambda: paths),
        ({**settings, "input": "file"}, lambda: [io.BytesIO(content) for content in contents]),
    ):
        ours, peer = unnaive.CountVectorizer(**options), theirs.CountVectorizer(**options)
        try:
            wanted = peer.fit_transform(documents())
        except UnicodeDecodeError as error:
            with pytest.raises(UnicodeDecodeError, match=error.reason):
                ours.fit_transform(documents())
            continue
        assert_same(ours.fit_transform(documents()), wanted)


@pytest.mark.parametrize("documents", ["one text", [np.nan], [None], [3], ["a", "b"], []])
@pytest.mark.parametrize("name", ["CountVectorizer", "TfidfVectorizer", "HashingVectorizer"])
def test_errors_are_those_of_scikit_learn(documents, name):
    wanted = outcome(partial(getattr(theirs, name)().fit_transform, documents))
    found = outcome(partial(getattr(unnaive, name)().fit_transform, documents))
    if isinstance(wanted, tuple):
        assert found == wanted
    else:
        assert_same(found, wanted)


def test_columns_of_pandas_polars_and_arrow():
    wanted = theirs.CountVectorizer().fit_transform(FOOD)
    series = pd.Series(FOOD, index=range(5, 10))
    for documents in (series, series.astype("string[pyarrow]"), pl.Series(FOOD), pa.array(FOOD), iter(FOOD),
                      pa.chunked_array([FOOD[:2], FOOD[2:]]), np.array(FOOD), tuple(FOOD)):  # fmt: skip
        assert_same(unnaive.CountVectorizer().fit_transform(documents), wanted, type(documents))
    with pytest.raises(BadData, match="text 1 is missing"):
        unnaive.CountVectorizer().fit(pa.array(["a b", None]))
    with pytest.raises(ValueError, match="nan is an invalid document"):
        unnaive.CountVectorizer().fit(pd.Series(["ab cd", np.nan], dtype=object))


def test_given_vocabularies():
    for vocabulary in (
        ["pizza", "zz", "the salad", "ΟΔΟΣ"],
        {"salad": 1, "the": 0, "the pizza burger": 2},
        {"a", "the"},
    ):
        for options in ({}, {"ngram_range": (1, 3)}, {"stop_words": ["the"]}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # capitals
                ours, peer = (side.CountVectorizer(vocabulary=vocabulary, **options) for side in (unnaive, theirs))
                assert_same(ours.transform(FOOD), peer.transform(FOOD))
                assert_same(ours.fit_transform(FOOD), peer.fit_transform(FOOD))
                assert ours.vocabulary_ == peer.vocabulary_


def test_a_changed_vocabulary_counts():
    ours, peer = (side.CountVectorizer().fit(FOOD) for side in (unnaive, theirs))
    for vectorizer in (ours, peer):
        vectorizer.transform(FOOD)
        vectorizer.vocabulary_["cheese"] = len(vectorizer.vocabulary_)
    assert_same(ours.transform(["cheese pizza"]), peer.transform(["cheese pizza"]))
    ours.vocabulary_ = peer.vocabulary_ = {"pizza": 0}
    assert_same(ours.transform(["cheese pizza"]), peer.transform(["cheese pizza"]))


def copied(vectorizer):
    return pickle.loads(pickle.dumps(vectorizer))  # noqa: S301 (our own)


def test_clone_repr_and_pickle():
    for name in ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"):
        ours = getattr(unnaive, name)(ngram_range=(1, 2))
        assert repr(ours) == f"{name}(ngram_range=(1, 2))"
        assert isinstance(ours, getattr(theirs, name))
        assert set(ours.get_params()) == {*getattr(theirs, name)().get_params(), "n_jobs"}
        X = ours.fit_transform(FOOD)
        assert_same(copied(ours).transform(FOOD), ours.transform(FOOD))
        assert_same(clone(ours).fit_transform(FOOD), X)
    assert type(copied(unnaive.CountVectorizer().fit(FOOD)).__dict__["vocabulary_"]) is dict


@pytest.mark.parametrize("analyzer", ["word", "char_wb", "char"])
def test_partial_fit_learns_what_fit_learns(analyzer):
    rng = random.Random(3)
    parts = [[drawn_text(rng) for _ in range(20)] for _ in range(3)]
    whole = [text for part in parts for text in part]
    for name in ("CountVectorizer", "TfidfVectorizer"):
        fitted, parted = (getattr(unnaive, name)(analyzer=analyzer, ngram_range=(1, 2)) for _ in range(2))
        fitted.fit(whole)
        for part in parts:
            parted.partial_fit(part)
        assert list(parted.vocabulary_) == list(fitted.vocabulary_)  # in the order of their first occurrence
        order = [parted.vocabulary_[term] for term in fitted.get_feature_names_out()]
        moved, wanted = parted.transform(whole)[:, order], fitted.transform(whole)
        np.testing.assert_allclose(moved.toarray(), wanted.toarray(), rtol=1e-14)  # sums of squares in another order
        if name == "TfidfVectorizer":
            assert np.array_equal(parted.idf_[order], fitted.idf_)


def test_partial_fit_keeps_columns_and_refuses_limits():
    vectorizer = unnaive.CountVectorizer().partial_fit(["good ball", "fair game"])
    before = vectorizer.get_feature_names_out().tolist()
    vectorizer.partial_fit(["a new ball", "an old vote"])
    assert vectorizer.get_feature_names_out().tolist() == [*before, "an", "new", "old", "vote"]
    with pytest.raises(UnnaiveError, match="partial_fit cannot apply min_df=2"):
        unnaive.CountVectorizer(min_df=2).partial_fit(FOOD)


def test_what_the_kernel_cannot_count_is_logged_once(caplog):
    rules._log_once.cache_clear()
    for _ in range(2):
        with caplog.at_level(logging.WARNING, logger="unnaive.vectorizers"):
            assert_alike("CountVectorizer", FOOD, FOOD, token_pattern=r"(?u)\b\w\w\w+\b")
    assert len(caplog.records) == 1
    assert "token_pattern" in caplog.text
    assert_alike("CountVectorizer", FOOD, FOOD, tokenizer=str.split, token_pattern=None)
    assert_alike("CountVectorizer", FOOD, FOOD, ngram_range=(1, 9))


class Stemming(unnaive.CountVectorizer):
    """A subclass with an analyzer of its own, as scikit-learn's guide writes it."""

    def build_analyzer(self):
        analyzer = super().build_analyzer()
        return lambda text: [word[:3] for word in analyzer(text)]


def test_the_analyzer_of_a_subclass_is_used():
    assert Stemming().fit(["pizza pizzas"]).get_feature_names_out().tolist() == ["piz"]


@pytest.mark.parametrize("name", ["CountVectorizer", "TfidfVectorizer", "HashingVectorizer"])
def test_set_output_is_there_where_scikit_learn_has_it(name):
    assert hasattr(getattr(unnaive, name)(), "set_output") == hasattr(getattr(theirs, name)(), "set_output")


def test_without_scikit_learn_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import unnaive\n"
        "try: unnaive.CountVectorizer\n"
        "except unnaive.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "counting by scikit-learn's vectorizers needs scikit-learn; install it with: pip install 'unnaive[sklearn]'\n"
    )


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 2), (1, 3)])
def test_columns_are_in_alphabetical_order_where_words_begin_alike(ngrams):
    """The places of pairs are found from those of their words: "a b" comes before "ab", since a space is before all."""
    texts = ["ab a_b ab1 ab é éa 00 ab", "a_b ab éa 我们 ab 我 我们 a_b", "ﬁ ab ab 00 é 00"]
    vectorizer = unnaive.CountVectorizer(ngram_range=ngrams, token_pattern=r"(?u)\b\w+\b").fit(texts)
    names = vectorizer.get_feature_names_out().tolist()
    assert names == sorted(names)
    assert vectorizer.vocabulary_ == {name: column for column, name in enumerate(names)}
