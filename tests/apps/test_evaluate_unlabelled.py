"""`evaluate` of data without labels, in every format: an estimated accuracy, or one sentence."""

import csv
import json

import pytest

import unnaive
from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.data.corpus import NoLabels
from unnaive.io.tickets import load_tickets

TEST = load_tickets().part("test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The tickets, a model of their queues, and the test texts without labels in several formats."""
    folder = unnaive.write_tickets(tmp_path_factory.mktemp("tickets"))
    model = TextClassifier("nbsvm", calibrate="temperature")
    unnaive.train_file(folder / "train.csv", model, label="queue", output=folder / "m.model")
    with (folder / "test.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = list(csv.reader(file))
    at, text = head.index("queue"), head.index("text")
    tables = {
        "none.csv": [["text"], *([row[text]] for row in rows)],
        "others.csv": [[*head[:at], *head[at + 1 :]], *([*row[:at], *row[at + 1 :]] for row in rows)],
        "empty.csv": [head, *([*row[:at], "", *row[at + 1 :]] for row in rows)],
    }
    for name, table in tables.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(table)
    lines = [" ".join(row[text].split()) for row in rows]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "records.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines), "utf-8")
    (folder / "damaged.txt").write_text("text,queue\nplease help,bug\na,b,c\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["none.csv", "others.csv", "empty.csv", "lines.txt", "records.jsonl"])
def test_the_accuracy_is_estimated(run, folder, name):
    code, out, err = run("evaluate", str(folder / "m.model"), str(folder / name), "--json")
    assert code == 0, err
    found = json.loads(out)["estimated"]
    assert found["documents"] == 275
    assert found["low"] < 0.92 < found["high"]
    notes = [line for line in err.splitlines() if line]
    assert len(notes) == 1, err  # nothing about labels that are none
    assert "the accuracy is estimated" in notes[0]


def test_python_gives_what_the_command_gives(run, folder):
    _, out, _ = run("evaluate", str(folder / "m.model"), str(folder / "none.csv"), "--json")
    assert unnaive.estimate_accuracy_file(folder / "m.model", folder / "none.csv").to_dict() == json.loads(out)
    with pytest.raises(NoLabels):
        unnaive.evaluate_file(folder / "m.model", folder / "none.csv")


def test_people_read_the_interval_and_when_not_to_believe_it(run, folder):
    code, out, err = run("evaluate", str(folder / "m.model"), str(folder / "none.csv"))
    assert code == 0, err
    words = " ".join(out.split())
    for part in ("275 documents without labels", "estimated accuracy", "95 % interval", "classes that the model does"):
        assert part in words
    assert "Do not believe" not in words
    (folder / "odd.txt").write_text("violin sonata in d minor\nthe oboe and the flute\n" * 40, encoding="utf-8")
    _, out, _ = run("evaluate", str(folder / "m.model"), str(folder / "odd.txt"))
    words = " ".join(out.split())
    doubts, _, figures = words.partition("80 documents without labels")
    assert "Do not believe the estimate: 100 % of the documents are less like the classes" in doubts
    assert "estimated accuracy" not in words
    assert figures.index("held-out documents") < figures.index("estimate, were these like them")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.csv", "--measure", "ece"], "--measure needs documents with labels"),
        (["none.csv", "--target-accuracy", "0.9"], "--target-accuracy needs documents with labels"),
        (["none.csv", "--report", "r.html"], "--report needs documents with labels"),
        (["empty.csv", "--label", "queue"], "no document has a label"),
        (["none.csv", "--label", "queue"], "queue"),
        (["damaged.txt"], "line 3"),
    ],
)
def test_what_needs_labels_is_refused_in_a_sentence(run, folder, monkeypatch, arguments, sentence):
    monkeypatch.chdir(folder)
    code, out, err = run("evaluate", "m.model", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1, err
    assert not (folder / "r.html").exists()


def test_an_estimate_below_the_target_exits_with_1(run, folder):
    code, _, err = run("evaluate", str(folder / "m.model"), str(folder / "none.csv"), "--at-least", "0.99")
    assert code == 1
    assert "the estimated accuracy is 0." in err
    assert run("evaluate", str(folder / "m.model"), str(folder / "none.csv"), "--at-least", "0.5")[0] == 0


def test_labels_of_other_classes_in_the_column_of_training_are_labels(run, folder):
    (folder / "new.csv").write_text("text,queue\nplease help,unheard\nreset my password,of\n", encoding="utf-8")
    code, out, err = run("evaluate", str(folder / "m.model"), str(folder / "new.csv"), "--json")
    assert code == 0, err
    assert json.loads(out)["measures"]["accuracy"] == 0


def test_a_table_with_labels_in_another_column_is_measured(run, folder):
    (folder / "renamed.csv").write_text("message,category\nplease reset my password,access\n" * 1, encoding="utf-8")
    code, out, err = run("evaluate", str(folder / "m.model"), str(folder / "renamed.csv"), "--json")
    assert code == 0, err
    assert json.loads(out)["measures"]["accuracy"] == 1


def test_a_folder_of_texts_has_no_labels(run, folder):
    (folder / "texts").mkdir()
    for number, text in enumerate(("please reset my password", "iade istiyorum, şifremi unuttum", "मदद")):
        (folder / "texts" / f"{number}.txt").write_text(text, encoding="utf-8")
    code, out, err = run("evaluate", str(folder / "m.model"), str(folder / "texts"), "--json")
    assert code == 0, err
    assert json.loads(out)["estimated"]["documents"] == 3


def test_a_model_without_held_out_probabilities_is_refused_in_one_sentence(run, folder):
    unnaive.train_file(folder / "train.csv", "multinomial", label="queue", output=folder / "plain.model")
    code, out, err = run("evaluate", str(folder / "plain.model"), str(folder / "none.csv"))
    assert (code, out) == (2, "")
    assert "no labels were found (" in err
    assert "train auto, or train with --calibrate temperature" in err
    assert err.count("\n") == 1, err


def test_without_documents_there_is_a_sentence(run, folder):
    (folder / "blank.csv").write_text("text\n", encoding="utf-8")
    code, _, err = run("evaluate", str(folder / "m.model"), str(folder / "blank.csv"))
    assert code == 2, err
    with pytest.raises(BadData):
        unnaive.estimate_accuracy_file(folder / "m.model", folder / "blank.csv")
