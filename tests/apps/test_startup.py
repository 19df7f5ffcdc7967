"""Starting: what a short command does not import, and that what stands for it is as good."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse
from typer.testing import CliRunner

import unnaive.base.sparse
from unnaive import TextClassifier
from unnaive.apps.cli.main import build_app, exit_code
from unnaive.classifier.model_file import load_model
from unnaive.data.arrays import StoredMatrix, read_stored, stored

TEXTS, LABELS = ["ball goal ball", "vote law", "goal goal", "law vote vote"], ["sport", "politics"] * 2
HEAVY = ("scipy", "sklearn", "pydantic", "pyarrow", "rich")
PREDICT = """
import sys
from unnaive.apps.cli.main import exit_code
code = exit_code(["predict", sys.argv[1], "-d", "a goal"])
print(code, [name for name in sys.argv[2:] if name in sys.modules])
"""
TRAIN = """
import sys
from unnaive.apps.cli.main import exit_code
code = exit_code(["train", sys.argv[1], "-m", "multinomial", "-o", sys.argv[2]])
print(code, [name for name in ("pandas", "pyarrow.compute") if name in sys.modules])
"""
UPDATE = """
import sys
from unnaive.apps.cli.main import exit_code
code = exit_code(["update", sys.argv[1], sys.argv[2], "--jobs", "1"])
print(code, [name for name in sys.argv[3:] if name in sys.modules])
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "small.model"
    TextClassifier("multinomial").fit(TEXTS, LABELS).save(path)
    return path


def test_predicting_a_text_imports_nothing_heavy(model):
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, str(model), *HEAVY], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1].startswith("1,sport,")
    assert done.stdout.splitlines()[2] == "0 []"


@pytest.mark.slow
def test_updating_auto_imports_neither_validation_nor_sqlite_nor_linear_algebra(tmp_path):
    path, more = tmp_path / "auto.model", tmp_path / "more.csv"
    TextClassifier("auto").fit(TEXTS * 5, LABELS * 5).save(path)
    more.write_text("text,label\ngoal,sport\n", encoding="utf-8")
    unwanted = ("pydantic", "sqlite3", "scipy.linalg", "sklearn")
    done = subprocess.run(
        [sys.executable, "-c", UPDATE, str(path), str(more), *unwanted], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_help_imports_no_numpy():
    program = (
        "import sys\n"
        "from unnaive.apps.cli.main import exit_code\n"
        "exit_code(['--help'])\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.slow
def test_reading_parquet_imports_no_pandas(tmp_path):
    columns = pyarrow.table({"text": TEXTS * 100, "label": LABELS * 100})
    pyarrow.parquet.write_table(columns, tmp_path / "data.parquet")
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, str(tmp_path / "data.parquet"), str(tmp_path / "new.model")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0 []"


def test_matrices_of_a_file_are_made_when_asked_for(model):
    fitted = load_model(model)
    assert isinstance(fitted.scorer.stored_weights, StoredMatrix)
    assert isinstance(stored(fitted.counts.counts, "class_terms"), StoredMatrix)
    fitted.predict(TEXTS)
    fitted.known_terms(TEXTS)
    assert isinstance(fitted.scorer.stored_weights, StoredMatrix)
    trained = TextClassifier("multinomial").fit(TEXTS, LABELS).fitted_
    assert (fitted.scorer.sparse_weights != trained.scorer.sparse_weights).nnz == 0
    assert fitted.counts == trained.counts
    assert fitted.scorer.stored_weights is fitted.scorer.sparse_weights


@pytest.mark.parametrize(
    ("indices", "indptr", "in_order"),
    [
        ([0, 2, 1], [0, 2, 3], True),  # the second row may begin before where the first ended
        ([2, 0, 1], [0, 2, 3], False),
        ([0, 0, 1], [0, 2, 3], False),  # twice in a row
        ([0, 1, 2], [0, 0, 3], True),  # an empty row
        ([0, 1, 2], [0, 3, 3], True),
        ([], [0, 0, 0], True),
    ],
)
def test_columns_in_order(indices, indptr, in_order):
    parts = (np.ones(len(indices)), np.array(indices, np.int32), np.array(indptr, np.uint32))
    matrix = read_stored(dict(zip(("m.data", "m.indices", "m.indptr"), parts, strict=True)), "m", (2, 3))
    assert matrix.in_order == in_order == bool(matrix.tocsr().has_canonical_format)


def test_names_of_scipy_sparse():
    rows = unnaive.base.sparse.csr_array([[1, 0], [0, 2]])
    assert type(rows) is scipy.sparse.csr_array
    assert isinstance(rows, unnaive.base.sparse.csr_array)
    assert not isinstance(rows, unnaive.base.sparse.csc_array)
    assert not isinstance(rows.toarray(), unnaive.base.sparse.csr_array)
    assert unnaive.base.sparse.issparse(rows)
    assert not unnaive.base.sparse.issparse([1])
    assert unnaive.base.sparse.vstack([rows, rows]).shape == (4, 2)


@pytest.mark.parametrize("top", ["0", "x", "1.5", ""])
def test_values_that_are_not_plain_get_their_sentence(model, top, capsys):
    assert exit_code(["predict", str(model), "-d", "goal", "--top-k", top]) == 2
    assert "--top-k" in capsys.readouterr().err


def test_plain_values_are_what_typer_makes_of_them(model, monkeypatch):
    arguments = ["predict", str(model), "-d", "goal", "-d", "law", "--top-k", "2", "--all"]
    quick = CliRunner().invoke(build_app(), arguments)
    monkeypatch.setattr("unnaive.apps.cli.main.read_plainly", lambda parameter: None)
    slow = CliRunner().invoke(build_app(), arguments)
    assert quick.exit_code == 0
    assert quick.stdout == slow.stdout
