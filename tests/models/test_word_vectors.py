"""Word vectors: the value, the view of `auto` over them, and that a model with them updates, forgets and merges."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from unnaive import TextClassifier
from unnaive.base.errors import BadData, BadModel, UnnaiveError
from unnaive.classifier.compress import compress_model, file_size
from unnaive.classifier.model_file import load_model
from unnaive.data.word_vectors import WordVectors
from unnaive.models.auto.views import VECTORS
from unnaive.models.vectors.word_view import VectorView
from unnaive.text.tokens import TokenRule

pytestmark = pytest.mark.slow

SPORT = ["goal", "ball", "team", "coach", "match", "player", "league", "keeper"]
POLITICS = ["vote", "law", "minister", "budget", "senate", "party", "election", "tax"]
OTHERS = ["the", "of", "and", "new", "late", "won", "lost", "second"]
NEW_TEXTS = ["keeper league", "election tax", "the player of the match", "a party in the senate"]
NEW_LABELS = ["sport", "politics", "sport", "politics"]


def make_vectors(seed=0, n_dims=8):
    """Words of a topic near each other, in the order of a frequency list."""
    random = np.random.default_rng(seed)
    centres = {"sport": random.normal(size=n_dims), "politics": random.normal(size=n_dims), "": np.zeros(n_dims)}
    topics = [*("" for _ in OTHERS), *("sport" for _ in SPORT), *("politics" for _ in POLITICS)]
    vectors = [centres[topic] + 0.3 * random.normal(size=n_dims) for topic in topics]
    return WordVectors.of([*OTHERS, *SPORT, *POLITICS], np.array(vectors))


def make_texts(n=24, seed=1):
    """Texts of the first five words of each topic: the other three are known by their vectors alone."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for number in range(n):
        label, words = [("sport", SPORT), ("politics", POLITICS)][number % 2]
        texts.append(" ".join([*random.choice(words[:5], 2), *random.choice(OTHERS, 3)]))
        labels.append(label)
    return texts, labels


VECTORS_OF_WORDS = make_vectors()
TEXTS, LABELS = make_texts()


@pytest.fixture(scope="module")
def model():
    return TextClassifier(budget="fast", analyzer="both", ngrams=(1, 2), word_vectors=VECTORS_OF_WORDS).fit(
        TEXTS, LABELS
    )


def bytes_of(model, folder, **options):
    model.save(folder / "one.model", **options)
    return (folder / "one.model").read_bytes()


class TestWordVectors:
    def test_vectors_are_those_given_up_to_their_length_and_eight_bits(self):
        table = np.random.default_rng(0).normal(size=(50, 16))
        units = WordVectors.of([f"w{n}" for n in range(50)], table).units
        cosines = (units * table / np.linalg.norm(table, axis=1, keepdims=True)).sum(axis=1)
        np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1, rtol=1e-6)
        assert cosines.min() > 0.9999

    def test_words_again_and_words_without_a_vector_are_left_out_and_the_first_are_kept(self):
        found = WordVectors.of(["a", "b", "a", "c", "d"], [[1, 0], [0, 0], [0, 1], [0, 2], [3, 3]], limit=3)
        assert found.words.terms == ["a", "c"]
        assert found.codes.tolist() == [[127, 0], [0, 127]]

    def test_terms_are_those_that_the_token_rule_makes_of_the_words(self):
        found = WordVectors.of(["Voting", "votes", "New York", "I", "tax"], np.eye(5))
        assert found.as_terms(TokenRule()).words.terms == ["voting", "votes", "tax"]
        assert found.as_terms(TokenRule(stem="porter")).words.terms == ["vote", "tax"]
        assert found.as_terms(TokenRule(stem="porter")).codes[0].tolist() == found.codes[0].tolist()
        assert found.as_terms(TokenRule(lowercase=False)).words.terms[0] == "Voting"

    def test_arrays_copies_and_pickles_give_an_equal_value(self):
        one = VECTORS_OF_WORDS
        assert WordVectors.from_arrays(one.to_arrays()) == one == pickle.loads(pickle.dumps(one))  # noqa: S301  # our own
        assert copy.deepcopy(one) is one
        assert hash(one) == hash(make_vectors())
        assert one != make_vectors(seed=5)

    @pytest.mark.parametrize(
        ("words", "vectors"),
        [(["a"], [[1.0], [2.0]]), (["a"], [["x"]]), ([], np.zeros((0, 2))), (["a"], [[0.0]]), (["a"], [[np.nan]])],
    )
    def test_what_is_no_table_of_vectors_is_refused(self, words, vectors):
        with pytest.raises(BadData):
            WordVectors.of(words, vectors)

    @pytest.mark.parametrize("name", ["bytes", "offsets", "codes"])
    def test_damaged_arrays_are_refused(self, name):
        arrays = VECTORS_OF_WORDS.to_arrays()
        for damaged in (arrays[name][:-1], arrays[name].astype(np.float32), np.zeros_like(arrays[name])):
            with pytest.raises(BadModel):
                WordVectors.from_arrays(arrays | {name: damaged})


