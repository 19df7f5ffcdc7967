"""Texts from every container, counts, files, and the fallback without a kernel."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.base.thread_count import thread_count
from unnaive.text import small_files
from unnaive.text.backend import BACKEND
from unnaive.text.buffer import TextBuffer, as_texts
from unnaive.text.counting import TextCounter, TextScorer, read_files
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

try:
    import polars as pl
except ImportError:  # there is none for every interpreter without a GIL
    pl = None

TEXTS = ["good ball", "çok güzel", "", "हिन्दी 😀"]
BACKENDS = ["reference", *(["native"] if BACKEND == "native" else [])]

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "numpy str": np.array,
    "numpy column": lambda texts: np.array(texts).reshape(-1, 1),
    "pandas frame": lambda texts: pd.DataFrame({"text": texts}),
    "polars frame": lambda texts: pl.DataFrame({"text": texts}),
    "arrow table": lambda texts: pa.table({"text": texts}),
    "pandas": pd.Series,
    "pandas objects": lambda texts: pd.Series(texts, dtype=object, index=range(10, 10 + len(texts))),
    "pandas arrow": lambda texts: pd.Series(texts, dtype="string[pyarrow]"),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas index": pd.Index,
    "polars": lambda texts: pl.Series(texts),
    "polars category": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow large": lambda texts: pa.array(texts, pa.large_string()),
    "arrow view": lambda texts: pa.array(texts, pa.string_view()),
    "arrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "arrow slice": lambda texts: pa.array(["before", *texts, "after"])[1:-1],
    "arrow chunks": lambda texts: pa.chunked_array([texts[:1], [], texts[1:]], pa.string()),
    "arrow no chunks": lambda texts: pa.chunked_array([texts], pa.string()),
    "buffer": TextBuffer.of,
    "generator": lambda texts: (text for text in texts),
}
if pl is None:
    CONTAINERS = {name: make for name, make in CONTAINERS.items() if "polars" not in name}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_texts_of_every_container_count_alike(container, backend):
    texts = CONTAINERS[container](TEXTS)
    counter = TextCounter(backend=backend)
    counts = counter.count(texts, grow=True)
    assert counter.vocabulary.terms == ["good", "ball", "çok", "güzel", "हिन्दी", "😀"]
    assert counts.toarray().tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0] * 6, [0, 0, 0, 0, 1, 1]]


def test_arrow_buffers_are_not_copied():
    array = pa.array(TEXTS)
    assert as_texts(array).blob.ctypes.data == array.buffers()[2].address


MISSING = {
    "None": ["a", None],
    "nan": ["a", float("nan")],
    "numpy nan": np.array(["a", np.nan], dtype=object),
    "pandas": pd.Series(["a", None]),
    "pandas objects": pd.Series(["a", pd.NA], dtype=object),
    "pandas arrow": pd.Series(["a", None], dtype="string[pyarrow]"),
    **({"polars": pl.Series(["a", None])} if pl else {}),
    "arrow": pa.array(["a", None]),
    "arrow chunks": pa.chunked_array([["a"], [None]]),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_missing_text_is_an_error_with_its_place(case):
    with pytest.raises(BadData, match=r"text 1 is missing.*fill it") as caught:
        TextCounter().count(MISSING[case])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        ("a bare text", "give a list of texts"),
        (b"bytes", "give a list of texts"),
        (["a", 3], "text 1 is int, not str"),
        (["a", b"b"], "text 1 is bytes, not str"),
        (["a", ["b"]], "text 1 is list, not str"),
        (np.array([1, 2]), "text 0 is int, not str"),
        (np.array([["a", "b"], ["c", "d"]]), "one-dimensional array of texts"),
        (pa.array([1, 2]), "string column"),
        *([(pl.Series([1, 2]), "text 0 is int")] if pl else []),
        (pd.DataFrame({"title": ["a"], "text": ["b"]}), "one of its columns"),
        (7, "give a list of texts"),
    ],
)
def test_what_is_not_text_is_an_error(texts, part):
    with pytest.raises(BadData, match=part) as caught:
        TextCounter().count(texts)
    assert "\n" not in str(caught.value)


def test_numpy_strings_are_str():
    assert TextCounter().count([np.str_("two words")], grow=True).sum() == 2


def test_counts_are_canonical_integers():
    counts = TextCounter().count(["bb aa bb", "aa cc"], grow=True)
    assert counts.dtype.kind == "i"
    assert counts.has_sorted_indices
    assert counts.has_canonical_format
    assert counts.indices.dtype == counts.indptr.dtype == np.int32


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_texts_and_no_terms(backend):
    counter = TextCounter(backend=backend)
    assert counter.count([]).shape == (0, 0)
    assert counter.count(["unseen words"]).shape == (1, 0)
    assert counter.count(["", "..."], grow=True).shape == (2, 0)
    assert len(counter.vocabulary) == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_given_vocabulary_keeps_its_ids(backend):
    terms = ["new york", "the", "york", "three words here", "odd  term", "New", "naïve"]
    rule = TokenRule(stopwords=("the",), ngrams=(1, 2))
    counter = TextCounter(rule, Vocabulary(terms), backend=backend)
    counts = counter.count(["New the York, naïve three words here"])
    assert counts.toarray().tolist() == [[1, 0, 1, 0, 0, 0, 1]]
    grown = counter.count(["york new"], grow=True)
    assert counter.vocabulary.terms == [*terms, "new", "york new"]
    assert grown.toarray().tolist() == [[0, 0, 1, 0, 0, 0, 0, 1, 1]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_stems_meet_a_vocabulary_that_grows_later(backend):
    counter = TextCounter(TokenRule(stem="porter"), backend=backend)
    counter.count(["cats"], grow=True)
    assert counter.count(["cat dogs"]).toarray().tolist() == [[1]]
    assert counter.count(["dog cats dogs"], grow=True).toarray().tolist() == [[1, 2]]


def test_a_vocabulary_is_a_snapshot():
    counter = TextCounter()
    counter.count(["one two"], grow=True)
    before = counter.vocabulary
    counter.count(["three"], grow=True)
    assert before.terms == ["one", "two"]
    assert len(counter.vocabulary) == 3


def test_the_stem_cache_is_bounded(monkeypatch):
    native = pytest.importorskip("unnaive.text.native", exc_type=ImportError)
    monkeypatch.setattr(native, "REMEMBERED", 10)
    counter = TextCounter(TokenRule(stem="porter"), Vocabulary(["cat"]))
    for n in range(20):
        assert counter.count([f"cats w{n}a w{n}b w{n}c"]).sum() == 1
    if BACKEND == "native":
        assert counter._engine.kernel.surfaces() < 20


@pytest.mark.parametrize("backend", BACKENDS)
def test_counters_and_scorers_travel_to_other_processes(backend):
    counter = TextCounter(TokenRule(stem="porter"), backend=backend)
    counter.count(["cats dogs"], grow=True)
    again = pickle.loads(pickle.dumps(counter))  # noqa: S301  # as joblib does
    assert again.count(["dog"]).toarray().tolist() == [[0, 1]]
    assert again.backend == backend
    scorer = TextScorer(TokenRule(), Vocabulary(["aa", "bb"]), np.eye(2), bias=[0.5, 0.0], binary=True, backend=backend)
    for copied in (copy.deepcopy(scorer), pickle.loads(pickle.dumps(scorer))):  # noqa: S301
        assert copied.scores(["aa aa bb"]).tolist() == [[1.5, 1.0]]


def test_wrong_settings():
    with pytest.raises(UnknownName, match="native, reference"):
        TextCounter(backend="gpu")
    with pytest.raises(UnnaiveError, match="n_jobs"):
        TextCounter(threads=0)
    assert thread_count(None) >= 1


def test_a_scorer_checks_its_arrays():
    vocabulary = Vocabulary(["a", "b"])
    with pytest.raises(BadData, match=r"expected \(n_classes, 2\)"):
        TextScorer(TokenRule(), vocabulary, np.zeros((2, 3)))
    with pytest.raises(BadData, match="bias"):
        TextScorer(TokenRule(), vocabulary, np.zeros((3, 2)), bias=[1.0])


def test_buffers_slice_and_take():
    buffer = TextBuffer.of(["a", "bb", "ççç", ""])
    assert list(buffer[1:3]) == ["bb", "ççç"]
    assert list(buffer[::-1]) == ["", "ççç", "bb", "a"]
    assert list(buffer.take(np.array([2, 2, 0]))) == ["ççç", "ççç", "a"]
    assert len(buffer[3:1]) == 0
    assert buffer[-1] == ""
    with pytest.raises(IndexError):
        buffer[4]
    counter = TextCounter(TokenRule(min_length=1))
    assert counter.count(buffer[1:3], grow=True).sum() == 2


@pytest.fixture(
    params=[True, False] if BACKEND == "native" else [False], ids=lambda native: "native" if native else "python"
)
def reader(request, monkeypatch):
    """read_files by the kernel and by Python."""
    if not request.param:
        monkeypatch.setattr(small_files, "kernel", None)
    return read_files


def written(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / f"{n}.txt" for n in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def test_files_are_read_and_odd_ones_reported(reader, tmp_path):
    paths = written(
        tmp_path,
        b"plain",
        "güzel".encode(),
        "naïve “quotes”".encode("cp1252"),
        b"",
        b"\x81 undefined in cp1252 \xe9",
        b"\xef\xbb\xbfmarked",
        "wide".encode("utf-16"),
    )
    texts = reader(paths)
    assert list(texts) == ["plain", "güzel", "naïve “quotes”", "", "\x81 undefined in cp1252 é", "marked", "wide"]
    assert texts.encodings == {2: "cp1252", 4: "latin-1", 6: "utf-16"}
    assert texts[2:].encodings == {0: "cp1252", 2: "latin-1", 4: "utf-16"}


def test_a_named_encoding_is_for_what_is_not_utf8(reader, tmp_path):
    paths = written(tmp_path, "Şişli".encode(), "Şişli".encode("cp1254"))
    texts = reader(paths, encoding="cp1254")
    assert list(texts) == ["Şişli", "Şişli"]
    assert texts.encodings == {1: "cp1254"}
    wide = reader(written(tmp_path, "ab".encode("utf-16-le")), encoding="utf-16-le")
    assert list(wide) == ["ab"]


def test_files_that_cannot_be_read(reader, tmp_path):
    (path,) = written(tmp_path, b"fine")
    with pytest.raises(BadData, match=r"absent\.txt cannot be read: No such file"):
        reader([path, tmp_path / "absent.txt"])
    with pytest.raises(BadData, match="cannot be read: Is a directory"):
        reader([tmp_path])
    with pytest.raises(BadData, match="no encoding called 'cp99999'"):
        reader([path], encoding="cp99999")
    with pytest.raises(BadData, match="neither UTF-8 nor ascii"):
        reader(written(tmp_path, b"\xff"), encoding="ascii")
    assert len(reader([])) == 0


def test_many_files_on_threads_are_in_order(tmp_path):
    paths = written(
        tmp_path, *(f"text {n} {'é' * (n % 50)}".encode("latin-1" if n % 7 else "utf-8") for n in range(500))
    )
    texts = read_files(paths, threads=3)
    assert list(texts) == [f"text {n} {'é' * (n % 50)}" for n in range(500)]


WITHOUT_KERNEL = """
import sys, warnings
sys.modules["unnaive.text._kernel"] = None
import unnaive.text.counting as counting
from unnaive.base.errors import UnnaiveWarning
assert counting.BACKEND == "reference"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        assert counting.TextCounter().count(["good ball"], grow=True).sum() == 2
assert [w.category for w in caught] == [UnnaiveWarning], caught
print(caught[0].message)
"""


@pytest.mark.slow
def test_without_the_kernel_one_warning_and_the_same_counts():
    done = subprocess.run([sys.executable, "-c", WITHOUT_KERNEL], capture_output=True, text=True, check=True)
    assert "without a compiler" in done.stdout
    assert "more slowly" in done.stdout


@pytest.mark.slow
def test_counting_imports_little():
    code = "import sys, unnaive.text.counting; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sklearn", "pyarrow", "pandas", "Stemmer", "scipy.stats", "scipy.linalg"} & set(modules)


RESIDENT = """
import sys
from contextlib import nullcontext
from unnaive.text.backend import few_kept_pages
from unnaive.text.counting import TextCounter
with few_kept_pages() if sys.argv[1] == "few" else nullcontext():
    for part in range(3):
        TextCounter(threads=1).count([" ".join(f"w{part}x{n}" for n in range(500_000))], grow=True)
    with open("/proc/self/status") as lines:
        print(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
"""


@pytest.mark.slow
@pytest.mark.skipif(BACKEND != "native" or sys.platform != "linux", reason="the kernel keeps pages on Linux alone")
def test_tables_that_are_no_longer_needed_go_back_to_the_system_where_memory_is_limited():
    few, many = (
        int(subprocess.run([sys.executable, "-c", RESIDENT, which], capture_output=True, text=True, check=True).stdout)
        for which in ("few", "many")
    )
    assert few < many - (20 << 10)  # kilobytes; 52 MB fewer were measured
