"""Experiments: counts of a fold by subtraction, resumption after a kill, the same numbers whatever the processes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

import unnaive
from unnaive import TextClassifier
from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.classifier.compress import file_size
from unnaive.data.corpus import Corpus
from unnaive.data.counts import Counts
from unnaive.evaluation.experiment_documents import Material, counts_of_rows
from unnaive.evaluation.experiments import run
from unnaive.evaluation.results import RecordFile
from unnaive.evaluation.splits import fold_splits
from unnaive.evaluation.trials import Contender, ExperimentPlan, TrialRunner
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import MODELS
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

SOURCE = Path(unnaive.__file__).parents[1]


def material(seed=0, multilabel=False):
    random = np.random.default_rng(seed)
    topic = random.integers(0, 3, 120)
    X = random.poisson(random.gamma(0.5, 1.0, (3, 40))[topic])
    Y = np.eye(3, dtype=np.int64)[topic]
    if multilabel:
        Y = np.hstack([Y, (random.random((120, 1)) < 0.2).astype(np.int64)])
    parts = np.where(np.arange(120) % 4 == 0, "test", "train")
    return Material("toy", csr_array(X), csr_array(Y), parts)


def plan(**more):
    settings = {"splits": 3, "train_sizes": (20.0, 70.0), "vocabularies": (10, None), "measures": ("accuracy", "auc")}
    return ExperimentPlan((Contender("multinomial"), Contender("rocchio")), **{**settings, **more})


def figures(records):
    """Everything but the time that it took."""
    return [(record.trial, record.measure, record.value, record.n_train) for record in records]


@pytest.mark.parametrize("multilabel", [False, True])
def test_total_minus_fold_equals_counting_again(multilabel):
    toy = material(multilabel=multilabel)
    runner = TrialRunner(toy, plan(folds=5, train_sizes=()))
    for trial in runner.plan.trials()[::4]:
        train, test = runner.split_rows(trial)
        assert len(test) < len(train)
        assert counts_of_rows(toy, train, test) == Counts.of(toy.X[train], toy.Y[train])


def test_a_fold_s_model_equals_one_that_was_fitted_on_the_rest():
    toy, five = material(), plan(folds=5, train_sizes=(), vocabularies=(None,))
    runner = TrialRunner(toy, five)
    for trial in five.trials():
        if trial.contender.model == "multinomial":
            data = runner.split_data(trial)
            X = toy.X[data.train_rows][:, data.seen_terms]
            assert data.counts == Counts.of(X, data.targets.Y)
            assert len(data.seen_terms) == np.count_nonzero(toy.X[data.train_rows].sum(axis=0))


def test_terms_are_chosen_on_training_documents_only():
    """A term that gives the class of test documents away, and is in no training document, is not chosen."""
    toy = material()
    runner = TrialRunner(toy, plan(train_sizes=(), vocabularies=(5,)))
    (trial, *_) = runner.plan.trials()
    _, test = runner.split_rows(trial)
    leak = np.zeros((120, 3), np.int64)
    leak[test] = 9 * toy.Y[test].toarray()
    names = Vocabulary(f"w{column:02}" for column in range(43))
    whole = Material("toy", toy.X, toy.Y, toy.parts, names.take(range(40)))
    leaky = Material("toy", csr_array(np.hstack([toy.X.toarray(), leak])), toy.Y, toy.parts, names)
    chosen, without_leak = (_fit(data, runner.plan)[0].vocabulary for data in (leaky, whole))
    assert max(names.ids(chosen)) < 40
    assert chosen == without_leak


def test_every_record_says_what_it_is(tmp_path):
    records = run(plan(), material(), tmp_path / "run.jsonl")
    assert len(records) == 2 * 3 * 2 * 2 * 2
    one = records[0]
    assert (one.model, one.split, one.train_size, one.terms, one.measure) == ("multinomial", 0, 20.0, 10, "accuracy")
    assert (one.n_train, one.n_test) == (24, 96)
    assert one.versions["unnaive"] == unnaive.__version__
    assert one.seconds >= 0
    assert list(RecordFile(tmp_path / "run.jsonl").read()) == records


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_in_any_number_of_processes(tmp_path):
    alone = run(plan(splits=1), material(), tmp_path / "one.jsonl")
    together = run(plan(splits=1), material(), tmp_path / "two.jsonl", jobs=2)
    assert figures(alone) == figures(together)
    assert figures(alone) != figures(run(plan(splits=1, seed=1), material(), tmp_path / "three.jsonl"))


def test_a_run_goes_on_where_it_stopped_and_repeats_nothing(tmp_path):
    whole = run(plan(), material(), tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    path, seen = tmp_path / "cut.jsonl", []
    path.write_bytes(b"".join(lines[:13]) + lines[13][:40])  # killed in the middle of a trial and of a line
    again = run(plan(), material(), path, progress=lambda done, total, words: seen.append((done, total)))
    assert figures(again) == figures(whole)
    assert seen[0] == (7, 24)  # six trials were there in full, the seventh had one of two measures
    assert len(seen) == 18
    after = path.read_bytes()
    assert after.startswith(b"".join(lines[:13]))
    assert len(after.splitlines()) == len(lines)


def test_what_is_there_is_not_measured_again(tmp_path, monkeypatch):
    run(plan(), material(), tmp_path / "run.jsonl")
    monkeypatch.setattr(TrialRunner, "records", lambda *_: pytest.fail("measured again"))
    assert len(run(plan(), material(), tmp_path / "run.jsonl")) == 48


def test_new_measures_and_models_are_added_to_a_file(tmp_path):
    path = tmp_path / "run.jsonl"
    run(plan(measures=("accuracy",)), material(), path)
    more = run(plan(measures=("accuracy", "macro-f1")), material(), path)
    assert figures(more) == figures(run(plan(measures=("accuracy", "macro-f1")), material(), tmp_path / "new.jsonl"))
    assert len(path.read_text().splitlines()) == 48


@pytest.mark.parametrize("way", [{"folds": 5, "train_sizes": ()}, {"splits": 3, "train_sizes": (70.0,)}])
def test_copies_of_training_documents_are_not_test_documents(way):
    """900 texts, each of 300 three times, with labels that say nothing: accuracy is that of guessing (.25)."""
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{term}" for term in random.integers(0, 400, 12)) for _ in range(300)] * 3
    labels = [(str(label),) for label in random.integers(0, 4, 300)] * 3
    data = Material.of(Corpus(texts, labels, name="copies"), TokenRule())
    contenders = (Contender("multinomial"), Contender("nbsvm"))
    plan = ExperimentPlan(contenders, ("accuracy",), **way)
    assert max(record.value for record in run(plan, data)) < 0.45
    divided = run(ExperimentPlan(contenders, ("accuracy",), divides_copies=True, **way), data)
    assert min(record.value for record in divided) > 0.65


def test_records_of_other_data_are_not_taken_for_these(tmp_path):
    path = tmp_path / "run.jsonl"
    first, second = run(plan(), material(0), path), run(plan(), material(1), path)
    assert {record.data for record in first}.isdisjoint({record.data for record in second})
    assert figures(run(plan(), material(0), path)) == figures(first)


SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_experiments import material, plan, run

def wait(*_):
    path = Path(sys.argv[1])
    while path.exists() and path.read_bytes().count(b"\\n") > 8:  # until it is killed
        time.sleep(0.05)

if __name__ == "__main__":
    run(plan(splits=6), material(), sys.argv[1], jobs=int(sys.argv[2]), progress=wait)
"""


