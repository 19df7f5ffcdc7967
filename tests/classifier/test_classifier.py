"""TextClassifier: laws of learning, labels in every form, the scikit-learn protocol, texts from every container."""

import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnknownName, UnnaiveError, UnnaiveWarning
from unnaive.learning.decisions import Argmax, Thresholds, TopK
from unnaive.models.catalogue import MODELS, find_model

WORDS = {
    "sport": ["ball", "goal", "match", "team", "player", "win", "coach", "league"],
    "politics": ["vote", "law", "party", "minister", "budget", "win", "election", "council"],
    "food": ["bread", "soup", "salt", "oven", "recipe", "party", "butter", "onion"],
}
ONLINE = sorted(name for name in MODELS if find_model(name).traits.statistic == "counts")


def documents(n, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(sorted(WORDS), n).tolist()
    everything = sorted({word for words in WORDS.values() for word in words})
    texts = [" ".join([*rng.choice(WORDS[label], 6), *rng.choice(everything, 3)]) for label in labels]
    return texts, labels


TEXTS, LABELS = documents(120)
NEW, TRUTH = documents(60, seed=1)


def same(one, two):
    """Equal as models: the same terms and classes, the same counts, bit for bit the same scores."""
    assert one.fitted_.counts == two.fitted_.counts
    np.testing.assert_array_equal(one.classes_, two.classes_)
    assert sorted(one.vocabulary_) == sorted(two.vocabulary_)
    # the vocabulary's order changes that of sums: 1e-12 is a hundred times what was seen
    np.testing.assert_allclose(one.scores(NEW), two.scores(NEW), rtol=1e-12, atol=1e-12)


def test_the_textbook_example():
    texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    model = TextClassifier("multinomial", alpha=1.0).fit(texts, ["china", "china", "china", "japan"])
    scores = model.scores(["Chinese Chinese Chinese Tokyo Japan"])
    expected = [3 / 4 * (3 / 7) ** 3 / 14 / 14, 1 / 4 * (2 / 9) ** 3 * 2 / 9 * 2 / 9]
    np.testing.assert_allclose(np.exp(scores[0]), expected, rtol=1e-12)
    assert model.predict(["Chinese Chinese Chinese Tokyo Japan"]) == ["china"]


def test_it_equals_scikit_learn():
    peer = make_pipeline(CountVectorizer(), MultinomialNB()).fit(TEXTS, LABELS)
    model = TextClassifier("multinomial").fit(TEXTS, LABELS)
    np.testing.assert_allclose(model.predict_proba(NEW), peer.predict_proba(NEW), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(NEW), peer.predict(NEW))
    assert model.score(NEW, TRUTH) == peer.score(NEW, TRUTH)


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("options", [{}, {"min_df": 3, "select": 12}, {"select": ("chi2-per-class", 4)}])
class TestLaws:
    def test_fit_is_partial_fits_in_any_order(self, name, options):
        whole = TextClassifier(name, **options).fit(TEXTS, LABELS)
        parts = TextClassifier(name, **options)
        for rows in np.array_split(np.random.default_rng(5).permutation(len(TEXTS)), 7):
            parts.partial_fit([TEXTS[i] for i in rows], [LABELS[i] for i in rows], new_classes=True)
        same(parts, whole)

    def test_forgotten_is_never_seen_bit_for_bit(self, name, options):
        """Wherever the documents stood: `partial_fit` and `forget` put terms in order, `fit` does not."""
        same(forgetful(name, options), TextClassifier(name, **options).fit(TEXTS, LABELS))
        model, never = forgetful(name, options), TextClassifier(name, **options).partial_fit(TEXTS, LABELS)
        same(model, never)
        assert model.vocabulary_ == never.vocabulary_
        np.testing.assert_array_equal(model.scores(NEW), never.scores(NEW))
        for mine, theirs in zip(
            model.scorer_.to_arrays()[0].values(), never.scorer_.to_arrays()[0].values(), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)

    def test_merged_is_trained_on_the_whole(self, name, options):
        whole = TextClassifier(name, **options).fit([*TEXTS, *NEW], [*LABELS, *TRUTH])
        one = TextClassifier(name, **options).fit(NEW, TRUTH)
        two = TextClassifier(name, **options).fit(TEXTS, LABELS)
        same(one.merge(two), whole)


def forgetful(name, options):
    """A model that saw NEW before TEXTS, and forgot it."""
    return TextClassifier(name, **options).fit([*NEW, *TEXTS], [*TRUTH, *LABELS]).forget(NEW, TRUTH)


@pytest.mark.parametrize("name", sorted(set(MODELS)))
@pytest.mark.parametrize("form", ["single", pytest.param("sets", marks=pytest.mark.slow)])
def test_predict_is_the_decision_on_scores(name, form):
    model = quick(name).fit(TEXTS, LABELS if form == "single" else [{label} for label in LABELS])
    scores = model.scores(NEW)
    assert scores.shape == (60, 3)
    if form == "single":
        np.testing.assert_array_equal(model.predict(NEW), model.classes_[scores.argmax(axis=1)])
    else:
        assert model.predict(NEW) == model.fitted_.labels_of(scores)
    assert model.score(NEW, TRUTH if form == "single" else [(label,) for label in TRUTH]) > 0.4


def quick(name):
    """A model with settings that keep the slow ones quick."""
    settings = find_model(name).declared()
    small = {"restarts": 4, "average": 2, "k": 5, "epochs": 5, "max_iterations": 20, "iterations": 20}
    return TextClassifier(name, **{key: value for key, value in small.items() if key in settings})


@pytest.mark.parametrize("name", ["multinomial", "bernoulli"])
def test_texts_without_known_words_get_the_prior(name):
    model = TextClassifier(name).fit(["ball goal", "ball", "vote"], ["sport", "sport", "politics"])
    assert model.predict(["", "xyzzy", "?!"]).tolist() == ["sport"] * 3
    if name == "multinomial":
        np.testing.assert_allclose(model.predict_proba([""]), [[1 / 3, 2 / 3]])


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, pd.Series, lambda texts: pd.Series(texts, dtype="string"), pl.Series, pa.array,
     lambda texts: pa.chunked_array([texts[:50], texts[50:]]), lambda texts: np.array(texts, dtype=object)],
)  # fmt: skip
def test_texts_and_labels_in_any_container(container):
    model = TextClassifier("multinomial").fit(container(TEXTS), container(LABELS))
    np.testing.assert_array_equal(
        model.predict(container(NEW)), TextClassifier("multinomial").fit(TEXTS, LABELS).predict(NEW)
    )


