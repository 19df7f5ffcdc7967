"""A cache or checkpoint is used again only for the bytes that it was made of; a pipe is read once or refused."""

import contextlib
import os
import shutil
import sqlite3
import threading

import numpy as np
import pytest

from unnaive import train_file
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.io.datafiles import DataFile
from unnaive.scaleout import checkpoint
from unnaive.scaleout.checkpoint import fingerprint
from unnaive.text.tokens import TokenRule
from unnaive.workflows.large_data import LargeDataOptions

ROWS = [("red ball", "a"), ("blue ball", "b"), ("red goal", "a"), ("blue vote", "b")] * 5


def prints(source):
    return fingerprint(source, TokenRule())


def write_csv(path, rows=ROWS):
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), encoding="utf-8")
    return path


def connect(path, rows):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE IF NOT EXISTS t (text, label)")
    database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    database.commit()
    return database


def test_vectors_in_a_file_are_part_of_the_data(tmp_path):
    source = DataFile(str(write_csv(tmp_path / "a.csv")), vector=(f"v={tmp_path / 'v.npy'}",))
    np.save(tmp_path / "v.npy", np.zeros((20, 2)))
    before = prints(source)
    assert prints(source) == before
    np.save(tmp_path / "v.npy", np.ones((20, 2)))
    assert prints(source)["files"] != before["files"]


@pytest.mark.parametrize("prefix", ["", "sqlite:"])
def test_a_database_is_its_file_and_its_log(prefix, tmp_path):
    path = tmp_path / "t.db"
    connect(path, ROWS).close()
    source = DataFile(f"{prefix}{path}" + ("?table=t" if prefix else ""))
    before = prints(source)
    connect(path, ROWS).close()
    more = prints(source)
    assert more["files"] != before["files"]
    writer = connect(path, [])
    writer.execute("PRAGMA journal_mode=wal")
    writer.execute("PRAGMA wal_autocheckpoint=0")
    before = prints(source)
    writer.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
    writer.commit()
    assert prints(source)["files"] != before["files"]
    assert len(source.corpus()) == 60
    writer.close()


def test_another_version_options_and_a_copy_with_the_same_time_are_other_data(tmp_path, monkeypatch):
    path, other = write_csv(tmp_path / "a.csv"), write_csv(tmp_path / "b.csv", [("x" + t[1:], c) for t, c in ROWS])
    before = prints(DataFile(str(path)))
    assert prints(DataFile(str(path), category=("label",))) != before
    assert prints(DataFile(str(path), message="subject")) != before
    state = path.stat()
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    shutil.move(other, path)
    assert path.stat().st_size == state.st_size
    assert prints(DataFile(str(path)))["files"] != before["files"]
    monkeypatch.setattr(checkpoint, "__version__", "0.0.1")
    assert prints(DataFile(str(path)))["versions of unnaive"] == "0.0.1"


@pytest.mark.slow
def test_training_again_with_a_cache_reads_the_rows_as_they_are(tmp_path):
    path, cache = tmp_path / "t.db", LargeDataOptions(cache=tmp_path / "cache")
    connect(path, ROWS).close()
    first = train_file(f"sqlite:{path}", "nbsvm", output=tmp_path / "a.model", large_data=cache)
    assert first.classifier.classes_.tolist() == ["a", "b"]
    database = connect(path, [])
    database.execute("UPDATE t SET label = 'other ' || label")
    database.commit()
    database.close()
    second = train_file(f"sqlite:{path}", "nbsvm", output=tmp_path / "b.model", large_data=cache)
    assert second.classifier.classes_.tolist() == ["other a", "other b"]


def make_pipe(path, content):
    """A named pipe, and a thread that writes to it once."""
    os.mkfifo(path)

    def write():
        with contextlib.suppress(BrokenPipeError), path.open("w", encoding="utf-8") as pipe:
            pipe.write(content)

    threading.Thread(target=write, daemon=True).start()
    return str(path)


LINES = "".join(f"__label__{'ab'[n % 2]} {['red', 'blue'][n % 2]} word{n % 97}\n" for n in range(20_000))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["multinomial", "nbsvm"])
def test_a_pipe_trains_the_model_of_its_file(model, tmp_path):
    (tmp_path / "a.txt").write_text(LINES, encoding="utf-8")
    pipe = make_pipe(tmp_path / "pipe", LINES)
    expected = train_file(DataFile(str(tmp_path / "a.txt"), format="fasttext"), model)
    result = train_file(DataFile(pipe, format="fasttext"), model)
    assert result.documents == expected.documents == 20_000
    assert np.array_equal(result.classifier.scores(["red"]), expected.classifier.scores(["red"]))


@pytest.mark.slow
def test_multilabel_documents_from_a_pipe_are_all_learnt(tmp_path):
    """Thresholds are tuned on documents, for which a file would be read a second time."""
    several = LINES + "__label__a __label__c red\n" * 200
    result = train_file(DataFile(make_pipe(tmp_path / "pipe", several), format="fasttext"), "multinomial")
    assert result.documents == 20_200


@pytest.mark.parametrize("options", [{"cache": "cache"}, {"checkpoint": "points"}])
def test_a_pipe_has_no_cache_and_no_checkpoint(options, tmp_path):
    pipe = make_pipe(tmp_path / "pipe", LINES)
    limits = LargeDataOptions(**{name: tmp_path / folder for name, folder in options.items()})
    with pytest.raises(UnnaiveError, match=r"pipe cannot be read twice, so it cannot have a checkpoint or cache"):
        train_file(
            DataFile(pipe, format="fasttext"), TextClassifier("multinomial", decision="untuned"), large_data=limits
        )


def test_a_pipe_is_not_read_a_second_time(tmp_path):
    source = DataFile(make_pipe(tmp_path / "pipe", LINES), format="fasttext")
    assert len(source.corpus()) == 20_000
    with pytest.raises(BadData, match=r"pipe is not a file, so it can be read only once; save what it gives to a file"):
        source.corpus()
