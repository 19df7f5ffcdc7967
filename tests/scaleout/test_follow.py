"""`update --follow`: every record once, whatever is interrupted."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData, BadModel, UnnaiveError, UnnaiveWarning
from unnaive.base.open_files import hash_file
from unnaive.base.system import open_lock
from unnaive.classifier.model_file import load_model, save
from unnaive.curation.teaching.noting import noting_change
from unnaive.curation.teaching.teaching_log import TeachingRecord
from unnaive.scaleout import follow as following
from unnaive.scaleout.follow import FollowOptions, follow

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


def learnt_only(model):
    """The bytes of the model without what it knows of sources."""
    path = model.with_name("plain.model")
    save(replace(load_model(model), followed=None), path)
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
    assert learnt_only(model) == expected(tmp_path / "e.model", records(9))


@pytest.mark.parametrize("moment", ["before the rename", "after it", "the disk is full"])
def test_a_crash_repeats_or_skips_the_batch(model, tmp_path, monkeypatch, moment):
    """The model and the progress are one file: either both are new, or none is."""
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(6)))
    update = following.update_model_file

    def crash(path, change, **named):
        if moment == "before the rename":
            change(load_model(path))
        elif moment == "after it":
            update(path, change, **named)
        else:
            raise OSError(28, "No space left on device")
        raise RuntimeError("power is gone")

    with monkeypatch.context() as patch:
        patch.setattr(following, "update_model_file", crash)
        with pytest.raises((RuntimeError, OSError)):
            run_until_idle(model, source, monkeypatch)
    assert load_model(model).statistic.n_docs == (8 if moment == "after it" else 2)
    other = TextClassifier.load(model).partial_fit(["law court"], ["politics"])  # does not touch the progress
    other.save(model)
    run_until_idle(model, source, monkeypatch)
    assert load_model(model).statistic.n_docs == 9
    assert run_until_idle(model, source, monkeypatch)["documents"] == 0


def test_several_files_are_each_learnt_once_and_a_new_file_at_the_path_is_new(model, tmp_path, monkeypatch):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(lines(records(4)))
    second.write_text(lines(records(3, start=4)))
    counts = [run_until_idle(model, path, monkeypatch)["documents"] for path in (first, second, first, second)]
    assert counts == [4, 3, 0, 0]
    first.rename(tmp_path / "a.1.jsonl")  # log rotation; the new file is longer than the old one
    first.write_text(lines(records(9, start=7)))
    counts = [run_until_idle(model, path, monkeypatch)["documents"] for path in (first, tmp_path / "a.1.jsonl", first)]
    assert counts == [9, 0, 0]
    assert learnt_only(model) == expected(tmp_path / "e.model", records(16))
    whole = [path.name for path in tmp_path.iterdir() if "follow" in path.name]
    assert whole == ["m.model.follow.lock"]  # no other file has progress that could be lost or damaged


def test_the_same_command_gives_the_same_bytes(tmp_path, monkeypatch):
    files = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        TextClassifier("multinomial").fit(*FIRST).save(folder / "m.model")
        (folder / "in.jsonl").write_text(lines(records(5)))
        run_until_idle(folder / "m.model", folder / "in.jsonl", monkeypatch)
        files.append((folder / "m.model").read_bytes())
    assert files[0] == files[1]


def test_a_file_that_is_rotated_while_it_is_followed_is_read_to_its_end(model, tmp_path, monkeypatch):
    source, idle = tmp_path / "in.jsonl", []
    source.write_text(lines(records(5)))

    def rotate(seconds):
        idle.append(seconds)
        if len(idle) == 1:
            source.rename(tmp_path / "in.1.jsonl")
            with (tmp_path / "in.1.jsonl").open("a") as file:
                file.write(lines(records(2, start=5)))
            source.write_text(lines(records(8, start=7)))
        elif len(idle) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(following.time, "sleep", rotate)
    assert follow(model, str(source), FollowOptions(every=1000.0))["documents"] == 15
    assert learnt_only(model) == expected(tmp_path / "e.model", records(15))
    assert run_until_idle(model, source, monkeypatch)["documents"] == 0


def test_a_model_has_one_follower(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(2)))
    told = r"another process follows a source into .*m\.model; stop it"
    with open_lock(model.with_name("m.model.follow")), pytest.raises(UnnaiveError, match=told):
        run_until_idle(model, source, monkeypatch)
    assert run_until_idle(model, source, monkeypatch)["documents"] == 2


def test_a_model_that_was_retrained_meanwhile_is_not_taken_for_the_old_one(model, tmp_path, monkeypatch):
    source, idle = tmp_path / "in.jsonl", []
    source.write_text(lines(records(3)))

    def retrain(seconds):
        idle.append(seconds)
        TextClassifier("multinomial").fit(*FIRST).save(model)
        with source.open("a") as file:
            file.write(lines(records(3, start=3)))

    monkeypatch.setattr(following.time, "sleep", retrain)
    with pytest.raises(UnnaiveError, match=r"was replaced by another model while it followed .*in\.jsonl"):
        follow(model, str(source), FollowOptions(every=0.0))
    assert len(idle) == 1
    assert run_until_idle(model, source, monkeypatch)["documents"] == 6


def test_a_changed_digit_of_the_progress_is_refused(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(5)))
    run_until_idle(model, source, monkeypatch)
    length = str(source.stat().st_size).encode()
    raw = model.read_bytes()
    assert raw.count(b"[[" + length) == 1
    model.write_bytes(raw.replace(b"[[" + length, b"[[1" + length[1:] if length[:1] != b"1" else b"[[2" + length[1:]))
    with pytest.raises(BadModel, match="damaged since it was written"):
        run_until_idle(model, source, monkeypatch)


def test_the_record_of_a_served_model_is_told(model, tmp_path, monkeypatch):
    TeachingRecord(model).close()
    with opened_record(model) as record:
        record.note_file(hash_file(model), 0)
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(4)))
    monkeypatch.setattr(following.time, "sleep", interrupt_at_once)
    follow(model, str(source), FollowOptions(every=1000.0), noting=noting_change)
    with opened_record(model) as record:
        assert record.event_of_file(hash_file(model)) == 0


def interrupt_at_once(seconds):
    raise KeyboardInterrupt


@contextmanager
def opened_record(model):
    record = TeachingRecord(model, alone=False)
    try:
        yield record
    finally:
        record.close()


def test_merged_models_know_the_sources_of_both(model, tmp_path, monkeypatch):
    other = tmp_path / "o.model"
    TextClassifier("multinomial").fit(*FIRST).save(other)
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(lines(records(2)))
    second.write_text(lines(records(2, start=2)))
    run_until_idle(model, first, monkeypatch)
    run_until_idle(other, second, monkeypatch)
    TextClassifier.load(model).merge(TextClassifier.load(other)).save(model)
    assert [run_until_idle(model, path, monkeypatch)["documents"] for path in (first, second)] == [0, 0]


def test_a_pipe_is_followed(model, tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(lines(records(3))))
    writer.start()
    assert run_until_idle(model, pipe, monkeypatch)["documents"] == 3
    writer.join()
    assert learnt_only(model) == expected(tmp_path / "e.model", records(3))
    assert load_model(model).followed.places == ()


def test_lines_without_a_batch_or_with_several_labels_are_left_out(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    double = {"text": "ball vote", "label": ["sport", "politics"], "batch": "a"}
    source.write_text(lines([*records(2, batch="a"), double, *records(3, start=2), *records(1, start=5, batch="b")]))
    with pytest.warns(UnnaiveWarning, match="it has 2 labels, and the model assigns one"):
        found = run_until_idle(model, source, monkeypatch, batch="batch")
    assert found == {"documents": 2, "writes": 1, "left_out": 4, "again": 0}


def test_batches_with_an_id_are_learnt_once_and_whole(model, tmp_path, monkeypatch):
    first, second = records(3, batch="a"), records(3, start=3, batch="b")
    source = tmp_path / "in.jsonl"
    source.write_text(lines([*first, *second]))
    assert run_until_idle(model, source, monkeypatch, batch="batch")["documents"] == 3  # b may go on
    again = tmp_path / "again.jsonl"
    again.write_text("\n" + lines([*first, *second, *records(1, start=6, batch="c")]))
    found = run_until_idle(model, again, monkeypatch, batch="batch")
    assert found == {"documents": 3, "writes": 1, "left_out": 0, "again": 3}
    assert learnt_only(model) == expected(tmp_path / "e.model", records(6))


def test_a_batch_that_was_stopped_is_learnt_from_the_same_file_later(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text(lines([*records(3, batch="a"), *records(2, start=3, batch="b")]))
    assert run_until_idle(model, source, monkeypatch, batch="batch")["documents"] == 3
    with source.open("a") as file:
        file.write(lines([*records(1, start=5, batch="b"), *records(1, start=6, batch="c")]))
    found = run_until_idle(model, source, monkeypatch, batch="batch")
    assert found == {"documents": 3, "writes": 1, "left_out": 0, "again": 0}
    assert learnt_only(model) == expected(tmp_path / "e.model", records(6))


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
    assert learnt_only(model) == expected(tmp_path / "e.model", records(4))


@pytest.mark.parametrize("moment", ["while a batch is learnt", "while lines are read", "while nothing comes"])
def test_ctrl_c_is_heard_by_another_thread(model, tmp_path, monkeypatch, moment):
    """Python raises it in the main thread, whichever took the signal: no document is learnt twice or not at all."""
    source, done, sent = tmp_path / "in.jsonl", threading.Event(), threading.Event()
    source.write_text(lines(records(6)))
    other = threading.Thread(target=done.wait)
    other.start()

    def interrupted(act):
        def interrupt(*given, **named):
            result = act(*given, **named)
            if not sent.is_set():  # a second one could arrive when this test is over
                sent.set()
                signal.pthread_kill(other.ident, signal.SIGINT)
            return result

        return interrupt

    place, name = {
        "while a batch is learnt": (following, "update_model_file"),
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
    assert learnt_only(model) == expected(tmp_path / "e.model", records(learnt))
    monkeypatch.undo()
    assert run_until_idle(model, source, monkeypatch)["documents"] == 6 - learnt
    assert learnt_only(model) == expected(tmp_path / "f.model", records(6))


def test_bad_lines_are_left_out_with_a_warning(model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text('nonsense\n[1]\n{"text": 3}\n\n{"text": "a", "label": "war"}\n' + lines(records(2)))
    with pytest.warns(UnnaiveWarning, match="such lines are left out"):
        found = run_until_idle(model, source, monkeypatch)
    assert found == {"documents": 2, "writes": 1, "left_out": 4, "again": 0}
    source.write_text(lines(records(1, start=2)))  # another, shorter file
    assert run_until_idle(model, source, monkeypatch)["documents"] == 1
    monkeypatch.setattr(following.time, "sleep", lambda seconds: source.write_text("x"))
    with pytest.raises(BadData, match="became shorter"):
        follow(model, str(source), FollowOptions(every=1000.0))


def test_stdin_is_followed_where_no_file_is_named(model, tmp_path, monkeypatch, capsys):
    (tmp_path / "in.jsonl").write_text(lines(records(3)))
    with (tmp_path / "in.jsonl").open() as arriving:
        monkeypatch.setattr("sys.stdin", arriving)
        assert exit_code(["update", str(model), "--follow", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 3
    assert learnt_only(model) == expected(tmp_path / "e.model", records(3))
    for words, sentence in (
        ([], "no DATA to learn was named; give a file, a folder, or - for stdin"),
        (
            [str(tmp_path / "in.jsonl"), "--set", "batch=b"],
            "--set batch has an effect only with --follow; add --follow, or leave --set batch out",
        ),
    ):
        assert exit_code(["update", str(model), *words]) == 2
        assert capsys.readouterr().err == f"unnaive: {sentence}\n"


@pytest.mark.slow
def test_the_command_follows_stdin_and_stops_cleanly(model, tmp_path):
    command = [sys.executable, "-m", "unnaive", "update", str(model), "-", "--follow", "--set", "every=0.1", "--json"]
    done = subprocess.run(command, input=lines(records(7)), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["documents"] == 7
    assert learnt_only(model) == expected(tmp_path / "e.model", records(7))
    source = tmp_path / "in.jsonl"
    source.write_text(lines(records(3, start=7)))
    command[5] = str(source)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None and load_model(model).statistic.n_docs < 12:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert json.loads(out)["documents"] == 3
    assert learnt_only(model) == expected(tmp_path / "e.model", records(10))