class TestView:
    def test_folded_weights_score_as_the_means_of_vectors_do(self):
        random = np.random.default_rng(2)
        X = csr_array(random.poisson(0.4, size=(30, len(VECTORS_OF_WORDS.words))))
        vectors = VECTORS_OF_WORDS.over(VECTORS_OF_WORDS.words)
        view = VectorView.of(X, vectors)
        means = view.rows(X).toarray()
        np.testing.assert_allclose(means.mean(axis=0), 0, atol=1e-4)
        np.testing.assert_allclose((means.std(axis=0) ** 2).mean(), 1, atol=1e-3)
        weights, bias = random.normal(size=(3, 8)), random.normal(size=3)
        folded, offset = view.fold((weights, bias))
        np.testing.assert_allclose(
            view.weighting.apply(X) @ folded.T + offset, means @ weights.T + bias, rtol=1e-3, atol=1e-3
        )

    def test_the_mean_by_hand(self):
        vectors = WordVectors.of(["a", "b"], [[1.0, 0.0], [0.0, 1.0]])
        view = VectorView.of(csr_array([[1, 0], [0, 1]]), vectors.over(vectors.words))
        # centred, the two words are opposite: ±1 in the first dimension, 0 in the second, so the mean variance is ½
        np.testing.assert_allclose(view.mean, 0, atol=1e-6)
        np.testing.assert_allclose(view.spread, [np.sqrt(0.5)] * 2, rtol=1e-6)
        rows = view.rows(csr_array([[5, 0], [0, 2], [0, 0]])).toarray()
        np.testing.assert_allclose(np.abs(rows), [[np.sqrt(2), 0], [np.sqrt(2), 0], [0, 0]], atol=1e-6)
        np.testing.assert_allclose(rows[0], -rows[1], atol=1e-6)