@pytest.mark.parametrize("labels", [["b", "a"], [7, 3], [True, False], np.array([2, 1]), pd.Series(["x", "y"])])
def test_labels_of_every_kind_come_back_as_they_went_in(labels):
    model = TextClassifier("multinomial").fit(["ball", "vote"], labels)
    assert model.predict(["ball", "vote"]).tolist() == list(labels)
    assert model.classes_.tolist() == sorted(labels)


def test_whole_numbers_that_became_floats_are_whole_numbers():
    assert TextClassifier("multinomial").fit(["ball", "vote"], [1.0, 2.0]).classes_.tolist() == [1, 2]


@pytest.mark.parametrize("labels", [[{"a", "b"}, ["b"], ()], [("a", "b"), ("b",), ()]])
def test_several_labels_as_collections(labels):
    model = TextClassifier("multinomial").fit(["ball vote", "vote", "soup"], labels)
    assert model.classes_.tolist() == ["a", "b"]
    assert model.fitted_.counts.counts.class_docs.tolist() == [1, 2]
    assert model.fitted_.counts.counts.n_docs == 3
    assert set(map(type, model.predict(["ball", "soup"]))) == {tuple}


@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_an_indicator_matrix_gives_one_back(kind):
    Y = np.array([[1, 1], [0, 1], [0, 0]])
    model = TextClassifier("multinomial").fit(["ball ball vote", "vote", "soup"], kind(Y))
    found = model.predict(["ball vote", "soup"])
    assert type(found) is (np.ndarray if kind is np.array else csr_array)
    assert found.shape == (2, 2)
    assert model.score(["ball ball vote"], kind(Y[:1])) == 1.0


