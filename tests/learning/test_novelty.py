"""Novelty: a promised share of the classes' own texts is called unknown, and texts of no class much more often."""

import json
from pathlib import Path

import numpy as np
import pytest

from unnaive import Auto, TextClassifier
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.evaluation.out_of_scope import evaluate_out_of_scope, measure_out_of_scope
from unnaive.learning.conformal import MOST, Ladder
from unnaive.learning.novelty import NOVELTY_SCORES

WORDS = {
    "sport": "ball goal match team league", "food": "bread soup cheese cake apple", "law": "court judge vote law bill",
    "sea": "ship wave harbour sail tide", "none": "violin flute opera chorus melody",
}  # fmt: skip


def draw(labels, n, seed):
    """Texts of four words of their class and four of all classes but the last."""
    random = np.random.default_rng(seed)
    common = [word for label in list(WORDS)[:4] for word in WORDS[label].split()]
    return [
        " ".join([*random.choice(WORDS[label].split(), 4), *random.choice(common, 4)])
        for label in labels
        for _ in range(n)
    ]


KNOWN = list(WORDS)[:4]
TEXTS, LABELS = draw(KNOWN, 60, 0), np.repeat(KNOWN, 60)
INSIDE, OUTSIDE = draw(KNOWN, 100, 1), draw(["none"], 100, 2)


@pytest.fixture(scope="module", params=[pytest.param("auto", marks=pytest.mark.slow), "nbsvm", "multinomial"])
def classifier(request):
    calibrate = None if request.param == "auto" else "temperature"
    return TextClassifier(request.param, calibrate=calibrate).fit(TEXTS, LABELS)


def test_a_promised_share_of_the_classes_is_rejected_and_most_of_the_others(classifier):
    rejected = np.mean(classifier.predict(INSIDE, out_of_scope_rate=0.1) == "undecided")
    assert abs(rejected - 0.1) < 0.07  # three standard errors of 240 held-out and 400 new texts
    assert np.mean(classifier.predict(OUTSIDE, out_of_scope_rate=0.1) == "undecided") > 3 * rejected
    novelty = classifier.out_of_scope_score(INSIDE + OUTSIDE)
    assert (novelty.min() >= 0, novelty.max() <= 1) == (True, True)
    assert np.median(novelty[len(INSIDE) :]) > 0.8 > 0.6 > np.median(novelty[: len(INSIDE)])


def test_known_labels_are_those_of_predict(classifier):
    given, plain = classifier.predict(INSIDE, out_of_scope_rate=0.2), classifier.predict(INSIDE)
    known = given != "undecided"
    assert given[known].tolist() == plain[known].tolist()
    assert known.tolist() == (~classifier.fitted_.out_of_scope_rows(classifier.scores(INSIDE), 0.2)).tolist()


def test_the_scores_are_kept_in_the_file(classifier, tmp_path):
    classifier.save(tmp_path / "m.model")
    again = TextClassifier.load(tmp_path / "m.model")
    assert again.out_of_scope_score(OUTSIDE).tolist() == classifier.out_of_scope_score(OUTSIDE).tolist()


@pytest.mark.parametrize("model", ["nbsvm", "multinomial"])
def test_updating_and_forgetting_are_exact(model):
    whole = TextClassifier(model, calibrate="temperature").fit(TEXTS, LABELS)
    part = TextClassifier(model, calibrate="temperature").fit(TEXTS[::2], LABELS[::2])
    updated = TextClassifier(model, calibrate="temperature").fit(TEXTS[::2], LABELS[::2])
    updated.partial_fit(TEXTS[1::2], LABELS[1::2])
    assert updated.out_of_scope_score(OUTSIDE).tolist() == whole.out_of_scope_score(OUTSIDE).tolist()
    updated.forget(TEXTS[1::2], LABELS[1::2])
    assert updated.out_of_scope_score(OUTSIDE).tolist() == part.out_of_scope_score(OUTSIDE).tolist()


def test_who_cannot_tell_says_why():
    two = TextClassifier("nbsvm", calibrate="temperature").fit(TEXTS[:120], LABELS[:120])
    with pytest.raises(
        UnnaiveError, match="with two classes, a text of neither looks like a text between the two; add a third"
    ):
        two.out_of_scope_score(INSIDE)
    with pytest.raises(UnnaiveError, match="has no scores of held-out documents; train it with calibrate="):
        TextClassifier("multinomial").fit(TEXTS, LABELS).out_of_scope_score(INSIDE)
    one_each = TextClassifier().fit(["good ball", "fair vote", "blue sky"], ["sport", "law", "sea"])
    with pytest.raises(UnnaiveError, match="it has no scores of held-out documents; train it with more documents, of"):
        one_each.out_of_scope_score(INSIDE)
    sets = TextClassifier("multinomial", calibrate="temperature").fit(TEXTS, [(one,) for one in LABELS])
    with pytest.raises(UnnaiveError, match="its documents may have no label"):
        sets.out_of_scope_score(INSIDE)
    with pytest.raises(BadData, match="the unknown rate is 5; give the share"):
        TextClassifier("nbsvm", calibrate="temperature").fit(TEXTS, LABELS).predict(INSIDE, out_of_scope_rate=5)


