"""Paths that programs import: those of the docs and examples."""

import re
from pathlib import Path

import pytest

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
    exec(f"from {module} import {names}", {})  # a module inside of it may not be imported yet


def test_nothing_else_stands_at_the_root_of_the_package():
    source = ROOT / "src" / "unnaive"
    assert sorted(path.name for path in source.iterdir() if path.is_file()) == [
        "__init__.py", "__main__.py", "datatrove.py", "fasttext.py", "mlflow.py", "plugins.py", "py.typed", "spark.py",
    ]  # fmt: skip
