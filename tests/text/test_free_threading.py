"""Many Python threads use one model at the same time, with or without a GIL: the results are those of one thread."""

import copy
import os
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import numpy as np
import pytest

import unnaive
from unnaive.base.locks import fork_safe_lock
from unnaive.scaleout.scratch import NATIVE, arrays_on_disk
from unnaive.text.counting import BACKEND, TextCounter
from unnaive.text.languages import stems
from unnaive.text.tokens import TokenRule, tokens

SOURCE = Path(unnaive.__file__).parent
THREADS = 8
WORDS = {"sport": "ball game goal team", "politics": "vote law party seat", "food": "pie apple salt bread"}
TEXTS = [
    " ".join(np.random.default_rng(n).permutation([*words.split(), "smoothing", f"w{n % 40}", "NBA球星", "&amp; déjà"]))
    for n in range(90)
    for words in WORDS.values()
]
LABELS = [label for _ in range(90) for label in WORDS]

native = pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")
without_gil = pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has no free-threaded build"
)


def in_threads(*works):
    """What each function gives, when all of them are let go at the same moment."""
    start, results = threading.Barrier(len(works)), [None] * len(works)

    def run(place, work):
        start.wait()
        try:
            results[place] = work()
        except BaseException as problem:
            results[place] = problem

    workers = [threading.Thread(target=run, args=one) for one in enumerate(works)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    problems = [one for one in results if isinstance(one, BaseException)]
    if problems:
        raise problems[0]
    return results


def run_python(program):
    """Run a program in a new interpreter in which warnings are errors; what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@native
@without_gil
def test_importing_and_predicting_leave_the_gil_off():
    names = [".".join(path.relative_to(SOURCE.parent).parts) for path in sorted(SOURCE.rglob("_*.so"))]
    names = [name.split(".cpython")[0].split(".abi")[0] for name in names]
    assert "unnaive.text._kernel" in names
    program = (
        f"import sys, unnaive, {', '.join(names)}\n"
        "model = unnaive.TextClassifier('multinomial').fit(['good ball', 'fair vote'], ['sport', 'politics'])\n"
        "print(model.predict(['ball'])[0], model.predict_proba(['vote']).argmax(), sys._is_gil_enabled())"
    )
    assert run_python(program) == ["sport", "0", "False"]


# fused sums over words, with stems, with entities; a matrix of character n-grams; tf-idf of both by the kernel
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("multinomial", {}),
        ("multinomial", {"stem": "porter", "strip_html": True}),
        ("bernoulli", {"ngrams": (1, 2)}),
        ("multinomial", {"analyzer": "both"}),
        ("svm", {"analyzer": "both"}),
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_that_share_a_model_predict_what_one_thread_does(name, options, n_jobs):
    model = unnaive.TextClassifier(name, n_jobs=n_jobs, **options).fit(TEXTS, LABELS)
    expected, scores = model.predict(TEXTS), model.scores(TEXTS)
    assert expected.tolist() == LABELS
    fresh = copy.deepcopy(model)  # what is made on first use is made by all of them at once

    def predict(seed):
        def work():
            order = np.random.default_rng(seed).permutation(len(TEXTS))
            batches = [order[:1], order[1:2], order[2:40], order[40:]]
            found = [(fresh.predict([TEXTS[n] for n in batch]), batch) for batch in batches]
            assert all(labels.tolist() == expected[batch].tolist() for labels, batch in found)
            assert np.array_equal(fresh.scores([TEXTS[n] for n in order]), scores[order])
            return True

        return work

    assert all(in_threads(*(predict(seed) for seed in range(THREADS))))


@pytest.mark.parametrize("backend", ["reference", pytest.param("native", marks=native)])
@pytest.mark.parametrize(
    "rule", [TokenRule(), TokenRule(stem="porter", ngrams=(1, 2)), TokenRule(analyzer="both", char_ngrams=(2, 3))],
    ids=["words", "stems", "characters"],
)  # fmt: skip
@pytest.mark.slow
def test_threads_that_teach_one_counter_give_every_term_one_id(rule, backend):
    counter = TextCounter(rule, threads=1, backend=backend)
    parts = [[f"{text} own{part}" for text in TEXTS[part::THREADS]] for part in range(THREADS)]
    tables = in_threads(*(lambda texts=texts: counter.count(texts, grow=True) for texts in parts))
    terms = counter.vocabulary.terms
    assert len(terms) == len(set(terms))
    assert set(terms) == {token for texts in parts for text in texts for token in tokens(text, rule)}
    for texts, table in zip(parts, tables, strict=True):
        for text, row in zip(texts, table, strict=True):
            found = {terms[column]: int(count) for column, count in zip(row.indices, row.data, strict=True)}
            wanted = tokens(text, rule)
            assert found == {term: wanted.count(term) for term in wanted}


@native
def test_tokens_are_read_while_another_thread_teaches_the_engine():
    """Under the thread sanitizer, a table that is read without the lock is an error; so is a choice of loops."""
    from unnaive.text import _kernel
    from unnaive.text.native import NativeEngine
    from unnaive.text.vocabulary import Vocabulary

    engine = NativeEngine(TokenRule(), Vocabulary(), threads=1)
    limit = engine.options["limit"]

    def teach():
        for n in range(200):
            engine.count([" ".join(f"w{n}x{k}" for k in range(50))], grow=True)

    def read():
        return {tuple(engine.kernel.tokens("a fair vote", limit=limit)) for _ in range(500)}

    def choose_loops():
        for n in range(500):
            _kernel.use_wide(bool(n % 2))

    before = _kernel.use_wide(True)
    try:
        found = in_threads(teach, read, read, choose_loops)
    finally:
        _kernel.use_wide(before)
    assert found[1] == found[2] == {("fair", "vote")}
    assert len(engine) == 200 * 50


@native
@pytest.mark.slow
def test_a_kernel_that_is_imported_again_leaves_engines_as_they_are():
    """A new hash seed would make the tables that are there unreadable."""
    program = (
        "import sys\n"
        "from unnaive.text.counting import TextCounter\n"
        "counter = TextCounter(threads=1)\n"
        "before = counter.count(['seven different words that are longer than a slot holds'], grow=True)\n"
        "del sys.modules['unnaive.text._kernel']\n"
        "import unnaive.text._kernel\n"
        "after = counter.count(['seven different words that are longer than a slot holds'])\n"
        "print(before.nnz, after.nnz)"
    )
    assert run_python(program) == ["9", "9"]


def test_threads_share_the_stemmers():
    words = [f"{word}{end}" for word in ("smooth", "class", "predict") for end in ("ing", "ed", "es", "")] * 50
    expected = stems(words, "porter", "en"), stems(words, "snowball", "de")
    works = [lambda: (stems(words, "porter", "en"), stems(words, "snowball", "de"))] * THREADS
    assert in_threads(*works) == [expected] * THREADS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.slow
def test_forks_of_threads_that_make_and_hold_locks_can_take_them():
    shared, stop = fork_safe_lock(), threading.Event()

    def hold():
        while not stop.wait(0.0005):
            with shared, fork_safe_lock():
                pass

    def fork():
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a child that waits for a lock that nobody holds ends by SIGALRM
                with shared, fork_safe_lock():
                    os._exit(0)
            assert os.waitpid(child, 0)[1] == 0

    holders = [threading.Thread(target=hold) for _ in range(3)]
    for holder in holders:
        holder.start()
    try:
        in_threads(fork, fork)
    finally:
        stop.set()
        for holder in holders:
            holder.join()


@pytest.mark.skipif(NATIVE is None, reason="the native modules are not built")
@pytest.mark.slow
def test_arrays_are_made_while_another_thread_ends_its_block(tmp_path):
    """The folder may be taken away at any moment: an array then lies in memory, and none is refused."""

    def work():
        for size in range(1000, 1200):
            with arrays_on_disk(tmp_path, least=1000):
                assert np.arange(size).sum() == size * (size - 1) // 2
        return True

    assert all(in_threads(work, work, work))