def test_several_labels_are_each_decided_by_their_own_odds():
    model = TextClassifier("multinomial", decision="untuned").fit(TEXTS, [(label,) for label in LABELS])
    p = model.predict_proba(NEW)
    assert isinstance(model.fitted_.decision, Thresholds)
    chosen = [tuple(model.classes_[row >= 0.5]) for row in p]
    assert model.predict(NEW) == chosen
    assert not np.allclose(p.sum(axis=1), 1)


def test_tuned_decisions_and_temperature():
    sets = [(label,) for label in LABELS]
    tuned = TextClassifier("multinomial", decision="scut").fit(TEXTS, sets)
    assert isinstance(tuned.fitted_.decision, Thresholds)
    assert len(set(tuned.fitted_.decision.values)) > 1
    more = TextClassifier("multinomial", decision="scut").fit(TEXTS + NEW, sets + [(label,) for label in TRUTH])
    assert tuned.partial_fit(NEW, [(label,) for label in TRUTH]).fitted_.decision == more.fitted_.decision
    assert isinstance(TextClassifier("multinomial", decision="rcut").fit(TEXTS, sets).fitted_.decision, TopK)
    shared = TextClassifier("multinomial", decision="pcut").fit(TEXTS, sets)
    given = [label for labels in shared.predict(TEXTS) for label in labels]
    assert {label: given.count(label) for label in WORDS} == {label: LABELS.count(label) for label in WORDS}
    model = TextClassifier("multinomial", calibrate=True).fit(TEXTS, LABELS)
    np.testing.assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(NEW), TextClassifier("multinomial").fit(TEXTS, LABELS).predict(NEW))
    assert model.fitted_.calibration.value != 1.0


def test_weights_are_repetitions():
    weights = np.arange(len(TEXTS)) % 3
    rows = np.repeat(np.arange(len(TEXTS)), weights)
    weighted = TextClassifier("multinomial").fit(TEXTS, LABELS, sample_weight=weights)
    repeated = TextClassifier("multinomial").fit([TEXTS[i] for i in rows], [LABELS[i] for i in rows])
    np.testing.assert_allclose(weighted.scores(NEW), repeated.scores(NEW), rtol=1e-12)


def test_an_unseen_class_needs_leave():
    model = TextClassifier("multinomial").fit(["ball", "vote"], ["sport", "politics"])
    with pytest.raises(
        BadData,
        match=r"class 'food' is not .*\(politics, sport\); pass new_classes=True, or --new-classes, to add it",
    ):
        model.partial_fit(["soup"], ["food"])
    assert model.classes_.tolist() == ["politics", "sport"]
    assert model.partial_fit(["soup"], ["food"], new_classes=True).predict(["soup"]) == ["food"]


def test_classes_may_be_named_in_advance():
    model = TextClassifier("multinomial").partial_fit(["ball"], ["sport"], classes=["sport", "food"])
    assert model.classes_.tolist() == ["food", "sport"]
    assert model.predict(["soup", "ball"]).tolist() == ["sport", "sport"]
    assert model.partial_fit(["soup soup"], ["food"]).predict(["soup"]) == ["food"]


def test_forgetting_takes_words_and_classes_away():
    model = TextClassifier("multinomial").fit(["ball goal", "vote", "soup"], ["sport", "politics", "food"])
    model.forget(["soup"], ["food"])
    assert model.classes_.tolist() == ["politics", "sport"]
    assert sorted(model.fitted_.counts.vocabulary) == ["ball", "goal", "vote"]


@pytest.mark.parametrize(
    ("texts", "labels", "problem"),
    [
        (["curling"], ["sport"], "has never seen the term 'curling'"),
        (["vote"], ["food"], "has no class 'food', only politics, sport"),
        (["vote"], ["sport"], "cannot be removed"),
        (["vote", "vote"], ["politics", "politics"], "cannot be removed"),
        (["ball goal", "vote"], ["sport", "politics"], "no document would be left"),
    ],
)
def test_only_what_was_learnt_can_be_forgotten(texts, labels, problem):
    model = TextClassifier("multinomial").fit(["ball goal", "vote"], ["sport", "politics"])
    before = model.fitted_.counts
    with pytest.raises(BadData, match=problem):
        model.forget(texts, labels)
    assert model.fitted_.counts is before