def test_measures_by_hand():
    found = measure_out_of_scope(np.arange(1.0, 21.0), np.array([10.5, 19.5, 20.5, 30.0]))
    assert found.auroc == pytest.approx((10 + 19 + 20 + 20) / 80)
    assert (found.found, found.rejected_at_95) == (0.75, 0.5)  # 19 of 20 are labelled up to 19; from 10.5 on are 10


def test_the_command_line(classifier, run, tmp_path):
    if classifier.model != "nbsvm":
        pytest.skip("one model is enough")
    classifier.save("m.model")
    (tmp_path / "in.csv").write_text(
        "text,label\n" + "".join(f"{t},{one}\n" for t, one in zip(INSIDE, np.repeat(KNOWN, 100), strict=True))
    )
    (tmp_path / "out.txt").write_text("\n".join(OUTSIDE))
    code, out, _ = run("predict", "m.model", tmp_path / "out.txt", "--out-of-scope-rate", "0.1", "--json")
    labels = [json.loads(line)["labels"][0] for line in out.splitlines()]
    assert (code, labels) == (0, classifier.predict(OUTSIDE, out_of_scope_rate=0.1).tolist())
    run(
        "predict",
        "m.model",
        tmp_path / "out.txt",
        "--out-of-scope-rate",
        "0.1",
        "--undecided",
        "other",
        "-o",
        "found.csv",
    )
    best = ("predict", "m.model", tmp_path / "out.txt", "--out-of-scope-rate", "0.1", "--top-k", "2")
    code, _, err = run(*best, "-o", "best.csv")
    assert (code, "--top-k 2 writes the best classes of every document, so --out-of-scope-rate" in err) == (2, True)
    code, out, _ = run(*best, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["labels"][0] for row in rows] == labels
    assert all(len(row["classes"]) == 2 for row in rows)
    assert Path("found.csv").read_text().count(",other,") == labels.count("undecided")
    code, out, _ = run("evaluate", "m.model", tmp_path / "in.csv", "--out-of-scope", tmp_path / "out.txt", "--json")
    measured = evaluate_out_of_scope(classifier.fitted_, INSIDE, OUTSIDE)
    assert json.loads(out)["out_of_scope"]["auroc"] == pytest.approx(measured.auroc)


@pytest.mark.slow
def test_estimators_tell_it_too():
    from sklearn.feature_extraction.text import CountVectorizer

    reader = CountVectorizer().fit(TEXTS)
    estimator = Auto(budget="fast").fit(reader.transform(TEXTS), LABELS)
    assert (
        estimator.out_of_scope_score(reader.transform(OUTSIDE)).mean()
        > estimator.out_of_scope_score(reader.transform(INSIDE)).mean()
    )


def test_shares_below_are_those_of_all_scores():
    scores = np.random.default_rng(0).exponential(size=5000)
    points = np.linspace(0, 8, 50)
    exact = (scores[:, None] < points).mean(axis=0)
    assert np.abs(Ladder.of(scores, MOST).share_below(points, MOST) - exact).max() <= 1.5 / MOST
    beyond = Ladder.of(scores, MOST).share_below(np.array([8.0, 9.0, 90.0, np.inf]), MOST)
    assert (np.all(np.diff(beyond) > 0), beyond[-1] <= 1) == (True, True)
    assert set(NOVELTY_SCORES) == {"no class", "largest probability", "entropy", "largest score"}


def test_novelty_does_not_depend_on_the_level_of_the_scores():
    """By hand: odds 4, 1 and 1/4, of geometric mean 1 and sum 5.25, so −log (5.25/6.25); a class without scores is left
    out. A model of more documents has lower scores for all classes, and its documents are not more novel for that."""
    score = NOVELTY_SCORES["no class"]
    scores = np.log([[4.0, 1.0, 0.25]])
    np.testing.assert_allclose(score(None, scores), [np.log(6.25 / 5.25)])
    np.testing.assert_allclose(score(None, scores - 3.0), score(None, scores), rtol=1e-12)
    np.testing.assert_allclose(score(None, np.insert(scores, 1, -np.inf, axis=1)), score(None, scores), rtol=1e-12)
