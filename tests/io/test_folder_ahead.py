"""A folder that is read while Python imports: the same texts, labels, models and errors as one that is read later."""

from __future__ import annotations

import os
import subprocess
import sys
from os import fsencode
from pathlib import Path

import numpy as np
import pytest

from unnaive.apps.cli.main import exit_code
from unnaive.base.errors import BadData
from unnaive.io import folder_ahead
from unnaive.io.datafiles import DataFile
from unnaive.io.folder_ahead import read_folder_ahead
from unnaive.io.read_options import ReadOptions
from unnaive.text.backend import BACKEND, kernel
from unnaive.text.small_files import read_files, take_files

pytestmark = pytest.mark.skipif(BACKEND != "native", reason="built without a compiler")

CONTENTS = [b"plain text", "naïve “quotes”".encode("cp1252"), b"", b"\xef\xbb\xbfmarked", "güzel".encode()]


@pytest.fixture
def files(tmp_path):
    """23 files of all kinds."""
    paths = [tmp_path / f"{number:02}" for number in range(23)]
    for number, path in enumerate(paths):
        path.write_bytes(CONTENTS[number % 5] + b" %d" % number * (number % 3))
    return [str(path) for path in paths]


def make_folder(root: Path, n_files: int = 40) -> str:
    """Messages of three classes, every seventh of which is not UTF-8."""
    for number in range(n_files):
        label = ("ham", "spam", "eggs")[number % 3]
        (root / label).mkdir(parents=True, exist_ok=True)
        text = f"{label} word{number % 11} café {label[:2]} {number % 5}"
        (root / label / f"{number:03}").write_bytes(text.encode("cp1252" if number % 7 == 0 else "utf-8"))
    return str(root)


@pytest.mark.parametrize("batch", [1, 4, 23, 100])
@pytest.mark.parametrize("most", [1, 50, 1 << 20])
def test_files_come_in_their_order_however_little_may_wait(files, batch, most):
    ahead = kernel.FilesAhead([fsencode(file) for file in files], batch, most)
    parts = [files[start : start + batch] for start in range(0, len(files), batch)]
    for part in parts:
        texts, wanted = take_files(ahead, part), read_files(part)
        assert list(texts) == list(wanted)
        assert texts.encodings == wanted.encodings
    assert len(ahead.take()[2]) == 0  # no file is left


def test_a_file_that_is_gone_is_named(files):
    Path(files[9]).unlink()
    ahead = kernel.FilesAhead([fsencode(file) for file in files], 4, 1 << 20)
    for start in (0, 4):
        assert len(take_files(ahead, files[start : start + 4])) == 4
    with pytest.raises(BadData, match="09 cannot be read: No such file"):
        take_files(ahead, files[8:12])


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="there is no list of threads here")
@pytest.mark.parametrize("taken", [0, 1])
def test_who_has_enough_lets_it_go(files, taken):
    before = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    ahead = kernel.FilesAhead([fsencode(file) for file in files], 2, 1)
    for _ in range(taken):
        ahead.take()
    del ahead
    assert len(os.listdir("/proc/self/task")) == before  # noqa: PTH208


def test_a_batch_has_files():
    with pytest.raises(ValueError, match="at least one"):
        kernel.FilesAhead([b"x"], 0, 1)


def test_what_is_read_ahead(tmp_path):
    root = make_folder(tmp_path / "mail")
    ahead = read_folder_ahead([root], None, follow_links=False)
    assert ahead.labels == sorted(ahead.labels)
    assert ahead.take_reader() is not None
    assert ahead.take_reader() is None  # it gives its texts once
    (tmp_path / "data.csv").write_text("text,label\na,b\n")
    (tmp_path / "empty").mkdir()
    for paths, format in (
        ([str(tmp_path / "data.csv")], None), ([root, root], None), (["-"], None), ([root], "files"),
        ([str(tmp_path / "empty")], None), ([str(tmp_path / "absent")], None),
    ):  # fmt: skip
        assert read_folder_ahead(paths, format, follow_links=False) is None
    (tmp_path / "mail" / "dataset_info.json").write_text("{}")  # of a Hugging Face dataset
    assert read_folder_ahead([root], None, follow_links=False) is None