class TestModel:
    def test_words_that_training_never_saw_count(self, model):
        assert any(one["view"] == VECTORS for one in model.fitted_.provenance.recipe["members"])
        assert model.predict(NEW_TEXTS).tolist() == NEW_LABELS
        assert {"keeper", "tax"} <= set(model.vocabulary_.terms)
        assert model.fitted_.known_terms(["keeper league", "qwertz"]).tolist() == [2, 0]

    def test_texts_are_scored_alike_in_the_kernel_in_numpy_and_by_their_explanation(self, model):
        texts = [*TEXTS, *NEW_TEXTS, "", "nothing known"]
        fitted = model.fitted_
        X = fitted.reader._counter.count(texts)
        expected = np.tile(fitted.scorer.bias, (len(texts), 1))
        for columns, linear in fitted.scorer.parts:
            expected += linear.scores(X[:, columns])
        np.testing.assert_allclose(fitted.scores(texts), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fitted.scorer.scores(X), expected, rtol=1e-9, atol=1e-9)
        for text, row in zip(NEW_TEXTS, fitted.scores(NEW_TEXTS), strict=True):
            found = model.explain(text, "sport", against="politics")
            assert found.exact
            places = [list(fitted.classes).index(label) for label in ("sport", "politics")]
            total = found.base + sum(one.value for one in found.evidence)
            assert np.isclose(total, row[places[0]] - row[places[1]])

    @pytest.mark.slow
    def test_updates_merges_and_forgetting_give_the_bytes_of_training_at_once(self, model, tmp_path):
        expected = bytes_of(model, tmp_path)
        parameters = model.get_params()
        some = TextClassifier(**parameters).fit(TEXTS[:14], LABELS[:14])
        rest = TextClassifier(**parameters).fit(TEXTS[14:], LABELS[14:])
        some.save(tmp_path / "some.model")
        updated = TextClassifier.load(tmp_path / "some.model").partial_fit(TEXTS[14:], LABELS[14:])
        assert bytes_of(updated, tmp_path) == expected
        assert bytes_of(some.merge(rest), tmp_path) == expected
        more = TextClassifier(**parameters).fit([*TEXTS, "quite other words"], [*LABELS, "sport"])
        assert bytes_of(more.forget(["quite other words"], ["sport"]), tmp_path) == expected

    @pytest.mark.slow
    def test_a_choice_that_is_kept_keeps_the_view(self, model):
        kept = clone(model).fit(TEXTS, LABELS).partial_fit(NEW_TEXTS, NEW_LABELS, search="keep")
        assert kept.fitted_.choice_kept
        assert len(kept.fitted_.scorer.parts) == len(model.fitted_.scorer.parts)
        assert kept.predict(NEW_TEXTS).tolist() == NEW_LABELS

    def test_files_hold_the_vectors_and_frozen_ones_do_not(self, model, tmp_path):
        whole = bytes_of(model, tmp_path)
        loaded = load_model(tmp_path / "one.model")
        assert loaded.spec.word_vectors == VECTORS_OF_WORDS
        np.testing.assert_array_equal(loaded.scores(NEW_TEXTS), model.scores(NEW_TEXTS))
        assert len(bytes_of(model, tmp_path, frozen=True)) < len(whole)
        frozen = load_model(tmp_path / "one.model")
        assert frozen.spec.word_vectors is None
        np.testing.assert_array_equal(frozen.scores(NEW_TEXTS), model.scores(NEW_TEXTS))

    @pytest.mark.slow
    def test_models_made_smaller_still_know_them(self, model):
        small = compress_model(model.fitted_, file_size(model.fitted_, frozen=True) * 3 // 4)
        assert small.lossy
        assert small.fitted.predict(NEW_TEXTS).tolist() == NEW_LABELS

    def test_selection_of_terms_leaves_words_with_vectors(self):
        chosen = TextClassifier(budget="fast", word_vectors=VECTORS_OF_WORDS, select=5).fit(TEXTS, LABELS)
        (words, _), *dense = chosen.fitted_.scorer.parts
        assert len(words) == 5
        assert [len(columns) for columns, _ in dense] == [len(VECTORS_OF_WORDS.words)] * 2
        assert chosen.predict(NEW_TEXTS).tolist() == NEW_LABELS

    def test_sample_weights_and_class_weights_are_heard(self):
        weighted = TextClassifier(budget="fast", word_vectors=VECTORS_OF_WORDS, class_weight="balanced")
        weighted.fit(TEXTS, LABELS, sample_weight=np.linspace(0.5, 2, len(TEXTS)))
        assert weighted.predict(NEW_TEXTS).tolist() == NEW_LABELS

    @pytest.mark.slow
    def test_models_with_other_vectors_are_not_merged(self, model):
        other = clone(model).set_params(word_vectors=make_vectors(seed=3)).fit(TEXTS, LABELS)
        with pytest.raises(UnnaiveError, match="different word vectors"):
            clone(model).fit(TEXTS, LABELS).merge(other)

    @pytest.mark.parametrize("name", ["svm", "nbsvm", "maxent"])
    def test_linear_models_have_them_beside_the_words(self, name, tmp_path):
        model = TextClassifier(name, word_vectors=VECTORS_OF_WORDS).fit(TEXTS, LABELS)
        assert model.predict(NEW_TEXTS).tolist() == NEW_LABELS
        part = TextClassifier(name, word_vectors=VECTORS_OF_WORDS).fit(TEXTS[:-4], LABELS[:-4])
        part.partial_fit(TEXTS[-4:], LABELS[-4:])
        assert (part.scores(NEW_TEXTS) == model.scores(NEW_TEXTS)).all()
        model.save(tmp_path / "m.model")
        assert (TextClassifier.load(tmp_path / "m.model").scores(NEW_TEXTS) == model.scores(NEW_TEXTS)).all()
        found = model.explain(NEW_TEXTS[0])
        assert found.score == pytest.approx(found.base + sum(one.value for one in found.evidence))

    @pytest.mark.parametrize("name", ["svm", "auto"])
    def test_multilabel_documents_have_them_too(self, name):
        model = TextClassifier(name, word_vectors=VECTORS_OF_WORDS).fit(TEXTS, [[label] for label in LABELS])
        found = np.asarray(model.scores(NEW_TEXTS))
        assert model.classes_[found.argmax(axis=1)].tolist() == NEW_LABELS
        # of words that are known by their vectors alone, one of auto's eight members has any evidence
        assert [set(one) for one in model.predict(NEW_TEXTS)] == [{label} for label in NEW_LABELS]

    def test_other_models_refuse_them(self):
        with pytest.raises(UnnaiveError, match="cannot use word vectors"):
            TextClassifier("multinomial", word_vectors=VECTORS_OF_WORDS).fit(TEXTS, LABELS)
        with pytest.raises(UnnaiveError, match='vectors need solver="lbfgs"'):
            TextClassifier("maxent", solver="gis", word_vectors=VECTORS_OF_WORDS).fit(TEXTS, LABELS)
        with pytest.raises(UnnaiveError, match="vectors came as int"):
            TextClassifier(word_vectors=3).fit(TEXTS, LABELS)