@pytest.mark.parametrize(
    ("jobs", "how"),
    [
        (1, signal.SIGINT),
        pytest.param(2, signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(1, signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_an_interrupted_and_resumed_run_equals_an_uninterrupted_one(tmp_path, jobs, how):
    path, script = tmp_path / "run.jsonl", tmp_path / "job.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent)))
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    process = subprocess.Popen(
        [sys.executable, script, path, str(jobs)], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while not (path.exists() and path.read_bytes().count(b"\n") > 8) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, how)
    process.communicate(timeout=300)
    made = path.read_bytes().count(b"\n")
    assert 8 < made < 96  # it had begun, and was not done
    resumed = run(plan(splits=6), material(), path)
    assert figures(resumed) == figures(run(plan(splits=6), material(), tmp_path / "whole.jsonl"))
    assert len(path.read_text().splitlines()) == 96


@pytest.mark.slow
def test_multilabel_documents_are_decided_by_thresholds(tmp_path):
    measures = ("micro-f1", "breakeven-micro", "log-loss")
    records = run(plan(measures=measures), material(multilabel=True), tmp_path / "run.jsonl")
    by_model = {model: [record for record in records if record.model == model] for model in ("multinomial", "rocchio")}
    assert all(record.value is None for record in by_model["rocchio"] if record.measure == "log-loss")
    assert all(record.value > 0 for record in by_model["multinomial"])


def _fit(data, plan):
    """The model of the first trial of a plan, and the test documents with its terms."""
    runner = TrialRunner(data, plan)
    trial = plan.trials()[0]
    return runner.split_data(trial).fit(runner.spec(trial))


@pytest.mark.parametrize("labels", ["queue", "tags"])
@pytest.mark.parametrize("model", MODELS)
def test_a_compared_model_is_the_one_that_text_classifier_fits(model, labels):
    """Weights are equal bit for bit, and so are decisions; scores, up to the order in which a document's terms add."""
    settings = {"budget": "fast"} if model == "auto" else {}
    corpus = load_tickets(labels)
    train, test = corpus.part("train"), corpus.part("test")
    plan = ExperimentPlan((Contender(model, tuple(settings.items())),), ("accuracy",))
    known = [names if labels == "tags" else names[0] for names in train.labels]
    try:
        expected = TextClassifier(model, **settings).fit(train.texts, known).fitted_
    except UnnaiveError as problem:  # some models are for single-label data
        with pytest.raises(UnnaiveError, match=re.escape(str(problem))):
            _fit(Material.of(corpus, TokenRule()), plan)
        return
    fitted, X = _fit(Material.of(corpus, TokenRule()), plan)
    assert (fitted.classes, fitted.vocabulary) == (expected.classes, expected.vocabulary)
    arrays, theirs = fitted.scorer.to_arrays()[0], expected.scorer.to_arrays()[0]
    assert arrays.keys() == theirs.keys()
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)
    scores = fitted.scorer.scores(X)
    np.testing.assert_allclose(scores, expected.scores(test.texts), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(
        fitted.decide(scores).toarray(), expected.decide(expected.scores(test.texts)).toarray()
    )


def toy_texts(multilabel=False):
    """The toy's documents as texts, with a label each, or the names of all their labels."""
    toy = material(multilabel=multilabel)
    names = np.array([f"w{column:02}" for column in range(toy.X.shape[1])])
    texts = [" ".join(np.repeat(names, row)) for row in toy.X.toarray()]
    labels = [tuple(f"c{column}" for column in np.flatnonzero(row)) for row in toy.Y.toarray()]
    return Corpus(texts, labels, name="toy")


ESTIMATORS = [
    unnaive.MultinomialNB(),
    unnaive.MultinomialNB(smoothing="jelinek-mercer", class_weight="balanced"),
    unnaive.BernoulliNB(alpha=0.1),
    unnaive.ComplementNB(),
    unnaive.OrGate(),
    unnaive.Rocchio(),
    unnaive.RocchioCounts(),
    unnaive.MaxEnt(class_weight="balanced"),
    unnaive.LinearSVM(),
    unnaive.NearestNeighbours(k=5),
    unnaive.DecisionTree(),
    unnaive.HigherOrderSmoothing(),
    unnaive.SelectiveNB(),
    unnaive.TreeAugmentedNB(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.slow
def test_figures_equal_scikit_learn_s_cross_validation_of_the_estimator(estimator):
    """The same folds, terms counted by scikit-learn: the same accuracy, macro F1 and log-loss in every fold."""
    corpus, toy = toy_texts(), material()
    names = Vocabulary(f"w{column:02}" for column in range(toy.X.shape[1]))  # sorted, as scikit-learn has them
    data = Material("toy", toy.X, toy.Y, vocabulary=names, classes=("c0", "c1", "c2"))
    contender = Contender(estimator.traits.name, tuple(sorted(estimator.changed_settings().items())))
    measures = ("accuracy", "macro-f1", *(("log-loss",) if estimator.traits.probabilistic else ()))
    records = run(ExperimentPlan((contender,), measures, folds=4), data)
    scoring = ["accuracy", "f1_macro", *(("neg_log_loss",) if estimator.traits.probabilistic else ())]
    theirs = cross_validate(
        make_pipeline(CountVectorizer(), estimator), corpus.texts, [names[0] for names in corpus.labels],
        cv=list(fold_splits(data.Y, 4, seed=0)), scoring=scoring,
    )  # fmt: skip
    for ours, name in zip(measures, scoring, strict=True):
        values = [record.value for record in records if record.measure == ours]
        np.testing.assert_allclose(values, np.abs(theirs[f"test_{name}"]), rtol=1e-7)


@pytest.mark.parametrize("select", [None, 15])
@pytest.mark.parametrize("model", ["multinomial", "or-gate", "rocchio", "svm"])
@pytest.mark.slow
def test_multilabel_figures_equal_those_of_text_classifier(model, select):
    """Thresholds are tuned as TextClassifier(decision="best") tunes them, relative to the best class where it does."""
    corpus = toy_texts(multilabel=True)
    data = Material.of(corpus, TokenRule())
    plan = ExperimentPlan((Contender(model),), ("micro-f1", "accuracy"), folds=3, vocabularies=(select,), seed=1)
    records = iter(run(plan, data))
    for train, test in fold_splits(data.Y, 3, seed=1):
        classifier = TextClassifier(model, select=select, decision="best", random_state=1, multilabel=True)
        classifier.fit([corpus.texts[row] for row in train], [corpus.labels[row] for row in train])
        given = classifier.predict([corpus.texts[row] for row in test])
        truth, predicted = data.Y[test].toarray(), np.array([[f"c{c}" in one for c in range(4)] for one in given])
        assert next(records).value == pytest.approx(f1_score(truth, predicted, average="micro"), rel=1e-12)
        assert next(records).value == pytest.approx(accuracy_score(truth, predicted), rel=1e-12)


@pytest.mark.parametrize("size", [20, 100, 500])
def test_selected_terms_equal_those_of_text_classifier(size):
    """compare --vocabulary N and train --set select=N keep the same terms, though they count them in another order."""
    corpus = load_tickets()
    data = Material.of(corpus, TokenRule())
    plan = ExperimentPlan((Contender("multinomial"),), ("accuracy",), vocabularies=(size,))
    selected = _fit(data, plan)[0].vocabulary
    part = corpus.part("train")
    classifier = TextClassifier("multinomial", select=size).fit(
        part.texts[::-1], [names[0] for names in part.labels][::-1]
    )
    assert selected == classifier.vocabulary_


@pytest.mark.parametrize(
    ("model", "settings"),
    [("multinomial", {}), ("auto", {"budget": "fast"}), pytest.param("auto", {}, marks=pytest.mark.slow)],
)
def test_figures_are_those_of_text_classifier(model, settings):
    """Texts are read as the model reads them by default, auto's with pairs and characters; so is the file's size."""
    corpus = load_tickets()
    train, test = corpus.part("train"), corpus.part("test")
    plan = ExperimentPlan((Contender(model, tuple(settings.items())),), ("accuracy",))
    (record,) = run(plan, Material.of(corpus, TokenRule()))
    classifier = TextClassifier(model, **settings).fit(train.texts, [label for (label,) in train.labels])
    assert record.value == classifier.score(test.texts, [label for (label,) in test.labels])
    assert record.n_terms == len(classifier.vocabulary_)
    assert record.n_bytes == file_size(classifier.fitted_, frozen=True)
    assert record.train_seconds > 0


def test_a_model_s_own_way_of_reading_gives_way_to_what_was_asked_for():
    """auto reads pairs of words where nobody chose n-grams; asked for three words, it takes three."""
    material = Material.of(load_tickets(), TokenRule(ngrams=(1, 3)))
    read = material.read_with(Contender("auto").token_rule_changes())
    assert (read.rule.ngrams, read.rule.analyzer) == ((1, 3), "both")
    assert read is material.read_with(Contender("auto").token_rule_changes())
    assert material.read_with(Contender("svm").token_rule_changes()) is material


def test_plans_and_contenders_are_checked():
    with pytest.raises(UnknownName, match="no measure called 'luck'"):
        plan(measures=("luck",))
    with pytest.raises(BadData, match="give one of them"):
        plan(folds=3)
    with pytest.raises(BadData, match="above 0 and below 100"):
        plan(train_sizes=(0.8, 100))
    for wrong in ({"splits": 0}, {"min_df": 0}, {"seed": -1}, {"vocabularies": (0,)}, {"vocabularies": (2.5,)}):
        with pytest.raises(BadData, match="give an integer of at least"):
            plan(**wrong)
    with pytest.raises(BadData, match="no measures"):
        plan(measures=())
    with pytest.raises(BadData, match="no models"):
        ExperimentPlan((), ("accuracy",))
    with pytest.raises(UnknownName, match="multinomial: no setting called 'gamma'"):
        Contender.parse("multinomial:gamma=1")
    with pytest.raises(UnnaiveError, match="write NAME=VALUE"):
        Contender.parse("multinomial:alpha")
    runner = TrialRunner(Material("toy", material().X, material().Y), plan(train_sizes=()))
    with pytest.raises(BadData, match="toy has no predefined split"):
        runner.records(runner.plan.trials()[0])


def test_one_class_is_nothing_to_compare():
    with pytest.raises(BadData, match="toy has only the class 'all'"):
        Material.of(Corpus(["a b", "c"], [("all",), ("all",)], name="toy"), TokenRule())


def test_terms_of_few_documents_are_left_out_and_records_say_so(tmp_path):
    few, many = (run(plan(min_df=least), material(), tmp_path / "run.jsonl") for least in (1, 8))
    assert {record.min_df for record in few} == {1}
    assert {record.min_df for record in many} == {8}
    assert [one.value for one in few] != [one.value for one in many]
    with pytest.raises(BadData, match="no term is in at least 500 documents"):
        run(plan(min_df=500), material(), tmp_path / "run.jsonl")


def test_a_fixed_split_is_one_split(tmp_path):
    records = run(plan(train_sizes=(), vocabularies=(None,)), material(), tmp_path / "run.jsonl")
    assert {(record.protocol, record.split, record.n_train, record.n_test) for record in records} == {
        ("fixed", 0, 90, 30)
    }