def test_models_that_read_differently_do_not_merge():
    one, two = (TextClassifier("multinomial", stem=stem).fit(TEXTS, LABELS) for stem in (None, "porter"))
    with pytest.raises(UnnaiveError, match="cannot be merged: stem is None and 'porter'"):
        one.merge(two)
    many = TextClassifier("multinomial").fit(TEXTS, [(label,) for label in LABELS])
    with pytest.raises(UnnaiveError, match="a single-label model and a multilabel model cannot be merged"):
        one.merge(many)


@pytest.mark.parametrize(
    "parameters",
    [{"alpha": 0.1}, {"model": "bernoulli"}, {"model": "or-gate", "select": 9}, {"min_df": 4, "smoothing": "absolute"}],
)
def test_weights_are_made_anew_from_counts_alone(parameters):
    model = TextClassifier("multinomial", alpha=2.0).fit(TEXTS, LABELS).remake(**parameters)
    fresh = TextClassifier(
        **{"model": "multinomial", **({"alpha": 2.0} if "model" not in parameters else {}), **parameters}
    ).fit(TEXTS, LABELS)
    same(model, fresh)
    assert model.get_params() == fresh.get_params()


def test_making_anew_is_all_or_nothing():
    model = TextClassifier("multinomial").fit(TEXTS, LABELS)
    before = dict(model.__dict__)
    for parameters in ({"stem": "porter"}, {"alpha": -1}, {"alhpa": 1}, {"model": "svm"}, {"min_df": 999}):
        with pytest.raises(UnnaiveError):
            model.remake(**parameters)
    assert model.__dict__ == before


def test_a_tuned_decision_of_counts_alone_does_not_outlive_a_change():
    sets = [(label,) for label in LABELS]
    model = TextClassifier("multinomial", decision="scut", documents_limit=0).fit(TEXTS, sets)
    with pytest.warns(UnnaiveWarning, match="the tuned decision and the held-out scores are lost"):
        model.partial_fit(["a painting"], [("art",)], new_classes=True)
    assert len(model.fitted_.decision.values) == 4
    kept = TextClassifier("multinomial", decision="scut").fit(TEXTS, sets)
    whole = TextClassifier("multinomial", decision="scut").fit([*TEXTS, "a painting"], [*sets, ("art",)])
    kept.partial_fit(["a painting"], [("art",)], new_classes=True)
    assert kept.fitted_.decision == whole.fitted_.decision


