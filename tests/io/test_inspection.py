"""A data file is opened and understood once: opens and calls are counted, pipes lose nothing, changes are seen."""

import io
import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from unnaive.base.open_files import ByteSource
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.evident_fields import suggest_fields
from unnaive.io.read_options import ReadOptions
from unnaive.io.tickets import load_records
from unnaive.io.writing.table_writer import write_table
from unnaive.workflows.train import train_file

HEADER = "text,queue,city\n"
ROWS = [f"text number {n} of the file,{'ab'[n % 2]},{'xyz'[n % 3]}\n" for n in range(20_000)]

COMMAND = """
import contextlib, io, runpy, sys, threading
from pathlib import Path
import unnaive

opened, arguments = [], sys.argv[1:]

def run():
    sys.argv = ["unnaive", *arguments]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            runpy.run_module("unnaive", run_name="__main__")
        except SystemExit as end:
            assert not end.code
"""
OPENS = """
sys.addaudithook(lambda event, given: opened.append(1) if event == "open" and "tickets.csv" in str(given[0]) else None)
run()
print(len(opened))
"""
CALLS = """
root, calls = str(Path(unnaive.__file__).parent) + "/", [0]

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(root):
        calls[0] += 1

run()  # so that no import is counted
threading.setprofile(note)
sys.setprofile(note)
run()
sys.setprofile(None)
print(calls[0])
"""


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """A folder with the tickets, of which all but the text are other columns."""
    folder = tmp_path_factory.mktemp("tickets")
    rows = [row | {"tags": ";".join(row["tags"])} for row in load_records() if row.pop("split") == "train"]
    write_table(folder / "tickets.csv", rows, list(rows[0]))
    return folder


def run_counted(program, folder, *arguments):
    done = subprocess.run([sys.executable, "-c", program, *arguments], cwd=folder, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return int(done.stdout.splitlines()[-1])


def count_opens(folder, *arguments):
    """How often a command opens tickets.csv."""
    return run_counted(COMMAND + OPENS, folder, *arguments)


def test_training_opens_its_file_once_and_guesses_columns_once(tickets):
    train = ["train", "tickets.csv", "--label", "queue", "-m", "multinomial", "-o", "a.model"]
    assert count_opens(tickets, *train) == 1
    assert run_counted(COMMAND + CALLS, tickets, *train) < 25_000  # 98,942 when each step looked at the file by itself


@pytest.mark.slow
@pytest.mark.parametrize("model", [["-m", "nbsvm"], ["--budget", "fast"], ["-m", "svm", "--fields", "auto"]])
def test_no_training_opens_its_file_more_than_twice(tickets, model):
    assert count_opens(tickets, "train", "tickets.csv", "--label", "queue", "-o", "b.model", *model) <= 2


@pytest.mark.slow
def test_prediction_and_evaluation_open_their_file_once(tickets):
    train_file(tickets / "tickets.csv", "multinomial", label="queue", output=tickets / "c.model")
    assert count_opens(tickets, "predict", "c.model", "tickets.csv", "-o", "answers.csv") == 1
    assert count_opens(tickets, "evaluate", "c.model", "tickets.csv") == 1


def documents(source):
    corpus = source.corpus()
    return list(corpus.texts), list(corpus.labels)


@pytest.mark.parametrize("start", ["", "sep=,\n", "﻿"])
def test_what_looks_have_read_is_handed_on(tmp_path, start):
    path = tmp_path / "rows.csv"
    path.write_text(start + HEADER + "".join(ROWS), encoding="utf-8")  # longer than what a look reads
    source = DataFile(str(path))
    assert source.sample_texts(labelled=True)[0] == "text number 0 of the file"
    suggest_fields(source)
    looked = documents(source)
    assert looked == documents(DataFile(str(path)))
    assert len(looked[0]) == 20_000
    assert looked == documents(source)  # read again, from the file


def test_a_pipe_is_looked_at_several_times_and_loses_nothing(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(HEADER + "".join(ROWS[:500]),))
    writer.start()
    source = DataFile(str(path), format="csv")
    assert source.sample_texts()[1] == "text number 1 of the file"
    assert next(source.inspections(labelled=True)).names == ("text", "queue", "city")
    texts, labels = documents(source)
    writer.join()
    assert (len(texts), texts[-1], labels[-1]) == (500, "text number 499 of the file", ("b",))


def test_stdin_is_looked_at_and_read(monkeypatch):
    lines = HEADER + "".join(ROWS[:300])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    source = DataFile("-")
    assert source.sample_texts(labelled=True)[:1] == ["text number 0 of the file"]
    assert len(documents(source)[0]) == 300


def test_a_file_that_changes_is_looked_at_again(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(HEADER + "".join(ROWS[:9]))
    source = DataFile(str(path))
    first = next(source.inspections(labelled=True))
    assert next(source.inspections(labelled=True)).sample is first.sample  # remembered
    path.write_text("body;label\na b c;x\nd e f;y\n")
    again = next(source.inspections(labelled=True))
    assert (again.names, again.delimiter) == (("body", "label"), ";")
    assert documents(source) == (["a b c", "d e f"], [("x",), ("y",)])


def test_copies_with_other_options_share_looks(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(HEADER + "".join(ROWS[:9]))
    source = DataFile(str(path))
    copy = replace(source, options=replace(source.options, threads=1, on_read=lambda size: None))
    first, second = (next(one.inspections(labelled=True)) for one in (source, copy))
    assert first.sample is second.sample
    other = replace(source, options=replace(source.options, header=False))
    assert next(other.inspections(labelled=True)).names == ("1", "2", "3")


def test_a_bad_row_is_logged_once_and_by_the_reading(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(HEADER + ROWS[0] + "too,many,cells,here\n" + ROWS[1])
    source = DataFile(str(path), options=ReadOptions(skip_bad=True))
    source.sample_texts(labelled=True)
    assert not source.options.log.skipped
    with pytest.warns(UserWarning, match="1 bad row was left out: line 3"):
        assert len(documents(source)[0]) == 2
    assert source.options.log.skipped == [(3, 3)]


def test_bytes_are_counted_once(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(HEADER + "".join(ROWS))
    read: list[int] = []
    source = DataFile(str(path), options=ReadOptions(on_read=read.append))
    suggest_fields(source)
    assert not read
    source.corpus()
    assert sum(read) == path.stat().st_size


def test_a_source_replays_its_start(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(256)) * 4096)
    source = ByteSource(path)
    with source.look() as stream:
        assert stream.read(3) == b"\0\1\2"
    assert source.starts_with((b"\0\1",))
    assert not source.starts_with((b"\1",))
    with source.open() as stream:
        assert stream.read() == path.read_bytes()
    with source.open() as stream:
        assert stream.read(2) == b"\0\1"
