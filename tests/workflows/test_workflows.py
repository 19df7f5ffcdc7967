"""Workflows: Python gets what the commands give, without the command line, and nothing is printed."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import pytest

import unnaive
import unnaive.workflows
from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.io.datafiles import DataFile

MODULES = sorted(module.name for module in pkgutil.iter_modules(unnaive.workflows.__path__))


@pytest.fixture
def tickets(tmp_path):
    return unnaive.write_tickets(tmp_path / "tickets")


def run(capsys, *arguments):
    assert exit_code([*map(str, arguments)]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def printed_json(capsys, *arguments):
    return json.loads(run(capsys, *arguments, "--json"))


def without_times(values):
    return {name: value for name, value in values.items() if name not in ("seconds", "file")}


@pytest.mark.slow
def test_no_workflow_needs_the_command_line():
    """Every module is imported, and a model trained, where typer and rich cannot be imported."""
    script = (
        "import sys, importlib, tempfile\n"
        "sys.modules['typer'] = sys.modules['rich'] = None\n"
        f"for name in {MODULES!r}: importlib.import_module('unnaive.workflows.' + name)\n"
        "import unnaive\n"
        "folder = unnaive.write_tickets(tempfile.mkdtemp())\n"
        "result = unnaive.train_file(folder / 'train.csv', 'multinomial', label='queue', output=folder / 'm.model')\n"
        "unnaive.update_file(folder / 'm.model', folder / 'test.csv')\n"
        "unnaive.evaluate_file(folder / 'm.model', folder / 'test.csv')\n"
        "unnaive.predict_file(folder / 'm.model', folder / 'test.csv', folder / 'out.csv')\n"
        "assert not [name for name in sys.modules if name.startswith('unnaive.apps')]\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_training_gives_the_bytes_and_the_json_of_the_command(tickets, capsys):
    result = unnaive.train_file(
        tickets / "train.csv", "nbsvm", label="queue", output=tickets / "a.model", test=tickets / "test.csv"
    )
    assert capsys.readouterr() == ("", "")
    files = tickets / "train.csv", "-m", "nbsvm", "--label", "queue", "--test", tickets / "test.csv"
    printed = printed_json(capsys, "train", *files, "-o", tickets / "b.model")
    assert (tickets / "a.model").read_bytes() == (tickets / "b.model").read_bytes()
    assert without_times(json.loads(json.dumps(result.to_dict()))) == without_times(printed)
    assert result.report.tally.accuracy == result.test["accuracy"]
    assert result.classifier.predict(["please refund me"]).tolist() == ["billing"]


def test_a_classifier_that_is_passed_in_is_not_changed(tickets):
    classifier = TextClassifier("multinomial", min_df=2)
    result = unnaive.train_file(DataFile(str(tickets / "train.csv"), label="queue"), classifier)
    assert not classifier.__sklearn_is_fitted__()
    assert result.file is None
    assert result.fitted.spec.min_df == 2


def test_evaluation_is_that_of_the_command(tickets, capsys):
    unnaive.train_file(tickets / "train.csv", "multinomial", label="queue", output=tickets / "m.model")
    result = unnaive.evaluate_file(tickets / "m.model", tickets / "test.csv", target_accuracy=0.9)
    printed = printed_json(capsys, "evaluate", tickets / "m.model", tickets / "test.csv", "--target-accuracy", "0.9")
    values = json.loads(json.dumps(result.to_dict()))
    assert (values["measures"], values["abstain"]) == (printed["measures"], printed["abstain"])


def test_predictions_are_those_of_the_command(tickets, capsys):
    unnaive.train_file(tickets / "train.csv", "multinomial", label="queue", output=tickets / "m.model")
    result = unnaive.predict_file(tickets / "m.model", tickets / "test.csv", tickets / "a.csv")
    assert (result.documents, result.unknown) == (275, 0)
    assert exit_code(["predict", *map(str, (tickets / "m.model", tickets / "test.csv", "-o", tickets / "b.csv"))]) == 0
    assert (tickets / "a.csv").read_bytes() == (tickets / "b.csv").read_bytes()
    capsys.readouterr()
    rows = unnaive.predict_file(tickets / "m.model", tickets / "test.csv").rows
    assert exit_code(["predict", str(tickets / "m.model"), str(tickets / "test.csv"), "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == json.loads(json.dumps(rows))


def test_update_then_forget_gives_the_file_back(tickets):
    model = tickets / "m.model"
    unnaive.train_file(tickets / "train.csv", "multinomial", label="queue", output=model)
    before = model.read_bytes()
    larger = unnaive.update_file(model, tickets / "test.csv")
    assert (larger.before.documents, larger.after.documents) == (651, 926)
    smaller = unnaive.forget_file(model, tickets / "test.csv", receipt=tickets / "receipt.json")
    assert smaller.after.documents == 651
    assert (tickets / "receipt.json").exists()
    assert model.read_bytes() == before


def test_merged_files_equal_one_that_learnt_all(tickets):
    parts = [tickets / "north.model", tickets / "south.model"]
    for name, path in zip(("train.csv", "test.csv"), parts, strict=True):
        unnaive.train_file(tickets / name, "multinomial", label="queue", output=path)
    merged = unnaive.merge_files(parts, tickets / "all.model")
    unnaive.update_file(parts[0], tickets / "test.csv")
    assert merged.after.documents == 926
    assert TextClassifier.load(tickets / "all.model").scorer_.to_arrays()[0].keys()
    assert merged.classifier.score(["refund"], ["billing"]) == 1


def test_an_interrupted_training_leaves_the_file_as_it_was(tickets):
    model = tickets / "m.model"
    unnaive.train_file(tickets / "train.csv", "multinomial", label="queue", output=model)
    before = model.read_bytes()

    def stop(name, details):
        if details.get("title") == "writing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unnaive.train_file(tickets / "test.csv", "nbsvm", label="queue", output=model, progress=stop)
    assert model.read_bytes() == before
    assert sorted(path.name for path in tickets.iterdir()) == ["m.model", "test.csv", "train.csv"]


def test_steps_and_notes_go_to_the_callback(tickets):
    events, size = [], (tickets / "train.csv").stat().st_size
    unnaive.train_file(
        tickets / "train.csv",
        "multinomial",
        label="queue",
        progress=lambda name, details: events.append((name, details)),
    )
    titles = [details["title"] for name, details in events if name == "step"]
    assert titles == ["reading", "learning multinomial from 651 documents"]
    assert next(details["total"] for name, details in events if name == "step") == size
    assert sum(details["amount"] for name, details in events if name == "advance") >= size


def test_results_print_as_one_short_line(tickets):
    """A result holds models, evaluations and rows; its repr shows plain short values only."""
    train, test = tickets / "train.csv", tickets / "test.csv"
    trained = unnaive.train_file(train, "multinomial", label="queue", output=tickets / "a.model", test=test)
    results = (
        trained,
        unnaive.evaluate_file(tickets / "a.model", test),
        unnaive.predict_file(tickets / "a.model", test),
        unnaive.update_file(tickets / "a.model", test, output=tickets / "b.model"),
        unnaive.compare_file(train, ["multinomial"], label="queue", splits=2),
        unnaive.audit_file(train, label="queue"),
    )
    for result in results:
        line = repr(result)
        assert line.startswith(type(result).__name__ + "(")
        assert "\n" not in line
        assert len(line) < 700
    assert "model='multinomial'" in repr(trained)
    assert f"accuracy: {trained.test['accuracy']:.4g}" in repr(trained)


@pytest.mark.parametrize(
    ("data", "came"), [(3, "type int"), (None, "type NoneType"), ([], "empty"), ([3], "type list")]
)
def test_data_that_is_no_path_is_one_sentence(data, came):
    with pytest.raises(unnaive.BadData, match=came):
        unnaive.train_file(data, label="queue")


@pytest.mark.slow
def test_files_are_cleaned_filtered_exported_and_drawn_as_by_the_commands(tickets, capsys):
    train, model = tickets / "train.csv", tickets / "m.model"
    unnaive.train_file(train, "multinomial", label="queue", output=model)
    findings = tickets / "findings.csv"
    run(capsys, "audit", train, "--label", "queue", "--fast", "--report", findings)
    cleaned = unnaive.clean_file(train, findings, tickets / "a.csv", accept="label-error", label="queue")
    more = "--label", "queue", "--accept", "label-error"
    printed = printed_json(capsys, "clean", train, findings, "-o", tickets / "b.csv", *more)
    assert without_times(cleaned.to_dict()) == without_times(printed)
    assert (tickets / "a.csv").read_bytes() == (tickets / "b.csv").read_bytes()

    unnaive.predict_file(model, tickets / "test.csv", tickets / "texts.jsonl")
    kept = unnaive.filter_files(model, tickets / "texts.jsonl", "billing", tickets / "a.jsonl", above=0.5)
    more = tickets / "texts.jsonl", "--class", "billing", "--above", "0.5"
    printed = printed_json(capsys, "filter", model, *more, "-o", tickets / "b.jsonl")
    assert json.loads(json.dumps(kept.to_dict())) == printed
    assert (tickets / "a.jsonl").read_bytes() == (tickets / "b.jsonl").read_bytes()

    exported = unnaive.export_file(model, "js", tickets / "a-js")
    printed = printed_json(capsys, "export", model, "--to", "js", "-o", tickets / "b-js")
    assert exported.to_dict()["files"] == printed["files"]

    drawn = unnaive.plot_file(model, tickets / "test.csv", tickets / "a.svg", figure="confusion")
    run(capsys, "plot", model, tickets / "test.csv", "--figure", "confusion", "-o", tickets / "b.svg")
    assert drawn.read_bytes() == (tickets / "b.svg").read_bytes()


@pytest.mark.parametrize("threshold", [{}, {"above": 0.5, "recall": 0.9, "held_out": "x"}, {"recall": 0.9}])
def test_a_filter_has_one_threshold(threshold):
    with pytest.raises(unnaive.UnnaiveError, match=r"give above=0\.5, or recall=0\.9 and held_out with labelled texts"):
        unnaive.filter_files("m.model", "texts.jsonl", ["billing"], "out.jsonl", **threshold)
