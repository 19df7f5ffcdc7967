"""`unnaive export`: what it refuses, in one sentence each, and that folders of other files are left alone."""

import errno
import json
import os
from contextlib import contextmanager

import pytest

from unnaive import TextClassifier
from unnaive.interop.export import export_folder

TEXTS, LABELS = ["good ball", "fair vote", "ball game"], ["sport", "politics", "sport"]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "small.model"
    TextClassifier("multinomial").fit(TEXTS, LABELS).save(path)
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "to export, give MODEL"),
        (["small.model", "--to", "java", "-o", "out"], "no export target called 'java'"),
        (["small.model", "--to", "c", "--page", "-o", "out"], "--page is only for --to js, not for c; leave it out"),
        (["small.model", "--check", "out"], "--check takes only the folder of an export; leave"),
        (["--check", "nowhere"], "nowhere is not an export"),
        (["small.model", "--to", "js", "-o", "none/out"], "there is no folder none"),
    ],
)
def test_mistakes_are_one_sentence(run, model, arguments, words):
    code, out, err = run("export", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "knn"}, "is not linear in the terms of a text"),
        ({"model": "multinomial", "stem": "porter"}, "reads texts with stem='porter', which no export supports"),
        ({"model": "multinomial", "strip_html": True}, "reads texts with strip_html=True, which no export supports"),
    ],
)
def test_models_that_cannot_be_exported_say_so(run, tmp_path, settings, words):
    TextClassifier(**settings).fit(TEXTS, LABELS).save(tmp_path / "other.model")
    code, _, err = run("export", "other.model", "--to", "js", "-o", "out")
    assert (code, words in err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_other_files_is_left_alone_and_an_export_is_replaced(run, model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert "has other files in it" in run("export", "small.model", "--to", "js", "-o", "mine")[2]
    assert [run("export", "small.model", "--to", "js", "-o", "out")[0] for _ in range(2)] == [0, 0]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["conformance.jsonl", "export.json", "model.d.ts", "model.js", "package.json"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_changes_nothing(run, model, monkeypatch, tmp_path, exists):
    """The disk is full when the last file is written, which must not replace the others."""
    folder = tmp_path / "out"
    if exists:
        assert run("export", "small.model", "--to", "js", "-o", "out")[0] == 0
    before = {path.name: path.read_bytes() for path in folder.glob("*")}
    real = export_folder.replacing

    @contextmanager
    def full(path):
        if path.name == "export.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with real(path) as file:
            yield file

    monkeypatch.setattr(export_folder, "replacing", full)
    code, out, err = run("export", "small.model", "--to", "c", "-o", "out")
    assert (code, out) == (2, "")
    assert err == "unnaive: out cannot be written (No space left on device); nothing was changed\n"
    assert {path.name: path.read_bytes() for path in folder.glob("*")} == before
    assert folder.exists() == exists


@pytest.mark.parametrize("name", ["a.mjs", "model.onnx", "out/classifier.h"])
def test_the_name_of_a_file_is_no_folder_for_an_export(run, model, tmp_path, name):
    code, out, err = run("export", "small.model", "--to", "js", "-o", name)
    assert (code, out) == (2, "")
    assert "is the name of a file; an export is a folder, so name one such as" in err or "there is no folder out" in err
    assert not (tmp_path / name).exists()


@pytest.mark.slow
def test_an_export_removes_what_only_the_earlier_one_wrote(run, model, tmp_path):
    assert run("export", "small.model", "--to", "js", "--page", "-o", "out")[0] == 0
    (tmp_path / "out" / "mine.txt").write_text("dear")
    assert run("export", "small.model", "--to", "c", "-o", "out")[0] == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["conformance.jsonl", "export.json", "mine.txt", "model.bin", "unnaive.h"]


def test_an_edited_manifest_removes_no_files_of_others(run, model, tmp_path):
    assert run("export", "small.model", "--to", "sql", "-o", "out")[0] == 0
    manifest = tmp_path / "out" / "export.json"
    (tmp_path / "letter.txt").write_text("dear")
    about = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(about | {"files": ["../letter.txt", "..", ".", "", 7, "gone.txt"]}))
    assert run("export", "small.model", "--to", "sql", "-o", "out")[0] == 0
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_the_manifest_is_replaced_last(run, model, tmp_path, monkeypatch):
    """A crash between two renames leaves the manifest of the earlier export, never one of files that are not there."""
    order = []
    replace = type(tmp_path).replace

    def note(source, target):
        order.append(target.name)
        return replace(source, target)

    monkeypatch.setattr(type(tmp_path), "replace", note)
    assert run("export", "small.model", "--to", "js", "-o", "out")[0] == 0
    assert order[-1] == "export.json"
    assert sorted(order[:-1]) == ["conformance.jsonl", "model.d.ts", "model.js", "package.json"]
