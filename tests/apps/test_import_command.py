"""`unnaive import`: the model that it writes works with the other commands, and mistakes are sentences."""

import json

import numpy as np
import pytest
from support.fasttext_files import KINDS, TEXTS, WORDS, write_fasttext

import unnaive
from unnaive.apps.cli.main import exit_code
from unnaive.classifier.model_file import load_model


@pytest.fixture
def binary(tmp_path):
    path = tmp_path / "small.bin"
    path.write_bytes(write_fasttext(KINDS["softmax-subwords"]))
    return path


def test_an_imported_model_goes_through_the_commands(binary, tmp_path, capsys):
    model, data = tmp_path / "small.model", tmp_path / "data.jsonl"
    assert exit_code(["import", str(binary), "-o", str(model), "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["classes"], about["words"], about["loss"], about["maxn"]) == (5, len(WORDS), "softmax", 4)
    result = unnaive.import_file(binary, tmp_path / "python.model")
    assert (tmp_path / "python.model").read_bytes() == model.read_bytes()
    assert {**result.to_dict(), "file": str(model)} == about
    label = load_model(model).predict(["the of to"])[0]
    data.write_text(json.dumps({"text": "the of to", "label": label}) + "\n")
    for arguments in (
        ["predict", str(model), str(data)],
        ["evaluate", str(model), str(data)],
        ["explain", str(model), "the of to"],
        ["inspect", str(model)],
        ["compress", str(model), "-o", str(tmp_path / "tiny.model"), "--max-size", "3kB"],
    ):
        assert exit_code(arguments) == 0
        out = capsys.readouterr()
        assert label in out.out or "made to fit" in out.out + out.err
    assert exit_code(["predict", str(model), str(data), "--out-of-scope-rate", "0.05"]) == 2
    assert "its file has only weights, without scores of held-out documents; train a model" in capsys.readouterr().err
    for change in ("update", "forget"):
        before = model.read_bytes()
        assert exit_code([change, str(model), str(data)]) == 2
        assert "its file has only weights, without counts or documents" in capsys.readouterr().err
        assert model.read_bytes() == before


def test_an_imported_model_is_served(binary, tmp_path):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from unnaive.apps.service.app import ServiceOptions, create_app

    model = tmp_path / "small.model"
    assert exit_code(["import", str(binary), "-o", str(model)]) == 0
    fitted, texts = load_model(model), list(TEXTS[2:8])
    options = ServiceOptions(models={"small": str(model)}, token="t" * 32, hosts=("testserver",))
    with TestClient(create_app(options)) as client:
        results = client.post("/v1/classify", json={"texts": texts}).json()["results"]
        teach = {"documents": [{"text": "the", "labels": ["c0"]}]}
        refused = client.post(
            "/v1/models/small/teach", json=teach, headers={"Authorization": f"Bearer {options.token}"}
        )
    assert [one["label"] for one in results] == fitted.predict(texts).tolist()
    p = [one["classes"][0]["probability"] for one in results]
    np.testing.assert_allclose(p, fitted.predict_proba(texts).max(axis=1), atol=1e-6)
    assert "without counts or documents" in refused.text


def test_mistakes_are_sentences_and_nothing_is_written(binary, tmp_path, capsys):
    target, text = tmp_path / "out.model", tmp_path / "notes.txt"
    text.write_text("no model at all")
    for arguments, words in (
        ([str(text), "-o", str(target)], "not a fastText model"),
        ([str(tmp_path / "none.bin"), "-o", str(target)], "no file or folder called"),
        ([str(binary), "-o", str(target), "--multilabel"], "labels exclude each other"),
        ([str(binary), "-o", str(text)], "exists and is not a model"),
    ):
        assert exit_code(["import", *arguments]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert len(err.strip().splitlines()) == 1
        assert not target.exists()
    assert text.read_text() == "no model at all"
