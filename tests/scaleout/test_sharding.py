"""Models that learn in passes: the same scorer in memory, from files in bounded memory and on Spark; pruned terms."""

import json
import re

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.classifier.model_file import load_model
from unnaive.io.datafiles import DataFile
from unnaive.learning.train import train
from unnaive.models.catalogue import MODELS
from unnaive.scaleout import matrix, sharding, streaming
from unnaive.scaleout.streaming import Resources, stream_documents

pytestmark = pytest.mark.slow


def make_rows(n=200, seed=0):
    """Rows of a few common words, some by label, and rare ones that three rows share."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{number}" for number in range(30)])
    rows = []
    for number in range(n):
        label = int(rng.integers(3))
        picked = words[np.where(rng.random(8) < 0.5, 10 * label + rng.integers(10, size=8), rng.integers(30, size=8))]
        rows.append({"text": " ".join(picked) + f" rare{number // 3}", "label": "abc"[label]})
    return rows


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def in_memory(rows, model="sharded-nbsvm", **parameters):
    parameters = {"shard_size": 40} | parameters if model == "sharded-nbsvm" else parameters
    return TextClassifier(model, **parameters).fit([r["text"] for r in rows], [r["label"] for r in rows]).fitted_


def assert_same(one, two):
    """The same terms and weights, to the bit."""
    assert one.vocabulary == two.vocabulary
    assert one.classes == two.classes
    np.testing.assert_array_equal(np.asarray(one.scorer.sparse_weights), np.asarray(two.scorer.sparse_weights))
    np.testing.assert_array_equal(one.scorer.bias, two.scorer.bias)


@pytest.mark.parametrize("order", [1, -1])
def test_files_in_bounded_memory_give_the_model_of_training_in_memory(order, tmp_path, monkeypatch):
    monkeypatch.setattr(sharding, "HELD", 2000)  # several pieces for each shard
    rows = make_rows()
    expected = in_memory(rows, min_df=2)
    rows[7:7] = [{"text": "without a label", "label": None}]
    rows = rows[::order]
    paths = [str(write(tmp_path / f"{n}.jsonl", rows[67 * n : 67 * n + 67])) for n in range(3)]
    words = ["--set", "min-df=2", "--set", "shard_size=40", "--memory", "512M", "--text", "text", "--label", "label"]
    assert exit_code(["train", *paths, "-m", "sharded-nbsvm", "-o", str(tmp_path / "a.model"), *words]) == 0
    found = load_model(tmp_path / "a.model")
    assert_same(found, expected)
    assert found.documents is None
    assert not list(tmp_path.glob(".unnaive-*"))


@pytest.mark.parametrize("model", ["multinomial", "sharded-nbsvm", "nbsvm"])
def test_hashes_of_texts_take_a_share_of_the_memory_or_are_left_out(model, tmp_path, monkeypatch, capsys):
    path = write(tmp_path / "a.jsonl", make_rows())
    words = ["train", str(path), "-m", model, "-o", str(tmp_path / "a.model"), "--memory", "256M"]
    for room, kept in ((200, True), (199, False)):  # for as many documents as there are, and for one less
        monkeypatch.setattr(streaming, "HASHES_SHARE", (256 << 20) // (8 * room))
        assert exit_code(words) == 0
        hashes = load_model(tmp_path / "a.model").text_hashes
        assert (hashes is not None and len(hashes) == 200) == kept
        assert ("the hashes of the texts do not fit" in "".join(capsys.readouterr())) != kept


@pytest.mark.parametrize(("model", "option"), [("multinomial", "checkpoint"), ("nbsvm", "cache")])
def test_options_without_hashes_of_texts_say_so(model, option, tmp_path, capsys):
    path = write(tmp_path / "a.jsonl", make_rows())
    words = ["train", str(path), "-m", model, "-o", str(tmp_path / "a.model"), "--set", f"{option}={tmp_path / 'kept'}"]
    assert exit_code(words) == 0
    assert load_model(tmp_path / "a.model").text_hashes is None
    assert f"with --set {option} no hashes of the texts are kept: evaluate and filter cannot" in capsys.readouterr().out


def test_data_that_changes_between_the_passes_is_refused(tmp_path):
    path = write(tmp_path / "a.jsonl", make_rows())
    classifier = TextClassifier("sharded-nbsvm")
    with stream_documents(DataFile(str(path)), classifier.token_rule, second_pass=True) as data:
        write(path, make_rows()[:-1])
        with pytest.raises(BadData, match="had 200 documents when it was first read, and 199 the second time"):
            train(data, classifier.spec())


def allow(patch, budget):
    """Let --memory leave `budget` bytes for terms."""
    for module in ("scaleout.matrix", "data.accumulator"):
        patch.setattr(f"unnaive.{module}.table_budget", lambda size: None if size is None else budget)


@pytest.mark.parametrize(("model", "budget"), [("svm", 5000), ("sharded-nbsvm", 16_000)])
@pytest.mark.parametrize("order", [1, -1])
def test_terms_beyond_memory_are_left_out_whatever_the_order(order, model, budget, tmp_path, monkeypatch, capsys):
    """The terms of three documents do not fit: the model is that of texts without them, and the summary says so."""
    rows = make_rows()[::order]
    expected = in_memory([{"text": row["text"].partition(" rare")[0], "label": row["label"]} for row in rows], model)
    allow(monkeypatch, budget)
    words = ["--memory", "512M", *(["--set", "shard_size=40"] if model == "sharded-nbsvm" else [])]
    path, output = write(tmp_path / "a.jsonl", rows), tmp_path / "a.model"
    assert exit_code(["train", str(path), "-m", model, "-o", str(output), *words]) == 0
    assert_same(load_model(output), expected)
    said = " ".join("".join(capsys.readouterr()).split())
    assert "67 terms of fewer than 4 documents left out, so that the model fits in 512M of memory" in said


@pytest.mark.parametrize("model", MODELS)
def test_every_model_leaves_rare_terms_out_whatever_the_order(model, tmp_path, monkeypatch, capsys):
    rows, found = make_rows(), []
    allow(monkeypatch, 5000)
    for order in (1, -1):
        path, output = write(tmp_path / "a.jsonl", rows[::order]), tmp_path / "a.model"
        assert exit_code(["train", str(path), "-m", model, "-o", str(output), "--memory", "512M"]) == 0
        said = " ".join("".join(capsys.readouterr()).split())
        assert re.search("[0-9,]+ terms of fewer than [0-9]+ documents left out, so that the model fits in 512M", said)
        found.append(load_model(output))
    assert found[0].vocabulary == found[1].vocabulary
    if model != "auto":  # its character n-grams of these words are in many documents
        assert not any("rare" in term for term in found[0].vocabulary.terms)
    texts = [row["text"] for row in rows]
    np.testing.assert_array_equal(found[0].scores(texts), found[1].scores(texts))


def test_a_kept_matrix_without_rare_terms_is_not_that_of_more_memory(tmp_path, monkeypatch, capsys):
    path = write(tmp_path / "a.jsonl", make_rows())
    words = ["train", str(path), "-m", "svm", "--set", f"cache={tmp_path / 'cache'}", "-o", str(tmp_path / "a.model")]
    with monkeypatch.context() as patch:
        allow(patch, 5000)
        assert exit_code([*words, "--memory", "512M"]) == 0
        assert exit_code([*words, "--memory", "512M"]) == 0
        said = " ".join("".join(capsys.readouterr()).split())
        assert said.count("67 terms of fewer than 4 documents left out") == 2
        assert "the counted documents of the same data are taken from" in said
    assert exit_code(words) == 0
    assert_same(load_model(tmp_path / "a.model"), in_memory(make_rows(), "svm"))


def test_terms_beyond_a_full_table_are_left_out_alike_in_memory_and_from_files(tmp_path, monkeypatch):
    """Room for 3 classes × 60 terms: the 66 terms of three documents, and that of two, go; without --memory too."""
    rows = make_rows()
    monkeypatch.setattr("unnaive.linear.linear.FULL_CELLS", 180)
    with pytest.warns(UnnaiveWarning, match="terms of fewer than 4 documents are left out"):
        memory = in_memory(rows)
    assert len(memory.vocabulary) == 30
    rule = TextClassifier("sharded-nbsvm", shard_size=40)
    path = write(tmp_path / "a.jsonl", rows[::-1])
    with stream_documents(DataFile(str(path)), rule.token_rule, second_pass=True) as data, pytest.warns(UnnaiveWarning):
        assert_same(train(data, rule.spec()), memory)


def test_stdin_cannot_be_read_again_without_rare_terms(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jsonl", make_rows())
    allow(monkeypatch, 5000)
    rule = TextClassifier("svm").token_rule
    with path.open("r", encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        with (
            pytest.raises(UnnaiveError, match=r"stdin has more than .* terms, which do not fit in the memory allowed"),
            matrix.documents_on_disk(DataFile("-"), rule, resources=Resources(1 << 30, tmp_path)),
        ):
            pass
