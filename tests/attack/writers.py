"""kill -9 amid train, update, forget and merge; many readers beside a writer: no version is lost or torn."""

import mmap
import os
import random
import signal
import struct
import threading
import time
import traceback
from pathlib import Path

from forks import Tally

from unnaive import TextClassifier
from unnaive.base.atomic_files import remove_leftovers
from unnaive.classifier.model_file import load_model, save, update_model_file

BASE = ["tick good ball", "tick fair vote"] * 4, ["sport", "politics"] * 4
MORE = ["tick warm soup number"], ["sport"]
PATIENCE = 60  # seconds for the first operations of a writer, which take milliseconds
OPERATIONS = ("update", "update", "forget", "train", "merge")


def n_docs(fitted):
    """Documents of a model, an error if its parts are not of one version: every document has one "tick"."""
    counts = fitted.counts
    ticks = int(counts.counts.terms[counts.vocabulary.id("tick")])
    total = int(counts.counts.n_docs)
    if ticks != total or int(counts.counts.class_docs.sum()) != total:
        raise AssertionError(f"{total} documents with {ticks} ticks: a torn model")
    fitted.predict(["good ball"])
    return total


class Shared:
    """Three numbers in memory that survive a killed child: documents before, documents after, operations done."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 24)

    def write(self, before, after, done):
        self.memory[:] = struct.pack("qqq", before, after, done)

    def read(self):
        return struct.unpack("qqq", self.memory[:])


def change_for_ever(path, other, shared, seed):
    """One operation after the other, announced before and confirmed after."""
    rng = random.Random(seed)
    now = n_docs(load_model(path))
    done = 0
    while True:
        operation = rng.choice(OPERATIONS)
        if operation == "forget" and now <= len(BASE[0]):
            operation = "update"
        if now > 60:
            operation = "train"
        after = {"update": now + 1, "forget": now - 1, "train": len(BASE[0]), "merge": now + len(BASE[0])}[operation]
        shared.write(now, after, done)
        apply(operation, path, other)
        done += 1
        now = after
        shared.write(now, now, done)


def apply(operation, path, other):
    if operation == "update":
        update_model_file(path, lambda fitted: TextClassifier.from_fitted(fitted).partial_fit(*MORE).fitted_)
    elif operation == "forget":
        update_model_file(path, forget_one)
    elif operation == "train":
        TextClassifier("multinomial", n_jobs=1).fit(*BASE).save(path)
    else:
        merged = TextClassifier.load(path).merge(TextClassifier.load(other))
        save(merged.fitted_, path)


def forget_one(fitted):
    """One document less: of MORE where there is one, else of BASE."""
    classifier = TextClassifier.from_fitted(fitted)
    if "soup" in fitted.counts.vocabulary:
        return classifier.forget(*MORE).fitted_
    return classifier.forget(BASE[0][:1], BASE[1][:1]).fitted_


def read_for_ever(path, reads):
    """A reader in a process of its own; it ends by an exit status other than 0 as soon as a read goes wrong."""
    count = 0
    while True:
        n_docs(load_model(path))
        count += 1
        reads[:] = struct.pack("q", count)


def fork(work, *arguments):
    child = os.fork()
    if child:
        return child
    try:
        work(*arguments)
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def attack_kill(folder, kills):
    """So many kill -9 at random moments, while a reader loads the file all the time."""
    tally, rng = Tally("kill -9 while writing"), random.Random(kills)
    path, other = Path(folder) / "killed.model", Path(folder) / "other.model"
    for target in (path, other):
        TextClassifier("multinomial", n_jobs=1).fit(*BASE).save(target)
    reads = mmap.mmap(-1, 8)
    reader = fork(read_for_ever, path, reads)
    operations = 0
    for number in range(kills):
        shared = Shared()
        shared.write(-1, -1, 0)
        child = fork(change_for_ever, path, other, shared, number)
        wait_for_moment(path, shared, rng)
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        before, after, done = shared.read()
        operations += done
        check_after_kill(tally, path, before, after, status)
    time.sleep(0.05)
    alive = os.waitpid(reader, os.WNOHANG)[0] == 0
    if alive:
        os.kill(reader, signal.SIGKILL)
        os.waitpid(reader, 0)
    else:
        tally.crashed += 1
        tally.notes.append("the reader met a model that it could not read")
    apply("train", path, other)
    left = [one.name for one in Path(folder).iterdir() if one.name.startswith(f".{path.name}")]
    tally.lost += len(left)
    tally.notes += [f"left behind: {name}" for name in left]
    tally.notes.append(f"info: {operations} operations done, {struct.unpack('q', reads[:])[0]} reads beside them")
    return tally


def wait_for_moment(path, shared, rng):
    """Any moment of one of the first operations, however busy the machine; half of them while a file is written."""
    wanted, start = rng.randrange(4), f".{path.name}."
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and (shared.read()[0] < 0 or shared.read()[2] < wanted):
        time.sleep(0.0001)
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0, 0.02))
        return
    while time.monotonic() < end and not any(one.name.startswith(start) for one in path.parent.iterdir()):
        time.sleep(0.0001)
    time.sleep(rng.uniform(0, 0.003))


def check_after_kill(tally, path, before, after, status):
    try:
        found = n_docs(load_model(path))
    except Exception as problem:
        tally.tried += 1
        tally.lost += 1
        tally.notes.append(f"lost: {problem}")
        return
    if not os.WIFSIGNALED(status):
        tally.add("crashed", "the writer ended by itself")
    elif before >= 0 and found not in (before, after):
        tally.tried += 1
        tally.lost += 1
        tally.notes.append(f"lost: {found} documents in the file; there were {before}, and were to be {after}")
    else:
        tally.add("survived")


def attack_readers(folder, seconds, n_readers=16):
    """Readers of one shared classifier and of one file, and a writer of both."""
    path = Path(folder) / "shared.model"
    model = TextClassifier("multinomial", n_jobs=1).fit(*BASE)
    model.save(path)
    end, problems, reads = time.monotonic() + seconds, [], []

    def read_loop(number):
        count = 0
        try:
            while time.monotonic() < end:
                if number % 2:
                    assert model.predict(["ball ball", "vote vote"]).tolist() == ["sport", "politics"]
                else:
                    n_docs(load_model(path))
                count += 1
        except BaseException as problem:
            problems.append(f"{type(problem).__name__}: {problem}")
        reads.append(count)

    threads = [threading.Thread(target=read_loop, args=(number,)) for number in range(n_readers)]
    for thread in threads:
        thread.start()
    writes = 0
    while time.monotonic() < end:
        model.partial_fit(["tick apple pie"], ["food"], new_classes=True)
        model.save(path)
        model.forget(["tick apple pie"], ["food"])
        update_model_file(path, lambda fitted: TextClassifier.from_fitted(fitted).partial_fit(*MORE).fitted_)
        writes += 4
    for thread in threads:
        thread.join()
    remove_leftovers(path)
    tally = Tally(f"{n_readers} readers, 1 writer, {seconds:g} s")
    tally.tried = sum(reads) + len(problems)
    tally.survived, tally.crashed, tally.notes = sum(reads), len(problems), problems
    tally.notes.append(f"info: {writes} writes beside them")
    return tally
