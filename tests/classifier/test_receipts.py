"""Unlearning that can be shown: receipts, registers and keys."""

import json
from pathlib import Path

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.classifier.model_file import load_model
from unnaive.classifier.receipts import read_receipt, register_documents
from unnaive.data.register import Register, make_key

ROWS = [("good ball in the game", "sport"), ("fair vote for the law", "politics"), ("warm soup", "food")]
HEAD = "text,label\n"
SMALL = {"svm": "C=1.0", "knn": "k=3", "maxent": "max_iter=20", "tan": "features=6"}


def write(name, rows):
    Path(name).write_text(HEAD + "".join(f"{text},{label}\n" for text, label in rows))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rest = [(f"{text} {number}a{number}", label) for number in range(5) for text, label in ROWS]
    gone = [("the ball of mr smith", "sport"), ("a soup for mr smith", "food")]
    write("rest.csv", rest)
    write("gone.csv", gone)
    write("all.csv", gone + rest)
    write("other.csv", [("good ball", "sport")])  # never learnt, though the counts cannot tell
    Path("key").write_bytes(b"0123456789abcdef-secret")
    Path("other-key").write_bytes(b"fedcba9876543210-secret")
    return tmp_path


def run(words):
    return exit_code(words.split())


@pytest.mark.parametrize("keyed", ["", " --key key"])
@pytest.mark.parametrize("registered", [False, True])
def test_what_is_forgotten_can_be_shown(folder, capsys, keyed, registered):
    train_key = keyed if registered else ""
    assert run(f"train all.csv -m multinomial -o m.model{' --register' if registered else ''}{train_key}") == 0
    assert run(f"forget m.model gone.csv --receipt r.json{keyed}") == 0
    capsys.readouterr()
    assert run(f"verify m.model --receipt r.json --against rest.csv{keyed}") == 0
    shown = capsys.readouterr().out
    assert "byte for byte" in shown
    assert "NO" not in shown
    receipt = json.loads(Path("r.json").read_text())
    assert (receipt["documents"], receipt["registered"], len(receipt["document_hashes"])) == (2, registered, 2)
    assert (receipt["hash"]["key"] is None) == (not keyed)
    assert "smith" not in Path("r.json").read_text()
    assert b"smith" not in Path("m.model").read_bytes()


@pytest.mark.parametrize("model", ["svm", "knn", "maxent", "tan"])
@pytest.mark.parametrize("registered", ["", " --register"])
@pytest.mark.slow
def test_models_that_keep_documents_show_what_they_forgot_too(folder, capsys, model, registered):
    assert run(f"train all.csv -o m.model --model {model}{registered} --set {SMALL[model]}") == 0
    assert run(f"train rest.csv -o rest.model --model {model}{registered} --set {SMALL[model]}") == 0
    before = Path("m.model").read_bytes()
    assert run("forget m.model other.csv") == 2  # "good ball" is in no class without a register or with one
    assert Path("m.model").read_bytes() == before
    capsys.readouterr()
    assert run("forget m.model gone.csv --receipt r.json") == 0
    assert "now has 15 documents (was 17), 3 classes, " in capsys.readouterr().out
    assert run("verify m.model --receipt r.json --against rest.csv") == 0
    shown = capsys.readouterr().out
    assert "the counted documents equal those of a model trained on the data, every one of them" in shown
    assert "the file is that of such a model, byte for byte" in shown
    assert Path("m.model").read_bytes() == Path("rest.model").read_bytes()
    assert "counted documents" in json.loads(Path("r.json").read_text())["statement"]
    assert run("verify m.model --receipt r.json --against all.csv") == 1
    assert run("update m.model gone.csv") == 0
    assert Path("m.model").read_bytes() == before


def test_a_model_that_is_not_the_one_of_the_receipt(folder, capsys):
    run("train all.csv -m multinomial -o m.model")
    run("forget m.model gone.csv --receipt r.json -o after.model")
    assert run("verify m.model --receipt r.json") == 1
    assert run("verify after.model --receipt r.json --against all.csv") == 1
    assert "2 of the forgotten documents are in the data" in capsys.readouterr().out
    assert run("verify after.model --receipt r.json --against rest.csv --json") == 0


