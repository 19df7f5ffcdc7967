"""The verb `collections`, through the command line."""

import io
import json
import tarfile
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from unnaive.apps.cli.commands import collections as verbs_collections
from unnaive.base.errors import BadData, UnknownName
from unnaive.papers.collections import COLLECTIONS, fetching


@pytest.fixture
def run():
    app = typer.Typer()
    verbs_collections.register(app)

    @app.command()
    def other() -> None:
        """Typer drops the name of a verb that is alone."""

    return lambda *words: CliRunner(env={"COLUMNS": "100"}).invoke(app, ["collections", *map(str, words)])


@pytest.fixture
def folder(tmp_path):
    with tarfile.open(tmp_path / "1150haber.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("1150haber/spor/1.txt")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"gol"))
    return tmp_path


def test_the_list_tells_all_and_what_is_here(run, folder):
    result = run("--data", folder)
    assert result.exit_code == 0
    for name, one in COLLECTIONS.items():
        assert name in result.output
        assert one.title in result.output
    joined = "".join(result.output.split())
    assert "here:" + str(folder / "1150haber.tar.gz") in joined
    assert result.output.count("not here") == len(COLLECTIONS) - 1


def test_the_list_as_json(run, folder):
    rows = {row["name"]: row for row in json.loads(run("--data", folder, "--json").output)}
    assert list(rows) == list(COLLECTIONS)
    assert rows["1150haber"]["path"] == str(folder / "1150haber.tar.gz")
    assert rows["reuters"]["path"] is None
    assert rows["reuters"]["documents"] == 21578


def test_check_prints_each_and_fails_if_one_does(run, folder):
    result = run("check", "--data", folder)
    assert "✗ 1150haber: it has 1 document, but 1150 were expected" in result.output
    assert isinstance(result.exception, BadData)
    assert "1150haber failed the check" in str(result.exception)


def test_check_as_json(run, folder):
    result = run("check", "1150haber", "--data", folder, "--json")
    [record] = json.loads(result.output)
    assert (record["good"], record["documents"]) == (False, 1)


def test_check_with_nothing_here_and_with_a_wrong_name(run, tmp_path):
    assert "no collection is in" in str(run("check", "--data", tmp_path / "none").exception)
    assert isinstance(run("check", "reutres").exception, UnknownName)
    assert "get it from" in str(run("check", "webkb4", "--data", tmp_path).exception)


def test_fetch_hands_on_and_reports(run, tmp_path, monkeypatch):
    seen = {}

    def fake(name, folder, *, url, progress):
        seen.update(name=name, folder=folder, url=url)
        progress(10, None)
        progress(100, 100)
        return tmp_path / "x.tar.gz"

    monkeypatch.setattr(fetching, "fetch", fake)
    result = run("fetch", "webkb4", "--data", tmp_path, "--url", "http://example.org/x")
    assert result.exit_code == 0, result.exception
    assert f"webkb4 is here and verified: {tmp_path / 'x.tar.gz'}" in result.output.replace("\n", "")
    assert seen == {"name": "webkb4", "folder": tmp_path, "url": "http://example.org/x"}


def test_fetch_of_what_is_here_and_whole_fetches_nothing(run, folder, monkeypatch):
    monkeypatch.setenv("UNNAIVE_DATA", str(folder))
    whole = replace(COLLECTIONS["1150haber"], documents=1, contents="")
    monkeypatch.setitem(COLLECTIONS, "1150haber", whole)
    result = run("fetch", "1150haber")
    assert "1150haber is here already, and verified: " in result.output
    monkeypatch.setitem(COLLECTIONS, "1150haber", replace(whole, documents=2))
    assert "there is no known download address of '1150haber'" in str(run("fetch", "1150haber").exception)


def test_fetch_without_an_address(run, tmp_path):
    assert "there is no known download address of 'webkb4'" in str(run("fetch", "webkb4", "--data", tmp_path).exception)


@pytest.mark.slow
def test_check_of_the_real_collections(run):
    result = run("check")
    if isinstance(result.exception, BadData) and "no collection is in" in str(result.exception):
        pytest.skip("no collection is here")
    assert result.exit_code == 0, result.output
    assert "✓" in result.output
