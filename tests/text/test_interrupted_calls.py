"""Signals and forks in the middle of native calls: what comes after them gives the right answers."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.apart import run_apart

from unnaive.base.errors import BadData
from unnaive.text.backend import kernel
from unnaive.text.counting import TextScorer
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

pytestmark = [
    pytest.mark.skipif(kernel is None, reason="built without a compiler"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and forks are those of POSIX"),
]

INTERRUPTED = """
import random, signal, sys
import numpy as np
from unnaive.text import native
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

rng = random.Random(0)
words = [f"w{rng.getrandbits(24):x}" for _ in range(60_000)]
texts = [" ".join(rng.choices(words, k=2_000)) for _ in range(300)]
few = texts[:20]

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
for options in ({}, {"ngrams": (1, 2)}, {"stem": "porter"}, {"analyzer": "both"}, {"analyzer": "char"}):
    rule = TokenRule(**options)
    expected = TextCounter(rule, threads=2)
    table = expected.count(few, grow=True)
    counter, interrupted = TextCounter(rule, threads=2), 0
    counter.count(few[:5], grow=True)
    for seconds in (0.002, 0.01, 0.03, 0.05, 0.1, 0.2):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            counter.count(texts, grow=True)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
        found, terms = counter.count(few, grow=True), counter.vocabulary.terms
        assert len(set(terms)) == len(terms) == found.shape[1], options
        columns = counter.vocabulary.ids(expected.vocabulary.terms)
        assert (found[:, columns] != table).nnz == 0 and found.sum() == table.sum(), (options, seconds)
        if found.shape[1] == table.shape[1]:
            assert terms == expected.vocabulary.terms or "analyzer" in options, options
    assert interrupted, options
    if "analyzer" in options:
        continue
    classes, few_classes = (np.arange(size, dtype=np.int32) % 5 for size in (1500, 20))
    expected = TextCounter(rule, threads=2).sum_classes(few, few_classes, 5)
    counter, interrupted = TextCounter(rule, threads=2), 0
    for seconds in (0.002, 0.01, 0.02):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            counter.sum_classes(texts * 5, classes, 5)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += not len(counter.vocabulary)
        if len(counter.vocabulary):  # it was done before the signal was heard
            counter = TextCounter(rule, threads=2)
    found = counter.sum_classes(few, few_classes, 5)
    assert found.vocabulary == expected.vocabulary, options
    assert all(map(np.array_equal, found[1:], expected[1:])), options
    assert interrupted, options
"""


@pytest.mark.slow
def test_a_counter_that_was_interrupted_counts_on():
    run_apart(INTERRUPTED, seconds=300)


HANDLER = """
import signal, sys
import numpy as np
from support.fasttext_files import KINDS, TEXTS, write_fasttext
from unnaive.models.fasttext.importing import import_fasttext

path = sys.argv[1] + "/a.bin"
with open(path, "wb") as file:
    file.write(write_fasttext(KINDS["softmax-subwords"]))
reader = import_fasttext(path, fold=False).reader
texts = [f"the of {number} je da i привет {number % 77}" * 20 for number in range(10_000)]
others = ["internationalisation " * 300, "das und"] * 10
expected, others_expected = reader.scores_and_known(texts)[0], reader.scores_and_known(others)[0]
calls = []

def predict(*_):
    calls.append(np.array_equal(reader.scores_and_known(others)[0], others_expected))

signal.signal(signal.SIGALRM, predict)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
found = [reader.scores_and_known(texts)[0] for _ in range(3)]
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(calls) > 3 and all(calls), calls
assert all(np.array_equal(scores, expected) for scores in found)
"""


@pytest.mark.slow
def test_a_signal_handler_may_predict_while_fasttext_predicts(tmp_path):
    run_apart(HANDLER, str(tmp_path), PYTHONPATH=str(Path(__file__).parent.parent), UNNAIVE_THREADS="1")


FORKED = """
import os, sys, threading
import numpy as np
from unnaive.scaleout.scratch import arrays_on_disk

with arrays_on_disk(sys.argv[1], least=1 << 16):
    kept, gone = np.arange(1 << 16), np.arange(1 << 16)
    del gone  # its file waits to be used again
    child = os.fork()
    if child == 0:
        assert kept[-1] == len(kept) - 1
        kept[:] = -1
        again = np.full(1 << 16, 7)
        os._exit(0 if (kept == -1).all() and (again == 7).all() else 1)
    again = np.full(1 << 16, 3)
    assert os.waitpid(child, 0)[1] == 0
    assert (kept == np.arange(1 << 16)).all(), "the child wrote to the parent's array"
    assert (again == 3).all(), "the child wrote to the parent's new array"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="arrays in files are those of Linux")
def test_arrays_on_disk_are_not_shared_with_a_forked_child(tmp_path):
    run_apart(FORKED, str(tmp_path))


@pytest.mark.slow
def test_a_term_of_very_many_words_is_written():
    """Its n-grams are nested, which must not be a recursion."""
    code = """
    from unnaive.text.counting import TextCounter
    from unnaive.text.tokens import TokenRule
    from unnaive.text.vocabulary import Vocabulary

    term = " ".join(f"w{n % 97}" for n in range(300_000))
    counter = TextCounter(TokenRule(ngrams=(1, 2)), Vocabulary(["a1", term]))
    assert counter.count(["b2 a1"], grow=True).toarray().tolist() == [[1, 0, 1, 1]]
    assert counter.vocabulary.terms == ["a1", term, "b2", "b2 a1"]
    """
    run_apart(code)


def test_a_scorer_whose_engine_has_learnt_terms_is_refused():
    """The weights of new terms would be read from behind the array."""
    scorer = TextScorer(TokenRule(), Vocabulary(["a1", "b2"]), np.ones((2, 2)), backend="native")
    inner = scorer._scorer
    inner.engine.count([" ".join(f"w{n}" for n in range(100_000))], grow=True)
    for use in (inner.scores_and_known, inner.best):
        with pytest.raises(BadData, match="weights for every term"):
            use(["a1 w99999"])


NESTED = """
import os, random, signal, sys
from unnaive import TextClassifier
from unnaive.base.errors import UnnaiveError

rng = random.Random(0)
texts = [" ".join(f"run{rng.randrange(5_000):x}ing" for _ in range(300)) for _ in range(300)]
for options in ({}, {"stem": "porter"}, {"analyzer": "char"}, {"analyzer": "both"}, {"ngrams": (1, 2)}):
    if "stem" in options and not int(sys.argv[1]):
        continue
    model = TextClassifier("multinomial", **options).fit(texts[:60], ["a", "b", "c"] * 20)
    expected, expected_few = model.scores(texts).tolist(), model.scores(texts[:3]).tolist()
    right, refused = [], []

    def predict(*_):
        try:
            right.append(model.scores(texts[:3]).tolist() == expected_few)
        except UnnaiveError as problem:
            refused.append(str(problem))
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        signal.setitimer(signal.ITIMER_REAL, 0.002)

    signal.signal(signal.SIGALRM, predict)
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    while len(right) + len(refused) < 20:
        assert model.scores(texts).tolist() == expected, options
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert all(right), options
    assert all("signal handler" in problem for problem in refused), refused
    assert not refused or options.keys() & {"stem", "analyzer"}, options
    assert model.scores(texts[:3]).tolist() == expected_few
"""


@pytest.mark.slow
def test_a_signal_handler_predicts_and_forks_or_is_refused_and_never_waits_for_what_it_interrupts():
    run_apart(NESTED, str(int(find_spec("Stemmer") is not None)), seconds=120)
