"""Conformal sets: ranks by hand, the coverage that is promised, both entrances, files, and sentences."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.model_files import rewrite

from unnaive import MultinomialNB, TextClassifier, UnnaiveWarning
from unnaive.base.errors import BadData, BadModel, UnnaiveError
from unnaive.data.targets import read_targets
from unnaive.data.training_data import TrainingData
from unnaive.evaluation.evaluate import evaluate
from unnaive.io.tickets import load_tickets
from unnaive.learning.conformal import (
    MOST,
    MOST_BY_CLASS,
    ConformalScores,
    Ladder,
    describe_sets,
    kept_ranks,
    unseen_share,
)
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.learnt import HeldOutScores, Learnt
from unnaive.learning.train import train
from unnaive.learning.traits import Traits
from unnaive.models.estimator import DocumentsModel

TEXTS = ["good ball, good game", "fair vote in a fair law", "warm soup with bread", "the ball is lost", "a new law"] * 6
LABELS = ["sport", "politics", "food", "sport", "politics"] * 6


def drawn(n, seed, classes=5):
    """Documents whose true class follows probabilities that the model has only roughly."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, classes))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(classes, p=row) for row in p])
    rough = 3 * logits + rng.normal(size=(n, classes))  # over-confident and noisy: the promise needs no calibration
    return rough - np.logaddexp.reduce(rough, axis=1, keepdims=True), np.eye(classes, dtype=int)[truth]


def test_ranks_by_hand():
    """Of 19 scores 1..19 the threshold of 90 % is the ⌈20·.9⌉ = 18th, of 95 % the 19th; 96 % would need the 20th."""
    ladder = Ladder.of(np.arange(19.0, 0.0, -1.0), MOST)
    assert [ladder.threshold(share, MOST) for share in (0.9, 0.95, 0.96)] == [18.0, 19.0, np.inf]


def test_a_long_ladder_is_thinned_and_never_promises_more():
    """Of 12,345 scores 1,000 are kept; the threshold is the next kept one, at most 13 ranks above the right one."""
    scores = np.random.default_rng(0).permutation(12_345).astype(float)
    ladder = Ladder.of(scores, 1000)
    assert len(ladder.values) == 1000
    assert ladder.values[-1] == 12_344
    for share in (0.5, 0.8, 0.9, 0.99, 0.999):
        right = int(np.ceil(12_346 * share)) - 1
        assert 0 <= ladder.threshold(share, 1000) - right <= 13
    assert kept_ranks(12_345, 1000)[0] == 13


def test_scores_are_rounded_up_to_32_bits():
    values = -np.log(np.random.default_rng(0).random(500))
    kept = Ladder.of(values, MOST).values
    assert (kept >= np.sort(values)).all()
    np.testing.assert_allclose(kept, np.sort(values), rtol=2e-7)
    np.testing.assert_array_equal(kept, kept.astype(np.float32))


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.slow
def test_new_documents_are_covered_as_promised(coverage, by_class):
    """Over 30 draws of 1,000 held-out and 1,000 new documents: between the coverage and 1/(n+1) more.

    n is 1,000, or by class about 200; the standard error of the mean over draws is .002.
    """
    covered, each = [], []
    for seed in range(30):
        held_out = ConformalScores.of(*drawn(1000, seed))
        log_p, Y = drawn(1000, 1000 + seed)
        inside = held_out.accepted(log_p, coverage, by_class=by_class)
        hit = inside[np.arange(1000), Y.argmax(axis=1)]
        covered.append(hit.mean())
        each.append([hit[Y[:, c] == 1].mean() for c in range(5)])
    more = 1 / 200 if by_class else 1 / 1000
    assert coverage - 0.006 < np.mean(covered) < coverage + more + 0.006
    if by_class:
        assert np.mean(each, axis=0) == pytest.approx([coverage] * 5, abs=0.015)  # a fifth of the documents each


