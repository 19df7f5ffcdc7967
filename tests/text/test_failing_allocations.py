"""Whatever allocation of native code fails, or thread cannot start: an exception, and afterwards the right answers."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.apart import run_apart

from unnaive.text.backend import kernel

TOOL = Path(__file__).parent.parent.parent / "tools" / "failing_allocations.cpp"
COMPILER = shutil.which("c++")

pytestmark = [
    pytest.mark.skipif(kernel is None, reason="built without a compiler"),
    pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="needs Linux and a compiler"),
]

SETUP = """
import ctypes, sys
import numpy as np
import unnaive
from unnaive import TextClassifier
from unnaive.base.errors import UnnaiveError
from unnaive.text import native
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

native.WORTH_A_THREAD = 1 << 10  # several threads also for a few texts
failing = ctypes.CDLL(sys.argv[1])
failing.fail_from.argtypes = [ctypes.c_long]
failing.count_failures.restype = ctypes.c_long
rng = np.random.default_rng(0)
words = [f"w{i}a{i * 7919 % 1000}" for i in range(2000)] + [f"averylongwordthatisnokey{i}" for i in range(200)]
texts, more = ([" ".join(rng.choice(words, 40)) for _ in range(60)] for _ in range(2))
labels = ["sport", "politics", "food"] * 20


def each_failure(prepare, use):
    '''use(prepare()) where the n-th allocation fails, and all after it, for every n; what it returned when none did.'''
    total = 0
    for sign in (1, -1):
        n, value = 1, prepare()
        while True:
            failing.fail_from(sign * n)
            try:
                result = use(value)
            except (MemoryError, UnnaiveError, RuntimeError) as problem:
                failing.fail_from(0)
                total += 1
            else:
                failed = failing.count_failures()
                failing.fail_from(0)
                if not failed:
                    break
                value = prepare()  # it went on without, as with a thread less
            n += 1 if n < 60 else n // 8
    print(total)
    return result


def same(found, expected):
    return (found != expected).nnz == 0 if hasattr(found, "nnz") else np.array_equal(found, expected)
"""

COUNT = """
for options in (
    {}, {"ngrams": (1, 2)}, {"ngrams": (1, 3)}, {"stem": "porter"}, {"analyzer": "both"}, {"analyzer": "char"},
    {"strip_html": True}, {"message": "subject-body"}, {"stopwords": "smart"},
):
    def prepare():
        counter = TextCounter(TokenRule(**options), threads=3)
        counter.count(texts, grow=True)
        return counter

    counter = prepare()
    expected, terms, known = counter.count(more, grow=True), counter.vocabulary.terms, counter.count(texts)
    seen = []

    def use(counter):
        seen.append(counter)
        return counter.count(more, grow=True)

    assert same(each_failure(prepare, use), expected), options
    assert seen[-1].vocabulary.terms == terms, options
    assert same(seen[-1].count(texts), known), options
    assert same(each_failure(lambda: counter, lambda counter: counter.count(texts)), known), options
    if "analyzer" in options:
        continue
    classes = np.arange(60, dtype=np.int32) % 7
    fresh, summed = lambda: TextCounter(TokenRule(**options), threads=3), lambda new: new.sum_classes(more, classes, 7)
    found, expected = each_failure(fresh, summed), summed(fresh())
    assert found.vocabulary == expected.vocabulary, options
    assert all(map(np.array_equal, found[1:], expected[1:])), options
"""

MODELS = """
class Making:
    # nanobind, which makes objects of native classes, ends the process if it gets no memory; that is left out
    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        value = getattr(self.module, name)
        if not isinstance(value, type):
            return value

        def make(*arguments, **more):
            failing.pause_failing(True)
            try:
                return value(*arguments, **more)
            finally:
                failing.pause_failing(False)

        return make


for name in sys.argv[2].split(","):
    TextClassifier(name).fit(texts, labels).predict(texts)  # imports what it needs
