"""Calibration, sets, abstention, costs and sizes on the command line, with the typos that people make."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.io.tickets import load_tickets

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with tickets and a calibrated model of them."""
    folder = tmp_path_factory.mktemp("tickets")
    for part in ("train", "test"):
        corpus = load_tickets().part(part)
        with (folder / f"{part}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = list(zip(corpus.texts, (one[0] for one in corpus.labels), strict=True))
            csv.writer(file).writerows([("text", "label"), *rows[:300]])
    arguments = ["train", folder / "train.csv", "-o", folder / "my.model", "--calibrate", "temperature", "--quiet"]
    assert exit_code([str(one) for one in arguments]) == 0
    return folder


@pytest.fixture
def run(run, made, tmp_path, monkeypatch):
    """Run a command line in a folder with tickets; its exit code, stdout and stderr."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("COLUMNS", "120")
    return run


@pytest.fixture
def model(run):
    return "my.model"


def refused(result, sentence):
    code, _, err = result
    assert (code, err.count("\n")) == (2, 1), err
    assert sentence in err


def test_train_with_each_calibration_and_inspect(run):
    for kind, words in (("temperature", "a temperature of"), ("platt", "(Platt)"), ("isotonic", "(isotonic)"),
                        ("none", "as the model gives them")):  # fmt: skip
        assert run("train", "train.csv", "-o", "a.model", "-m", "complement", "--calibrate", kind)[0] == 0
        assert words in run("inspect", "a.model")[1]
    refused(run("train", "train.csv", "-o", "a.model", "--calibrate", "plat"), "did you mean 'platt'?")
    assert run("train", "train.csv", "-o", "a.model", "-m", "svm")[0] == 0
    assert "probabilities   none, only scores; train with --calibrate temperature" in run("inspect", "a.model")[1]


def test_sets_are_a_column_and_the_same_as_from_python(run, model):
    assert run("predict", model, "test.csv", "-o", "out.jsonl", "--coverage", "0.9", "--quiet")[0] == 0
    with Path("out.jsonl").open(encoding="utf-8") as file:
        sets = [tuple(json.loads(line)["label_set"]) for line in file]
    texts = load_tickets().part("test").texts
    assert sets == TextClassifier.load(model).predict_label_set(texts, 0.9)
    assert (
        run("predict", model, "test.csv", "-o", "out.csv", "--coverage", "0.9", "--by-class", "--at-least-one")[0] == 0
    )
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        rows = [row["label_set"].split(";") for row in csv.DictReader(file)]
    assert [tuple(row) for row in rows] == TextClassifier.load(model).predict_label_set(
        texts, by_class=True, at_least_one=True
    )
    assert run("predict", model, "test.csv", "-o", "out.parquet", "--coverage", "0.9")[0] == 0
    assert [tuple(one) for one in pyarrow.parquet.read_table("out.parquet")["label_set"].to_pylist()] == sets


def test_sets_refused_with_a_sentence(run, model):
    refused(run("predict", model, "test.csv", "--coverage", "90"), "give a share between 0 and 1")
    refused(run("predict", model, "test.csv", "--by-class"), "add --coverage, or leave --by-class out")
    run("train", "train.csv", "-o", "plain.model", "--model", "multinomial")
    refused(run("predict", "plain.model", "test.csv", "--coverage", "0.9"), "--calibrate temperature")


def test_evaluate_tells_what_to_reject_below(run, model):
    code, out, _ = run("evaluate", model, "test.csv", "--target-accuracy", "0.9", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["abstain"]["chosen_on"], found["abstain"]["reported_on"]) == (138, 137)
    assert found["abstain"]["sureness"] == 0.9
    assert {"ece", "ece-excess", "aurc"} <= set(found["measures"])
    assert sum(one["predictions"] for one in found["calibration"]["after calibration"]["bins"]) == 275
    assert [one["by_class"] for one in found["sets"]] == [False, True]
    code, out, _ = run("evaluate", model, "test.csv", "--target-accuracy", "0.9")
    below = out.rsplit("--min-probability ", 1)[1].splitlines()[0]
    code, out, _ = run("predict", model, "test.csv", "--min-probability", below)
    rows = list(csv.DictReader(out.splitlines()))
    kept = [row for row in rows if row["predicted_label"] != "undecided"]
    halves = np.random.default_rng(0).permutation(275) >= 138  # the half that the threshold was not chosen on
    pairs = zip(rows, halves, strict=True)
    of_others = [row for row, other in pairs if other and row["predicted_label"] != "undecided"]
    assert len(of_others) == round(137 * found["abstain"]["coverage"])
    right = sum(row["label"] == row["predicted_label"] for row in of_others)
    assert right / len(of_others) == pytest.approx(found["abstain"]["accuracy"])
    assert len(kept) >= len(of_others)
    # the wanted confidence: a higher one asks for a higher probability
    code, out, _ = run("evaluate", model, "test.csv", "--target-accuracy", "0.9", "--confidence", "0.99", "--json")
    assert json.loads(out)["abstain"]["threshold"] > found["abstain"]["threshold"]


def test_evaluate_refuses_what_cannot_be(run, model):
    refused(run("evaluate", model, "test.csv", "--target-accuracy", "1.5"), "give a share above 0 and up to 1")
    refused(run("evaluate", model, "test.csv", "--target-accuracy", "0.9", "--confidence", "1"), "between 0 and 1")
    run("train", "train.csv", "-o", "svm.model", "-m", "svm")
    refused(run("evaluate", "svm.model", "test.csv", "--target-accuracy", "0.9"), "--calibrate temperature")
    code, out, _ = run("evaluate", "svm.model", "test.csv")
    assert code == 0
    assert "reject below" not in out
    with Path("odd.csv").open("w", encoding="utf-8") as file:
        file.write("text,label\nan invoice was paid twice,bug\n")
    refused(run("evaluate", model, "odd.csv", "--target-accuracy", "0.9"), "ask for less")


def test_figures(run, model):
    assert run("plot", model, "test.csv", "-f", "abstention", "-o", "a.svg")[0] == 0
    assert run("evaluate", model, "test.csv", "--report", "r.html", "--report", "r.md")[0] == 0
    with Path("r.md").open(encoding="utf-8") as file:
        text = file.read()
    assert "| target accuracy |" in text
    assert "| 90 % sets |" in text


def test_optimise(run):
    assert run("train", "train.csv", "-o", "f.model", "-m", "complement", "--set", "optimise=macro-f1")[0] == 0
    assert "highest weighted probability" in run("inspect", "f.model")[1]
    names = sorted({one[0] for one in load_tickets().part("train").labels})
    lines = ["true," + ",".join(names)]
    lines += [f"{true}," + ",".join("0" if given == true else "1" for given in names) for true in names]
    with Path("costs.csv").open("w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    assert run("train", "train.csv", "-o", "c.model", "-m", "complement", "--set", "optimise=costs.csv")[0] == 0
    found = json.loads(run("inspect", "c.model", "--json")[1])
    assert (found["optimised_for"], found["decision"]) == (
        "least expected cost",
        "the class with the least expected cost",
    )
    assert TextClassifier.load("c.model").fitted_.decision.costs[0][:2] == (0.0, 1.0)
    refused(
        run("train", "train.csv", "-o", "d.model", "-m", "complement", "--set", "optimise=macro_f1"),
        "did you mean 'macro-f1'?",
    )
    wrong = run("train", "train.csv", "-o", "d.model", "-m", "complement", "--set", "optimise=f1")
    refused(wrong, "there are accuracy, macro-f1; a file of costs ends in .csv")
    refused(
        run("train", "train.csv", "-o", "d.model", "-m", "complement", "--set", "optimise=cost.csv"), "cannot be read"
    )
    refused(run("train", "train.csv", "-o", "d.model", "-m", "complement", "--set", "optimise=train.csv"), "train.csv")
    with Path("costs.csv").open("a", encoding="utf-8") as file:
        file.write("\nbugs" + ",1" * len(names))
    refused(
        run("train", "train.csv", "-o", "d.model", "-m", "complement", "--set", "optimise=costs.csv"),
        "did you mean 'bug'?",
    )


def test_balanced_classes(run):
    assert run("train", "train.csv", "-o", "b.model", "-m", "svm", "--set", "class-weight=balanced")[0] == 0
    assert TextClassifier.load("b.model").class_weight == "balanced"
    refused(run("train", "train.csv", "-o", "b.model", "-m", "svm", "--set", "class-weight=balance"), "give 'balanced'")


@pytest.mark.parametrize("name", ["complement", pytest.param("auto", marks=pytest.mark.slow)])
def test_max_size(run, name):
    code, out, err = run("train", "train.csv", "-o", "s.model", "-m", name, "--max-size", "20kB")
    assert code == 0
    assert Path("s.model").stat().st_size <= 20_000
    assert "weights of 8 bits" in out + err
    assert " before, accuracy " in out + err
    first = Path("s.model").read_bytes()
    code, out, _ = run("train", "train.csv", "-o", "t.model", "-m", name, "--max-size", "20kB", "--json")
    size = json.loads(out)["size"]
    assert size["bytes"] == Path("t.model").stat().st_size
    # a fifth of 300, and one more, because copies are held out together
    assert size["cost"]["before"]["documents"] == size["cost"]["after"]["documents"] == 61
    assert Path("t.model").read_bytes() == first
    refused(run("train", "train.csv", "-o", "s.model", "-m", name, "--max-size", "20 cats"), "such as 5MB or 800kB")
    refused(
        run("train", "train.csv", "-o", "s.model", "-m", name, "--max-size", "20kB", "--register"),
        "no room for a register",
    )
    assert Path("s.model").read_bytes() == first


def test_compress_an_existing_model(run, model):
    code, out, err = run("compress", model, "test.csv", "-o", "small.model", "--max-size", "17kB")
    assert code == 0
    assert Path("small.model").stat().st_size <= 17_000
    assert "on 275 documents" in out + err
    assert run("predict", "small.model", "test.csv", "--coverage", "0.9")[0] == 0
    refused(run("compress", model, "-o", "small.model", "--max-size", "15"), "allow more")
    code, out, _ = run("compress", model, "-o", "same.model", "--max-size", "1GB", "--json")
    assert json.loads(out)["can_be_updated"] is True
    assert Path("same.model").read_bytes() == Path(model).read_bytes()
