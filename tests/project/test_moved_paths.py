"""Paths that programs import: those of the docs and examples, and those of version 0.2, which warn."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from unnaive.base.moved_modules import MOVED

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py")]
IMPORTS = re.compile(r"^(?:>>> )?from (unnaive[\w.]*) import ([\w, ]+)$", re.MULTILINE)
DOORS = {
    "unnaive.spark": "pyspark",
    "unnaive.datatrove": "datatrove",
    "unnaive.mlflow": "mlflow",
}  # what a module at the root needs
IMPORTED = sorted({pair for page in PAGES for pair in IMPORTS.findall(page.read_text(encoding="utf-8"))})


@pytest.mark.parametrize(("module", "names"), IMPORTED)
def test_what_docs_and_examples_import_is_there_without_a_warning(module, names):
    if module in DOORS:
        pytest.importorskip(DOORS[module])
    assert module not in MOVED
    exec(f"from {module} import {names}", {})  # a module inside of it may not be imported yet


@pytest.mark.slow
def test_old_paths_are_the_new_modules_and_warn_once_by_name():
    program = (
        "import importlib, sys, warnings\n"
        "from unnaive.base.moved_modules import MOVED\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for old, new in MOVED.items():\n"
        "        assert importlib.import_module(old) is importlib.import_module(new), old\n"
        "print(len(caught), len(MOVED), {one.category.__name__ for one in caught}, caught[-1].message)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    n = len(MOVED)
    assert done.stdout == (
        f"{n} {n} {{'DeprecationWarning'}} unnaive.spark.session has moved to unnaive.scaleout.spark.session; "
        "version 0.4 will remove the old path\n"
    )


def test_nothing_else_stands_at_the_root_of_the_package():
    source = ROOT / "src" / "unnaive"
    assert sorted(path.name for path in source.iterdir() if path.is_file()) == [
        "__init__.py", "__main__.py", "datatrove.py", "fasttext.py", "mlflow.py", "py.typed", "spark.py",
    ]  # fmt: skip


def test_the_guide_lists_every_path_that_moved():
    guide = (ROOT / "docs/guides/migrating.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(unnaive\.[\w.]+)` \| `(unnaive\.[\w.]+)` \|$", guide, re.MULTILINE) == list(MOVED.items())