natives = [f"unnaive.{place}" for place in ("text._kernel", "data._products", "models.svm._dual")]
for module in list(sys.modules.values()):
    for key, value in list(vars(module).items()):
        if type(value) is type(sys) and value.__name__ in natives and not module.__name__ in natives:
            if module.__name__.startswith("unnaive.") and "." in module.__name__:
                setattr(module, key, Making(value))

names = sys.argv[2].split(",")
for name in names:
    options = {"analyzer": "both"} if name == "nbsvm" else {}
    fit = lambda _: TextClassifier(name, n_jobs=3, **options).fit(texts, labels)
    model = fit(None)
    expected = model.scores(more), model.explain(more[0])
    found = each_failure(lambda: None, fit)
    assert same(found.scores(more), expected[0]), name
    assert same(each_failure(lambda: found, lambda model: model.scores(more)), expected[0]), name
    assert list(each_failure(lambda: found, lambda model: model.predict(more))) == list(model.predict(more)), name
    assert each_failure(lambda: found, lambda model: model.explain(more[0])) == expected[1], name
    update = lambda model: model.partial_fit(more, labels)
    updated = each_failure(lambda: fit(None), update)
    assert same(updated.scores(texts), update(fit(None)).scores(texts)), name
"""

FASTTEXT = """
from support.fasttext_files import KINDS, TEXTS, write_fasttext
from unnaive.models.fasttext.importing import import_fasttext

def made(path, fold):
    reader = import_fasttext(path, fold=fold).reader
    reader._engine  # nanobind, which makes the object, ends the process if it gets no memory
    return reader


for kind in ("softmax-subwords", "hs", "ova"):
    path = sys.argv[2] + "/a.bin"
    with open(path, "wb") as file:
        file.write(write_fasttext(KINDS[kind]))
    many = [text for text in TEXTS if chr(10) not in text] * 200
    for fold in (True, False):
        reader = import_fasttext(path, fold=fold).reader
        expected = reader.scores_and_known(many)[0], reader.best_classes(many), reader.top_labels(many, 2, 0.0)[1]
        uses = (
            lambda reader: reader.scores_and_known(many)[0], lambda reader: reader.best_classes(many),
            lambda reader: reader.top_labels(many, 2, 0.0)[1],
        )
        for use, right in zip(uses, expected, strict=True):
            assert same(each_failure(lambda: made(path, fold), use), right), (kind, fold)
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """The library that lets allocations fail."""
    library = tmp_path_factory.mktemp("failing") / "failing.so"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", str(TOOL), "-o", str(library), "-ldl"], check=True)
    return str(library)


def run_failing(code, library, *arguments):
    """The number of failures in each use."""
    path = str(Path(__file__).parent.parent)
    numbers = run_apart(SETUP + code, library, *arguments, seconds=600, LD_PRELOAD=library, PYTHONPATH=path).split()
    return [int(number) for number in numbers]


@pytest.mark.slow
def test_counting_survives_failing_allocations(failing):
    assert min(run_failing(COUNT, failing)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("names", ["multinomial,complement", "svm", "maxent", "nbsvm", "or-gate,hos"])
def test_models_survive_failing_allocations(failing, names):
    assert max(run_failing(MODELS, failing, names)) > 5


@pytest.mark.slow
def test_fasttext_survives_failing_allocations(failing, tmp_path):
    assert max(run_failing(FASTTEXT, failing, str(tmp_path))) > 5


RESERVED = """
import ctypes, sys
import numpy as np
from unnaive.scaleout.scratch import arrays_on_disk

failing = ctypes.CDLL(sys.argv[1])
with arrays_on_disk(sys.argv[2], least=1 << 16):
    failing.interrupt_reserving(3)
    array = np.full(1 << 20, 7, np.uint8)
assert (array == 7).all()
"""


@pytest.mark.slow
def test_room_on_a_disk_is_reserved_although_signals_interrupt_it(failing, tmp_path):
    run_apart(RESERVED, failing, str(tmp_path), LD_PRELOAD=failing)