def test_models_of_documents_learn_more_and_forget():
    model = TextClassifier("knn", k=3).fit(TEXTS, LABELS)
    with pytest.raises(BadData, match="60 of 60 documents cannot be removed, because the model does not have them"):
        model.forget(NEW, TRUTH)
    model.partial_fit(NEW, TRUTH)
    whole = TextClassifier("knn", k=3).fit(NEW + TEXTS, TRUTH + LABELS)
    np.testing.assert_array_equal(model.scores(NEW), whole.scores(NEW))
    first = TextClassifier("knn", k=3).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(model.forget(NEW, TRUTH).scores(NEW), first.scores(NEW))


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ({"model": "multinominal"}, UnknownName, "no model called 'multinominal'; .*did you mean 'multinomial'"),
        ({"alhpa": 1}, UnknownName, "multinomial: no setting called 'alhpa'; .*did you mean 'alpha'"),
        ({"min_df": 0}, UnnaiveError, "min_df of multinomial came as 0; give a number from 1"),
        ({"min_df": 999}, BadData, "no term is in at least 999 documents; lower min_df"),
        ({"select": "all"}, UnnaiveError, "select is 'all'; give the number of terms to keep"),
        ({"select": ("chi", 2)}, UnknownName, "no selection called 'chi'"),
        ({"decision": "better"}, UnknownName, "no decision called 'better'"),
        ({"stem": "snow"}, UnknownName, "no stemmer called 'snow'"),
        ({"ngrams": (2, 1)}, UnnaiveError, r"ngrams is \(2, 1\)"),
        ({"alpha": -1}, UnnaiveError, "alpha of multinomial came as -1; give a number from 0"),
        (
            {"alpha": "x"},
            UnnaiveError,
            "alpha of multinomial came as 'x'; give a number or a list",
        ),
        (
            {"alpha": True},
            UnnaiveError,
            "alpha of multinomial came as True; give a number or a list",
        ),
        (
            {"alpha": 10**30},
            UnnaiveError,
            "alpha of multinomial came as 10+; give a number or a list",
        ),
        ({"smoothing": None}, UnnaiveError, "smoothing of multinomial came as None; give a word, such as 'laplace'"),
        ({"class_prior": {}}, UnnaiveError, "class_prior came as {}; .* give 3 probabilities"),
        ({"model": "complement", "norm": 1}, UnnaiveError, "norm of complement came as 1; give true or false"),
        ({"model": "knn", "k": 2.5}, UnnaiveError, "k of knn came as 2.5; give a whole number, such as 30"),
        (
            {"model": "tree", "max_depth": "x"},
            UnnaiveError,
            "max_depth of tree came as 'x'; give a whole number or None",
        ),
        (
            {"decision": 0.5},
            UnnaiveError,
            "decision is 0.5; give argmax, untuned, best, scut, rcut, pcut or a Decision",
        ),
    ],
)
def test_mistakes_in_settings(arguments, error, problem):
    with pytest.raises(error, match=problem):
        TextClassifier(**{"model": "multinomial", **arguments}).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("texts", "labels", "problem"),
    [
        ("one text", ["a"], "texts came as one str; give a list of texts"),
        (["a b", None], ["a", "b"], "text 1 is missing"),
        (["ab", "cd"], ["x"], "2 documents came with 1 label;"),
        (["ab", "cd"], ["x", None], "a label is missing"),
        (["ab", "cd"], ["x", float("nan")], "a label is missing|labels mix"),
        (["ab", "cd"], ["x", 1], "labels mix int and str"),
        (["ab", "cd"], ["x", "x"], "every document has the label 'x'; a classifier needs at least two classes"),
        (["ab", "cd"], [[], []], "no document has a label"),
        (["", "?"], ["x", "y"], "none of the 2 texts has a term to learn from"),
        ([], [], "there are no documents; give at least one"),
        (["ab", "cd"], np.array([[2, 0], [0, 1]]), "values other than 0 and 1"),
        (["ab", "cd"], [0.5, 1.5], "Unknown label type: continuous"),
    ],
)
def test_mistakes_in_data(texts, labels, problem):
    with pytest.raises(BadData, match=problem):
        TextClassifier("multinomial").fit(texts, labels)


def test_an_unfitted_classifier_says_so():
    with pytest.raises(ValueError, match="is not fitted yet; call fit first"):
        TextClassifier("multinomial").predict(["x"])


