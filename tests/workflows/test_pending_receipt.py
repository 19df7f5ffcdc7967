"""A receipt is on disk before the model forgets: a full disk or a killed command loses none."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from unnaive import TextClassifier, forget_file, verify_file
from unnaive.base import atomic_files
from unnaive.base.errors import UnnaiveError
from unnaive.workflows import pending_receipt

ROWS = [("good ball", "sport"), ("fair vote", "politics"), ("ball game", "sport"), ("warm soup", "food")]
PENDING = "m.model.pending-receipt"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TextClassifier("multinomial").fit([text for text, _ in ROWS], [label for _, label in ROWS]).save("m.model")
    write("gone.csv", ROWS[2:])
    write("rest.csv", ROWS[:2])
    return tmp_path


def write(name, rows):
    Path(name).write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def is_verified():
    return verify_file("m.model", ["r.json"], remaining="rest.csv", forgotten="gone.csv").verified


def full(*_, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_receipt_that_cannot_be_written_is_kept_and_finished_later(folder):
    before = Path("m.model").read_bytes()
    with pytest.raises(UnnaiveError, match=r"m\.model has forgotten the documents, but the receipt none/r.json cannot"):
        forget_file("m.model", "gone.csv", receipt="none/r.json")
    assert names(folder) == ["gone.csv", "m.model", PENDING, "rest.csv"]
    after = Path("m.model").read_bytes()
    assert after != before
    result = forget_file("m.model", "gone.csv", receipt="r.json")
    assert result.notes == ("m.model had forgotten these documents already; only the receipt was written",)
    assert Path("m.model").read_bytes() == after
    assert names(folder) == ["gone.csv", "m.model", "r.json", "rest.csv"]
    assert is_verified()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_receipt_to_a_full_device_says_what_is_true(folder, run):
    code, out, err = run("forget", "m.model", "gone.csv", "--receipt", "/dev/full")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "m.model has forgotten the documents, but the receipt /dev/full cannot be written (No space left" in err
    assert json.loads(Path(PENDING).read_text())["documents"] == 2


def test_nothing_is_forgotten_if_the_pending_receipt_cannot_be_written(folder, monkeypatch):
    before = Path("m.model").read_bytes()
    monkeypatch.setattr(pending_receipt, "replacing", full)
    with pytest.raises(UnnaiveError, match=r"pending-receipt cannot be written \(No space.*\); nothing was changed"):
        forget_file("m.model", "gone.csv", receipt="r.json")
    assert Path("m.model").read_bytes() == before
    assert names(folder) == ["gone.csv", "m.model", "rest.csv"]


def test_a_full_disk_for_the_model_leaves_model_and_receipt_as_they_were(folder, monkeypatch):
    """The pending receipt is there when the model's file cannot be flushed; the same command begins again."""
    before, flush = Path("m.model").read_bytes(), os.fsync

    def full_for_models(handle):
        if stat.S_ISREG(os.fstat(handle).st_mode) and os.fstat(handle).st_size > 3000:
            full()
        flush(handle)

    monkeypatch.setattr(atomic_files.os, "fsync", full_for_models)
    with pytest.raises(UnnaiveError, match=r"m\.model cannot be written .*; nothing was changed"):
        forget_file("m.model", "gone.csv", receipt="r.json")
    assert (Path("m.model").read_bytes(), Path("r.json").exists()) == (before, False)
    monkeypatch.setattr(atomic_files.os, "fsync", flush)
    assert forget_file("m.model", "gone.csv", receipt="r.json").notes == ()
    assert is_verified()
    assert names(folder) == ["gone.csv", "m.model", "r.json", "rest.csv"]


@pytest.mark.parametrize("moment", ["before the model is replaced", "before the receipt is written"])
def test_a_killed_command_is_finished_by_the_same_one(folder, moment):
    child = os.fork()
    if not child:
        forget_and_stop(moment)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    assert Path(PENDING).exists()
    forget_file("m.model", "gone.csv", receipt="r.json")
    assert names(folder) == ["gone.csv", "m.model", "r.json", "rest.csv"]
    assert is_verified()


def forget_and_stop(moment):
    """In a child: forget, and exit with status 9 at this moment."""
    take_over = atomic_files._take_over

    def stop_at_the_model(target, handle):
        return os._exit(9) if target.name == "m.model" else take_over(target, handle)

    if moment == "before the model is replaced":
        atomic_files._take_over = stop_at_the_model
    else:
        pending_receipt.PendingReceipt.deliver = lambda *_: os._exit(9)
    forget_file("m.model", "gone.csv", receipt="r.json")
    os._exit(1)


def test_other_documents_are_not_forgotten_before_the_receipt_is_finished(folder):
    with pytest.raises(UnnaiveError):
        forget_file("m.model", "gone.csv", receipt="none/r.json")
    for data, receipt in (("rest.csv", "r.json"), ("gone.csv", None)):
        with pytest.raises(UnnaiveError, match=r"m\.model has forgotten 2 documents by a command that was interrupted"):
            forget_file("m.model", data, receipt=receipt)


def test_a_pending_receipt_of_a_model_that_was_changed_since_is_the_users_to_judge(folder):
    with pytest.raises(UnnaiveError):
        forget_file("m.model", "gone.csv", receipt="none/r.json")
    TextClassifier("multinomial").fit(["red ball", "new law"], ["x", "y"]).save("m.model")
    with pytest.raises(UnnaiveError, match=r"is the receipt of an interrupted command, and m\.model was changed since"):
        forget_file("m.model", "gone.csv", receipt="r.json")
    assert Path(PENDING).exists()


def test_the_receipt_of_another_output_is_pending_beside_it(folder):
    before = Path("m.model").read_bytes()
    with pytest.raises(UnnaiveError, match=r"small\.model has forgotten the documents, but .* small\.model\.pending"):
        forget_file("m.model", "gone.csv", output="small.model", receipt="none/r.json")
    forget_file("m.model", "gone.csv", output="small.model", receipt="r.json")
    assert Path("m.model").read_bytes() == before
    assert verify_file("small.model", ["r.json"], remaining="rest.csv").verified
