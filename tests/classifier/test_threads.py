"""Any number of threads may predict while one updates, and a process may fork meanwhile: each call sees one version."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import unnaive

SECONDS = 2.0
FEWEST = 10  # reads of each reader, however long a busy machine takes for them
TEXTS, LABELS = ["good ball game", "fair vote law"] * 20, ["sport", "politics"] * 20


def run_readers(read, write, n_readers=4, seconds=SECONDS):
    """Readers and one writer for a while; what the readers raised, and how often they read."""
    end, problems, reads = time.monotonic() + seconds, [], []

    def loop():
        count = 0
        try:
            while time.monotonic() < end or count < FEWEST:
                read()
                count += 1
        except BaseException as problem:
            problems.append(problem)
        reads.append(count)

    threads = [threading.Thread(target=loop) for _ in range(n_readers)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end or any(thread.is_alive() for thread in threads):
        write()
    for thread in threads:
        thread.join()
    return problems, sum(reads)


@pytest.mark.slow
def test_readers_see_one_version_while_classes_come_and_go():
    """A new class that sorts first moves all others: with half an update, "ball" would be labelled politics."""
    model = unnaive.TextClassifier("multinomial", n_jobs=1).fit(TEXTS, LABELS)

    def read():
        assert model.predict(["ball game ball"])[0] == "sport"
        assert model.predict(["vote law vote"])[0] == "politics"
        assert model.predict_proba(["ball game"]).sum() == pytest.approx(1)

    def write():
        model.partial_fit(["apple pie"], ["food"], new_classes=True)
        model.forget(["apple pie"], ["food"])

    problems, reads = run_readers(read, write, seconds=8.0)
    assert not problems
    assert reads > 20


@pytest.mark.slow
def test_estimators_too():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (50, 6)), np.concatenate([[1, 2], rng.integers(1, 3, 48)])
    model = unnaive.MultinomialNB().fit(X, y)
    expected = model.predict(X).tolist()

    def read():
        assert model.predict(X).tolist() == expected

    def write():
        model.partial_fit(np.eye(6, dtype=int)[:1], [0], new_classes=True)
        model.fit(X, y)

    problems, _ = run_readers(read, write)
    assert not [problem for problem in problems if "0" not in str(problem)]
    assert not problems


@pytest.mark.slow
def test_forking_while_a_stemmed_model_predicts_does_not_hang():
    model = unnaive.TextClassifier("multinomial", stem="porter", n_jobs=1).fit(TEXTS, LABELS)
    batch = [f"{text} smoothing{n}" for n, text in enumerate(TEXTS * 200)]
    stop = threading.Event()

    def predict():
        while not stop.is_set():
            model.predict(batch)

    thread = threading.Thread(target=predict)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a child that waits for a lock that nobody holds ends by SIGALRM
                os._exit(0 if model.predict(["balls"])[0] == "sport" else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


def test_sizes_of_the_kernel_are_read_while_another_call_grows_it():
    """Under the thread sanitizer, a size read without the lock is an error."""
    pytest.importorskip("unnaive.text._kernel", reason="the kernel is not built")
    from unnaive.text.native import NativeEngine
    from unnaive.text.tokens import TokenRule
    from unnaive.text.vocabulary import Vocabulary

    engine = NativeEngine(TokenRule(stem="porter"), Vocabulary(), threads=1)
    stop, sizes = threading.Event(), [0]

    def watch():
        while not stop.is_set():
            engine.kernel.surfaces()
            sizes.append(len(engine))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for number in range(200):
            engine.count(
                [f"words{number} terms{number} " * 20 + " ".join(f"w{number}x{n}" for n in range(50))], grow=True
            )
    finally:
        stop.set()
        watcher.join()
    assert sizes == sorted(sizes)
    assert len(engine) == 200 * 52