class TestScikitLearn:
    def test_its_checks(self):
        with pytest.warns(Warning, match="requires input"):
            check_estimator(TextClassifier("multinomial"))

    def test_clone_and_parameters(self):
        model = TextClassifier("bernoulli", ngrams=(1, 2), alpha=0.5)
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        assert copy.alpha == 0.5
        assert repr(copy) == "TextClassifier(model='bernoulli', ngrams=(1, 2), alpha=0.5)"
        assert "bernoulli" in copy._repr_html_()
        assert model.set_params(model="complement", norm=True).get_params()["norm"] is True
        with pytest.raises(UnknownName, match=r"no setting called 'nrom'; .*did you mean 'norm'\?"):
            model.set_params(nrom=True)
        with pytest.raises(AttributeError, match="has no attribute 'beta'"):
            _ = model.beta

    def test_grid_search_over_settings_of_reader_and_model(self):
        grid = {"alpha": [0.01, 1.0], "ngrams": [(1, 1), (1, 2)], "model": ["multinomial", "bernoulli"]}
        search = GridSearchCV(TextClassifier("multinomial"), grid, cv=3).fit(TEXTS, LABELS)
        assert search.best_score_ > 0.8
        assert set(search.best_params_) == set(grid)

    def test_cross_validation_and_pipeline(self):
        assert cross_val_score(TextClassifier("multinomial"), TEXTS, LABELS, cv=3).mean() > 0.8
        two = [label == "food" for label in LABELS]
        assert cross_val_score(TextClassifier("multinomial"), TEXTS, two, cv=3, scoring="roc_auc").mean() > 0.8
        assert cross_val_score(TextClassifier("multinomial"), TEXTS, LABELS, cv=3, scoring="neg_log_loss").mean() > -1
        assert make_pipeline(TextClassifier("multinomial")).fit(TEXTS, LABELS).score(NEW, TRUTH) > 0.8

    def test_two_classes_have_one_decision_value(self):
        model = TextClassifier("svm").fit(TEXTS, [label == "food" for label in LABELS])
        lead = model.decision_function(NEW)
        assert lead.shape == (60,)
        np.testing.assert_array_equal(model.predict(NEW), lead > 0)

    def test_pickling_for_parallel_work(self):
        model = TextClassifier("multinomial").fit(TEXTS, LABELS)
        copy = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own bytes
        np.testing.assert_array_equal(copy.scores(NEW), model.scores(NEW))

    def test_predicting_leaves_the_estimator_alone(self):
        model = TextClassifier("multinomial").fit(TEXTS, LABELS)
        before = dict(model.__dict__)
        model.predict(NEW)
        model.predict_proba(NEW)
        assert model.__dict__ == before


def test_a_decision_can_be_given():
    model = TextClassifier("multinomial", decision=TopK(2)).fit(TEXTS, LABELS)
    assert {len(labels) for labels in model.predict(NEW)} == {2}
    assert TextClassifier("multinomial", decision="argmax").fit(TEXTS, LABELS).fitted_.decision == Argmax()


def test_turkish_and_hindi():
    model = TextClassifier("multinomial", language="tr").fit(["IŞIK yandı", "SU içti"], ["elektrik", "içecek"])
    assert model.predict(["ışık", "su"]).tolist() == ["elektrik", "içecek"]
    assert "ışık" in model.vocabulary_
    model = TextClassifier("multinomial", language="hi").fit(["हिन्दी भाषा", "गरम चाय"], ["भाषा", "पेय"])
    assert model.predict(["हिन्दी", "चाय"]).tolist() == ["भाषा", "पेय"]


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("value", ["x", None, [], {}, float("nan"), float("inf"), -1, 0, 0.5, True, 10**30])
def test_any_value_of_a_setting_is_used_or_refused_in_a_sentence(name, value):
    for setting in find_model(name).declared():
        if setting != "progress":
            with suppress(UnnaiveError):
                TextClassifier(name, **{setting: value}).fit(TEXTS, LABELS).predict(NEW)


def test_merging_other_settings_keeps_those_of_the_first_and_says_so():
    first, other = (
        TextClassifier("multinomial", alpha=0.5).fit(TEXTS, LABELS),
        TextClassifier("bernoulli").fit(NEW, TRUTH),
    )
    with pytest.warns(UnnaiveWarning, match="the models differ in model, alpha; the merged one keeps the settings of"):
        first.merge(other)
    np.testing.assert_allclose(
        first.scores(NEW),
        TextClassifier("multinomial", alpha=0.5).fit(TEXTS + NEW, LABELS + TRUTH).scores(NEW),
        rtol=1e-12,
    )


def test_a_model_of_documents_joins_one_of_counts_but_not_the_other_way_round():
    counts, documents = TextClassifier("multinomial").fit(TEXTS, LABELS), TextClassifier("knn", k=3).fit(NEW, TRUTH)
    with (
        pytest.warns(UnnaiveWarning, match="the models differ in model"),
        pytest.raises(UnnaiveError, match="one of these models keeps documents and the other only counts"),
    ):
        documents.merge(counts)
    with pytest.warns(UnnaiveWarning, match="the models differ in model"):
        counts.merge(documents)
    assert counts.fitted_.counts == TextClassifier("multinomial").fit(TEXTS + NEW, LABELS + TRUTH).fitted_.counts


