"""Small things that a newcomer trips over: threads, what --set optimise does, what is installed, probabilities."""

import csv
import json
import os
import re
import tomllib
import warnings
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score

from unnaive import LinearSVM, MultinomialNB, TextClassifier
from unnaive.apps.cli.commands.doctor import OPTIONAL
from unnaive.apps.cli.main import PARALLEL, build_app
from unnaive.base import thread_count
from unnaive.base.errors import UnnaiveError
from unnaive.io.tables import native_parser

TEXTS = ["good ball", "late goal", "a match", "the goal", "fair vote", "new law", "a bill", "the vote"]
LABELS = ["sport"] * 4 + ["politics"] * 4


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return path.name


def test_every_command_that_works_in_parallel_has_threads(run, tmp_path, monkeypatch):
    verbs = {one.callback.__name__ for one in build_app().registered_commands}
    assert set(PARALLEL) <= verbs
    data = write_csv(tmp_path / "data.csv", zip(TEXTS, LABELS, strict=True))
    seen = []
    count = thread_count.thread_count
    monkeypatch.setattr(native_parser, "thread_count", lambda threads: seen.append(count(threads)) or seen[-1])
    assert run("train", data, "-m", "multinomial", "-o", "m.model", "--jobs", 1)[0] == 0
    for words in (("predict", "m.model", data), ("evaluate", "m.model", data), ("update", "m.model", data)):
        seen.clear()
        assert run(*words, "--jobs", 1)[0] == 0
        assert set(seen) == {1}, words
    assert thread_count.THREADS not in os.environ
    assert run("predict", "m.model", data, "--jobs", 0)[0] == 2


def test_the_environment_says_how_many_threads(monkeypatch):
    monkeypatch.setenv("UNNAIVE_THREADS", "3")
    assert (thread_count.thread_count(None), thread_count.thread_count(2)) == (3, 2)
    monkeypatch.setenv("UNNAIVE_THREADS", "many")
    with pytest.raises(UnnaiveError, match="UNNAIVE_THREADS is"):
        thread_count.thread_count(None)


def test_train_says_what_the_decision_optimises(run, tmp_path):
    rows = [(f"goal match {n}", "sport") for n in range(60)] + [(f"vote law {n % 3}", "politics") for n in range(6)]
    data = write_csv(tmp_path / "uneven.csv", rows)
    out = run("train", data, "-m", "multinomial", "-o", "m.model")[1]
    assert (
        "the classes are imbalanced (sport: 60 documents, politics: 6), and the decision maximises accuracy; "
        "--set optimise=macro-f1 predicts rare classes more often, "
        "--set optimise=COST.csv minimises the cost of mistakes\n"
    ) in out
    out = run("train", data, "-m", "multinomial", "-o", "m.model", "--set", "optimise=macro-f1")[1]
    assert "the decision maximises macro F1 (--set optimise), with class weights from " in out
    assert (
        "optimise" not in run("train", write_csv(tmp_path / "even.csv", rows[54:]), "-m", "multinomial", "-o", "e")[1]
    )


def test_a_model_of_margins_says_where_probabilities_are():
    X = CountVectorizer().fit_transform(TEXTS)
    advice = r"its scores are margins, not probabilities; use TextClassifier\(\.\.\., calibrate='temperature'\)"
    for model, documents in ((LinearSVM(), X), (TextClassifier("svm"), TEXTS)):
        model.fit(documents, LABELS)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match=rf"has no attribute 'predict_proba': {advice}"):
            model.predict_proba(documents)
    calibrated = TextClassifier("svm", calibrate="temperature").fit(TEXTS, LABELS)
    assert calibrated.predict_proba(["goal"]).shape == (1, 2)


def test_scorers_that_take_margins_need_no_probabilities():
    X = CountVectorizer().fit_transform(TEXTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cross_val_score(LinearSVM(), X, LABELS, scoring="roc_auc", cv=2).shape == (2,)  # takes margins too
        assert not hasattr(LinearSVM(), "predict_proba")


@pytest.mark.parametrize("model", [MultinomialNB(alpha=0.5), TextClassifier("multinomial", alpha=0.5, ngrams=(1, 2))])
def test_the_representation_is_an_expression(model):
    documents = TEXTS if isinstance(model, TextClassifier) else CountVectorizer().fit_transform(TEXTS)
    for one in (model, model.fit(documents, LABELS)):
        assert "#" not in repr(one)
        again = eval(repr(one), {"TextClassifier": TextClassifier, "MultinomialNB": MultinomialNB})  # noqa: S307
        assert again.get_params() == model.get_params()


def test_doctor_lists_every_extra(run):
    extras = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())["project"]
    packages = {
        re.match(r"[\w-]+", one)[0]
        for name, needs in extras["optional-dependencies"].items()
        if name not in ("dev", "bench")
        for one in needs
        if not one.startswith("unnaive[")
    }
    assert packages <= set(OPTIONAL)
    out = run("doctor")[1]
    page = Path(__file__).parents[2].joinpath("docs/platforms.md").read_text()
    for name in set(extras["optional-dependencies"]) - {"dev", "bench", "all"}:
        assert f"unnaive[{name}]" in out
        assert f"`{name}`" in page


def test_compare_writes_records_only_where_it_is_told_to(run, tmp_path):
    data = write_csv(tmp_path / "data.csv", zip(TEXTS, LABELS, strict=True))
    words = ("compare", data, "--models", "multinomial", "--folds", 2)
    assert "records:" not in run(*words)[1]
    assert json.loads(run(*words, "--json")[1])
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
    assert "records: runs.jsonl" in run(*words, "-o", "runs.jsonl")[1]
    assert (tmp_path / "runs.jsonl").exists()


def test_predict_says_what_it_wrote_and_refuses_other_endings(run, tmp_path):
    data = write_csv(tmp_path / "data.csv", zip(TEXTS, LABELS, strict=True))
    assert run("train", data, "-m", "multinomial", "-o", "m.model", "-q")[0] == 0
    code, _, err = run("predict", "m.model", data, "-o", "x.xyz")
    assert (code, err) == (2, "unnaive: x.xyz: a table cannot be written as .xyz; give a name that "
                              "ends in .csv, .tsv, .tab, "
                              ".jsonl, .ndjson, .parquet or .pq\n")  # fmt: skip
    assert run("predict", "m.model", data, "-o", "x.csv")[2].endswith("wrote x.csv\n")