@pytest.mark.parametrize("at_a_time", [3, 512])
def test_a_corpus_is_the_same(tmp_path, monkeypatch, at_a_time):
    monkeypatch.setattr(folder_ahead, "FILES_AT_A_TIME", at_a_time)
    monkeypatch.setattr("unnaive.io.folders.FILES_AT_A_TIME", at_a_time)
    root = make_folder(tmp_path)
    plain = DataFile(root).corpus()
    source = DataFile(root, options=ReadOptions(ahead=read_folder_ahead([root], None, follow_links=False)))
    for _ in range(2):  # read ahead; then, since that is used up, as any other
        corpus = source.corpus()
        assert list(corpus.texts) == list(plain.texts)
        assert corpus.labels == plain.labels
        assert corpus.ids == plain.ids
    batches = list(source.batches(labelled=True))
    assert [text for batch in batches for text in batch.texts] == list(plain.texts)


@pytest.mark.parametrize("model", ["multinomial", "bernoulli", "svm"])
def test_a_model_is_the_same(tmp_path, monkeypatch, model):
    root = make_folder(tmp_path / "mail")
    assert exit_code(["train", root, "-m", model, "-o", str(tmp_path / "ahead.model")]) == 0
    monkeypatch.setattr(folder_ahead, "kernel", None)
    assert exit_code(["train", root, "-m", model, "-o", str(tmp_path / "plain.model")]) == 0
    assert (tmp_path / "ahead.model").read_bytes() == (tmp_path / "plain.model").read_bytes()


def test_what_is_wrong_with_a_folder_is_said_once(tmp_path, capsys):
    root = tmp_path / "mail"
    make_folder(root)
    (root / "stray").write_text("no class")
    (tmp_path / "secret").write_text("not ours")
    assert exit_code(["train", str(root), "-m", "multinomial", "-o", str(tmp_path / "a.model")]) == 0
    assert capsys.readouterr().err.count("a file lies outside the class folders and is left out") == 1
    (root / "ham" / "link").symlink_to(tmp_path / "secret")
    assert exit_code(["train", str(root), "-m", "multinomial", "-o", str(tmp_path / "b.model")]) == 2
    assert capsys.readouterr().err.count("is a link that leads outside the folder") == 1
    assert not (tmp_path / "b.model").exists()


TRAIN = """
import sys
from unnaive.apps.cli.main import exit_code
code = exit_code(["train", sys.argv[1], "-m", "multinomial", "-o", sys.argv[2], "-q"])
print(code, [name for name in ("scipy", "sklearn", "pyarrow", "rich") if name in sys.modules])
"""


@pytest.mark.parametrize("kind", ["folder", "csv"])
@pytest.mark.slow
def test_multinomial_naive_bayes_is_learnt_without_scipy(tmp_path, kind):
    source = make_folder(tmp_path / "mail")
    if kind == "csv":
        source = tmp_path / "data.csv"  # its classes come in no order
        source.write_text("text,label\nold vote,politics\nnew goal,sport\nsome soup,food\nthe law,politics\n")
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, str(source), str(tmp_path / "a.model")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "0 []\n"


def test_taken_rows():
    from scipy.sparse import csr_array

    from unnaive.data.count_tables import take_rows

    random = np.random.default_rng(0)
    for rows in ([], [2], [3, 0], [4, 3, 2, 1, 0]):
        table = csr_array(random.poisson(0.5, (5, 7)))
        for one in (table, take_rows(table, np.arange(5))):
            taken = take_rows(one, np.array(rows, np.int64))
            assert np.array_equal(taken.tocsr().toarray(), table.toarray()[rows])
            assert np.array_equal(taken.row_sums(), table.toarray()[rows].sum(axis=1))
            assert taken.nnz == table[rows].nnz
