"""Character n-grams, counted through chunks or words ≡ the specification in tokens.py ≡ scikit-learn's char_wb."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from unnaive import TextClassifier
from unnaive.data.products import add_tf_idf, places_of
from unnaive.text.backend import BACKEND
from unnaive.text.counting import TextCounter
from unnaive.text.scoring import TfIdfPart, TfIdfTextScorer
from unnaive.text.tokens import TokenRule, spans, tokens

TEXTS = st.lists(st.text(st.sampled_from("abc İıçé7 _-.न्द中 \n"), max_size=30), max_size=5)
RANGES = st.tuples(st.integers(1, 4), st.integers(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def by_term(counter, X):
    terms = counter.vocabulary.terms
    dense = X.toarray()
    return [{terms[t]: int(n) for t, n in enumerate(row) if n} for row in dense]


@settings(deadline=None, max_examples=settings().max_examples)
@given(
    TEXTS, TEXTS, RANGES, st.sampled_from(["char", "both"]), st.sampled_from([(1, 1), (1, 2)]),
    st.sampled_from(["spaces", "words"]),
)  # fmt: skip
def test_counts_are_those_of_the_specification(texts, others, lengths, analyzer, ngrams, borders):
    rule = TokenRule(analyzer=analyzer, char_ngrams=lengths, ngrams=ngrams, stopwords=("ab",), char_borders=borders)
    counter = TextCounter(rule, backend=BACKEND)
    assert by_term(counter, counter.count(texts, grow=True)) == [dict(Counter(tokens(text, rule))) for text in texts]
    known = set(counter.vocabulary.terms)
    expected = [{term: n for term, n in Counter(tokens(text, rule)).items() if term in known} for text in others]
    assert by_term(counter, counter.count(others)) == expected


@pytest.mark.parametrize(("borders", "sign"), [("spaces", " "), ("words", "_")])
def test_grams_are_those_of_scikit_learn(borders, sign):
    texts = ["the cat sat", "cats and bananas", "a mat"]
    if borders == "spaces":
        texts += ["Why, (really)?!  No...", "x - y\tat 10:30, 5% :-)", "e-mail: ann@example.org"]
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit(texts)
    counter = TextCounter(TokenRule(analyzer="char", char_ngrams=(2, 4), char_borders=borders))
    found = by_term(counter, counter.count(texts, grow=True))
    names = ["#" + name.replace(" ", sign) for name in theirs.get_feature_names_out()]
    expected = [{names[t]: int(n) for t, n in enumerate(row) if n} for row in theirs.transform(texts).toarray()]
    assert found == expected


@pytest.mark.parametrize("borders", ["spaces", "words"])
def test_places_of_grams_lie_inside_their_word(borders):
    text = "Big (Çay)!"
    for start, end, term in spans(text, TokenRule(analyzer="char", char_ngrams=(2, 3), char_borders=borders)):
        assert term.strip("#_ ") in text[start:end].lower()


def test_rules_of_earlier_models_keep_grams_inside_words():
    written = {name: value for name, value in TokenRule(analyzer="char").to_dict().items() if name != "char_borders"}
    assert TokenRule.from_dict(written).char_borders == "words"


@pytest.mark.parametrize("analyzer", ["char", "both"])
def test_misspelt_words_are_still_evidence(analyzer):
    texts, labels = ["football match", "parliament election", "football goal", "parliament vote"], ["s", "p", "s", "p"]
    model = TextClassifier("complement", analyzer=analyzer).fit(texts, labels)
    assert model.predict(["futball", "parliamant"]).tolist() == ["s", "p"]
    assert np.allclose(model.predict_proba(["xyz"]), 0.5)


@pytest.mark.skipif(BACKEND != "native", reason="texts are scored as they are read by the kernel alone")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("analyzer", ["word", "char", "both"])
def test_tf_idf_scores_of_texts_are_those_of_their_counts(analyzer, kind):
    """Whatever kind the numbers are of, and on any number of threads, to the last bit."""
    texts = ["The cat, (the cat!) sat", "no such mat: ...", "", "dogs; DOGS & dog-eared mats 7%", "x " * 400] * 30
    counter = TextCounter(TokenRule(analyzer=analyzer, ngrams=(1, 2)))
    counter.count(texts[:4], grow=True)
    X, n_terms = counter.count(texts), len(counter.vocabulary)
    rng = np.random.default_rng(0)
    columns = np.flatnonzero(rng.random(n_terms) < 0.7)
    parts = []
    for width, place in ((n_terms, None), (len(columns), places_of(columns, n_terms))):
        idf, weights = 1 + rng.random(width).astype(kind), rng.normal(size=(width, 7)).astype(kind)
        parts.append(TfIdfPart(place, idf, weights, rng.normal(size=7).astype(kind)))
    bias = rng.normal(size=7)
    expected = np.tile(bias, (len(texts), 1))
    for part in parts:
        place = np.arange(n_terms, dtype=np.int32) if part.row_of_term is None else part.row_of_term
        assert add_tf_idf(X, place, part.idf.astype(np.float64), part.weights, expected)
        expected += part.bias
    for threads in (1, 3):
        scorer = TfIdfTextScorer(counter.rule, counter.vocabulary, bias, parts, threads=threads)
        assert np.array_equal(scorer.scores(texts), expected)
    with pytest.raises(ValueError, match="do not fit"):
        TfIdfTextScorer(counter.rule, counter.vocabulary, bias[:6], parts)
    broken = parts[1]._replace(row_of_term=np.full(n_terms, len(columns), np.int32))
    with pytest.raises(ValueError, match="do not fit"):
        TfIdfTextScorer(counter.rule, counter.vocabulary, bias, [broken])