def test_a_register_refuses_what_was_never_learnt_and_what_is_forgotten_already(folder, capsys):
    run("train all.csv -m multinomial -o plain.model")
    run("train all.csv -m multinomial -o m.model --register")
    assert run("forget plain.model other.csv") == 0  # the limit that the register removes
    before = Path("m.model").read_bytes()
    assert run("forget m.model other.csv") == 2
    assert "is not in the model's register" in capsys.readouterr().err
    assert Path("m.model").read_bytes() == before
    assert run("forget m.model gone.csv --receipt r.json") == 0
    assert run("forget m.model gone.csv") == 2
    assert run("update m.model gone.csv") == 0
    assert run("verify m.model --receipt r.json") == 1
    assert run("forget m.model gone.csv") == 0


def test_a_register_with_a_key_is_changed_with_that_key_alone(folder, capsys):
    run("train all.csv -m multinomial -o m.model --register --key key")
    for words in ("update m.model other.csv", "forget m.model gone.csv", "forget m.model gone.csv --key other-key"):
        assert run(words) == 2
        assert "was made with a key; give that file as --key" in capsys.readouterr().err
    assert run("update m.model other.csv --key key") == 0
    assert b"secret" not in Path("m.model").read_bytes()
    Path("short").write_bytes(b"abc")
    assert run("train all.csv -m multinomial -o n.model --register --key short") == 2


def test_merging_joins_registers(folder):
    run("train rest.csv -m multinomial -o a.model --register")
    run("train gone.csv -m multinomial -o b.model --register")
    run("train all.csv -m multinomial -o c.model --register")
    assert run("merge a.model b.model -o ab.model") == 0
    assert run("remake c.model --set alpha=0.5") == 0
    np.testing.assert_array_equal(load_model("ab.model").register.hashes, load_model("c.model").register.hashes)
    assert len(load_model("ab.model").register) == 17
    run("train gone.csv -m multinomial -o plain.model")
    with pytest.warns(UnnaiveWarning, match="not all of these models have a register"):
        TextClassifier.load("a.model").merge(TextClassifier.load("plain.model"))


def test_a_register_takes_no_weights_and_frozen_models_no_register(folder):
    texts, labels = [text for text, _ in ROWS], [label for _, label in ROWS]
    fitted = register_documents(
        TextClassifier("multinomial").fit(texts, labels).fitted_, texts, [(one,) for one in labels]
    )
    with pytest.raises(UnnaiveError, match="with texts and labels, and no weights"):
        TextClassifier.from_fitted(fitted).partial_fit(["ball"], ["sport"], sample_weight=[2])
    assert run("train all.csv -m multinomial -o m.model --register --frozen") == 2
    assert run("train all.csv -o m.model --register --model svm") == 0


def test_hashes_depend_on_text_labels_and_key_and_not_on_the_order_of_labels():
    def hashes(text, labels, key=None):
        return Register.of([text], [labels], key).hashes.tobytes()

    one = hashes("ball", ("a", "b"))
    assert one == hashes("ball", ("b", "a"))
    keys = [make_key(b"0" * 16), make_key(b"1" * 16)]
    others = [hashes("ball", ("a",)), hashes("ball ", ("a", "b")), hashes('"]\0ball', ("a",)), *(
        hashes("ball", ("a", "b"), key) for key in keys)]  # fmt: skip
    assert len({one, *others}) == 6
    assert len(hashes("half \ud800", ("a",))) == 16


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "null", '{"receipt": "unnaive unlearning"}', "[" * 100_000, '{"receipt": 1, "format": 1}'],
)
def test_what_is_no_receipt(tmp_path, content):
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(BadData, match="is no receipt of unlearning"):
        read_receipt(path)


@pytest.mark.parametrize("words", ["--receipt gone.csv", "--receipt m.model", "--receipt key --key key"])
def test_a_receipt_is_not_written_over_what_is_read(folder, words):
    run("train all.csv -m multinomial -o m.model")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(f"forget m.model gone.csv {words}") == 2
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
