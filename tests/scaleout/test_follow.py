"""`update --follow`: every record once, whatever is interrupted."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.classifier.model_file import load_model
from unnaive.scaleout import follow as following
from unnaive.scaleout.follow import FollowOptions, Journal, follow

FIRST = (["good ball", "fair vote"], ["sport", "politics"])


def records(n, start=0, **more):
    return [{"text": f"ball goal{k}" if k % 2 else f"vote law{k}", "label": "sport" if k % 2 else "politics", **more}
            for k in range(start, start + n)]  # fmt: skip


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def expected(path, rows):
    """The file of a model that learnt all of it at once."""
    texts, labels = [*FIRST[0], *(row["text"] for row in rows)], [*FIRST[1], *(row["label"] for row in rows)]
    TextClassifier("multinomial").fit(texts, labels).save(path)
    return path.read_bytes()


@pytest.fixture
def model(tmp_path):
    TextClassifier("multinomial").fit(*FIRST).save(tmp_path / "m.model")
    return tmp_path / "m.model"


def run_until_idle(model, source, monkeypatch, **options):
    """Follow a file until it has nothing more to say, then Ctrl-C."""

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(following.time, "sleep", interrupt)
    return follow(model, str(source), FollowOptions(every=1000.0, **options))


def test_a_growing_file_is_learnt_once(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(5)) + '{"text": "half of a li')
    assert run_until_idle(model, source, monkeypatch)["documents"] == 5
    assert run_until_idle(model, source, monkeypatch)["documents"] == 0
    source.write_text(lines(records(5)) + lines(records(4, start=5)))
    assert run_until_idle(model, source, monkeypatch)["documents"] == 4
    assert model.read_bytes() == expected(tmp_path / "e.model", records(9))


@pytest.mark.parametrize("replaced", [False, True])
def test_a_crash_between_journal_and_model_repeats_or_skips_the_batch(model, tmp_path, monkeypatch, replaced):
    """The journal is written first; a crash right after it leaves the old model, one after the rename the new one."""
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(6)))
    if replaced:
        run_until_idle(model, source, monkeypatch)
    else:

        def crash(path, change):
            change(load_model(path))
            raise RuntimeError("power is gone")

        with monkeypatch.context() as patch:
            patch.setattr(following, "update_model_file", crash)
            with pytest.raises(RuntimeError):
                run_until_idle(model, source, monkeypatch)
        assert Journal.open(model, str(source)).offset == 0
    run_until_idle(model, source, monkeypatch)
    assert model.read_bytes() == expected(tmp_path / "e.model", records(6))


def test_batches_with_an_id_are_learnt_once_and_whole(model, tmp_path, monkeypatch):
    first, second = records(3, batch="a"), records(3, start=3, batch="b")
    source = tmp_path / "in.jsonl"
    source.write_text(lines([*first, *second]))
    assert run_until_idle(model, source, monkeypatch, batch="batch")["documents"] == 3  # b may go on
    again = tmp_path / "again.jsonl"
    again.write_text(lines([*first, *second, *records(1, start=6, batch="c")]))
    found = run_until_idle(model, again, monkeypatch, batch="batch")
    assert found == {"documents": 3, "writes": 1, "left_out": 0, "again": 3}
    assert model.read_bytes() == expected(tmp_path / "e.model", records(6))


def test_a_batch_that_was_stopped_is_learnt_from_the_same_file_later(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text(lines([*records(3, batch="a"), *records(2, start=3, batch="b")]))
    assert run_until_idle(model, source, monkeypatch, batch="batch")["documents"] == 3
    with source.open("a") as file:
        file.write(lines([*records(1, start=5, batch="b"), *records(1, start=6, batch="c")]))
    found = run_until_idle(model, source, monkeypatch, batch="batch")
    assert found == {"documents": 3, "writes": 1, "left_out": 0, "again": 0}
    assert model.read_bytes() == expected(tmp_path / "e.model", records(6))


def test_complete_batches_are_learnt_while_another_comes_in(model, tmp_path, monkeypatch):
    source, told = tmp_path / "in.jsonl", []
    source.write_text(lines([*records(2, batch="a"), *records(2, start=2, batch="b"), *records(1, start=4, batch="c")]))
    monkeypatch.setattr(following, "MOST_LINES", 2)

    def interrupt(seconds):
        told.append("idle")
        raise KeyboardInterrupt

    monkeypatch.setattr(following.time, "sleep", interrupt)
    follow(model, str(source), FollowOptions(every=1000.0, batch="batch"), told.append)
    assert told == [
        "learnt 2 documents in 1 write",
        "learnt 4 documents in 2 writes",
        "idle",
        "stopping after the lines that have arrived are learnt",
    ]
    assert model.read_bytes() == expected(tmp_path / "e.model", records(4))


@pytest.mark.parametrize("moment", ["while a batch is learnt", "while lines are read", "while nothing comes"])
def test_ctrl_c_is_heard_by_another_thread(model, tmp_path, monkeypatch, moment):
    """Python raises it in the main thread, whichever took the signal: no document is learnt twice or not at all."""
    source, done = tmp_path / "in.jsonl", threading.Event()
    source.write_text(lines(records(6)))
    other = threading.Thread(target=done.wait)
    other.start()

    def interrupted(act):
        def interrupt(*given):
            result = act(*given)
            signal.pthread_kill(other.ident, signal.SIGINT)
            return result

        return interrupt

    place, name = {
        "while a batch is learnt": (following.Journal, "record"),
        "while lines are read": (following, "parse_labels"),
        "while nothing comes": (following.time, "sleep"),
    }[moment]
    monkeypatch.setattr(place, name, interrupted(getattr(place, name)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        found = follow(model, str(source), FollowOptions(every=0.0 if "batch" in moment else 1000.0))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        done.set()
        other.join()
    learnt = found["documents"]  # the other thread may take its time
    assert 1 <= learnt <= 6
    assert model.read_bytes() == expected(tmp_path / "e.model", records(learnt))
    monkeypatch.undo()
    assert run_until_idle(model, source, monkeypatch)["documents"] == 6 - learnt
    assert model.read_bytes() == expected(tmp_path / "f.model", records(6))


def test_bad_lines_are_left_out_with_a_warning(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text('nonsense\n[1]\n{"text": 3}\n\n{"text": "a", "label": "war"}\n' + lines(records(2)))
    with pytest.warns(UnnaiveWarning, match="such lines are left out"):
        found = run_until_idle(model, source, monkeypatch)
    assert found == {"documents": 2, "writes": 1, "left_out": 4, "again": 0}
    source.write_text("x")
    with pytest.raises(BadData, match="became shorter"):
        run_until_idle(model, source, monkeypatch)


def test_stdin_is_followed_where_no_file_is_named(model, tmp_path, monkeypatch, capsys):
    (tmp_path / "in.jsonl").write_text(lines(records(3)))
    with (tmp_path / "in.jsonl").open() as arriving:
        monkeypatch.setattr("sys.stdin", arriving)
        assert exit_code(["update", str(model), "--follow", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3
    assert model.read_bytes() == expected(tmp_path / "e.model", records(3))
    for words, sentence in (
        ([], "no DATA to learn was named; give a file, a folder, or - for stdin"),
        ([str(tmp_path / "in.jsonl"), "--batch", "b"], "--batch and --every need a stream; add --follow"),
    ):
        assert exit_code(["update", str(model), *words]) == 2
        assert capsys.readouterr().err == f"unnaive: {sentence}\n"


@pytest.mark.slow
def test_the_command_follows_stdin_and_stops_cleanly(model, tmp_path):
    command = [sys.executable, "-m", "unnaive", "update", str(model), "-", "--follow", "--every", "0.1", "--json"]
    done = subprocess.run(command, input=lines(records(7)), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["documents"] == 7
    assert model.read_bytes() == expected(tmp_path / "e.model", records(7))
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(3, start=7)))
    command[5] = str(source)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None and str(source) not in Path(f"{model}.follow").read_text():
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert json.loads(out)["documents"] == 3
    assert model.read_bytes() == expected(tmp_path / "e.model", records(10))