def test_higher_confidence_holds_lower_and_sets_start_with_the_most_probable():
    made = TextClassifier("multinomial", calibrate="temperature").fit(TEXTS, LABELS)
    new = ["a ball", "bread and law", "nothing known", ""]
    sets = [made.predict_label_set(new, share) for share in (0.5, 0.8, 0.9)]
    for small, large in pairwise(sets):
        assert all(set(one) <= set(two) for one, two in zip(small, large, strict=True))
    best = made.classes_[made.predict_proba(new).argmax(axis=1)]
    assert [one[0] for one in made.predict_label_set(new, 0.9, at_least_one=True)] == list(best)


def test_too_few_documents_for_a_confidence_give_every_label():
    """30 documents: the 30th of 31 ranks is for .96; .99 would need the 31st, so all classes are in the set."""
    made = TextClassifier("multinomial", calibrate="temperature").fit(TEXTS, LABELS)
    assert [sorted(one) for one in made.predict_label_set(["a ball"], 0.99)] == [["food", "politics", "sport"]]


def test_multilabel_sets_hold_all_labels_of_a_document():
    """The score of a document is that of its least probable label: .2 and .5 give −log .2; without a label none."""
    log_p = np.log([[0.9, 0.2, 0.5], [0.8, 0.1, 0.1], [0.3, 0.3, 0.3]])
    Y = csr_array([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    found = ConformalScores.of(log_p, Y, multilabel=True)
    np.testing.assert_allclose(np.exp(-found.overall.values), [0.8], rtol=1e-6)
    np.testing.assert_allclose(np.exp(-found.several.values), [0.2], rtol=1e-6)
    assert [one.n for one in found.by_class] == [1, 1, 1]
    assert found.n_documents == 2


def drawn_sets(n, seed, classes=6):
    """Documents with one label, or one of four with two: each label by its own odds, two the harder to tell."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, classes), int)
    Y[np.arange(n), rng.integers(classes, size=n)] = 1
    two = np.flatnonzero(rng.random(n) < 0.25)
    Y[two, rng.integers(classes, size=len(two))] = 1
    odds = 6.0 * Y / np.maximum(1.0, Y.sum(axis=1, keepdims=True)) - 3.0 + rng.normal(size=(n, classes))
    return -np.logaddexp(0.0, -odds), csr_array(Y)


@pytest.mark.slow
def test_documents_with_several_labels_are_covered_as_promised():
    """Over 30 draws: 90 % of those with several labels, and no less of those with one; by all together it was 70 %."""
    held, several, one = [], [], []
    for seed in range(30):
        kept = ConformalScores.of(*drawn_sets(800, seed), multilabel=True)
        log_p, Y = drawn_sets(800, 500 + seed)
        n_labels = np.diff(Y.indptr)
        for scores, found in ((kept, several), (ConformalScores.of(*drawn_sets(800, seed)), held)):
            inside = scores.accepted(log_p, 0.9)
            whole = ~((Y.toarray() == 1) & ~inside).any(axis=1)
            found.append(whole[n_labels > 1].mean())
        one.append(whole[n_labels == 1].mean())
    assert np.mean(several) == pytest.approx(0.9, abs=0.02)
    assert np.mean(held) < 0.8
    assert np.mean(one) > 0.89
    assert kept.covers_several(0.9)
    assert not ConformalScores.of(*drawn_sets(20, 0), multilabel=True).covers_several(0.99)


MANY, FEW, FIVE = np.arange(1.0, 31.0), np.array([50.0, 60.0, 70.0]), np.arange(1.0, 6.0)


@pytest.mark.parametrize(
    ("single", "several", "limit", "said"),
    [
        (MANY, MANY, 28.0, "; this holds for documents with one label and for documents with several"),
        (MANY, FEW, 50.0, "; too few held-out documents have more than one label for"),
        (FEW, MANY, 50.0, "; too few held-out documents have one label for"),
        (FIVE, FIVE, 5.0, "; too few held-out documents have one label, or more than one, for"),
    ],
)
def test_a_kind_with_too_few_documents_has_no_separate_guarantee(single, several, limit, said):
    """By hand: of 30 scores 90 % are the 28th of 31 ranks, of 33 together the 31st of 34, of ten the 10th of 11."""
    scores = ConformalScores(Ladder.of(single, MOST), (), Ladder.of(several, MOST))
    assert scores.limits(0.9, 1).tolist() == [limit]
    (sentence,) = describe_sets(scores, ["a"], 0.9, multilabel=True)
    assert said in sentence


class TestRareClasses:
    """Classes with too few held-out documents share a threshold: alone they would be in every set."""

    def scores(self, *sizes):
        return ConformalScores(
            Ladder.of(np.arange(1.0, 100.0), MOST),
            tuple(Ladder.of(np.arange(1.0, n + 1.0) / 10, MOST_BY_CLASS) for n in sizes),
        )

    def test_by_hand(self):
        """19 documents are enough for 90 %; 18 and 3 together have 21, of which the 20th of 22 ranks is the limit."""
        found = self.scores(19, 18, 3)
        assert found.pooled_classes(0.9).tolist() == [1, 2]
        inside = found.accepted(np.array([[-1.8, -1.7, -1.7], [-1.81, -1.71, -1.71]]), 0.9, by_class=True)
        assert inside.tolist() == [[True, True, True], [False, False, False]]

    def test_the_next_larger_class_joins_where_the_rare_ones_are_too_few(self):
        assert self.scores(200, 30, 2, 1).pooled_classes(0.9).tolist() == [1, 2, 3]
        assert self.scores(200, 30, 40).pooled_classes(0.9).tolist() == []
        assert self.scores(5, 4).pooled_classes(0.9).tolist() == [0, 1]  # all of them, and still too few
        assert self.scores(5, 3).accepted(np.array([[-50.0, -50.0]]), 0.9, by_class=True).all()

    def test_a_thinned_class_counts_with_all_its_documents(self):
        """1,000 documents of which 200 scores are kept, and 2 others: 902.7 are reached at the 181st of the 200."""
        found = self.scores(1000, 2)
        assert found.pooled_classes(0.9).tolist() == [0, 1]
        limit = -found.accepted(-np.arange(0.0, 120.0, 0.05)[:, None] * [1, 1], 0.9, by_class=True).sum(axis=0)
        assert -limit[0] == -limit[1] == 1 + round(90.5 / 0.05)

    @pytest.mark.slow
    def test_pooled_documents_are_covered_together(self):
        """Over 25 draws of 12 classes with 4 to 48 held-out documents each; the standard error is about .01."""
        covered = []
        for seed in range(25):
            log_p, Y = drawn(1600, seed, classes=12)
            codes = Y.argmax(axis=1)
            rng = np.random.default_rng(seed)
            kept = np.concatenate([np.flatnonzero(codes == c)[: 4 + 4 * c] for c in range(12)])
            found = ConformalScores.of(log_p[kept], Y[kept])
            pooled = found.pooled_classes(0.9)
            assert pooled.tolist() == [0, 1, 2, 3]
            # documents of these classes, in the shares in which they were held out
            rest = np.setdiff1d(np.arange(1600), kept)
            new = np.concatenate([rng.permutation(rest[codes[rest] == c])[: 10 + 10 * c] for c in pooled])
            inside = found.accepted(log_p[new], 0.9, by_class=True)
            covered.append(inside[np.arange(len(new)), codes[new]].mean())
        assert 0.88 < np.mean(covered) < 0.95

    def test_it_is_said(self):
        told = describe_sets(self.scores(19, 18, 3), ["ham", "news", "spam"], 0.9, multilabel=False, by_class=True)
        assert told[1].startswith("too few held-out documents for that in 2 classes (news, spam)")
        assert len(describe_sets(self.scores(19, 30), ["ham", "spam"], 0.9, multilabel=False, by_class=True)) == 1


@pytest.mark.parametrize("labels", [LABELS, [(label, "any") for label in LABELS]], ids=["single", "sets"])
def test_a_loaded_model_gives_the_same_sets(tmp_path, labels):
    made = TextClassifier("svm", calibrate="platt").fit(TEXTS, labels)
    made.save(tmp_path / "a.model")
    copy = TextClassifier.load(tmp_path / "a.model")
    for options in ({}, {"by_class": True}, {"at_least_one": True}):
        assert copy.predict_label_set(TEXTS, 0.8, **options) == made.predict_label_set(TEXTS, 0.8, **options)


def test_held_out_scores_in_files_are_not_trusted():
    arrays, about = ConformalScores.of(*drawn(50, 0)).to_arrays()
    whole = ConformalScores.from_arrays(arrays, about, 5)
    assert whole.overall.n == 50
    damaged = [
        (arrays | {"overall": arrays["overall"][::-1]}, about, 5),
        (arrays | {"overall": arrays["overall"].astype(np.float64)}, about, 5),
        (arrays | {"by_class": arrays["by_class"][:-1]}, about, 5),
        (arrays | {"by_class": np.full_like(arrays["by_class"], np.nan)}, about, 5),
        (arrays, about | {"documents": 49}, 5),
        (arrays, about | {"documents": True}, 5),
        (arrays, about | {"documents": -1}, 5),
        (arrays, about, 4),
    ]
    for case in damaged:
        with pytest.raises(ValueError, match="held-out scores"):
            ConformalScores.from_arrays(*case)


def test_a_damaged_file_is_one_sentence(tmp_path):
    path = tmp_path / "a.model"
    TextClassifier("multinomial", calibrate="temperature").fit(TEXTS, LABELS).save(path)
    rewrite(path, lambda arrays, about: arrays.update({"conformal.overall": arrays["conformal.overall"][:-1]}))
    with pytest.raises(BadModel, match="held-out scores"):
        TextClassifier.load(path)


def test_without_held_out_scores_there_is_a_sentence():
    plain = TextClassifier("multinomial").fit(TEXTS, LABELS)
    with pytest.raises(UnnaiveError, match=r"has no scores of held-out documents.*calibrate='temperature'"):
        plain.predict_label_set(["a ball"])
    made = TextClassifier("multinomial", calibrate=True).fit(TEXTS, LABELS)
    for wrong in (0, 1, 90, float("nan"), "0.9"):
        with pytest.raises(BadData, match="a share between 0 and 1"):
            made.predict_label_set(["a ball"], wrong)


class Searching(DocumentsModel):
    """Naive Bayes that says how it scored the first twenty documents without them."""

    traits = Traits("searching", "searching", "documents")

    def learn(self, X, Y, *, exclusive=True, sample_weight=None, progress=None):
        from unnaive.data.counts import Counts

        def scorer(rows):
            return MultinomialNB().rule(Counts.of(X[rows], Y[rows]), exclusive=exclusive)

        rows = np.arange(20)
        scores = scorer(np.arange(20, X.shape[0])).scores(X[rows])
        whole = scorer(np.arange(X.shape[0]))
        return Learnt(whole, HeldOutScores(rows, scores))


def test_scores_that_the_model_held_out_itself_are_used():
    counted = np.random.default_rng(0).poisson(1.0, size=(40, 6))
    y = [["a", "b"][row % 2] for row in range(40)]
    data = TrainingData.of_rows(csr_array(counted), read_targets(y, 40))
    fitted = train(data, TrainingSpec(Searching()))
    assert fitted.conformal.overall.n == 20
    tuned = train(data, TrainingSpec(Searching(), calibrate="temperature"))
    assert tuned.calibration is not None
    assert tuned.conformal.overall.n == 20
    estimator = Searching().fit(counted, y)  # the other entrance
    assert estimator.predict_label_set(counted, 0.8) == fitted.predict_label_set(csr_array(counted), 0.8)


def test_updates_make_the_table_of_the_documents_that_there_are_now():
    made = TextClassifier("multinomial", calibrate=True).fit(TEXTS, LABELS)
    table = made.fitted_.conformal
    more = made.partial_fit(
        ["a late ball", "rain", "rain again"], ["sport", "weather", "weather"], new_classes=True
    ).fitted_
    assert more.conformal.overall.n == len(TEXTS) + 3
    assert more.conformal.by_class[more.classes.index("weather")].n == 2
    made.forget(["a late ball", "rain", "rain again"], ["sport", "weather", "weather"])
    again = made.fitted_.conformal
    assert [one.values.tolist() for one in again.by_class] == [one.values.tolist() for one in table.by_class]


def test_of_counts_alone_a_change_ends_the_table_and_says_so():
    made = TextClassifier("multinomial", calibrate=True, documents_limit=0).fit(TEXTS, LABELS)
    assert made.fitted_.conformal is not None
    with pytest.warns(UnnaiveWarning, match="the calibration and the held-out scores are lost"):
        changed = made.partial_fit(["a late ball"], ["sport"]).fitted_
    assert (changed.calibration, changed.conformal) == (None, None)


def test_tickets_are_covered():
    """275 test documents: two standard errors of a coverage of .9 are .036. Measured: nbsvm .909, multinomial .887."""
    train_part, test = (load_tickets().part(part) for part in ("train", "test"))
    targets = [one[0] for one in train_part.labels]
    for model in ("nbsvm", "multinomial"):
        made = TextClassifier(model, calibrate="temperature").fit(train_part.texts, targets)
        found = evaluate(made, test.texts, test.labels).coverage(0.9)
        assert [one.by_class for one in found] == [False, True]
        assert found[0].coverage == pytest.approx(0.9, abs=0.036)
        held = [label[0] in one for one, label in zip(made.predict_label_set(test.texts), test.labels, strict=True)]
        assert found[0].coverage == np.mean(held)


def test_a_class_that_the_model_never_saw_is_in_no_set():
    made = TextClassifier("multinomial", calibrate=True).fit(TEXTS, LABELS)
    found = evaluate(made, ["good ball, good game", "rain"], ["sport", "weather"]).coverage(0.5)[0]
    assert found.coverage == 0.5


def test_sets_make_up_for_classes_that_nobody_has_seen():
    """2 of 40 documents are alone in their class, so 5 % of new ones are of unseen classes: 95 % sets among the others.

    The 95th percentile of 1, …, 99 is at rank .9 / .95 · 100 = 94.7 → 95.
    """
    Y = np.zeros((40, 4))
    Y[range(40), [0] * 20 + [1] * 18 + [2, 3]] = 1
    assert unseen_share(Y) == 0.05
    scores = ConformalScores(Ladder.of(np.arange(1.0, 100.0), MOST), (), unseen=0.05)
    assert scores.limits(0.9, 2)[0] == 95
    assert not scores.is_limited(0.9)
    assert describe_sets(scores, ["a", "b"], 0.9, multilabel=False) == [
        "sets contain the label of 90 % of documents like the training documents"
    ]
    assert scores.is_limited(0.95)
    assert scores.limits(0.95, 2)[0] == 95  # of the documents of known classes alone
    (sentence,) = describe_sets(scores, ["a", "b"], 0.95, multilabel=False)
    assert sentence == (
        "sets contain the label of 95 % of documents of known classes, and so of about 90 % of documents like the "
        "training documents: about 5 % have a class that no training document has"
    )
    arrays, about = scores.to_arrays()
    assert ConformalScores.from_arrays(arrays, about, 0).unseen == 0.05


@pytest.mark.parametrize("model", ["nbsvm", pytest.param("auto", marks=pytest.mark.slow)])
def test_held_out_documents_that_are_alone_in_their_class_are_of_unknown_classes(model):
    """Ten of 70 documents are alone: a seventh of new documents has an unseen class, and 90 % sets cannot be had."""
    texts = [f"ball goal match {n % 5}" for n in range(30)] + [f"vote law court {n % 5}" for n in range(30)]
    labels = ["sport"] * 30 + ["politics"] * 30 + [f"rare {n}" for n in range(10)]
    fitted = (
        TextClassifier(model, calibrate="temperature").fit([*texts, *(f"word{n}" for n in range(10))], labels).fitted_
    )
    assert fitted.conformal.unseen == pytest.approx(10 / 70)
    assert fitted.conformal.n_documents == 60
    assert fitted.conformal.is_limited(0.9)
