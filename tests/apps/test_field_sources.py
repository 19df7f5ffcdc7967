"""Records of one table in several files: nested and absent keys of JSON, vectors as text, fields that are guessed."""

import csv
import json

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import UnnaiveWarning

WORDS = {"billing": ["refund", "invoice"], "bug": ["crash", "error"]}
TRAIN = ["--label", "queue", "--text", "body", "--category", "product", "--number", "age", "-m", "nbsvm"]


def make_rows(n=60):
    draw = np.random.default_rng(3)
    rows = []
    for number in range(n):
        queue = ("billing", "bug")[number % 2]
        body = f"{WORDS[queue][number % 4 // 2]} please help number{number}"
        vector = np.round(draw.normal(size=4) + (number % 2), 3).tolist()
        product = str(draw.choice(["App", "Server", "Printer"]))
        age = round(float(draw.normal(40, 9)), 1)
        rows.append({"body": body, "product": product, "age": age, "embedding": vector, "queue": queue})
    return rows


ROWS = make_rows()


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The rows as CSV and JSON lines, with keys left out where cells are empty, and nested."""
    monkeypatch.chdir(tmp_path)
    rows = [row | {"product": None if at % 3 else row["product"]} for at, row in enumerate(ROWS)]
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    nested = [{"mail": {"body": row["body"], "about": {"age": row["age"]}}, "queue": row["queue"]} for row in rows]
    for name, records in (
        ("t.jsonl", rows),
        ("absent.jsonl", [{key: value for key, value in row.items() if value is not None} for row in rows]),
        ("nested.jsonl", nested),
        ("other.jsonl", [*rows, {"queue": "bug", "text": "hello"}]),
    ):
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return tmp_path


def done(found):
    code, out, err = found
    assert code == 0, err
    return out + err


def test_absent_keys_are_empty_cells(run, files):
    for name in ("t.jsonl", "absent.jsonl"):
        done(run("train", name, *TRAIN, "-o", f"{name}.model"))
        done(run("train", name, "--label", "queue", "--fields", "auto", "-m", "nbsvm", "-o", f"{name}.auto"))
    assert (files / "t.jsonl.model").read_bytes() == (files / "absent.jsonl.model").read_bytes()
    assert (files / "t.jsonl.auto").read_bytes() == (files / "absent.jsonl.auto").read_bytes()
    code, _, err = run("train", "other.jsonl", *TRAIN, "-o", "x.model")
    assert (code, "line 61 of other.jsonl has no key 'body'" in err) == (2, True)


def test_nested_records_are_read_at_every_entrance(run, files):
    options = ["--label", "queue", "--text", "mail.body", "--number", "mail.about.age", "-m", "multinomial"]
    done(run("train", "nested.jsonl", *options, "-o", "n.model"))
    record = {"mail": {"body": "refund", "about": {"age": 41}}}
    flat = {"mail.body": "refund", "mail.about.age": 41}
    assert done(run("explain", "n.model", json.dumps(record))) == done(run("explain", "n.model", json.dumps(flat)))
    model = TextClassifier.load(files / "n.model")
    assert np.array_equal(model.scores([record]), model.scores([flat]))
    assert model.explain(record).label == "billing"


def test_auto_reads_the_vectors_of_every_format(run, files):
    """A cell of CSV has the list as text."""
    for name in ("t.csv", "t.jsonl"):
        found = done(run("train", name, "--label", "queue", "--fields", "auto", "-m", "nbsvm", "-o", f"{name}.model"))
        assert "embedding (vector(4))" in found
    assert (files / "t.csv.model").read_bytes() == (files / "t.jsonl.model").read_bytes()
    assert "the others by their vectors" not in done(run("inspect", "t.csv.model"))  # only words can have unseen terms


def test_auto_leaves_vectors_out_for_a_model_that_cannot_use_them(run, files):
    found = done(run("train", "t.csv", "--label", "queue", "--fields", "auto", "-m", "multinomial", "-o", "m.model"))
    assert "left out: embedding (vectors, which the model cannot use)" in found
    records = [{key: value for key, value in row.items() if key != "queue"} for row in ROWS]
    with pytest.warns(UnnaiveWarning, match=r"left out: embedding \(vectors, which the model cannot use\)"):
        model = TextClassifier("multinomial", fields="auto").fit(records, [row["queue"] for row in ROWS])
    assert "embedding" not in model.fields_


def test_models_with_and_without_fields_are_not_merged(run, files):
    done(run("train", "t.csv", *TRAIN, "-o", "a.model"))
    done(run("train", "t.csv", "--label", "queue", "--text", "body", "-m", "nbsvm", "-o", "b.model"))
    for pair in (("a.model", "b.model"), ("b.model", "a.model")):
        code, _, err = run("merge", *pair, "-o", "c.model")
        assert (code, "models that read texts differently cannot be merged: fields is" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--category", "product", "--number", "product"], "column 'product' of t.csv is named as a field twice"),
        (["--vector", "product", "-m", "svm"], "but a value is 'App' (row 1 of t.csv); give a list of numbers"),
    ],
)
def test_columns_that_cannot_be_fields(run, files, options, sentence):
    text = (files / "t.csv").read_text(encoding="utf-8").replace("Server", "App").replace("Printer", "App")
    (files / "t.csv").write_text(text, encoding="utf-8")
    code, _, err = run("train", "t.csv", "--label", "queue", "--text", "body", *options, "-o", "x.model")
    assert (code, sentence in err, (files / "x.model").exists()) == (2, True, False), err