@pytest.mark.parametrize(
    "table", [pd.DataFrame({"text": TEXTS}), pl.DataFrame({"text": TEXTS}), pa.table({"text": TEXTS})]
)
def test_a_table_of_one_column_is_its_texts(table):
    assert TextClassifier("multinomial").fit(table, LABELS).predict(table).tolist() == (
        TextClassifier("multinomial").fit(TEXTS, LABELS).predict(TEXTS).tolist()
    )
    column = np.array(TEXTS, dtype=object)[:, None]
    assert TextClassifier("multinomial").fit(column, LABELS).score(column, LABELS) == TextClassifier("multinomial").fit(
        TEXTS, LABELS
    ).score(TEXTS, LABELS)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_several_columns_is_refused(library):
    with pytest.raises(BadData, match="with several columns; give one of its columns"):
        TextClassifier("multinomial").fit(library({"id": TEXTS, "text": TEXTS}), LABELS)


def test_a_setting_is_an_attribute_like_any_parameter():
    model = TextClassifier("multinomial")
    model.alpha = 0.5
    assert model.get_params()["alpha"] == 0.5
    model.alpha = 0.1
    assert (model.alpha, repr(model)) == (0.1, "TextClassifier(model='multinomial', alpha=0.1)")
    np.testing.assert_array_equal(
        model.fit(TEXTS, LABELS).scores(NEW), TextClassifier("multinomial", alpha=0.1).fit(TEXTS, LABELS).scores(NEW)
    )


def test_a_fitted_model_reads_as_it_learnt_until_it_is_fitted_again(tmp_path):
    model = TextClassifier("multinomial").fit(TEXTS, LABELS)
    before = model.scores(NEW)
    model.set_params(stem="porter")
    for action in (model.partial_fit, model.forget):
        with pytest.raises(UnnaiveError, match="depend on its tokeniser options; to change them, fit"):
            action(TEXTS[:1], LABELS[:1])
    model.save(tmp_path / "m.model")
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own bytes
    for one in (model, copy, TextClassifier.load(tmp_path / "m.model")):
        np.testing.assert_array_equal(one.scores(NEW), before)
    assert "porter" in repr(model.fit(TEXTS, LABELS).partial_fit(NEW, TRUTH))


def test_small_weights_lose_no_terms():
    light = TextClassifier("multinomial").fit(TEXTS, LABELS, sample_weight=np.full(len(TEXTS), 1 / 64))
    assert light.vocabulary_.terms == TextClassifier("multinomial").fit(TEXTS, LABELS).vocabulary_.terms
    with pytest.raises(BadData, match="there is no term to learn from"):
        TextClassifier("multinomial").partial_fit(["!"], ["a"], classes=["a", "b"])


def test_classes_named_in_advance_outlive_forgetting():
    model = TextClassifier("multinomial").partial_fit(TEXTS, LABELS, classes=[*set(LABELS), "weather"])
    before = model.scores(NEW)
    model.partial_fit(["a new ball"], ["sport"]).forget(["a new ball"], ["sport"])
    assert "weather" in model.classes_
    np.testing.assert_array_equal(model.scores(NEW), before)


def test_scores_with_weights():
    model = TextClassifier("multinomial").fit(TEXTS, LABELS)
    right = model.predict(NEW) == np.array(TRUTH)
    assert model.score(NEW, TRUTH, sample_weight=right.astype(float)) == 1.0
    with pytest.raises(BadData, match="at least one non-zero number"):
        model.score(NEW, TRUTH, sample_weight=np.zeros(len(NEW)))


def test_classes_that_name_one_twice_are_refused():
    with pytest.raises(BadData, match="classes name 1 twice; name each class once"):
        TextClassifier("multinomial").partial_fit(["ball", "vote"], [0, 1], classes=[0, 1, 1])
